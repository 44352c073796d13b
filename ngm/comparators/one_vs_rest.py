"""`LinearOneVsRest`: a logistic regression for each label, the classifier that node vectors are judged by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ngm.comparators.linear import Floats, check_numbers, linear_scores, minimize_smooth, scaled
from ngm.graph import Graph
from ngm.rows import Inputs
from ngm.targets import encode_classes

_TOLERANCE = 1e-4  # of the gradient of sums over thousands of rows


@dataclass(eq=False, repr=False)
class LinearOneVsRest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regressions that share the rows and nothing else, solved together; `graph` is accepted and not used.

    Args:
        c: Inverse of the L2 penalty, as in scikit-learn: large means little penalty.
        unit_rows: Scale every row of x to length 1 first.

    Attributes:
        classes_: (L,) label numbers.
        coef_: (L, d) weights.
        intercept_: (L,) biases.

    >>> x = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> LinearOneVsRest(c=100.0).fit(x, [[1, 1], [1, 1], [0, 1], [0, 0]]).predict(x).tolist()
    [[1, 1], [1, 1], [0, 1], [0, 0]]
    """

    c: float = 1.0
    unit_rows: bool = False

    def fit(self, x: Inputs, y: ArrayLike, graph: Graph | None = None) -> LinearOneVsRest:
        """Minimises |w|²/2 + c * (logistic losses of the labelled rows) for every label; biases are not penalised.

        Args:
            x: (n, d) rows, dense or sparse.
            y: (n, L) zeros and ones; a row of -1 is unlabelled.
            graph: Not used.
        """
        check_numbers(self, positive=("c",))
        checked = validate_data(self, x, accept_sparse="csr", dtype=[np.float32, np.float64])
        encoded = encode_classes(y, checked.shape[0])
        if encoded.task != "labels":
            raise ValueError(f"y is read as {encoded.task}; give (n, L) zeros and ones, a column per label")
        labeled = encoded.labeled.numpy()
        rows, truth = (
            scaled(checked[labeled], self.unit_rows).astype(np.float64),
            encoded.targets.numpy()[labeled] > 0.5,
        )
        self.coef_, self.intercept_ = _solve(rows, truth, self.c)
        self.classes_ = encoded.classes
        return self

    def decision_function(self, x: Inputs) -> Floats:
        """(n, L) logits."""
        check_is_fitted(self, "classes_")
        return linear_scores(self, x, self.unit_rows)

    def predict_proba(self, x: Inputs) -> Floats:
        """(n, L) probability of each label by itself."""
        probabilities: Floats = expit(self.decision_function(x))
        return probabilities

    def predict(self, x: Inputs) -> NDArray[np.int64]:
        """(n, L) zeros and ones, each label decided at one half."""
        return (self.decision_function(x) > 0).astype(np.int64)


def _solve(rows: Floats, truth: NDArray[np.bool_], c: float) -> tuple[Floats, Floats]:
    """((L, d) weights, (L,) biases): one problem of L * (d + 1) numbers, since sums over labels do not mix."""
    d, labels = rows.shape[1], truth.shape[1]
    signs = np.where(truth, 1.0, -1.0)  # (l, L)

    def objective(v: Floats) -> tuple[float, Floats]:
        w, b = v[: d * labels].reshape(d, labels), v[d * labels :]
        margin = signs * (rows @ w + b)
        slope = -c * signs * expit(-margin)
        value = (w * w).sum() / 2 + c * np.logaddexp(0, -margin).sum()
        return float(value), np.concatenate([(w + rows.T @ slope).ravel(), slope.sum(axis=0)])

    share = truth.mean(axis=0).clip(1 / (2 * len(truth)), 1 - 1 / (2 * len(truth)))
    start = np.concatenate([np.zeros(d * labels), np.log(share / (1 - share))])
    solution = minimize_smooth(objective, start, tolerance=_TOLERANCE)
    return solution[: d * labels].reshape(d, labels).T, solution[d * labels :]
