"""The teachers of the default recipe, each beside a second derivation."""

from __future__ import annotations

import numpy as np
import pytest

from ngm import Graph, knn_graph
from ngm.choices import Metric
from ngm.recipes import node_views, row_components
from ngm.recipes.label_matrix import Targets
from ngm.recipes.label_spreading import SPREADING_ALIKE, spread_labels
from ngm.recipes.linear_models import self_trained
from ngm.recipes.node_set import OwnNodes
from ngm.recipes.node_views import Floats, GraphOperators, NodeViews, scaled_features
from ngm.recipes.row_components import with_kernel
from ngm.recipes.teachers import predict_all, relearn
from tests.three_classes import EDGES, GRAPH, LABELED, TARGETS, N, X, views

RNG = np.random.default_rng(0)


def test_spreading_is_the_closed_form_divided_by_class_mass() -> None:
    adjacency = GRAPH.to_scipy().toarray() + np.eye(N)
    degree = adjacency.sum(axis=1)
    s = adjacency / np.sqrt(degree[:, None] * degree)
    start = TARGETS.values * LABELED[:, None]
    start = start / start.sum(axis=0)
    mass = np.linalg.solve(np.eye(N) - 0.9 * s, 0.1 * start)
    mass /= mass.mean(axis=0)
    expected = mass / mass.sum(axis=1, keepdims=True)
    found = spread_labels(GraphOperators(GRAPH), TARGETS, LABELED)
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_seeds_spread_by_a_random_walk_as_by_the_normalised_adjacency() -> None:
    graph = Graph.from_edges(EDGES, RNG.random(len(EDGES)) * 3, N)
    adjacency = graph.to_scipy().toarray() + np.eye(N)
    degree = adjacency.sum(axis=1)
    s = adjacency / np.sqrt(degree[:, None] * degree)
    seeds = RNG.random((N, 4)).astype(np.float32)
    z = seeds.astype(np.float64)
    for _ in range(7):
        z = 0.8 * s @ z + 0.2 * seeds
    np.testing.assert_allclose(GraphOperators(graph).spread(seeds, 0.8, 7), z, rtol=1e-5)


