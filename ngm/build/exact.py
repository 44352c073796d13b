"""Exact search: every row against every other, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from ngm._processor import multiplies
from ngm.build.neighbor_lists import Step
from ngm.build.ranking import CHUNK, GROUP, MARGIN, MARGIN_INT8, Keys, best_chunks, make_keys, measure
from ngm.build.row_shares import gather_shares, share_of
from ngm.build.space import SearchSpace

_BLOCK_ROWS = 1024  # rows to be found that are multiplied together: the products stay in the cache
_STRIP_ROWS = 512  # rows that look together
_MAX_PRODUCTS = 256_000_000  # products, a quarter of which are kept as maxima together
_MIN_INT8_COLUMNS = 4
_MAX_DOUBTFUL = 0.25  # share of rows to be searched again from which on fewer digits do not pay


def exact_neighbors(
    space: SearchSpace,
    rows: Tensor,
    k: int,
    on_step: Step | None = None,
    dtypes: Sequence[torch.dtype] | None = None,
    over_ranks: bool = False,
) -> tuple[Tensor, Tensor]:
    """Finds the nearest of all rows.

    Args:
        space: The vectors.
        rows: (r,) rows to find neighbors for.
        k: Neighbors per row, below n.
        on_step: Called with (rows done, rows in all) after each strip.
        dtypes: Types to rank in, one after the other: rows in doubt in one are searched again in the next, and the
            last is float32. The result is the same; where not given, those are used that this processor is quick in.
        over_ranks: Whether the processes of a group search together, each for its share of the rows.

    Returns:
        (similarity, neighbor), each (r, k), best first.
    """
    if over_ranks:
        return gather_shares(*exact_neighbors(space, share_of(rows, _STRIP_ROWS), k, on_step, dtypes))
    similarity, neighbor = torch.empty(len(rows), k), torch.empty(len(rows), k, dtype=torch.int64)
    remaining, step = torch.arange(len(rows)), _increasing_progress(on_step, len(rows))
    for dtype in fast_dtypes(space) if dtypes is None else dtypes:
        num_settled = len(rows) - len(remaining)
        similarity[remaining], neighbor[remaining], proven = _search(
            space, rows[remaining], k, dtype, partial(step, num_settled)
        )
        remaining = remaining[~proven]
        if not len(remaining):
            break
    return similarity, neighbor


def _increasing_progress(on_step: Step | None, total: int) -> Callable[[int, int], None]:
    """Passes on (rows settled before + rows done), where it is more than last time."""
    reported = 0

    def step(settled: int, done: int) -> None:
        nonlocal reported
        if on_step is not None and settled + done > reported:
            reported = settled + done
            on_step(reported, total)

    return step


def fast_dtypes(space: SearchSpace) -> list[torch.dtype]:
    """The types that this processor multiplies in hardware, quickest first; elsewhere they are slower than float32."""
    capabilities = (
        torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    )  # older torch cannot say
    dtypes = [torch.float32]
    if (
        torch._C._has_mkldnn
        and (capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
        and multiplies(torch.bfloat16)
    ):
        dtypes.insert(0, torch.bfloat16)
    n, d = space.vectors.shape
    # turning the vectors takes d products each; of a single column torch's int8 product gives other numbers each time
    use_int8 = space.metric != "euclidean" and n >= 8 * d and d >= _MIN_INT8_COLUMNS
    if (
        use_int8
        and torch._C._has_mkldnn
        and (capabilities.get("avx512_vnni") or capabilities.get("amx_int8"))
        and multiplies(torch.int8)
    ):
        dtypes.insert(0, torch.int8)
    return dtypes


def _search(
    space: SearchSpace, rows: Tensor, k: int, dtype: torch.dtype, step: Callable[[int], None]
) -> tuple[Tensor, Tensor, Tensor]:
    """(similarity, neighbor, sure): (r, k) each, and (r,) whether the neighbors are proven to be the nearest."""
    keys = _all_keys(space, dtype)
    strip = max(1, min(_STRIP_ROWS, _MAX_PRODUCTS // len(keys.rows)))
    maxima = torch.empty(min(strip, len(rows)), len(keys.chunks), dtype=keys.ranks)
    buffer = keys.buffer(len(maxima) * _BLOCK_ROWS)
    similarity, neighbor = torch.empty(len(rows), k), torch.empty(len(rows), k, dtype=torch.int64)
    proven = torch.zeros(len(rows), dtype=torch.bool)
    for start in range(0, len(rows), strip):
        stop = min(start + strip, len(rows))
        similarity[start:stop], neighbor[start:stop], proven[start:stop] = _strip(
            keys, rows[start:stop], k, maxima, buffer
        )
        step(stop)
        if start == 0 and float(proven[:stop].float().mean()) < 1 - _MAX_DOUBTFUL:
            break
    return similarity, neighbor, proven


def _strip(keys: Keys, rows: Tensor, k: int, maxima: Tensor, buffer: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`_search` for a few rows; `maxima` and `buffer` are for their ranks and products."""
    maxima = maxima[: len(rows)]
    query = keys.query[rows]
    for start in range(0, len(keys.rows), _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, len(keys.rows))
        keys.maxima(query, start, stop, out=maxima[:, start // CHUNK : stop // CHUNK], buffer=buffer)
    rank, chunks = best_chunks(maxima, k + 1 + (MARGIN_INT8 if keys.ranks == torch.int32 else MARGIN))
    similarity, neighbor = measure(keys, rows, chunks, k)
    if keys.ranks == torch.float32 or chunks.shape[1] == maxima.shape[1]:
        return similarity, neighbor, torch.ones(len(rows), dtype=torch.bool)
    kth_similarity = similarity[:, -1]
    product = -kth_similarity.square() / 2 if keys.space.metric == "euclidean" else kth_similarity
    return similarity, neighbor, product > keys.bound(rows, rank[:, -1])


def _all_keys(space: SearchSpace, dtype: torch.dtype) -> Keys:
    """All rows in their order, filled up to whole groups of chunks."""
    rows = torch.arange(len(space))
    fill = torch.full((-len(space) % (CHUNK * GROUP),), -1)
    return make_keys(space, torch.cat([rows, fill]), _BLOCK_ROWS, dtype)
