"""The best rows found so far for each row, and the threads that look for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm._blas_threads import one_blas_thread
from ngm.build.ranking import nearest
from ngm.build.row_shares import gather_shares, share_of
from ngm.build.space import SearchSpace

Floats = NDArray[np.float32]
Rows = NDArray[np.int32]
Step = Callable[[int, int], None]
T = TypeVar("T")
R = TypeVar("R")
_MEASURED_ROWS = 4_096  # rows whose distances are measured together


class NeighborLists(NamedTuple):
    """A list for each of n rows, best first.

    Args:
        similarity: (n, m) float32 products of query and key, -inf where there is none.
        neighbor: (n, m) int32 rows, -1 where there is none.
        fresh: (n, m) bool, those that were put in since this was last cleared.
    """

    similarity: Floats
    neighbor: Rows
    fresh: NDArray[np.bool_]

    def stale_copy(self) -> NeighborLists:
        """The same lists again, none of it fresh."""
        return NeighborLists(self.similarity.copy(), self.neighbor.copy(), np.zeros_like(self.fresh))


def empty_lists(rows: int, length: int) -> NeighborLists:
    """Lists with nothing in them."""
    shape = (rows, length)
    return NeighborLists(
        np.full(shape, -np.inf, dtype=np.float32), np.full(shape, -1, dtype=np.int32), np.zeros(shape, dtype=np.bool_)
    )


def nearest_in_lists(
    space: SearchSpace, lists: NeighborLists, order: NDArray[np.int64], k: int, over_ranks: bool = False
) -> tuple[Tensor, Tensor]:
    """The first `k` of full lists as similarities and rows; distances are measured anew, as products lose digits.

    Args:
        space: The vectors.
        lists: Of the n rows in another order.
        order: (n,) the row that each of them is.
        k: At most as many as lists hold.
        over_ranks: Whether the processes of a group measure together, each a share of the rows.

    Returns:
        (similarity, neighbor), each (n, k), best first, in the order of the space.
    """
    rows, candidates = torch.from_numpy(order), torch.from_numpy(order)[torch.from_numpy(lists.neighbor)]
    similarity, neighbor = torch.from_numpy(lists.similarity)[:, :k], candidates[:, :k]
    if space.metric == "euclidean":
        places = torch.arange(len(rows))
        measured = [
            nearest(space, rows[part], candidates[part], space.key[candidates[part]], k)
            for part in torch.split(share_of(places, _MEASURED_ROWS) if over_ranks else places, _MEASURED_ROWS)
        ]
        similarity, neighbor = (torch.cat(parts) for parts in zip(*measured, strict=True))
        if over_ranks:
            similarity, neighbor = gather_shares(similarity, neighbor)
    place = torch.empty_like(rows)
    place[rows] = torch.arange(len(rows))
    return similarity[place], neighbor[place]


class ThreadMap(Protocol):
    """`map` over threads."""

    def __call__(self, function: Callable[[T], R], items: Sequence[T], /) -> Iterator[R]:
        """Results in the order of the items."""


@contextmanager
def thread_map() -> Iterator[ThreadMap]:
    """A `map` over as many threads as torch has, with one thread of BLAS in each.

    Work that has not begun is dropped where the block is left by an error.
    """
    with one_blas_thread(), ThreadPoolExecutor(torch.get_num_threads()) as pool:
        try:
            yield pool.map
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
