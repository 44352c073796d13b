"""Exact search: every row against every other, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from ngm.build.ranking import CHUNK, GROUP, MARGIN, MARGIN_INT8, Keys, best_chunks, keys_of, measure
from ngm.build.space import Space
from ngm._processor import multiplies

Step = Callable[[int, int], None]
_BLOCK = 1024  # rows to be found that are multiplied together: the products stay in the cache
_STRIP = 512  # rows that look together
_CELLS_AT_ONCE = 256_000_000  # products, a quarter of which are kept as maxima together
_MIN_INT8_COLUMNS = 4
_DOUBTFUL = 0.25  # share of rows to be searched again from which on fewer digits do not pay


def exact_neighbors(
    space: Space,
    rows: Tensor,
    k: int,
    on_step: Step | None = None,
    dtypes: Sequence[torch.dtype] | None = None,
) -> tuple[Tensor, Tensor]:
    """Finds the nearest of all rows.

    Args:
        space: The vectors.
        rows: (r,) rows to find neighbors for.
        k: Neighbors per row, below n.
        on_step: Called with (rows done, rows in all) after each strip.
        dtypes: Types to rank in, one after the other: rows in doubt in one are searched again in the next, and the
            last is float32. The result is the same; where not given, those are used that this processor is quick in.

    Returns:
        (similarity, neighbor), each (r, k), best first.
    """
    similarity, neighbor = torch.empty(len(rows), k), torch.empty(len(rows), k, dtype=torch.int64)
    left, step = torch.arange(len(rows)), _rising(on_step, len(rows))
    for dtype in quick_types(space) if dtypes is None else dtypes:
        settled = len(rows) - len(left)
        similarity[left], neighbor[left], sure = _search(space, rows[left], k, dtype, partial(step, settled))
        left = left[~sure]
        if not len(left):
            break
    return similarity, neighbor


def _rising(on_step: Step | None, total: int) -> Callable[[int, int], None]:
    """Passes on (rows settled before + rows done), where it is more than last time."""
    reported = 0

    def step(settled: int, done: int) -> None:
        nonlocal reported
        if on_step is not None and settled + done > reported:
            reported = settled + done
            on_step(reported, total)

    return step


def quick_types(space: Space) -> list[torch.dtype]:
    """The types that this processor multiplies in hardware, quickest first; elsewhere they are slower than float32."""
    can = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}  # older torch cannot say
    types = [torch.float32]
    if torch._C._has_mkldnn and (can.get("avx512_bf16") or can.get("amx_bf16")) and multiplies(torch.bfloat16):
        types.insert(0, torch.bfloat16)
    n, d = space.vectors.shape
    # turning the vectors takes d products each; of a single column torch's int8 product gives other numbers each time
    pays = space.metric != "euclidean" and n >= 8 * d and d >= _MIN_INT8_COLUMNS
    if pays and torch._C._has_mkldnn and (can.get("avx512_vnni") or can.get("amx_int8")) and multiplies(torch.int8):
        types.insert(0, torch.int8)
    return types


def _search(
    space: Space, rows: Tensor, k: int, dtype: torch.dtype, step: Callable[[int], None]
) -> tuple[Tensor, Tensor, Tensor]:
    """(similarity, neighbor, sure): (r, k) each, and (r,) whether the neighbors are proven to be the nearest."""
    keys = _all(space, dtype)
    strip = max(1, min(_STRIP, _CELLS_AT_ONCE // len(keys.rows)))
    maxima = torch.empty(min(strip, len(rows)), len(keys.chunks), dtype=keys.ranks)
    room = keys.room(len(maxima) * _BLOCK)
    similarity, neighbor = torch.empty(len(rows), k), torch.empty(len(rows), k, dtype=torch.int64)
    sure = torch.zeros(len(rows), dtype=torch.bool)
    for start in range(0, len(rows), strip):
        stop = min(start + strip, len(rows))
        similarity[start:stop], neighbor[start:stop], sure[start:stop] = _strip(keys, rows[start:stop], k, maxima, room)
        step(stop)
        if start == 0 and float(sure[:stop].float().mean()) < 1 - _DOUBTFUL:
            break
    return similarity, neighbor, sure


def _strip(keys: Keys, rows: Tensor, k: int, maxima: Tensor, room: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`_search` for a few rows; `maxima` and `room` are for their ranks and products."""
    maxima = maxima[: len(rows)]
    query = keys.query[rows]
    for start in range(0, len(keys.rows), _BLOCK):
        stop = min(start + _BLOCK, len(keys.rows))
        keys.maxima(query, start, stop, out=maxima[:, start // CHUNK : stop // CHUNK], room=room)
    rank, chunks = best_chunks(maxima, k + 1 + (MARGIN_INT8 if keys.ranks == torch.int32 else MARGIN))
    similarity, neighbor = measure(keys, rows, chunks, k)
    if keys.ranks == torch.float32 or chunks.shape[1] == maxima.shape[1]:
        return similarity, neighbor, torch.ones(len(rows), dtype=torch.bool)
    worst = similarity[:, -1]
    product = -worst.square() / 2 if keys.space.metric == "euclidean" else worst
    return similarity, neighbor, product > keys.bound(rows, rank[:, -1])


def _all(space: Space, dtype: torch.dtype) -> Keys:
    """All rows in their order, filled up to whole groups of chunks."""
    rows = torch.arange(len(space))
    fill = torch.full((-len(space) % (CHUNK * GROUP),), -1)
    return keys_of(space, torch.cat([rows, fill]), _BLOCK, dtype)
