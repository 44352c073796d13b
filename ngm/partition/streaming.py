"""A streaming partition of nodes: each node goes to the part that holds most of its neighbours and has room.

Nodes are looked at one after the other, so the time is linear in edges and in nodes times parts, and all that is kept
beside the graph is the part of each node. The score is that of FENNEL (Tsourakakis et al., WSDM 2014): neighbours in
the part, minus a penalty that grows with the root of what is in the part. Further passes over the nodes (Nishimura and
Ugander, KDD 2013) start from the parts of the pass before, and cut fewer edges. Compiled by numba, so import this
module in functions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled

Ids = NDArray[np.int64]


@compiled
def stream_nodes(
    offsets: Ids,
    neighbors: NDArray[np.integer],
    size: NDArray[np.float64],
    order: Ids,
    part: NDArray[np.int32],
    load: NDArray[np.float64],
    capacity: float,
    penalty: float,
) -> None:
    """One pass: gives each node a part, in place.

    Args:
        offsets: (n + 1,) where the neighbours of each node begin.
        neighbors: (2 m,) the neighbours of each node, one node after the other.
        size: (n,) how much of a part's capacity each node takes.
        order: (n,) in which nodes are looked at.
        part: (n,) of each node, -1 where it has none yet.
        load: (p,) what the nodes of each part take.
        capacity: Of a part; a node goes to the emptiest part where all are full.
        penalty: Of a full part, in neighbours.
    """
    joined = np.zeros(len(load))  # neighbours of a node in each part
    for node in order:
        before = part[node]
        if before >= 0:
            load[before] -= size[node]
        for entry in range(offsets[node], offsets[node + 1]):
            at = part[neighbors[entry]]
            if at >= 0:
                joined[at] += 1
        best, best_score = -1, 0.0
        for at in range(len(load)):
            score = joined[at] - penalty * np.sqrt(load[at] / capacity)
            if load[at] + size[node] <= capacity and (best < 0 or score > best_score):
                best, best_score = at, score
            joined[at] = 0
        if best < 0:
            best = int(np.argmin(load))
        part[node] = best
        load[best] += size[node]
