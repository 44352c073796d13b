"""Cuts edges that need not fit into memory into blocks that have few distinct ends.

A streaming partition (`streaming`) puts nodes into parts whose edges fit into memory, and edges go to the part of one
end. Then `edge_blocks` cuts one part after the other as if it were a graph of its own. Memory is some bytes a node and
what the edges of one part take. The neighbours of all nodes, 8 bytes an edge, and the order of the edges, 4 bytes an
edge, are written to files where there is a folder for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ngm.io.scratch import temporary_array
from ngm.ordering.blocks import MAX_NODES, EdgeBlocks, Ids, Index, edge_blocks

PART_EDGES = 1 << 19  # edges that are cut together, at some 100 bytes each
PASSES = 10  # of the streaming partition
SLACK = 1.1  # capacity of a part over its fair share
PENALTY = 0.75  # of a full part, in mean degrees: FENNEL's with gamma = 3/2
PARTS_AT_ONCE = 4  # whose blocks are shuffled together in an epoch
WINDOW = 1 << 28  # neighbours that are written at once, in any order


class EdgeSource(Protocol):
    """Edges that can be read one after the other, and by their numbers."""

    def __len__(self) -> int: ...

    def chunks(self) -> Iterator[tuple[int, Ids]]:
        """(which graph, (b, 2) node ids) of all edges, in the order of their numbers."""

    def ends_of(self, rows: Ids) -> Ids:
        """(b, 2) node ids of the edges with these numbers."""


def order_type(num_edges: int) -> type[np.uint32] | type[np.int64]:
    """The type of an order of so many edges."""
    return np.uint32 if num_edges <= np.iinfo(np.uint32).max else np.int64


def edge_blocks_out_of_core(
    source: EdgeSource, num_nodes: int, block: int, count: int, order: Index | None = None, scratch: Path | None = None
) -> EdgeBlocks:
    """Cuts edges into blocks with few distinct ends, in memory that grows with nodes alone.

    Args:
        source: The edges.
        num_nodes: Number of nodes.
        block: The most edges of a block.
        count: Number of blocks; none is empty if there are as many edges.
        order: (m,) of `order_type`, where the order of the edges is to be written; in memory where not given.
        scratch: Folder for a temporary file of the neighbours; in memory where not given.
    """
    m = len(source)
    if block * count < m:
        raise ValueError(f"{count} blocks of {block} edges have no room for {m} edges; give more blocks")
    if order is None:
        order = np.empty(m, dtype=order_type(m))
    first = _sort_by_part(source, num_nodes, max(min(m // PART_EDGES, count), 1), order, scratch)
    # each part begins at the block that is next to it, so that all blocks together have the room that each needs
    bounds = np.unique(np.rint(first * (count / max(m, 1))).astype(np.int64))
    start = np.zeros(count + 1, dtype=np.int64)
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = order[begin * m // count : end * m // count].astype(np.int64)
        present, place = np.unique(source.ends_of(rows), return_inverse=True)
        cut = edge_blocks(place.reshape(-1, 2), len(present), begin, block, end - begin)
        order[begin * m // count : end * m // count] = rows[cut.order]
        start[begin : end + 1] = begin * m // count + cut.start
    return EdgeBlocks(order, start)


def epoch_order(rng: np.random.Generator, block: int, count: int) -> Ids:
    """(count,) blocks in the order of an epoch: those of a few parts, shuffled, then those of a few others.

    Blocks of a part have nodes in common, whose rows are read from disk once if they come soon after each other.

    Args:
        rng: Draws the order.
        block: The most edges of a block.
        count: Number of blocks.
    """
    size = max(PART_EDGES // block, 1)
    parts = np.array_split(np.arange(count), max(count // size, 1))
    shuffled = rng.permutation(len(parts))
    groups = [shuffled[at : at + PARTS_AT_ONCE] for at in range(0, len(parts), PARTS_AT_ONCE)]
    return np.concatenate([rng.permutation(np.concatenate([parts[i] for i in group])) for group in groups])


def _sort_by_part(source: EdgeSource, num_nodes: int, num_parts: int, order: Index, scratch: Path | None) -> Ids:
    """Writes the numbers of all edges, part by part; (p + 1,) where each part begins, and the end of the last."""
    from ngm.ordering.streaming import count_edges, sort_edges

    start, neighbor = _neighbors(source, num_nodes, scratch)
    part = _parts(start, neighbor, num_parts)
    del neighbor
    size = np.zeros(num_parts, dtype=np.int64)
    for _, ends in source.chunks():
        count_edges(ends, part, start, size)
    first = np.concatenate([[0], np.cumsum(size)])
    place, number = first[:-1].copy(), 0
    for _, ends in source.chunks():
        sort_edges(ends, number, part, start, place, order)
        number += len(ends)
    return first


def _neighbors(source: EdgeSource, num_nodes: int, scratch: Path | None) -> tuple[Ids, NDArray[np.int32]]:
    """((n + 1,) where the neighbours of each node begin, (2m,) the neighbours)."""
    from ngm._neighbor_rows import count_ends, fill_rows

    start = np.zeros(num_nodes + 1, dtype=np.int64)
    for _, ends in source.chunks():
        count_ends(ends, start)
    np.cumsum(start, out=start)
    dtype = np.int32 if num_nodes <= MAX_NODES else np.int64
    neighbor = cast("NDArray[np.int32]", temporary_array(2 * len(source), dtype, scratch))
    windows = np.searchsorted(start, np.arange(WINDOW, start[-1], WINDOW)).tolist()
    for low, high in zip([0, *windows], [*windows, num_nodes], strict=True):
        for _, ends in source.chunks():
            fill_rows(ends, low, high, start, neighbor)
    start[1:] = start[:-1].copy()  # each had moved on to the next
    start[0] = 0
    return start, neighbor


def _parts(start: Ids, neighbor: NDArray[np.int32], num_parts: int) -> NDArray[np.int32]:
    """(n,) the part of each node."""
    from ngm.ordering.streaming import stream_nodes

    num_nodes, ends = len(start) - 1, int(start[-1])
    # to begin with, nodes of near numbers: where those are neighbours, that is much better than no parts at all
    part = np.minimum(start[:-1] * num_parts // max(ends, 1), num_parts - 1).astype(np.int32)
    bounds = np.searchsorted(part, np.arange(num_parts + 1))  # numbers of parts ascend
    load = np.diff(start[bounds])
    capacity, penalty = int(SLACK * ends / num_parts), PENALTY * ends / max(num_nodes, 1)
    for _ in range(PASSES if num_parts > 1 else 0):
        stream_nodes(start, neighbor, part, load, capacity, penalty)
    return part
