"""Which column is which, where nobody said so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ngm.io.tables.edge_ends import Ends
from ngm.io.tables.query import Query

SOURCES = ("source", "src", "from", "source_id", "src_id", "from_id", "u", "node1", "id1", "start", "head", "subject")
TARGETS = ("target", "dst", "to", "target_id", "dst_id", "to_id", "v", "node2", "id2", "end", "tail", "object")
WEIGHTS = ("weight", "w", "similarity", "score")
IDS = ("id", "node_id", "node", "key", "name")
LABELS = ("label", "class", "y", "topic", "category")


@dataclass(frozen=True)
class Said:
    """What a user said about columns; None where nothing."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    id: str | None = None
    label: str | None = None

    def given(self) -> tuple[str, ...]:
        """The names that were said."""
        return tuple(n for n in (self.source, self.target, self.weight, self.id, self.label) if n is not None)


def edge_columns(query: Query, said: Said) -> Ends:
    """Source, target and weight of a table of edges.

    Columns that are not named are found by the usual names, in any case of letters; else the first two columns that are
    left are source and target, and a third one is the weight if the table has no header, no more columns than that and
    numbers there.
    """
    if len(query.columns) < 2:
        if query.hint:
            raise ValueError(f"{query.name} has one column, {query.hint}")
        raise ValueError(f"{query.name} has one column, {query.columns[0]!r}; an edge needs two, a source and a target")
    for name, given_as in ((said.source, "source"), (said.target, "target"), (said.weight, "weight")):
        if name is not None:
            query.has(name, given_as)
    if said.source is not None and said.source == said.target:
        raise ValueError(f"source and target are both {said.source!r}; name two columns of {query.name}")
    weight = said.weight if said.weight is not None else _named(query, WEIGHTS, said.given())
    if weight is not None and len(query.columns) < 3:
        raise ValueError(
            f"{query.name} has two columns ({', '.join(query.columns)}), and {weight!r} is the weight; an edge needs "
            "two more, a source and a target"
        )
    taken = {said.source, said.target, weight}
    source = said.source or _named(query, SOURCES, taken) or _first(query, {*taken, _named(query, TARGETS, taken)})
    taken.add(source)
    target = said.target or _named(query, TARGETS, taken) or _first(query, taken)
    nameless = not query.header and query.columns[0] == "column0"
    if weight is None and nameless and len(query.columns) == 3 and {source, target} == {"column0", "column1"}:
        weight = "column2" if query.numbers[2] else None
    return Ends(query, source, target, weight)


def node_columns(query: Query, said: Said) -> tuple[str, str | None]:
    """Id and label of a table of nodes, by the usual names; else the first column is the id, and none the label."""
    for name, given_as in ((said.id, "id"), (said.label, "label")):
        if name is not None:
            query.has(name, given_as)
    if said.id is None and len(query.columns) == 1 and query.hint:
        raise ValueError(f"{query.name} has one column, {query.hint}")
    found = said.id or _named(query, IDS, {said.label}) or _first(query, {said.label})
    return found, said.label or _named(query, LABELS, {found})


def _named(query: Query, names: Sequence[str], taken: Sequence[str | None] | set[str | None]) -> str | None:
    spelled = {column.lower(): column for column in reversed(query.columns) if column not in taken}
    return next((spelled[name] for name in names if name in spelled), None)


def _first(query: Query, taken: set[str | None]) -> str:
    free = [column for column in query.columns if column not in taken]
    return free[0] if free else query.columns[0]
