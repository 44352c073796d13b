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

SAMPLED = 20_000  # edges, at most, and as many random pairs
_ROWS_AT_ONCE = 50_000
_LARGEST = 1e16  # entry of a row whose length float32 can hold

Table: TypeAlias = NDArray[np.floating] | sp.csr_array


def read_table(x: ArrayLike | Tensor | sp.spmatrix | sp.sparray, rows: int) -> Table:
    """X as (n, d) numbers, dense or in compressed rows, with a row per node and no NaN."""
    dense = x.detach().cpu().numpy() if isinstance(x, Tensor) else x
    table: Table = (
        sp.csr_array(dense) if sp.issparse(dense) else as_array("x", dense, "give (n, d) numbers, or leave x out")
    )
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"x has shape {table.shape}; give (n, d), a row of numbers per node, or leave x out")
    if table.shape[0] != rows:
        raise ValueError(f"the graph has {rows} nodes, x has {table.shape[0]} rows; give a row per node")
    if table.dtype.kind not in "iufb":
        raise ValueError(f"x holds {table.dtype}, not numbers; give (n, d) numbers, or leave x out")
    for start in range(0, rows, _ROWS_AT_ONCE):
        part = table[start : start + _ROWS_AT_ONCE]
        entries = cast("NDArray[np.floating]", part.data if sp.issparse(part) else part)
        good = np.isfinite(entries)
        if not good.all():
            with np.errstate(all="ignore"):
                sums = np.asarray(part.sum(axis=1)).ravel()
            row = start + int(np.argmin(np.isfinite(sums)))
            raise ValueError(f"row {row} of x holds NaN or infinity; fill in or drop such rows")
        largest = float(max(entries.max(initial=0), -entries.min(initial=0))) if entries.dtype.kind == "f" else 0.0
        if largest > _LARGEST:
            raise ValueError(f"x holds {largest:.3g}, and its rows are too long for float32; scale x down")
    return table


def unit_rows(table: Table, rows: Ids | slice) -> Table:
    """Some rows as float32 of length 1; rows of zeros stay."""
    part = table[rows]
    scaled: Table = normalize(part.astype(np.float32))
    return scaled


def similarity(ends: Ids, table: Table, rng: np.random.Generator) -> Similarity | None:
    """Compares cosines across edges with those of pairs that take the ends of the same edges in another order.

    So nodes come as often in random pairs as in edges, and hubs make no difference. None where there are no edges.

    Args:
        ends: (m, 2) node ids of all edges.
        table: (n, d) inputs.
        rng: Draws edges and pairs.
    """
    if not len(ends):
        return None
    some = ends if len(ends) <= SAMPLED else ends[rng.choice(len(ends), SAMPLED, replace=False, shuffle=False)]
    pairs = rng.permutation(some.ravel()).reshape(-1, 2)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if not len(pairs):
        return None
    edge, random = _cosine(table, some), _cosine(table, pairs)
    above = _placed(edge, random)  # (m,) share of random pairs that each edge is above
    auc = float(above.mean())
    variance = mean_variance(above - auc, some) + mean_variance(1 - _placed(random, edge) - auc, pairs)
    half = quantile() * float(np.sqrt(variance))
    estimate = Estimate(auc, max(0.0, auc - half), min(1.0, auc + half))
    return Similarity(len(some), len(pairs), float(edge.mean()), float(random.mean()), estimate)


def _cosine(table: Table, pairs: Ids) -> Floats:
    parts = []
    for start in range(0, len(pairs), _ROWS_AT_ONCE // 10):
        some = pairs[start : start + _ROWS_AT_ONCE // 10]
        first, second = unit_rows(table, some[:, 0]), unit_rows(table, some[:, 1])
        product = sp.csr_array(first).multiply(second) if sp.issparse(first) else first * second
        parts.append(np.asarray(product.sum(axis=1), dtype=np.float64).ravel())
    return np.concatenate(parts)


def _placed(values: Floats, others: Floats) -> Floats:
    """(m,) the share of others below each value, equal ones by half."""
    ordered = np.sort(others)
    below, upto = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    share: Floats = (below + upto) / (2 * len(others))
    return share
