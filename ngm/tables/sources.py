"""Where a table comes from, made ready for DuckDB: files, folders, patterns, tables in memory, queries."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import duckdb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngm.names import nearest
from ngm.tables.forms import read_form

_LINES_READ = 1000
_PARQUET = {".parquet", ".pq"}
_JSON = {".json", ".jsonl", ".ndjson"}
_NO_TABLES = {".db", ".duckdb", ".sqlite", ".sqlite3", ".xls", ".xlsx", ".feather", ".arrow", ".pkl", ".npy", ".npz"}
_FIRST_WORDS = {"select", "from", "with", "values", "table", "pivot", "unpivot", "attach", "install", "load", "set"}
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN")


@runtime_checkable
class Frame(Protocol):
    """A table in memory that DuckDB takes: of pandas, polars or arrow."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns)."""


Source = str | Path | Frame | Mapping[str, ArrayLike]


@dataclass(frozen=True)
class Query:
    """Rows that DuckDB has not read yet.

    Args:
        name: What messages call it: the file, or "the query".
        columns: Names of the columns.
        types: DuckDB type of each; all VARCHAR where it is a text file.
        numbers: Whether each holds numbers, as far as is known.
        sql: A query for all of them.
        rejects: Table into which the reader of a text file puts lines that do not fit; None for other sources.
        header: Whether the first row of a text file was taken for names; None where there was no question.
        again: Whether reading it again would give the same rows; a query may not.
        hint: What is odd about a text file of one column; see `ngm.tables.forms.Form`.
    """

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    numbers: tuple[bool, ...]
    sql: str
    rejects: str | None = None
    header: bool | None = None
    again: bool = True
    hint: str = ""

    def has(self, column: str, given_as: str = "") -> str:
        """The name itself if there is such a column, else an error that shows those there are."""
        if column not in self.columns:
            raise missing_column(self.name, column, self.columns, given_as, self.hint)
        return column

    def type_of(self, column: str) -> str:
        """DuckDB type of a column."""
        return self.types[self.columns.index(column)]


@dataclass(frozen=True)
class Reading:
    """How a text file is to be read; see `ngm.tables.forms.read_form`."""

    delimiter: str | None = None
    header: bool | None = None
    known: tuple[str, ...] = ()
    header_if_text: bool = True


def open_source(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    reading: Reading | None = None,
    called: str = "the table",
    view: str = "source",
) -> Query:
    """Makes a source ready to be read by the connection; no more than its first lines are read.

    Args:
        connection: Where it is to be read.
        source: See `ngm.tables.read_table`.
        reading: How a text file is to be read.
        called: What messages call a table in memory.
        view: Name for the views and tables that this needs.
    """
    query = _open(connection, source, reading or Reading(), called, view)
    if query.header is None and reading is not None and (reading.delimiter is not None or reading.header is not None):
        raise ValueError(f"{query.name} is no text file, so delimiter and header say nothing; leave them out")
    return query


def _open(connection: duckdb.DuckDBPyConnection, source: Source, reading: Reading, called: str, view: str) -> Query:
    if not isinstance(source, str | Path):
        return _in_memory(connection, source, called, view)
    if isinstance(source, str) and _is_query(source):
        return _of_query(connection, source, view)
    files, name = _files(connection, source), str(source)
    kind = _kind(files)
    listed = "[" + ", ".join(f"'{escaped(f)}'" for f in files) + "]"
    if kind == "text":
        return _of_text(connection, name, files, listed, reading, f"{view}_rejects")
    if kind == "Parquet":
        return _described(connection, name, f"FROM read_parquet({listed}, union_by_name = true)")
    lines = "format = 'auto'" if kind == "JSON" else "format = 'newline_delimited', ignore_errors = true"
    return _described(connection, name, f"FROM read_json({listed}, {lines}, sample_size = -1, union_by_name = true)")


def _in_memory(
    connection: duckdb.DuckDBPyConnection, source: Frame | Mapping[str, ArrayLike], called: str, view: str
) -> Query:
    handed: object = source
    if isinstance(source, Mapping):
        columns = {str(k): _column(str(k), v) for k, v in source.items()}
        if len({len(v) for v in columns.values()}) != 1:
            said = ", ".join(f"{k!r} {len(v)}" for k, v in columns.items()) or "there are none"
            raise ValueError(f"columns of {called} differ in length ({said}); give each an entry per row")
        handed = columns
    try:
        connection.register(view, handed)
    except (duckdb.Error, TypeError):
        raise ValueError(
            f"{called} is a {type(source).__name__}; give a file, a folder, a query, a dict of columns, or a table of "
            "pandas, polars or arrow"
        ) from None
    return _described(connection, called, f"FROM {view}")


def _column(name: str, values: ArrayLike) -> NDArray[np.generic]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} has shape {array.shape}; give (n,), a value per row")
    if array.dtype.kind in "US" or (array.dtype.kind == "O" and any(isinstance(v, np.generic) for v in array)):
        return np.array(array.tolist(), dtype=object)
    return array


def _of_query(connection: duckdb.DuckDBPyConnection, text: str, view: str) -> Query:
    with refusals("the query"):
        *before, last = connection.extract_statements(text)
        for statement in before:
            connection.execute(statement)
        connection.execute(f"CREATE VIEW {view} AS {last.query.strip().rstrip(';')}")
    return _described(connection, "the query", f"FROM {view}", again=False)


