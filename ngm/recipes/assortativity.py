"""How much more alike predictions are across the edges of a graph than by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm.graph import Graph

_EDGES_AT_ONCE = 1_000_000


def prediction_assortativity(graph: Graph, proba: NDArray[np.float32]) -> float:
    """Weighted correlation of the two ends' predictions over the edges: 1 if they are always alike, 0 if by chance.

    It is 1 where predictions do not differ at all, since they then say nothing about the graph.

    Args:
        graph: Over the n nodes.
        proba: (n, C) predictions from x alone.
    """
    u, v = graph.edges.numpy().T
    weight = graph.weight.numpy().astype(np.float64)
    degree = np.bincount(u, weight, graph.num_nodes) + np.bincount(v, weight, graph.num_nodes)
    total = degree.sum()
    if total == 0:
        return 0.0
    centered = proba - (degree @ proba) / total
    variance = float(degree @ np.square(centered).sum(axis=1)) / total
    if variance < 1e-9:
        return 1.0
    together = 0.0
    for start in range(0, len(u), _EDGES_AT_ONCE):  # rows of both ends of all edges would be many times the graph
        at = slice(start, start + _EDGES_AT_ONCE)
        together += float(weight[at] @ np.einsum("ec,ec->e", centered[u[at]], centered[v[at]])) / (total / 2)
    return float(together / variance)
