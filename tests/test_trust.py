"""A graph that tells nothing is left out; one that tells something is used."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from ngm import Graph, NGMClassifier, NGMRegressor
from ngm.methods.trust import FEWEST


def problem(seed: int, n: int = 400, edges: int = 3 * FEWEST) -> tuple[np.ndarray, np.ndarray, np.ndarray, Graph]:
    """x, all classes, 20 of them shown, and a graph that joins a class four times in five."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    x = (rng.normal(size=(n, 6)) + 0.7 * np.where(truth, 1, -1)[:, None]).astype(np.float32)
    u = rng.integers(n, size=edges)
    v = np.where(rng.random(edges) < 0.8, (u + 2 * rng.integers(n // 2, size=edges)) % n, rng.integers(n, size=edges))
    return x, truth, np.where(np.arange(n) < 20, truth, -1), Graph.from_edges(np.stack([u, v], axis=1), num_nodes=n)


def shuffled(graph: Graph, seed: int) -> Graph:
    name = np.random.default_rng(seed).permutation(graph.num_nodes)
    return Graph.from_edges(name[graph.edges.numpy()], num_nodes=graph.num_nodes)


@pytest.mark.parametrize("seed", range(3))
def test_a_graph_of_the_classes_is_used_and_its_shuffled_twin_is_not(seed: int) -> None:
    x, _, y, graph = problem(seed)
    assert NGMClassifier(hidden=(8,), epochs=1, seed=seed).fit(x, y, graph=graph).graph_tells_
    with pytest.warns(
        UserWarning, match="^the graph tells nothing and is left out: across its edges, predictions agree"
    ):
        model = NGMClassifier(hidden=(8,), epochs=1, seed=seed).fit(x, y, graph=shuffled(graph, seed))
    assert not model.graph_tells_


def test_a_graph_that_is_left_out_leaves_the_plain_network_at_as_many_steps() -> None:
    x, _, y, graph = problem(0)
    with pytest.warns(UserWarning, match="tells nothing"):
        model = NGMClassifier(hidden=(8,), epochs=5, batch_size=500).fit(x, y, graph=shuffled(graph, 0))
    steps = 5 * -(-graph.num_edges // 500)
    plain = NGMClassifier(hidden=(8,), epochs=steps).fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), plain.predict_proba(x), atol=1e-4)
    assert model.history_.epochs[-1]["uu"] == 0


def test_alphas_that_are_given_are_obeyed_and_small_graphs_are_not_judged() -> None:
    x, _, y, graph = problem(0)
    lost = shuffled(graph, 0)
    few = Graph(lost.num_nodes, lost.edges[: FEWEST - 1], lost.weight[: FEWEST - 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NGMClassifier(hidden=(8,), epochs=1, alpha_uu=0.1).fit(x, y, graph=lost).graph_tells_
        assert NGMClassifier(hidden=(8,), epochs=1).fit(x, y, graph=few).graph_tells_


def test_a_graph_is_judged_for_several_labels_and_for_numbers_too() -> None:
    x, truth, y, graph = problem(1)
    several = np.where((y >= 0)[:, None], np.stack([truth, 1 - truth, truth], axis=1), -1)
    value = np.where(y >= 0, truth + 0.1 * x[:, 0], np.nan)
    for estimator, target in (
        (NGMClassifier(hidden=(8,), epochs=1), several),
        (NGMRegressor(hidden=(8,), epochs=1), value),
    ):
        assert estimator.fit(x, target, graph=graph).graph_tells_
        with pytest.warns(UserWarning, match="tells nothing"):
            estimator.fit(x, target, graph=shuffled(graph, 2))


def test_the_look_leaves_training_as_it_is() -> None:
    x, _, y, graph = problem(2)
    looked = NGMClassifier(hidden=(8,), epochs=2).fit(x, y, graph=graph)
    given = NGMClassifier(hidden=(8,), epochs=2, alpha_ll=0.2, alpha_lu=0.2, alpha_uu=0.2).fit(x, y, graph=graph)
    np.testing.assert_array_equal(looked.predict_proba(x), given.predict_proba(x))
