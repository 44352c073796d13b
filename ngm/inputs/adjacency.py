"""Rows of the adjacency matrix as inputs (figure 2 of the paper), sampled neighbours, and inputs put side by side.

Everything here has a row per node and stays sparse where it is: `ngm.networks.FFNN` takes sparse rows at a cost in
proportion to their entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm.graph import Graph

Table: TypeAlias = "NDArray[np.float32] | sp.csr_array"


def adjacency_rows(graph: Graph | sp.csr_array, weighted: bool = False) -> sp.csr_array:
    """The row of each node in the adjacency matrix, with its own index set, as figure 2 of the paper has it.

    Args:
        graph: The graph, where a directed edge counts for its source; or (b, n) `links` of new nodes, which have no
            index of their own.
        weighted: Whether a neighbor's entry is the weight of the edge; else it is 1. A node's own entry is always 1.

    Returns:
        (n, n) float32, or (b, n) for links.

    >>> adjacency_rows(Graph.from_edges([[0, 1], [1, 2]])).toarray().tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    """
    rows = graph.to_scipy() if isinstance(graph, Graph) else sp.csr_array(graph, dtype=np.float32, copy=True)
    rows.eliminate_zeros()  # an edge of weight 0 joins nothing
    if not weighted:
        rows.data = np.ones(rows.nnz, dtype=np.float32)
    if isinstance(graph, Graph):
        rows = (rows + sp.eye_array(graph.num_nodes, dtype=np.float32, format="csr")).tocsr()
    rows.sort_indices()
    return rows


def neighborhoods(graph: Graph, size: int = 10, seed: int = 0) -> NDArray[np.int64]:
    """Draws neighbors of each node, without replacement and in proportion to their weights.

    The paper's third way around wide inputs is to sample the neighbourhood or context. These are ids for a network with
    a table of node vectors (`torch.nn.EmbeddingBag`), a constant number whatever the degree; `sampled_rows` makes rows
    of them. A context in the sense of random walks is a row of `random_walks`, which is of the same form.

    Args:
        graph: Weighted; edges of weight 0 are left out. Where directed, the nodes that a node points to.
        size: Nodes in each neighborhood.
        seed: Same seed, same neighborhoods.

    Returns:
        (n, size) node ids. A node with fewer neighbors has all of them, and then itself up to the end of the row.

    >>> neighborhoods(Graph.from_edges([[0, 1], [0, 2]]), size=3).tolist()
    [[1, 2, 0], [0, 1, 1], [0, 2, 2]]
    """
    if size < 1:
        raise ValueError(f"size is {size}; it must be at least 1")
    offsets, neighbors, edge = (part.numpy() for part in graph.csr)
    weight = graph.weight.numpy()[edge]
    with np.errstate(divide="ignore"):
        arrival = np.random.default_rng(seed).exponential(size=len(edge)) / weight  # earlier the heavier; never at 0
    source = np.repeat(np.arange(graph.num_nodes), np.diff(offsets))
    order = np.lexsort((arrival, source))
    place = np.arange(len(order)) - offsets[source[order]]
    sample = order[(place < size) & np.isfinite(arrival[order])]
    sample.sort()  # by node, and by neighbor within
    count = np.bincount(source[sample], minlength=graph.num_nodes)
    neighborhood = np.repeat(np.arange(graph.num_nodes)[:, None], size, axis=1)
    neighborhood[np.arange(size) < count[:, None]] = neighbors[sample]
    return neighborhood


def sampled_rows(graph: Graph, size: int = 10, seed: int = 0) -> sp.csr_array:
    """`adjacency_rows` of a sample: 1 at a node's own index and at those of its `neighborhoods`.

    Args:
        graph: See `neighborhoods`.
        size: The most neighbors that a row has.
        seed: Same seed, same rows.

    Returns:
        (n, n) float32 with at most size + 1 entries a row.
    """
    ids = neighborhoods(graph, size, seed)
    self_ids = np.arange(graph.num_nodes)
    is_sampled = ids != self_ids[:, None]
    offsets = np.concatenate([[0], np.cumsum(is_sampled.sum(axis=1))])
    ones = np.ones(offsets[-1], dtype=np.float32)
    rows = sp.csr_array((ones, ids[is_sampled], offsets), shape=graph.shape)
    return (rows + sp.eye_array(graph.num_nodes, dtype=np.float32, format="csr")).tocsr()


def concat(*parts: ArrayLike | Tensor | sp.csr_array, scale: Sequence[float] | None = None) -> Table:
    """Puts inputs side by side: those made from the graph beside the features one has.

    Args:
        parts: Each with a row per node: (n, d) or (n,), dense or sparse.
        scale: A factor for each part; 1 where not given.

    Returns:
        (n, sum of d) float32: sparse rows where any part is sparse, else an array.

    >>> concat(np.eye(2), [[5], [6]], scale=[1, 10]).tolist()
    [[1.0, 0.0, 50.0], [0.0, 1.0, 60.0]]
    """
    if not parts:
        raise ValueError("concat needs at least one array with a row per node")
    if scale is not None and len(scale) != len(parts):
        raise ValueError(f"scale has {len(scale)} factors, but there are {len(parts)} parts; give one for each")
    tables = [as_table(part, f"part {i}") for i, part in enumerate(parts)]
    lengths = [table.shape[0] for table in tables]
    if len(set(lengths)) != 1:
        raise ValueError(f"parts have {', '.join(map(str, lengths))} rows; give a row per node in each")
    scaled = [
        t if f == 1 else t * np.float32(f)
        for t, f in zip(tables, [1] * len(parts) if scale is None else scale, strict=True)
    ]
    if any(sp.issparse(table) for table in scaled):
        return sp.hstack([sp.csr_array(table) for table in scaled], format="csr", dtype=np.float32)
    return np.concatenate(cast(list[NDArray[np.float32]], scaled), axis=1)


def as_table(part: ArrayLike | Tensor | sp.csr_array, name: str) -> Table:
    """(n, d) float32 of whatever has a row per node, sparse where it was; (n,) becomes one column."""
    if sp.issparse(part):
        return sp.csr_array(part, dtype=np.float32)
    dense = _dense(part) if isinstance(part, Tensor) else np.asarray(part)
    if dense.ndim not in (1, 2) or dense.dtype.kind not in "biuf":
        raise ValueError(f"{name} has shape {dense.shape} and type {dense.dtype}; give numbers, (n, d) or (n,)")
    return (dense[:, None] if dense.ndim == 1 else dense).astype(np.float32, copy=False)


def _dense(part: Tensor) -> NDArray[np.generic]:
    """As numpy has it, which knows no bfloat16."""
    dense: NDArray[np.generic] = (part.float() if part.is_floating_point() else part).detach().cpu().numpy()
    return dense


def strongest(rows: sp.csr_array, keep: int) -> sp.csr_array:
    """The `keep` largest entries of each row; of equal ones those of the smaller columns."""
    if keep < 1:
        raise ValueError(f"keep is {keep}; it must be at least 1")
    rows.sort_indices()
    source = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -rows.data, source))
    selected = np.sort(order[np.arange(len(order)) - rows.indptr[source[order]] < keep])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(source[selected], minlength=rows.shape[0]))])
    return sp.csr_array((rows.data[selected], rows.indices[selected], offsets), shape=rows.shape)
