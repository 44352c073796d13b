"""Connected components from edges that come a part at a time: union-find, a number per node; compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled

Ids = NDArray[np.int64]


@compiled
def _root(parent: Ids, node: int) -> int:
    """The node that stands for the component of `node`; the way there is halved."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@compiled
def join_ends(edges: Ids, weight: NDArray[np.float32], least: float, parent: Ids) -> None:
    """Joins the components of both ends of each edge, in place; the smallest node stands for a component.

    Args:
        edges: (b, 2) the next edges.
        weight: (b,) their weights.
        least: Edges of weight `least` or less join nothing.
        parent: (n,) at first each node itself.
    """
    for e in range(len(edges)):
        if weight[e] > least:
            u, v = _root(parent, edges[e, 0]), _root(parent, edges[e, 1])
            if u < v:
                parent[v] = u
            elif v < u:
                parent[u] = v


@compiled
def number_components(parent: Ids) -> int:
    """Turns `parent` into the component of each node, in place, numbered by their smallest nodes; returns how many."""
    count = 0
    for node in range(len(parent)):
        if parent[node] == node:
            parent[node] = count
            count += 1
        else:
            parent[node] = parent[parent[node]]  # a smaller node, which has its number already
    return count
