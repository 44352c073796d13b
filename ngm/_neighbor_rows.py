"""Neighbours of each node, row by row, from edges that come a part at a time; compiled.

Edges need not be in memory together: one pass counts, further ones write. Where edges ascend, so does each row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled

Ids = NDArray[np.int64]


@compiled
def count_ends(edges: Ids, start: Ids, at_first: bool = True, at_second: bool = True) -> None:
    """Adds (b, 2) edges to the length of each row, in place: that of node v is `start[v + 1]`.

    Args:
        edges: The next edges.
        start: (n + 1,).
        at_first: Whether an edge is in the row of its first end.
        at_second: Whether it is in that of its second end.
    """
    for e in range(len(edges)):
        if at_first:
            start[edges[e, 0] + 1] += 1
        if at_second:
            start[edges[e, 1] + 1] += 1


@compiled
def fill_rows(
    edges: Ids,
    first: int,
    last: int,
    place: Ids,
    neighbor: NDArray[np.integer],
    at_first: bool = True,
    at_second: bool = True,
    weight: NDArray[np.float32] | None = None,
    value: NDArray[np.float32] | None = None,
) -> None:
    """Writes what (b, 2) edges add to the rows of some nodes, in place.

    Args:
        edges: The next edges.
        first: The nodes are these...
        last: ...up to, but without this one.
        place: (n + 1,) where the next neighbour of each node goes; in the end where the row of the next node begins.
        neighbor: (k,) the neighbours of each node, one node after the other.
        at_first: As for `count_ends`, like the next one.
        at_second: Likewise.
        weight: (b,) weights of the edges, if they are to be written too.
        value: (k,) where they go.
    """
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        if at_first and first <= u < last:
            neighbor[place[u]] = v
            if weight is not None and value is not None:
                value[place[u]] = weight[e]
            place[u] += 1
        if at_second and first <= v < last:
            neighbor[place[v]] = u
            if weight is not None and value is not None:
                value[place[v]] = weight[e]
            place[v] += 1
