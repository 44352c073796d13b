"""Guesses the roles of columns that are not named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ngm.io.tables.edge_ends import EdgeColumns
from ngm.io.tables.query import Query

SOURCES = ("source", "src", "from", "source_id", "src_id", "from_id", "u", "node1", "id1", "start", "head", "subject")
TARGETS = ("target", "dst", "to", "target_id", "dst_id", "to_id", "v", "node2", "id2", "end", "tail", "object")
WEIGHTS = ("weight", "w", "similarity", "score")
IDS = ("id", "node_id", "node", "key", "name")
LABELS = ("label", "class", "y", "topic", "category")


@dataclass(frozen=True)
class ColumnNames:
    """Names of columns that the user gave; None for the others."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    id: str | None = None
    label: str | None = None

    def given_names(self) -> tuple[str, ...]:
        """All names that are not None."""
        return tuple(n for n in (self.source, self.target, self.weight, self.id, self.label) if n is not None)


def edge_columns(query: Query, names: ColumnNames) -> EdgeColumns:
    """Source, target and weight of a table of edges.

    Columns that are not named are found by the usual names, in any case of letters; else the first two columns that are
    left are source and target, and a third one is the weight if the table has no header, no more columns than that and
    numbers there.
    """
    if len(query.columns) < 2:
        if query.hint:
            raise ValueError(f"{query.name} has one column, {query.hint}")
        raise ValueError(f"{query.name} has one column, {query.columns[0]!r}; an edge needs two, a source and a target")
    for name, given_as in ((names.source, "source"), (names.target, "target"), (names.weight, "weight")):
        if name is not None:
            query.has(name, given_as)
    if names.source is not None and names.source == names.target:
        raise ValueError(f"source and target are both {names.source!r}; name two columns of {query.name}")
    weight = names.weight if names.weight is not None else _find_name(query, WEIGHTS, names.given_names())
    if weight is not None and len(query.columns) < 3:
        raise ValueError(
            f"{query.name} has two columns ({', '.join(query.columns)}), and {weight!r} is the weight; an edge needs "
            "two more, a source and a target"
        )
    excluded = {names.source, names.target, weight}
    source = (
        names.source
        or _find_name(query, SOURCES, excluded)
        or _first_column(query, {*excluded, _find_name(query, TARGETS, excluded)})
    )
    excluded.add(source)
    target = names.target or _find_name(query, TARGETS, excluded) or _first_column(query, excluded)
    is_unnamed = not query.header and query.columns[0] == "column0"
    if weight is None and is_unnamed and len(query.columns) == 3 and {source, target} == {"column0", "column1"}:
        weight = "column2" if query.numbers[2] else None
    return EdgeColumns(query, source, target, weight)


def node_columns(query: Query, names: ColumnNames) -> tuple[str, str | None]:
    """Id and label of a table of nodes, by the usual names; else the first column is the id, and none the label."""
    for name, given_as in ((names.id, "id"), (names.label, "label")):
        if name is not None:
            query.has(name, given_as)
    if names.id is None and len(query.columns) == 1 and query.hint:
        raise ValueError(f"{query.name} has one column, {query.hint}")
    id_column = names.id or _find_name(query, IDS, {names.label}) or _first_column(query, {names.label})
    return id_column, names.label or _find_name(query, LABELS, {id_column})


def _find_name(query: Query, names: Sequence[str], excluded: Sequence[str | None] | set[str | None]) -> str | None:
    columns_by_lower = {column.lower(): column for column in reversed(query.columns) if column not in excluded}
    return next((columns_by_lower[name] for name in names if name in columns_by_lower), None)


def _first_column(query: Query, excluded: set[str | None]) -> str:
    free = [column for column in query.columns if column not in excluded]
    return free[0] if free else query.columns[0]
