"""A graph across whose edges predictions agree no more than chance is ignored; others are used."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from ngm import Graph, NGMClassifier, NGMRegressor
from ngm.recipes.graph_screen import MIN_EDGES
from tests.fits import timeless


def problem(seed: int, n: int = 400, edges: int = 3 * MIN_EDGES) -> tuple[np.ndarray, np.ndarray, np.ndarray, Graph]:
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
    assert NGMClassifier(recipe="paper", hidden=(8,), epochs=1, seed=seed).fit(x, y, graph=graph).graphs_used_ == [True]
    with pytest.warns(UserWarning, match="^graph ignored: predictions of neighbours agree no more than chance"):
        model = NGMClassifier(recipe="paper", hidden=(8,), epochs=1, seed=seed).fit(x, y, graph=shuffled(graph, seed))
    assert model.graphs_used_ == [False]


@pytest.mark.parametrize(
    "settings", [{}, {"epochs": 5, "batch_size": 8}, {"alpha_uu": 0.3, "validation": 0.2}], ids=str
)
def test_with_a_graph_that_is_left_out_training_is_that_without_a_graph_to_the_bit(settings: dict) -> None:
    x, _, y, graph = problem(0)
    with pytest.warns(UserWarning, match="^graph ignored"):
        model = NGMClassifier(recipe="paper", hidden=(8,), **settings).fit(x, y, graph=shuffled(graph, 0))
    plain = NGMClassifier(recipe="paper", hidden=(8,), **settings).fit(x, y)
    np.testing.assert_array_equal(model.predict_proba(x), plain.predict_proba(x))
    assert (model.n_iter_, model.steps_per_epoch_) == (plain.n_iter_, plain.steps_per_epoch_)
    for one, other in zip(timeless(model.history_), timeless(plain.history_), strict=True):
        assert {n: v for n, v in one.items() if n[:2] != "h_"} == {n: v for n, v in other.items() if n[:2] != "h_"}
    assert model.history_.epochs[-1]["uu"] == 0
    assert model.edges_by_kind_ == {"ll": 0, "lu": 0, "uu": 0}


def test_graphs_are_not_judged_where_that_is_not_wanted_or_where_they_are_small() -> None:
    x, _, y, graph = problem(0)
    lost = shuffled(graph, 0)
    few = Graph(lost.num_nodes, lost.edges[: MIN_EDGES - 1], lost.weight[: MIN_EDGES - 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NGMClassifier(recipe="paper", hidden=(8,), epochs=1, graph_screen=False).fit(
            x, y, graph=lost
        ).graphs_used_ == [True]
        assert NGMClassifier(recipe="paper", hidden=(8,), epochs=1).fit(x, y, graph=few).graphs_used_ == [True]


def test_a_graph_is_judged_for_several_labels_and_for_numbers_too() -> None:
    x, truth, y, graph = problem(1)
    several = np.where((y >= 0)[:, None], np.stack([truth, 1 - truth, truth], axis=1), -1)
    value = np.where(y >= 0, truth + 0.1 * x[:, 0], np.nan)
    for estimator, target in (
        (NGMClassifier(recipe="paper", hidden=(8,), epochs=1), several),
        (NGMRegressor(recipe="paper", hidden=(8,), epochs=1), value),
    ):
        assert estimator.fit(x, target, graph=graph).graphs_used_ == [True]
        with pytest.warns(UserWarning, match="^graph ignored"):
            estimator.fit(x, target, graph=shuffled(graph, 2))


def test_where_the_network_is_no_judge_labels_across_edges_are() -> None:
    """One-hot rows tell the network nothing of each other; 200 labels are at both ends of some 700 edges."""
    _, truth, _, graph = problem(3)
    x, y = np.eye(400, dtype=np.float32), np.where(np.arange(400) < 200, truth, -1)
    few = np.where(np.arange(400) < 20, truth, -1)  # some 7 such edges: too few to tell
    settings = {"hidden": (8,), "epochs": 1, "recipe": "paper"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NGMClassifier(**settings).fit(x, y, graph=graph).graphs_used_ == [True]
        assert NGMClassifier(**settings).fit(x, few, graph=shuffled(graph, 0)).graphs_used_ == [True]
    with pytest.warns(UserWarning, match="^graph ignored"):
        assert NGMClassifier(**settings).fit(x, y, graph=shuffled(graph, 0)).graphs_used_ == [False]


def test_the_look_leaves_training_as_it_is() -> None:
    x, _, y, graph = problem(2)
    looked = NGMClassifier(recipe="paper", hidden=(8,), epochs=2).fit(x, y, graph=graph)
    given = NGMClassifier(recipe="paper", hidden=(8,), epochs=2, graph_screen=False).fit(x, y, graph=graph)
    np.testing.assert_array_equal(looked.predict_proba(x), given.predict_proba(x))


def test_the_look_leaves_modules_alone_that_networks_share() -> None:
    x, _, y, graph = problem(0)
    backbone = nn.Linear(6, 8)
    before = backbone.weight.detach().clone()
    weights: list[torch.Tensor] = []

    class Net(nn.Module):
        def __init__(self, in_features: int, out_features: int) -> None:
            super().__init__()
            self.backbone, self.output = backbone, nn.Linear(8, out_features)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.training and not weights:
                weights.append(backbone.weight.detach().clone())
            return self.output(torch.relu(self.backbone(x)))

    NGMClassifier(recipe="paper", network=Net, layer="backbone", epochs=1).fit(x, y, graph=graph)
    assert torch.equal(weights[0], before)


def test_a_network_that_cannot_tell_new_rows_is_no_judge_of_a_graph() -> None:
    _, truth, y, graph = problem(0)
    identity = np.eye(len(y), dtype=np.float32)  # what is learned of one row says nothing of another
    model = NGMClassifier(recipe="paper", hidden=(16,), epochs=30, learning_rate=0.01).fit(identity, y, graph=graph)
    assert model.graphs_used_ == [True]
    assert model.score(identity, truth) > 0.8


def test_where_nothing_speaks_for_a_graph_and_rows_can_be_learned_without_it_it_is_left_out() -> None:
    rng = np.random.default_rng(0)
    _, _, y, graph = problem(0)
    noise = rng.normal(size=(400, 6)).astype(np.float32)  # the network cannot tell, and few labels are at both ends
    with pytest.warns(UserWarning, match="^graph ignored"):
        model = NGMClassifier(hidden=(8,), epochs=1, recipe="paper").fit(noise, y, graph=graph)
    assert model.graphs_used_ == [False]


def test_edges_without_weight_do_not_count() -> None:
    x, _, y, graph = problem(0)
    rng = np.random.default_rng(0)
    noise = rng.integers(len(y), size=(20_000, 2))
    edges = np.concatenate([graph.edges.numpy(), noise])
    weight = np.concatenate([np.ones(graph.num_edges), np.zeros(len(noise))])
    mixed = Graph.from_edges(edges, weight, num_nodes=len(y))
    assert NGMClassifier(recipe="paper", hidden=(8,), epochs=1).fit(x, y, graph=mixed).graphs_used_ == [True]


def test_of_several_graphs_only_those_that_tell_nothing_are_left_out() -> None:
    x, _, y, graph = problem(0)
    with pytest.warns(UserWarning, match="^graph 1 ignored"):
        model = NGMClassifier(recipe="paper", hidden=(8,), epochs=2).fit(x, y, graph=[graph, shuffled(graph, 0)])
    assert model.graphs_used_ == [True, False]
    assert sum(model.edges_by_kind_.values()) == graph.num_edges


def test_the_strong_recipe_does_not_learn_from_a_graph_that_tells_nothing() -> None:
    x, truth, y, graph = problem(0)
    with pytest.warns(UserWarning, match="^graph ignored"):
        model = NGMClassifier(hidden=(8,), recipe="strong").fit(x, y, graph=shuffled(graph, 0))
    assert (model.graphs_used_, model.num_labeled_) == ([False], 20)
    assert model.settings_.weight_decay == pytest.approx(1 / len(y))
    assert model.score(x, truth) > 0.8
