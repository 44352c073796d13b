"""Text files made ready for DuckDB: how each part is laid out, and whether quotes mean anything in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import duckdb

from ngm.io.tables.query import Query, escaped, files_to_read, packing, quoted, refusals
from ngm.io.tables.text_format import (
    TextFormat,
    detect_format,
    distinct,
    is_number,
    only_numbers,
    shorten,
    split_lines,
    usual_width,
)

_LINES_READ = 1000
_PACKED = (".gz", ".zst")
_BYTES_READ = 1 << 22


@dataclass(frozen=True)
class ReadOptions:
    """How a text file is to be read; see `ngm.io.tables.text_format.detect_format`."""

    delimiter: str | None = None
    header: bool | None = None
    known: tuple[str, ...] = ()
    header_if_text: bool = True


@dataclass(frozen=True)
class _TextFile:
    """A file.

    Args:
        file: Where it is.
        lines: Its first lines, from the first row on.
        skip: Lines above these: blank ones and comments.
        num_above: How many of them are not blank.
        comments: How many of them are comments.
        header: Whether its first row holds the names.
        names: Its columns in order.
    """

    file: str
    lines: list[str]
    skip: int
    num_above: int
    comments: int
    header: bool = False
    names: tuple[str, ...] = ()


def open_text(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[str], reading: ReadOptions, rejects: str
) -> Query:
    """Makes text files ready to be read as one table.

    The first file decides. A later one may have the same names in another order, or none, as `split` leaves it.

    Args:
        connection: Where it is to be read.
        name: What messages call it.
        files: The parts; empty ones are left out.
        reading: What is known already.
        rejects: Table into which DuckDB puts lines that do not fit.
    """
    parts = [part for part in (_inspect(connection, name, file) for file in files) if part.lines]
    if not parts:
        raise ValueError(f"{name} is empty; give a file with a row per line")
    quotes = _any_quote([part.file for part in parts])
    form = _form(parts[0], reading, quotes)
    parts = _match_layouts(parts, form, reading, quotes)
    if quotes and not _quotes_hold(connection, name, parts, form, f"{rejects}_tried"):
        form = _form(parts[0], reading, quotes=False)
        quotes, parts = False, _match_layouts(parts, form, reading, quotes=False)
    types = ("VARCHAR",) * len(form.names)
    sql = _sql(parts, form, quotes, rejects)
    comments = sum(part.comments for part in parts)
    return Query(name, form.names, types, form.numbers, sql, rejects, form.header, hint=form.hint, comments=comments)


def _inspect(connection: duckdb.DuckDBPyConnection, name: str, file: str) -> _TextFile:
    """The first lines of a file; DuckDB unpacks and fetches where need be."""
    with refusals(name):
        rows = connection.execute(f"SELECT line FROM {_lines_of([file])} LIMIT {_LINES_READ}").fetchall()
    lines = ["" if line is None else str(line) for (line,) in rows]
    skip = next((i for i, line in enumerate(lines) if line.strip() and not _is_comment(line)), len(lines))
    comments = sum(_is_comment(line) for line in lines[:skip])
    num_above = sum(line != "" for line in lines[:skip])
    return _TextFile(file, [f"{line}\n" for line in lines[skip:] if line], skip, num_above, comments)


def _is_comment(line: str) -> bool:
    start = line.removeprefix("\ufeff")
    return start.startswith("#") and not start[1:2].strip()  # "#cats" is a word


def _form(part: _TextFile, reading: ReadOptions, quotes: bool) -> TextFormat:
    suffixes = [s.lower() for s in Path(part.file).suffixes]
    tab = ".tsv" in suffixes
    return detect_format(
        part.lines, reading.delimiter, reading.header, reading.known, reading.header_if_text, tab, quotes
    )


# Parts


def _match_layouts(parts: Sequence[_TextFile], form: TextFormat, reading: ReadOptions, quotes: bool) -> list[_TextFile]:
    """Each part with its own header and order of columns; refuses those with other columns."""
    first = replace(parts[0], header=form.header, names=form.names)
    return [first, *(_match_layout(part, first, form, reading, quotes) for part in parts[1:])]


def _match_layout(part: _TextFile, first: _TextFile, form: TextFormat, reading: ReadOptions, quotes: bool) -> _TextFile:
    rows = split_lines(part.lines, form.delimiter, quotes)
    names, width = tuple(distinct(rows[0])), usual_width(rows)
    if form.header and sorted(names) == sorted(form.names):
        return replace(part, header=True, names=names)
    num_uneven = sum(len(row) != len(form.names) for row in rows)
    if 2 * num_uneven > len(rows) or (reading.header is None and _holds_names(rows, (*reading.known, *form.names))):
        columns_text = f"columns {', '.join(names)}" if width == len(rows[0]) else f"{width} columns"
        raise ValueError(
            f"{part.file} has {columns_text}, {first.file} has {', '.join(form.names)}; give parts with the same "
            "columns"
        )
    return replace(part, header=False, names=form.names)


def _holds_names(rows: Sequence[Sequence[str]], known_names: Sequence[str]) -> bool:
    """Whether the first row of a later part can be no row of values."""
    first, body = [value.strip() for value in rows[0]], rows[1:]
    if any(is_number(value) for value in first):
        return False
    if {value.lower() for value in first} & {name.lower() for name in known_names}:
        return True
    return any(value and only_numbers(body, i, len(first)) for i, value in enumerate(first))


# Quotes


def _any_quote(files: Sequence[str]) -> bool:
    """Whether a quote is in any of the files; taken for granted where they are packed or far away."""
    for file in files:
        if "://" in file or file.lower().endswith(_PACKED):
            return True
        with Path(file).open("rb") as opened:
            while chunk := opened.read(_BYTES_READ):
                if b'"' in chunk:
                    return True
    return False


def _quotes_hold(
    connection: duckdb.DuckDBPyConnection, name: str, parts: Sequence[_TextFile], form: TextFormat, rejects: str
) -> bool:
    """Whether quotes hold fields together; where one that is never closed swallows lines, they are plain letters.

    Raises an error where a quote swallows lines in a file with fields that are quoted as they should be.
    """
    mark = f"\\x{ord(form.delimiter):02x}"
    proper = f'(^|{mark})"([^"]|"")*"({mark}|$)'
    with refusals(name):
        lines, with_quote, balanced = connection.execute(
            f"SELECT count(line), count_if(contains(line, '\"')), count_if(regexp_matches(line, '{proper}')) "
            f"FROM {_lines_of([part.file for part in parts])}"
        ).fetchall()[0]
        if not with_quote:
            return False
        swallowed = (
            lines - sum(part.num_above + part.header for part in parts) - _lines_read(connection, parts, form, rejects)
        )
        if swallowed <= 0:
            return True
        if not balanced:
            return False
        first = connection.execute(
            f"SELECT file_path, line, csv_line FROM temp.{rejects} JOIN temp.{rejects}_scan USING (scan_id, file_id) "
            "WHERE error_type = 'UNQUOTED VALUE' ORDER BY file_path, line LIMIT 1"
        ).fetchall()
    file, line, text = first[0] if first else (name, "?", "?")
    raise ValueError(
        f"{file} has a quote that is not closed, in which {swallowed:,} lines are lost: line {line}, "
        f"{shorten(str(text).splitlines()[0])!r}; close the quote or take it out"
    )


def _lines_read(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[_TextFile], form: TextFormat, rejects: str
) -> int:
    """How many lines became rows, or did not fit and are known to."""
    names = [quoted(c) for c in form.names]
    breaks = " + ".join(f"length(coalesce({c}, '')) - length(replace(coalesce({c}, ''), chr(10), ''))" for c in names)
    if form.delimiter == "\t":  # a field of several lines with tabs among them is a number of rows
        tabs = " OR ".join(f"(contains({c}, chr(10)) AND contains({c}, chr(9)))" for c in names)
        breaks = f"CASE WHEN {tabs} THEN 0 ELSE {breaks} END"
    rows, multiline = connection.execute(
        f"SELECT count(*), coalesce(sum({breaks}), 0) FROM ({_sql(parts, form, True, rejects)})"
    ).fetchall()[0]
    text = "rtrim(csv_line, chr(10) || chr(13))"
    inside = (
        f"CASE WHEN error_type = 'UNQUOTED VALUE' THEN 0 ELSE length({text}) - length(replace({text}, chr(10), '')) END"
    )
    rejected = connection.execute(
        f"SELECT coalesce(sum(n), 0) FROM (SELECT 1 + max({inside}) AS n FROM temp.{rejects} GROUP BY file_id, line)"
    ).fetchall()[0][0]
    return int(rows + multiline + rejected)


# SQL


def _sql(parts: Sequence[_TextFile], form: TextFormat, quotes: bool, rejects: str) -> str:
    """Rows of all parts; those that are laid out alike are read together."""
    quote = '"' if quotes else ""
    reads = []
    for (skip, header, names), group in groupby(parts, key=lambda part: (part.skip, part.header, part.names)):
        alike = [part.file for part in group]
        columns = ", ".join(f"'{escaped(n)}': 'VARCHAR'" for n in names)
        reads.append(
            f"FROM read_csv({files_to_read(alike)}, auto_detect = false, "
            f"delim = '{escaped(form.delimiter)}', quote = '{quote}', escape = '{quote}', header = {header}, "
            f"skip = {skip}, columns = {{{columns}}}, store_rejects = true, rejects_limit = 0, "
            f"rejects_table = '{rejects}', rejects_scan = '{rejects}_scan', hive_partitioning = false{packing(alike)})"
        )
    if len(reads) == 1:
        return reads[0]
    selected = ", ".join(quoted(n) for n in form.names)
    return " UNION ALL ".join(f"SELECT {selected} {source}" for source in reads)


def _lines_of(files: Sequence[str]) -> str:
    return (
        f"read_csv({files_to_read(files)}, auto_detect = false, delim = '\x01', quote = '', escape = '', "
        "header = false, columns = {'line': 'VARCHAR'}, ignore_errors = true, hive_partitioning = false"
        f"{packing(files)})"
    )
