"""Targets as users write them: which rows are unlabelled, classes, label sets, label distributions and numbers.

Unlabelled rows are marked with -1, None, NaN, pandas' NA or NaT, or are masked. numpy and pandas turn such marks into
strings when they put them beside strings, so the strings in `UNLABELED_STRINGS` mark unlabelled rows too, in every kind
of array, list or frame: no class can have one of these names.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Number
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from ngm import _arguments

TaskName = Literal["classes", "labels", "soft", "numbers"]
UNLABELED_STRINGS = (
    "-1",
    "-1.0",
    "nan",
    "None",
    "<NA>",
    "NaT",
)  # -1, NaN, None, NA and NaT as numpy and pandas spell them


class UnlabeledStringWarning(UserWarning):
    """Strings that may have been meant as a class are read as unlabelled."""


class PartlyLabeledWarning(UserWarning):
    """Rows with a number in some columns of y only count as unlabelled."""


class ManyClassesWarning(UserWarning):
    """Most labelled rows have a class of their own: numbers to be estimated, perhaps."""


@dataclass(frozen=True)
class Encoded:
    """Class targets as numbers.

    Args:
        task: "classes" (one each), "labels" (any number each) or "soft" (a distribution each).
        targets: (n,) class indices, or (n, L) zeros and ones, or (n, C) shares.
        labeled: (n,) mask.
        classes: (C,) what the indices stand for.
    """

    task: TaskName
    targets: Tensor
    labeled: Tensor
    classes: NDArray[np.generic]


def unlabeled_rows(y: NDArray[np.generic]) -> NDArray[np.bool_]:
    """(n,) mask: -1, None, NaN, NA, NaT or one of `UNLABELED_STRINGS`; of (n, L) targets, rows of nothing else.

    >>> unlabeled_rows(np.array(["ham", "spam", -1])).tolist()
    [False, False, True]
    """
    missing = np.zeros(y.shape, dtype=bool)
    if y.dtype.kind in "iuf":
        missing |= np.asarray((y == -1) | (y != y))
    elif y.dtype.kind in "mM":
        missing |= np.isnat(y)
    elif y.dtype.kind in "US":
        missing |= _string_marks(y)
    elif y.dtype.kind == "O":
        entries = [_is_missing(v) for v in y.ravel()]
        missing |= np.array(entries, dtype=bool).reshape(y.shape)
    return missing if y.ndim == 1 else np.asarray(missing.all(axis=1), dtype=np.bool_)


def as_array(y: ArrayLike | Tensor) -> NDArray[np.generic]:
    """Y as an array; strings beside -1, None or NaN stay apart from these, and masked entries become None."""
    if isinstance(y, Tensor):
        own = y.detach().cpu()
        out: NDArray[np.generic] = (own.float() if own.dtype == torch.bfloat16 else own).numpy()
        return out
    if isinstance(y, np.ma.MaskedArray):
        values, masked = np.array(y.data, dtype=object), np.ma.getmaskarray(y)
        values[masked] = None
        return values if masked.any() else np.asarray(y.data)
    array = _arguments.as_array("y", y, "give a target per row, or as many in every row")
    if array.dtype.kind == "U" and isinstance(y, list | tuple) and not all(isinstance(v, str) for v in y):
        return np.array(y, dtype=object)
    return array.astype(object) if array.dtype.kind == "T" else array  # numpy's strings of any length


def without_missing(y: NDArray[np.generic]) -> NDArray[np.generic]:
    """Y with NaN where an array of objects holds None, NA or NaT, so that it can be read as numbers."""
    if y.dtype.kind != "O":
        return y
    entries = [np.nan if _is_null(v) else v for v in y.ravel()]
    return np.array([*entries, None], dtype=object)[:-1].reshape(y.shape)


def check_length(y: ArrayLike, rows: int) -> NDArray[np.generic]:
    """Y as an array with an entry per row of x."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None; mark unlabelled rows with -1")
    array = as_array(y)
    if array.ndim == 0 or len(array) != rows:
        length = len(array) if array.ndim else "no"
        raise ValueError(f"x has {rows} rows, y has {length}; give a target per row, -1 or NaN where unlabelled")
    return array