def test_rows_by_hops_are_means_of_length_1_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    adjacency = GRAPH.to_scipy().toarray() + np.eye(N)
    walk = adjacency / adjacency.sum(axis=1, keepdims=True)
    rows = scaled_features(RNG.standard_normal((N, 40)).astype(np.float32))
    means = [rows, walk @ rows, walk @ walk @ rows]
    expected = np.hstack([mean / np.linalg.norm(mean, axis=1, keepdims=True) for mean in means]) / np.sqrt(3)
    for entries in (1 << 25, 1):  # all columns at once, and a few
        monkeypatch.setattr(node_views, "_ENTRIES_AT_ONCE", entries)
        found = NodeViews({"features": rows}, [GRAPH]).hops("features", 0)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_processes_average_the_same_columns_however_many_nodes_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that asks for another number of means than the others would wait for them forever."""
    monkeypatch.setattr(node_views, "_ENTRIES_AT_ONCE", 20 * 100)
    widths = []
    for own in (30, 70):
        asked: list[int] = []

        class Means(GraphOperators):
            def mean_around(self, values: Floats, asked: list[int] = asked) -> Floats:
                asked.append(values.shape[1])
                return values

        alone = Graph.from_edges(np.zeros((0, 2), dtype=np.int64), num_nodes=own)
        nodes = OwnNodes(np.arange(own), 100, np.ones(own, dtype=bool))
        NodeViews({"features": np.ones((own, 50), np.float32)}, [Means(alone)], nodes=nodes).hops("features", 0)
        widths.append(asked)
    assert widths[0] == widths[1] == [20, 20, 20, 20, 10, 10]


@pytest.mark.parametrize(("columns", "metric"), [(3, "euclidean"), (20, "cosine")])
def test_nodes_most_alike_are_joined_by_principal_components(columns: int, metric: Metric) -> None:
    """Components of 16 columns are rotated rows, of 20 nearly: few columns are compared by distance, many by cosine."""
    spread = np.append(np.ones(min(columns, 16)), np.full(max(columns - 16, 0), 1e-4))
    rows = (RNG.standard_normal((N, columns)) * spread).astype(np.float32)
    centered = rows - rows.mean(axis=0)
    expected = knn_graph(centered, k=10, metric=metric)
    found = NodeViews({"features": rows}, [GRAPH]).alike("features")
    assert found is not None
    assert len(set(map(tuple, found.graph.edges.tolist())) ^ set(map(tuple, expected.edges.tolist()))) <= 4  # ties


def test_rows_of_few_columns_keep_their_lengths() -> None:
    """Which of two rings a row is on is lost with its length."""
    nodes = views()
    for rows in (nodes.neighborhood("features", 0), nodes.components("features"), nodes.hops("features", 0)):
        lengths = np.linalg.norm(rows, axis=1)
        assert np.sqrt(np.mean(lengths**2)) == pytest.approx(1, abs=1e-5)
        assert lengths.std() > 0.1
    wide = NodeViews({"features": RNG.standard_normal((N, 17)).astype(np.float32)}, [GRAPH])
    for rows in (wide.neighborhood("features", 0), wide.components("features"), wide.hops("features", 0)):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)


def test_components_have_the_deviations_of_the_rows() -> None:
    nodes = views()
    scores, deviation = nodes._principal("features", None)
    values = np.linalg.eigvalsh(np.cov(scaled_features(X).T, bias=True))
    np.testing.assert_allclose(np.sort(deviation**2), values, rtol=1e-3)
    np.testing.assert_allclose(scores.std(axis=0), deviation, rtol=1e-3)


def test_a_constant_view_has_no_components_and_joins_nobody() -> None:
    nodes = NodeViews({"features": np.ones((N, 3), np.float32)}, [GRAPH])
    assert nodes.components("features").tolist() == [[0.0]] * N
    assert nodes.alike("features").graph.num_edges == 0
    assert all(np.isfinite(found.values).all() for found in predict_all(nodes, TARGETS, LABELED))


def test_labels_spread_further_over_nodes_that_are_alike() -> None:
    path = Graph.from_edges([[i, i + 1] for i in range(19)], num_nodes=20)
    targets = Targets(np.eye(2, dtype=np.float32)[[0] * 10 + [1] * 10])
    ends = np.isin(np.arange(20), [0, 19])
    far = spread_labels(GraphOperators(path), targets, ends, SPREADING_ALIKE)
    assert (far.argmax(axis=1) == targets.values.argmax(axis=1)).all()
    np.testing.assert_allclose(far[::-1, ::-1], far, atol=1e-5)  # the two classes are alike


def test_models_that_learn_from_all_teachers_weigh_as_the_teachers_of_their_graph() -> None:
    proba = RNG.dirichlet(np.ones(3), size=N).astype(np.float32)
    nodes = views()
    found = {one.name: one for one in relearn(nodes, proba, TARGETS, LABELED, 0.2, [0.8])}
    assert {name: (one.graph, one.prior) for name, one in found.items()} == {
        "features relearned": (None, 0.2),
        "features around relearned": (0, 0.4),
        "features by hops relearned": (0, 0.4),
    }
    hops = nodes.hops("features", 0)
    expected = self_trained(with_kernel(hops, hops), proba, TARGETS, LABELED)
    np.testing.assert_array_equal(found["features by hops relearned"].values, expected)


def test_models_of_many_columns_learn_from_all_teachers_without_a_kernel() -> None:
    proba = RNG.dirichlet(np.ones(3), size=N).astype(np.float32)
    nodes = NodeViews({"features": RNG.standard_normal((N, 17)).astype(np.float32)}, [GRAPH])
    found = {one.name: one for one in relearn(nodes, proba, TARGETS, LABELED, 0.2, [0.8])}
    expected = self_trained(nodes.hops("features", 0), proba, TARGETS, LABELED)
    np.testing.assert_array_equal(found["features by hops relearned"].values, expected)


def test_an_edge_reversed_or_a_node_renamed_changes_no_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_components, "LANDMARKS", N)  # of fewer, which they are depends on the order of nodes
    before = predict_all(views(), TARGETS, LABELED)
    order = RNG.permutation(N)
    renamed = Graph.from_edges(np.argsort(order)[EDGES][:, ::-1], num_nodes=N)
    moved = NodeViews({"features": scaled_features(X[order])}, [renamed])
    after = predict_all(moved, Targets(TARGETS.values[order]), LABELED[order])
    for one, other in zip(before, after, strict=True):
        assert one.name == other.name
        np.testing.assert_allclose(other.values, one.values[order], atol=5e-3)


def test_every_teacher_gives_probabilities_for_classes_and_for_label_sets() -> None:
    several = Targets((RNG.random((N, 4)) < 0.4).astype(np.float32), multilabel=True)
    for found in predict_all(views(), several, LABELED):
        assert found.values.shape == (N, 4)
        assert found.values.min() >= 0
        assert found.values.max() <= 1
    for found in predict_all(views(), TARGETS, LABELED):
        np.testing.assert_allclose(found.values.sum(axis=1), 1, atol=1e-5)
