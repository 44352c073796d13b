"""Label propagation: the paper's Eq. 2 on any graph, and a streaming form for thousands of labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ngm._arguments import check_declared, short_repr
from ngm._input_checks import as_dense, check_names
from ngm.build.knn import knn_graph
from ngm.choices import Influence, Solver
from ngm.graph import Graph
from ngm.method_parameters import LABEL_PROPAGATION
from ngm.parameters import documented
from ngm.propagation.coupling import couple
from ngm.propagation.kernel import OnStep, scale_rows, solve
from ngm.propagation.seeds import PropagationSystem, Seeds, read_prior, read_seeds
from ngm.propagation.top_k import solve_top_k
from ngm.targets import as_array, labeled_accuracy


class UnseededClassWarning(UserWarning):
    """A class has no seed, so that only the prior can give it to a node."""


class UnreachedNodesWarning(UserWarning):
    """Nodes are in components without a label, and get the prior."""


@documented(LABEL_PROPAGATION)
@dataclass(eq=False, repr=False)
class LabelPropagation(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the label distribution of every node of a graph from those of a few, by the paper's Eq. 2.

    It minimises mu1 * sum over labelled nodes of |Y^_v - Y_v|^2 + mu2 * sum over nodes and their neighbours of
    w_uv |Y^_v - Y^_u|^2 + mu3 * sum over nodes of |Y^_v - U_v|^2, where an undirected edge counts from both its ends. A
    Jacobi step gives each node the weighted mean of its label, its neighbours' distributions and the prior, so that
    distributions stay distributions. It stops once such a step would change no entry by more than `tolerance`.

    Nodes that no label can reach get the prior (smoothed among themselves where each has its own); a warning says how
    many they are.

    Args:
        prior: U: None (uniform; of several labels per row, their frequency), (C,) for all nodes, or (n, C) for each,
            such as a network's predictions.
        {settings}

    Attributes:
        classes_: (C,) what the columns stand for.
        label_distributions_: (n, C) float32 of all nodes; with `keep`, sparse with at most `keep` entries a row.
        transduction_: (n,) class of every node, or (n, L) zeros and ones.
        rest_: With `keep`, (n,) what each node has of the prior; `distributions()` puts both together.
        reached_: (n,) mask of the nodes that a label can reach.
        n_iter_: Steps done.
        residual_: Largest change of an entry that a Jacobi step still made.

    >>> path, clamped = Graph.from_edges([[0, 1], [1, 2]]), float("inf")
    >>> LabelPropagation(mu1=clamped, mu3=0).fit(None, [0, -1, 1], graph=path).label_distributions_[1].tolist()
    [0.5, 0.5]
    """

    mu1: float = 1.0
    mu2: float = 0.5
    mu3: float = 0.01
    prior: ArrayLike | None = None
    keep: int | None = None
    k: int = 5
    influence: Influence = "both"
    solver: Solver = "conjugate_gradient"
    tolerance: float = 1e-4
    max_steps: int = 1000

    def fit(
        self,
        x: ArrayLike | sp.csr_matrix | None,
        y: ArrayLike | sp.csr_array,
        graph: Graph | None = None,
        on_step: OnStep | None = None,
    ) -> LabelPropagation:
        """Propagates the labels over the graph.

        Args:
            x: (n, d), or None. Used by `predict`, and to make a graph where none is given.
            y: (n,) classes, -1, None or NaN = unlabelled; (n, L) zeros and ones, or shares that add up to 1, a row of
                -1 = unlabelled; or sparse (n, L), where rows without an entry are unlabelled.
            graph: Graph on n nodes.
            on_step: Called with (step, residual).
        """
        self._check()
        rows = self._rows(x, y)
        graph = self._graph(graph, rows)
        seeds = read_seeds(y, rows)
        prior = read_prior(self.prior, seeds)
        self.task_, self.classes_ = seeds.task, seeds.classes
        coupling = couple(graph, self.influence, self.mu2 if graph.directed else 2 * self.mu2)
        self.reached_ = coupling.reached(seeds.labeled)
        equation = coupling.system(seeds.labeled, self.reached_, self.mu1, self.mu3)
        if self.keep is not None:
            self._solve_strongest(equation, seeds, prior, on_step)
        else:
            one_way = graph.directed and self.influence != "both"
            self._solve(equation, seeds, prior, "jacobi" if one_way else self.solver, on_step)
        unreached = int((~self.reached_).sum())
        warn_of_result(seeds.missing, unreached, rows, (self.n_iter_, self.residual_), self.tolerance, self._converged)
        return self

    def predict(self, x: ArrayLike | sp.csr_matrix) -> NDArray[np.generic]:
        """Classes (n,) of rows that need not be in the graph, or zeros and ones (n, L); see `predict_proba`."""
        return self._decide(self.predict_proba(x))

    def predict_proba(self, x: ArrayLike | sp.csr_matrix) -> NDArray[np.floating]:
        """(n, C): mean distribution of the `k` rows of the training x that are nearest."""
        check_is_fitted(self)
        if self._near is None:
            raise ValueError(
                "label propagation was fitted without x, so it predicts only the nodes of its graph; read transduction_"
            )
        check_names(x)
        with np.errstate(all="ignore"):  # the look for infinity adds all numbers up
            checked = validate_data(self, as_dense(x), reset=False, accept_sparse="csr")
        if sp.issparse(checked) and not sp.issparse(self._near._fit_X):
            checked = checked.toarray()
        neighbors = self._near.kneighbors(checked, return_distance=False)  # (n, k)
        nodes, inverse = np.unique(neighbors, return_inverse=True)
        mean: NDArray[np.floating] = self.distributions(nodes)[inverse.reshape(neighbors.shape)].mean(axis=1)
        return mean

    def score(self, x: ArrayLike | sp.csr_matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy of `predict` over the labelled rows; of several labels, the share of rows with all of them right."""
        return labeled_accuracy(self.predict(x), y, sample_weight)

    def distributions(self, nodes: NDArray[np.int64] | None = None) -> NDArray[np.floating]:
        """(b, C) of some nodes or of all, dense; with `keep`, labels that were dropped have their part of the rest."""
        check_is_fitted(self)
        values = self.label_distributions_
        if not sp.issparse(values):
            return cast("NDArray[np.floating]", values if nodes is None else values[nodes])
        ids = np.arange(values.shape[0]) if nodes is None else nodes
        entries = cast(sp.csr_array, values)[ids].tocoo()
        dense: NDArray[np.floating] = self.rest_[ids][:, None] * self.base_
        dense[entries.row, entries.col] = entries.data
        return dense

    def _check(self) -> None:
        check_declared(self, LABEL_PROPAGATION)

    def _rows(self, x: ArrayLike | sp.csr_matrix | None, y: ArrayLike | sp.csr_array) -> int:
        """Number of nodes; remembers the rows of x for `predict`."""
        self._near = None
        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None; mark unlabelled nodes with -1")
        if x is None:
            labels = cast("NDArray[np.generic]", y if sp.issparse(y) else as_array(cast(ArrayLike, y)))
            if not labels.ndim:
                raise ValueError(f"y is {short_repr(y)}; give a label per node, -1 where unlabelled")
            return int(labels.shape[0])
        check_names(x)
        with np.errstate(all="ignore"):  # the look for infinity adds all numbers up
            checked = validate_data(self, as_dense(x), reset=True, accept_sparse="csr", dtype=[np.float32, np.float64])
            self._near = NearestNeighbors(n_neighbors=min(self.k, checked.shape[0])).fit(checked)
        return int(checked.shape[0])

    def _graph(self, graph: Graph | None, rows: int) -> Graph:
        if graph is None:
            if self._near is None:
                raise ValueError("label propagation got neither a graph nor x to make one of; give graph=")
            x = self._near._fit_X
            dense = x.toarray() if sp.issparse(x) else x
            num_neighbors = min(self.k, rows - 1)
            return (
                knn_graph(dense, num_neighbors, "euclidean") if num_neighbors else Graph.from_edges([], num_nodes=rows)
            )
        if not isinstance(graph, Graph):
            raise ValueError(f"graph is a {type(graph).__name__}; make a Graph of it with Graph.from_edges or the like")
        if graph.num_nodes != rows:
            raise ValueError(f"the graph has {graph.num_nodes} nodes, y has {rows} rows; give a label or -1 per node")
        check_influence(self.influence, graph.directed)
        return graph

    def _solve(
        self,
        equation: PropagationSystem,
        seeds: Seeds,
        prior: NDArray[np.float32],
        solver: Solver,
        on_step: OnStep | None,
    ) -> None:
        result = solve(
            equation.shares,
            *equation.anchor_and_start(seeds.values, prior),
            solver=solver,
            tolerance=self.tolerance,
            max_steps=self.max_steps,
            on_step=on_step,
            overwrite=True,
        )
        values = result.values.clamp_(0, 1)  # conjugate gradients may overshoot by as much as the tolerance
        if self.task_ != "labels":
            values /= values.sum(dim=1, keepdim=True)
        self.label_distributions_ = values.numpy()
        self.transduction_ = self._decide(self.label_distributions_)
        self.n_iter_, self.residual_, self._converged = result.steps, result.residual, result.converged

    def _solve_strongest(
        self, equation: PropagationSystem, seeds: Seeds, prior: NDArray[np.float32], on_step: OnStep | None
    ) -> None:
        anchor = scale_rows(seeds.values, equation.pulls.label_share)
        base, rest = prior, equation.pulls.prior_share
        if prior.ndim == 2:  # a prior of each node's own is anchored like a label; what is dropped is spread evenly
            anchor = (anchor + scale_rows(sp.csr_array(prior), rest)).tocsr()
            base, rest = np.full(prior.shape[1], 1 / prior.shape[1], dtype=np.float32), np.zeros_like(rest)
        result = solve_top_k(
            equation.shares,
            anchor,
            rest,
            base,
            keep=min(cast(int, self.keep), len(self.classes_)),
            conserve=self.task_ != "labels",  # of several labels, each is by itself
            tolerance=self.tolerance,
            max_steps=self.max_steps,
            on_step=on_step,
        )
        values = result.excess
        values.data = values.data + np.repeat(result.rest, np.diff(values.indptr)) * base[values.indices]
        self.label_distributions_, self.rest_, self.base_ = values, result.rest, base
        self.n_iter_, self.residual_, self._converged = result.steps, result.residual, result.converged
        if self.task_ == "labels":
            above_half: sp.csr_array = values > 0.5
            self.transduction_ = above_half.astype(np.int64)
            return
        strongest = np.asarray(values.argmax(axis=1)).ravel()
        unseen = np.asarray(values.max(axis=1).todense()).ravel() < result.rest * base.max()
        self.transduction_ = self.classes_[np.where(unseen, int(base.argmax()), strongest)]

    def _decide(self, values: NDArray[np.floating]) -> NDArray[np.generic]:
        if self.task_ == "labels":
            return (values > 0.5).astype(np.int64)
        labels: NDArray[np.generic] = self.classes_[values.argmax(axis=1)]
        return labels

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def check_influence(influence: Influence, directed: bool) -> None:
    """Refuses a direction of influence where edges have none."""
    if not directed and influence in ("source", "target"):
        raise ValueError(
            f"influence is {influence!r}, but the graph is undirected: its edges have no source; make it with "
            "directed=True, or set influence='both'"
        )


def warn_of_result(
    missing: NDArray[np.generic],
    unreached: int,
    rows: int,
    last: tuple[int, float],
    tolerance: float,
    converged: bool,
) -> None:
    """What a user must know of a result.

    Args:
        missing: Classes without a seed.
        unreached: Nodes that no label reaches.
        rows: Nodes.
        last: (steps done, residual of the last one).
        tolerance: That the residual should have.
        converged: Whether it has.
    """
    if len(missing):
        names = ", ".join(repr(c) for c in missing[:5].tolist())
        text = f"no seed has class {names}: only the prior can give it to a node; label one, or drop its column"
        warnings.warn(text, UnseededClassWarning, stacklevel=3)
    if unreached:
        text = (
            f"{unreached:,} of {rows:,} nodes are in components without a label and get "
            "the prior; label a node there, or add edges"
        )
        warnings.warn(text, UnreachedNodesWarning, stacklevel=3)
    if not converged:
        text = (
            f"label propagation has not converged: after {last[0]} steps one more changes an entry by "
            f"{last[1]:.2g}, and tolerance is {tolerance:.2g}; raise max_steps, tolerance or mu3"
        )
        warnings.warn(text, ConvergenceWarning, stacklevel=3)
