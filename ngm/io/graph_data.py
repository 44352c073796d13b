"""A graph with the users' ids, labels and columns: read from tables, kept in a folder, opened again."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngm._arguments import as_path, flag, short_repr
from ngm._spelling import first_of
from ngm.graph import Graph
from ngm.io import graph_folder
from ngm.io.files import folder_written_whole, is_graph_folder, temporary_path
from ngm.io.tables import Frame, Source, Table, read_table
from ngm.io.tables.column_guesses import ColumnNames
from ngm.io.tables.edge_ends import check_node_ids
from ngm.io.tables.edge_files import Merge
from ngm.io.tables.ingest import FORMAT, VERSION, Counts, Dangling, Rules, copy_to, ingest, write_tables
from ngm.io.tables.output_overlap import check_folder_apart
from ngm.io.tables.query import connect, missing_column, refusals
from ngm.io.tables.sources import open_source


@dataclass(frozen=True, eq=False, repr=False)
class GraphData:
    """A graph, and what is known of its nodes.

    Args:
        graph: The graph; node i is row i of everything here.
        id_column: Column that holds the users' ids, or None: ids are then 0 to n - 1.
        label_column: Column that holds the labels, or None.
        nodes: The table of the nodes, or None.
        counts: What came in, and what became of it.
        folder: Where it is kept, or None.
    """

    graph: Graph
    id_column: str | None = None
    label_column: str | None = None
    nodes: Table | None = None
    counts: Counts = field(default_factory=Counts)
    folder: Path | None = None

    def __repr__(self) -> str:
        """`GraphData(3 nodes, 2 undirected edges; columns id, topic)`."""
        columns = f"; columns {', '.join(self.columns)}" if self.columns else ""
        return repr(self.graph).replace("Graph(", "GraphData(", 1)[:-1] + columns + ")"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the node columns."""
        return () if self.nodes is None else self.nodes.columns

    def column(self, name: str) -> NDArray[np.generic]:
        """(n,) values of a node column; None or NaN where missing."""
        if self.nodes is None:
            raise ValueError(f"the graph has no column {name!r}; it has no table of nodes")
        return self.nodes.column(name)

    @cached_property
    def ids(self) -> NDArray[np.generic]:
        """(n,) the users' ids in the order of the rows."""
        return np.arange(len(self.graph)) if self.id_column is None else self.column(self.id_column)

    @cached_property
    def y(self) -> NDArray[np.generic] | None:
        """(n,) labels as they were written, None or NaN where missing; None where there is no label column."""
        return None if self.label_column is None else self.column(self.label_column)

    @cached_property
    def _row_of(self) -> dict[object, int]:
        return {value: row for row, value in enumerate(self.ids.tolist())}

    def rows(self, ids: ArrayLike) -> NDArray[np.int64]:
        """(b,) rows of some of the users' ids.

        Args:
            ids: (b,) ids, each one in the graph.
        """
        ids_ = np.asarray(ids).reshape(-1).tolist()
        rows_ = [self._row_of.get(value, -1) for value in ids_]
        absent = [repr(value) for value, row in zip(ids_, rows_, strict=True) if row < 0]
        if absent:
            raise ValueError(f"{len(absent):,} of {len(ids_):,} ids are not in the graph: {first_of(absent)}")
        return np.array(rows_, dtype=np.int64)


def open_graph(folder: str | Path) -> GraphData:
    """Opens a graph folder with the ids, labels and columns of its nodes; `Graph.open` gives the edges alone.

    Edges and weights are memory maps; node columns are read when they are asked for.

    Args:
        folder: Written by `read_graph`, `save_graph`, `ngm ingest`, `ngm build` or `Graph.save`.
    """
    path = Path(folder)
    header, edges, weight = graph_folder.read(path)
    if not (path / "tables.json").exists():
        graph = Graph(header["num_nodes"], edges, weight, header["directed"]).opened_from(path)
        return GraphData(graph, folder=path)
    id_column, label_column, counts = _read_tables(path / "tables.json")
    nodes = _open_nodes(path / "nodes.parquet") if (path / "nodes.parquet").exists() else None
    for name in (id_column, label_column):
        if name is not None and (nodes is None or name not in nodes.columns):
            raise ValueError(
                f"{path / 'nodes.parquet'} has no column {name!r}, which tables.json names; save the graph again"
            )
    if nodes is not None and len(nodes) != header["num_nodes"]:
        raise ValueError(
            f"{path / 'nodes.parquet'} has {len(nodes)} rows, graph.json says {header['num_nodes']} nodes; "
            "save the graph again"
        )
    loops, merged = counts.get("self_loops", 0), counts.get("duplicates", 0)
    graph = Graph(header["num_nodes"], edges, weight, header["directed"], loops, merged)
    return GraphData(graph.opened_from(path), id_column, label_column, nodes, counts, path)


