"""Cuts edges into blocks that have few distinct ends.

Parts of nodes are grown (`coarsening`, `growth`), an edge goes to the part of one of its ends, and the blocks that come
of it are improved by annealing (`annealing`). On dense graphs neighbourhood expansion (`expansion`) is tried as well,
and the better of the two is taken. All of it is compiled, some microseconds an edge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ngm.ordering.annealing import NodeBlocks
    from ngm.ordering.coarsening import WeightedGraph

Ids = NDArray[np.int64]
Index = NDArray[np.integer]
MAX_NODES = 2**31 - 1
SPARE_BLOCKS = 0.02  # blocks beyond the least number, so that edges have room to move
PROPOSALS = 6_000_000  # moves tried on graphs that are not large; at least MIN_ROUNDS and at most MAX_ROUNDS per edge
MIN_ROUNDS, MAX_ROUNDS = 8, 150
LEVELS = (32, 8)  # clusters are at most these fractions of a block
CLUSTER_ROUNDS, REFINE_ROUNDS = 4, 3
HOT, COLD = 0.2, 0.12  # temperatures: a move that costs a run is made with chance exp(-1 / temperature)
DENSE = 3.0  # runs per node beyond which expansion is tried


@dataclass(frozen=True, eq=False)
class EdgeBlocks:
    """Edges in an order in which blocks of consecutive ones are neighbourhoods.

    Args:
        order: (m,) permutation of the edges.
        start: (k + 1,) where each block begins in it, and the end of the last.
    """

    order: Index
    start: Ids

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, block: int) -> Ids:
        """(b,) the edges of a block."""
        if not 0 <= block < len(self):
            raise IndexError(f"block is {block}, but there are {len(self)}")
        return self.order[self.start[block] : self.start[block + 1]].astype(np.int64)


def num_blocks(num_edges: int, block: int) -> int:
    """How many blocks of at most `block` edges there are: a few percent more than would hold them all.

    >>> num_blocks(1000, 10), num_blocks(1001, 500), num_blocks(0, 5)
    (102, 3, 0)
    """
    least = -(-num_edges // block)
    return min(least + int(least * SPARE_BLOCKS), num_edges)


def edge_blocks(edges: Ids, num_nodes: int, seed: int, block: int, count: int | None = None) -> EdgeBlocks:
    """Cuts edges into blocks with few distinct ends.

    Args:
        edges: (m, 2) node ids, no self loops; the same pair may occur more than once (in two graphs, say).
        num_nodes: Number of nodes.
        seed: Other seeds give other blocks, of the same quality.
        block: The most edges of a block.
        count: Number of blocks, `num_blocks` where not given; none is empty if there are as many edges.

    >>> blocks = edge_blocks(np.array([[0, 1], [2, 3], [0, 4], [2, 5]]), 6, seed=0, block=2)
    >>> sorted(sorted(blocks[i].tolist()) for i in range(len(blocks)))
    [[0, 2], [1, 3]]
    """
    m = len(edges)
    count = num_blocks(m, block) if count is None else count
    if block * count < m:
        raise ValueError(f"{count} blocks of {block} edges have no room for {m} edges; give more blocks")
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise ValueError(f"edge {loops[0]} is {edges[loops[0]].tolist()}, a self loop; leave such edges out")
    index = np.uint32 if m <= np.iinfo(np.uint32).max else np.int64
    if count <= 1 or not m:
        return EdgeBlocks(np.arange(m).astype(index), np.array([0] + [m] * count, dtype=np.int64))
    if num_nodes > min(MAX_NODES, 4 * m):  # then only nodes with edges are numbered
        present, place = np.unique(edges, return_inverse=True)
        edges, num_nodes = place.reshape(-1, 2), len(present)
    order, block_of = _cut(
        edges.min(axis=1).astype(np.int32), edges.max(axis=1).astype(np.int32), num_nodes, seed, block, count
    )
    by_block = np.argsort(block_of, kind="stable")
    start = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(block_of, minlength=count), out=start[1:])
    return EdgeBlocks(order[by_block].astype(index), start)


def _cut(
    low: NDArray[np.int32], high: NDArray[np.int32], num_nodes: int, seed: int, block: int, count: int
) -> tuple[Ids, NDArray[np.int32]]:
    """((m,) edges ordered so that neighbours are near, (m,) the block of each in that order)."""
    from ngm.ordering.adjacency import row_starts, rows_of_edges
    from ngm.ordering.annealing import NodeBlocks, fill, place
    from ngm.ordering.coarsening import graph_of
    from ngm.ordering.expansion import expand

    stream = np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
    start = row_starts(low, high, num_nodes)
    part = _parts(graph_of(low, high, start), block, count, stream)
    by_part = np.argsort(part, kind="stable")
    number = np.empty(num_nodes, dtype=np.int32)
    number[by_part] = np.arange(num_nodes, dtype=np.int32)
    low, high = number[low], number[high]
    order = np.argsort(np.minimum(low, high), kind="stable")
    low, high, part = low[order], high[order], part[by_part]
    start = row_starts(low, high, num_nodes)
    edge = rows_of_edges(low, high, start)

    def empty() -> NodeBlocks:
        length, size = np.zeros(num_nodes, dtype=np.int32), np.zeros(count, dtype=np.int64)
        return NodeBlocks(start, length, np.empty(len(edge), np.int32), np.empty(len(edge), np.int32), size)

    lists, hot = empty(), HOT
    block_of = place(low, high, part, block, lists, stream)
    runs, nodes = int(lists.length.sum()), int((np.diff(start) > 0).sum())
    if runs > DENSE * nodes:
        expanded, other = expand(low, high, start, edge.copy(), -(-len(low) // count), stream), empty()
        fill(low, high, expanded, other)
        if int(other.length.sum()) < runs:
            lists, block_of, hot = other, expanded, COLD
            runs = int(lists.length.sum())
    rounds = min(max(PROPOSALS // len(low), MIN_ROUNDS), MAX_ROUNDS) * nodes // runs  # a look at a node takes as long
    _anneal(low, high, edge, block_of, block, lists, stream, max(rounds, 1), hot)
    _fill_empty(block_of, lists.size)
    return order, block_of


def _fill_empty(block_of: NDArray[np.int32], size: Ids) -> None:
    """Gives an edge of the largest blocks to each that has none, as far as there are edges."""
    for empty in np.flatnonzero(size == 0).tolist():
        largest = int(size.argmax())
        if size[largest] > 1:
            block_of[np.flatnonzero(block_of == largest)[-1]] = empty
            size[largest] -= 1
            size[empty] = 1


def _parts(
    graph: WeightedGraph, block: int, count: int, stream: NDArray[np.uint64], levels: tuple[int, ...] = LEVELS
) -> NDArray[np.int32]:
    """(n,) the part of each node: clusters of clusters are grown into parts, which are refined level by level."""
    from ngm.ordering.coarsening import clusters, contract
    from ngm.ordering.growth import grow, refine

    if levels:
        label, found = clusters(graph, max(2 * block // levels[0], 1), CLUSTER_ROUNDS)
        part = _parts(contract(graph, label, found), block, count, stream, levels[1:])[label]
    else:
        part = grow(graph, count, stream)
    refine(graph, part, count, 2 * block, REFINE_ROUNDS)
    return part


def _anneal(
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    edge: NDArray[np.int32],
    block_of: NDArray[np.int32],
    block: int,
    lists: NodeBlocks,
    stream: NDArray[np.uint64],
    rounds: int,
    hot: float,
) -> None:
    """Improves blocks in place; the last round makes no move that costs anything."""
    from ngm.ordering.annealing import move_edges, move_nodes

    for number in range(rounds):
        temperature = hot * (COLD / HOT) ** (number / max(rounds - 2, 1))
        costs = [math.exp(-rise / temperature) if number < rounds - 1 else float(rise == 0) for rise in range(4)]
        chance = np.array([cost * 2.0**32 for cost in costs]).astype(np.uint64)
        move_nodes(low, high, edge, block_of, block, lists, chance, stream)
        move_edges(low, high, block_of, block, lists, chance, stream)
