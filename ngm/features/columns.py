"""Columns side by side: numbers on one scale, lists of numbers as they are, few different texts as categories."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ngm.features.feature_rows import FeatureRows, RowIssue
from ngm.io.run_folder import JSON
from ngm.io.table_columns import row_numbers
from ngm.io.tables import Table
from ngm.io.tables.stream import Holds

MAX_CATEGORIES = 100
_MOSTLY = 0.8  # numbers among texts, from which on the others look like mistakes
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?")
_COMMAS = re.compile(r"[+-]?([0-9]+,[0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+([.][0-9]*)?)")  # 0,5 and 1,234,567.8


@dataclass(frozen=True)
class FeatureColumn:
    """What a column was in training.

    Args:
        name: Its name.
        holds: "number", "numbers" (a list) or "text" (a category).
        mean: Of the numbers.
        deviation: Of the numbers; 1 where all are the same.
        width: Of the lists.
        categories: The different texts, sorted.
    """

    name: str
    holds: Holds
    mean: float = 0.0
    deviation: float = 1.0
    width: int = 1
    categories: list[str] = field(default_factory=list)

    def read(self, table: Table, first: int) -> tuple[NDArray[np.float64], list[RowIssue]]:
        """(n, d) what the column is in rows of x, and what is odd about some rows."""
        if self.holds == "text":
            return self._one_hot(table, first)
        numbers = _numbers(table, self.name, first, self)
        if self.holds == "numbers":
            return numbers, []
        return (numbers - self.mean) / self.deviation, []

    def _one_hot(self, table: Table, first: int) -> tuple[NDArray[np.float64], list[RowIssue]]:
        values = _texts(table, self.name, first)
        index = {text: i for i, text in enumerate(self.categories)}
        codes = np.array([index.get(text, -1) if text is not None else -2 for text in values], dtype=np.int64)
        one_hot = np.zeros((len(values), len(self.categories)))
        known_rows = np.flatnonzero(codes >= 0)
        one_hot[known_rows, codes[known_rows]] = 1
        consequence = f"they are none of its {len(self.categories):,} categories"
        reasons = {-1: f"have a value in {self.name!r} that no training row has", -2: f"have no value in {self.name!r}"}
        issues = [
            RowIssue(np.flatnonzero(codes == mark) + first, reason, consequence) for mark, reason in reasons.items()
        ]
        return one_hot, [issue for issue in issues if len(issue.rows)]


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns side by side, in the order in which they were named."""

    parts: list[FeatureColumn]

    @classmethod
    def fit(cls, table: Table, names: Sequence[str]) -> Columns:
        """Looks at all rows, labelled or not."""
        return cls([_fit_column(table, name) for name in names])

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(part.name for part in self.parts)

    @property
    def width(self) -> int:
        """Of a row of x."""
        return sum(len(p.categories) if p.holds == "text" else p.width for p in self.parts)

    @property
    def holds(self) -> dict[str, Holds]:
        """What each column must hold."""
        return {part.name: part.holds for part in self.parts}

    def read(self, table: Table, first: int = 0) -> FeatureRows:
        """(n, d) float32."""
        results = [part.read(table, first) for part in self.parts]
        x = np.concatenate([numbers for numbers, _ in results], axis=1).astype(np.float32)
        return FeatureRows(x, [issue for _, column_issues in results for issue in column_issues])

    def as_json(self) -> dict[str, JSON]:
        """For `features.json`."""
        return {"columns": [cast(JSON, asdict(part)) for part in self.parts]}

    def arrays(self) -> dict[str, Tensor]:
        """For `features.safetensors`: nothing."""
        return {}

    @classmethod
    def from_json(cls, content: Mapping[str, JSON], arrays: Mapping[str, Tensor]) -> Columns:
        """Takes back what was kept."""
        return cls([FeatureColumn(**part) for part in cast("list[dict[str, JSON]]", content["columns"])])  # type: ignore[arg-type]


def _fit_column(table: Table, name: str) -> FeatureColumn:
    values = table.column(name)
    present = [value for value in values.tolist() if value is not None]
    if values.dtype.kind in "OUT" and present and all(isinstance(value, str) for value in present):
        _check_stray(table, name, values.tolist())
        return FeatureColumn(name, "text", categories=_categories(table, name, present))
    numbers = _numbers(table, name, 0)
    if values.dtype.kind == "O":
        return FeatureColumn(name, "numbers", width=numbers.shape[1])
    deviation = float(numbers.std())
    if not deviation:
        message = (
            f"column {name!r} of {table.name} has {values[0]} in all rows, so it carries no information; leave it out"
        )
        warnings.warn(message, UserWarning, stacklevel=5)
    return FeatureColumn(name, "number", float(numbers.mean()), deviation or 1.0)