def save_graph(
    folder: str | Path,
    graph: Graph,
    nodes: Table | Mapping[str, ArrayLike] | Frame | None = None,
    id: str | None = None,
    label: str | None = None,
    counts: Mapping[str, object] | None = None,
) -> GraphData:
    """Writes a graph and the table of its nodes into a folder, whole or not at all.

    Args:
        folder: New or empty, or an older graph folder, which is replaced.
        graph: The graph.
        nodes: A row per node, in the order of the nodes.
        id: Column of `nodes` that holds the ids; they are 0 to n - 1 where not given.
        label: Column of `nodes` that holds the labels.
        counts: Anything worth keeping about how the graph came about; must be JSON.

    Returns:
        What `open_graph` gives.
    """
    path = as_path("folder", folder)
    if counts is not None and not isinstance(counts, Mapping):
        raise ValueError(f"counts is {short_repr(counts)}; give a dict")
    table = None if nodes is None else read_table(nodes)
    for name, role in ((id, "id"), (label, "label")):
        if name is not None and table is None:
            raise ValueError(f"{role} is {name!r} and there are no nodes; give the table that has this column")
        if name is not None and table is not None and name not in table.columns:
            raise missing_column("nodes", name, table.columns, role)
    if table is not None and len(table) != len(graph):
        raise ValueError(f"nodes has {len(table)} rows, the graph has {len(graph)} nodes; give one row per node")
    if id is not None and table is not None:
        check_node_ids(table.connection.cursor(), "nodes", id, table.sql)
    with folder_written_whole(path, marker="graph.json") as part:
        graph.save(part)
        if table is not None:
            with refusals("nodes"):
                table.connection.cursor().execute(copy_to(table.sql, part / "nodes.parquet"))
        write_tables(part, id, label, counts or {})
    return open_graph(path)


def _read_tables(file: Path) -> tuple[str | None, str | None, Counts]:
    """(id column, label column, counts) of `tables.json`."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        tables = (content["id"], content["label"], cast(Counts, dict(content["counts"])))
        format_, version = content["format"], content["version"]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{file} is damaged ({error!r}); save the graph again") from None
    if (format_, version) != (FORMAT, VERSION):
        raise ValueError(
            f"{file} says format {format_!r} version {version!r}; this release reads {FORMAT!r} version {VERSION}"
        )
    return tables


def _open_nodes(file: Path) -> Table:
    connection = connect()
    with refusals(str(file)):
        query = open_source(connection, file)
        count = connection.execute(f"SELECT count(*) FROM ({query.sql})").fetchall()[0][0]
    return Table(str(file), query.columns, int(count), connection=connection, sql=query.sql)


# Tables in


def read_graph(
    edges: Source | Table,
    nodes: Source | Table | None = None,
    *,
    id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    label: str | None = None,
    directed: bool = False,
    merge: Merge = "max",
    dangling: Dangling = "error",
    delimiter: str | None = None,
    header: bool | None = None,
    folder: str | Path | None = None,
    memory_limit: str | None = None,
    on_step: Callable[[str], object] | None = None,
) -> GraphData:
    """Reads a graph from a table of edges and, if there is one, a table of nodes.

    Tables may be larger than memory: DuckDB reads them, and what does not fit waits in files beside the result.

    Args:
        edges: A row per edge; anything that `read_table` takes.
        nodes: A row per node; row i is node i. Without it nodes are the ids that edges have, sorted: as numbers where
            all are whole numbers, else as text.
        id: Column of `nodes` that holds the ids. Columns that are not named are found by the usual names, else by
            position; `counts` says which were taken.
        source: Column of `edges` that holds the first ends.
        target: Column of `edges` that holds the second ends.
        weight: Column of `edges` that holds the weights; all are 1 where there is none.
        label: Column of `nodes` that holds the labels.
        directed: Keep (u, v) and (v, u) apart; else they are one edge.
        merge: Weight of a repeated edge: the largest weight, the sum or the mean.
        dangling: Edges with an end that is not among the nodes: an error, dropped and counted, or the
            nodes are added below the others, sorted.
        delimiter: What separates the fields of `edges`, if it is a text file; detected by default. For nodes, or
            other options of one table, pass the result of `read_table`.
        header: Whether the first row of `edges` holds the names, if it is a text file; detected by default.
        folder: Where the graph goes; a temporary folder where not given, gone when it is no longer used.
        memory_limit: For DuckDB, such as "4GB"; four fifths of the memory where not given.
        on_step: Called with what is done next, once for each of `STEPS`.

    Returns:
        The graph with its ids and labels; `counts` has what was merged, dropped and left out.

    >>> data = read_graph({"src": ["b", "a", "b"], "dst": ["a", "c", "a"], "w": [1.0, 0.5, 2.0]})
    >>> data.graph, data.ids.tolist(), data.graph.weight.tolist(), data.counts["duplicates"]
    (Graph(3 nodes, 2 undirected edges), ['a', 'b', 'c'], [2.0, 0.5], 1)
    """
    if nodes is None and (label is not None or dangling != "error"):
        option_text = f"label is {label!r}" if label is not None else f"dangling is {dangling!r}"
        raise ValueError(f"{option_text} and there are no nodes; give the table of nodes, or leave it out")
    if memory_limit is not None and not isinstance(memory_limit, str):
        raise ValueError(f"memory_limit is {short_repr(memory_limit)}; give a text such as '4GB'")
    flag("directed", directed)
    rules = Rules(ColumnNames(source, target, weight, id, label), directed, merge, dangling, delimiter, header)
    if folder is not None and is_graph_folder(folder):
        check_folder_apart(Path(folder), [table for table in (edges, nodes) if isinstance(table, str | Path)])
    target_folder = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="ngm-")) / "graph"
    try:
        with _spill(target_folder) as spill, folder_written_whole(target_folder, marker="graph.json") as part:
            ingest(connect(spill, memory_limit), edges, nodes, rules, part, on_step or (lambda step: None))
        data = open_graph(target_folder)
    except BaseException:
        if folder is None:
            shutil.rmtree(target_folder.parent, ignore_errors=True)
        raise
    if folder is None:
        weakref.finalize(data.nodes, shutil.rmtree, target_folder.parent, ignore_errors=True)
        return replace(data, folder=None)
    return data


@contextmanager
def _spill(folder: Path) -> Iterator[Path]:
    """A place beside the folder for what does not fit into memory."""
    spill = temporary_path(folder, "spill")
    try:
        yield spill
    finally:
        shutil.rmtree(spill, ignore_errors=True)
