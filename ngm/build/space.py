"""Vectors made ready for search: checked, scaled for the metric, and similar where a matrix product is large."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._arguments import as_array, as_numbers
from ngm.choices import Metric

METRICS = ("cosine", "euclidean", "inner_product")
_ROWS_AT_ONCE = 65_536  # rows of the input that are turned to float32 together


@dataclass(frozen=True)
class Space:
    """Rows whose similarity is `query @ key.t()`.

    Attributes:
        metric: What the similarity stands for.
        vectors: (n, d) float32; of length one for "cosine", around their mean for "euclidean".
        query: (n, D) float32; the vectors, for "euclidean" with two columns more.
        key: (n, D) float32; query @ key is the cosine, the inner product, or minus half the squared distance.
    """

    metric: Metric
    vectors: Tensor
    query: Tensor
    key: Tensor

    def __len__(self) -> int:
        """Number of rows n."""
        return len(self.vectors)

    def distance(self, rows: Tensor, others: Tensor) -> Tensor:
        """(r, c) Euclidean distance of each of (r,) rows to its (r, c) others, not from products: no digit is lost."""
        difference = self.vectors[rows][:, None] - self.vectors[others]  # (r, c, d)
        length: Tensor = torch.linalg.vector_norm(difference, dim=-1)
        return length


def space_of(x: ArrayLike | Tensor, k: int, metric: Metric = "cosine") -> Space:
    """Checks the vectors and makes them ready.

    Args:
        x: (n, d) vectors of any real type, in memory or mapped from a file; only a float32 copy is made.
        k: Neighbors that will be asked for; at least 1 and below n.
        metric: "cosine", "euclidean" or "inner_product".
    """
    if metric not in METRICS:
        raise ValueError(f"metric is {metric!r}; choose 'cosine', 'euclidean' or 'inner_product'")
    if sp.issparse(x) or (isinstance(x, Tensor) and x.layout != torch.strided):
        raise ValueError("x is sparse; sparse_graph takes scipy sparse rows, and x.toarray() or x.to_dense() is dense")
    table = x.detach().cpu() if isinstance(x, Tensor) else as_array("x", x, "give (n, d), one vector per node")
    check_real(table)
    shape = tuple(table.shape)
    if len(shape) != 2:
        raise ValueError(f"x has shape {shape}; give (n, d), one vector per node")
    check_k(k, shape[0])
    vectors = _float32(table, metric)
    if metric != "euclidean":
        return Space(metric, vectors, vectors, vectors)
    half = vectors.square().sum(dim=1, keepdim=True) / 2  # uv - vv/2 - uu/2 is minus half the squared distance
    if not torch.isfinite(half).all():
        row = int((~torch.isfinite(half)).nonzero()[0, 0])
        raise ValueError(f"row {row} of x is too far from the others for float32; scale x down")
    one = torch.ones_like(half)
    return Space(metric, vectors, torch.cat([vectors, one, -half], dim=1), torch.cat([vectors, -half, one], dim=1))


def check_real(x: Tensor | NDArray[np.generic] | sp.sparray) -> None:
    """Refuses what is not made of real numbers."""
    real = not x.is_complex() if isinstance(x, Tensor) else x.dtype.kind in "iufb"
    if not real:
        texts = "; text_graph takes texts" if not isinstance(x, Tensor) and x.dtype.kind in "UT" else ""
        raise ValueError(f"x is of type {x.dtype}; give real numbers{texts}")


def check_k(k: int, rows: int) -> None:
    """Refuses a number of neighbors that so many rows do not have."""
    if not isinstance(k, Integral) or isinstance(k, bool):
        raise ValueError(f"k is {k!r}; it must be a whole number")
    if not 1 <= k < rows:
        raise ValueError(f"k is {k} and x has {rows} rows; k must be at least 1 and below the number of rows")


def _float32(table: Tensor | NDArray[np.generic], metric: Metric) -> Tensor:
    """(n, d) float32, scaled or moved for the metric; in parts, so that a mapped file is never in memory twice."""
    starts = range(0, len(table), _ROWS_AT_ONCE)
    mean = torch.zeros(table.shape[1], dtype=torch.float64)
    if metric == "euclidean":  # far from the origin, uv - vv/2 - uu/2 would lose all its digits
        mean = sum((_part(table, s).double().sum(dim=0) for s in starts), mean) / len(table)
    vectors = torch.empty(tuple(table.shape))
    for start in starts:
        part = _part(table, start)
        if metric == "cosine":
            length = torch.linalg.vector_norm(part, dim=1, keepdim=True)
            if not (length > 0).all():
                row = start + int((length == 0).nonzero()[0, 0])
                raise ValueError(
                    f"row {row} of x is zero, which has no direction; drop such rows or use metric='euclidean'"
                )
            if not torch.isfinite(length).all():
                row = start + int((~torch.isfinite(length)).nonzero()[0, 0])
                raise ValueError(f"row {row} of x is too long for {part.dtype}; scale x down")
            part = part / length
        vectors[start : start + len(part)] = part - mean if metric == "euclidean" else part
    return vectors


def _part(table: Tensor | NDArray[np.generic], start: int) -> Tensor:
    """Rows from `start` on, at most `_ROWS_AT_ONCE`, as float32 or float64; refuses those that are not finite."""
    rows = table[start : start + _ROWS_AT_ONCE]
    part = rows if isinstance(rows, Tensor) else as_numbers("x", np.array(rows), "give real numbers")
    part = part if part.dtype == torch.float64 else part.float()
    finite = torch.isfinite(part).all(dim=1)
    if not finite.all():
        row = start + int((~finite).nonzero()[0, 0])
        raise ValueError(f"row {row} of x holds NaN or infinity; fill in or drop such rows")
    return part
