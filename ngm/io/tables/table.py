"""Tables as people have them, read with proper types.

Values of text files get their types by a rule, not by a guess from a sample: a column is of whole numbers, or of
numbers, where every value in it is written as one, and of text otherwise, so that "007" stays "007". Ids are whole
numbers or text, so that "2101.10" is another one than "2101.1". Lines that do not fit are left out, counted and kept
for show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
from numpy.typing import NDArray

from ngm.io.tables.query import EXAMPLES, WORK, Query, RejectedRows, connect, missing_column, quoted, refusals
from ngm.io.tables.sources import Source, open_source
from ngm.io.tables.text_files import ReadOptions
from ngm.io.tables.text_format import shorten

_IDS = {"id", "node", "key", "source", "src", "target", "dst"}  # never numbers with a point, nor is what ends in _id
# so that 007, +1 and 1.0 stay as they are written
_INTEGER = "{c} IS NULL OR coalesce(try_cast({c} AS BIGINT)::VARCHAR = {c}, false)"
_NUMBER = (
    "{c} IS NULL OR (try_cast({c} AS DOUBLE) IS NOT NULL AND regexp_full_match({c}, "
    "'[+-]?(0|[1-9][0-9]*)?([.][0-9]*)?([eE][+-]?[0-9]+)?|[+-]?(nan|NaN|NAN|inf|Inf)'))"
)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A table that was read: named columns of equal length.

    Args:
        name: What messages call it.
        columns: Names of the columns, in order.
        num_rows: Number of rows.
        connection: Where the rows are.
        sql: A query for them.
        bad: Lines of a text file that were left out, since they did not fit.
        header: Whether the first row of a text file was taken for names; None where there was no question.
        hint: What is odd about a text file of one column; see `ngm.io.tables.text_format.TextFormat`.
    """

    name: str
    columns: tuple[str, ...]
    num_rows: int
    connection: duckdb.DuckDBPyConnection
    sql: str
    bad: RejectedRows = field(default_factory=RejectedRows)
    header: bool | None = None
    hint: str = ""

    def __len__(self) -> int:
        """Number of rows."""
        return self.num_rows

    def __repr__(self) -> str:
        """`Table(edges.csv, 3 rows: src, dst, w)`."""
        return f"Table({self.name}, {self.num_rows:,} rows: {', '.join(self.columns)})"

    def column(self, name: str) -> NDArray[np.generic]:
        """(n,) values; where some are missing, NaN among numbers with a point, None among all else."""
        if name not in self.columns:
            raise missing_column(self.name, name, self.columns, hint=self.hint)
        with refusals(self.name):
            arrays = self.connection.cursor().execute(f"SELECT {quoted(name)} AS c FROM ({self.sql})").fetchnumpy()
        return _plain(arrays["c"])

    def reordered(self, rows: Sequence[int]) -> Table:
        """The same rows in another order.

        Args:
            rows: (n,) new place of each row.
        """
        cursor, name = self.connection.cursor(), f"{WORK}.reordered"
        cursor.register("ngm_places", {"ngm_place": np.asarray(rows, dtype=np.int64)})
        selected = ", ".join(f"t.{quoted(c)}" for c in self.columns)
        with refusals(self.name):
            cursor.execute(
                f"CREATE OR REPLACE TABLE {name} AS SELECT {selected} FROM ({self.sql}) AS t "
                "POSITIONAL JOIN ngm_places AS p ORDER BY p.ngm_place"
            )
        return replace(self, sql=f"FROM {name}")


def read_table(
    source: Source | Table, delimiter: str | None = None, header: bool | None = None, *, trusted: bool = True
) -> Table:
    """Reads a table, whatever it is kept in.

    Args:
        source: A file (CSV, TSV, Parquet, JSON lines; text and JSON also as .gz or .zst), a folder of parts, a
            pattern such as "part-*.csv", a table of pandas, polars or arrow, a dict of columns, or a DuckDB query.
        delimiter: What separates the fields of a text file; detected by default.
        header: Whether the first row of a text file holds the names; detected by default. Without one
            columns are called column0, column1, ...
        trusted: False for a source that came with somebody's file: a local file, or a query that is one SELECT over
            local files, read without extensions, attached databases or the network.

    >>> table = read_table({"id": ["a", "b"], "size": [3, 4]})
    >>> table, table.column("size").tolist()
    (Table(the table, 2 rows: id, size), [3, 4])
    """
    if isinstance(source, Table):
        return source
    connection = connect(restricted=not trusted)
    query = open_source(connection, source, ReadOptions(delimiter, header), trusted=trusted)
    count, rejected_rows = load(connection, query, "loaded", [c for c in query.columns if _is_id(c)])
    return Table(
        query.name, query.columns, count, connection, f"FROM {WORK}.loaded", rejected_rows, query.header, query.hint
    )


def _is_id(column: str) -> bool:
    return column.lower() in _IDS or column.lower().endswith("_id")


