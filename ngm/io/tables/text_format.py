"""How a text file of rows is to be read: what separates its fields, and whether its first row holds names.

Both follow from the first thousand lines by fixed rules, which `detect_format` states, so that a file that grows is not
suddenly read in another way.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MARKS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a bar", " ": "a space", ":": "a colon"}
_DETECTED = ("\t", ";", "|", ",")  # of several the first; a space or a colon may as well be part of a text


@dataclass(frozen=True)
class TextFormat:
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


def detect_format(
    lines: Sequence[str],
    delimiter: str | None = None,
    header: bool | None = None,
    known_names: Iterable[str] = (),
    header_if_text: bool = True,
    tab: bool = False,
    quotes: bool = True,
) -> TextFormat:
    r"""Finds out how a text file is laid out.

    Args:
        lines: The first lines, with their ends.
        delimiter: Where not given, the one of tab, semicolon, bar and comma that cuts the most lines into equally
            many fields, the first of several.
        header: Where not given, see `has_header`.
        known_names: Names that only a header would hold.
        header_if_text: What to assume of a first row that nothing tells apart from the others.
        tab: Whether a tab is to be expected; it then need not cut more lines than others, if it cuts most of them.
        quotes: Whether quotes hold fields together.

    >>> detect_format(["a\tb\t0.5\n", "b\tc\t1.0\n"]).names
    ('column0', 'column1', 'column2')
    """
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
        raise ValueError(f"delimiter is {delimiter!r}; give one character, such as ',' or a tab")
    mark = delimiter if delimiter is not None else _delimiter(lines, tab, quotes)
    rows = split_lines(lines, mark, quotes)
    width = usual_width(rows)
    if header is None:
        header = has_header(rows, known_names, header_if_text)
    names = rows[0] + [""] * (width - len(rows[0])) if header else [""] * width
    body = rows[1:] if header else rows
    numbers = tuple(only_numbers(body, i, width) for i in range(width))
    hint = _hint(lines, mark) if width == 1 else ""
    return TextFormat(mark, header, tuple(distinct(names[:width])), numbers, hint)


def has_header(rows: Sequence[Sequence[str]], known_names: Iterable[str] = (), if_text: bool = True) -> bool:
    """Whether the first row holds names.

    It does not if a field of it is a number. It does if one of its names is known, or if a column holds numbers only
    from the second row on. Where all is text, `if_text` decides.

    >>> has_header([["a", "w"], ["b", "0.5"]]), has_header([["a", "1.0"], ["b", "0.5"]])
    (True, False)
    """
    first, body = rows[0], rows[1:]
    if any(is_number(value) for value in first):
        return False
    if {value.strip().lower() for value in first} & {name.lower() for name in known_names}:
        return True
    return any(only_numbers(body, i, len(first)) for i in range(len(first))) or if_text


def shorten(text: str, width: int = 60) -> str:
    """The beginning of a text."""
    return text if len(text) <= width else text[: width - 3] + "..."


def split_lines(lines: Sequence[str], mark: str, quotes: bool = True) -> list[list[str]]:
    r"""Rows of fields; a quoted field may hold delimiters and line breaks, and the last one need not be closed.

    >>> split_lines(['a,"b, ""c""\n', 'd"\n', 'e,"f" g\n'], ",")
    [['a', 'b, "c"\nd'], ['e', '"f" g']]
    """
    text = "".join(lines).rstrip("\r\n")
    if not quotes or '"' not in text:
        return [line.split(mark) for line in text.replace("\r\n", "\n").split("\n") if line] or [[""]]
    m = re.escape(mark)
    field = rf'(?:"([^"]*(?:""[^"]*)*)(?:"(?=[{m}\r\n]|\Z)|\Z)|([^{m}\n]*))({m}|\r?\n|\Z)'
    rows: list[list[str]] = [[]]
    for match in re.finditer(field, text):  # not the csv module, which refuses fields of more than 131,072 letters
        inside, unquoted, end = match.groups()
        rows[-1].append(unquoted.rstrip("\r") if inside is None else inside.replace('""', '"'))
        if not end:
            break
        if end != mark:
            rows.append([])
    return [row for row in rows if row != [""]] or [[""]]


def _delimiter(lines: Sequence[str], tab: bool, quotes: bool) -> str:
    scores = {}
    for mark in _DETECTED:
        rows = split_lines(lines, mark, quotes)
        width = usual_width(rows)
        scores[mark] = sum(len(row) == width for row in rows) if width > 1 else 0
        if mark == "\t" and tab and 2 * scores[mark] > len(rows):
            return mark
    best_mark = max(_DETECTED, key=lambda mark: scores[mark])
    return best_mark if scores[best_mark] else ","


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """The number of fields that most rows have."""
    return Counter(len(row) for row in rows).most_common(1)[0][0]


def _hint(lines: Sequence[str], mark: str) -> str:
    """Suggests the delimiter that splits every line into equally many fields."""
    for other_mark, name in _MARKS.items():
        widths = {len(row) for row in split_lines(lines, other_mark)}
        if other_mark != mark and len(widths) == 1 and widths != {1}:
            return f"{shorten(lines[0].rstrip())!r}; {name} seems to separate, so give delimiter {other_mark!r}"
    return ""


def only_numbers(rows: Sequence[Sequence[str]], column: int, width: int) -> bool:
    """Whether a column holds numbers and nothing else, in the rows of this width."""
    values = [row[column] for row in rows if len(row) == width and row[column]]
    return bool(values) and all(is_number(value) for value in values)


def is_number(text: str) -> bool:
    """Whether a text is a number; NaN is not."""
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def distinct(names: Sequence[str]) -> list[str]:
    """Names for columns: empty ones by position, repeated ones with a number behind."""
    unique_names: list[str] = []
    for i, raw in enumerate(names):
        name = raw.strip().removeprefix("\ufeff") or f"column{i}"
        while name.lower() in {
            existing.lower() for existing in unique_names
        }:  # DuckDB's names differ by more than their case
            name += "_1"
        unique_names.append(name)
    return unique_names