def _of_text(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[str], listed: str, reading: Reading, rejects: str
) -> Query:
    lines = _first_lines(connection, name, files)
    form = read_form(lines, reading.delimiter, reading.header, reading.known, reading.header_if_text)
    columns = ", ".join(f"'{escaped(n)}': 'VARCHAR'" for n in form.names)
    sql = (
        f"FROM read_csv({listed}, auto_detect = false, delim = '{escaped(form.delimiter)}', quote = '\"', "
        f"escape = '\"', header = {form.header}, columns = {{{columns}}}, store_rejects = true, rejects_limit = 0, "
        f"rejects_table = '{rejects}', rejects_scan = '{rejects}_scan')"
    )
    return Query(
        name, form.names, ("VARCHAR",) * len(form.names), form.numbers, sql, rejects, form.header, hint=form.hint
    )


def _first_lines(connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[str]) -> list[str]:
    """The first lines of the first file that has any; DuckDB unpacks and fetches where need be."""
    for file in files:
        with refusals(name):
            found = connection.execute(
                f"SELECT line FROM read_csv('{escaped(file)}', auto_detect = false, delim = '\x01', quote = '', "
                "escape = '', header = false, columns = {'line': 'VARCHAR'}, ignore_errors = true) "
                f"LIMIT {_LINES_READ}"
            ).fetchall()
        lines = [f"{line}\n" for (line,) in found if line is not None]
        if lines:
            return lines
    raise ValueError(f"{name} is empty; give a file with a row per line")


def _described(connection: duckdb.DuckDBPyConnection, name: str, sql: str, again: bool = True) -> Query:
    with refusals(name):
        found = connection.execute(f"DESCRIBE {sql}").fetchall()
    columns, types = tuple(str(row[0]) for row in found), tuple(str(row[1]) for row in found)
    return Query(name, columns, types, tuple(t.lstrip("U").startswith(_NUMBERS) for t in types), sql, again=again)


# Which files


def _is_query(text: str) -> bool:
    words = text.split(maxsplit=1)
    return len(words) == 2 and words[0].lower() in _FIRST_WORDS and not Path(text).exists()


def _files(connection: duckdb.DuckDBPyConnection, source: str | Path) -> list[str]:
    """The files of a path, a folder or a pattern; addresses such as s3://... are left to DuckDB."""
    text, path = str(source), Path(source)
    if "://" in text or path.is_file():
        return [text]
    if path.is_dir():
        parts = [p for p in path.rglob("*") if p.is_file() and not _hidden(p.relative_to(path))]
        if not parts:
            raise ValueError(f"{text} is an empty folder; name a folder of table files")
        return sorted(str(p) for p in parts)
    if any(mark in text for mark in "*?["):
        found = connection.execute("SELECT file FROM glob(?) ORDER BY file", [text]).fetchall()
        if not found:
            raise FileNotFoundError(f"no file matches {text}; check the pattern")
        return [str(file) for (file,) in found]
    there = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    raise FileNotFoundError(f"{text} is not there{nearest(path.name, there)}; give a file, a folder or a query")


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)  # _SUCCESS and the like


def _kind(files: Sequence[str]) -> str:
    kinds = {_kind_of(file): file for file in files}
    if len(kinds) > 1:
        said = " and ".join(f"{kind} ({Path(file).name})" for kind, file in sorted(kinds.items()))
        raise ValueError(f"the parts are of different kinds: {said}; give a pattern for one, such as 'parts/*.csv'")
    return next(iter(kinds))


def _kind_of(file: str) -> str:
    suffixes = [s.lower() for s in Path(file).suffixes]
    last = next((s for s in reversed(suffixes) if s not in (".gz", ".zst")), "")
    if last in _NO_TABLES:
        raise ValueError(
            f"{file} is no text, Parquet or JSON file; give a query, such as \"FROM sqlite_scan('a.db', 'edges')\""
        )
    if last in _JSON:
        return "JSON" if last == ".json" else "JSON lines"
    return "Parquet" if last in _PARQUET else "text"


# Shared


def connect(temporary: Path | None = None, memory_limit: str | None = None) -> duckdb.DuckDBPyConnection:
    """A DuckDB of its own, in memory; what does not fit goes to files in `temporary`.

    Args:
        temporary: Folder for what does not fit; DuckDB's own choice where not given.
        memory_limit: Such as "4GB"; DuckDB's own (four fifths of the memory) where not given.
    """
    connection = duckdb.connect(":memory:")
    connection.execute("SET enable_progress_bar = false")
    if temporary is not None:
        connection.execute(f"SET temp_directory = '{escaped(str(temporary))}'")
    if memory_limit is not None:
        try:
            connection.execute(f"SET memory_limit = '{escaped(memory_limit)}'")
        except duckdb.Error:
            raise ValueError(f"memory_limit is {memory_limit!r}; give a size such as '4GB' or '500MB'") from None
    return connection


@contextmanager
def refusals(name: str) -> Iterator[None]:
    """Turns what DuckDB says into one line."""
    try:
        yield
    except duckdb.Error as error:
        first = str(error).strip().splitlines()[0]
        if "No space left" in str(error) or "failed to offload" in str(error):  # the latter: no room left to spill to
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from None
        if isinstance(error, duckdb.OutOfMemoryException):
            raise ValueError(f"{name} does not fit: {first}; raise memory_limit") from None
        raise ValueError(f"{name} cannot be read: {first}") from None


def missing_column(table: str, column: str, columns: Iterable[str], given_as: str = "", hint: str = "") -> ValueError:
    """The error for a name that is not among the columns."""
    if hint:
        return ValueError(f"{table} has one column, {hint}")
    there = list(columns)
    said = f" for {given_as}" if given_as else ""
    return ValueError(
        f"{table} has no column {column!r}{said}{nearest(column, there)}; its columns are {', '.join(there)}"
    )


def quoted(name: str) -> str:
    """A column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def escaped(text: str) -> str:
    """A text between quotes in SQL."""
    return text.replace("'", "''")
