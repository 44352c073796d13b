"""Neighbours of each node in compressed rows, with the number of the edge to each; compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled

Ids = NDArray[np.int64]
Nodes = NDArray[np.int32]


@compiled
def row_starts(low: Nodes, high: Nodes, num_nodes: int) -> Ids:
    """(n + 1,) where the row of each node begins, and the end of the last.

    Args:
        low: (m,) one end of each edge.
        high: (m,) the other end.
        num_nodes: Number of nodes.
    """
    start = np.zeros(num_nodes + 1, dtype=np.int64)
    for e in range(len(low)):
        start[low[e] + 1] += 1
        start[high[e] + 1] += 1
    for node in range(num_nodes):
        start[node + 1] += start[node]
    return start


@compiled
def rows_of_edges(low: Nodes, high: Nodes, start: Ids) -> Nodes:
    """(2m,) the edges of each node, row by row; the other end of edge e of node v is `low[e] + high[e] - v`."""
    at = start[:-1].copy()
    edge = np.empty(2 * len(low), dtype=np.int32)
    for e in range(len(low)):
        edge[at[low[e]]] = e
        at[low[e]] += 1
        edge[at[high[e]]] = e
        at[high[e]] += 1
    return edge
