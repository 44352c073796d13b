"""Parts of a graph whose edges are not in memory together: loops over nodes and over parts of the edges; compiled.

Each node goes to the part that holds most of its neighbours and has room, one node after the other: FENNEL
(Tsourakakis et al., WSDM 2014). Further passes start from the parts of the pass before (Nishimura and Ugander, KDD
2013). What is kept is some numbers per node; the neighbours may be a memory map, which a pass reads from its beginning
to its end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled
from ngm.ordering.adjacency import Ids, Nodes


@compiled
def stream_nodes(
    start: Ids,
    neighbor: NDArray[np.integer],
    part: Nodes,
    load: NDArray[np.int64] | NDArray[np.float64],
    capacity: float,
    penalty: float,
    extra: float = 0,
    order: Ids | None = None,
) -> None:
    """One pass over all nodes that take room: gives each a part, in place.

    Args:
        start: (n + 1,) where the neighbours of each node begin.
        neighbor: (2m,) the neighbours of each node, one node after the other.
        part: (n,) of each node, -1 where it has none yet.
        load: (p,) what the nodes of each part take: each as much as it has edges, and `extra`.
        capacity: Of a part; a node goes to the emptiest part where those of its neighbours are full.
        penalty: Of a full part, in neighbours; it grows with the root of the load.
        extra: What a node takes beyond its edges.
        order: (n,) in which nodes are looked at; that of their numbers where not given.
    """
    joined, near = np.zeros(len(load), dtype=np.int64), np.empty(len(load), dtype=np.int64)
    cost, emptiest = penalty * np.sqrt(load / capacity), np.argmin(load)
    for number in range(len(part)):
        node = number if order is None else order[number]
        size, before, count = start[node + 1] - start[node] + extra, part[node], 0
        if size == 0:
            continue
        if before >= 0:
            load[before] -= size
            cost[before] = penalty * np.sqrt(load[before] / capacity)
            if load[before] < load[emptiest]:
                emptiest = before
        for entry in range(start[node], start[node + 1]):
            at = part[neighbor[entry]]
            if at < 0:
                continue
            if joined[at] == 0:
                near[count] = at
                count += 1
            joined[at] += 1
        best, best_score = emptiest, joined[emptiest] - cost[emptiest]
        for i in range(count):
            at = near[i]
            score = joined[at] - cost[at]
            if load[at] + size <= capacity and (score > best_score or (score == best_score and at < best)):
                best, best_score = at, score
            joined[at] = 0
        part[node] = best
        load[best] += size
        cost[best] = penalty * np.sqrt(load[best] / capacity)
        if best == emptiest:
            emptiest = np.argmin(load)


@compiled
def _part_of_edge(u: int, v: int, part: Nodes, start: Ids) -> int:
    """The part of an edge: that of the end with fewer edges, or of the smaller number."""
    of_u, of_v = start[u + 1] - start[u], start[v + 1] - start[v]
    return part[min(u, v)] if of_u == of_v else part[u] if of_u < of_v else part[v]


@compiled
def count_edges(edges: Ids, part: Nodes, start: Ids, size: Ids) -> None:
    """Adds (b, 2) edges to the number of edges of each part, in place."""
    for e in range(len(edges)):
        size[_part_of_edge(edges[e, 0], edges[e, 1], part, start)] += 1


@compiled
def sort_edges(edges: Ids, first: int, part: Nodes, start: Ids, place: Ids, order: NDArray[np.integer]) -> None:
    """Writes the numbers of some edges to where their parts go on, in place.

    Args:
        edges: (b, 2) the next edges.
        first: Number of the first of them.
        part: (n,) of each node.
        start: (n + 1,) where the neighbours of each node begin.
        place: (p,) where the next edge of each part goes.
        order: (m,) numbers of all edges, part by part.
    """
    for e in range(len(edges)):
        own = _part_of_edge(edges[e, 0], edges[e, 1], part, start)
        order[place[own]] = first + e
        place[own] += 1
