"""What the methods of the citation tables are shown, on a small graph of our own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm import Graph
from ngm.datasets import Dataset
from ngm.experiments.citations.methods import METHODS, CitationMethod
from ngm.experiments.citations.splits import CitationCell, view


@pytest.fixture
def small() -> Dataset:
    """A ring of 12 nodes in two classes: seeds 0 to 3, validation 4 to 7, test 8 to 10; node 11 has no class."""
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, -1])
    x = sp.csr_matrix(np.eye(12, dtype=np.float32))
    ring = Graph.from_edges([[i, (i + 1) % 12] for i in range(12)])
    return Dataset("small", x, y, ring, np.arange(4), np.arange(4, 8), np.arange(8, 11), ("a", "b"))


def test_test_nodes_are_absent_in_the_inductive_view(small: Dataset) -> None:
    shown = view(small, "inductive")
    assert shown.x.indices.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 11]  # the row of each node kept
    assert shown.y.tolist() == [0, 1, 0, 1, -1, -1, -1, -1, -1]
    assert shown.graph.num_edges == 12 - 4
    assert shown.x_test.indices.tolist() == [8, 9, 10]
    assert (shown.y_test.tolist(), shown.test) == ([0, 1, 0], None)
    assert (shown.validation.tolist(), shown.y_validation.tolist()) == ([4, 5, 6, 7], [0, 1, 0, 1])


def test_test_nodes_are_unlabelled_nodes_of_the_graph_in_the_transductive_view(small: Dataset) -> None:
    shown = view(small, "transductive")
    assert (shown.x.shape[0], shown.graph.num_edges) == (12, 12)
    assert (shown.y >= 0).nonzero()[0].tolist() == [0, 1, 2, 3]
    assert shown.test is not None
    assert shown.test.tolist() == [8, 9, 10]


def test_settings_are_chosen_on_validation_nodes_that_are_out_of_the_graph_as_test_nodes_will_be(
    small: Dataset,
) -> None:
    shown = view(small, "inductive", choosing=True)
    assert shown.x.indices.tolist() == [0, 1, 2, 3, 11]
    assert shown.x_test.indices.tolist() == [4, 5, 6, 7]
    assert len(shown.validation) == 0
    inside = view(small, "transductive", choosing=True)
    assert inside.x.shape[0] == 12
    assert inside.test is not None
    assert inside.test.tolist() == [4, 5, 6, 7]


def test_fewer_seeds_a_class_are_shown_where_asked_for(small: Dataset) -> None:
    shown = view(small, "inductive", per_class=1, seed=3)
    assert sorted(shown.y[shown.y >= 0].tolist()) == [0, 1]
    assert all(small.y[i] == c for i, c in enumerate(shown.y[:4]) if c >= 0)


class Constant:
    """Says one class of every row, and remembers what it was given."""

    seen: list[NDArray[np.int64]]

    def __init__(self, answer: int) -> None:
        self.answer, self.seen, self.validation = answer, [], None

    def fit(self, x: sp.csr_matrix, y: NDArray[np.int64], graph: Graph | None = None) -> Constant:
        self.seen.append(y)
        self.transduction_ = np.full(x.shape[0], self.answer)
        return self

    def predict(self, x: sp.csr_matrix) -> NDArray[np.int64]:
        return np.full(x.shape[0], self.answer)

    def set_params(self, **settings: object) -> Constant:
        self.__dict__.update(settings)
        return self


def test_the_candidate_that_is_best_on_validation_is_scored_on_test(small: Dataset) -> None:
    y = np.array([0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, -1])  # validation is mostly 1, test mostly 0
    data = Dataset("small", small.x, y, small.graph, small.train, small.validation, small.test, small.classes)
    method = CitationMethod("M", {"zero": lambda seed: Constant(0), "one": lambda seed: Constant(1)})
    for reads in (False, True):
        cell = CitationCell(CitationMethod("M", method.candidates, reads=reads), data, "transductive")
        assert cell.score(0) == (pytest.approx(1 / 3), "one")


def test_methods_never_see_labels_but_those_of_the_seeds(small: Dataset) -> None:
    made: list[Constant] = []

    def make(seed: int) -> Constant:
        made.append(Constant(0))
        return made[-1]

    CitationCell(CitationMethod("M", {"only": make}), small, "inductive").score(0)
    assert (made[0].seen[0] >= 0).sum() == 4
    CitationCell(CitationMethod("M", {"only": make}, stops=True), small, "inductive").score(0)
    assert made[1].seen[0][4:8].tolist() == [0, 1, 0, 1]  # one that stops by validation is told which rows these are
    assert made[1].validation.tolist() == [4, 5, 6, 7]


def test_methods_that_stop_by_validation_choose_by_the_same_nodes(small: Dataset) -> None:
    y = np.array([0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, -1])
    data = Dataset("small", small.x, y, small.graph, small.train, small.validation, small.test, small.classes)
    made: list[Constant] = []

    def make(answer: int) -> Constant:
        made.append(Constant(answer))
        return made[-1]

    method = CitationMethod("M", {"zero": lambda seed: make(0), "one": lambda seed: make(1)}, stops=True)
    assert CitationCell(method, data, "inductive").score(0) == (pytest.approx(1 / 3), "one")
    assert all(one.validation.tolist() == [4, 5, 6, 7] for one in made)


def test_every_method_of_the_table_has_a_name_figures_and_candidates() -> None:
    assert len({method.name for method in METHODS.values()}) == len(METHODS)
    for method in METHODS.values():
        assert method.candidates
        assert method.column in method.settings
        assert all(0 < figure < 1 for figure in method.published.values())
