"""The column to learn: a class, a number or several labels per row, detected where the user does not say."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ngm._spelling import first_of
from ngm.io.node_records import NodeRecords, label_set, labels_in
from ngm.io.tables import Table
from ngm.targets import ManyClassesWarning, encode_classes, plain, unlabeled_rows
from ngm.workflow.label_columns import labels_of
from ngm.workflow.options import SEPARATOR, Task, TrainOptions

_MANY, _FEW = (
    20,
    10,
)  # classes that are whole numbers, and rows of each, beyond and below which they look like quantities
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")  # in the one way in which it is written: 01 and +1 are texts
_MARKS = ("validation", "valid", "val", "dev", "true", "1", "1.0")
_OTHERS = ("train", "training", "unlabelled", "unlabeled", "test", "false", "0", "0.0", "")
TASKS: dict[Task, str] = {"class": "one class a row", "number": "a number", "labels": "several labels a row"}


@dataclass(frozen=True, eq=False)
class Target:
    """The values to learn.

    Args:
        task: Its kind.
        y: (n,) classes or numbers, or (n, L) zeros and ones; unlabelled rows as the estimator marks them.
        names: Of the L labels.
        held_out: (v,) rows to validate on, where a column marks them.
    """

    task: Task
    y: NDArray[np.generic]
    names: tuple[str, ...] = ()
    held_out: NDArray[np.int64] | None = None

    @property
    def unlabeled(self) -> NDArray[np.bool_]:
        """(n,) mask."""
        return np.isnan(self.y.astype(np.float64)) if self.task == "number" else unlabeled_rows(self.y)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows have each class or label; nothing for numbers."""
        if self.task == "number":
            return {}
        if self.task == "labels":
            known = self.y[~self.unlabeled].sum(axis=0)
            return {name: int(count) for name, count in zip(self.names, known.tolist(), strict=True)}
        known = self.y[~self.unlabeled]
        names, counts = np.unique(plain(known) if known.dtype.kind == "O" else known, return_counts=True)
        return {str(name): count for name, count in zip(names.tolist(), counts.tolist(), strict=True)}


def read_target(table: Table, name: str, options: TrainOptions) -> Target:
    """Reads the column of labels, and the one that marks validation rows.

    Args:
        table: Has both.
        name: Of the column of labels.
        options: Their kind, where the user gives it.
    """
    values = table.column(name)
    values = values if options.task in ("class", "labels") else as_numbers(values)
    lists = values.dtype.kind == "O" and any(isinstance(v, list | tuple | np.ndarray) for v in values)
    several = lists or options.label_separator is not None
    fractions = values.dtype.kind == "f" and bool((values[np.isfinite(values)] % 1).any())
    task: Task = cast(Task, options.task) or ("labels" if several else "number" if fractions else "class")
    if task == "labels":
        target = _several(table, name, options.label_separator or SEPARATOR)
    elif task == "number":
        target = Target(task, _numbers(table, name))
    else:
        target = Target(task, labels_of(table, name, values))
        _warn_of_minus_one(target.y)
    if options.validation_column is not None:
        target = _with_validation(target, table, options.validation_column)
    if task != "number":
        warnings.simplefilter("ignore", ManyClassesWarning)  # said below, with the remedy
        warnings.filterwarnings(
            "ignore", category=UserWarning, module=r"sklearn\.linear_model"
        )  # teachers say it again
        encode_classes(target.y, len(table))  # what is wrong with labels is said before the long part
    elif target.unlabeled.all():
        raise ValueError(f"column {name!r} of {table.name} has no number; give the column of what is to be learned")
    if options.task is None and task == "class":
        _warn_of_quantities(target, name)
    return target


