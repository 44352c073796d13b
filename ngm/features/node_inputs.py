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
from ngm.features.feature_rows import NO_INPUT, FeatureRows, RowIssue
from ngm.graph import Graph
from ngm.inputs import adjacency_rows, clusters, from_links, identities, links, netmf, node2vec
from ngm.io.run_folder import JSON
from ngm.io.tables import Table
from ngm.io.tables.column_guesses import ColumnNames, edge_columns
from ngm.io.tables.query import Query
from ngm.io.tables.stream import Holds

Rows: TypeAlias = "NDArray[np.float32] | sp.csr_array"
_MAX_ADJACENCY_NODES = 10_000  # nodes up to which adjacency rows are the default
_WIDTH, _MAX_CLUSTERS = 128, 64
_MAX_IDENTITIES, _RESTART, _SCALE = (
    32,
    0.3,
    10.0,
)  # of identities; chances are small numbers, and a network likes larger ones


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """New nodes, and what they are linked to.

    Args:
        ids: (b,) their ids, as they were written.
        rows: Their rows.
        unknown: Links to nodes that are not in the training graph, which are left out.
        examples: The first of these nodes.
    """

    ids: list[object]
    rows: FeatureRows
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
        choices = get_args(How)
        kind = how or ("rows" if graph.num_nodes <= _MAX_ADJACENCY_NODES else "identities")
        if kind not in choices:
            raise ValueError(f"how is {kind!r}{nearest(kind, choices)}; choose from {', '.join(choices)}")
        if ids is not None and len(ids) != graph.num_nodes:
            raise ValueError(f"ids has {len(ids)} entries, the graph {graph.num_nodes} nodes; give one per node")
        names = np.arange(graph.num_nodes) if ids is None else _plain_ids(ids)
        return cls(cast(How, kind), _inputs(graph, cast(How, kind), seed), names, graph.directed)

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

    def read(self, table: Table, first: int = 0) -> FeatureRows:
        """(b, d) rows of the new nodes of a table of links, in the order in which they first appear."""
        source, target, weight = (None if n is None else table.column(n).tolist() for n in link_columns(table))
        return self.linked(cast("list[object]", source), cast("list[object]", target), weight).rows

    def linked(self, source: Sequence[object], target: Sequence[object], weight: Sequence[object] | None) -> LinkedRows:
        """Rows of new nodes.

        Args:
            source: (k,) ids of new nodes.
            target: (k,) ids of the nodes that they are linked to.
            weight: (k,) weights; all 1 where not given.
        """
        new_rows: dict[object, int] = {}
        for name in source:
            new_rows.setdefault(name, len(new_rows))
        ends = [self._row_of.get(as_key(name), -1) for name in target]
        pairs = np.array([[new_rows[a] for a in source], ends], dtype=np.int64).reshape(2, -1).T  # (k, 2)
        is_known = pairs[:, 1] >= 0
        size = None if weight is None else _weights(weight)[is_known]
        no_edges = Graph.from_edges(np.zeros((0, 2), dtype=np.int64), num_nodes=len(self.ids))
        rows = links(pairs[is_known], no_edges, size, len(new_rows))
        unlinked = np.flatnonzero(np.diff(rows.indptr) == 0)
        issues = [RowIssue(unlinked, "have no link to a node that the run knows", NO_INPUT)] if len(unlinked) else []
        unknown_targets = list(dict.fromkeys(target[i] for i in np.flatnonzero(~is_known).tolist()))
        return LinkedRows(
            list(new_rows), FeatureRows(self._node_rows(rows), issues), int((~is_known).sum()), unknown_targets[:3]
        )

    def _node_rows(self, rows: sp.csr_array) -> Rows:
        if self.how == "rows":
            return adjacency_rows(rows)
        if self.how == "identities":
            return from_links(rows, self.x, keep=_MAX_IDENTITIES, scale=1 - _RESTART)
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
            arrays_ = {"data": x.data, "indices": x.indices.astype(np.int64), "offsets": x.indptr.astype(np.int64)}
        else:
            arrays_ = {"x": np.ascontiguousarray(self.x)}
        if self.ids.dtype.kind in "iu":
            return {name: torch.from_numpy(a) for name, a in {**arrays_, "ids": self.ids.astype(np.int64)}.items()}
        encoded = [str(name).encode() for name in self.ids.tolist()]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        letters = np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8)
        return {name: torch.from_numpy(a) for name, a in {**arrays_, "letters": letters, "ends": ends}.items()}

    @classmethod
    def from_json(cls, content: Mapping[str, JSON], arrays: Mapping[str, Tensor]) -> Nodes:
        """Takes back what was kept."""
        count, width = cast(int, content["nodes"]), cast(int, content["width"])
        arrays_ = {name: a.numpy() for name, a in arrays.items()}
        x: Rows = arrays_["x"] if "x" in arrays_ else _sparse(arrays_, (count, width))
        if "ids" in arrays_:
            return cls(cast(How, content["how"]), x, arrays_["ids"], bool(content["directed"]))
        letters, ends = arrays_["letters"].tobytes(), arrays_["ends"].tolist()
        ids = np.empty(count, dtype=object)
        ids[:] = [letters[a:b].decode() for a, b in pairwise(ends)]
        return cls(cast(How, content["how"]), x, ids, bool(content["directed"]))


def link_columns(table: Table) -> tuple[str, str, str | None]:
    """Columns of a table of links: the new nodes, what they are linked to, the weights."""
    columns = table.columns
    numbers = tuple(table.column(name).dtype.kind in "biuf" for name in columns)
    columns_ = edge_columns(
        Query(table.name, columns, ("",) * len(columns), numbers, "", header=table.header, hint=table.hint),
        ColumnNames(),
    )
    return columns_.source, columns_.target, columns_.weight


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
        return clusters(graph, min(n, max(2, min(_MAX_CLUSTERS, round(sqrt(n))))), "similarity", seed=seed)
    return sp.csr_array(identities(graph, _MAX_IDENTITIES, _RESTART) * np.float32(_SCALE))


def _plain_ids(ids: NDArray[np.generic]) -> NDArray[np.generic]:
    """Whole numbers as they are, anything else as text."""
    if ids.dtype.kind in "iu":
        return ids
    result = np.empty(len(ids), dtype=object)
    result[:] = [as_key(name) for name in ids.tolist()]
    return result


def _weights(weight: Sequence[object]) -> NDArray[np.float64]:
    try:
        return np.array(weight, dtype=np.float64)
    except (ValueError, TypeError):
        first_wrong = next(w for w in weight if not isinstance(w, int | float))
        raise ValueError(f"a link has weight {first_wrong!r}; weights must be numbers of at least 0") from None


def _sparse(arrays: Mapping[str, NDArray[np.generic]], shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((arrays["data"], arrays["indices"], arrays["offsets"]), shape=shape)
