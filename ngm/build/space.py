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
_CHUNK_ROWS = 65_536  # rows of the input that are turned to float32 together


@dataclass(frozen=True)
class SearchSpace:
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

    def distance(self, rows: Tensor, candidates: Tensor) -> Tensor:
        """(r, c) Euclidean distance of each of (r,) rows to its (r, c) others, not from products: no digit is lost."""
        difference = self.vectors[rows][:, None] - self.vectors[candidates]  # (r, c, d)
        length: Tensor = torch.linalg.vector_norm(difference, dim=-1)
        return length


def make_space(x: ArrayLike | Tensor, k: int, metric: Metric = "cosine") -> SearchSpace:
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
    array = x.detach().cpu() if isinstance(x, Tensor) else as_array("x", x, "give (n, d), one vector per node")
    check_real(array)
    shape = tuple(array.shape)
    if len(shape) != 2:
        raise ValueError(f"x has shape {shape}; give (n, d), one vector per node")
    check_k(k, shape[0])
    vectors = _float32(array, metric)
    if metric != "euclidean":
        return SearchSpace(metric, vectors, vectors, vectors)
    half_norm = vectors.square().sum(dim=1, keepdim=True) / 2  # uv - vv/2 - uu/2 is minus half the squared distance
    if not torch.isfinite(half_norm).all():
        row = int((~torch.isfinite(half_norm)).nonzero()[0, 0])
        raise ValueError(f"row {row} of x is too far from the others for float32; scale x down")
    ones = torch.ones_like(half_norm)
    return SearchSpace(
        metric, vectors, torch.cat([vectors, ones, -half_norm], dim=1), torch.cat([vectors, -half_norm, ones], dim=1)
    )


def check_real(x: Tensor | NDArray[np.generic] | sp.sparray) -> None:
    """Raises unless x holds real numbers."""
    real = not x.is_complex() if isinstance(x, Tensor) else x.dtype.kind in "iufb"
    if not real:
        texts = "; text_graph takes texts" if not isinstance(x, Tensor) and x.dtype.kind in "UT" else ""
        raise ValueError(f"x is of type {x.dtype}; give real numbers{texts}")


def check_k(k: int, rows: int) -> None:
    """Raises unless k is at least 1 and below the number of rows."""
    if not isinstance(k, Integral) or isinstance(k, bool):
        raise ValueError(f"k is {k!r}; it must be a whole number")
    if not 1 <= k < rows:
        raise ValueError(f"k is {k} and x has {rows} rows; k must be at least 1 and below the number of rows")


def _float32(array: Tensor | NDArray[np.generic], metric: Metric) -> Tensor:
    """(n, d) float32, scaled or moved for the metric; in parts, so that a mapped file is never in memory twice."""
    starts = range(0, len(array), _CHUNK_ROWS)
    mean = torch.zeros(array.shape[1], dtype=torch.float64)
    if metric == "euclidean":  # far from the origin, uv - vv/2 - uu/2 would lose all its digits
        mean = sum((_float_chunk(array, s).double().sum(dim=0) for s in starts), mean) / len(array)
    vectors = torch.empty(tuple(array.shape))
    for start in starts:
        chunk = _float_chunk(array, start)
        if metric == "cosine":
            length = torch.linalg.vector_norm(chunk, dim=1, keepdim=True)
            if not (length > 0).all():
                row = start + int((length == 0).nonzero()[0, 0])
                raise ValueError(
                    f"row {row} of x is zero, which has no direction; drop such rows or use metric='euclidean'"
                )
            if not torch.isfinite(length).all():
                row = start + int((~torch.isfinite(length)).nonzero()[0, 0])
                raise ValueError(f"row {row} of x is too long for {chunk.dtype}; scale x down")
            chunk = chunk / length
        vectors[start : start + len(chunk)] = chunk - mean if metric == "euclidean" else chunk
    return vectors


def _float_chunk(array: Tensor | NDArray[np.generic], start: int) -> Tensor:
    """Rows from `start` on, at most `_CHUNK_ROWS`, as float32 or float64; refuses those that are not finite."""
    rows = array[start : start + _CHUNK_ROWS]
    chunk = rows if isinstance(rows, Tensor) else as_numbers("x", np.array(rows), "give real numbers")
    chunk = chunk if chunk.dtype == torch.float64 else chunk.float()
    finite = torch.isfinite(chunk).all(dim=1)
    if not finite.all():
        row = start + int((~finite).nonzero()[0, 0])
        raise ValueError(f"row {row} of x holds NaN or infinity; fill in or drop such rows")
    return chunk
