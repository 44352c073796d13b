"""Graphs that join each sparse row, such as a text's TF-IDF, to the rows most like it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from sparse_dot_topn import sp_matmul_topn
from torch import Tensor

from ngm.build.knn import neighbor_graph
from ngm.build.neighbor_lists import Step
from ngm.build.neighbors import Neighbors
from ngm.build.row_shares import gather_shares, share_of
from ngm.build.space import check_k, check_real
from ngm.build.weights import Join, check_edge_options
from ngm.choices import Weight
from ngm.graph import Graph

_CHUNK_ROWS = 2048


def sparse_graph(
    x: sp.spmatrix | sp.sparray,
    k: int = 5,
    *,
    join: Join = "union",
    weight: Weight = "similarity",
    max_degree: int | None = None,
    on_step: Step | None = None,
) -> Graph:
    """Joins each sparse row, such as the TF-IDF of a text, to its `k` most similar rows by cosine; exact.

    Args:
        x: (n, d) scipy sparse, in any format; rows need not be normalized, and none may be zero.
        k: Neighbors chosen per node; a node may get more when others choose it, and fewer when it is like fewer.
        join: As for `knn_graph`.
        weight: As for `knn_graph`.
        max_degree: As for `knn_graph`.
        on_step: As for `knn_graph`.

    Returns:
        Undirected graph on n nodes. Pairs at or below zero cosine are left out: a row that shares no column with any
        other has no edges.

    >>> sparse_graph(sp.csr_array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), k=1).edges.tolist()
    [[0, 1]]
    """
    check_edge_options("cosine", join, weight, max_degree)
    neighbors = sparse_neighbors(x, k, on_step)
    graph = neighbor_graph(neighbors, join=join, weight=weight, max_degree=max_degree)
    return Graph(graph.num_nodes, graph.edges, graph.weight)  # rows like no other were self loops, which do not count


def sparse_neighbors(
    x: sp.spmatrix | sp.sparray, k: int = 5, on_step: Step | None = None, over_ranks: bool = False
) -> Neighbors:
    """Finds the `k` rows with the largest cosine of each sparse row.

    Args:
        x: As for `sparse_graph`, like the next two.
        k: Likewise.
        on_step: Likewise.
        over_ranks: As for `nearest_neighbors`.

    Returns:
        Neighbors, all of them; where fewer than k rows have a cosine above 0, a row itself at 0 fills up.
    """
    similarity, neighbor = strongest(unit_rows(x, k), k, on_step, over_ranks)
    return Neighbors(similarity, neighbor, "cosine", "exact", 1.0, 0)


def strongest(
    rows: sp.csr_array, k: int, on_step: Step | None = None, over_ranks: bool = False
) -> tuple[Tensor, Tensor]:
    """Finds for each row the at most `k` others with the largest inner product above 0.

    Memory is that of the rows and of the result: of the n * n products only a row at a time is held.

    Args:
        rows: (n, d) float32.
        k: Others chosen per row.
        on_step: Called with (rows done, n).
        over_ranks: Whether the processes of a group search together, each for its share of the rows.

    Returns:
        (product, neighbor), each (n, k), best first; where a row has fewer, 0 and the row itself.
    """
    n = rows.shape[0]
    index = np.int32 if max(rows.nnz, *rows.shape) < np.iinfo(np.int32).max else np.int64
    columns = sp.csr_matrix(rows.T.tocsr())  # sparse_dot_topn knows matrices, not arrays
    product, neighbor = np.zeros((n, k), dtype=np.float32), np.repeat(np.arange(n)[:, None], k, axis=1)
    own = share_of(torch.arange(n), _CHUNK_ROWS) if over_ranks else torch.arange(n)
    for ids in torch.split(own, _CHUNK_ROWS) if rows.nnz and len(own) else ():
        start = int(ids[0])
        block = sp.csr_matrix(rows[start : start + len(ids)])
        best = sp_matmul_topn(
            block, columns, k + 1, threshold=0.0, sort=True, n_threads=torch.get_num_threads(), idx_dtype=index
        )  # one more than k, since a row is most often like itself
        row = np.repeat(np.arange(start, start + block.shape[0]), np.diff(best.indptr))
        is_other = row != best.indices
        num_others = np.append(0, np.cumsum(is_other))
        position = num_others[1:] - num_others[best.indptr[row - start]] - 1  # among the others that its row found
        selected = is_other & (position < k)
        product[row[selected], position[selected]] = best.data[selected]
        neighbor[row[selected], position[selected]] = best.indices[selected]
        if on_step is not None:
            on_step(int(ids[-1] - own[0]) + 1, len(own))
    found = torch.from_numpy(product), torch.from_numpy(neighbor)
    return gather_shares(*(values[own] for values in found)) if over_ranks else found


def unit_rows(x: sp.spmatrix | sp.sparray, k: int) -> sp.csr_array:
    """(n, d) float32 rows of length 1, after a check of what was given."""
    if not sp.issparse(x):
        raise ValueError(f"x is of type {type(x).__name__}; give scipy sparse rows; knn_graph takes dense ones")
    check_real(x)
    check_k(k, x.shape[0])
    rows = sp.csr_array(x).astype(np.float64)  # a copy
    rows.sum_duplicates()
    n = rows.shape[0]
    row_of = np.repeat(np.arange(n), np.diff(rows.indptr))
    finite = np.isfinite(rows.data)
    if not finite.all():
        raise ValueError(f"row {row_of[~finite][0]} of x holds NaN or infinity; fill in or drop such rows")
    with np.errstate(over="ignore"):
        length = np.sqrt(np.bincount(row_of, rows.data**2, minlength=n))
    if not np.isfinite(length).all():
        raise ValueError(f"row {np.argmin(np.isfinite(length))} of x is too long for float64; scale x down")
    zero = np.flatnonzero(length == 0)
    if len(zero):
        more_text = f" (and {len(zero) - 1:,} more)" if len(zero) > 1 else ""
        raise ValueError(f"row {zero[0]} of x{more_text} is zero, which has no direction; drop such rows")
    rows.data /= length[row_of]
    return rows.astype(np.float32)
