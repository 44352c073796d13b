"""What label propagation reads, refuses and warns of, word for word."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ngm import Graph, LabelPropagation
from ngm.propagation.seeds import reached_by, read_prior, read_seeds, system
from tests.conftest import random_graph

PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3]])
ENDS = [0, -1, -1, 1]
X = np.array([[0.0], [1.0], [10.0], [11.0]])


def told(model: LabelPropagation, y: object, graph: Graph, kind: type[Warning] = UserWarning) -> str:
    """The one warning of a fit."""
    with pytest.warns(kind) as caught:
        model.fit(None, y, graph=graph)
    assert len(caught) == 1
    assert issubclass(caught[0].category, kind)
    assert caught[0].filename == __file__  # it points at the user's line
    return str(caught[0].message)


def test_a_class_without_a_seed_is_warned_of() -> None:
    y = [[0.5, 0, 0.5, 0], [-1] * 4, [-1] * 4, [1, 0, 0, 0]]
    assert told(LabelPropagation(), y, PATH) == (
        "no seed has class 1, 3: only the prior can give it to a node; label one, or drop its column"
    )


@pytest.mark.parametrize("mu3", [0, 0.3])
@pytest.mark.parametrize("prior", [None, [0.1, 0.9]])
@pytest.mark.parametrize("keep", [None, 2])
def test_nodes_in_components_without_a_label_are_counted_and_get_the_prior(
    mu3: float, prior: list[float] | None, keep: int | None
) -> None:
    graph = Graph.from_edges([[0, 1], [2, 3], [3, 4]], num_nodes=6)
    model = LabelPropagation(mu3=mu3, prior=prior, keep=keep)
    assert told(model, [0, 1, -1, -1, -1, -1], graph) == (
        "4 of 6 nodes are in components without a label and get the prior; label a node there, or add edges"
    )
    assert model.reached_.tolist() == [True, True, False, False, False, False]
    if keep is None:  # of a node that keeps nothing, the prior is the rest
        np.testing.assert_allclose(model.label_distributions_[2:], [prior or [0.5, 0.5]] * 4, rtol=1e-6)
    assert model.transduction_[2:].tolist() == [0 if prior is None else 1] * 4


def test_with_a_prior_for_each_node_one_without_edges_keeps_its_own() -> None:
    graph = Graph.from_edges([[0, 1]], num_nodes=3)
    model = LabelPropagation(prior=[[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
    told(model, [0, 1, -1], graph)
    np.testing.assert_allclose(model.label_distributions_[2], [0.2, 0.8], rtol=1e-6)


@pytest.mark.parametrize("settings", [{"solver": "jacobi"}, {"solver": "conjugate_gradient"}, {"keep": 2}])
def test_what_has_not_converged_is_warned_of_with_its_residual(settings: dict) -> None:
    graph = random_graph(30, 200, 0).subgraph(range(1, 30))
    model = LabelPropagation(max_steps=3, tolerance=1e-7, **settings)
    text = told(model, np.where(np.arange(29) < 4, np.arange(29) % 2, -1), graph, ConvergenceWarning)
    assert text == (
        f"label propagation has not converged: after 3 steps one more changes an entry by {model.residual_:.2g}, "
        "and tolerance is 1e-07; raise max_steps, tolerance or mu3"
    )
    assert model.residual_ > 1e-3


def test_a_run_that_converges_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LabelPropagation().fit(None, ENDS, graph=PATH)


def test_a_graph_or_x_is_needed_and_predict_needs_x() -> None:
    with pytest.raises(
        ValueError, match=r"\Alabel propagation got neither a graph nor x to make one of; give graph=\Z"
    ):
        LabelPropagation().fit(None, ENDS)
    with pytest.raises(ValueError, match=r"\Agraph is a list; make a Graph of it with Graph.from_edges or the like\Z"):
        LabelPropagation().fit(None, ENDS, graph=[PATH])
    fitted = LabelPropagation().fit(None, ENDS, graph=PATH)
    text = "label propagation was fitted without x, so it predicts only the nodes of its graph; read transduction_"
    with pytest.raises(ValueError, match=rf"\A{text}\Z"):
        fitted.predict(X)
    with pytest.raises(
        ValueError, match=r"\Ax has 4 rows, y has 2; give a target per row, -1 or NaN where unlabelled\Z"
    ):
        LabelPropagation().fit(X, [0, 1])


def test_the_three_shares_of_a_node_add_up_to_one() -> None:
    graph = random_graph(20, 30, 1)
    weight, labeled = graph.to_scipy(), np.arange(20) < 4
    for mu1, mu3 in ((1.0, 0.1), (math.inf, 0.1), (math.inf, 0.0), (2.0, 0.0)):
        found = system(weight, labeled, reached_by(labeled, weight), mu1, mu3)
        total = found.shares.matrix.sum(axis=1) + found.pulls.label_share + found.pulls.prior_share
        np.testing.assert_allclose(total, 1, rtol=1e-6)
        if mu1 == math.inf:
            assert found.pulls.label_share[labeled].tolist() == [1] * 4
            assert found.pulls.fixed[labeled].all()


def test_a_label_reaches_what_it_can_pull_through_others() -> None:
    chain = sp.csr_array(np.array([[0, 0, 0, 0], [2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=np.float32))
    first, middle = np.array([True, False, False, False]), np.array([False, True, False, False])
    assert reached_by(first, chain).tolist() == [True, True, True, False]  # 1 takes from 0, and 2 from 1
    assert reached_by(middle, chain).tolist() == [False, True, True, False]
    chain.data[1] = 0  # an edge of no weight carries nothing
    assert reached_by(first, chain).tolist() == [True, True, False, False]


def test_the_prior_is_uniform_or_of_several_labels_their_frequency() -> None:
    assert read_prior(None, read_seeds(["a", "b", "c", None], 4)).tolist() == pytest.approx([1 / 3] * 3)
    labels = read_seeds(np.array([[1, 1], [0, 1], [0, 0], [1, 1], [-1, -1]]), 5)
    assert read_prior(None, labels).tolist() == [0.5, 0.75]
    assert read_prior([0.9, 0.9], labels).tolist() == pytest.approx([0.9, 0.9])  # each by itself


def test_sparse_rows_that_add_up_to_one_are_distributions_and_others_sets() -> None:
    assert read_seeds(sp.csr_array([[1, 0], [0, 0], [0.5, 0.5]]), 3).task == "soft"
    several = read_seeds(sp.csr_array([[1, 1], [0, 0], [0, 1]]), 3)
    assert (several.task, several.labeled.tolist()) == ("labels", [True, False, True])


def test_a_tolerance_of_zero_is_as_near_as_it_gets() -> None:  # ZeroDivisionError in _conjugate_gradient
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LabelPropagation(tolerance=0, max_steps=200).fit(None, ENDS, graph=PATH)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, rtol=1e-6)


def test_no_y_is_refused() -> None:  # TypeError: len() of unsized object
    with pytest.raises(ValueError, match="fit requires y to be passed"):
        LabelPropagation().fit(None, None, graph=PATH)


def test_nan_in_a_sparse_y_is_refused() -> None:  # accepted: NaN > 1e-3 is false, and all distributions are NaN
    with pytest.raises(ValueError, match=r"row 0 of y has entries \[nan, 1.0\]"):
        LabelPropagation().fit(None, sp.csr_array([[math.nan, 1], [0, 0], [0, 0], [0, 1]]), graph=PATH)


def test_with_keep_a_node_that_keeps_nothing_is_predicted_as_it_is_transduced() -> None:  # predict says class 0
    graph = Graph.from_edges([[0, 1]], num_nodes=4)
    with pytest.warns(UserWarning, match="components without a label"):
        model = LabelPropagation(keep=1, k=1, prior=[0.2, 0.8]).fit(X, [0, 1, -1, -1], graph=graph)
    assert model.predict(X).tolist() == model.transduction_.tolist() == [0, 1, 1, 1]


def test_with_keep_every_label_of_several_stays_a_probability() -> None:  # as much as 2.2: base adds up to 3, not to 1
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(60, size=(200, 2)), rng.random(200), 60)
    y = np.where((np.arange(60) < 20)[:, None], rng.random((60, 5)) < 0.6, -1)
    whole = LabelPropagation().fit(None, y, graph=graph).label_distributions_
    kept = LabelPropagation(keep=2, max_steps=5000).fit(None, y, graph=graph).label_distributions_
    assert kept.max() <= 1 + 1e-4
    assert np.abs(kept.toarray() - whole)[kept.toarray() > 0].max() < 0.5


def test_an_unknown_solver_is_refused_with_keep_as_well() -> None:  # accepted: keep never looks at it
    with pytest.raises(ValueError, match="solver is 'gauss'"):
        LabelPropagation(solver="gauss", keep=1).fit(None, ENDS, graph=PATH)


def test_influence_on_an_undirected_graph_is_refused_as_the_classifier_does() -> None:  # quietly does nothing
    with pytest.raises(ValueError, match="influence is 'source', but"):
        LabelPropagation(influence="source").fit(None, ENDS, graph=PATH)
