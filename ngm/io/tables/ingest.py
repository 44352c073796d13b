"""Tables in, a graph folder out: every step of `ngm.read_graph`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypedDict

import duckdb

from ngm._arguments import reason
from ngm.io import graph_folder
from ngm.io.tables.column_guesses import IDS, LABELS, SOURCES, TARGETS, ColumnNames, edge_columns, node_columns
from ngm.io.tables.edge_ends import (
    EdgeColumns,
    EncodedEdges,
    all_integers,
    check_node_ids,
    code_edges,
    count_of,
    join_examples,
    load_if_single_pass,
    number_ids,
)
from ngm.io.tables.edge_files import Merge, write_edges
from ngm.io.tables.query import WORK, Query, RejectedRows, file_to_write, quoted, refusals
from ngm.io.tables.sources import Source, open_source
from ngm.io.tables.table import Table, load, no_rows, no_usable_rows
from ngm.io.tables.text_files import ReadOptions

Dangling = Literal["error", "drop", "add"]
STEPS = ("reading nodes", "numbering ids", "looking up ends", "writing nodes", "sorting and writing edges")
FORMAT = "ngm-tables"
VERSION = 1
_MAX_CLASSES = 100


class Counts(TypedDict, total=False):
    """What came in and what became of it. `edge_rows` = `edges` + duplicates + self loops + dangling + bad rows.

    Args:
        nodes: Nodes of the graph.
        edges: Its edges.
        node_rows: Rows of the table of nodes; None without one.
        edge_rows: Rows of the table of edges.
        duplicates: Rows merged into an edge that was there already, by the rule `merge`.
        merge: "max", "sum" or "mean".
        self_loops: Rows that join a node with itself, dropped.
        dangling: "error", "drop" or "add"; None without a table of nodes.
        dangling_rows: Rows dropped since an end is not among the nodes.
        dangling_ids: How many ids those are.
        dangling_examples: The first of these.
        added_nodes: Nodes that only edges have.
        bad_rows: Rows that are not edges: lines that do not fit, missing ends, invalid weights.
        bad_examples: The first of these.
        comments: Lines above the rows of edges that start with # and are no rows.
        bad_node_rows: Lines of the table of nodes that do not fit.
        bad_node_examples: The first of these.
        columns: Which column is source, target, weight, id and label.
        guessed: Those of them that were not named by the user.
        header: Whether the first row of edges was taken for names; None where there was no question.
        classes: Number of different labels, where there is a label column.
        unlabeled: Nodes without a label.
        labels: Nodes per class, the largest first, a hundred at most.
    """

    nodes: int
    edges: int
    node_rows: int | None
    edge_rows: int
    duplicates: int
    merge: Merge
    self_loops: int
    dangling: Dangling | None
    dangling_rows: int
    dangling_ids: int
    dangling_examples: list[str]
    added_nodes: int
    bad_rows: int
    bad_examples: list[str]
    comments: int
    bad_node_rows: int
    bad_node_examples: list[str]
    columns: dict[str, str | None]
    guessed: list[str]
    header: bool | None
    classes: int
    unlabeled: int
    labels: dict[str, int]


@dataclass(frozen=True)
class Rules:
    """How tables are to be read; see `ngm.read_graph`."""

    names: ColumnNames
    directed: bool = False
    merge: Merge = "max"
    dangling: Dangling = "error"
    delimiter: str | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        if self.merge not in ("max", "sum", "mean"):
            raise ValueError(f"merge is {self.merge!r}; choose 'max', 'sum' or 'mean'")
        if self.dangling not in ("error", "drop", "add"):
            raise ValueError(f"dangling is {self.dangling!r}; choose 'error', 'drop' or 'add'")


@dataclass(frozen=True)
class NodeTable:
    """The table `nodes` of a connection.

    Args:
        columns: Its columns.
        id: The one that holds the ids.
        label: The one that holds the labels, or None.
        rows: Number of rows.
        bad: Lines that were left out.
    """

    columns: tuple[str, ...]
    id: str
    label: str | None
    rows: int
    bad: RejectedRows


def ingest(
    connection: duckdb.DuckDBPyConnection,
    edges: Source | Table,
    nodes: Source | Table | None,
    rules: Rules,
    folder: Path,
    on_step: Callable[[str], object],
) -> None:
    """Reads tables and fills an empty folder with all that a graph folder holds."""
    ends = _open_edges(connection, edges, rules)
    ends = load_if_single_pass(connection, ends)
    on_step(STEPS[0])
    table = None if nodes is None else _load_nodes(connection, nodes, rules.names)
    id_column = None if table is None else table.id
    on_step(STEPS[1])
    by_hash = number_ids(connection, ends, id_column, rules.dangling == "add")
    on_step(STEPS[2])
    coded = code_edges(connection, ends, id_column, rules.directed, by_hash)
    if not coded.rows:
        raise no_rows(ends.query)
    if coded.bad.count == coded.rows:
        raise no_usable_rows(ends.query, coded.bad)
    if rules.dangling == "error":
        _refuse_dangling(ends, coded)
    on_step(STEPS[3])
    num_nodes = count_of(connection, f"SELECT count(*) FROM {WORK}.ids")
    id_name = _write_nodes(connection, table, rules.names.id or "id", num_nodes, folder / "nodes.parquet")
    counts = _counts(connection, ends, table, coded, rules, num_nodes)
    connection.execute(f"DROP TABLE {WORK}.ids")
    connection.execute(f"DROP TABLE IF EXISTS {WORK}.nodes")
    on_step(STEPS[4])
    num_edges = write_edges(connection, folder, ends.weight is not None, rules.merge)
    counts["edges"] = num_edges
    counts["duplicates"] -= num_edges
    _write_header(folder, num_nodes, num_edges, rules.directed)
    write_tables(folder, id_name, None if table is None else table.label, counts)


def _write_header(folder: Path, num_nodes: int, num_edges: int, directed: bool) -> None:
    header = graph_folder.Header(
        format=graph_folder.FORMAT,
        version=graph_folder.VERSION,
        num_nodes=num_nodes,
        num_edges=num_edges,
        directed=directed,
    )
    (folder / "graph.json").write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")


def write_tables(folder: Path, id_column: str | None, label_column: str | None, counts: Mapping[str, object]) -> None:
    """Writes `tables.json`: which column is which, and the counts."""
    content = {"format": FORMAT, "version": VERSION, "id": id_column, "label": label_column, "counts": dict(counts)}
    try:
        text = json.dumps(content, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"counts cannot be written as JSON ({reason(error)}); give numbers and words") from None
    (folder / "tables.json").write_text(text + "\n", encoding="utf-8")


def copy_to(sql: str, file: Path) -> str:
    """SQL that writes a query to a Parquet file."""
    return f"COPY ({sql}) TO {file_to_write(file)} (FORMAT parquet, COMPRESSION zstd)"


def _open_edges(connection: duckdb.DuckDBPyConnection, edges: Source | Table, rules: Rules) -> EdgeColumns:
    known_names = (*SOURCES, *TARGETS, *rules.names.given_names())
    reading = ReadOptions(rules.delimiter, rules.header, known_names, header_if_text=False)
    return edge_columns(_open(connection, edges, reading, "edges"), rules.names)


def _load_nodes(connection: duckdb.DuckDBPyConnection, nodes: Source | Table, names: ColumnNames) -> NodeTable:
    query = _open(connection, nodes, ReadOptions(known=(*IDS, *LABELS, *names.given_names())), "nodes")
    id_column, label = node_columns(query, names)
    rows, rejected = load(connection, query, "nodes", [id_column])
    connection.execute("USE memory")  # the query may have chosen another database
    check_node_ids(connection, query.name, id_column, f"FROM {WORK}.nodes")
    return NodeTable(query.columns, id_column, label, rows, rejected)


def _open(
    connection: duckdb.DuckDBPyConnection, table: Source | Table, reading: ReadOptions, description: str
) -> Query:
    if not isinstance(table, Table):
        return open_source(connection, table, reading, description, f"ngm_{description}")
    columns = {name: table.column(name) for name in table.columns}
    query = open_source(connection, columns, reading, description, f"ngm_{description}")
    return replace(query, name=table.name, header=table.header, hint=table.hint, unread=table.bad)


def _refuse_dangling(ends: EdgeColumns, coded: EncodedEdges) -> None:
    if coded.dangling_rows:
        count = coded.dangling_ids
        raise ValueError(
            f"{count:,} ids in {ends.query.name} are not among the nodes: "
            f"{join_examples(coded.dangling_examples, count)}; add them to the nodes, or give dangling='drop' to "
            "leave out their edges or 'add' to make them nodes"
        )


def _write_nodes(
    connection: duckdb.DuckDBPyConnection, table: NodeTable | None, name: str, num_nodes: int, file: Path
) -> str:
    """Writes all node columns in the order of the rows; returns the column of the ids."""
    text = count_of(connection, f"SELECT any_value(typeof(id)) = 'VARCHAR' FROM {WORK}.ids")
    integers = text and all_integers(connection, f"{WORK}.ids")
    own_id = "ids.id::BIGINT" if integers else "ids.id"
    with refusals("the table of nodes"):
        if table is None:
            connection.execute(copy_to(f"SELECT {own_id} AS {quoted(name)} FROM {WORK}.ids", file))
            return name
        if num_nodes == table.rows:
            connection.execute(copy_to(f"FROM {WORK}.nodes", file))
            return table.id
        columns = ", ".join(
            f"{own_id if c == table.id else f'nodes.{quoted(c)}'} AS {quoted(c)}" for c in table.columns
        )
        joined_sql = f"SELECT {columns} FROM {WORK}.ids POSITIONAL JOIN {WORK}.nodes"
        connection.execute(copy_to(joined_sql, file))
    return table.id


def _counts(
    connection: duckdb.DuckDBPyConnection,
    ends: EdgeColumns,
    table: NodeTable | None,
    coded: EncodedEdges,
    rules: Rules,
    num_nodes: int,
) -> Counts:
    """All counts but that of the edges, which is 0, so that their rows are among the duplicates."""
    names, bad_nodes = rules.names, RejectedRows() if table is None else table.bad
    columns = {"source": ends.source, "target": ends.target, "weight": ends.weight}
    columns |= {"id": None if table is None else table.id, "label": None if table is None else table.label}
    guessed = [key for key, name in columns.items() if name is not None and getattr(names, key) is None]
    num_dangling = coded.dangling_rows
    counts = Counts(
        nodes=num_nodes,
        edges=0,
        node_rows=None if table is None else table.rows + bad_nodes.count,
        edge_rows=coded.rows,
        duplicates=coded.rows - coded.bad.count - coded.self_loops - num_dangling,
        merge=rules.merge,
        self_loops=coded.self_loops,
        dangling=None if table is None else rules.dangling,
        dangling_rows=num_dangling,
        dangling_ids=coded.dangling_ids,
        dangling_examples=list(coded.dangling_examples),
        added_nodes=0 if table is None else num_nodes - table.rows,
        bad_rows=coded.bad.count,
        bad_examples=list(coded.bad.examples),
        comments=ends.query.comments,
        bad_node_rows=bad_nodes.count,
        bad_node_examples=list(bad_nodes.examples),
        columns=columns,
        guessed=guessed,
        header=ends.query.header,
    )
    if table is not None and table.label is not None:
        _count_labels(connection, table.label, counts)
    return counts


def _count_labels(connection: duckdb.DuckDBPyConnection, label: str, counts: Counts) -> None:
    c = quoted(label)
    label_counts = connection.execute(
        f"SELECT {c}::VARCHAR, count(*) FROM {WORK}.nodes WHERE {c} IS NOT NULL GROUP BY {c} "
        f"ORDER BY count(*) DESC, {c} LIMIT {_MAX_CLASSES}"
    ).fetchall()
    counts["labels"] = {str(value): int(count) for value, count in label_counts}
    counts["classes"] = count_of(connection, f"SELECT count(DISTINCT {c}) FROM {WORK}.nodes")
    counts["unlabeled"] = counts["nodes"] - count_of(connection, f"SELECT count({c}) FROM {WORK}.nodes")
