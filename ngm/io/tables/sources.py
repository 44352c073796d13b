"""Where a table comes from, made ready for DuckDB: files, folders, patterns, tables in memory, queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import duckdb
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngm._arguments import as_array
from ngm._spelling import nearest
from ngm.io.files import path_exists
from ngm.io.tables.query import WORK, Query, files_to_read, packing, quoted, refusals
from ngm.io.tables.statements import check_create, check_untrusted, statements_of
from ngm.io.tables.text_files import ReadOptions, open_text
from ngm.io.tables.text_format import shorten

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


def open_source(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    reading: ReadOptions | None = None,
    description: str = "the table",
    view: str = "ngm_source",
    trusted: bool = True,
) -> Query:
    """Makes a source ready to be read by the connection; no more than its first lines are read.

    Args:
        connection: Where it is to be read.
        source: See `ngm.io.tables.read_table`.
        reading: How a text file is to be read.
        description: Name of a table in memory in error messages.
        view: Name for the views and tables that this needs.
        trusted: Whether the user typed it; see `ngm.io.tables.read_table`.
    """
    if not trusted:
        _check_untrusted(connection, source)
    if isinstance(source, str) and not source.strip():
        raise ValueError("the name of the table is empty; give a file, a folder or a query")
    query = _open(connection, source, reading or ReadOptions(), description, view)
    if query.header is None and reading is not None and (reading.delimiter is not None or reading.header is not None):
        raise ValueError(f"{query.name} is not a text file, so delimiter and header have no effect; leave them out")
    return query


def _open(
    connection: duckdb.DuckDBPyConnection, source: Source, reading: ReadOptions, description: str, view: str
) -> Query:
    if not isinstance(source, str | Path):
        return _in_memory(connection, source, description, view)
    if isinstance(source, str) and is_query(source):
        return _query_source(connection, source, view)
    files, name = files_of(connection, source), str(source)
    kind = _kind(files)
    files = [file for file in files if "://" in file or Path(file).stat().st_size]
    if not files:
        raise ValueError(f"{name} is empty; give a file with {'rows' if kind == 'Parquet' else 'a row per line'}")
    if kind == "text":
        return open_text(connection, name, files, reading, f"{view}_rejects")
    listed, parts = files_to_read(files), _partitions(source, files)
    if kind == "Parquet":
        return _describe(connection, name, f"FROM read_parquet({listed}, union_by_name = true{parts})")
    lines = "format = 'auto'" if kind == "JSON" else "format = 'newline_delimited', ignore_errors = true"
    sql = f"FROM read_json({listed}, {lines}, sample_size = -1, union_by_name = true{parts}{packing(files)})"
    query = _describe(connection, name, sql)
    return query if kind == "JSON" else _without_broken(query)


def _check_untrusted(connection: duckdb.DuckDBPyConnection, source: Source) -> None:
    if not isinstance(source, str):
        return
    if is_query(source):
        check_untrusted(connection, source)
    elif "://" in source and not path_exists(source):
        raise ValueError(
            f"{source} is an address from an untrusted source; give it on the command line if you trust it"
        )


def _in_memory(
    connection: duckdb.DuckDBPyConnection, source: Frame | Mapping[str, ArrayLike], description: str, view: str
) -> Query:
    arrays: object = source
    if type(source).__module__.split(".")[0] == "polars" and hasattr(source, "to_dict"):
        lists = source.to_dict(as_series=False)  # DuckDB would need pyarrow for the frame itself
        source = {name: _objects(values) for name, values in lists.items()}
    if isinstance(source, Mapping):
        columns = {str(k): _column(str(k), v) for k, v in source.items()}
        if len({len(v) for v in columns.values()}) != 1:
            lengths = ", ".join(f"{k!r} {len(v)}" for k, v in columns.items()) or "there are none"
            raise ValueError(f"columns of {description} differ in length ({lengths}); give each an entry per row")
        arrays = columns
    try:
        connection.register(view, arrays)
    except (duckdb.Error, TypeError):
        raise ValueError(
            f"{description} is a {type(source).__name__}; give a file, a folder, a query, a dict of columns, or a "
            "table of pandas, polars or arrow"
        ) from None
    return _describe(connection, description, f"FROM temp.{view}")


def _column(name: str, values: ArrayLike) -> NDArray[np.generic]:
    array = as_array(f"column {name!r}", values, "give (n,), a value per row")
    if array.ndim != 1:
        raise ValueError(f"column {name!r} has shape {array.shape}; give (n,), a value per row")
    if array.dtype.kind in "US":  # where numpy made text of all, NaN among words is "nan" now
        gaps = [False] * len(array) if isinstance(values, np.ndarray) else [_is_nan(v) for v in list(values)]  # type: ignore[arg-type]
        return _objects([None if gap else v for v, gap in zip(array.tolist(), gaps, strict=True)])
    if array.dtype.kind == "O":
        values_ = [v.item() if isinstance(v, np.generic) else v for v in array]
        return _objects([None if _is_nan(v) else v for v in values_])
    return array


def _objects(values: list[object]) -> NDArray[np.generic]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _without_broken(query: Query) -> Query:
    """JSON lines without those that are broken, of which DuckDB makes rows without a value."""
    is_empty = " AND ".join(f"{quoted(c)} IS NULL" for c in query.columns)
    rows = f"SELECT row_number() OVER () AS line, {is_empty} AS broken {query.sql}"
    sql = f"{query.sql} WHERE NOT ({is_empty})"
    return replace(query, sql=sql, broken=f"SELECT line FROM ({rows}) WHERE broken")


def _query_source(connection: duckdb.DuckDBPyConnection, text: str, view: str) -> Query:
    *preparing, query = statements_of(connection, text)
    with refusals("the query"):
        if any(statement.type == duckdb.StatementType.ATTACH for statement in preparing):
            _detach(connection)
        for statement in preparing:
            if statement.type == duckdb.StatementType.CREATE:
                check_create(connection)
            connection.execute(statement)
        connection.execute(f"CREATE TEMP VIEW {view} AS {query.query.strip().rstrip(';')}")
    return _describe(connection, "the query", f"FROM temp.{view}", rereadable=False)


def _detach(connection: duckdb.DuckDBPyConnection) -> None:
    """Lets go of the databases of an earlier query, whose rows were read, so that this one may attach them too."""
    connection.execute("USE memory")
    databases = connection.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
    for (name,) in databases:
        if name not in ("memory", WORK):
            connection.execute(f"DETACH {quoted(name)}")


def _describe(connection: duckdb.DuckDBPyConnection, name: str, sql: str, rereadable: bool = True) -> Query:
    with refusals(name):
        description = connection.execute(f"DESCRIBE {sql}").fetchall()
    columns, types = tuple(str(row[0]) for row in description), tuple(str(row[1]) for row in description)
    return Query(
        name, columns, types, tuple(t.lstrip("U").startswith(_NUMBERS) for t in types), sql, rereadable=rereadable
    )


# Which files


def is_query(text: str) -> bool:
    """Whether a text is a query, and no file of that name is there."""
    first_words = text.split(maxsplit=1)
    return len(first_words) == 2 and first_words[0].lower() in _FIRST_WORDS and not path_exists(text)


def files_of(connection: duckdb.DuckDBPyConnection, source: str | Path) -> list[str]:
    """The files of a path, a folder or a pattern; addresses such as s3://... are left to DuckDB.

    A name that is there as it stands is that file, whatever signs are in it; else [, * and ? make a pattern.
    """
    text, path = str(source), Path(source)
    if "://" in text and not path_exists(path):
        return [text]
    try:
        if path.is_file():
            return [str(path)]
    except (OSError, ValueError):
        raise ValueError(
            f"{shorten(text)!r} is too long for a file; a query starts with SELECT, FROM, WITH or the like"
        ) from None
    if path.is_dir():
        parts = [p for p in path.rglob("*") if p.is_file() and not _hidden(p.relative_to(path))]
        if not parts:
            raise ValueError(f"{text} is an empty folder; name a folder of table files")
        return sorted(str(p) for p in parts)
    if any(mark in text for mark in "*?["):
        matches = connection.execute("SELECT file FROM glob(?) ORDER BY file", [text]).fetchall()
        if not matches:
            raise FileNotFoundError(f"no file matches {text}; check the pattern")
        return [str(file) for (file,) in matches]
    siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    raise FileNotFoundError(f"{text} is not there{nearest(path.name, siblings)}; give a file, a folder or a query")


def _partitions(source: str | Path, files: Sequence[str]) -> str:
    """Option for DuckDB: folders such as year=2024 are a column where they are below the folder or in the pattern."""
    path = Path(source)
    if path_exists(path):
        subfolders = [Path(file).relative_to(path).parent.parts for file in files] if path.is_dir() else []
        if not any("=" in part for parts in subfolders for part in parts):
            return ", hive_partitioning = false"
    return ""


def _hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)  # _SUCCESS and the like


def _kind(files: Sequence[str]) -> str:
    kinds = {_kind_of(file): file for file in files}
    if len(kinds) > 1:
        kinds_text = " and ".join(f"{kind} ({Path(file).name})" for kind, file in sorted(kinds.items()))
        raise ValueError(
            f"the parts are of different kinds: {kinds_text}; give a pattern for one, such as 'parts/*.csv'"
        )
    return next(iter(kinds))


def _kind_of(file: str) -> str:
    suffixes = [s.lower() for s in Path(file).suffixes]
    last = next((s for s in reversed(suffixes) if s not in (".gz", ".zst")), "")
    if last in _NO_TABLES:
        raise ValueError(
            f"{file} is not a text, Parquet or JSON file; give a query, such as \"FROM sqlite_scan('a.db', 'edges')\""
        )
    if last in _JSON:
        return "JSON" if last == ".json" else "JSON lines"
    return "Parquet" if last in _PARQUET else "text"
