"""The rows of a table in the order of the nodes of a graph, matched by their ids."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

from ngm._spelling import first_of
from ngm.features.node_inputs import as_key
from ngm.io.graph_data import GraphData
from ngm.io.tables import Table


def aligned(table: Table, data: GraphData, folder: str, id_column: str | None) -> Table:
    """The same rows, row i being node i.

    Ids are compared as they are written: 3, 3.0 and "3" are the same one, "03" is another.

    Args:
        table: A row for each node, in any order.
        data: The graph. Where it has no ids, or the table has no column of them, row i is taken for node i.
        folder: What messages call the graph.
        id_column: Column of the table that holds the ids; where not given, the one called as in the graph, or the one
            called id if it holds exactly these.
    """
    column = id_column if id_column is not None else _guessed(table, data)
    if column is not None:
        table.column(column)  # one that is not there is an error of its own
    if data.id_column is None or column is None:
        _check_count(table, data, folder)
        if data.id_column is not None:
            warnings.warn(
                f"the nodes of {folder} have ids ({data.id_column!r}), and {table.name} has no such column: row i is "
                "taken for node i; name the column of ids with --id",
                UserWarning,
                stacklevel=1,
            )
        return table
    mine, theirs = table.column(column).tolist(), data.ids.tolist()
    if mine == theirs:
        return table
    return table.reordered(_places(mine, theirs, table.name, folder, column))


def _guessed(table: Table, data: GraphData) -> str | None:
    if data.id_column in table.columns:
        return data.id_column
    called = next((column for column in table.columns if column.lower() == "id"), None)
    if called is None or data.id_column is None or len(table) != len(data.graph):
        return None
    return called if Counter(_keys(table.column(called).tolist())) == Counter(_keys(data.ids.tolist())) else None


def _check_count(table: Table, data: GraphData, folder: str) -> None:
    if len(data.graph) != len(table):
        raise ValueError(
            f"{folder} has {len(data.graph):,} nodes, {table.name} has {len(table):,} rows; a node is a row, so build "
            "the graph from this table"
        )


def _places(mine: Sequence[object], theirs: Sequence[object], table: str, folder: str, column: str) -> list[int]:
    """(n,) the node of each row; an error names ids that are missing, there twice, or in one of both only."""
    missing = [str(row) for row, name in enumerate(mine) if name is None or name != name]
    if missing:
        raise ValueError(f"{table} has no id in column {column!r} of row {first_of(missing)}; fill it in")
    keys, place = _keys(mine), {key: node for node, key in enumerate(_keys(theirs))}
    for wrong, said, remedy in (
        ([key for key, count in Counter(keys).items() if count > 1], f"name several rows of {table}", "keep one each"),
        ([key for key in keys if key not in place], f"are not in {folder}", "leave these rows out"),
        (sorted(place.keys() - set(keys), key=place.__getitem__), f"have no row in {table}", "add these rows"),
    ):
        if wrong:
            shown = first_of([repr(key) for key in wrong])
            raise ValueError(
                f"{len(wrong):,} ids of column {column!r} {said}: {shown}; {remedy}, or build the graph from this table"
            )
    return [place[key] for key in keys]


def _keys(ids: Sequence[object]) -> list[str]:
    return [as_key(name) for name in ids]
