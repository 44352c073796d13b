"""The nearest rows of each row, exact or approximate, with the recall that was reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ngm._arguments import real_number, whole_number
from ngm.build.all_pairs import all_pairs_neighbors
from ngm.build.approximate import approximate_neighbors
from ngm.build.exact import exact_neighbors, fast_dtypes
from ngm.build.neighbor_lists import Step
from ngm.build.space import SearchSpace, make_space
from ngm.choices import Metric, Search

EXACT_UP_TO = 50_000  # rows; above, the approximate search takes less than half the time, see docs/architecture.md
_ALL_PAIRS_FROM = 10_000  # rows; fewer are found in less than the loops take to be compiled, once
_SAMPLE = 500  # rows on which recall is estimated


@dataclass(frozen=True)
class Neighbors:
    """What `nearest_neighbors` found.

    Attributes:
        similarity: (n, k) float32, best first; minus the distance where the metric is "euclidean".
        neighbor: (n, k) int64 rows.
        metric: The metric.
        search: "exact" or "approximate".
        recall: Share of the true neighbors that were found; 1 where exact, else estimated on `sampled` rows.
        sampled: Rows that were searched exactly to estimate it; 0 where exact.
    """

    similarity: Tensor
    neighbor: Tensor
    metric: Metric
    search: Literal["exact", "approximate"]
    recall: float
    sampled: int


def nearest_neighbors(
    x: ArrayLike | Tensor,
    k: int = 5,
    metric: Metric = "cosine",
    *,
    search: Search = "auto",
    recall: float = 0.98,
    seed: int = 0,
    on_step: Step | None = None,
    over_ranks: bool = False,
) -> Neighbors:
    """Finds the `k` nearest other rows of each row.

    Args:
        x: (n, d) vectors of any real type, in memory or mapped from a file.
        k: Neighbors per row; at least 1 and below n.
        metric: "cosine", "euclidean" or "inner_product".
        search: "exact" compares all pairs, in blocks: time grows with n squared, memory with n. "approximate" finds
            nearly all of them in less. "auto" is exact up to `EXACT_UP_TO` rows.
        recall: Share of the true neighbors at which an approximate search stops, as far as a sample of rows tells.
        seed: Of the approximate search and of the sample on which its recall is estimated.
        on_step: Called with (rows done, rows in all) as the search goes on.
        over_ranks: Whether the processes of a group (`ngm.distributed.process_group`) search together, each for its
            share of the rows among all; every process has to call, and gets the result of one process.

    >>> nearest_neighbors([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], k=1).neighbor.tolist()
    [[1], [0], [1]]
    """
    if search not in ("auto", "exact", "approximate"):
        raise ValueError(f"search is {search!r}; choose 'auto', 'exact' or 'approximate'")
    real_number("recall", recall, lambda share: 0 < share < 1, "lie between 0 and 1, and search='exact' finds all")
    seed = whole_number("seed", seed)
    space = make_space(x, k, metric)
    if search == "exact" or (search == "auto" and len(space) <= EXACT_UP_TO):
        similarity, neighbor = _exact(space, k, on_step, over_ranks)
        return Neighbors(similarity, neighbor, metric, "exact", 1.0, 0)
    generator = torch.Generator().manual_seed(seed)
    sample = torch.randperm(len(space), generator=generator)[:_SAMPLE]
    similarity, neighbor, found_recall = approximate_neighbors(space, k, sample, recall, generator, on_step, over_ranks)
    return Neighbors(similarity, neighbor, metric, "approximate", found_recall, len(sample))


def _exact(space: SearchSpace, k: int, on_step: Step | None, over_ranks: bool) -> tuple[Tensor, Tensor]:
    """Each product once where this processor computes them in float32; else all of them, in fewer digits."""
    if len(space) >= _ALL_PAIRS_FROM and fast_dtypes(space) == [torch.float32]:
        return all_pairs_neighbors(space, k, on_step, over_ranks)
    return exact_neighbors(space, torch.arange(len(space)), k, on_step, over_ranks=over_ranks)
