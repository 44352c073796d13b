"""The kernel of every search: rank chunks of four rows by their best product, then measure the best chunks in full.

To sort n products takes longer than to compute them. So only the maximum of each four is kept, and the rows of the few
best chunks are measured again in float32. Nothing is lost: the m best rows lie in the m best chunks. Products in
bfloat16 take half the time of float32, and in int8 a quarter. What they may be wrong by has a bound: rows
whose neighbors are proven are separated from rows to search again with more digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ngm.build.space import SearchSpace

CHUNK = 4  # rows that share a maximum
GROUP = 8  # chunks that share a maximum while the best chunks are looked for
MARGIN = 8  # chunks that are measured beyond k + 1: room for rounding, and for the places that only fill up
MARGIN_INT8 = 16  # more, where the rounding is rougher
_MAX_GATHERED = 4_000_000  # entries of the vectors that are copied together to be measured


@dataclass(frozen=True)
class Keys:
    """The rows to be found, in the order and form in which they are multiplied.

    Attributes:
        space: The vectors.
        rows: (N,) int64 row of the space at each place; -1 where a place only fills up.
        chunks: (N / 4, 4 D) float32, the keys, four to a chunk.
        coarse: (N, D') int8, bfloat16 or float32; in each block of c places, chunk j is at j, j + c/4, j + c/2 and
            j + 3c/4.
        query: (n, D') of the same type.
        slack: (n,) float32, how far a product of `query` and `coarse` may be from that of the vectors.
        unit: Value of a product of 1.
    """

    space: SearchSpace
    rows: Tensor
    chunks: Tensor
    coarse: Tensor
    query: Tensor
    slack: Tensor
    unit: float = 1.0

    @property
    def ranks(self) -> torch.dtype:
        """Type of the maxima: bfloat16 is compared by its bits, which takes a quarter of the time."""
        return {torch.int8: torch.int32, torch.bfloat16: torch.int16}.get(self.coarse.dtype, torch.float32)

    def buffer(self, products: int) -> Tensor:
        """Memory for this number of products."""
        return torch.empty(products, dtype=torch.int32 if self.coarse.dtype == torch.int8 else self.coarse.dtype)

    def maxima(self, query: Tensor, start: int, stop: int, out: Tensor, buffer: Tensor) -> None:
        """Writes the rank of the best product of each query in each chunk of places start to stop.

        Args:
            query: (r, D') queries.
            start: First place.
            stop: Place behind the last.
            out: (r, (stop - start) / 4), where the ranks go.
            buffer: For at least r * (stop - start) products; fresh memory for each block takes longer than they do.
        """
        product = buffer[: len(query) * (stop - start)].view(len(query), -1)
        multiply = torch._int_mm if self.ranks == torch.int32 else torch.mm
        multiply(query, self.coarse[start:stop].t(), out=product)
        if self.ranks == torch.int16:
            product = product.view(torch.int16)  # the order of the numbers from 0 up, any order below
            if self.space.metric == "euclidean":
                product.bitwise_not_()  # half squared distances: the least is the best
        torch.amax(product[: len(out)].view(len(out), CHUNK, -1), dim=1, out=out)

    def bound(self, rows: Tensor, rank: Tensor) -> Tensor:
        """(r,) what the exact product of a query is at most with all that is ranked at or below `rank` (r,)."""
        if self.ranks == torch.float32:
            return rank
        if self.ranks == torch.int32:
            return rank * self.unit + self.slack[rows]
        distance = self.space.metric == "euclidean"
        bits = rank.bitwise_not() if distance else rank
        value = bits.view(torch.bfloat16).float()
        upper = (-value if distance else value) + value.abs() / 255 + self.slack[rows]  # it was rounded to 8 bits
        return upper.masked_fill(bits < 0, torch.inf)  # below 0 the bits are in another order


def make_keys(space: SearchSpace, rows: Tensor, block: int, dtype: torch.dtype) -> Keys:
    """Lays the keys out for products in `dtype`.

    Args:
        space: The vectors.
        rows: (N,) row at each place, -1 to fill up with the place before; N is a multiple of 4.
        block: Places that are multiplied together; a multiple of 4.
        dtype: torch.int8 (not for "euclidean"), torch.bfloat16 or torch.float32.
    """
    filled = torch.arange(len(rows)).masked_fill_(rows < 0, 0).cummax(dim=0).values
    source = rows[filled]
    query, key, slack, unit = space.query, space.key, torch.zeros(1), 1.0
    if dtype == torch.int8:
        query, slack, unit = _quantize_int8(space)
        key = query
    elif dtype == torch.bfloat16:
        query, key, slack = _round_bfloat16(space)
    coarse = torch.empty(len(rows), key.shape[1], dtype=dtype)
    for start in range(0, len(rows), block):
        block_keys = key[source[start : start + block]]
        coarse[start : start + block] = (
            block_keys.view(-1, CHUNK, key.shape[1]).transpose(0, 1).reshape(block_keys.shape)
        )
    return Keys(space, rows, space.key[source].view(len(rows) // CHUNK, -1), coarse, query, slack, unit)


def _quantize_int8(space: SearchSpace) -> tuple[Tensor, Tensor, float]:
    """(vectors as whole numbers up to 127, slack, unit of a product), after a turn that evens out large columns."""
    width = space.vectors.shape[1]
    rotation = torch.linalg.qr(torch.randn(width, width, generator=torch.Generator().manual_seed(0)))[0]
    x = space.vectors @ rotation  # products stay as they are
    step = float(x.abs().max().clamp(min=1e-30)) / 127
    quantized = (x / step).round()
    length, error = torch.linalg.vector_norm(x, dim=1), torch.linalg.vector_norm(x - quantized * step, dim=1)
    slack = error * length.max() + (length + error) * error.max()
    return quantized.to(torch.int8), slack + width * 2.0**-20 * length * length.max(), step * step


def _round_bfloat16(space: SearchSpace) -> tuple[Tensor, Tensor, Tensor]:
    """(query, key, slack) in bfloat16; for "euclidean" their products are half squared distances, at least 0."""
    x = space.vectors
    x_bf16 = x.bfloat16()
    length, error = torch.linalg.vector_norm(x, dim=1), torch.linalg.vector_norm(x - x_bf16.float(), dim=1)
    slack = error * length.max() + (length + error) * error.max()
    size = length * length.max()
    query = key = x_bf16
    if space.metric == "euclidean":
        half_norm = x.square().sum(dim=1) / 2
        size = size + half_norm + half_norm.max()
        pieces = [half_norm.bfloat16()]
        for _ in range(2):  # three parts of 8 bits hold all 24 of a float32
            pieces.append((half_norm - torch.stack(pieces).float().sum(dim=0)).bfloat16())
        square = torch.stack(pieces, dim=1)  # (n, 3)
        ones = torch.ones_like(square)
        query, key = torch.cat([-x_bf16, ones, square], dim=1), torch.cat([x_bf16, square, ones], dim=1)
    return query, key, slack + query.shape[1] * 2.0**-21 * size  # and the rounding of the sums


def best_chunks(maxima: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """(rank, chunk) of the `count` best of (r, w) maxima, each (r, count), best first."""
    rows, width = maxima.shape
    if width % GROUP or width <= count * GROUP:
        best = maxima.topk(min(count, width), dim=1)
        return best.values, best.indices
    groups = maxima.view(rows, GROUP, -1).amax(dim=1).topk(count, dim=1).indices  # hold the best, as chunks do
    chunks = (groups[:, :, None] + torch.arange(GROUP) * (width // GROUP)).view(rows, -1)
    best = maxima.gather(1, chunks).topk(count, dim=1)
    return best.values, chunks.gather(1, best.indices)


def measure(keys: Keys, rows: Tensor, chunks: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """(similarity, neighbor), each (r, k), best first, among the rows of (r, m) chunks; -inf and -1 where too few."""
    chunk_rows = max(1, _MAX_GATHERED // (chunks.shape[1] * keys.chunks.shape[1]))
    results = [
        _measure(keys, r, c, k)
        for r, c in zip(torch.split(rows, chunk_rows), torch.split(chunks, chunk_rows), strict=True)
    ]
    similarity, neighbor = zip(*results, strict=True)
    return torch.cat(similarity), torch.cat(neighbor)


def _measure(keys: Keys, rows: Tensor, chunks: Tensor, k: int) -> tuple[Tensor, Tensor]:
    candidates = keys.rows.view(-1, CHUNK).index_select(0, chunks.view(-1)).view(len(rows), -1)  # (r, 4 m)
    vectors = keys.chunks.index_select(0, chunks.view(-1)).view(*candidates.shape, -1)
    return nearest(keys.space, rows, candidates, vectors, k)


def nearest(space: SearchSpace, rows: Tensor, candidates: Tensor, vectors: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The `k` best of the others of each row, in float32.

    Args:
        space: The vectors.
        rows: (r,) rows.
        candidates: (r, c) distinct rows to choose from; the row itself and -1 are passed over.
        vectors: (r, c, D) their keys.
        k: How many; at most c.

    Returns:
        (similarity, neighbor), each (r, k), best first; -inf and -1 where there are too few.
    """
    product = torch.bmm(space.query[rows][:, None], vectors.transpose(1, 2))[:, 0]  # (r, c)
    product.masked_fill_((candidates == rows[:, None]) | (candidates < 0), -torch.inf)
    remeasure = space.metric == "euclidean"
    best = product.topk(min(k + MARGIN, candidates.shape[1]) if remeasure else k, dim=1)
    neighbor = candidates.gather(1, best.indices).masked_fill_(best.values == -torch.inf, -1)
    if not remeasure:
        return best.values, neighbor
    distance = space.distance(rows, neighbor.clamp(min=0)).masked_fill_(neighbor < 0, torch.inf)
    order = distance.sort(dim=1, stable=True).indices[:, :k]
    return -distance.gather(1, order), neighbor.gather(1, order)
