"""Rows written to a file as they come: CSV, JSON lines or Parquet, whole or not at all."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO, TypeAlias

from ngm.io.files import check_writable, file_written_whole, is_graph_folder, temporary_path
from ngm.io.tables.ingest import copy_to
from ngm.io.tables.output_overlap import check_file_apart
from ngm.io.tables.query import connect, file_to_read, quoted, refusals
from ngm.workflow.predictions import Column

Write: TypeAlias = Callable[[Sequence[Sequence[object]]], None]
PARQUET, LINES = (".parquet", ".pq"), (".jsonl", ".ndjson")
_FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "\uff1d",
    "\uff0b",
    "\uff0d",
    "\uff20",
)  # the last four are full width
_NUMBER = re.compile(r"[+-]?(\d+([.]\d*)?|[.]\d+)([eE][+-]?\d+)?|-inf")


def check_output(output: Path, source: str, spreadsheet_safe: bool = False) -> None:
    """Refuses a file that cannot be written, or would replace what is read, before anything is read."""
    if spreadsheet_safe and output.suffix.lower() != ".csv":
        raise ValueError(f"--spreadsheet-safe is for .csv, and --output is {str(output)!r}; leave it out")
    if output.suffix.lower() not in (".csv", *PARQUET, *LINES):
        raise ValueError(f"--output is {str(output)!r}; name a file that ends in .csv, .parquet or .jsonl")
    if output.is_dir():
        raise ValueError(f"--output is {str(output)!r}, which is a folder; name a file in it")
    check_writable(output)
    owner = _owner(output)
    if owner is not None:
        raise ValueError(f"--output is {str(output)!r}, a file of the {owner} itself; name another file")
    check_file_apart(output, [source])


def _owner(output: Path) -> str | None:
    """What a file of this name belongs to where it lies: a graph folder, a run folder."""
    folder, name = output.parent, output.name.lower()
    if name == "nodes.parquet" and is_graph_folder(folder):
        return "graph folder"
    in_run = name in ("history.jsonl", "log.csv") and (folder / "config.json").is_file()
    return "run folder" if in_run or (folder / "evidence.json").is_file() else None


@contextmanager
def written(output: Path, columns: Sequence[Column], spreadsheet_safe: bool = False) -> Iterator[Write]:
    """Gives a function that adds rows, handed over column by column, to the output.

    Args:
        output: `.csv`, `.jsonl` or `.parquet`. Parquet is made of a CSV file beside it, which is then removed.
        columns: Of the output.
        spreadsheet_safe: Of CSV: no cell is a formula to a spreadsheet; see `spreadsheet_cell`.
    """
    kind = output.suffix.lower()
    with file_written_whole(output) as part:
        lines = temporary_path(output, "csv") if kind in PARQUET else part
        try:
            with lines.open("w", encoding="utf-8", newline="") as file:
                yield _json_lines(file, columns) if kind in LINES else _csv(file, columns, spreadsheet_safe)
            if kind in PARQUET:
                _to_parquet(lines, part, columns)
        finally:
            if kind in PARQUET:
                lines.unlink(missing_ok=True)


def spreadsheet_cell(value: object) -> object:
    """A cell that a spreadsheet shows and does not compute: an apostrophe goes before what would begin a formula.

    >>> [spreadsheet_cell(value) for value in ("=1+1", "@a", "-1.5", -1.5, "a=b")]
    ["'=1+1", "'@a", '-1.5', -1.5, 'a=b']
    """
    begins = isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA)
    return f"'{value}" if begins and not _NUMBER.fullmatch(str(value)) else value


def _csv(file: TextIO, columns: Sequence[Column], spreadsheet_safe: bool) -> Write:
    # with all in quotes, a cell is one cell also to a program that takes ; or tab for the delimiter
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL if spreadsheet_safe else csv.QUOTE_MINIMAL)
    cell = spreadsheet_cell if spreadsheet_safe else None
    writer.writerow([column.name if cell is None else cell(column.name) for column in columns])

    def write(values: Sequence[Sequence[object]]) -> None:
        shown = [[format(v, c.form) for v in some] if c.form else some for c, some in zip(columns, values, strict=True)]
        rows = zip(*shown, strict=True)
        writer.writerows(rows if cell is None else ([cell(value) for value in row] for row in rows))

    return write


def _json_lines(file: TextIO, columns: Sequence[Column]) -> Write:
    names = [column.name for column in columns]

    def write(values: Sequence[Sequence[object]]) -> None:
        pairs = zip(columns, values, strict=True)
        shown = [[float(format(v, c.form)) for v in some] if c.form else some for c, some in pairs]
        for row in zip(*shown, strict=True):
            file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, default=str) + "\n")

    return write


def _to_parquet(lines: Path, file: Path, columns: Sequence[Column]) -> None:
    types = ", ".join(f"'c{i}': '{c.type}'" for i, c in enumerate(columns))  # names may differ in case only
    wanted = ", ".join(f"c{i} AS {quoted(c.name)}" for i, c in enumerate(columns))
    rows = (
        f"SELECT {wanted} FROM read_csv({file_to_read(lines)}, auto_detect = false, header = true, delim = ',', "
        f"quote = '\"', escape = '\"', columns = {{{types}}}, hive_partitioning = false)"
    )
    with refusals(str(file)):
        connect().execute(copy_to(rows, file))
