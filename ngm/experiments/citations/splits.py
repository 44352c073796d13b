"""What the methods of the citation tables are given, and how they are scored: test nodes out of the graph, or in it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.datasets import Dataset, few_labels
from ngm.experiments.citations.methods import CitationMethod, Estimator, Make, Setting
from ngm.graph import Graph
from ngm.metrics import accuracy


@dataclass(frozen=True, eq=False)
class View:
    """What a method is given, and what it is scored on.

    Args:
        x: (n, d) rows of the nodes in the graph.
        y: (n,) classes of the seeds, -1 elsewhere.
        graph: Graph on n nodes.
        validation: (v,) ids of validation nodes among the n.
        y_validation: (v,) their classes.
        x_test: Rows of the test nodes.
        y_test: Their classes.
        test: Their ids among the n, where they are in the graph.
        y_all: (n,) classes of all nodes but those of validation and test, for the ceiling; -1 there.
    """

    x: sp.csr_matrix
    y: NDArray[np.int64]
    graph: Graph
    validation: NDArray[np.int64]
    y_validation: NDArray[np.int64]
    x_test: sp.csr_matrix
    y_test: NDArray[np.int64]
    test: NDArray[np.int64] | None
    y_all: NDArray[np.int64]


def view(data: Dataset, setting: Setting, per_class: int | None = None, seed: int = 0, choosing: bool = False) -> View:
    """The data with the test nodes out of the graph, or in it.

    Args:
        data: A citation graph.
        setting: "inductive" takes the test nodes out, rows and edges.
        per_class: Number of seeds of each class, drawn by `seed`; all where None.
        seed: See above.
        choosing: Let the validation nodes be the test nodes: for choosing settings. In the inductive setting they are
            out of the graph then, since nodes in the graph would be judged better than new ones.
    """
    if data.graph is None:
        raise ValueError(f"data set {data.name!r} has no graph")
    nodes = np.arange(len(data.y))
    test = data.validation if choosing else data.test
    removed = np.concatenate([data.test, test]) if setting == "inductive" else data.test[:0]
    remaining = np.setdiff1d(nodes, removed)
    y_train = data.y[data.train] if per_class is None else few_labels(data.y[data.train], per_class, seed)
    y = np.full(len(nodes), -1)
    y[data.train] = y_train
    y_all = data.y.copy()
    y_all[np.concatenate([data.validation, data.test])] = -1
    return View(
        x=data.x[remaining],
        y=y[remaining],
        graph=data.graph.subgraph(remaining) if setting == "inductive" else data.graph,
        validation=np.flatnonzero(np.isin(remaining, data.validation)),
        y_validation=data.y[np.intersect1d(remaining, data.validation)],
        x_test=data.x[test],
        y_test=data.y[test],
        test=None if setting == "inductive" else test,
        y_all=y_all[remaining],
    )


@dataclass(frozen=True, eq=False)
class CitationCell:
    """One method on one view of the data.

    Args:
        method: Which.
        data: A citation graph.
        setting: See `view`, as for the rest.
        per_class: Number of seeds of each class; all where None.
        draw: Which draw of them.
    """

    method: CitationMethod
    data: Dataset
    setting: Setting
    per_class: int | None = None
    draw: int = 0

    @cached_property
    def method_view(self) -> View:
        """The data as the method sees it."""
        return view(self.data, self.setting, self.per_class, self.draw)

    @cached_property
    def best_candidate(self) -> tuple[str, Make]:
        """The candidate that is best on the validation nodes with seed 0: its settings in words, and how to make it."""
        if len(self.method.candidates) == 1:
            return next(iter(self.method.candidates.items()))
        choice_view = self._choice_view()
        accuracies = {
            settings: self._accuracy(self._fitted(make, choice_view, seed=0), choice_view)
            for settings, make in self.method.candidates.items()
        }
        best = max(accuracies, key=lambda settings: accuracies[settings])
        return best, self.method.candidates[best]

    def prepare(self) -> None:
        """Makes the view, and chooses among the candidates."""
        _ = self.method_view, self.best_candidate

    def _choice_view(self) -> View:
        """The view to choose settings on. One that stops by the validation nodes needs them in the graph for that."""
        if not self.method.stops:
            return view(self.data, self.setting, self.per_class, self.draw, choosing=True)
        ids = self.method_view.validation
        return replace(self.method_view, x_test=self.method_view.x[ids], y_test=self.method_view.y_validation, test=ids)

    def score(self, seed: int) -> tuple[float, str]:
        """(accuracy on the test nodes, settings in words)."""
        settings, make = self.best_candidate
        return self._accuracy(self._fitted(make, self.method_view, seed), self.method_view), settings

    def _accuracy(self, fitted: Estimator, view_: View) -> float:
        predictions = fitted.transduction_[view_.test] if self.method.reads else fitted.predict(view_.x_test)
        return accuracy(view_.y_test, predictions)

    def _fitted(self, make: Make, view_: View, seed: int) -> Estimator:
        estimator, y = make(seed), view_.y_all if self.method.ceiling else view_.y
        if self.method.stops:
            y = y.copy()
            y[view_.validation] = view_.y_validation
            owner = getattr(estimator, "estimator", estimator)  # the network inside self-training
            owner.set_params(validation=view_.validation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # components without a seed and the like are the data's own
            return estimator.fit(view_.x, y, graph=view_.graph)
