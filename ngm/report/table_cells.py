"""Formats cells of a table: decimals, missing values, and sort keys."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ngm.report.page import Cell, ReportTable

_NUMBER_WITH_UNIT = re.compile(r"([-−+]?[\d,]+\.?\d*) ?(?:%|± ?[\d.,]+ ?%?)$")


@dataclass(frozen=True)
class FormattedCell:
    """A formatted cell; `order` is its numeric sort key, if any."""

    text: str
    order: str | None


@dataclass(frozen=True)
class Heading:
    """A heading; `kind` is "num" for numbers, "long" and "short" for texts, or nothing."""

    name: str
    kind: str


def format_table(table: ReportTable) -> tuple[list[Heading], list[list[FormattedCell]]]:
    """Headings and cells of a table as they are shown.

    >>> heads, rows = format_table(ReportTable("t", "Scores", ["run", "score"], [["a", 0.5], ["b", None]]))
    >>> [head.kind for head in heads], [[cell.text for cell in row] for row in rows]
    (['short', 'num'], [['a', '0.500'], ['b', '–']])
    """
    columns = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    headings = [Heading(name, _kind(cells)) for name, cells in zip(table.columns, columns, strict=True)]
    formatted = [
        [FormattedCell(_format_cell(cell, digits), _sort_key(cell)) for cell in cells]
        for cells, digits in zip(columns, (_digits(cells, table.digits) for cells in columns), strict=True)
    ]
    return headings, [list(row) for row in zip(*formatted, strict=True)]


def _kind(cells: Sequence[Cell]) -> str:
    present = [cell for cell in cells if cell is not None]
    if present and all(_sort_key(cell) is not None or isinstance(cell, float) for cell in present):
        return "num"
    longest = max((len(cell) for cell in present if isinstance(cell, str)), default=0)
    return "long" if longest > 40 else "short" if longest <= 16 else ""


def _sort_key(cell: Cell) -> str | None:
    """The number that a cell is, or that stands before a percent sign or a spread."""
    if isinstance(cell, str):
        match = _NUMBER_WITH_UNIT.match(cell)
        return None if match is None else match[1].replace(",", "").replace("−", "-")
    if cell is None or isinstance(cell, bool) or not math.isfinite(cell):
        return None
    return repr(float(cell))


def _digits(cells: Sequence[Cell], digits: int) -> int | None:
    """Decimals of a column: 0 where all floats are whole; None, for as few as it takes, where texts are among them."""
    floats = [cell for cell in cells if isinstance(cell, float) and math.isfinite(cell)]
    if any(isinstance(cell, str) for cell in cells):
        return None
    return 0 if all(cell == int(cell) for cell in floats) else digits


def _format_cell(cell: Cell, digits: int | None) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return cell
    if not math.isfinite(cell):
        return "∞" if cell > 0 else "−∞"
    if isinstance(cell, int):
        return str(cell) if abs(cell) < 10_000 else f"{cell:,}"
    if digits is None:
        return f"{cell:.6g}"
    if 0 < abs(cell) < 0.5 * 10**-digits:
        return f"{cell:.1e}"
    return f"{cell:,.{digits}f}"
