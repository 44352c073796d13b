"""Exact search of all rows among each other: every product is computed once and serves both of its rows."""

from __future__ import annotations

from itertools import count
from queue import SimpleQueue

import numpy as np
import torch
from torch import Tensor

from ngm.build.neighbor_lists import Floats, NeighborLists, Step, empty_lists, nearest_in_lists, thread_map
from ngm.build.space import SearchSpace
from ngm.distributed import gather_rows, rank_and_world

_BLOCK_ROWS = 512  # rows whose products with as many others are computed together: they stay in the cache of a core
_GROUP_BLOCKS = 16  # blocks that a thread takes at once
_MARGIN = 4  # distances that are measured beyond k: room for rounding


def all_pairs_neighbors(
    space: SearchSpace, k: int, on_step: Step | None = None, over_ranks: bool = False
) -> tuple[Tensor, Tensor]:
    """Finds the nearest of all rows for all rows, in float32.

    Args:
        space: The vectors.
        k: Neighbors per row, below n.
        on_step: Called with (rows done, rows in all); a row is done for each n-th part of the products.
        over_ranks: Whether the processes of a group search together, each a share of the products.

    Returns:
        (similarity, neighbor), each (n, k), best first.
    """
    from ngm.build.list_loops import merge

    n = len(space)
    length = min(k + _MARGIN, n - 1) if space.metric == "euclidean" else k
    lists = _search_blocks(space, length, *(rank_and_world() if over_ranks else (0, 1)), on_step)
    if over_ranks:
        similarity, neighbor = (gather_rows(torch.from_numpy(part)).numpy() for part in lists[:2])
        lists = empty_lists(n, length)
        for start in range(0, len(neighbor), n):
            of_rank = slice(start, start + n)
            merge(lists, NeighborLists(similarity[of_rank], neighbor[of_rank], lists.fresh))
    return nearest_in_lists(space, lists, np.arange(n), k, over_ranks)


def _search_blocks(space: SearchSpace, length: int, rank: int, world: int, on_step: Step | None) -> NeighborLists:
    """Lists of the best products of all rows in this process' share of the blocks."""
    from ngm.build.list_loops import add_block, merge

    n, width = len(space), space.query.shape[1]
    num_blocks = -(-n // _BLOCK_ROWS)
    query = np.zeros((num_blocks * _BLOCK_ROWS, width), dtype=np.float32)
    query[:n] = space.query
    key = np.zeros_like(query)
    key[:n] = space.key
    columns = np.ascontiguousarray(key.reshape(num_blocks, _BLOCK_ROWS, width).transpose(0, 2, 1))
    pairs = [(i, j) for i in range(num_blocks) for j in range(i, num_blocks)][rank::world]
    groups = [pairs[start : start + _GROUP_BLOCKS] for start in range(0, len(pairs), _GROUP_BLOCKS)]
    idle: SimpleQueue[tuple[NeighborLists, Floats, Floats]] = SimpleQueue()
    of_threads: list[NeighborLists] = []
    for _ in range(min(torch.get_num_threads(), len(groups))):
        of_threads.append(empty_lists(n, length))
        limits, buffer = np.full(n, -np.inf, dtype=np.float32), np.empty((_BLOCK_ROWS, _BLOCK_ROWS), dtype=np.float32)
        idle.put((of_threads[-1], limits, buffer))

    def search(group: list[tuple[int, int]]) -> None:
        lists, limits, products = idle.get()
        for i, j in group:
            first_row, first_column = i * _BLOCK_ROWS, j * _BLOCK_ROWS
            np.dot(query[first_row : first_row + _BLOCK_ROWS], columns[j], out=products)
            inside = products[: n - first_row, : n - first_column]
            add_block(inside, first_row, first_column, lists, limits)
        idle.put((lists, limits, products))

    with thread_map() as in_threads:
        for done, _ in zip(count(1), in_threads(search, groups), strict=False):
            if on_step is not None:
                on_step(done * n // len(groups), n)
    for others in of_threads[1:]:
        merge(of_threads[0], others)
    return of_threads[0] if of_threads else empty_lists(n, length)
