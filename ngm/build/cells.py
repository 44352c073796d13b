"""Rows in cells of one size, near ones together: halved again and again, across the direction in which they differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.build.neighbor_lists import Floats, thread_map
from ngm.build.space import SearchSpace

CELL_SIZE = 256  # rows in a cell, at most
_SPLIT_SAMPLE = 1024  # rows of a part that decide how it is halved


@dataclass(frozen=True, eq=False)
class Cells:
    """All rows in the order of their cells.

    Attributes:
        order: (n,) int64, the row at each place.
        starts: (c + 1,) int64; cell i has places starts[i] to starts[i + 1].
        query: (n, D) float32 of the row at each place.
        key: (n, D) likewise.
        mean_query: (c, D) float32, the mean of the queries of each cell.
        center: (c, D) float32, what a query is multiplied with to see how near a cell is.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    query: Floats
    key: Floats
    mean_query: Floats
    center: Floats

    def __len__(self) -> int:
        """Number of cells c."""
        return len(self.center)


def cell_order(space: SearchSpace, generator: torch.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Halves the rows until no part has more than `CELL_SIZE`; sizes differ by one at most.

    Args:
        space: The vectors.
        generator: Draws the rows that decide how a part is halved.

    Returns:
        (order, starts), as in `Cells`.
    """
    seed = int(torch.randint(2**62, (1,), generator=generator))
    vectors, order, starts = space.vectors.numpy().copy(), np.arange(len(space)), np.array([0, len(space)])
    level = 0
    with thread_map() as in_threads:
        while (starts[1:] - starts[:-1]).max() > CELL_SIZE:
            parts = [(i, slice(starts[i], starts[i + 1])) for i in range(len(starts) - 1)]
            for _ in in_threads(partial(_halve, vectors, order, [seed, level]), parts):
                pass
            middle = starts[:-1] + (starts[1:] - starts[:-1] + 1) // 2
            starts = np.append(np.stack([starts[:-1], middle], axis=1).reshape(-1), len(space))
            level += 1
    return order, starts


def _halve(vectors: Floats, order: NDArray[np.int64], seed: list[int], part: tuple[int, slice]) -> None:
    """Puts the rows of a part on one side of a cut before those on the other; the first half is not the smaller."""
    number, at = part
    rows = vectors[at]
    sample = rows[np.random.default_rng([*seed, number]).integers(len(rows), size=_SPLIT_SAMPLE)]
    direction = sample[0] - sample[1]
    for _ in range(4):
        by_side = np.argsort(-(sample @ direction), kind="stable")
        halves = sample[by_side[: _SPLIT_SAMPLE // 2]], sample[by_side[_SPLIT_SAMPLE // 2 :]]
        direction = halves[0].mean(axis=0) - halves[1].mean(axis=0)
    by_side = np.argpartition(-(rows @ direction), (len(rows) + 1) // 2 - 1)
    vectors[at], order[at] = rows[by_side], order[at][by_side]


def make_cells(space: SearchSpace, order: NDArray[np.int64], starts: NDArray[np.int64]) -> Cells:
    """Lays the rows out in the order of `cell_order`."""
    query = space.query.numpy()[order]
    key = query if space.key is space.query else space.key.numpy()[order]
    size = (starts[1:] - starts[:-1])[:, None]
    mean_query = (np.add.reduceat(query, starts[:-1]) / size).astype(np.float32)
    center = torch.from_numpy(mean_query[:, : space.vectors.shape[1]])
    if space.metric == "cosine":
        center = torch.nn.functional.normalize(center, dim=1)
    if space.metric == "euclidean":
        half_norm = center.square().sum(dim=1, keepdim=True) / 2
        center = torch.cat([center, -half_norm, torch.ones_like(half_norm)], dim=1)
    return Cells(order, starts, query, key, mean_query, center.numpy())
