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

from ngm.build.exact import Step, exact_neighbors, quick_types
from ngm.build.ranking import CHUNK, GROUP, Keys, best_chunks, keys_of, measure, nearest
from ngm.build.space import Space

_CELL = 256  # rows in a cell, at most
_HALVED_BY = 1024  # rows of a part that decide how it is halved
_LIST = 12  # neighbors kept per row while searching; more where k is larger
_JOINED = 8  # of these, and of the rows that chose a row, so many are asked for their neighbors
_LEFT_TO_JOIN = 3.0  # the cells may miss so many times what the search may miss in the end
_ROUNDS = 2  # joins, at most
_ROWS_AT_ONCE = 8_192  # rows that look into cells together
_JOINED_AT_ONCE = 512  # rows that look at the neighbors of their neighbors together


@dataclass(frozen=True)
class Cells:
    """Rows in cells of equal size.

    Attributes:
        rows: (c, w) rows of each cell, -1 at the end of one that is short.
        of: (n,) the cell of each row.
        centre: (c, D) what a query is multiplied with to see how near a cell is.
    """

    rows: Tensor
    of: Tensor
    centre: Tensor


def approximate_neighbors(
    space: Space, k: int, sample: Tensor, recall: float, generator: torch.Generator, on_step: Step | None = None
) -> tuple[Tensor, Tensor, float]:
    """Finds nearly all of the nearest rows.

    Args:
        space: The vectors.
        k: Neighbors per row, below n.
        sample: (s,) rows on which recall is measured.
        recall: Share of the sample's true neighbors that is aimed at.
        generator: Decides how the rows are halved.
        on_step: Called with (rows done, rows in all); each round of the search counts every row once.

    Returns:
        (similarity, neighbor, recall): (n, k) each, best first, and the share that was found.
    """
    kept = min(max(_LIST, k + 2), len(space) - 1)
    step = _counted(on_step, (1 + _ROUNDS) * len(space))
    true, neighbor = exact_neighbors(space, sample, k)
    cells = cells_of(space, generator)
    probes = _probes(space, cells, sample, neighbor, 1 - _LEFT_TO_JOIN * (1 - recall), kept)
    dtype = torch.bfloat16 if torch.bfloat16 in quick_types(space) else torch.float32
    keys = keys_of(space, cells.rows.view(-1), cells.rows.shape[1], dtype)
    order = cells.rows[cells.rows >= 0]
    similarity, neighbor = _each(order, _ROWS_AT_ONCE, kept, step, lambda r: _look(keys, cells, r, probes, kept))
    for _ in range(_ROUNDS):
        if recall_of(similarity[sample, :k], true) >= recall:
            break
        similarity, neighbor = join(space, neighbor, order, step)
    similarity, neighbor = similarity[:, :k].contiguous(), neighbor[:, :k].contiguous()
    few = (neighbor < 0).any(dim=1).nonzero()[:, 0]
    if len(few):
        similarity[few], neighbor[few] = exact_neighbors(space, few, k)
    step((1 + _ROUNDS) * len(space))
    return similarity, neighbor, recall_of(similarity[sample], true)


def _counted(on_step: Step | None, total: int) -> Callable[[int], None]:
    """Turns numbers of rows into (rows done, rows in all)."""
    done = 0

    def step(rows: int) -> None:
        nonlocal done
        if on_step is not None and done < total:
            done = min(done + rows, total)
            on_step(done, total)

    return step


def recall_of(similarity: Tensor, true: Tensor) -> float:
    """Share of (s, k) true neighbors that (s, k) found ones match; of rows equally near, any one counts."""
    least = true[:, -1:]
    return float((similarity >= least - 1e-5 * least.abs()).float().mean())


