"""Neighbourhood expansion (Zhang et al., KDD 2017), started anew for every block; compiled.

For graphs so dense that a block is less than the neighbourhood of a node, where parts of nodes make no sense.
"""

from __future__ import annotations

import numpy as np

from ngm._compiled import compiled, shuffled
from ngm._splitmix import Draws
from ngm.ordering.adjacency import Ids, Nodes

_NODE_BITS = 32


@compiled
def _push(heap: Ids, size: int, key: int) -> None:
    """Adds to a heap of `size` entries, the smallest first."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if heap[above] <= key:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = key


@compiled
def _pop(heap: Ids, size: int) -> int:
    """Takes the smallest entry out of a heap of `size`."""
    top, key = heap[0], heap[size - 1]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size - 1:
            break
        if below + 1 < size - 1 and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= key:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = key
    return top


@compiled
def expand(low: Nodes, high: Nodes, start: Ids, edge: Nodes, block: int, stream: Draws) -> Nodes:
    """(m,) the block of each edge: `block` of them in each but the last.

    The member with the fewest edges left is closed next: its neighbours become members, and every edge between members
    is placed. After `block` edges a new set of members starts where the last one ended.

    Args:
        low: (m,) one end of each edge.
        high: (m,) the other end.
        start: (n + 1,) from `row_starts`.
        edge: (2m,) from `rows_of_edges`; is reordered.
        block: Edges of a block.
        stream: (1,) state of the random numbers, which choose where to start.
    """
    m, n = len(low), len(start) - 1
    block_of, member = np.full(m, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    length, left = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)  # of each row: entries, edges not placed
    for node in range(n):
        length[node] = left[node] = start[node + 1] - start[node]
    heap, before, order = np.empty(2 * block + 4, np.int64), np.empty(2 * block + 4, np.int64), shuffled(n, stream)
    heap_size, before_size, unmet, placed, current = 0, 0, 0, 0, np.int32(0)
    while placed < m:
        core = _next(heap, heap_size, left, member, np.int32(-1))
        heap_size, node = core >> _NODE_BITS, core & ((1 << _NODE_BITS) - 1)
        if node == n:
            core = _next(before, before_size, left, member, current)
            before_size, node = core >> _NODE_BITS, core & ((1 << _NODE_BITS) - 1)
        while node == n:
            if left[order[unmet]] > 0:
                node = order[unmet]
            else:
                unmet += 1
        member[node] = current
        end = (current + 1) * block if (current + 1) * block < m else m
        row, kept = start[node], 0
        for at in range(row, row + length[node]):  # the row loses what has been placed
            if block_of[edge[at]] < 0:
                edge[row + kept] = edge[at]
                kept += 1
        length[node] = kept
        for at in range(row, row + kept):
            if placed >= end:
                break
            if block_of[edge[at]] >= 0:
                continue
            other = low[edge[at]] + high[edge[at]] - node
            placed, heap_size = _join(
                other,
                node,
                low,
                high,
                start,
                edge,
                block_of,
                member,
                length,
                left,
                heap,
                heap_size,
                placed,
                current,
                end,
            )
        if placed >= end:
            heap, before = before, heap
            before_size, heap_size = heap_size, 0
            current += 1
            if left[node] > 0:
                member[node] = current
                _push(heap, 0, (np.int64(left[node]) << _NODE_BITS) | node)
                heap_size = 1
    return block_of


@compiled
def _next(heap: Ids, size: int, left: Nodes, member: Nodes, members_of: int) -> int:
    """(entries left in the heap, node) as one number; the node n where none is left. Stale entries are thrown away.

    Args:
        heap: Of (edges left, node).
        size: Its entries.
        left: (n,) edges of each node that are not placed.
        member: (n,) the last block that a node was a member of.
        members_of: Members of this block are passed over; -1 for none.
    """
    while size > 0:
        entry = _pop(heap, size)
        size -= 1
        node = entry & ((1 << _NODE_BITS) - 1)
        if left[node] == entry >> _NODE_BITS and left[node] > 0 and (members_of < 0 or member[node] != members_of):
            return (np.int64(size) << _NODE_BITS) | node
    return np.int64(len(left))


@compiled
def _join(
    node: int,
    core: int,
    low: Nodes,
    high: Nodes,
    start: Ids,
    edge: Nodes,
    block_of: Nodes,
    member: Nodes,
    length: Nodes,
    left: Nodes,
    heap: Ids,
    heap_size: int,
    placed: int,
    current: int,
    end: int,
) -> tuple[int, int]:
    """Makes a node a member and places its edges to other members: (edges placed so far, entries of the heap)."""
    row, kept = start[node], 0
    for at in range(row, row + length[node]):
        e = edge[at]
        if block_of[e] >= 0:
            continue
        other = low[e] + high[e] - node
        if member[other] == current and placed < end:
            block_of[e] = current
            placed += 1
            left[node] -= 1
            left[other] -= 1
            if left[other] > 0 and other != core:
                _push(heap, heap_size, (np.int64(left[other]) << _NODE_BITS) | other)
                heap_size += 1
        else:
            edge[row + kept] = e
            kept += 1
    length[node] = kept
    member[node] = current
    if left[node] > 0:
        _push(heap, heap_size, (np.int64(left[node]) << _NODE_BITS) | node)
        heap_size += 1
    return placed, heap_size
