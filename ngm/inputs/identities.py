"""Propagated node identities: who a node's neighbourhood is made of, in a constant number of entries.

Every node starts with a label of its own, its identity, and labels are propagated without supervision. The strongest
few that arrive at a node are its input: on massive graphs the input space stays bounded by a constant (the paper,
section 3.2). With nothing dropped, row v holds the chances of where a random walk from v ends that stops with chance
`restart` before each step (as in `ngm.propagation.kernel.hop`): with many steps, `restart (I - (1 - restart) P)^-1`
where P are the row-normalized weights.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from sparse_dot_topn import sp_matmul_topn

from ngm.choices import Influence
from ngm.graph import Graph
from ngm.propagation.kernel import OnStep, pull, scale_rows


def identities(
    graph: Graph,
    keep: int = 32,
    restart: float = 0.3,
    steps: int = 10,
    width: int | None = None,
    seed: int = 0,
    influence: Influence = "both",
    on_step: OnStep | None = None,
) -> sp.csr_array:
    """Propagates node identities and keeps the strongest at each node; memory is n times keep.

    For a new node: `from_links(links, identities(...), keep=keep, scale=1 - restart)`.

    Args:
        graph: Weighted; the scale of the weights does not matter.
        keep: The most entries in a row. What is dropped on the way is gone, so a row adds up to at most 1.
        restart: Chance to stop before each step, above 0 and at most 1. Small looks far, large stays near.
        steps: The most steps that an identity travels. A share (1 - restart)^steps of it would have gone further.
        width: Number of columns into which the n columns are folded at random, as evenly as possible.
        seed: Of the folding.
        influence: On directed graphs, whose identity reaches whom: "source" that of an edge's source its target,
            "target" the other way, "both" both ways.
        on_step: Called with (step, largest change of an entry).

    Returns:
        (n, n) float32 sparse rows with at most `keep` entries each, or (n, width).

    >>> identities(Graph.from_edges([[0, 1]]), restart=0.5, steps=30).toarray().round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]], dtype=float32)
    """
    _check(keep, restart, steps, width)
    n = graph.num_nodes
    weight = pull(graph, influence)
    total = np.asarray(weight.sum(axis=1, dtype=np.float64)).ravel()
    alone = total == 0  # such a node keeps its identity whole: every walk from it ends there
    factor = np.divide(1 - restart, total, out=np.zeros_like(total), where=~alone)
    restart_weight = sp.diags_array(np.where(alone, 1, restart), format="csr", dtype=np.float32)
    step_weight = sp.csr_matrix(
        sp.hstack([scale_rows(weight, factor), restart_weight], format="csr", dtype=np.float32)
    )  # (n, 2n)
    step_weight.eliminate_zeros()  # of edges of weight 0, and of all edges where restart is 1
    identity = sp.eye_array(n, dtype=np.float32, format="csr")
    rows = identity
    for step in range(1, steps + 1):
        next_rows = _strongest_of_product(step_weight, sp.csr_matrix(sp.vstack([rows, identity], format="csr")), keep)
        if on_step is not None:
            on_step(step, float(np.abs((next_rows - rows).data).max(initial=0)))
        rows = next_rows
    rows.sort_indices()
    return rows if width is None else _folded(rows, width, seed)


def _strongest_of_product(a: sp.csr_matrix, b: sp.csr_matrix, keep: int) -> sp.csr_array:
    """The `keep` largest entries of each row of a @ b, where no larger row is ever in memory."""
    if keep >= b.shape[1]:
        return sp.csr_array(a @ b)
    return sp.csr_array(sp_matmul_topn(a, b, top_n=keep, n_threads=torch.get_num_threads()))


def _folded(rows: sp.csr_array, width: int, seed: int) -> sp.csr_array:
    """Sums the columns that are folded together; all folded columns have about as many."""
    n = rows.shape[1]
    column = np.random.default_rng(seed).permutation(n) % width
    folded = sp.csr_array((rows.data, column[rows.indices], rows.indptr), shape=(n, width))
    folded.sum_duplicates()
    return folded


def _check(keep: int, restart: float, steps: int, width: int | None) -> None:
    if keep < 1:
        raise ValueError(f"keep is {keep}; it must be at least 1")
    if steps < 1:
        raise ValueError(f"steps is {steps}; it must be at least 1")
    if not 0 < restart <= 1:
        raise ValueError(f"restart is {restart}; it must be above 0 and at most 1")
    if width is not None and width < 1:
        raise ValueError(f"width is {width}; it must be at least 1, or None for a column per node")
