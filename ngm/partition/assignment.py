"""Which part each node and each edge of a graph goes to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm._arguments import whole_number
from ngm._spelling import nearest
from ngm.choices import PartitionMethod
from ngm.graph import Graph

PASSES = 10  # of the streaming method; later ones hardly cut fewer edges
SLACK = 1.1  # capacity of a part over its fair share
PENALTY = 0.75  # of a full part, in mean degrees: FENNEL's with gamma = 3/2


@dataclass(frozen=True, eq=False)
class Assignment:
    """Nodes and edges by part.

    Args:
        part: (n,) int32, the part that owns each node.
        carrier: (m,) int32, the part that carries each edge: that of one of its ends.
        num_parts: Number of parts.
        num_cut: Edges whose ends are in different parts.
    """

    part: NDArray[np.int32]
    carrier: NDArray[np.int32]
    num_parts: int
    num_cut: int

    @property
    def cut(self) -> float:
        """Share of the edges whose ends are in different parts."""
        return self.num_cut / max(len(self.carrier), 1)

    @property
    def node_balance(self) -> float:
        """Nodes of the largest part over the mean."""
        return _balance(self.part, self.num_parts)

    @property
    def edge_balance(self) -> float:
        """Edges of the largest part over the mean."""
        return _balance(self.carrier, self.num_parts)


def assign_nodes(graph: Graph, parts: int, method: PartitionMethod = "streaming", seed: int = 0) -> Assignment:
    """Cuts a graph into parts of about equal size with few edges between them.

    Args:
        graph: The graph; its direction and weights do not matter here.
        parts: How many, at most one per node.
        method: "streaming": see `ngm.ordering.streaming`. "metis": multilevel, by pymetis, which cuts fewer edges and
            takes several times the memory.
        seed: Where the stream of nodes begins; same seed, same parts.

    Returns:
        The parts; no part is without a node. An edge between two parts is carried by that of the end with fewer
        edges, so that nodes with many edges, which are on many borders anyway, are the ones that are copied.

    >>> import torch
    >>> graph = Graph(4, torch.tensor([[0, 1], [1, 2], [2, 3]]), torch.ones(3))
    >>> found = assign_nodes(graph, 2)
    >>> sorted(np.bincount(found.part).tolist()), found.num_cut
    ([2, 2], 1)
    """
    parts = whole_number("parts", parts, least=1)
    if parts > graph.num_nodes:
        raise ValueError(f"parts is {parts} for {graph.num_nodes} nodes; give at most one part per node")
    if method not in get_args(PartitionMethod):
        known = get_args(PartitionMethod)
        raise ValueError(f"method is {method!r}{nearest(str(method), known)}; choose from {', '.join(known)}")
    adjacency = _neighbors(graph)
    if parts == 1:
        part = np.zeros(graph.num_nodes, dtype=np.int32)
    else:
        part = (_streamed if method == "streaming" else _metis)(adjacency, parts, seed)
        _fill_empty(part, parts)
    ends = graph.edges.numpy()
    u, v = ends[:, 0], ends[:, 1]
    degree = np.diff(adjacency.indptr)
    second = (degree[v] < degree[u]) | ((degree[v] == degree[u]) & ((u + v) % 2 == 1))  # even where all are alike
    carrier = np.where(second, part[v], part[u])
    return Assignment(part, carrier, parts, int((part[u] != part[v]).sum()))


def _neighbors(graph: Graph) -> sp.csr_array:
    """(n, n) neighbours of each node, direction aside."""
    ends, n = graph.edges.numpy(), graph.num_nodes
    ones = np.ones(len(ends), dtype=np.int8)
    forward = sp.csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(n, n))
    return (forward + forward.T).tocsr()


def _streamed(adjacency: sp.csr_array, parts: int, seed: int) -> NDArray[np.int32]:
    """(n,) parts: neighbours one after the other, by breadth-first search, then again in the same order."""
    from ngm.ordering.streaming import stream_nodes  # loads numba

    offsets, degree = adjacency.indptr.astype(np.int64), np.diff(adjacency.indptr)
    extra = max(float(degree.mean()), 1.0)  # so that neither nodes nor edges pile up in a part
    size = degree + extra
    part, load = np.full(len(degree), -1, dtype=np.int32), np.zeros(parts)
    capacity = max(SLACK * float(size.sum()) / parts, float(size.max()))
    order = _breadth_first(adjacency, seed)
    for _ in range(PASSES):
        stream_nodes(offsets, adjacency.indices, part, load, capacity, PENALTY * float(degree.mean()), extra, order)
    return part


def _breadth_first(adjacency: sp.csr_array, seed: int) -> NDArray[np.int64]:
    """(n,) nodes in an order in which neighbours are close: component by component, the largest from a random node."""
    n = adjacency.shape[0]
    _, component = sp.csgraph.connected_components(adjacency, directed=False)
    sizes = np.bincount(component)
    largest = np.flatnonzero(component == sizes.argmax())
    start = int(np.random.default_rng(seed).choice(largest))
    first = sp.csgraph.breadth_first_order(adjacency, start, return_predecessors=False).astype(np.int64)
    rest = np.ones(n, dtype=bool)
    rest[first] = False
    others = np.flatnonzero(rest)
    others = others[np.argsort(component[others], kind="stable")]
    return np.concatenate([first, others])


def _metis(adjacency: sp.csr_array, parts: int, seed: int) -> NDArray[np.int32]:
    try:
        import pymetis
    except ImportError:
        raise ValueError("method is 'metis', which needs pymetis; pip install pymetis, or use 'streaming'") from None
    weights = (np.diff(adjacency.indptr) + 1).astype(np.int64)
    neighbors = pymetis.CSRAdjacency(adjacency.indptr, adjacency.indices)
    _, part = pymetis.part_graph(parts, neighbors, vweights=weights, options=pymetis.Options(seed=seed))
    return np.asarray(part, dtype=np.int32)


def _fill_empty(part: NDArray[np.int32], parts: int) -> None:
    """Gives each part without a node one of the largest part, in place."""
    counts = np.bincount(part, minlength=parts)
    for empty in np.flatnonzero(counts == 0):
        largest = int(counts.argmax())
        part[np.flatnonzero(part == largest)[-1]] = empty
        counts[largest] -= 1
        counts[empty] += 1


def _balance(of: NDArray[np.int32], parts: int) -> float:
    if not len(of):
        return 1.0
    counts = np.bincount(of, minlength=parts)
    return float(counts.max() / counts.mean())