def _check_stray(table: Table, name: str, values: Sequence[str | None]) -> None:
    """Refuses a column of numbers in which a few entries are texts; 007 is not a number."""
    texts = {row: value.strip() for row, value in enumerate(values) if value is not None}
    stray = [row for row, value in texts.items() if not _NUMBER.fullmatch(value)]
    num_texts = sum(not _COMMAS.fullmatch(texts[row]) for row in stray)
    if stray and len(texts) - num_texts >= _MOSTLY * len(texts):
        raise ValueError(
            f"column {name!r} of {table.name} holds {_short(values[stray[0]])} in row {stray[0]}, which is not a "
            "number; correct it, or leave the column out"
        )


def _categories(table: Table, name: str, present: list[str]) -> list[str]:
    different = sorted(set(present))
    if len(different) > MAX_CATEGORIES:
        raise ValueError(
            f"column {name!r} of {table.name} holds {len(different):,} different texts, and at most {MAX_CATEGORIES} "
            "can be categories; leave it out, or read it as text"
        )
    return different


def _numbers(table: Table, name: str, first: int, trained: FeatureColumn | None = None) -> NDArray[np.float64]:
    """(n, 1) numbers, or (n, d) where the column holds lists; as in training, if that is known."""
    values = table.column(name)
    items = [v.tolist() if isinstance(v, np.ndarray) else v for v in values.tolist()]
    gaps = np.array([row for row, v in enumerate(items) if _is_gap(v)], dtype=np.int64)
    if len(gaps):
        raise _missing_error(table, name, "no number", gaps + first)
    try:
        numbers = np.array(items, dtype=np.float64) if values.dtype.kind in "biufO" else np.zeros(())
    except (ValueError, TypeError):
        numbers = np.zeros(())
    width = int(numbers[:1].size) if numbers.ndim == 2 else 0
    expected_width = width if trained is None else trained.width if trained.holds == "numbers" else 0
    if numbers.ndim not in (1, 2) or width != expected_width or any(isinstance(v, str) for v in items):
        raise _not_a_number_error(table, name, items, first, trained)
    numbers = numbers.reshape(len(items), -1)
    infinite = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if len(infinite):
        raise _missing_error(table, name, "infinity or a gap", infinite + first)
    return numbers


def _missing_error(table: Table, name: str, kind: str, rows: NDArray[np.int64]) -> ValueError:
    return ValueError(
        f"column {name!r} of {table.name} has {kind} in {row_numbers(rows)}; fill in what is missing, or drop such rows"
    )


def _not_a_number_error(
    table: Table, name: str, items: list[object], first: int, trained: FeatureColumn | None
) -> ValueError:
    """The error for a value of another kind or width than expected."""
    width = _width(items[0]) if trained is None else 0 if trained.holds == "number" else trained.width
    row = next((row for row, value in enumerate(items) if _width(value) < 0 or _width(value) != width), 0)
    expected, remedy = "a number or a list of numbers as long as the others", "choose another"
    if trained is not None:
        expected = "a number" if trained.holds == "number" else f"a list of {trained.width:,} numbers"
        remedy = "it was that in training"
    content = _short(items[row])
    return ValueError(
        f"column {name!r} of {table.name} holds {content} in row {row + first}, which is not {expected}; {remedy}"
    )


def _width(value: object) -> int:
    """0 for a number, the length of a list of numbers, -1 for anything else."""
    if isinstance(value, int | float | np.number):
        return 0
    if isinstance(value, list | tuple | np.ndarray) and all(isinstance(v, int | float | np.number) for v in value):
        return len(value)
    return -1


def _texts(table: Table, name: str, first: int) -> list[str | None]:
    values = table.column(name)
    texts = [_as_text(value) for value in values.tolist()]
    for row, value in enumerate(texts):
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"column {name!r} of {table.name} holds {_short(value)} in row {row + first}, which is not a text; "
                "it was that in training"
            )
    return cast("list[str | None]", texts)


def _as_text(value: object) -> object:
    """Truth as a text file has it."""
    return ("true" if value else "false") if isinstance(value, bool) else value


def _is_gap(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _short(value: object) -> str:
    text = str(value) if isinstance(value, date) else repr(value)
    return text if len(text) <= 30 else f"{text[:27]}..."
