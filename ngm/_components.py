"""Connected components by union-find: edges are read once where they are, and 8 bytes a node are kept; compiled."""

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
def _join_ends(edges: Ids, weight: NDArray[np.float32], least: float, parent: Ids) -> None:
    """Joins the components of both ends of each edge, in place; the smallest node stands for a component.

    Args:
        edges: (m, 2).
        weight: (m,).
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
def _number(parent: Ids) -> int:
    """Turns `parent` into the component of each node, in place, numbered by their smallest nodes; returns how many."""
    count = 0
    for node in range(len(parent)):
        if parent[node] == node:
            parent[node] = count
            count += 1
        else:
            parent[node] = parent[parent[node]]  # a smaller node, which has its number already
    return count


def connected_components(
    edges: Ids, weight: NDArray[np.float32], num_nodes: int, least: float = -1.0
) -> tuple[int, Ids]:
    """(number of components, (n,) component of each node), numbered by their smallest nodes; direction is ignored.

    Args:
        edges: (m, 2) node ids.
        weight: (m,).
        num_nodes: n.
        least: Edges of this weight or less join nothing.

    >>> connected_components(np.array([[0, 3], [1, 2]]), np.array([1, 0], dtype=np.float32), 4, least=0)
    (3, array([0, 1, 2, 0]))
    """
    component = np.arange(num_nodes)
    _join_ends(edges, weight, least, component)
    return int(_number(component)), component


@compiled
def visit(start: Ids, neighbor: NDArray[np.integer], weight: NDArray[np.float32], reached: NDArray[np.bool_]) -> None:
    """Adds all nodes that can be reached by edges of positive weight to the mask, in place: breadth-first search.

    Args:
        start: (n + 1,) where the row of each node begins.
        neighbor: (k,) nodes that an edge of the row leads to.
        weight: (k,).
        reached: (n,) where to begin.
    """
    queue = np.empty(len(reached), dtype=np.int64)
    count = 0
    for node in range(len(reached)):
        if reached[node]:
            queue[count] = node
            count += 1
    at = 0
    while at < count:
        node = queue[at]
        at += 1
        for entry in range(start[node], start[node + 1]):
            other = neighbor[entry]
            if weight[entry] > 0 and not reached[other]:
                reached[other] = True
                queue[count] = other
                count += 1
