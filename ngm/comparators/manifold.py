"""Manifold regularisation: Laplacian RLS and Laplacian SVM (Belkin, Niyogi, Sindhwani 2006), with a linear kernel.

For each class against the rest, f(x) = w·x + b minimises

    1/l sum_labelled V(y, f(x)) + gamma_a |w|² + gamma_i sum_edges w_uv (f(x_u) - f(x_v))² / sum_edges w_uv

with V the squared error ("rls") or the squared hinge ("svm"). The paper divides f'Lf by n² and allows the sum of the
weights instead where the graph is sparse: a citation graph is, and a mean per edge means the same on any graph.

Both quadratic terms are w'Qw for one (d, d) matrix Q = R R'. In the coordinates v = R'w the problem is a plain ridge
regression or SVM on R^-1 x of the labelled rows, so that the graph costs one Cholesky factor for all classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve, solve_triangular
from sklearn.base import BaseEstimator, ClassifierMixin

from ngm.comparators.linear import (
    Floats,
    LinearDecisionMixin,
    check_numbers,
    check_training_set,
    scaled,
    squared_hinge_svm,
)
from ngm.graph import Graph
from ngm.rows import Inputs

Kind = Literal["rls", "svm"]


@dataclass(eq=False, repr=False)
class ManifoldRegularization(LinearDecisionMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear functions that fit the labels and vary little along the edges; they classify new rows as well.

    Holds one (n, d) and one (d, d) dense array of float64 while fitting (PubMed: 75 MB and 2 MB).

    Args:
        kind: "rls" (squared error, closed form) or "svm" (squared hinge).
        gamma_a: Weight of |w|², the ambient norm.
        gamma_i: Weight of the mean squared difference across edges, the intrinsic norm; 0: no graph.
        unit_rows: Scale every row of x to length 1 first, as is usual for documents.
        seed: There for the common contract; the solution is unique, so chance plays no part.

    Attributes:
        classes_: (C,) class names.
        coef_: (C, d) weights, a row per class.
        intercept_: (C,) biases, not penalised.
        transduction_: (n,) class of every row of x.

    >>> x = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 2.0], [1.0, 2.0]])
    >>> across = Graph.from_edges([[0, 1], [2, 3]])  # so the first column should not matter
    >>> model = ManifoldRegularization(gamma_i=100.0, unit_rows=False).fit(x, [0, -1, -1, 1], graph=across)
    >>> model.transduction_
    array([0, 0, 1, 1])
    """

    kind: Kind = "rls"
    gamma_a: float = 0.01
    gamma_i: float = 10.0
    unit_rows: bool = True
    seed: int = 0

    def fit(self, x: Inputs, y: ArrayLike, graph: Graph | None = None) -> ManifoldRegularization:
        """Learns a function per class from the labelled rows and the edges.

        Args:
            x: (n, d) dense or sparse, a row per node.
            y: (n,) integers or strings, -1 / None / NaN = unlabelled.
            graph: Graph on n nodes; the direction of its edges does not matter. None only with gamma_i = 0.

        Returns:
            The estimator itself, fitted.
        """
        check_numbers(self, positive=("gamma_a",), zero_or_more=("gamma_i",))
        if self.kind not in ("rls", "svm"):
            raise ValueError(f"kind is {self.kind!r}; choose 'rls' (squared error) or 'svm' (squared hinge)")
        data = check_training_set(self, x, y, graph, needs_graph=self.gamma_i > 0)
        rows = scaled(data.x.astype(np.float64), self.unit_rows)
        root = self._root(rows, graph)  # (d, d) lower triangle R
        labeled_rows = rows[data.labeled]  # (l, d)
        mapped = solve_triangular(
            root, (labeled_rows if isinstance(labeled_rows, np.ndarray) else labeled_rows.toarray()).T, lower=True
        ).T
        solver = _rls if self.kind == "rls" else _svm
        solutions = [solver(mapped, data.signs(k)) for k in data.functions]
        self.coef_ = solve_triangular(root, np.stack([v for v, _ in solutions], axis=1), lower=True, trans="T").T
        self.intercept_ = np.array([b for _, b in solutions])
        self.classes_ = data.classes
        self.transduction_ = self.predict(data.x)
        return self

    def _root(self, rows: Floats | sp.csr_matrix, graph: Graph | None) -> Floats:
        """Lower triangular R with R R' = gamma_a I + gamma_i M, M the mean over edges of (x_u - x_v)(x_u - x_v)'."""
        penalty = np.eye(rows.shape[1]) * self.gamma_a
        if self.gamma_i > 0 and graph is not None:
            penalty += self.gamma_i * edge_differences(rows, graph)
        root: Floats = cholesky(penalty, lower=True, overwrite_a=True)
        return root


def edge_differences(x: Floats | sp.csr_matrix, graph: Graph) -> Floats:
    """(d, d) weighted mean over the edges of (x_u - x_v)(x_u - x_v)', that is x'Lx over the sum of the weights.

    Args:
        x: (n, d) rows.
        graph: Graph on n nodes.
    """
    total = float(graph.weight.double().sum())
    if total == 0:
        raise ValueError(f"{graph} has no edge with a weight above 0, so gamma_i would do nothing; set gamma_i=0")
    adjacency = graph.to_scipy().astype(np.float64)
    if graph.directed:
        adjacency = adjacency + adjacency.T
    laplacian = sp.diags_array(adjacency.sum(axis=1)) - adjacency
    smoothed = laplacian @ x  # (n, d)
    product = x.T @ (smoothed.toarray() if sp.issparse(smoothed) else smoothed)
    differences: Floats = np.asarray(product) / total
    return differences


def _rls(x: Floats, signs: Floats) -> tuple[Floats, float]:
    """Minimises 1/l sum (s - v·x - b)² + |v|²: (v (d,), b)."""
    mean, offset = x.mean(axis=0), signs.mean()
    centered = x - mean  # the best bias puts the mean residual at 0, so it drops out
    if len(x) <= x.shape[1]:
        v = centered.T @ solve(centered @ centered.T + len(x) * np.eye(len(x)), signs - offset, assume_a="pos")
    else:
        v = solve(centered.T @ centered + len(x) * np.eye(x.shape[1]), centered.T @ (signs - offset), assume_a="pos")
    return v, float(offset - mean @ v)


def _svm(x: Floats, signs: Floats) -> tuple[Floats, float]:
    """Minimises 1/l sum max(0, 1 - s (v·x + b))² + |v|²: (v (d,), b)."""
    return squared_hinge_svm(x, signs, c=1 / (2 * len(x)))