def cells_of(space: Space, generator: torch.Generator) -> Cells:
    """Halves the rows until no part has more than `_CELL`."""
    parts = [torch.arange(len(space))]
    while len(parts[0]) > _CELL:
        parts = [half for part in parts for half in _halves(space.vectors, part, generator)]
    width = -(-len(parts[0]) // CHUNK) * CHUNK  # of two halves the first is not the smaller
    rows = torch.full((len(parts), width), -1)
    of = torch.empty(len(space), dtype=torch.int64)
    centre = torch.empty(len(parts), space.vectors.shape[1])
    for i, part in enumerate(parts):
        rows[i, : len(part)] = part
        of[part] = i
        centre[i] = space.vectors[part].mean(dim=0)
    if space.metric == "cosine":
        centre = torch.nn.functional.normalize(centre, dim=1)
    if space.metric == "euclidean":
        half = centre.square().sum(dim=1, keepdim=True) / 2
        centre = torch.cat([centre, -half, torch.ones_like(half)], dim=1)
    return Cells(rows, of, centre)


def _halves(vectors: Tensor, part: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Two parts of equal size, split across the direction between the means of the two."""
    sample = vectors[part[torch.randint(len(part), (_HALVED_BY,), generator=generator)]]
    direction = sample[0] - sample[1]
    for _ in range(4):
        above = (sample @ direction).argsort(descending=True)
        direction = sample[above[: _HALVED_BY // 2]].mean(dim=0) - sample[above[_HALVED_BY // 2 :]].mean(dim=0)
    above = (vectors.index_select(0, part) @ direction).argsort(descending=True)
    middle = (len(part) + 1) // 2
    return part[above[:middle]], part[above[middle:]]


def _probes(space: Space, cells: Cells, sample: Tensor, true: Tensor, share: float, kept: int) -> int:
    """Cells that a row must look into to see this share of its true neighbors and `kept` others, in whole groups."""
    near = (space.query[sample] @ cells.centre.t()).argsort(dim=1, descending=True)  # (s, c)
    place = torch.empty_like(near)
    place.scatter_(1, near, torch.arange(near.shape[1]).expand_as(near))
    needed = place.gather(1, cells.of[true]).reshape(-1).float().quantile(min(max(share, 0.5), 1.0))
    least = int((cells.rows >= 0).sum(dim=1).min())
    enough = max(int(needed) + 1, -(-(kept + 1) // least))  # the row itself is in one of them
    return min(-(-enough // GROUP) * GROUP, len(cells.rows))


def _look(keys: Keys, cells: Cells, rows: Tensor, probes: int, kept: int) -> tuple[Tensor, Tensor]:
    """(similarity, neighbor) of rows, each (r, kept), from the `probes` cells nearest to each."""
    width = cells.rows.shape[1]
    near = (keys.space.query[rows] @ cells.centre.t()).topk(probes, dim=1).indices  # (r, probes)
    cell, order = near.view(-1).sort(stable=True)  # pairs of a row and a cell, by cell
    looking = rows[order // probes]
    count = torch.bincount(cell, minlength=len(cells.rows))
    maxima = torch.empty(len(order), width // CHUNK, dtype=keys.ranks)
    room = keys.room(int(count.max()) * width)
    stop = 0
    for i, pairs in enumerate(count.tolist()):
        start, stop = stop, stop + pairs
        if pairs:
            query = keys.query.index_select(0, looking[start:stop])
            keys.maxima(query, i * width, (i + 1) * width, maxima[start:stop], room)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    _, best = best_chunks(maxima.index_select(0, place).view(len(rows), -1), kept + 2)
    chunks = width // CHUNK
    return measure(keys, rows, near.gather(1, best // chunks) * chunks + best % chunks, kept)


def chosen_by(neighbor: Tensor, most: int) -> Tensor:
    """(n, most) the rows that chose each row, those first that rank it highest; -1 where fewer did."""
    n, k = neighbor.shape
    rank = torch.arange(k).expand(n, k).reshape(-1)
    order = (neighbor.reshape(-1) * k + rank).argsort(stable=True)
    target = neighbor.reshape(-1)[order]
    place = torch.arange(len(target)) - torch.searchsorted(target, target)
    kept = (place < most) & (target >= 0)
    chosen = torch.full((n, most), -1)
    chosen[target[kept], place[kept]] = order[kept] // k
    return chosen


def join(space: Space, neighbor: Tensor, order: Tensor, step: Callable[[int], None]) -> tuple[Tensor, Tensor]:
    """Looks at the neighbors of each row, the rows that chose it, and the neighbors of both.

    Args:
        space: The vectors.
        neighbor: (n, kept) rows found so far, best first.
        order: (n,) all rows, near ones together, so that memory is read in few places.
        step: Called with the number of rows done.

    Returns:
        (similarity, neighbor), each (n, kept), best first.
    """
    kept = neighbor.shape[1]
    asked = min(_JOINED, kept)
    first = neighbor[:, :asked].contiguous()
    lists = torch.cat([first, chosen_by(neighbor, _JOINED)], dim=1)  # (n, a)

    def look(rows: Tensor) -> tuple[Tensor, Tensor]:
        ask = lists.index_select(0, rows)
        beyond = first.index_select(0, ask.clamp(min=0).view(-1)).view(len(rows), -1, asked)
        beyond.masked_fill_((ask < 0)[:, :, None], -1)
        every = torch.cat([neighbor.index_select(0, rows), ask[:, asked:], beyond.view(len(rows), -1)], dim=1)
        others = torch.from_numpy(np.sort(every.numpy(), axis=1))  # (r, c); torch takes several times as long
        others[:, 1:] = torch.where(others[:, 1:] == others[:, :-1], -1, others[:, 1:])
        vectors = space.key.index_select(0, others.clamp(min=0).view(-1)).view(*others.shape, -1)
        return nearest(space, rows, others, vectors, kept)

    return _each(order, _JOINED_AT_ONCE, kept, step, look)


def _each(
    order: Tensor, at_once: int, kept: int, step: Callable[[int], None], job: Callable[[Tensor], tuple[Tensor, Tensor]]
) -> tuple[Tensor, Tensor]:
    """Does a job for all rows, some at a time; (similarity, neighbor), each (n, kept)."""
    similarity, neighbor = torch.empty(len(order), kept), torch.empty(len(order), kept, dtype=torch.int64)
    for rows in torch.split(order, at_once):
        similarity[rows], neighbor[rows] = job(rows)
        step(len(rows))
    return similarity, neighbor