def encode_classes(y: ArrayLike, rows: int, classes: NDArray[np.generic] | None = None) -> Encoded:
    """Reads class targets.

    Args:
        y: (n,) integers or strings, -1 / None / NaN = unlabelled, as a string too (`UNLABELED_STRINGS`); or (n, L)
            zeros and ones for several labels; or (n, C) shares that add up to 1. A row of -1 or NaN is unlabelled.
        rows: Number of rows of x.
        classes: The classes that may occur, where they are known already (validation).
    """
    array = check_length(y, rows)
    if array.ndim == 2 and array.shape[1] > 1:
        return _encode_rows(array)
    array = column_or_1d(array, warn=True)
    if array.dtype.kind in "MmScV" or (array.dtype.kind == "O" and any(isinstance(v, bytes) for v in array)):
        kind = "bytes" if array.dtype.kind in "SO" else array.dtype
        raise ValueError(f"y is of type {kind}; give classes as words or numbers, -1 or None where unlabelled")
    unlabeled = unlabeled_rows(array)
    _warn_of_strings(array, made_by_numpy=isinstance(y, np.ndarray))
    if unlabeled.all():
        raise ValueError(f"none of the {rows} rows has a label (-1, None and NaN mean unlabelled); label some rows")
    known = array[~unlabeled]
    if known.dtype.kind == "O":
        known = plain(known)
    if known.dtype.kind == "f" and np.isinf(known).any():
        row = int(np.flatnonzero(np.isinf(array.astype(np.float64)))[0])
        raise ValueError(f"y[{row}] is infinity (Input y contains infinity); give classes, or NaN where unlabelled")
    _check_classes(known)
    found, index = np.unique(known, return_inverse=True)
    if classes is not None:
        index = _positions(known, classes)
    elif len(found) < 2:
        raise ValueError(
            f"y holds one class only ({found.tolist()[0]!r}); a classifier needs labelled rows of at least two"
        )
    targets = torch.full((rows,), -1)
    labeled = torch.from_numpy(~unlabeled)
    targets[labeled] = torch.from_numpy(index)
    return Encoded("classes", targets, labeled, found if classes is None else classes)


def _check_classes(known: NDArray[np.generic]) -> None:
    """Refuses numbers that are no classes; scikit-learn's warning of many classes gets a class of its own."""
    with np.errstate(invalid="ignore"), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        check_classification_targets(known)  # numbers beyond int64 are no whole ones, which it says
    for warning in said:
        kind = ManyClassesWarning if warning.category is UserWarning else warning.category
        warnings.warn(str(warning.message), kind, stacklevel=4)


def _encode_rows(array: NDArray[np.generic]) -> Encoded:
    unlabeled = unlabeled_rows(array)
    if unlabeled.all():
        raise ValueError(f"none of the {len(array)} rows has a label (a row of -1 or NaN is unlabelled); label some")
    values = np.where(unlabeled[:, None], 0, array).astype(np.float32)
    classes = np.arange(array.shape[1])
    labeled = torch.from_numpy(~unlabeled)
    if np.isin(values, (0, 1)).all():
        return Encoded("labels", torch.from_numpy(values), labeled, classes)
    one = np.abs(values.sum(axis=1) - 1) <= 1e-3  # false where there is a NaN
    wrong = ~unlabeled & ((values < 0).any(axis=1) | ~one)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"y[{row}] is {array[row].tolist()}, neither zeros and ones (several labels) nor shares that add up to 1 "
            "(soft labels); a row of -1 is unlabelled"
        )
    return Encoded("soft", torch.from_numpy(values), labeled, classes)


def encode_numbers(y: ArrayLike, rows: int) -> tuple[NDArray[np.float64], bool]:
    """Reads numbers.

    Args:
        y: (n,) or (n, T), NaN, None or NA = unlabelled.
        rows: Number of rows of x.

    Returns:
        ((n, T) numbers, whether there were several columns).
    """
    array = check_length(y, rows)
    many = array.ndim == 2 and array.shape[1] > 1
    try:
        numbers = without_missing(array if many else column_or_1d(array, warn=True)).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"y holds {_not_a_number(array)!r}; give numbers, NaN where unlabelled") from None
    infinite = np.argwhere(np.isinf(numbers))
    if len(infinite):
        raise ValueError(f"y{infinite[0].tolist()} is infinity (Input y contains infinity); give finite numbers or NaN")
    return numbers.reshape(rows, -1), many


