"""Labels as teachers take them: one matrix for classes, shares of classes and label sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ngm._arguments import short_repr
from ngm.recipes.node_views import Floats

SHARES_TOLERANCE = 1e-3  # by which known shares of the classes may miss 1
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Targets:
    """Labels to learn from.

    Args:
        values: (n, C) float32: zeros and ones, or shares of classes; rows of unlabelled nodes are not used.
        multilabel: Whether a node may have several labels, each decided by itself.
        weight: (n,) how much each label counts; all alike where None.
        class_prior: (C,) share of the nodes that each class has, adding up to 1; None where that is not known.
    """

    values: Floats
    multilabel: bool = False
    weight: Floats | None = None
    class_prior: Floats | None = None

    def take(self, nodes: NDArray[np.int64]) -> Targets:
        """Those of some nodes, in this order."""
        weight = None if self.weight is None else self.weight[nodes]
        return replace(self, values=self.values[nodes], weight=weight)

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


def check_class_prior(class_prior: object, classes: NDArray[np.generic]) -> Floats:
    """(C,) shares of the classes, as users give them: class -> share, or shares in the order of the classes.

    Args:
        class_prior: As given.
        classes: (C,) names.

    >>> check_class_prior({"spam": 0.1, "ham": 0.9}, np.array(["ham", "spam"])).tolist()
    [0.8999999761581421, 0.10000000149011612]
    """
    names = [str(name) for name in classes]
    example = f"{{{', '.join(f'{name}: share' for name in names[:3])}{', ...' if len(names) > 3 else ''}}}"
    if isinstance(class_prior, Mapping):
        given = {str(name): share for name, share in class_prior.items()}
        if set(given) != set(names):
            raise ValueError(
                f"class_prior has the classes {short_repr(sorted(given))}, y has {short_repr(names)}; give each of "
                f"these its share: {example}"
            )
        shares = [given[name] for name in names]
    elif isinstance(class_prior, Sequence | np.ndarray) and not isinstance(class_prior, str):
        shares = list(class_prior)
    else:
        raise ValueError(
            f"class_prior is {short_repr(class_prior)}; give {example}, or shares in the order of classes_"
        )
    try:
        found = np.array(shares, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (len(names),) or not (found > 0).all() or abs(found.sum() - 1) > SHARES_TOLERANCE:
        raise ValueError(
            f"class_prior is {short_repr(class_prior)}; give {len(names)} numbers above 0 that add up to 1, one per "
            "class"
        )
    return np.asarray(found / found.sum(), dtype=np.float32)
