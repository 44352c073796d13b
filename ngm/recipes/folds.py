"""Folds of the labels: each is held out once, so that what was learned from the others can be scored by it.

The default recipe weighs its teachers by these folds, and `diagnose` judges a graph by the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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


def fold_masks(
    labeled: NDArray[np.bool_], fold: NDArray[np.int64], num_folds: int, true: NDArray[np.bool_] | None = None
) -> list[NDArray[np.bool_]]:
    """(n,) masks of the labels to learn from: all of them, then those outside each fold.

    Args:
        labeled: (n,) mask of all labels.
        fold: (n,) fold in which each is held out, -1 where never.
        num_folds: How many there are.
        true: (n,) mask of the labels to learn from while others are held out; all where None.
    """
    return [labeled, *((labeled if true is None else true) & (fold != i) for i in range(num_folds))]


class ExpectedMasks:
    """Masks of labels that teachers are about to be asked for, and what was computed for all of them at once."""

    def __init__(self) -> None:
        self.masks: list[NDArray[np.bool_]] = []
        self.computed: dict[tuple[int, float], list[NDArray[np.float32]]] = {}  # by graph and share; one for each mask

    @contextmanager
    def expecting(self, masks: Sequence[NDArray[np.bool_]]) -> Iterator[None]:
        """While it lasts, teachers are asked about the same targets with each of these masks.

        Args:
            masks: (n,) of labels to learn from; known by identity, which is the same in all processes.
        """
        self.masks = list(masks)
        try:
            yield
        finally:
            self.masks, self.computed = [], {}

    def position(self, mask: NDArray[np.bool_]) -> int | None:
        """Which of the masks this is; None where it is none of them."""
        return next((i for i, one in enumerate(self.masks) if one is mask), None)
