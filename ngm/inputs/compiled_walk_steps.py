"""The steps of `ngm.inputs.walk_steps`, compiled by numba: the same draws and the same walks.

A block of walks goes step by step together, so that the processor waits for the memory of many of them at once. Nothing
here allocates or touches Python, so blocks run on as many threads as there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled, inlined, mix
from ngm._splitmix import COIN_BITS, GOLDEN, POINT_BITS, Draws, Ints

Layout = tuple[Ints, NDArray[np.int32], NDArray[np.uint32], NDArray[np.int32]]

_BLOCK = 64
_GOLDEN, _32 = np.uint64(GOLDEN), np.uint64(32)
_POINT, _TO_POINT, _COIN = np.uint64(POINT_BITS), np.uint64(64 - POINT_BITS), np.uint64((1 << COIN_BITS) - 1)


@inlined
def _entry(
    draw: np.uint64, first: np.int64, degree: np.int64, ends: NDArray[np.uint32], guide: NDArray[np.int32]
) -> np.int64:
    """The entry that a draw leads to, in the row of `degree` entries that starts at `first`."""
    if len(ends) == 0:  # all weights alike
        return first + np.int64(((draw >> _32) * np.uint64(degree)) >> _32)
    point = draw >> _TO_POINT
    entry = first + np.int64(guide[first + np.int64((point * np.uint64(degree)) >> _POINT)])
    while ends[entry] <= point:
        entry += 1
    return entry


@inlined
def _joined(offsets: Ints, neighbors: NDArray[np.int32], a: np.int64, b: np.int64) -> bool:
    """Whether b is in the row of a, which is sorted."""
    low, high = offsets[a], offsets[a + 1]
    while low < high:
        middle = (low + high) >> 1
        if neighbors[middle] < b:
            low = middle + 1
        else:
            high = middle
    return bool(low < offsets[a + 1] and neighbors[low] == b)


@compiled
def first_order(walks: Ints, streams: Draws, start: int, stop: int, layout: Layout) -> None:
    """Fills rows `start` to `stop` of walks (b, length + 1), whose first column is there."""
    offsets, neighbors, ends, guide = layout
    for low in range(start, stop, _BLOCK):
        for step in range(walks.shape[1] - 1):
            for i in range(low, min(low + _BLOCK, stop)):
                node = walks[i, step]
                first, degree = offsets[node], offsets[node + 1] - offsets[node]
                if degree == 0:
                    walks[i, step + 1] = node
                    continue
                streams[i] += _GOLDEN
                walks[i, step + 1] = neighbors[_entry(mix(streams[i]), first, degree, ends, guide)]


@compiled
def second_order(
    walks: Ints,
    streams: Draws,
    start: int,
    stop: int,
    layout: Layout,
    return_threshold: np.uint64,
    near_threshold: np.uint64,
    far_threshold: np.uint64,
    symmetric: bool,
) -> None:
    """The same, where a proposal is taken if its coin is below the threshold of its kind of node."""
    offsets, neighbors, ends, guide = layout
    # coins that decide without a search in a row
    accept_below, reject_from = min(near_threshold, far_threshold), max(near_threshold, far_threshold)
    for low in range(start, stop, _BLOCK):
        for step in range(walks.shape[1] - 1):
            for i in range(low, min(low + _BLOCK, stop)):
                node, previous = walks[i, step], walks[i, max(step - 1, 0)]
                first, degree = offsets[node], offsets[node + 1] - offsets[node]
                proposal = node
                while degree > 0:
                    streams[i] += _GOLDEN
                    draw = mix(streams[i])
                    proposal = neighbors[_entry(draw, first, degree, ends, guide)]
                    coin = draw & _COIN
                    if step == 0:
                        break
                    if proposal == previous:
                        threshold = return_threshold
                    elif coin < accept_below or coin >= reject_from:
                        threshold = accept_below
                    elif (
                        symmetric
                        and offsets[proposal + 1] - offsets[proposal] < offsets[previous + 1] - offsets[previous]
                    ):
                        threshold = near_threshold if _joined(offsets, neighbors, proposal, previous) else far_threshold
                    else:
                        threshold = near_threshold if _joined(offsets, neighbors, previous, proposal) else far_threshold
                    if coin < threshold:
                        break
                walks[i, step + 1] = proposal
