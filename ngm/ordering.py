"""Edge orders in which a batch is a neighbourhood: consecutive edges share many of their ends.

A batch costs one run of the network per distinct node, so what counts is the number of distinct ends in each
block of consecutive edges. Neighbourhood expansion (Zhang et al., KDD 2017), started anew for every block, came
out ahead of breadth-first, Cuthill-McKee, METIS and spectral orders on every graph tried; docs/architecture.md has
the table. It is a loop in Python, 2 to 5 microseconds an edge, so very large graphs take a depth-first order.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import depth_first_order

from ngm._pair_keys import MAX_KEYED_NODES, unique_pairs

Ids = NDArray[np.int64]
EXPANDED_UP_TO = 5_000_000  # edges; beyond, the loop would take longer than an epoch


def edge_order(edges: Ids, num_nodes: int, seed: int, block: int) -> Ids:
    """Orders edges so that every `block` consecutive ones have few distinct ends.

    Args:
        edges: (m, 2) node ids; the same pair may occur more than once (in two graphs, say).
        num_nodes: Number of nodes.
        seed: Other seeds give other orders, of the same quality.
        block: Edges in a batch.

    Returns:
        (m,) permutation of the edges.

    >>> edge_order(np.array([[0, 1], [2, 3], [0, 4], [2, 5]]), 6, seed=0, block=2).reshape(2, 2).tolist()
    [[2, 0], [3, 1]]
    """
    if num_nodes > MAX_KEYED_NODES:  # then only nodes with edges are numbered
        present, place = np.unique(edges, return_inverse=True)
        edges, num_nodes = place.reshape(-1, 2), len(present)
    shuffled = np.random.default_rng(seed).permutation(num_nodes)  # breaks ties and chooses the starts
    ends = np.sort(shuffled[edges], axis=1)  # (m, 2)
    low, high, pair_of = unique_pairs(ends[:, 0], ends[:, 1], num_nodes)
    arrange = _expanded if len(low) <= EXPANDED_UP_TO else _depth_first
    position = np.empty(len(low), dtype=np.int64)
    position[arrange(low, high, num_nodes, block)] = np.arange(len(low))
    return np.argsort(position[pair_of], kind="stable")


def _depth_first(low: Ids, high: Ids, num_nodes: int, block: int) -> Ids:
    """Sorts pairs by the end that a depth-first walk meets first."""
    joined = sp.csr_array((np.ones(len(low), np.int8), (low, high)), shape=(num_nodes, num_nodes))
    _, component = sp.csgraph.connected_components(joined, directed=False)
    root = np.unique(component, return_index=True)[1]  # one node of each, to be reached from an extra node
    u, v = np.concatenate([low, np.full(len(root), num_nodes)]), np.concatenate([high, root])
    whole = sp.csr_array((np.ones(len(u), np.int8), (u, v)), shape=(num_nodes + 1, num_nodes + 1))
    met = np.empty(num_nodes + 1, dtype=np.int64)
    met[depth_first_order(whole, num_nodes, directed=False, return_predecessors=False)] = np.arange(num_nodes + 1)
    return np.lexsort((np.maximum(met[low], met[high]), np.minimum(met[low], met[high])))


def _expanded(low: Ids, high: Ids, num_nodes: int, block: int) -> Ids:
    """Neighbourhood expansion, block by block: pair numbers in the order in which they are placed."""
    return np.array(_Expansion(low, high, num_nodes).run(block), dtype=np.int64)


class _Expansion:
    """Grows a set of nodes; pairs with both ends in it are placed.

    The member with the fewest unplaced pairs is closed next: its neighbours join, and with them every pair that they
    have with members. After `block` pairs a new set starts where the last one ended, so that the border between two
    blocks stays short as well.
    """

    def __init__(self, low: Ids, high: Ids, num_nodes: int) -> None:
        count = len(low)
        ends, other = np.concatenate([low, high]), np.concatenate([high, low])
        by_end = np.argsort(ends, kind="stable")
        self.start = np.searchsorted(ends[by_end], np.arange(num_nodes + 1)).tolist()
        self.other: list[int] = other[by_end].tolist()
        self.pair: list[int] = (by_end % max(count, 1)).tolist()
        self.unplaced: list[dict[int, int] | None] = [None] * num_nodes  # {neighbor: pair}, made when first met
        self.unmet = iter(range(num_nodes))
        self.total, self.placed = count, list[int]()

    def run(self, block: int) -> list[int]:
        members: set[int] = set()
        border: list[tuple[int, int]] = []  # heap of (unplaced pairs, member); stale entries stay in
        before: list[tuple[int, int]] = []  # the border that the last block left
        end = block
        while len(self.placed) < self.total:
            core = self._next(border, before, members)
            members.add(core)
            self._close(core, members, border, end)
            if len(self.placed) >= end:
                left = self._pairs(core)
                before, border, members = border, [(len(left), core)] if left else [], {core} if left else set()
                end += block
        return self.placed

    def _pairs(self, node: int) -> dict[int, int]:
        """The unplaced pairs of a node, by neighbour."""
        found = self.unplaced[node]
        if found is None:
            at = slice(self.start[node], self.start[node + 1])
            found = self.unplaced[node] = dict(zip(self.other[at], self.pair[at], strict=True))
        return found

    def _next(self, border: list[tuple[int, int]], before: list[tuple[int, int]], members: set[int]) -> int:
        """The node to close: out of the border, else out of the last block's, else any with pairs left."""
        while border:
            count, node = heappop(border)
            if len(self._pairs(node)) == count:
                return node
        while before:
            count, node = heappop(before)
            if node not in members and len(self._pairs(node)) == count:
                return node
        return next(node for node in self.unmet if self._pairs(node))

    def _close(self, core: int, members: set[int], border: list[tuple[int, int]], end: int) -> None:
        """Takes in the neighbours of `core` until they are all members or the block is full."""
        for node in list(self._pairs(core)):
            own = self._pairs(node)
            inside = [other for other in own if other in members][: end - len(self.placed)]
            members.add(node)
            for other in inside:
                self.placed.append(own.pop(other))
                left = self._pairs(other)
                del left[node]
                if left and other != core:
                    heappush(border, (len(left), other))
            if own:
                heappush(border, (len(own), node))
            if len(self.placed) >= end:
                return
