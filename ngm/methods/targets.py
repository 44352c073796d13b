"""Targets as users write them: which rows are unlabelled, classes, label sets and label distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from torch import Tensor

Task = Literal["classes", "labels", "soft"]


@dataclass(frozen=True)
class Encoded:
    """Class targets as numbers.

    Args:
        task: "classes" (one each), "labels" (any number each) or "soft" (a distribution each).
        targets: (n,) class indices, or (n, L) zeros and ones, or (n, C) shares.
        labeled: (n,) mask.
        classes: (C,) what the indices stand for.
    """

    task: Task
    targets: Tensor
    labeled: Tensor
    classes: NDArray[np.generic]


def unlabeled_rows(y: NDArray[np.generic]) -> NDArray[np.bool_]:
    """(n,) mask: -1, None or NaN; of (n, L) targets, rows that hold nothing else."""
    missing = np.zeros(y.shape, dtype=bool)
    if y.dtype.kind in "iuf":
        missing |= np.asarray((y == -1) | (y != y))
    elif y.dtype.kind == "O":
        entries = [_is_missing(v) for v in y.ravel()]
        missing |= np.array(entries, dtype=bool).reshape(y.shape)
    return missing if y.ndim == 1 else np.asarray(missing.all(axis=1), dtype=np.bool_)


def as_array(y: ArrayLike | Tensor) -> NDArray[np.generic]:
    """Y as an array; words beside -1, None or NaN stay apart from these (numpy would make them words as well)."""
    if isinstance(y, Tensor):
        out: NDArray[np.generic] = y.detach().cpu().numpy()
        return out
    array = np.asarray(y)
    if array.dtype.kind == "U" and isinstance(y, list | tuple) and not all(isinstance(v, str) for v in y):
        return np.array(y, dtype=object)
    return array


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
        y: (n,) integers or strings, -1 / None / NaN = unlabelled; or (n, L) zeros and ones for several labels;
            or (n, C) shares that add up to 1. A row of -1 or NaN is unlabelled.
        rows: Number of rows of x.
        classes: The classes that may occur, where they are known already (validation).
    """
    array = check_length(y, rows)
    if array.ndim == 2 and array.shape[1] > 1:
        return _encode_rows(array)
    array = column_or_1d(array, warn=True)
    unlabeled = unlabeled_rows(array)
    if unlabeled.all():
        raise ValueError(f"none of the {rows} rows has a label (-1, None and NaN mean unlabelled); label some rows")
    known = array[~unlabeled]
    if known.dtype.kind == "O":
        known = plain(known)
    if known.dtype.kind == "f" and np.isinf(known).any():
        row = int(np.flatnonzero(np.isinf(array.astype(np.float64)))[0])
        raise ValueError(f"y[{row}] is infinity (Input y contains infinity); give classes, or NaN where unlabelled")
    check_classification_targets(known)
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
    """None, NaN, pandas' NA, or -1."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, float | int | np.number) and bool(value != value or value == -1)


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
