"""How much more alike predictions are across the edges of a graph than by chance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngm.graph import Graph

_EDGES_AT_ONCE = 500_000


def prediction_assortativity(graph: Graph, proba: NDArray[np.float32]) -> float:
    """Weighted correlation of the two ends' predictions over the edges: 1 if they are always alike, 0 if by chance.

    It is 1 where predictions do not differ at all, since they then say nothing about the graph.

    Args:
        graph: Over the n nodes.
        proba: (n, C) predictions from x alone.
    """
    edges, weight = graph.edges.numpy(), graph.weight.numpy()
    degree = np.zeros(graph.num_nodes)
    for at in _edge_blocks(len(edges)):
        for end in edges[at].T:
            degree += np.bincount(end, weight[at], graph.num_nodes)
    total = degree.sum()
    if total == 0:
        return 0.0
    centered = proba - ((degree @ proba) / total).astype(np.float32)
    variance = float(degree @ np.einsum("nc,nc->n", centered, centered)) / total
    if variance < 1e-9:
        return 1.0
    together = 0.0
    for at in _edge_blocks(len(edges)):  # rows of both ends of all edges would be many times the graph
        u, v = edges[at].T
        products = np.einsum("ec,ec->e", centered[u], centered[v])
        together += float(weight[at].astype(np.float64) @ products) / (total / 2)
    return float(together / variance)


def _edge_blocks(num_edges: int) -> Iterator[slice]:
    return (slice(start, start + _EDGES_AT_ONCE) for start in range(0, num_edges, _EDGES_AT_ONCE))
