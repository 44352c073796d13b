"""Graphs that join each row to the rows most like it, by exact search in blocks."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ngm.graph import Graph

Metric = Literal["cosine", "euclidean", "inner_product"]
FLOOR = 1e-6  # weight of a node's best edge where its similarity is not above 0
_CELLS_AT_ONCE = 64_000_000  # entries of the similarity matrix that are in memory together


def knn_graph(x: ArrayLike | Tensor, k: int = 5, metric: Metric = "cosine") -> Graph:
    """Joins each row to its `k` most similar rows, and so to every row that chose it.

    Args:
        x: (n, d) vectors; for "cosine" they need not be normalized.
        k: Neighbors chosen per node; a node may get more when others choose it.
        metric: "cosine" and "inner_product" weigh an edge by that similarity, "euclidean" by
            1 / (1 + distance).

    Returns:
        Undirected graph on n nodes. Pairs at or below zero similarity are left out, except that every node keeps its
        best neighbor, at a weight of at least `FLOOR`: no node is left alone.

    >>> knn_graph(torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), k=1).edges.tolist()
    [[0, 1], [1, 2]]
    """
    vectors = _checked(x, k, metric)
    n = len(vectors)
    rows = max(1, _CELLS_AT_ONCE // n)
    found = [_nearest(vectors, start, min(start + rows, n), k, metric) for start in range(0, n, rows)]
    similarity, neighbor = (torch.cat(parts) for parts in zip(*found, strict=True))  # (n, k) each, best first
    weight = 1 / (1 + (-similarity).clamp(min=0).sqrt()) if metric == "euclidean" else similarity
    kept = weight > 0
    kept[:, 0] = True
    edges = torch.stack([torch.arange(n)[:, None].expand(-1, k)[kept], neighbor[kept]], dim=1)
    return Graph.from_edges(edges, weight[kept].clamp(min=FLOOR), num_nodes=n)


def _nearest(vectors: Tensor, start: int, stop: int, k: int, metric: Metric) -> tuple[Tensor, Tensor]:
    """(similarity, neighbor) of rows start to stop, each (rows, k), best first; squared distances count negative."""
    similarity = vectors[start:stop] @ vectors.t()  # (rows, n)
    if metric == "euclidean":
        squares = vectors.square().sum(dim=1)
        similarity = 2 * similarity - squares[start:stop, None] - squares
    similarity[torch.arange(stop - start), torch.arange(start, stop)] = -torch.inf  # not one's own neighbor
    best = similarity.topk(k, dim=1)
    return best.values, best.indices


def _checked(x: ArrayLike | Tensor, k: int, metric: str) -> Tensor:
    vectors = x if isinstance(x, Tensor) else torch.from_numpy(np.require(x, requirements=["C", "W"]))
    if vectors.dtype != torch.float64:
        vectors = vectors.float()
    if metric not in ("cosine", "euclidean", "inner_product"):
        raise ValueError(f"metric is {metric!r}; choose 'cosine', 'euclidean' or 'inner_product'")
    if vectors.ndim != 2:
        raise ValueError(f"x has shape {tuple(vectors.shape)}; give (n, d), one vector per node")
    if not 1 <= k < len(vectors):
        raise ValueError(f"k is {k} and x has {len(vectors)} rows; k must be at least 1 and below the number of rows")
    finite = torch.isfinite(vectors).all(dim=1)
    if not finite.all():
        row = int((~finite).nonzero()[0, 0])
        raise ValueError(f"row {row} of x holds NaN or infinity; fill in or drop such rows")
    if metric == "cosine":
        length = torch.linalg.vector_norm(vectors, dim=1)
        if not (length > 0).all():
            row = int((length == 0).nonzero()[0, 0])
            raise ValueError(
                f"row {row} of x is zero, which has no direction; drop such rows or use metric='euclidean'"
            )
        vectors = vectors / length[:, None]
    if metric == "euclidean":
        vectors = vectors - vectors.mean(dim=0)  # far from the origin, 2uv - uu - vv would lose all its digits
    return vectors.float()
