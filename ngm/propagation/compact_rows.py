"""Neighbours and weights of a large graph in compressed rows, 8 bytes an entry, in a file that is gone afterwards.

`pull` makes a scipy matrix, which takes 100 bytes an edge on the way. Here the edges are read where they are, counted,
and written where they belong. Of a graph that was opened from its folder, the rows are a memory map of a file without a
name in that folder: pages that the system can take back. Of other graphs they are in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ngm.choices import Influence
from ngm.graph import Graph
from ngm.io.scratch import temporary_array
from ngm.propagation.kernel import largest_entry, weighted_product

WINDOW = 1 << 27  # entries that are written at once, in any order
BLOCK_ENTRIES, BLOCK_ROWS = 1 << 22, 1 << 16  # multiplied together, at most; a longer row is a block
_MAX_NODES = 2**31 - 1


@dataclass(frozen=True, eq=False)
class CompactRows:
    """How strongly each node (row) is pulled by each other node (column).

    Args:
        start: (n + 1,) where each row begins, and the end of the last.
        column: (k,) 32-bit where that suffices.
        weight: (k,).
    """

    start: NDArray[np.int64]
    column: NDArray[np.integer]
    weight: NDArray[np.float32]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """(first, last + 1) of rows that are multiplied together."""
        entries = np.searchsorted(self.start, np.arange(BLOCK_ENTRIES, self.start[-1], BLOCK_ENTRIES))
        bounds = np.unique(np.concatenate([entries, np.arange(0, len(self), BLOCK_ROWS), [len(self)]])).tolist()
        return list(pairwise(bounds))

    def sums(self) -> NDArray[np.float64]:
        """(n,) pull of all neighbours of each node together."""
        sums = np.zeros(len(self))
        for first, last in self.blocks:
            begin, end = self.start[first], self.start[last]
            row = first + np.flatnonzero(np.diff(self.start[first : last + 1]))
            if len(row):
                sums[row] = np.add.reduceat(self.weight[begin:end].astype(np.float64), self.start[row] - begin)
        return sums

    def times(self, z: Tensor, factor: Tensor) -> Tensor:
        """(n, c) row v is `factor[v]` times the sum of its neighbours' rows of z by weight.

        Args:
            z: (n, c).
            factor: (n,).
        """
        out = torch.empty_like(z)
        for first, last in self.blocks:
            begin, end = int(self.start[first]), int(self.start[last])
            column = torch.from_numpy(self.column[begin:end])
            offsets = torch.from_numpy(self.start[first : last + 1] - begin).to(column.dtype)
            weight = torch.from_numpy(self.weight[begin:end]).to(z.dtype)
            sums = F.embedding_bag(column, z, offsets, mode="sum", per_sample_weights=weight, include_last_offset=True)
            torch.mul(sums, factor[first:last, None].to(z.dtype), out=out[first:last])
        return out


class CompactShares:
    """What each node takes from its neighbours, of compact rows: see `JacobiSteps`.

    Args:
        rows: Weights.
        factor: (n,) that the weights of each row are multiplied by.
        total: (n,) as in `Shares`.
    """

    def __init__(self, rows: CompactRows, factor: NDArray[np.float64], total: NDArray[np.float64]) -> None:
        self.rows = rows
        self.factor, self.total = torch.from_numpy(factor), torch.from_numpy(total)

    def __matmul__(self, z: Tensor) -> Tensor:
        """(n, n) @ (n, c) -> (n, c)."""
        return self.rows.times(z, self.factor)

    def product(self, a: Tensor, b: Tensor) -> float:
        """Sum over nodes of total * <a, b>, without a copy of either."""
        parts = (slice(at, at + BLOCK_ROWS) for at in range(0, len(a), BLOCK_ROWS))
        return sum(weighted_product(a[part], b[part], self.total[part]) for part in parts)

    def largest(self, change: Tensor) -> float:
        """Largest absolute entry."""
        return largest_entry(change)


def compact_rows(graph: Graph, influence: Influence = "both") -> CompactRows:
    """The rows of a graph.

    Args:
        graph: Weighted, directed or not.
        influence: On directed graphs, which end pulls the other: "source", "target" or "both".
    """
    from ngm._neighbor_rows import count_ends, fill_rows  # loads numba

    at_first, at_second = (True, True) if not graph.directed else (influence != "source", influence != "target")
    edges, start = graph.edges.numpy(), np.zeros(len(graph) + 1, dtype=np.int64)
    count_ends(edges, start, at_first, at_second)
    np.cumsum(start, out=start)
    column, weight = _empty(int(start[-1]), len(graph), graph.folder)
    windows = np.searchsorted(start, np.arange(WINDOW, start[-1], WINDOW)).tolist()
    for low, high in zip([0, *windows], [*windows, len(graph)], strict=True):
        fill_rows(edges, low, high, start, column, at_first, at_second, graph.weight.numpy(), weight)
    start[1:] = start[:-1].copy()  # each had moved on to the next
    start[0] = 0
    return CompactRows(start, column, weight)


def _empty(entries: int, num_nodes: int, folder: Path | None) -> tuple[NDArray[np.integer], NDArray[np.float32]]:
    """Columns and weights, in files of the folder if it has room and can be written to, else in memory."""
    index: type[np.integer] = np.int32 if num_nodes <= _MAX_NODES else np.int64
    try:
        column, weight = (temporary_array(entries, dtype, folder) for dtype in (index, np.float32))
    except OSError:
        column, weight = (temporary_array(entries, dtype, None) for dtype in (index, np.float32))
    return cast("NDArray[np.integer]", column), cast("NDArray[np.float32]", weight)
