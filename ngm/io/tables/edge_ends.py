"""Tables of edges in DuckDB: ids numbered, ends looked up, rows that are no edge counted.

Nothing here holds a table as Python objects. An edge becomes one number, its two rows side by side in 64 bits; rows
that are no edge become a negative number that says why. DuckDB sorts these, in files beside the result where memory
runs out, and `ngm.io.tables.edge_files` writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from ngm.io.tables.query import EXAMPLES, WORK, Query, RejectedRows, quoted, refusals
from ngm.io.tables.table import as_value, is_integer_sql, rejected
from ngm.io.tables.text_format import shorten

_LOOP, _DANGLING, _NO_END, _NO_WEIGHT = -1, -2, -3, -4
_MAX_NODES = 2**31
_INTEGERS = {f"{u}{size}INT" for u in ("", "U") for size in ("TINY", "SMALL")} | {"INTEGER", "UINTEGER", "BIGINT"}
_AS_TEXT = ("FLOAT", "DOUBLE", "DECIMAL", "ENUM", "JSON", "UBIGINT", "HUGEINT", "UHUGEINT")  # numpy may not hold these


@dataclass(frozen=True)
class EdgeColumns:
    """A table of edges and which of its columns are which.

    Args:
        query: The table.
        source: Column of the first ends.
        target: Column of the second ends.
        weight: Column of the weights, or None: all are 1.
    """

    query: Query
    source: str
    target: str
    weight: str | None


@dataclass(frozen=True)
class EncodedEdges:
    """What became of the rows of a table of edges.

    Args:
        rows: Rows read, lines that did not fit among them.
        bad: Rows that are not edges: lines that did not fit, missing ends, invalid weights.
        self_loops: Rows that join a node with itself.
        dangling_rows: Rows with an end that is not among the nodes.
        dangling_ids: How many different ids those ends are.
        dangling_examples: The first of these ids, sorted.
    """

    rows: int
    bad: RejectedRows
    self_loops: int
    dangling_rows: int
    dangling_ids: int
    dangling_examples: tuple[str, ...]


def load_if_single_pass(connection: duckdb.DuckDBPyConnection, ends: EdgeColumns) -> EdgeColumns:
    """Keeps the rows of a query, which might be others when asked again; files are left where they are."""
    if ends.query.rereadable:
        return ends
    columns = list(dict.fromkeys(c for c in (ends.source, ends.target, ends.weight) if c is not None))
    selected = ", ".join(as_value(c, ends.query.type_of(c)) for c in columns)
    with refusals(ends.query.name):
        connection.execute(f"CREATE TABLE {WORK}.kept AS SELECT {selected} FROM ({ends.query.sql})")
        types = tuple(str(row[1]) for row in connection.execute(f"DESCRIBE {WORK}.kept").fetchall())
    stored = Query(ends.query.name, tuple(columns), types, (False,) * len(columns), f"FROM {WORK}.kept")
    connection.execute("USE memory")  # the query may have chosen another database
    return EdgeColumns(stored, ends.source, ends.target, ends.weight)


# Ids


def check_node_ids(connection: duckdb.DuckDBPyConnection, name: str, column: str, sql: str) -> None:
    """Refuses a table of nodes with a missing id or one that is there twice."""
    c = quoted(column)
    num_empty = count_of(connection, f"SELECT count(*) FROM ({sql}) WHERE {c} IS NULL")
    if num_empty:
        raise ValueError(f"{name} has {num_empty:,} rows without an id in column {column!r}; fill them in or drop them")
    repeated = f"(SELECT {c}::VARCHAR AS id FROM ({sql}) GROUP BY {c} HAVING count(*) > 1)"
    count = count_of(connection, f"SELECT count(*) FROM {repeated}")
    if count:
        first = [row[0] for row in connection.execute(f"SELECT id FROM {repeated} ORDER BY id LIMIT 3").fetchall()]
        raise ValueError(
            f"{name} has {count:,} ids in column {column!r} that name several rows: {join_examples(first, count)}; "
            "keep one row of each"
        )


def common_type(connection: duckdb.DuckDBPyConnection, ends: EdgeColumns, id_column: str | None) -> str:
    """The type in which ids of both tables are compared: whole numbers, their own where all agree, else text."""
    types = {ends.query.type_of(ends.source), ends.query.type_of(ends.target)}
    if id_column is not None:
        types |= {str(row[1]) for row in connection.execute(f"DESCRIBE {WORK}.nodes").fetchall() if row[0] == id_column}
    if types <= _INTEGERS:
        return "BIGINT"
    (kind, *other_types) = types
    comparable = not other_types and not kind.startswith(_AS_TEXT)
    return kind if comparable else "VARCHAR"


def key_of(column: str, kind: str, common: str) -> str:
    """SQL for a column of ids in the common type; 3.0 is the same id as 3, and NaN is none."""
    name = quoted(column)
    if kind == common:
        return name
    if kind == "JSON":
        return f"({name} ->> '$')"
    if kind.startswith(("FLOAT", "DOUBLE", "DECIMAL")):
        text = (
            f"coalesce(CASE WHEN {name} = trunc({name}) THEN try_cast({name} AS BIGINT)::VARCHAR END, {name}::VARCHAR)"
        )
        return f"nullif({text}, 'nan')"
    return f"{name}::{common}"


def number_ids(connection: duckdb.DuckDBPyConnection, ends: EdgeColumns, id_column: str | None, add: bool) -> bool:
    """Makes the table `ids`; the row of an id is its place there.

    First come the ids of the table `nodes` in its order, if there is one. Then, if there is none or with `add`, come
    the ids that only edges have, sorted: as numbers where all are whole numbers, else as text.

    Returns:
        Whether hashes may stand for ids, which makes looking up text faster: all that edges name are there, and no two
        of them have the same hash.
    """
    common = common_type(connection, ends, id_column)
    hashed = common == "VARCHAR" and (id_column is None or add)
    h = ", hash(id) AS h" if hashed else ""
    with refusals(ends.query.name):
        connection.execute(f"CREATE TABLE {WORK}.ids (id {common}{', h UBIGINT' if hashed else ''})")
        if id_column is not None:
            kind = str(
                connection.execute(f"SELECT any_value(typeof({quoted(id_column)})) FROM {WORK}.nodes").fetchall()[0][0]
            )
            node_ids = f"SELECT {key_of(id_column, kind, common)} AS id FROM {WORK}.nodes"
            connection.execute(f"INSERT INTO {WORK}.ids SELECT id{h} FROM ({node_ids})")
        if id_column is None or add:
            keys = _keys(ends, common)
            connection.execute(
                f"CREATE TABLE {WORK}.seen AS SELECT id FROM (SELECT DISTINCT unnest([{keys[0]}, {keys[1]}]) AS id "
                f"FROM ({ends.query.sql}) WHERE {keys[0]} IS NOT NULL AND {keys[1]} IS NOT NULL) "
                + ("" if id_column is None else f"WHERE id NOT IN (SELECT id FROM {WORK}.ids)")
            )
            order = "id::BIGINT" if common == "VARCHAR" and all_integers(connection, f"{WORK}.seen") else "id"
            connection.execute(f"INSERT INTO {WORK}.ids SELECT id{h} FROM {WORK}.seen ORDER BY {order}")
            connection.execute(f"DROP TABLE {WORK}.seen")
        count = count_of(connection, f"SELECT count(*) FROM {WORK}.ids")
        different = count_of(connection, f"SELECT count(DISTINCT h) FROM {WORK}.ids") if hashed else -1
    if count >= _MAX_NODES:
        raise ValueError(f"the tables have {count:,} nodes; at most {_MAX_NODES - 1:,} can be numbered")
    return count == different


def all_integers(connection: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether every text in column `id` of a table is a whole number."""
    return bool(count_of(connection, f"SELECT bool_and({is_integer_sql('id')}) FROM {table}"))


