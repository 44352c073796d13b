"""Labels as teachers take them: one matrix for classes, shares of classes and label sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ngm.recipes.views import Floats

Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Targets:
    """Labels to learn from.

    Args:
        values: (n, C) float32: zeros and ones, or shares of classes; rows of unlabelled nodes are not used.
        multilabel: Whether a node may have several labels, each decided by itself.
        weight: (n,) how much each label counts; all alike where None.
    """

    values: Floats
    multilabel: bool = False
    weight: Floats | None = None

    def take(self, nodes: NDArray[np.int64]) -> Targets:
        """Those of some nodes, in this order."""
        weight = None if self.weight is None else self.weight[nodes]
        return Targets(self.values[nodes], self.multilabel, weight)

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return int(self.values.shape[1])

    def likelihood(self, proba: Floats) -> Floats:
        """(n,) probability that was given to the label of each node; of label sets, to each decision.

        Args:
            proba: (n, C).
        """
        if self.multilabel:
            return np.asarray(np.where(self.values > 0.5, proba, 1 - proba).ravel(), dtype=np.float32)
        return np.asarray((proba * self.values).sum(axis=1), dtype=np.float32)

    def score(self, proba: Floats) -> float:
        """Accuracy; of label sets, Micro-F1 of as many labels as each node has. NaN without nodes."""
        if not len(self.values):
            return float("nan")
        if not self.multilabel:
            return float((proba.argmax(axis=1) == self.values.argmax(axis=1)).mean())
        rank = (-proba).argsort(axis=1).argsort(axis=1)
        chosen = rank < (self.values > 0.5).sum(axis=1, keepdims=True)
        return float((chosen & (self.values > 0.5)).sum() / max((self.values > 0.5).sum(), 1))
