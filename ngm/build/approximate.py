"""Approximate search: each row against the cells of rows around it, then against the neighbors of its neighbors.

The rows are halved again and again, each time across the direction in which two means of a sample differ, into cells of
equal size. A row looks into the cells whose centres are nearest to it; the rows that look into one cell do so together,
in one matrix product. How many cells is read off a sample of rows whose true neighbors are known. Last, each row looks
at the neighbors of its neighbors and of the rows that chose it, which finds most of what the cells missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ngm.build.exact import Step, exact_neighbors, fast_dtypes
from ngm.build.ranking import CHUNK, GROUP, Keys, best_chunks, make_keys, measure, nearest
from ngm.build.row_shares import gather_shares, share_of
from ngm.build.space import SearchSpace
from ngm.distributed import from_first

_CELL_SIZE = 256  # rows in a cell, at most
_SPLIT_SAMPLE = 1024  # rows of a part that decide how it is halved
_MIN_LIST = 12  # neighbors kept per row while searching; more where k is larger
_NUM_EXPANDED = 8  # of these, and of the rows that chose a row, so many are asked for their neighbors
_MISS_FACTOR = 3.0  # the cells may miss so many times what the search may miss in the end
_MAX_ROUNDS = 2  # joins, at most
_CHUNK_ROWS = 8_192  # rows that look into cells together
_JOIN_CHUNK_ROWS = 512  # rows that look at the neighbors of their neighbors together


@dataclass(frozen=True)
class Cells:
    """Rows in cells of equal size.

    Attributes:
        rows: (c, w) rows of each cell, -1 at the end of one that is short.
        cell_of: (n,) the cell of each row.
        center: (c, D) what a query is multiplied with to see how near a cell is.
    """

    rows: Tensor
    cell_of: Tensor
    center: Tensor


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
        on_step: Called with (rows done, rows in all); each round of the search counts every row once.
        over_ranks: Whether the processes of a group search together, each for its share of the rows.

    Returns:
        (similarity, neighbor, recall): (n, k) each, best first, and the share that was found.
    """
    list_size = min(max(_MIN_LIST, k + 2), len(space) - 1)
    step = _progress_counter(on_step, (1 + _MAX_ROUNDS) * len(space))
    true_similarity, neighbor = exact_neighbors(space, sample, k, over_ranks=over_ranks)
    cells = make_cells(space, generator)
    probes = _num_probes(space, cells, sample, neighbor, 1 - _MISS_FACTOR * (1 - recall), list_size)
    dtype = torch.bfloat16 if torch.bfloat16 in fast_dtypes(space) else torch.float32
    keys = make_keys(space, cells.rows.view(-1), cells.rows.shape[1], dtype)
    order = cells.rows[cells.rows >= 0]
    if over_ranks:
        order = from_first(order)  # other processors may round otherwise
    similarity, neighbor = _search_chunks(
        order, _CHUNK_ROWS, list_size, step, lambda r: _search_cells(keys, cells, r, probes, list_size), over_ranks
    )
    for _ in range(_MAX_ROUNDS):
        if recall_of(similarity[sample, :k], true_similarity) >= recall:
            break
        similarity, neighbor = join(space, neighbor, order, step, over_ranks)
    similarity, neighbor = similarity[:, :k].contiguous(), neighbor[:, :k].contiguous()
    incomplete = (neighbor < 0).any(dim=1).nonzero()[:, 0]
    if len(incomplete):
        similarity[incomplete], neighbor[incomplete] = exact_neighbors(space, incomplete, k, over_ranks=over_ranks)
    step((1 + _MAX_ROUNDS) * len(space))
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