# Ends looked up


def code_edges(
    connection: duckdb.DuckDBPyConnection, ends: EdgeColumns, id_column: str | None, directed: bool, by_hash: bool
) -> EncodedEdges:
    """Makes the table `coded`: `k`, an edge as one number, and `w`, its weight; negative where a row is no edge."""
    keys = _keys(ends, common_type(connection, ends, id_column))
    on = ("hash({key}) = {t}.h" if by_hash else "{key} = {t}.id").format
    source = f"SELECT {keys[0]} AS s, {keys[1]} AS t, {_number(ends)} AS w FROM ({ends.query.sql})"
    is_bad = "false" if ends.weight is None else "w IS NULL OR NOT isfinite(w) OR w < 0"
    edge = "(u << 32) | v" if directed else "(least(u, v) << 32) | greatest(u, v)"
    joined_sql = (
        f"SELECT s IS NULL OR t IS NULL AS gap, a.rowid AS u, b.rowid AS v, w FROM ({source}) "
        f"LEFT JOIN {WORK}.ids a ON {on(key='s', t='a')} LEFT JOIN {WORK}.ids b ON {on(key='t', t='b')}"
    )
    code = (
        f"CASE WHEN gap THEN {_NO_END} WHEN {is_bad} THEN {_NO_WEIGHT} WHEN u IS NULL OR v IS NULL THEN {_DANGLING} "
        f"WHEN u = v THEN {_LOOP} ELSE {edge} END AS k"
    )
    columns = code if ends.weight is None else f"{code}, w"
    with refusals(ends.query.name):
        connection.execute("SET preserve_insertion_order = false")
        # the size of a text file is not known, so DuckDB would rather build its table from the edges than from the ids
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        connection.execute(f"CREATE TABLE {WORK}.coded AS SELECT {columns} FROM ({joined_sql})")
        connection.execute("SET disabled_optimizers = ''")
        connection.execute("SET preserve_insertion_order = true")
        return _count(connection, ends, keys)