def as_numbers(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Texts that are all numbers, as numbers, but for blanks: a column called target may have been taken for ids.

    >>> as_numbers(np.array(["1.5", " "], dtype=object)).tolist(), as_numbers(np.array(["01", "2"], dtype=object))[0]
    ([1.5, nan], '01')
    """
    found = values.tolist() if values.dtype.kind == "O" else []
    if not all(v is None or isinstance(v, str) for v in found):
        return values
    said = ["" if v is None or v.strip().lower() == "nan" else v.strip() for v in found]
    there = [v for v in said if v]
    point = any("." in v or "e" in v.lower() for v in there)
    if not there or not all((_NUMBER if point else _WHOLE).fullmatch(v) for v in there):
        return values
    return np.array([float(v) if v else np.nan for v in said])


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    """(n,) numbers, NaN where there is none."""
    values = table.column(name)
    out = np.full(len(values), np.nan)
    for row, value in enumerate(values.tolist()):
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        try:
            out[row] = float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"column {name!r} of {table.name} holds {str(value)[:30]!r} in row {row}, which is not a number; "
                "choose another column, or --task class"
            ) from None
    return out


def _several(table: Table, name: str, separator: str) -> Target:
    """Lists of labels, or texts with a separator between them; an empty text is unlabelled, an empty list has none."""
    found: list[list[str] | None] = []
    for value in table.column(name).tolist():
        if isinstance(value, list | tuple | np.ndarray):
            found.append([str(v) for v in value])
        else:
            said = "" if value is None or value != value else str(value)
            parts = [part.strip() for part in said.split(separator)]
            found.append([p for p in parts if p] if any(parts) else None)
    names = sorted({label for labels in found if labels is not None for label in labels})
    if len(names) < 2:
        only = f"one label only ({names[0]!r})" if names else "no label"
        raise ValueError(
            f"column {name!r} of {table.name} has {only}; several a row are written as a{separator}b "
            "(--label-separator), or as lists"
        )
    place = {label: i for i, label in enumerate(names)}
    y = np.full((len(found), len(names)), -1)
    for row, labels in enumerate(found):
        if labels is not None:
            y[row] = 0
            y[row, [place[label] for label in labels]] = 1
    return Target("labels", y, tuple(names))


def _with_validation(target: Target, table: Table, name: str) -> Target:
    """Takes the rows to validate on from a column; labels of rows that it marks as test rows are hidden."""
    said = ["" if v is None or v != v else str(v).strip().lower() for v in table.column(name).tolist()]
    marked = np.array([word in _MARKS for word in said], dtype=bool)
    if not marked.any():
        there = ", ".join(repr(word) for word in sorted(set(said))[:5])
        raise ValueError(
            f"column {name!r} of {table.name} marks no row: it holds {there}; validation rows are 'validation' or true"
        )
    unknown = sorted({word for word in said if word not in (*_MARKS, *_OTHERS)})
    if unknown:
        count = sum(word in unknown for word in said)
        raise ValueError(
            f"column {name!r} of {table.name} marks {count:,} rows with {first_of([repr(word) for word in unknown])}, "
            "which says neither; write 'train', 'validation' or 'test', or true and false"
        )
    test, y = np.array([word == "test" for word in said], dtype=bool) & ~target.unlabeled, target.y
    if test.any():
        y = y.astype(np.float64 if target.task == "number" else np.int64 if target.task == "labels" else object)
        y[test] = np.nan if target.task == "number" else -1
        warnings.warn(
            f"{int(test.sum()):,} rows are marked 'test' in {name!r}; their labels are hidden",
            UserWarning,
            stacklevel=3,
        )
    rows = np.flatnonzero(marked)
    blank = rows[target.unlabeled[rows]]
    if len(blank):
        raise ValueError(f"row {blank[0]} of {table.name} is marked for validation in {name!r} and has no label")
    return replace(target, y=y, held_out=rows)


def with_label_names(records: NodeRecords, names: Sequence[str]) -> NodeRecords:
    """The same records with the names of several labels, which the estimator knows by number.

    Args:
        records: Have ["0", "2"] for the first and the third label.
        names: Of the labels; none where there is one class or number a row.
    """
    if not names:
        return records

    def named(values: NDArray[np.object_]) -> NDArray[np.object_]:
        out = np.empty(len(values), dtype=object)
        out[:] = [v and label_set([names[int(number)] for number in labels_in(v)]) for v in values.tolist()]
        return out

    return replace(records, label=named(records.label), predicted=named(records.predicted))


def _warn_of_minus_one(y: NDArray[np.generic]) -> None:
    """A class may be called -1, as those of some tables with two are."""
    count = sum(not isinstance(v, str) and v == -1 for v in y.tolist())
    if count:
        rows = "1 row has" if count == 1 else f"{count:,} rows have"
        warnings.warn(
            f"{rows} the label -1, which is taken for unlabelled; write it in another way if it is a class",
            UserWarning,
            stacklevel=3,
        )


def _warn_of_quantities(target: Target, name: str) -> None:
    """Many different whole numbers may be quantities."""
    known = target.y[~target.unlabeled]
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in known.tolist())
    different = len(set(known.tolist()))
    if whole and different > _MANY and len(known) < _FEW * different:
        warnings.warn(
            f"{name!r} has {different:,} different whole numbers in {len(known):,} labelled rows, each taken for a "
            "class; if they are quantities, give --task number",
            UserWarning,
            stacklevel=3,
        )
