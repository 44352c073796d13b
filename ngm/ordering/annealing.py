"""Blocks of edges, improved move by move: simulated annealing of a vertex cut. Compiled.

What is counted is, for each node, the number of blocks that it has edges in. A move takes one edge, or all edges that a
node has in a block, to another block of one of its ends, if that has room; it is made if the count does not rise, and
now and then if it rises by a little, the less often the further the annealing has come.

Each node has a list of its blocks and of its edges in each. Lists are short, 1.3 blocks a node on citation graphs, so
they are searched from the front. Nodes and edges should be numbered so that neighbours have near numbers: then a round
over all edges stays in the processor's caches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ngm._compiled import below, compiled, mix
from ngm._splitmix import GOLDEN, Draws
from ngm.ordering.adjacency import Ids, Nodes

_GOLDEN, _32 = np.uint64(GOLDEN), np.uint64(32)
_SMALL_GROUP = 8  # edges that a node takes along in one move
_WORST = 3  # moves that raise the count by more are never made


class NodeBlocks(NamedTuple):
    """The blocks that each node has edges in.

    Args:
        start: (n + 1,) from `row_starts`: where the list of each node begins.
        length: (n,) blocks in each list.
        block: (2m,) the blocks.
        edges: (2m,) edges of the node in each.
        size: (k,) edges in each block.
    """

    start: Ids
    length: Nodes
    block: Nodes
    edges: Nodes
    size: Ids


@compiled
def _find(lists: NodeBlocks, node: int, block: int) -> int:
    """Where the block is in the list of a node; -1 where it is not."""
    for at in range(lists.start[node], lists.start[node] + lists.length[node]):
        if lists.block[at] == block:
            return at
    return np.int64(-1)


@compiled
def _add(lists: NodeBlocks, node: int, block: int) -> None:
    """One more edge of a node in a block."""
    at = _find(lists, node, block)
    if at < 0:
        at = lists.start[node] + lists.length[node]
        lists.block[at], lists.edges[at] = block, 0
        lists.length[node] += 1
    lists.edges[at] += 1


@compiled
def _shift(lists: NodeBlocks, node: int, at: int, to: int, block: int) -> None:
    """One edge of a node goes from the block at place `at` of its list to `block`, which is at `to`, or nowhere."""
    if to >= 0:
        lists.edges[to] += 1
        lists.edges[at] -= 1
        if lists.edges[at] == 0:
            last = lists.start[node] + lists.length[node] - 1
            lists.block[at], lists.edges[at] = lists.block[last], lists.edges[last]
            lists.length[node] -= 1
    elif lists.edges[at] == 1:
        lists.block[at] = block
    else:
        lists.edges[at] -= 1
        end = lists.start[node] + lists.length[node]
        lists.block[end], lists.edges[end] = block, 1
        lists.length[node] += 1


@compiled
def fill(low: Nodes, high: Nodes, block_of: Nodes, lists: NodeBlocks) -> None:
    """Enters edges whose blocks are known into empty lists."""
    for e in range(len(low)):
        lists.size[block_of[e]] += 1
        _add(lists, low[e], block_of[e])
        _add(lists, high[e], block_of[e])


@compiled
def place(low: Nodes, high: Nodes, part: Nodes, capacity: int, lists: NodeBlocks, stream: Draws) -> Nodes:
    """(m,) the block of each edge, by the parts of its ends; enters them into empty lists.

    An edge within a part goes there. Others go to the part of an end that has the other end in it already, or else to
    that of the end with fewer edges; where a block is full, to any other block of an end; at last, to any with room.

    Args:
        low: (m,) one end of each edge.
        high: (m,) the other end.
        part: (n,) part of each node.
        capacity: Edges that a block may have; all blocks together have room for all edges.
        lists: Empty.
        stream: (1,) state of the random numbers.
    """
    block_of, size = np.full(len(low), -1, dtype=np.int32), lists.size
    for step in range(3):
        for e in range(len(low)):
            if block_of[e] >= 0:
                continue
            u, v = low[e], high[e]
            a, b, chosen = part[u], part[v], np.int32(-1)
            if step == 0:
                if a == b and size[a] < capacity:
                    chosen = a
            elif step == 1:
                if size[a] >= capacity or size[b] >= capacity:
                    chosen = a if size[a] < capacity else b if size[b] < capacity else np.int32(-1)
                else:
                    v_in_a, u_in_b = _find(lists, v, a) >= 0, _find(lists, u, b) >= 0
                    fewer = lists.start[u + 1] - lists.start[u] <= lists.start[v + 1] - lists.start[v]
                    chosen = a if (v_in_a if v_in_a != u_in_b else fewer) else b
            else:
                chosen = _with_room(lists, u, v, capacity, stream)
            if chosen >= 0:
                block_of[e] = chosen
                size[chosen] += 1
                _add(lists, u, chosen)
                _add(lists, v, chosen)
    return block_of


@compiled
def _with_room(lists: NodeBlocks, u: int, v: int, capacity: int, stream: Draws) -> int:
    """A block with room: one of both ends, or else of one, or else any."""
    chosen = np.int32(-1)
    for node in (u, v):
        for at in range(lists.start[node], lists.start[node] + lists.length[node]):
            block = lists.block[at]
            if lists.size[block] < capacity:
                if _find(lists, u + v - node, block) >= 0:
                    return block
                chosen = block
    k = len(lists.size)
    block = np.int32(below(stream, k))
    while chosen < 0:
        if lists.size[block] < capacity:
            chosen = block
        block = np.int32((block + 1) % k)
    return chosen


@compiled
def _other_block(lists: NodeBlocks, node: int, draw: int) -> int:
    """A block of a node, the more likely the more edges it has there."""
    at = lists.start[node]
    left = np.int64((draw * np.uint64(lists.start[node + 1] - at)) >> _32)
    while left >= lists.edges[at]:
        left -= lists.edges[at]
        at += 1
    return lists.block[at]


@compiled
def move_edges(
    low: Nodes, high: Nodes, block_of: Nodes, capacity: int, lists: NodeBlocks, chance: Draws, stream: Draws
) -> None:
    """One round over all edges, each offered another block of one of its ends.

    Args:
        low: (m,) one end of each edge.
        high: (m,) the other end.
        block_of: (m,) the block of each edge; changed in place.
        capacity: Edges that a block may have.
        lists: Of the nodes; changed in place.
        chance: (4,) of 2^32, how often a move is made that raises the count by 0, 1, 2, 3.
        stream: (1,) state of the random numbers.
    """
    for e in range(len(low)):
        stream[0] += _GOLDEN
        draw = mix(stream[0])
        u, v = low[e], high[e]
        node = u if draw & np.uint64(1) else v
        if lists.length[node] == 1:
            continue
        a, b = block_of[e], _other_block(lists, node, draw >> _32)
        if a == b or lists.size[b] >= capacity or lists.size[a] == 1:
            continue
        u_at, v_at, u_to, v_to = _find(lists, u, a), _find(lists, v, a), _find(lists, u, b), _find(lists, v, b)
        rise = int(u_to < 0) + int(v_to < 0) - int(lists.edges[u_at] == 1) - int(lists.edges[v_at] == 1)
        if rise > 0 and np.uint64(below(stream, 1 << 32)) >= chance[rise]:
            continue
        block_of[e] = b
        lists.size[a] -= 1
        lists.size[b] += 1
        _shift(lists, u, u_at, u_to, b)
        _shift(lists, v, v_at, v_to, b)


@compiled
def move_nodes(
    low: Nodes,
    high: Nodes,
    edge: Nodes,
    block_of: Nodes,
    capacity: int,
    lists: NodeBlocks,
    chance: Draws,
    stream: Draws,
) -> None:
    """One round over all nodes, each offered to leave one of its blocks with all its edges for another of its blocks.

    Args:
        low: (m,) one end of each edge.
        high: (m,) the other end.
        edge: (2m,) from `rows_of_edges`.
        block_of: (m,) the block of each edge; changed in place.
        capacity: Edges that a block may have.
        lists: Of the nodes; changed in place.
        chance: See `move_edges`.
        stream: (1,) state of the random numbers.
    """
    for node in range(len(lists.length)):
        if lists.length[node] < 2:
            continue
        first = lists.start[node] + below(stream, lists.length[node])
        a, group = lists.block[first], lists.edges[first]
        stream[0] += _GOLDEN
        b = _other_block(lists, node, mix(stream[0]) >> _32)
        if a == b or group > _SMALL_GROUP or lists.size[b] + group > capacity or lists.size[a] == group:
            continue
        rise, at, seen = -1, lists.start[node], 0
        while seen < group:
            e = edge[at]
            if block_of[e] == a:
                other = low[e] + high[e] - node
                rise += int(_find(lists, other, b) < 0) - int(lists.edges[_find(lists, other, a)] == 1)
                seen += 1
            at += 1
        if rise > 0 and (rise > _WORST or np.uint64(below(stream, 1 << 32)) >= chance[rise]):
            continue
        at, seen = lists.start[node], 0
        while seen < group:
            e = edge[at]
            if block_of[e] == a:
                other = low[e] + high[e] - node
                block_of[e] = b
                _shift(lists, other, _find(lists, other, a), _find(lists, other, b), b)
                _shift(lists, np.int32(node), _find(lists, node, a), _find(lists, node, b), b)
                seen += 1
            at += 1
        lists.size[a] -= group
        lists.size[b] += group