def load(
    connection: duckdb.DuckDBPyConnection, query: Query, into: str, ids: Sequence[str]
) -> tuple[int, RejectedRows]:
    """Reads all columns into a table of our own, in the order of the rows.

    Args:
        connection: Where it is to be read.
        query: What is to be read.
        into: Name of the table.
        ids: Columns of ids, which become whole numbers or stay text.

    Returns:
        (rows read, lines left out).
    """
    table = f"{WORK}.{into}"
    with refusals(query.name):
        selected = ", ".join(as_value(c, query.type_of(c), c in ids) for c in query.columns)
        connection.execute(f"CREATE TABLE {table} AS SELECT {selected} FROM ({query.sql})")
        count = int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
        rejected_rows = rejected(connection, query)
        if not count:
            raise no_usable_rows(query, rejected_rows) if rejected_rows.count else no_rows(query)
        untyped = query.columns if query.rejects is not None else [c for c in ids if _is_huge(query.type_of(c))]
        _find_types(connection, table, untyped, ids)
    return count, rejected_rows


def rejected(connection: duckdb.DuckDBPyConnection, query: Query) -> RejectedRows:
    """The rows of a file that did not fit, once it was read."""
    if query.broken is not None:
        broken_rows = connection.execute(query.broken).fetchall()
        rows = tuple(f"row {row} (broken, or without a value)" for (row,) in broken_rows[:EXAMPLES])
        return query.unread + RejectedRows(len(broken_rows), rows)
    if query.rejects is None:
        return query.unread
    lines = (
        "(SELECT file_path, line, any_value(csv_line) AS text, min(error_type::VARCHAR) AS kind "
        f"FROM temp.{query.rejects} JOIN temp.{query.rejects}_scan USING (scan_id, file_id) GROUP BY file_path, line)"
    )
    count = connection.execute(f"SELECT count(*) FROM {lines}").fetchall()[0][0]
    first = connection.execute(
        f"SELECT line, text, kind FROM {lines} ORDER BY file_path, line LIMIT {EXAMPLES}"
    ).fetchall()
    fields = len(query.columns)
    reasons = {
        "MISSING COLUMNS": f"fewer than {fields} fields",
        "TOO MANY COLUMNS": f"more than {fields} fields",
        "UNQUOTED VALUE": "a quote out of place",
        "INVALID ENCODING": "not UTF-8",
    }
    examples = tuple(
        f"line {line}: {shorten(str(text))!r} ({reasons.get(kind, kind.lower())})" for line, text, kind in first
    )
    return RejectedRows(int(count), examples)


def no_rows(query: Query) -> ValueError:
    """The error for a table of names only."""
    if query.types == ("JSON",):  # what DuckDB says of a file without any object
        return ValueError(f"{query.name} is empty; give a file with a row per line")
    return ValueError(f"{query.name} has columns ({', '.join(query.columns)}) and no rows; give a table with rows")


def no_usable_rows(query: Query, rejected_rows: RejectedRows) -> ValueError:
    """The error for a table of which nothing is left."""
    return ValueError(
        f"none of the {rejected_rows.count:,} rows of {query.name} can be used: {'; '.join(rejected_rows.examples)}"
    )


def as_value(column: str, kind: str, is_id: bool = False) -> str:
    """A column in a query, as something that numpy and Parquet know; NaN is missing."""
    name = quoted(column)
    if kind in ("FLOAT", "DOUBLE"):
        return f"nullif({name}, 'nan') AS {name}"
    if is_id and _is_huge(kind):
        return f"{name}::VARCHAR AS {name}"
    if kind == "JSON":
        return f"{name} ->> '$' AS {name}"
    return f"{name}::VARCHAR AS {name}" if kind.startswith("ENUM") else name


def is_integer_sql(column: str) -> str:
    """SQL that holds where a text is a whole number in its one way of writing."""
    return _INTEGER.format(c=column)


def _is_huge(kind: str) -> bool:
    return kind in ("HUGEINT", "UHUGEINT")  # numpy and Parquet would make numbers with a point of them


def _find_types(
    connection: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str], ids: Sequence[str] = ()
) -> None:
    """Gives columns of text the type that all their values are written in."""
    if not columns:
        return
    names = [quoted(column) for column in columns]
    tests = [f"bool_and({test.format(c=name)})" for name in names for test in (_INTEGER, _NUMBER, "{c} IS NULL")]
    answers = connection.execute(f"SELECT {', '.join(tests)} FROM {table}").fetchall()[0]
    for i, (column, name) in enumerate(zip(columns, names, strict=True)):
        integers, number, all_null = answers[3 * i : 3 * i + 3]
        if integers and not all_null:
            connection.execute(f"ALTER TABLE {table} ALTER {name} TYPE BIGINT")
        elif number and not all_null and column not in ids:
            connection.execute(f"ALTER TABLE {table} ALTER {name} TYPE DOUBLE USING nullif({name}::DOUBLE, 'nan')")


def _plain(values: NDArray[np.generic]) -> NDArray[np.generic]:
    if not isinstance(values, np.ma.MaskedArray):
        return values
    gaps = np.ma.getmaskarray(values)
    if not gaps.any():
        return np.asarray(values.data)
    if values.dtype.kind == "f":
        return np.asarray(values.filled(np.nan))
    values_ = values.data.astype(object)
    values_[gaps] = None
    return values_
