"""How a text file of rows is to be read: what separates its fields, and whether its first row holds names.

Both follow from the first thousand lines by fixed rules, which `read_form` states, so that a file that grows is not
suddenly read in another way.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MARKS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar", " ": "a space", ":": "a colon"}
_FOUND_OUT = (",", "\t", ";", "|")  # a space or a colon may as well be part of a text


@dataclass(frozen=True)
class Form:
    """How a text file is laid out.

    Args:
        delimiter: What separates the fields.
        header: Whether the first row holds names.
        names: Names of the columns; column0, column1, ... without a header.
        numbers: Whether each column holds numbers only, as far as was looked.
        hint: What is odd about a file of one column: what seems to separate its fields; empty where nothing is.
    """

    delimiter: str
    header: bool
    names: tuple[str, ...]
    numbers: tuple[bool, ...]
    hint: str = ""


def read_form(
    lines: Sequence[str],
    delimiter: str | None = None,
    header: bool | None = None,
    known: Iterable[str] = (),
    header_if_text: bool = True,
) -> Form:
    r"""Finds out how a text file is laid out.

    Args:
        lines: The first lines, with their ends.
        delimiter: Where not given, the one of comma, tab, semicolon and bar that cuts the most lines into equally
            many fields.
        header: Where not given, see `has_header`.
        known: Names that only a header would hold.
        header_if_text: What to assume of a first row that nothing tells apart from the others.

    >>> read_form(["a\tb\t0.5\n", "b\tc\t1.0\n"]).names
    ('column0', 'column1', 'column2')
    """
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"delimiter is {delimiter!r}; give one character, such as ',' or a tab")
    mark = delimiter if delimiter is not None else _delimiter(lines)
    rows = _cut(lines, mark)
    width = _width(rows)
    if header is None:
        header = has_header(rows, known, header_if_text)
    names = rows[0] + [""] * (width - len(rows[0])) if header else [""] * width
    body = rows[1:] if header else rows
    numbers = tuple(_all_numbers(body, i, width) for i in range(width))
    hint = _hint(lines, mark) if width == 1 else ""
    return Form(mark, header, tuple(_distinct(names[:width])), numbers, hint)


def has_header(rows: Sequence[Sequence[str]], known: Iterable[str] = (), if_text: bool = True) -> bool:
    """Whether the first row holds names.

    It does not if a field of it is a number. It does if one of its names is known, or if a column holds numbers only
    from the second row on. Where all is text, `if_text` decides.

    >>> has_header([["a", "w"], ["b", "0.5"]]), has_header([["a", "1.0"], ["b", "0.5"]])
    (True, False)
    """
    first, below = rows[0], rows[1:]
    if any(_is_number(value) for value in first):
        return False
    if {value.strip().lower() for value in first} & {name.lower() for name in known}:
        return True
    return any(_all_numbers(below, i, len(first)) for i in range(len(first))) or if_text


def shorten(text: str, width: int = 60) -> str:
    """The beginning of a text."""
    return text if len(text) <= width else text[: width - 3] + "..."


def _cut(lines: Sequence[str], mark: str) -> list[list[str]]:
    rows = [row for row in csv.reader(lines, delimiter=mark) if row]
    return rows or [[""]]


def _delimiter(lines: Sequence[str]) -> str:
    scores = {}
    for mark in _FOUND_OUT:
        rows = _cut(lines, mark)
        width = _width(rows)
        scores[mark] = sum(len(row) == width for row in rows) if width > 1 else 0
    return max(_FOUND_OUT, key=lambda mark: scores[mark])


def _width(rows: Sequence[Sequence[str]]) -> int:
    """The number of fields that most rows have."""
    return Counter(len(row) for row in rows).most_common(1)[0][0]


def _hint(lines: Sequence[str], mark: str) -> str:
    """Names the mark that would cut every line into equally many fields."""
    for other, said in _MARKS.items():
        widths = {len(row) for row in _cut(lines, other)}
        if other != mark and len(widths) == 1 and widths != {1}:
            return f"{shorten(lines[0].rstrip())!r}; {said} seems to separate, so give delimiter={other!r}"
    return ""


def _all_numbers(rows: Sequence[Sequence[str]], column: int, width: int) -> bool:
    values = [row[column] for row in rows if len(row) == width and row[column]]
    return bool(values) and all(_is_number(value) for value in values)


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def _distinct(names: Sequence[str]) -> list[str]:
    """Names for columns: empty ones by position, repeated ones with a number behind."""
    out: list[str] = []
    for i, raw in enumerate(names):
        name = raw.strip().removeprefix("\ufeff") or f"column{i}"
        while name.lower() in {other.lower() for other in out}:  # DuckDB's names differ by more than their case
            name += "_1"
        out.append(name)
    return out
