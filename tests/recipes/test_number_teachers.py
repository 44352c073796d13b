"""Teachers of numbers, and how they are weighed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from ngm import Graph, NGMRegressor, load
from ngm.recipes import number_stacking
from ngm.recipes.node_views import GraphOperators, NodeViews, scaled_features
from ngm.recipes.number_stacking import (
    calibration_factor,
    label_share,
    least_squares_weights,
    r_squared,
    r_squared_interval,
    stack_number_teachers,
)
from ngm.recipes.number_teachers import NumberTargets, predict_numbers, spread_numbers
from tests.three_classes import EDGES, GRAPH, N, X

RNG = np.random.default_rng(0)
LABELED = np.arange(N) % 3 == 0
VALUES = RNG.normal(size=(N, 2)).astype(np.float32)


def views(graph: Graph = GRAPH) -> NodeViews:
    return NodeViews({"features": scaled_features(X)}, [graph])


def ring(n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Graph]:
    """Noise as x, and a wave around a ring of nodes: only the edges know it."""
    rng = np.random.default_rng(seed)
    wave = np.sin(np.arange(n) * 4 * np.pi / n)
    steps = [[i, (i + k) % n] for i in range(n) for k in (1, 2)]
    return rng.normal(size=(n, 8)).astype(np.float32), wave, Graph.from_edges(np.array(steps), num_nodes=n)


def test_spreading_is_the_closed_form_of_both_differences_and_weights() -> None:
    adjacency = GRAPH.to_scipy().toarray() + np.eye(N)
    degree = adjacency.sum(axis=1)
    reach = np.linalg.solve(np.eye(N) - 0.9 * adjacency / np.sqrt(degree[:, None] * degree), 0.1 * np.eye(N))
    mean = VALUES[LABELED].mean(axis=0)
    mass = reach @ LABELED
    expected = mean + reach @ (LABELED[:, None] * (VALUES - mean)) / (mass + mass.mean())[:, None]
    found = spread_numbers(GraphOperators(GRAPH), NumberTargets(VALUES), LABELED)
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_an_edge_reversed_or_a_node_renamed_changes_no_teacher() -> None:
    before = predict_numbers(views(), NumberTargets(VALUES), LABELED)
    order = RNG.permutation(N)
    moved = NodeViews(
        {"features": scaled_features(X[order])}, [Graph.from_edges(np.argsort(order)[EDGES][:, ::-1], num_nodes=N)]
    )
    after = predict_numbers(moved, NumberTargets(VALUES[order]), LABELED[order])
    for one, other in zip(before, after, strict=True):
        assert one.name == other.name
        np.testing.assert_allclose(other.values, one.values[order], atol=5e-3)


def test_weights_minimise_the_squared_error_on_the_simplex() -> None:
    unseen = [RNG.normal(size=(30, 1)).astype(np.float32) for _ in range(3)]
    known = (0.7 * unseen[0] + 0.3 * unseen[1] + 0.1 * RNG.normal(size=(30, 1))).astype(np.float32)
    prior, weight = np.array([0.2, 0.3, 0.5]), np.linspace(0.5, 1.5, 30)

    def cost(w: np.ndarray) -> float:
        error = known[:, 0] - np.hstack(unseen) @ w
        return float(weight @ error**2 + number_stacking.PULL * ((w - prior) ** 2).sum())

    expected = minimize(cost, prior, bounds=[(0, 1)] * 3, constraints={"type": "eq", "fun": lambda w: w.sum() - 1}).x
    np.testing.assert_allclose(least_squares_weights(unseen, known, weight, prior), expected, atol=1e-3)
    np.testing.assert_array_equal(least_squares_weights([np.empty((0, 1))] * 3, np.empty((0, 1)), weight, prior), prior)


def test_a_teacher_that_is_twice_too_sure_is_halved_and_one_that_knows_nothing_is_silenced() -> None:
    known = RNG.normal(size=(5_000, 1)).astype(np.float32)
    assert calibration_factor(known, 2 * known, np.ones(5_000)) == pytest.approx(0.5, abs=0.01)
    assert calibration_factor(known, -known, np.ones(5_000)) == 0
    assert calibration_factor(known, np.zeros_like(known), np.ones(5_000)) == 1
    assert 0.8 < calibration_factor(known[:2], 2 * known[:2], np.ones(2)) < 1  # two labels say little


def test_a_label_counts_by_the_square_of_the_score() -> None:
    assert [label_share(score) for score in (1.0, 0.5, -2.0, float("nan"))] == [1.0, 0.25, 0.0, 0.0]


def test_the_interval_holds_the_score_and_narrows_with_labels() -> None:
    widths = []
    for count in (20, 2_000):
        known = RNG.normal(size=(count, 1)).astype(np.float32)
        found = (known + RNG.normal(size=known.shape)).astype(np.float32) / 2
        low, high = r_squared_interval(known, found, seed=0)
        assert low < r_squared(known, found) < high
        widths.append(high - low)
    assert widths[1] < widths[0] / 5
    assert r_squared_interval(known[:1], found[:1], seed=0) == (float("-inf"), 1.0)


def test_the_edges_get_the_weight_where_only_they_know_and_none_where_they_are_shuffled() -> None:
    x, wave, graph = ring()
    labeled = np.arange(len(wave)) % 4 == 0
    numbers = NumberTargets(wave[:, None].astype(np.float32))
    nodes = NodeViews({"features": scaled_features(x)}, [graph])
    report = stack_number_teachers(nodes, numbers, labeled, seed=0).report
    assert report.score > 0.8
    assert report.weight_of_graphs > 0.8
    order = np.random.default_rng(1).permutation(len(wave))
    shuffled = Graph.from_edges(order[graph.edges.numpy()], num_nodes=len(wave))
    useless = stack_number_teachers(NodeViews(nodes.features, [shuffled]), numbers, labeled, seed=0)
    assert np.square(useless.soft_labels[~labeled]).mean() < 0.3 * wave.var()  # hardly away from the mean


def test_the_default_regressor_beats_paper_and_plain_where_only_edges_know() -> None:
    x, wave, graph = ring(n=150)
    y = np.where(np.arange(150) % 5 == 0, wave, np.nan)
    scores = [
        NGMRegressor(hidden=(16,), **settings).fit(x, y, graph=given).score(x, wave)
        for settings, given in (({}, graph), ({"recipe": "paper"}, graph), ({}, None))
    ]
    assert scores[0] > max(scores[1:]) + 0.2


def test_numbers_of_the_teachers_are_in_the_units_of_y_and_have_a_report_that_is_kept(tmp_path: Path) -> None:
    x, wave, graph = ring()
    y = np.where(np.arange(200) % 4 == 0, 1e6 + 50 * wave, np.nan)
    model = NGMRegressor(epochs=30).fit(x, y, graph=graph)
    assert model.settings_.recipe == "auto"
    assert model.num_labeled_ == 200
    assert model.teachers_ is not None
    assert model.teachers_.num_held_out == 50
    assert abs(model.predict(x).mean() - 1e6) < 20
    again = NGMRegressor(epochs=30).fit(x, y, graph=graph)
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    kept = load(model.save(tmp_path / "run"))
    assert kept.teachers_ == model.teachers_
    assert kept.teachers_.interval == model.teachers_.interval
    assert NGMRegressor(epochs=1).fit(x, y).settings_.recipe == "paper"
