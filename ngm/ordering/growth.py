"""Parts of nodes, grown one after the other: each has about as many ends of edges as the others. Compiled.

A part takes in the node most of whose edges lead into it, until it is full; the next one starts at the border of the
last, so that what is left never falls into pieces. A few rounds then move nodes to the part with most of their
neighbours, where there is room.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled, shuffled
from ngm._splitmix import Draws
from ngm.ordering.adjacency import Nodes
from ngm.ordering.coarsening import WeightedGraph


@compiled
def _push(keys: NDArray[np.float32], nodes: Nodes, size: int, key: float, node: int) -> None:
    """Adds to a heap of `size` entries, the largest key first."""
    at = size
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] >= key:
            break
        keys[at], nodes[at] = keys[above], nodes[above]
        at = above
    keys[at], nodes[at] = key, node


@compiled
def _pop(keys: NDArray[np.float32], nodes: Nodes, size: int) -> int:
    """Takes the node with the largest key out of a heap of `size` entries."""
    top, key, node = nodes[0], keys[size - 1], nodes[size - 1]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size - 1:
            break
        if below + 1 < size - 1 and keys[below + 1] > keys[below]:
            below += 1
        if keys[below] <= key:
            break
        keys[at], nodes[at] = keys[below], nodes[below]
        at = below
    keys[at], nodes[at] = key, node
    return top


@compiled
def grow(graph: WeightedGraph, num_parts: int, stream: Draws) -> Nodes:
    """(n,) the part of each node.

    Args:
        graph: The nodes.
        num_parts: Number of parts.
        stream: (1,) state of the random numbers, which choose where to start.
    """
    start, neighbor, weight, size = graph
    n, total = len(size), size.sum()
    part, links = np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=np.int64)
    for node in range(n):
        links[node] = weight[start[node] : start[node + 1]].sum()
    inside, placed = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)  # weight into this part, into all so far
    keys, nodes = np.empty(len(neighbor) + 2, dtype=np.float32), np.empty(len(neighbor) + 2, dtype=np.int32)
    border, order = np.empty(n, dtype=np.int32), shuffled(n, stream)
    heap_size, border_size, unmet, current, ends = 0, 0, 0, 0, np.int64(0)
    for _ in range(n):
        node = np.int32(-1)
        while heap_size > 0 and node < 0:
            node = _pop(keys, nodes, heap_size)
            heap_size -= 1
            if part[node] >= 0:
                node = np.int32(-1)
        if node < 0:
            while part[order[unmet]] >= 0:
                unmet += 1
            node = order[unmet]
        part[node] = current
        ends += size[node]
        for at in range(start[node], start[node + 1]):
            other = neighbor[at]
            if part[other] < 0:
                if inside[other] == 0:
                    border[border_size] = other
                    border_size += 1
                inside[other] += weight[at]
                placed[other] += weight[at]
                _push(keys, nodes, heap_size, np.float32(inside[other] / links[other]), other)
                heap_size += 1
        if current < num_parts - 1 and ends * num_parts >= total * (current + 1):
            first, best = np.int32(-1), -1.0
            for i in range(border_size):
                other = border[i]
                inside[other] = 0
                if part[other] < 0 and placed[other] / links[other] > best:
                    first, best = other, placed[other] / links[other]
            heap_size, border_size = 0, 0
            if first >= 0:
                _push(keys, nodes, 0, np.float32(1.0), first)
                heap_size = 1
            current += 1
    return part


@compiled
def refine(graph: WeightedGraph, part: Nodes, num_parts: int, capacity: int, rounds: int) -> None:
    """Moves nodes, in place, to the part with most of their edges, where it has room.

    Args:
        graph: The nodes.
        part: (n,) the part of each node.
        num_parts: Number of parts.
        capacity: Ends of edges that a part may have. A part that has more gives nodes away, whatever it costs.
        rounds: How often every node is looked at.
    """
    start, neighbor, weight, size = graph
    filled, links = np.zeros(num_parts, dtype=np.int64), np.zeros(num_parts, dtype=np.int64)
    near = np.empty(num_parts, dtype=np.int32)
    for node in range(len(part)):
        filled[part[node]] += size[node]
    for _ in range(rounds):
        moved = 0
        for node in range(len(part)):
            own, count = part[node], 0
            for at in range(start[node], start[node + 1]):
                there = part[neighbor[at]]
                if links[there] == 0:
                    near[count] = there
                    count += 1
                links[there] += weight[at]
            best, most = own, np.int64(-1) if filled[own] > capacity else links[own]
            for i in range(count):
                there = near[i]
                if there != own and links[there] > most and filled[there] + size[node] <= capacity:
                    best, most = there, links[there]
                links[there] = 0
            if best != own:
                part[node] = best
                filled[own] -= size[node]
                filled[best] += size[node]
                moved += 1
        if moved == 0:
            break
