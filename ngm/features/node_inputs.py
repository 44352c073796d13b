"""Inputs made from the graph, kept for all nodes of it, and those of new nodes made from their links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import TypeAlias, cast, get_args

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm._spelling import nearest
from ngm.choices import How
from ngm.features.feature_rows import NOTHING, Made, Odd
from ngm.graph import Graph
from ngm.inputs import adjacency_rows, clusters, from_links, identities, links, netmf, node2vec
from ngm.io.run_folder import JSON
from ngm.io.tables import Table
from ngm.io.tables.column_guesses import ColumnNames, edge_columns
from ngm.io.tables.query import Query
from ngm.io.tables.stream import Holds

Rows: TypeAlias = "NDArray[np.float32] | sp.csr_array"
_MOST_ROWS = 10_000  # nodes up to which adjacency rows are the default
_WIDTH, _MOST_CLUSTERS = 128, 64
_KEEP, _RESTART, _SCALE = 32, 0.3, 10.0  # of identities; chances are small numbers, and a network likes larger ones


@dataclass(frozen=True, eq=False)
class Linked:
    """New nodes, and what they are linked to.

    Args:
        ids: (b,) their ids, as they were written.
        made: Their rows.
        unknown: Links to nodes that are not in the training graph, which are left out.
        examples: The first of these nodes.
    """

    ids: list[object]
    made: Made
    unknown: int
    examples: list[object]


@dataclass(frozen=True, eq=False)
class Nodes:
    """A row for each node of the training graph.

    Args:
        how: What a row is: "rows" of the adjacency matrix, "netmf" or "node2vec" vectors, propagated "identities", or
            similarity to "clusters".
        x: (n, d) the rows.
        ids: (n,) the users' ids of the nodes, whole numbers or text.
        directed: Whether the graph is; a link then leads from the new node to the other.
    """

    how: How
    x: Rows
    ids: NDArray[np.generic]
    directed: bool = False

    @classmethod
    def fit(cls, graph: Graph, ids: NDArray[np.generic] | None, how: str | None, seed: int) -> Nodes:
        """Makes the rows; `how` is "rows" up to 10,000 nodes and "identities" beyond, where not given."""
        known = get_args(How)
        chosen = how or ("rows" if graph.num_nodes <= _MOST_ROWS else "identities")
        if chosen not in known:
            raise ValueError(f"how is {chosen!r}{nearest(chosen, known)}; choose from {', '.join(known)}")
        if ids is not None and len(ids) != graph.num_nodes:
            raise ValueError(f"ids has {len(ids)} entries, the graph {graph.num_nodes} nodes; give one per node")
        names = np.arange(graph.num_nodes) if ids is None else _plain(ids)
        return cls(cast(How, chosen), _inputs(graph, cast(How, chosen), seed), names, graph.directed)

    @property
    def names(self) -> tuple[str, ...]:
        """No columns."""
        return ()

    @property
    def width(self) -> int:
        """Of a row."""
        return int(self.x.shape[1])

    @property
    def holds(self) -> dict[str, Holds]:
        """No columns are read by name."""
        return {}

    def read(self, table: Table, first: int = 0) -> Made:
        """(b, d) rows of the new nodes of a table of links, in the order in which they first appear."""
        source, target, weight = (None if n is None else table.column(n).tolist() for n in link_columns(table))
        return self.linked(cast("list[object]", source), cast("list[object]", target), weight).made

    def linked(self, source: Sequence[object], target: Sequence[object], weight: Sequence[object] | None) -> Linked:
        """Rows of new nodes.

        Args:
            source: (k,) ids of new nodes.
            target: (k,) ids of the nodes that they are linked to.
            weight: (k,) weights; all 1 where not given.
        """
        new: dict[object, int] = {}
        for name in source:
            new.setdefault(name, len(new))
        ends = [self._row_of.get(as_key(name), -1) for name in target]
        pairs = np.array([[new[a] for a in source], ends], dtype=np.int64).reshape(2, -1).T  # (k, 2)
        known = pairs[:, 1] >= 0
        size = None if weight is None else _weights(weight)[known]
        empty = Graph.from_edges(np.zeros((0, 2), dtype=np.int64), num_nodes=len(self.ids))
        rows = links(pairs[known], empty, size, len(new))
        alone = np.flatnonzero(np.diff(rows.indptr) == 0)
        odd = [Odd(alone, "have no link to a node that the run knows", NOTHING)] if len(alone) else []
        lost = list(dict.fromkeys(target[i] for i in np.flatnonzero(~known).tolist()))
        return Linked(list(new), Made(self._of(rows), odd), int((~known).sum()), lost[:3])

    def _of(self, rows: sp.csr_array) -> Rows:
        if self.how == "rows":
            return adjacency_rows(rows)
        if self.how == "identities":
            return from_links(rows, self.x, keep=_KEEP, scale=1 - _RESTART)
        return from_links(rows, self.x)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {as_key(name): row for row, name in enumerate(self.ids.tolist())}

    def knows(self, name: object) -> bool:
        """Whether there is such a node in the training graph."""
        return as_key(name) in self._row_of

    def as_json(self) -> dict[str, JSON]:
        """For `features.json`."""
        return {"how": self.how, "nodes": len(self.ids), "width": self.width, "directed": self.directed}

    def arrays(self) -> dict[str, Tensor]:
        """For `features.safetensors`: the rows, and the ids as numbers or as the bytes of their names."""
        if sp.issparse(self.x):
            x = cast(sp.csr_array, self.x)
            found = {"data": x.data, "indices": x.indices.astype(np.int64), "offsets": x.indptr.astype(np.int64)}
        else:
            found = {"x": np.ascontiguousarray(self.x)}
        if self.ids.dtype.kind in "iu":
            return {name: torch.from_numpy(a) for name, a in {**found, "ids": self.ids.astype(np.int64)}.items()}
        encoded = [str(name).encode() for name in self.ids.tolist()]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        letters = np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8)
        return {name: torch.from_numpy(a) for name, a in {**found, "letters": letters, "ends": ends}.items()}

    @classmethod
    def from_json(cls, content: Mapping[str, JSON], arrays: Mapping[str, Tensor]) -> Nodes:
        """Takes back what was kept."""
        count, width = cast(int, content["nodes"]), cast(int, content["width"])
        found = {name: a.numpy() for name, a in arrays.items()}
        x: Rows = found["x"] if "x" in found else _sparse(found, (count, width))
        if "ids" in found:
            return cls(cast(How, content["how"]), x, found["ids"], bool(content["directed"]))
        letters, ends = found["letters"].tobytes(), found["ends"].tolist()
        ids = np.empty(count, dtype=object)
        ids[:] = [letters[a:b].decode() for a, b in pairwise(ends)]
        return cls(cast(How, content["how"]), x, ids, bool(content["directed"]))


def link_columns(table: Table) -> tuple[str, str, str | None]:
    """Columns of a table of links: the new nodes, what they are linked to, the weights."""
    columns = table.columns
    numbers = tuple(table.column(name).dtype.kind in "biuf" for name in columns)
    found = edge_columns(
        Query(table.name, columns, ("",) * len(columns), numbers, "", header=table.header, hint=table.hint),
        ColumnNames(),
    )
    return found.source, found.target, found.weight


def as_key(name: object) -> str:
    """An id as it is looked up: 3, 3.0 and "3" are the same one.

    >>> as_key(3), as_key(3.0), as_key("3"), as_key("a")
    ('3', '3', '3', 'a')
    """
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _inputs(graph: Graph, how: How, seed: int) -> Rows:
    n = graph.num_nodes
    if how == "rows":
        return adjacency_rows(graph)
    if how == "netmf":
        return netmf(graph, min(_WIDTH, n), seed=seed)
    if how == "node2vec":
        return node2vec(graph, min(_WIDTH, n), seed=seed)
    if how == "clusters":
        return clusters(graph, min(n, max(2, min(_MOST_CLUSTERS, round(sqrt(n))))), "similarity", seed=seed)
    return sp.csr_array(identities(graph, _KEEP, _RESTART) * np.float32(_SCALE))


def _plain(ids: NDArray[np.generic]) -> NDArray[np.generic]:
    """Whole numbers as they are, anything else as text."""
    if ids.dtype.kind in "iu":
        return ids
    out = np.empty(len(ids), dtype=object)
    out[:] = [as_key(name) for name in ids.tolist()]
    return out


def _weights(weight: Sequence[object]) -> NDArray[np.float64]:
    try:
        return np.array(weight, dtype=np.float64)
    except (ValueError, TypeError):
        wrong = next(w for w in weight if not isinstance(w, int | float))
        raise ValueError(f"a link has weight {wrong!r}; weights must be numbers of at least 0") from None


def _sparse(found: Mapping[str, NDArray[np.generic]], shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((found["data"], found["indices"], found["offsets"]), shape=shape)
