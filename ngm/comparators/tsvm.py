"""Transductive SVM (Joachims 1999) by gradient descent on its own objective (Chapelle and Zien 2005).

Joachims asks for the labels of the unlabelled rows that give the widest margin, and switches labels in pairs to get
there, one SVM after each switch. The same objective without the labels has a loss on |f| of each unlabelled row, which
Chapelle and Zien replace by the smooth exp(-3 f²) and bring in step by step; that reaches better optima and takes
seconds on 20,000 rows, so it is what is done here. For each class against the rest, f(x) = w·x + b minimises

    |w|²/2 + c [ sum_labelled max(0, 1 - y f)² + c_unlabeled l/u sum_unlabelled exp(-3 f²) ]

under the balancing constraint that f averages over the unlabelled rows to what y averages over the labelled ones;
without it, all of them on one side would be best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from ngm.comparators.linear import (
    Floats,
    LinearDecisionMixin,
    check_numbers,
    check_training_set,
    minimize_smooth,
    scaled,
    squared_hinge_svm,
)
from ngm.graph import Graph
from ngm.rows import Inputs

_TOLERANCE = 1e-5  # of the gradient; the classes of no row change below it
_SHARPNESS = 3.0  # Chapelle and Zien's: exp(-3 f²) is close to the squared hinge of |f|, and smooth at 0


@dataclass(eq=False, repr=False)
class TransductiveSVM(LinearDecisionMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear SVM whose boundary also keeps away from unlabelled rows; `graph` is accepted and not used.

    Args:
        c: Weight of the losses against |w|²/2.
        c_unlabeled: Weight of all unlabelled rows together against all labelled ones; 0 is a plain SVM.
        anneal: Steps in which `c_unlabeled` is reached, doubling each time.
        unit_rows: Scale every row of x to length 1 first, as is usual for documents.
        seed: There for the common contract; the descent starts at 0, so chance plays no part.

    Attributes:
        classes_: (C,) class names.
        coef_: (C, d) weights, a row per class; (1, d) for two classes.
        intercept_: (C,) biases.
        transduction_: (n,) class of every row of x.

    >>> x = np.array([[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]])  # 1.1 is nearer to the label at 2, but not to the gap
    >>> TransductiveSVM(unit_rows=False).fit(x, [0, -1, -1, 1, -1, -1]).predict([[1.1]])
    array([0])
    """

    c: float = 10.0
    c_unlabeled: float = 0.1
    anneal: int = 10
    unit_rows: bool = True
    seed: int = 0

    def fit(self, x: Inputs, y: ArrayLike, graph: Graph | None = None) -> TransductiveSVM:
        """Learns a function per class from labelled and unlabelled rows.

        Args:
            x: (n, d) dense or sparse.
            y: (n,) integers or strings, -1 / None / NaN = unlabelled.
            graph: Not used.

        Returns:
            The estimator itself, fitted.
        """
        check_numbers(self, positive=("c",), zero_or_more=("c_unlabeled",), whole=("anneal",))
        data = check_training_set(self, x, y, graph)
        rows = scaled(data.x.astype(np.float64), self.unit_rows)
        labeled_rows, unlabeled_rows = rows[data.labeled], rows[~data.labeled]
        solutions = [self._one_class(labeled_rows, data.signs(k), unlabeled_rows) for k in data.functions]
        self.coef_ = np.stack([w for w, _ in solutions])
        self.intercept_ = np.array([b for _, b in solutions])
        self.classes_ = data.classes
        self.transduction_ = self.predict(data.x)
        return self

    def _one_class(
        self, labeled: Floats | sp.csr_matrix, signs: Floats, unlabeled: Floats | sp.csr_matrix
    ) -> tuple[Floats, float]:
        """(w (d,), b) of one class against the rest."""
        if self.c_unlabeled == 0 or unlabeled.shape[0] == 0:
            return squared_hinge_svm(labeled, signs, self.c)
        objective = BalancedTSVM(labeled, signs, unlabeled, self.c)
        w: Floats = np.zeros(labeled.shape[1])
        for step in range(self.anneal):
            share = self.c_unlabeled * 2.0 ** (step + 1 - self.anneal)
            w = minimize_smooth(lambda v, share=share: objective(v, share), w, _TOLERANCE)
        return w, objective.bias(w)


class BalancedTSVM:
    """The objective of one class against the rest, as a function of w alone: the constraint settles b.

    Args:
        labeled: (l, d) labelled rows.
        signs: (l,) 1 or -1.
        unlabeled: (u, d) unlabelled rows.
        c: Weight of the losses.
    """

    def __init__(
        self, labeled: Floats | sp.csr_matrix, signs: Floats, unlabeled: Floats | sp.csr_matrix, c: float
    ) -> None:
        self.labeled, self.signs, self.unlabeled, self.c = labeled, signs, unlabeled, c
        self.labeled_t, self.unlabeled_t = _transposed(labeled), _transposed(unlabeled)
        self.center: Floats = np.asarray(unlabeled.mean(axis=0)).reshape(-1)  # (d,)

    def bias(self, w: Floats) -> float:
        """The b with which f averages over the unlabelled rows to the mean of the signs."""
        return float(self.signs.mean() - self.center @ w)

    def __call__(self, w: Floats, c_unlabeled: float) -> tuple[float, Floats]:
        """(value, gradient (d,)) at w."""
        bias = self.bias(w)
        slack = np.maximum(0, 1 - self.signs * (self.labeled @ w + bias))  # (l,)
        f = self.unlabeled @ w + bias  # (u,)
        weight = c_unlabeled * len(slack) / len(f)
        inside = weight * np.exp(-_SHARPNESS * f * f)
        value = w @ w / 2 + self.c * (slack @ slack + inside.sum())
        slope, slope_unlabeled = -2 * self.c * self.signs * slack, -2 * self.c * _SHARPNESS * f * inside
        through_bias = slope.sum() + slope_unlabeled.sum()
        gradient = w + self.labeled_t @ slope + self.unlabeled_t @ slope_unlabeled - through_bias * self.center
        return float(value), gradient


def _transposed(x: Floats | sp.csr_matrix) -> Floats | sp.csr_matrix:
    """X' in a form with quick products."""
    return x.T if isinstance(x, np.ndarray) else x.T.tocsr()
