"""What the methods of the citation tables are given, and how they are scored: test nodes out of the graph, or in it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.datasets import Dataset, few_labels
from ngm.experiments.citations.methods import Estimator, Make, Method, Setting
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
        truth: (v,) their classes.
        x_test: Rows of the test nodes.
        y_test: Their classes.
        test: Their ids among the n, where they are in the graph.
        every: (n,) classes of all nodes but those of validation and test, for the ceiling; -1 there.
    """

    x: sp.csr_matrix
    y: NDArray[np.int64]
    graph: Graph
    validation: NDArray[np.int64]
    truth: NDArray[np.int64]
    x_test: sp.csr_matrix
    y_test: NDArray[np.int64]
    test: NDArray[np.int64] | None
    every: NDArray[np.int64]


def view(data: Dataset, setting: Setting, per_class: int | None = None, seed: int = 0, choosing: bool = False) -> View:
    """The data with the test nodes out of the graph, or in it.

    Args:
        data: A citation graph.
        setting: "inductive" takes the test nodes out, rows and edges.
        per_class: Show only so many seeds of each class, drawn by `seed`.
        seed: See above.
        choosing: Let the validation nodes be the test nodes: for choosing settings. In the inductive setting they are
            out of the graph then, since nodes in the graph would be judged better than new ones.
    """
    if data.graph is None:
        raise ValueError(f"data set {data.name!r} has no graph")
    nodes = np.arange(len(data.y))
    scored = data.validation if choosing else data.test
    gone = np.concatenate([data.test, scored]) if setting == "inductive" else data.test[:0]
    kept = np.setdiff1d(nodes, gone)
    shown = data.y[data.train] if per_class is None else few_labels(data.y[data.train], per_class, seed)
    y = np.full(len(nodes), -1)
    y[data.train] = shown
    every = data.y.copy()
    every[np.concatenate([data.validation, data.test])] = -1
    return View(
        x=data.x[kept],
        y=y[kept],
        graph=data.graph.subgraph(kept) if setting == "inductive" else data.graph,
        validation=np.flatnonzero(np.isin(kept, data.validation)),
        truth=data.y[np.intersect1d(kept, data.validation)],
        x_test=data.x[scored],
        y_test=data.y[scored],
        test=None if setting == "inductive" else scored,
        every=every[kept],
    )


@dataclass(frozen=True, eq=False)
class Cell:
    """One method on one view of the data.

    Args:
        method: Which.
        data: A citation graph.
        setting: See `view`, as for the rest.
        per_class: Show only so many seeds of each class.
        draw: Which draw of them.
    """

    method: Method
    data: Dataset
    setting: Setting
    per_class: int | None = None
    draw: int = 0

    @cached_property
    def shown(self) -> View:
        """The data as the method sees it."""
        return view(self.data, self.setting, self.per_class, self.draw)

    @cached_property
    def picked(self) -> tuple[str, Make]:
        """The candidate that is best on the validation nodes with seed 0: its settings in words, and how to make it."""
        if len(self.method.candidates) == 1:
            return next(iter(self.method.candidates.items()))
        shown = self._choosing()
        right = {
            words: self._accuracy(self._fitted(make, shown, seed=0), shown)
            for words, make in self.method.candidates.items()
        }
        best = max(right, key=lambda words: right[words])
        return best, self.method.candidates[best]

    def prepare(self) -> None:
        """Makes the view, and chooses among the candidates."""
        _ = self.shown, self.picked

    def _choosing(self) -> View:
        """The view to choose settings on. One that stops by the validation nodes needs them in the graph for that."""
        if not self.method.stops:
            return view(self.data, self.setting, self.per_class, self.draw, choosing=True)
        ids = self.shown.validation
        return replace(self.shown, x_test=self.shown.x[ids], y_test=self.shown.truth, test=ids)

    def score(self, seed: int) -> tuple[float, str]:
        """(accuracy on the test nodes, settings in words)."""
        words, make = self.picked
        return self._accuracy(self._fitted(make, self.shown, seed), self.shown), words

    def _accuracy(self, fitted: Estimator, shown: View) -> float:
        found = fitted.transduction_[shown.test] if self.method.reads else fitted.predict(shown.x_test)
        return accuracy(shown.y_test, found)

    def _fitted(self, make: Make, shown: View, seed: int) -> Estimator:
        estimator, y = make(seed), shown.every if self.method.ceiling else shown.y
        if self.method.stops:
            y = y.copy()
            y[shown.validation] = shown.truth
            owner = getattr(estimator, "estimator", estimator)  # the network inside self-training
            owner.set_params(validation=shown.validation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # components without a seed and the like are the data's own
            return estimator.fit(shown.x, y, graph=shown.graph)
