"""Node vectors by factorizing the matrix that DeepWalk factorizes implicitly (Qiu et al., 2018: NetMF).

Skip-gram with b negatives on walks with a window of T steps fits, with P = D^-1 A and vol(G) the sum of all weights,

    log( vol(G) / b * (1/T sum_{r=1..T} P^r) D^-1 ),

cut off at 0. Its strongest singular vectors are the vectors wanted: no walks, and no chance but that of the solver.
"""

from __future__ import annotations

from inspect import signature

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from ngm.graph import Graph
from ngm.propagation.kernel import scale_rows

MAX_NODES = 30_000  # nodes: the matrix to factorize is dense, 3.6 GB at this size


def netmf(
    graph: Graph,
    dimensions: int = 128,
    window: int = 10,
    negative: float = 1.0,
    rank: int | None = 256,
    seed: int = 0,
) -> NDArray[np.float32]:
    """Learns a vector for every node by truncated singular value decomposition; isolated nodes get zeros.

    Args:
        graph: Undirected, of at most `MAX_NODES` nodes.
        dimensions: Width of a vector.
        window: Largest number of steps between two nodes that count as near.
        negative: Negatives of the skip-gram that this stands for; more cut off more of the weakly joined pairs.
        rank: Strongest eigenpairs of the normalized adjacency from which powers are summed up; negative sums count as
            0. None, or the number of nodes and more, sums up the powers themselves: exact, for small windows.
        seed: Where the solvers start. Same seed, same bits on one machine; before scipy 1.17 not where many eigenvalues
            are equal, as in a graph of many like components.

    Returns:
        (n, dimensions) float32.
    """
    _check(graph, dimensions, window, negative, rank)
    if not bool((graph.weight > 0).any()):
        return np.zeros((graph.num_nodes, dimensions), dtype=np.float32)
    adjacency = graph.to_scipy().astype(np.float64)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    root = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    normalized = scale_rows(scale_rows(adjacency, root).T.tocsr(), root)  # D^-1/2 A D^-1/2
    exact = rank is None or rank >= graph.num_nodes
    near = _sum_of_powers(normalized, window) if exact else _of_low_rank(normalized, window, rank or 0, seed)
    near *= np.float32(degree.sum() / negative) * root[:, None].astype(np.float32)
    near *= root[None, :].astype(np.float32)
    np.log(np.maximum(near, 1, out=near), out=near)
    left, strength, _ = randomized_svd(near, dimensions, n_iter=5, random_state=seed)
    return np.asarray(left * np.sqrt(strength), dtype=np.float32)


def _sum_of_powers(normalized: sp.csr_array, window: int) -> NDArray[np.float32]:
    """(n, n) mean of the first `window` powers."""
    step = normalized.astype(np.float32)
    summed = np.eye(step.shape[0], dtype=np.float32)
    for _ in range(window - 1):
        summed = step @ summed  # Horner: 1 + X (1 + X (...))
        summed[np.diag_indices_from(summed)] += 1
    return np.asarray(step @ summed / np.float32(window))


def _of_low_rank(normalized: sp.csr_array, window: int, rank: int, seed: int) -> NDArray[np.float32]:
    """The same from the `rank` largest eigenvalues and their vectors."""
    rng = np.random.default_rng(seed)  # ARPACK would draw from one of its own, at the start and where it starts again
    start = rng.random(normalized.shape[0])
    rng_argument = {"rng": rng} if "rng" in signature(sp.linalg.eigsh).parameters else {}
    values, vectors = sp.linalg.eigsh(normalized, rank, which="LA", v0=start, **rng_argument)
    filtered = np.mean([values**r for r in range(1, window + 1)], axis=0)
    half = (vectors * np.sqrt(np.maximum(filtered, 0))).astype(np.float32)
    return np.asarray(half @ half.T)


def _check(graph: Graph, dimensions: int, window: int, negative: float, rank: int | None) -> None:
    if graph.directed:
        raise ValueError("netmf is defined on undirected graphs; make one with directed=False, or use node2vec")
    if graph.num_nodes > MAX_NODES:
        raise ValueError(
            f"the graph has {graph.num_nodes:,} nodes; netmf factorizes a dense matrix and takes at most "
            f"{MAX_NODES:,}, so use node2vec"
        )
    if not 1 <= dimensions <= graph.num_nodes:
        raise ValueError(
            f"dimensions is {dimensions} and the graph has {graph.num_nodes} nodes; give at least 1 and at most that"
        )
    if window < 1 or (rank is not None and rank < 1):
        raise ValueError(f"window is {window} and rank is {rank}; both must be at least 1")
    if not negative > 0:
        raise ValueError(f"negative is {negative}; it must be above 0")
