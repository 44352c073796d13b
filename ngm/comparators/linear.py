"""`LinearSoftmax`: labelled rows alone, no graph; and what the other linear methods here share with it."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data

from ngm.graph import Graph
from ngm.rows import Inputs
from ngm.targets import encode_classes

Floats = NDArray[np.floating]


class LinearDecisionMixin:
    """Decides by `coef_` and `intercept_`, which the subclass learns, as it learns `classes_`."""

    classes_: NDArray[np.generic]
    unit_rows: bool

    def decision_function(self, x: Inputs) -> Floats:
        """(n, C) value of each class's function; (n,) that of the second class where there are two."""
        return linear_scores(self, x, self.unit_rows)

    def predict(self, x: Inputs) -> NDArray[np.generic]:
        """(n,) class of each row, in the training set or not."""
        return best_class(self.decision_function(x), self.classes_)


@dataclass(eq=False, repr=False)
class LinearSoftmax(LinearDecisionMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Multinomial logistic regression on the labelled rows; `graph` is accepted and not used.

    Args:
        c: Inverse of the L2 penalty, as in scikit-learn: large means little penalty.
        unit_rows: Scale every row of x to length 1 first, as is usual for documents.
        max_iter: L-BFGS steps at most.
        seed: There for the common contract; the solution is unique, so chance plays no part.

    Attributes:
        classes_: (C,) class names.
        coef_: (C, d) weights; (1, d) for two classes.
        intercept_: (C,) biases; (1,) for two classes.
        transduction_: (n,) class of every row of x.

    >>> x = np.array([[0.0], [0.1], [1.0], [1.1]], dtype=np.float32)
    >>> LinearSoftmax(c=10, unit_rows=False).fit(x, [0, -1, 1, -1]).predict(x)
    array([0, 0, 1, 1])
    """

    c: float = 1.0
    unit_rows: bool = True
    max_iter: int = 1000
    seed: int = 0

    def fit(self, x: Inputs, y: ArrayLike, graph: Graph | None = None) -> LinearSoftmax:
        """Learns from the labelled rows.

        Args:
            x: (n, d) dense or sparse.
            y: (n,) integers or strings, -1 / None / NaN = unlabelled.
            graph: Not used.

        Returns:
            The estimator itself, fitted.
        """
        check_numbers(self, positive=("c",), whole=("max_iter",))
        data = check_training_set(self, x, y, graph)
        rows = scaled(data.x, self.unit_rows)
        model = LogisticRegression(C=self.c, max_iter=self.max_iter)
        model.fit(rows[data.labeled], data.targets[data.labeled])
        self.classes_, self.coef_, self.intercept_ = data.classes, model.coef_, model.intercept_
        self.transduction_ = self.predict(data.x)
        return self


# Shared by the methods of this package


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What `fit` is given, checked.

    Args:
        x: (n, d) float array or CSR matrix.
        targets: (n,) class indices, -1 where unlabelled.
        labeled: (n,) mask.
        classes: (C,) what the indices stand for.
    """

    x: Floats | sp.csr_matrix
    targets: NDArray[np.int64]
    labeled: NDArray[np.bool_]
    classes: NDArray[np.generic]

    @property
    def functions(self) -> range:
        """Indices of the classes that get a function; of two classes only the second, since one is minus the other."""
        return range(1 if len(self.classes) == 2 else 0, len(self.classes))

    def signs(self, index: int) -> Floats:
        """(l,) 1 for labelled rows of that class, -1 for the others: a one-vs-rest problem."""
        return np.where(self.targets[self.labeled] == index, 1.0, -1.0)


def check_training_set(
    estimator: BaseEstimator, x: Inputs, y: ArrayLike, graph: Graph | None, needs_graph: bool = False
) -> TrainingSet:
    """Checks the arguments of `fit`.

    Args:
        estimator: Remembers the number of columns.
        x: (n, d) dense or sparse.
        y: (n,) classes, unlabelled rows marked.
        graph: Graph on n nodes, or None.
        needs_graph: Whether None is refused.
    """
    check_numbers(estimator, zero_or_more=("seed",), whole=("seed",))
    checked = validate_data(estimator, x, accept_sparse="csr", dtype=[np.float32, np.float64])
    rows = int(checked.shape[0])
    encoded = encode_classes(y, rows)
    if encoded.task != "classes":
        width = encoded.targets.shape[1]
        raise ValueError(f"y has {width} columns; {type(estimator).__name__} takes (n,), one class per row")
    if graph is None and needs_graph:
        raise ValueError(f"graph is None; {type(estimator).__name__} needs one over the {rows} rows: fit(x, y, graph=)")
    if graph is not None and not isinstance(graph, Graph):
        raise ValueError(f"graph is a {type(graph).__name__}; make a Graph of it, with Graph.from_edges for instance")
    if graph is not None and graph.num_nodes != rows:
        raise ValueError(f"graph has {graph.num_nodes} nodes, x has {rows} rows; give a row per node")
    return TrainingSet(checked, encoded.targets.numpy(), encoded.labeled.numpy(), encoded.classes)


def check_numbers(
    estimator: BaseEstimator,
    positive: tuple[str, ...] = (),
    zero_or_more: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
    shares: tuple[str, ...] = (),
) -> None:
    """Refuses settings out of range.

    Args:
        estimator: Has the settings.
        positive: Names of those that must be above 0.
        zero_or_more: Names of those that must be at least 0.
        whole: Names of those that must be whole numbers; above 0 unless in `zero_or_more`.
        shares: Names of those that must be at least 0 and below 1.
    """
    for name in shares:
        value = getattr(estimator, name)
        if not isinstance(value, Real) or not 0 <= float(value) < 1:
            raise ValueError(f"{name} is {value!r}; give a share of at least 0 and below 1")
    for name in dict.fromkeys((*positive, *zero_or_more, *whole)):
        value = getattr(estimator, name)
        number = isinstance(value, Integral if name in whole else Real) and not isinstance(value, bool)
        if not number or not 0 <= float(value) < float("inf") or (value == 0 and name not in zero_or_more):
            wording = "a whole number" if name in whole else "a finite number"
            raise ValueError(
                f"{name} is {value!r}; give {wording} {'of at least' if name in zero_or_more else 'above'} 0"
            )


def scaled(x: Floats | sp.csr_matrix, unit_rows: bool) -> Floats | sp.csr_matrix:
    """X with rows of length 1 where asked for; rows of zeros stay zero."""
    return normalize(x) if unit_rows else x


def linear_scores(estimator: BaseEstimator, x: Inputs, unit_rows: bool) -> Floats:
    """(n, C) x @ coef_.T + intercept_; (n,) where `coef_` has one row."""
    check_is_fitted(estimator, "classes_")
    checked = validate_data(estimator, x, accept_sparse="csr", dtype=[np.float32, np.float64], reset=False)
    scores: Floats = np.asarray(scaled(checked, unit_rows) @ estimator.coef_.T) + estimator.intercept_
    return scores[:, 0] if scores.shape[1] == 1 else scores


def best_class(scores: Floats, classes: NDArray[np.generic]) -> NDArray[np.generic]:
    """(n,) the class of the largest of (n, C) scores, or of the sign of (n,) scores."""
    index = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.int64)
    best: NDArray[np.generic] = classes[index]
    return best


