"""Approximate search: each row against the cells of rows around it, then against the neighbors of its neighbors.

A row looks into the cells whose centres are nearest to it; those that look into one cell do so together, in one matrix
product. How many cells is read off a sample of rows whose true neighbors are known. Then each row looks at the
neighbors of its neighbors and of the rows that chose it, which finds most of what the cells missed: on some data nearly
all of it, on others much less. So rows look into few cells first, and into further ones for as long as the sample says
that too much is missed. Where most neighbors are in very few cells and the others far out, as in many rows of many
clusters, still fewer cells come first: what looking at the neighbors of neighbors costs does not grow with the cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.build.cells import Cells, cell_order, make_cells
from ngm.build.exact import exact_neighbors
from ngm.build.neighbor_lists import NeighborLists, Rows, Step, empty_lists, nearest_in_lists, thread_map
from ngm.build.ranking import nearest
from ngm.build.row_shares import share_of
from ngm.build.space import SearchSpace
from ngm.distributed import from_first, gather_rows

_MIN_LIST = 12  # neighbors kept per row while searching; more where k is larger
_MARGIN = 4  # beyond k
_NUM_EXPANDED = 12  # of these, and of the rows that chose a row, so many are asked for their neighbors
_MISS_FACTOR = 10.0  # the first cells may miss so many times what the search may miss in the end
_FEWER_CELLS = 4  # twice that where it takes so many times fewer cells
_WORTH_A_JOIN = 0.5  # part of the misses that a join left, up to which another one follows
_GROWTH = 1.5  # times as many cells are looked into afterwards
_ROUNDS = 4  # of cells and joins, in the count of steps; more are not counted
_MIN_CANDIDATES = 1_024  # cells that the rows of a cell choose from, at least: with a quarter, neighbors are missed
_CANDIDATE_FACTOR = 8  # as many times as they choose
_CHUNK_CELLS = 64  # cells whose rows look into others together
_JOIN_CHUNK_ROWS = 4_096  # rows that look at the neighbors of their neighbors together


def approximate_neighbors(
    space: SearchSpace,
    k: int,
    sample: Tensor,
    recall: float,
    generator: torch.Generator,
    on_step: Step | None = None,
    over_ranks: bool = False,
) -> tuple[Tensor, Tensor, float]:
    """Finds nearly all of the nearest rows.

    Args:
        space: The vectors.
        k: Neighbors per row, below n.
        sample: (s,) rows on which recall is measured.
        recall: Share of the sample's true neighbors that is aimed at.
        generator: Decides how the rows are halved.
        on_step: Called with (rows done, rows in all); each search of cells and each join counts every row once.
        over_ranks: Whether the processes of a group search together, each for its share of the rows.

    Returns:
        (similarity, neighbor, recall): (n, k) each, best first, and the share that was found.
    """
    n = len(space)
    step = _progress_counter(on_step, _ROUNDS * n)
    true_similarity, true_neighbor = exact_neighbors(space, sample, k, over_ranks=over_ranks)
    order, starts = cell_order(space, generator)
    if over_ranks:
        order = from_first(torch.from_numpy(order)).numpy()  # other processors may round otherwise
    cells = make_cells(space, order, starts)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    lists = empty_lists(n, min(max(_MIN_LIST, k + _MARGIN), n - 1))

    def missed() -> float:
        neighbor = torch.from_numpy(order[lists.neighbor[place[sample]]])
        similarity, _ = nearest(space, sample, neighbor, space.key[neighbor], k)
        return 1 - recall_of(similarity, true_similarity)

    coverages = [1 - factor * (1 - recall) for factor in (_MISS_FACTOR, 2 * _MISS_FACTOR)]
    many, few = num_probes(cells, place[sample], place[true_neighbor], coverages, lists.neighbor.shape[1])
    searched, probes = 0, few if _FEWER_CELLS * few <= many else many
    while True:
        search = partial(_search_cells, cells, searched, probes, lists)
        _search_shares(starts, _CHUNK_CELLS, search, lists, step, over_ranks)
        before, misses = 1.0, missed()
        while 1 - recall < misses < before * _WORTH_A_JOIN:
            lists = join(cells, lists, step, over_ranks)
            before, misses = misses, missed()
        if misses <= 1 - recall or probes == len(cells):
            break
        searched, probes = probes, min(max(math.ceil(_GROWTH * probes), many), len(cells))
    similarity, neighbor = nearest_in_lists(space, lists, order, k, over_ranks)
    step(_ROUNDS * n)
    return similarity, neighbor, recall_of(similarity[sample], true_similarity)


def _progress_counter(on_step: Step | None, total: int) -> Callable[[int], None]:
    """Turns numbers of rows into (rows done, rows in all)."""
    done = 0

    def step(rows: int) -> None:
        nonlocal done
        if on_step is not None and done < total:
            done = min(done + rows, total)
            on_step(done, total)

    return step


def recall_of(similarity: Tensor, true_similarity: Tensor) -> float:
    """Share of (s, k) true neighbors that (s, k) found ones match; of rows equally near, any one counts."""
    threshold = true_similarity[:, -1:]
    return float((similarity >= threshold - 1e-5 * threshold.abs()).float().mean())


def num_probes(
    cells: Cells,
    sample: NDArray[np.int64],
    true_neighbor: NDArray[np.int64],
    coverages: Sequence[float],
    list_size: int,
) -> list[int]:
    """Cells to search per row for each of some shares of the true neighbors, and `list_size` others.

    Args:
        cells: All rows.
        sample: (s,) places of some.
        true_neighbor: (s, k) places of their neighbors.
        coverages: Shares of the latter.
        list_size: Neighbors that a row should see at least.
    """
    nearest_cells = np.argsort(-(cells.query[sample] @ cells.center.T), axis=1)  # (s, c)
    rank = np.empty_like(nearest_cells)
    np.put_along_axis(rank, nearest_cells, np.arange(len(cells))[None], axis=1)
    cell_of = np.searchsorted(cells.starts, true_neighbor, side="right") - 1
    needed = np.quantile(np.take_along_axis(rank, cell_of, axis=1), np.clip(coverages, 0.5, 1.0))
    least = -(-(list_size + 1) // int((cells.starts[1:] - cells.starts[:-1]).min()))  # the row itself is in one
    return [min(max(int(number) + 1, least), len(cells)) for number in needed]


def _search_cells(cells: Cells, searched: int, probes: int, lists: NeighborLists, first: int, stop: int) -> None:
    """The rows of cells `first` to `stop` look into the `probes` cells nearest to each but the first `searched`."""
    from ngm.build.list_loops import add_rows, group_by_cell

    starts = cells.starts
    chosen = np.concatenate([_nearest_cells(cells, cell, searched, probes) for cell in range(first, stop)])
    offsets, rows = group_by_cell(chosen, starts[first], len(cells))
    middle = (first + stop) / 2
    looked_into = np.flatnonzero(np.diff(offsets))
    for cell in looked_into[np.argsort(np.abs(looked_into - middle), kind="stable")].tolist():  # likely near ones first
        looking = rows[offsets[cell] : offsets[cell + 1]]
        products = cells.query[looking] @ cells.key[starts[cell] : starts[cell + 1]].T
        add_rows(products, looking, starts[cell], lists)


def _nearest_cells(cells: Cells, cell: int, searched: int, probes: int) -> Rows:
    """(r, probes - searched) the cells nearest to each row of a cell, but the first, among those near their mean."""
    from ngm.build.list_loops import best_columns

    count = min(max(_MIN_CANDIDATES, _CANDIDATE_FACTOR * probes), len(cells))
    similarity = cells.center @ cells.mean_query[cell]
    candidates = np.argpartition(-similarity, count - 1)[:count].astype(np.int32)
    products = cells.query[cells.starts[cell] : cells.starts[cell + 1]] @ cells.center[candidates].T
    found: Rows = candidates[best_columns(products, searched, probes)]
    return found


def join(cells: Cells, lists: NeighborLists, step: Callable[[int], None], over_ranks: bool = False) -> NeighborLists:
    """Looks at the neighbors of each row, the rows that chose it, and the neighbors of both.

    Args:
        cells: All rows.
        lists: What each has found so far.
        step: Called with the number of rows done.
        over_ranks: As for `approximate_neighbors`.

    Returns:
        The lists with what is better.
    """
    from ngm.build.list_loops import join_rows, reverse_lists

    chose, better = reverse_lists(lists.neighbor, _NUM_EXPANDED), lists.stale_copy()

    def search(start: int, stop: int) -> None:
        join_rows(cells.query, cells.key, lists, chose, start, stop, better)

    _search_shares(np.arange(len(chose) + 1), _JOIN_CHUNK_ROWS, search, better, step, over_ranks)
    return better


def _search_shares(
    starts: NDArray[np.int64],
    chunk: int,
    search: Callable[[int, int], None],
    lists: NeighborLists,
    step: Callable[[int], None],
    over_ranks: bool,
) -> None:
    """Brings the lists of all rows up to date, some at a time, in threads.

    Args:
        starts: (u + 1,) first row of each of u units of rows, and the end.
        chunk: Units that are searched together.
        search: Called with the first unit and the one behind the last.
        lists: Which `search` writes to.
        step: Called with the number of rows done.
        over_ranks: Whether each process searches its share of the units, and gets the lists of all.
    """
    units = torch.arange(len(starts) - 1)
    own = share_of(units, chunk) if over_ranks else units
    bounds = [(int(part[0]), int(part[-1]) + 1) for part in torch.split(own, chunk) if len(part)]

    def searched_rows(of_units: tuple[int, int]) -> int:
        search(*of_units)
        return int(starts[of_units[1]] - starts[of_units[0]])

    with thread_map() as in_threads:
        for rows_done in in_threads(searched_rows, bounds):
            step(rows_done * len(units) // len(own))
    if over_ranks:
        rows = slice(starts[bounds[0][0]], starts[bounds[-1][1]]) if bounds else slice(0)
        for part in lists:
            part[:] = gather_rows(torch.from_numpy(part[rows])).numpy()