def make_cells(space: SearchSpace, generator: torch.Generator) -> Cells:
    """Halves the rows until no part has more than `_CELL_SIZE`."""
    groups = [torch.arange(len(space))]
    while len(groups[0]) > _CELL_SIZE:
        groups = [half_norm for group in groups for half_norm in _split(space.vectors, group, generator)]
    width = -(-len(groups[0]) // CHUNK) * CHUNK  # of two halves the first is not the smaller
    rows = torch.full((len(groups), width), -1)
    cell_of = torch.empty(len(space), dtype=torch.int64)
    center = torch.empty(len(groups), space.vectors.shape[1])
    for i, group in enumerate(groups):
        rows[i, : len(group)] = group
        cell_of[group] = i
        center[i] = space.vectors[group].mean(dim=0)
    if space.metric == "cosine":
        center = torch.nn.functional.normalize(center, dim=1)
    if space.metric == "euclidean":
        half_norm = center.square().sum(dim=1, keepdim=True) / 2
        center = torch.cat([center, -half_norm, torch.ones_like(half_norm)], dim=1)
    return Cells(rows, cell_of, center)


def _split(vectors: Tensor, group: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Two parts of equal size, split across the direction between the means of the two."""
    sample = vectors[group[torch.randint(len(group), (_SPLIT_SAMPLE,), generator=generator)]]
    direction = sample[0] - sample[1]
    for _ in range(4):
        order = (sample @ direction).argsort(descending=True)
        direction = sample[order[: _SPLIT_SAMPLE // 2]].mean(dim=0) - sample[order[_SPLIT_SAMPLE // 2 :]].mean(dim=0)
    order = (vectors.index_select(0, group) @ direction).argsort(descending=True)
    num_first = (len(group) + 1) // 2
    return group[order[:num_first]], group[order[num_first:]]


def _num_probes(
    space: SearchSpace, cells: Cells, sample: Tensor, true_neighbor: Tensor, coverage: float, list_size: int
) -> int:
    """Cells to search per row for this share of the true neighbors and `list_size` others, in whole groups."""
    similarity = space.query[sample] @ cells.center.t()
    nearest_cells = similarity.argsort(dim=1, descending=True)  # (s, c)
    rank = torch.empty_like(nearest_cells)
    rank.scatter_(1, nearest_cells, torch.arange(nearest_cells.shape[1]).expand_as(nearest_cells))
    needed = rank.gather(1, cells.cell_of[true_neighbor]).reshape(-1).float().quantile(min(max(coverage, 0.5), 1.0))
    min_cell_size = int((cells.rows >= 0).sum(dim=1).min())
    num_probes = max(int(needed) + 1, -(-(list_size + 1) // min_cell_size))  # the row itself is in one of them
    return min(-(-num_probes // GROUP) * GROUP, len(cells.rows))


def _search_cells(keys: Keys, cells: Cells, rows: Tensor, probes: int, list_size: int) -> tuple[Tensor, Tensor]:
    """(similarity, neighbor) of rows, each (r, list_size), from the `probes` cells nearest to each."""
    width = cells.rows.shape[1]
    nearest_cells = (keys.space.query[rows] @ cells.center.t()).topk(probes, dim=1).indices  # (r, probes)
    cell, order = nearest_cells.view(-1).sort(stable=True)  # pairs of a row and a cell, by cell
    query_rows = rows[order // probes]
    count = torch.bincount(cell, minlength=len(cells.rows))
    maxima = torch.empty(len(order), width // CHUNK, dtype=keys.ranks)
    buffer = keys.buffer(int(count.max()) * width)
    stop = 0
    for i, pairs in enumerate(count.tolist()):
        start, stop = stop, stop + pairs
        if pairs:
            query = keys.query.index_select(0, query_rows[start:stop])
            keys.maxima(query, i * width, (i + 1) * width, maxima[start:stop], buffer)
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(len(order))
    _, best_chunk = best_chunks(maxima.index_select(0, inverse).view(len(rows), -1), list_size + 2)
    chunks = width // CHUNK
    return measure(keys, rows, nearest_cells.gather(1, best_chunk // chunks) * chunks + best_chunk % chunks, list_size)


def reverse_neighbors(neighbor: Tensor, max_rows: int) -> Tensor:
    """(n, max_rows) the rows that chose each row, those first that rank it highest; -1 where fewer did."""
    n, k = neighbor.shape
    rank = torch.arange(k).expand(n, k).reshape(-1)
    order = (neighbor.reshape(-1) * k + rank).argsort(stable=True)
    target = neighbor.reshape(-1)[order]
    position = torch.arange(len(target)) - torch.searchsorted(target, target)
    selected = (position < max_rows) & (target >= 0)
    result = torch.full((n, max_rows), -1)
    result[target[selected], position[selected]] = order[selected] // k
    return result


def join(
    space: SearchSpace, neighbor: Tensor, order: Tensor, step: Callable[[int], None], over_ranks: bool = False
) -> tuple[Tensor, Tensor]:
    """Looks at the neighbors of each row, the rows that chose it, and the neighbors of both.

    Args:
        space: The vectors.
        neighbor: (n, list_size) rows found so far, best first.
        order: (n,) all rows, near ones together, so that memory is read in few places.
        step: Called with the number of rows done.
        over_ranks: As for `approximate_neighbors`.

    Returns:
        (similarity, neighbor), each (n, list_size), best first.
    """
    list_size = neighbor.shape[1]
    num_expanded = min(_NUM_EXPANDED, list_size)
    expanded = neighbor[:, :num_expanded].contiguous()
    lists = torch.cat([expanded, reverse_neighbors(neighbor, _NUM_EXPANDED)], dim=1)  # (n, a)

    def search(rows: Tensor) -> tuple[Tensor, Tensor]:
        sources = lists.index_select(0, rows)
        second_hop = expanded.index_select(0, sources.clamp(min=0).view(-1)).view(len(rows), -1, num_expanded)
        second_hop.masked_fill_((sources < 0)[:, :, None], -1)
        candidates = torch.cat(
            [neighbor.index_select(0, rows), sources[:, num_expanded:], second_hop.view(len(rows), -1)], dim=1
        )
        # (r, c); torch takes several times as long
        distinct = torch.from_numpy(np.sort(candidates.numpy(), axis=1))
        distinct[:, 1:] = torch.where(distinct[:, 1:] == distinct[:, :-1], -1, distinct[:, 1:])
        vectors = space.key.index_select(0, distinct.clamp(min=0).view(-1)).view(*distinct.shape, -1)
        return nearest(space, rows, distinct, vectors, list_size)

    return _search_chunks(order, _JOIN_CHUNK_ROWS, list_size, step, search, over_ranks)


def _search_chunks(
    order: Tensor,
    chunk_size: int,
    list_size: int,
    step: Callable[[int], None],
    search: Callable[[Tensor], tuple[Tensor, Tensor]],
    over_ranks: bool,
) -> tuple[Tensor, Tensor]:
    """Does a job for all rows, some at a time; (similarity, neighbor), each (n, list_size)."""
    similarity, neighbor = torch.empty(len(order), list_size), torch.empty(len(order), list_size, dtype=torch.int64)
    own = share_of(order, chunk_size) if over_ranks else order
    for rows in torch.split(own, chunk_size):
        if len(rows):
            similarity[rows], neighbor[rows] = search(rows)
        step(len(rows) * len(order) // max(len(own), 1))
    if over_ranks:
        similarity[order], neighbor[order] = gather_shares(similarity[own], neighbor[own])
    return similarity, neighbor