def complete_rows(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n,) mask of the rows without a NaN; warns of those that have both NaN and numbers."""
    missing = np.isnan(numbers)
    partly = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
    if len(partly):
        columns = numbers.shape[1]
        warnings.warn(
            f"{len(partly):,} of {len(numbers):,} rows of y have a number in some of their {columns} columns only (row "
            f"{partly[0]} is the first) and count as unlabelled; fill in the others, or fit a regressor per column",
            PartlyLabeledWarning,
            stacklevel=3,
        )
    return np.asarray(~missing.any(axis=1))


def _not_a_number(y: NDArray[np.generic]) -> object:
    for value in y.ravel().tolist():
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return y.dtype.name


def labeled_accuracy(predicted: NDArray[np.generic], y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Share of the labelled rows that are right; of several labels, of rows with all of them right.

    Args:
        predicted: (n,) classes, or (n, L) zeros and ones.
        y: True ones, unlabelled rows marked.
        sample_weight: (n,) weight of each row.
    """
    truth = check_length(y, len(predicted))
    known = ~unlabeled_rows(truth)
    if not known.any():
        raise ValueError(f"none of the {len(truth)} rows has a label; score needs some")
    weight = None if sample_weight is None else np.asarray(sample_weight)[known]
    right = plain(truth[known]) if truth.dtype.kind == "O" else truth[known]
    return float(accuracy_score(right, predicted[known], sample_weight=weight))


def _is_missing(value: object) -> bool:
    """None, NaN, pandas' NA or NaT, -1, or a string that spells one of these."""
    if isinstance(value, str):
        return value in UNLABELED_STRINGS
    if _is_null(value):
        return True
    return isinstance(value, Number | np.generic) and bool(value != value or value == -1)


def _is_null(value: object) -> bool:
    """None, or pandas' NA or NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _string_marks(y: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Mask of the shape of y: which entries of an array of strings or bytes are in `UNLABELED_STRINGS`."""
    marks = [mark.encode() if y.dtype.kind == "S" else mark for mark in UNLABELED_STRINGS]
    return np.asarray(np.isin(y, marks), dtype=np.bool_)


def _warn_of_strings(y: NDArray[np.generic], made_by_numpy: bool) -> None:
    """Says which strings are read as unlabelled, but for those that numpy itself makes of -1 and NaN."""
    written = y.dtype.kind in "US"
    if not written and y.dtype.kind != "O":
        return
    found = (
        y[_string_marks(y)].astype(str) if written else [v for v in y.tolist() if isinstance(v, str) and _is_missing(v)]
    )
    expected = set(UNLABELED_STRINGS) - {"None"} if written and made_by_numpy else set()
    names, counts = np.unique(np.array([v for v in found if v not in expected], dtype=str), return_counts=True)
    if len(names):
        listed = ", ".join(
            f"{name!r} ({count:,} rows)" for name, count in zip(names.tolist(), counts.tolist(), strict=True)
        )
        warnings.warn(
            f"y holds strings that are read as unlabelled: {listed}; write -1, None or NaN for unlabelled rows, or "
            "rename the class",
            UnlabeledStringWarning,
            stacklevel=3,
        )


def plain(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Objects as strings or numbers, so that they can be sorted."""
    kinds = {type(v) for v in values.ravel()}
    if all(issubclass(k, str) for k in kinds):
        return values.astype(str).astype(object)
    return np.array(values.tolist())


def _positions(known: NDArray[np.generic], classes: NDArray[np.generic]) -> NDArray[np.int64]:
    place = {c: i for i, c in enumerate(classes.tolist())}
    unknown = [v for v in known.tolist() if v not in place]
    if unknown:
        raise ValueError(
            f"class {unknown[0]!r} of the validation y is not among the training classes {list(place)}; "
            "leave such rows out, or label rows of that class"
        )
    return np.array([place[v] for v in known.tolist()], dtype=np.int64)