def _count(connection: duckdb.DuckDBPyConnection, ends: EdgeColumns, keys: list[str]) -> EncodedEdges:
    counts_by_code = connection.execute(f"SELECT k, count(*) FROM {WORK}.coded WHERE k < 0 GROUP BY k").fetchall()
    counts = {int(k): int(count) for k, count in counts_by_code}
    rows = count_of(connection, f"SELECT count(*) FROM {WORK}.coded")
    lines = rejected(connection, ends.query)
    no_end, no_weight = counts.get(_NO_END, 0), counts.get(_NO_WEIGHT, 0)
    bad_rows = lines
    if no_end or no_weight:
        bad_rows = lines + RejectedRows(no_end + no_weight, _examples(connection, ends, keys))
    if no_weight and no_weight == rows - no_end:
        raise _no_weights(connection, ends)
    dangling = counts.get(_DANGLING, 0)
    num_dangling, examples = _dangling_ids(connection, ends, keys) if dangling else (0, ())
    return EncodedEdges(rows + lines.count, bad_rows, counts.get(_LOOP, 0), dangling, num_dangling, examples)


def _examples(connection: duckdb.DuckDBPyConnection, ends: EdgeColumns, keys: list[str]) -> tuple[str, ...]:
    """The first rows with a missing end or an invalid weight, as they were written."""
    columns = [c for c in (ends.source, ends.target, ends.weight) if c is not None]
    reasons = ["'no source'", "'no target'"]
    tests = [f"{keys[0]} IS NULL", f"{keys[1]} IS NULL"]
    if ends.weight is not None:
        w, number = quoted(ends.weight), _number(ends)
        tests += [f"{w} IS NULL", f"{number} IS NULL OR NOT isfinite({number})", f"{number} < 0"]
        reasons += ["'no weight'", "'weight is no finite number'", "'weight is below 0'"]
    reason_sql = " ".join(f"WHEN {test} THEN {reason}" for test, reason in zip(tests, reasons, strict=True))
    row_sql = ", ".join(f"coalesce({quoted(c)}::VARCHAR, '')" for c in columns)
    rows = connection.execute(
        f"SELECT * FROM (SELECT CASE {reason_sql} END AS why, {row_sql} FROM ({ends.query.sql})) WHERE why IS NOT NULL "
        f"LIMIT {EXAMPLES}"
    ).fetchall()
    return tuple(f"{shorten(', '.join(row[1:]))!r} ({row[0]})" for row in rows)


def _no_weights(connection: duckdb.DuckDBPyConnection, ends: EdgeColumns) -> ValueError:
    w = quoted(str(ends.weight))
    ((first,),) = connection.execute(f"SELECT {w}::VARCHAR FROM ({ends.query.sql}) LIMIT 1").fetchall()
    content = "is empty" if first is None else f"starts with {shorten(str(first))!r}"
    return ValueError(
        f"column {ends.weight!r} of {ends.query.name} holds no weight: it {content}; weights are finite numbers of at "
        "least 0, so name another column, or none"
    )


def _dangling_ids(
    connection: duckdb.DuckDBPyConnection, ends: EdgeColumns, keys: list[str]
) -> tuple[int, tuple[str, ...]]:
    """(how many ids edges have and nodes do not, the first of them)."""
    dangling_sql = (
        f"FROM (SELECT DISTINCT unnest([{keys[0]}, {keys[1]}]) AS id FROM ({ends.query.sql}) "
        f"WHERE {keys[0]} IS NOT NULL AND {keys[1]} IS NOT NULL) WHERE id NOT IN (SELECT id FROM {WORK}.ids)"
    )
    count = count_of(connection, f"SELECT count(*) {dangling_sql}")
    first = connection.execute(f"SELECT id::VARCHAR {dangling_sql} ORDER BY id LIMIT {EXAMPLES}").fetchall()
    return count, tuple(str(row[0]) for row in first)


def _keys(ends: EdgeColumns, common: str) -> list[str]:
    return [key_of(c, ends.query.type_of(c), common) for c in (ends.source, ends.target)]


def _number(ends: EdgeColumns) -> str:
    return "NULL" if ends.weight is None else f"try_cast(try_cast({quoted(ends.weight)} AS DOUBLE) AS FLOAT)"


def count_of(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    """The whole number, or truth, that a query answers with."""
    return int(connection.execute(sql).fetchall()[0][0] or 0)


def join_examples(names: Sequence[str], count: int) -> str:
    """The first few in quotes, and dots where there are more."""
    return ", ".join(repr(name) for name in names[:EXAMPLES]) + (", ..." if count > EXAMPLES else "")
