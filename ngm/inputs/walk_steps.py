"""How many walks take their steps at once: first-order walks, and node2vec's, which also look back.

Every walk draws from a stream of its own (SplitMix64), one number of 64 bits for a proposal: the upper bits choose an
edge in proportion to its weight, the lower 32 bits are a coin. A first-order walk takes the proposal. A walk of
Grover and Leskovec (2016) that came to v from t takes it with chance f / max f, where f is 1/p for t itself, 1 for
nodes that t is joined to and 1/q for the others; else it draws again. That is their law exactly, without a table for
each pair of edges.

There are two forms with the same draws, and so the same walks: numpy here, and numba in `compiled_walk_steps`, which
is used where numba is installed (benchmarks/walks.py has both).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray

from ngm._splitmix import COIN_BITS, GOLDEN, POINT_BITS, Draws, Ints, mix
from ngm.graph import Graph

_WALKS_AT_ONCE = 4096  # a thread's portion


class Steps:
    """The edges out of each node, laid out for drawing.

    Args:
        graph: Edges are walked both ways, or along their direction where the graph is directed. An edge of weight 0 is
            never taken.
    """

    def __init__(self, graph: Graph) -> None:
        self.symmetric = not graph.directed
        offsets, neighbors, edge = (part.numpy() for part in graph.csr)
        weight = graph.weight.numpy()[edge]
        if len(weight) and weight.min() == 0:
            positive = weight > 0
            offsets = np.concatenate([[0], np.cumsum(positive)])[offsets]
            neighbors, weight = neighbors[positive], weight[positive]
        self.offsets: Ints = offsets
        self.neighbors = neighbors.astype(np.int32 if graph.num_nodes < 2**31 else np.int64)
        uniform = not len(weight) or weight.min() == weight.max()
        self.ends = np.zeros(0, dtype=np.uint32) if uniform else self._ends(weight.astype(np.float64))
        self.guide = np.zeros(0, dtype=np.int32) if uniform else self._guide()

    def walk(self, walks: Ints, streams: Draws, p: float = 1.0, q: float = 1.0) -> None:
        """Fills walks (b, length + 1) from their first column on; row i draws from `streams[i]`."""
        kernels = _kernels()
        highest = max(1 / p, 1.0, 1 / q)
        coins = [np.uint64(round(f / highest * 2**COIN_BITS)) for f in (1 / p, 1.0, 1 / q)]  # back, near, far
        if kernels is None:
            self._walk(walks, streams, None if p == q == 1 else coins)
            return
        layout = (self.offsets, self.neighbors, self.ends, self.guide)

        def portion(start: int) -> None:
            stop = min(start + _WALKS_AT_ONCE, len(walks))
            if p == q == 1:
                kernels.first_order(walks, streams, start, stop, layout)
            else:
                kernels.second_order(walks, streams, start, stop, layout, *coins, self.symmetric)

        with ThreadPoolExecutor(torch.get_num_threads()) as threads:
            list(threads.map(portion, range(0, len(walks), _WALKS_AT_ONCE)))

    def _walk(self, walks: Ints, streams: Draws, coins: list[np.uint64] | None) -> None:
        """The same by numpy: all walks take a step, and those that refused it draw again."""
        previous = np.full(len(walks), -1)
        for step in range(walks.shape[1] - 1):
            nodes = walks[:, step]
            proposals = nodes.copy()
            moving = np.flatnonzero(self.offsets[nodes + 1] > self.offsets[nodes])
            while len(moving):
                streams[moving] += np.uint64(GOLDEN)
                draw = mix(streams[moving])
                proposals[moving] = self._propose(nodes[moving], draw)
                if coins is None or step == 0:
                    break
                moving = moving[~self._accepted(previous[moving], proposals[moving], draw, coins)]
            walks[:, step + 1] = proposals
            previous = nodes

    def _propose(self, nodes: Ints, draw: Draws) -> Ints:
        """(b,) neighbors of nodes `nodes` (b,), all of which have some."""
        first = self.offsets[nodes]
        if len(self.ends):
            point = (draw >> np.uint64(64 - POINT_BITS)).astype(np.int64)
            entry: Ints = np.searchsorted(self._line, (nodes << 32) + point, side="right")
        else:
            degree = (self.offsets[nodes + 1] - first).astype(np.uint64)
            entry = first + (((draw >> np.uint64(32)) * degree) >> np.uint64(32)).astype(np.int64)
        return self.neighbors[entry].astype(np.int64)

    def _accepted(self, previous: Ints, proposals: Ints, draw: Draws, coins: list[np.uint64]) -> NDArray[np.bool_]:
        """(b,) whether walks that came from `previous` take the step to `proposals`."""
        return_threshold, near_threshold, far_threshold = coins
        key = previous * (len(self.offsets) - 1) + proposals
        place = np.minimum(np.searchsorted(self._pairs, key), len(self._pairs) - 1)
        threshold = np.where(self._pairs[place] == key, near_threshold, far_threshold)
        threshold[proposals == previous] = return_threshold
        return (draw & np.uint64(2**COIN_BITS - 1)) < threshold

    def _ends(self, weight: NDArray[np.float64]) -> NDArray[np.uint32]:
        """Where the stretch of each entry ends, when the row of each node is a line of 2**POINT_BITS points."""
        total = np.bincount(self._rows, weight, minlength=len(self.offsets) - 1)
        # shares, not weights, are summed up: every row has length 1, however small its weights
        summed = np.concatenate([[0.0], np.cumsum(weight / total[self._rows])])
        share = summed[1:] - summed[self.offsets[:-1]][self._rows]
        ends: NDArray[np.uint32] = np.rint(np.clip(share, 0, 1) * 2**POINT_BITS).astype(np.uint32)
        ends[self.offsets[1:][np.diff(self.offsets) > 0] - 1] = 2**POINT_BITS  # whatever rounding did
        return ends

    def _guide(self) -> NDArray[np.int32]:
        """For a row of k entries and each of k equal parts of its line: the entry, within the row, where it begins."""
        first, degree = self.offsets[:-1][self._rows], np.diff(self.offsets)[self._rows]
        part = np.arange(len(self.neighbors)) - first
        point = -(-(part << POINT_BITS) // degree)
        return (np.searchsorted(self._line, (self._rows << 32) + point, side="right") - first).astype(np.int32)

    @cached_property
    def _rows(self) -> Ints:
        """(m,) the node that each entry belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def _line(self) -> Ints:
        """(m,) ends of all rows, one row after the other."""
        line: Ints = np.add(self._rows << 32, self.ends, dtype=np.int64)
        return line

    @cached_property
    def _pairs(self) -> Ints:
        """(m,) all entries as one number each, ascending."""
        pairs: Ints = np.add(self._rows * (len(self.offsets) - 1), self.neighbors, dtype=np.int64)
        return pairs


def _kernels() -> ModuleType | None:
    """The compiled steps, or nothing where numba is not installed or has no place to keep what it compiled."""
    try:
        from ngm.inputs import compiled_walk_steps
    except (ImportError, RuntimeError):
        return None
    return compiled_walk_steps
