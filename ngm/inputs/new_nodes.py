"""The same inputs for nodes that are not in the graph, from their edges to nodes that are.

A new node's row of the adjacency matrix is the row of its links. Any other input made from the graph is, for a new
node, the weighted mean over the nodes it is linked to: one step of what made it for the others.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._pair_keys import unique_pairs
from ngm.graph import Graph
from ngm.inputs.adjacency import Table, as_table, strongest


def links(
    edges: ArrayLike | Tensor,
    graph: Graph,
    weight: ArrayLike | Tensor | None = None,
    num_new: int | None = None,
) -> sp.csr_array:
    """Edges from new nodes to nodes of the graph, as sparse rows.

    Args:
        edges: (k, 2) rows of (new node, node of the graph); new nodes are numbered from 0.
        graph: The graph that the inputs were made from.
        weight: (k,) weights; all 1 where not given. Of an edge that is there several times the largest counts.
        num_new: Number of new nodes b; the largest number + 1 where not given.

    Returns:
        (b, n) float32; the row of a new node without edges is empty.

    >>> links([[0, 2], [1, 0], [1, 2]], Graph.from_edges([[0, 1], [1, 2]])).toarray().tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    """
    pairs = _pairs(edges)
    count = num_new if num_new is not None else int(pairs[:, 0].max(initial=-1)) + 1
    w = np.ones(len(pairs), dtype=np.float32) if weight is None else np.asarray(weight, dtype=np.float32).reshape(-1)
    _check(pairs, w, count, graph.num_nodes)
    new_ids, node_ids, group = unique_pairs(pairs[:, 0], pairs[:, 1], max(graph.num_nodes, count))
    largest = np.zeros(len(new_ids), dtype=np.float32)
    np.maximum.at(largest, group, w)
    return sp.csr_array((largest, (new_ids, node_ids)), shape=(count, graph.num_nodes))


def from_links(
    links: sp.csr_array, known: ArrayLike | Tensor | sp.csr_array, keep: int | None = None, scale: float = 1.0
) -> Table:
    """Inputs of new nodes: the weighted mean of the inputs of the nodes that they are linked to.

    Args:
        links: (b, n), see `links`; also `graph.to_scipy()`, for the mean over each node's own neighbors.
        known: (n, d) inputs of the nodes of the graph, dense or sparse: vectors, clusters, identities or features.
        keep: The largest entries kept in each row, where `known` is sparse; all where not given.
        scale: What the mean is multiplied by; for `identities`, 1 - restart.

    Returns:
        (b, d) float32, sparse where `known` is; zeros for a new node without links.

    >>> from_links(sp.csr_array([[1.0, 0.0, 3.0]]), [[4.0], [7.0], [8.0]]).tolist()
    [[7.0]]
    """
    table = as_table(known, "known")
    rows = sp.csr_array(links, dtype=np.float32)
    if rows.shape[1] != table.shape[0]:
        raise ValueError(
            f"links lead to {rows.shape[1]} nodes and known has {table.shape[0]} rows; both must be of the same graph"
        )
    if keep is not None and not sp.issparse(table):
        raise ValueError(f"keep is {keep}, but known is dense; keep is for sparse rows such as identities")
    total = np.asarray(rows.sum(axis=1, dtype=np.float64)).ravel()
    share = np.divide(scale, total, out=np.zeros_like(total), where=total > 0)
    mean = sp.csr_array(rows.multiply(share[:, None]), dtype=np.float32) @ table
    return mean if keep is None else strongest(mean, keep)


def _pairs(edges: ArrayLike | Tensor) -> NDArray[np.int64]:
    raw = edges.numpy() if isinstance(edges, Tensor) else np.asarray(edges)
    if raw.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if raw.ndim != 2 or raw.shape[1] != 2 or raw.dtype.kind not in "iuf" or (raw != raw.astype(np.int64)).any():
        raise ValueError(f"edges has shape {raw.shape} and type {raw.dtype}; give (k, 2) whole numbers")
    return raw.astype(np.int64)


def _check(pairs: NDArray[np.int64], weight: NDArray[np.float32], num_new: int, num_nodes: int) -> None:
    if len(weight) != len(pairs):
        raise ValueError(f"weight has {len(weight)} entries, edges has {len(pairs)}; give one weight per edge")
    for column, node_kind, count in ((0, "new node", num_new), (1, "node of the graph", num_nodes)):
        outside = np.flatnonzero((pairs[:, column] < 0) | (pairs[:, column] >= count))
        if len(outside):
            row = outside[0]
            raise ValueError(
                f"edge {row} is {pairs[row].tolist()}, where {pairs[row, column]} is not a {node_kind}; "
                f"these run from 0 to {count - 1}"
            )
    invalid = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(invalid):
        raise ValueError(f"edge {invalid[0]} has weight {weight[invalid[0]]}; weights must be finite and at least 0")
