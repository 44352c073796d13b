"""Are neighbours alike in x? Cosine across edges against random pairs of the same nodes."""

from __future__ import annotations

from typing import TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import normalize
from torch import Tensor

from ngm._arguments import as_array
from ngm.diagnosis.intervals import Floats, Ids, mean_variance, quantile
from ngm.diagnosis.records import Estimate, Similarity

MAX_SAMPLED = 20_000  # edges, at most, and as many random pairs
_CHUNK_ROWS = 50_000
_MAX_ENTRY = 1e16  # entry of a row whose length float32 can hold

Inputs: TypeAlias = NDArray[np.floating] | sp.csr_array


def read_inputs(x: ArrayLike | Tensor | sp.spmatrix | sp.sparray, rows: int) -> Inputs:
    """X as (n, d) numbers, dense or in compressed rows, with a row per node and no NaN."""
    dense = x.detach().cpu().numpy() if isinstance(x, Tensor) else x
    rows_: Inputs = (
        sp.csr_array(dense) if sp.issparse(dense) else as_array("x", dense, "give (n, d) numbers, or leave x out")
    )
    if rows_.ndim != 2 or not rows_.shape[1]:
        raise ValueError(f"x has shape {rows_.shape}; give (n, d), a row of numbers per node, or leave x out")
    if rows_.shape[0] != rows:
        raise ValueError(f"the graph has {rows} nodes, x has {rows_.shape[0]} rows; give a row per node")
    if rows_.dtype.kind not in "iufb":
        raise ValueError(f"x holds {rows_.dtype}, not numbers; give (n, d) numbers, or leave x out")
    for start in range(0, rows, _CHUNK_ROWS):
        chunk = rows_[start : start + _CHUNK_ROWS]
        entries = cast("NDArray[np.floating]", chunk.data if sp.issparse(chunk) else chunk)
        finite = np.isfinite(entries)
        if not finite.all():
            with np.errstate(all="ignore"):
                sums = np.asarray(chunk.sum(axis=1)).ravel()
            row = start + int(np.argmin(np.isfinite(sums)))
            raise ValueError(f"row {row} of x holds NaN or infinity; fill in or drop such rows")
        largest = float(max(entries.max(initial=0), -entries.min(initial=0))) if entries.dtype.kind == "f" else 0.0
        if largest > _MAX_ENTRY:
            raise ValueError(f"x holds {largest:.3g}, and its rows are too long for float32; scale x down")
    return rows_


def unit_rows(x: Inputs, rows: Ids | slice) -> Inputs:
    """Some rows as float32 of length 1; rows of zeros stay."""
    selected = x[rows]
    scaled: Inputs = normalize(selected.astype(np.float32))
    return scaled


def similarity(ends: Ids, x: Inputs, rng: np.random.Generator) -> Similarity | None:
    """Compares cosines across edges with those of pairs that take the ends of the same edges in another order.

    So nodes come as often in random pairs as in edges, and hubs make no difference. None where there are no edges.

    Args:
        ends: (m, 2) node ids of all edges.
        x: (n, d) inputs.
        rng: Draws edges and pairs.
    """
    if not len(ends):
        return None
    sampled = (
        ends if len(ends) <= MAX_SAMPLED else ends[rng.choice(len(ends), MAX_SAMPLED, replace=False, shuffle=False)]
    )
    pairs = rng.permutation(sampled.ravel()).reshape(-1, 2)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if not len(pairs):
        return None
    edge, random = _cosine(x, sampled), _cosine(x, pairs)
    edge_rank = _rank(edge, random)  # (m,) share of random pairs that each edge is above
    auc = float(edge_rank.mean())
    variance = mean_variance(edge_rank - auc, sampled) + mean_variance(1 - _rank(random, edge) - auc, pairs)
    half_width = quantile() * float(np.sqrt(variance))
    estimate = Estimate(auc, max(0.0, auc - half_width), min(1.0, auc + half_width))
    return Similarity(len(sampled), len(pairs), float(edge.mean()), float(random.mean()), estimate)


def _cosine(x: Inputs, pairs: Ids) -> Floats:
    products = []
    for start in range(0, len(pairs), _CHUNK_ROWS // 10):
        chunk = pairs[start : start + _CHUNK_ROWS // 10]
        first, second = unit_rows(x, chunk[:, 0]), unit_rows(x, chunk[:, 1])
        product = sp.csr_array(first).multiply(second) if sp.issparse(first) else first * second
        products.append(np.asarray(product.sum(axis=1), dtype=np.float64).ravel())
    return np.concatenate(products)


def _rank(values: Floats, others: Floats) -> Floats:
    """(m,) the share of others below each value, equal ones by half."""
    ordered = np.sort(others)
    below, upto = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    rank: Floats = (below + upto) / (2 * len(others))
    return rank
