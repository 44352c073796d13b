"""Searches by several processes: each has all rows to be found, and looks for the neighbors of its share of them."""

from __future__ import annotations

from torch import Tensor

from ngm.distributed import gather_rows, rank_and_world


def share_of(rows: Tensor, chunk: int) -> Tensor:
    """The rows that this process looks at: whole chunks, so that each is searched as one process searches it.

    Args:
        rows: (n,) of all processes; where they are fewer than a chunk for each, chunks are smaller.
        chunk: Rows that are searched together.
    """
    rank, world = rank_and_world()
    size = max(1, min(chunk, -(-len(rows) // world)))
    count = -(-len(rows) // size)
    start, stop = (count * i // world * size for i in (rank, rank + 1))
    return rows[start:stop]


def gather_shares(similarity: Tensor, neighbor: Tensor) -> tuple[Tensor, Tensor]:
    """What all processes found for their shares, in the order of the rows.

    Args:
        similarity: (r, k) of this process' share.
        neighbor: (r, k) likewise.
    """
    return gather_rows(similarity), gather_rows(neighbor)