def squared_hinge_svm(x: Floats | sp.csr_matrix, signs: Floats, c: float) -> tuple[Floats, float]:
    """Minimises |w|²/2 + c sum max(0, 1 - s (w·x + b))², the bias not penalised.

    Args:
        x: (l, d) rows.
        signs: (l,) s, each 1 or -1.
        c: Weight of the losses.

    Returns:
        w (d,) and b.
    """

    def objective(v: Floats) -> tuple[float, Floats]:
        slack = np.maximum(0, 1 - signs * (x @ v[:-1] + v[-1]))  # (l,)
        slope = -2 * c * signs * slack
        value = v[:-1] @ v[:-1] / 2 + c * slack @ slack
        return float(value), np.append(v[:-1] + x.T @ slope, slope.sum())

    solution = minimize_smooth(objective, np.zeros(x.shape[1] + 1))
    return solution[:-1], float(solution[-1])


def minimize_smooth(objective: object, start: Floats, tolerance: float = 1e-9) -> Floats:
    """L-BFGS from `start` until the gradient is 0 to the tolerance; `objective` gives (value, gradient)."""
    options = {"maxiter": 5000, "maxfun": 10000, "gtol": tolerance, "ftol": 1e-15, "maxcor": 20}
    minimum: Floats = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    return minimum
