"""Folds of the labels: each is held out once, so that what was learned from the others can be scored by it.

The default recipe weighs its teachers by these folds, and `diagnose` judges a graph by the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FOLDS = 5
FOLDS_OF_LARGE = 2  # with more than `LARGE` nodes, where there are labels enough
LARGE = 200_000  # nodes


def label_folds(
    label: NDArray[np.integer] | None, labeled: NDArray[np.bool_], seed: int, num_nodes: int | None = None
) -> NDArray[np.int64]:
    """(n,) fold in which each label is held out, -1 where never: each fold takes as many of every class as it can.

    The only label of a class is never held out.

    Args:
        label: (n,) number of each node's class, read where `labeled`; None where a node may have several labels.
        labeled: (n,) mask.
        seed: Same seed, same folds.
        num_nodes: Nodes of the graph, where n are but some of them.
    """
    rng = np.random.default_rng([seed, 0xF01D])
    folds = FOLDS if (num_nodes or len(labeled)) <= LARGE else FOLDS_OF_LARGE
    fold = np.full(len(labeled), -1)
    ids = np.flatnonzero(labeled)
    if label is None:
        if len(ids) > 1:
            fold[rng.permutation(ids)] = np.arange(len(ids)) % min(folds, len(ids))
        return fold
    for one in np.unique(label[ids]):
        mine = rng.permutation(ids[label[ids] == one])
        if len(mine) > 1:
            fold[mine] = np.arange(len(mine)) % min(folds, len(mine))
    return fold
