"""The default recipe: teachers weighed by labels that they have not seen, a student that needs no graph."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression

from ngm import Graph, NGMClassifier, knn_graph, load
from ngm.recipes import stacking
from ngm.recipes.stacking import (
    calibration_power,
    confidence_power,
    label_folds,
    powered,
    prediction_assortativity,
    prior_weights,
    simplex_weights,
)
from ngm.recipes.targets import Targets
from ngm.recipes.teachers import SPREADING_ALIKE, Prediction, linear_proba, predict_all, self_trained, spread_labels
from ngm.recipes.views import GraphOperators, NodeViews, scaled_features

RNG = np.random.default_rng(0)
N = 120
CLASS = np.arange(N) % 3
X = (np.eye(3)[CLASS] + RNG.normal(0, 1.0, (N, 3))).astype(np.float32)
EDGES = np.array([[i, j] for i in range(N) for j in (i + 3, i + 9) if j < N])  # within a class
GRAPH = Graph.from_edges(EDGES, num_nodes=N)
FEW = np.where(np.arange(N) < 12, CLASS, -1)
TARGETS = Targets(np.eye(3, dtype=np.float32)[CLASS])
LABELED = FEW >= 0


def views(graph: Graph = GRAPH) -> NodeViews:
    return NodeViews({"features": scaled_features(X)}, [graph])


# Weights


def test_weights_solve_the_likelihood_with_the_prior() -> None:
    """At the maximum the gradient in each used weight is the same (Lagrange)."""
    likelihoods = [RNG.random(50), RNG.random(50), RNG.random(50)]
    prior = np.array([0.2, 0.3, 0.5])
    weights = simplex_weights(likelihoods, prior)
    right = np.stack(likelihoods, axis=1)
    gradient = (right / (right @ weights)[:, None]).sum(axis=0) + stacking.PRIOR_LABELS * prior / weights
    np.testing.assert_allclose(gradient, gradient.mean(), rtol=1e-4)
    assert weights.sum() == pytest.approx(1)


def test_without_held_out_labels_the_prior_stands() -> None:
    prior = np.array([0.7, 0.3])
    np.testing.assert_array_equal(simplex_weights([np.empty(0), np.empty(0)], prior), prior)


def test_a_teacher_that_knows_the_held_out_labels_gets_the_weight() -> None:
    weights = simplex_weights([np.full(100, 0.9), np.full(100, 0.1)], np.array([0.5, 0.5]))
    assert weights[0] > 0.9


def predictions(*uses_graph: bool, prior: tuple[float, ...] = ()) -> list[Prediction]:
    proba = np.full((1, 2), 0.5, np.float32)
    priors = prior or (1.0,) * len(uses_graph)
    return [Prediction(str(i), "", proba, 0 if used else None, priors[i]) for i, used in enumerate(uses_graph)]


def test_prior_weights_are_the_teachers_own_with_an_informative_graph_and_on_x_with_another() -> None:
    teachers = predictions(False, True, True, True, prior=(1, 1, 2, 4))
    np.testing.assert_allclose(prior_weights(teachers, 0.5), [1 / 8, 1 / 8, 2 / 8, 4 / 8])
    weights = prior_weights(teachers, 0.0)
    assert weights[0] == pytest.approx(1 - stacking.MIN_TRUST)
    np.testing.assert_allclose(weights[1:], stacking.MIN_TRUST * np.array([1, 2, 4]) / 7)
    halfway = prior_weights(teachers, (stacking.UNINFORMATIVE + stacking.INFORMATIVE) / 2)
    np.testing.assert_allclose(halfway, (weights + np.array([1, 1, 2, 4]) / 8) / 2)
    np.testing.assert_allclose(prior_weights(predictions(True, True), 0.0), 0.5)  # nothing but the graph


def test_assortativity_is_the_correlation_of_both_ends() -> None:
    values = RNG.random((N, 1))
    proba = np.hstack([values, 1 - values]).astype(np.float32)
    both = np.vstack([EDGES, EDGES[:, ::-1]])
    expected = np.corrcoef(values[both[:, 0], 0], values[both[:, 1], 0])[0, 1]
    assert prediction_assortativity(GRAPH, proba) == pytest.approx(expected, abs=1e-5)
    assert prediction_assortativity(GRAPH, np.eye(3, dtype=np.float32)[CLASS]) == pytest.approx(1)
    assert prediction_assortativity(GRAPH, np.full((N, 2), 0.5, np.float32)) == 1
    assert prediction_assortativity(Graph.from_edges(np.empty((0, 2), int), num_nodes=N), proba) == 0


def test_calibration_flattens_a_teacher_that_is_too_sure_and_leaves_a_good_one() -> None:
    right = RNG.random(400) < 0.6
    sure = np.where(right[:, None], [[0.999, 0.001]], [[0.001, 0.999]]).astype(np.float32)
    targets = Targets(np.tile(np.float32([1, 0]), (400, 1)))
    power = calibration_power(targets, sure)
    assert powered(sure, power, False).max() < 0.75
    honest = np.where(right[:, None], [[0.6, 0.4]], [[0.6, 0.4]]).astype(np.float32)
    assert calibration_power(targets, honest) >= 1


def test_teachers_are_brought_to_one_confidence() -> None:
    sharp, flat = (powered(RNG.dirichlet(np.ones(4), 500).astype(np.float32), power, False) for power in (9, 0.1))
    wanted = 1 / 4 + 3 / 4 * stacking.CONFIDENCE
    for proba in (sharp, flat):
        assert powered(proba, confidence_power(proba), False).max(axis=1).mean() == pytest.approx(wanted, abs=1e-3)


def test_nearly_uniform_probabilities_survive_a_large_power() -> None:
    flat = np.full((2, 9), 1 / 9, np.float32)
    flat[0, 3] += 1e-4
    raised = powered(flat, 50.0, False)
    np.testing.assert_allclose(raised.sum(axis=1), 1, rtol=1e-6)
    assert raised[0].argmax() == 3
    np.testing.assert_allclose(powered(flat, 1.0, False), flat / flat.sum(axis=1, keepdims=True), rtol=1e-5)


# Folds


def test_folds_hold_out_every_label_once_and_never_the_only_one_of_a_class() -> None:
    label = np.array([0] * 7 + [1] * 2 + [2])
    targets, labeled = Targets(np.eye(3, dtype=np.float32)[label]), np.ones(10, dtype=bool)
    fold = label_folds(targets, labeled, seed=0)
    assert fold[9] == -1
    assert (fold[:9] >= 0).all()
    for i in range(fold.max() + 1):
        assert set(label[fold != i]) == {0, 1, 2}  # each class is always learned from


def test_a_fold_is_predicted_by_teachers_that_have_not_seen_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    def noted(views: NodeViews, targets: Targets, labeled: np.ndarray) -> list[Prediction]:
        seen.append(labeled.copy())
        return [Prediction("memory", "", np.where(labeled[:, None], targets.values, 1 / 3).astype(np.float32), None)]

    monkeypatch.setattr(stacking, "predict_all", noted)
    report = stacking.stack_teachers(views(), TARGETS, LABELED, seed=0).report
    assert len(seen) == 1 + 4  # all labels, then four folds of four labels a class
    assert report.num_held_out == 12
    assert report.score == pytest.approx(1 / 3, abs=0.34)  # a memory of the labels would have 1


# Teachers


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


def test_nodes_most_alike_are_joined_by_principal_components() -> None:
    """With as many components as columns, these are rotated rows: neighbours by cosine of centred rows."""
    rows = scaled_features(X)
    centered = rows - rows.mean(axis=0)
    expected = knn_graph(centered, k=10)
    found = views().alike("features").graph
    assert len(set(map(tuple, found.edges.tolist())) ^ set(map(tuple, expected.edges.tolist()))) <= 4  # ties


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
    assert all(np.isfinite(found.proba).all() for found in predict_all(nodes, TARGETS, LABELED))


def test_labels_spread_further_over_nodes_that_are_alike() -> None:
    path = Graph.from_edges([[i, i + 1] for i in range(19)], num_nodes=20)
    targets = Targets(np.eye(2, dtype=np.float32)[[0] * 10 + [1] * 10])
    ends = np.isin(np.arange(20), [0, 19])
    far = spread_labels(GraphOperators(path), targets, ends, SPREADING_ALIKE)
    assert (far.argmax(axis=1) == targets.values.argmax(axis=1)).all()
    np.testing.assert_allclose(far[::-1, ::-1], far, atol=1e-5)  # the two classes are alike


def test_self_training_learns_from_labels_and_the_surer_half_of_each_class() -> None:
    rows, proba = scaled_features(X), linear_proba(scaled_features(X), TARGETS, LABELED)
    label, sureness = proba.argmax(axis=1), proba.max(axis=1)
    chosen = LABELED.copy()
    for one in range(3):
        mine = [i for i in range(N) if label[i] == one and not LABELED[i]]
        chosen[sorted(mine, key=lambda i: -sureness[i])[: (len(mine) + 1) // 2]] = True
    y, weight = np.where(LABELED, CLASS, label), np.where(LABELED, 1, sureness**2)
    model = LogisticRegression(C=10.0, max_iter=200).fit(rows[chosen], y[chosen], sample_weight=weight[chosen])
    np.testing.assert_allclose(self_trained(rows, proba, TARGETS, LABELED), model.predict_proba(rows), atol=1e-4)


def test_a_linear_teacher_is_scikit_learns() -> None:
    rows = scaled_features(X)
    model = LogisticRegression(C=100.0, max_iter=200).fit(rows[LABELED], CLASS[LABELED])
    np.testing.assert_allclose(linear_proba(rows, TARGETS, LABELED), model.predict_proba(rows), atol=1e-6)


def test_an_edge_reversed_or_a_node_renamed_changes_no_teacher() -> None:
    before = predict_all(views(), TARGETS, LABELED)
    order = RNG.permutation(N)
    renamed = Graph.from_edges(np.argsort(order)[EDGES][:, ::-1], num_nodes=N)
    moved = NodeViews({"features": scaled_features(X[order])}, [renamed])
    after = predict_all(moved, Targets(TARGETS.values[order]), LABELED[order])
    for one, other in zip(before, after, strict=True):
        assert one.name == other.name
        np.testing.assert_allclose(other.proba, one.proba[order], atol=5e-3)


def test_every_teacher_gives_probabilities_for_classes_and_for_label_sets() -> None:
    several = Targets((RNG.random((N, 4)) < 0.4).astype(np.float32), multilabel=True)
    for found in predict_all(views(), several, LABELED):
        assert found.proba.shape == (N, 4)
        assert found.proba.min() >= 0
        assert found.proba.max() <= 1
    for found in predict_all(views(), TARGETS, LABELED):
        np.testing.assert_allclose(found.proba.sum(axis=1), 1, atol=1e-5)


# The estimator

ALONE = ("features", "features self-trained", "features components", "features alike")  # without the graph


def auto(**settings: object) -> NGMClassifier:
    return NGMClassifier(**{"hidden": (8,), "epochs": 30} | settings)


def test_it_is_the_default_to_the_bit() -> None:
    default = NGMClassifier(hidden=(8,), epochs=5).fit(X, FEW, graph=GRAPH)
    named = NGMClassifier(hidden=(8,), epochs=5, recipe="auto").fit(X, FEW, graph=GRAPH)
    np.testing.assert_array_equal(default.predict_proba(X), named.predict_proba(X))
    assert default.teachers_ == named.teachers_ is not None
    paper = NGMClassifier(hidden=(8,), epochs=5, recipe="paper").fit(X, FEW, graph=GRAPH)
    assert not np.array_equal(default.predict_proba(X), paper.predict_proba(X))


def test_without_a_graph_it_is_the_plain_network_with_its_own_settings() -> None:
    model = auto().fit(X, FEW)
    used = model.settings_
    assert (model.teachers_, model.num_labeled_, used.recipe) == (None, 12, "auto")
    assert used.weight_decay == pytest.approx(1 / N)
    same = ("dropout", "input_dropout", "input_scaling", "learning_rate", "weight_decay", "average", "batch_size")
    plain = auto(recipe="paper", **{name: getattr(used, name) for name in same}).fit(X, FEW)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_a_graph_that_knows_nothing_leaves_nearly_the_plain_network() -> None:
    rng = np.random.default_rng(2)
    label = np.arange(400) % 3
    x = (1.5 * np.eye(3)[label] + rng.normal(0, 1, (400, 3))).astype(np.float32)
    y = np.where(np.arange(400) < 60, label, -1)
    edges = np.array([[i, j] for i in range(400) for j in (i + 3, i + 9, i + 30) if j < 400])
    new = (1.5 * np.eye(3)[label] + rng.normal(0, 1, (400, 3))).astype(np.float32)

    def scores(recipe: str, graph: Graph | None) -> float:
        models = [NGMClassifier(hidden=(16,), recipe=recipe, seed=s).fit(x, y, graph=graph) for s in range(3)]
        return float(np.mean([(model.predict(new) == label).mean() for model in models]))

    shuffled = Graph.from_edges(rng.permutation(400)[edges], num_nodes=400)
    assert abs(scores("auto", shuffled) - scores("auto", None)) < 0.03


def test_a_graph_without_edges_is_said_to_do_nothing() -> None:
    with pytest.warns(UserWarning, match="^the graph does nothing: it has no edge with a weight above 0$"):
        model = auto().fit(X, FEW, graph=Graph.from_edges(np.empty((0, 2), int), num_nodes=N))
    assert (model.graphs_used_, model.teachers_, model.num_labeled_) == ([False], None, 12)


def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = auto(epochs=6).fit(X, FEW, graph=GRAPH)
    auto(epochs=2, folder=tmp_path).fit(X, FEW, graph=GRAPH)
    parts = auto(epochs=6, folder=tmp_path, resume=True).fit(X, FEW, graph=GRAPH)
    np.testing.assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))


@pytest.mark.parametrize(("given", "why"), [({"recipe": "paper"}, "recipe 'paper' has none"), ({}, "without a graph")])
def test_views_that_no_teacher_sees_are_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=f"^views are for the teachers of recipe 'auto', and {why}"):
        auto(**given).fit(X, FEW, graph=GRAPH if given else None, views={"again": X})


def test_a_graph_that_knows_the_classes_beats_the_network_alone() -> None:
    unlabeled = FEW < 0
    gain = []
    for seed in range(3):
        with_graph = auto(seed=seed).fit(X, FEW, graph=GRAPH).predict(X)
        alone = auto(seed=seed, epochs=200).fit(X, FEW).predict(X)
        gain.append((with_graph == CLASS)[unlabeled].mean() - (alone == CLASS)[unlabeled].mean())
    assert np.mean(gain) > 0


def test_a_graph_that_knows_nothing_gets_little_weight() -> None:
    rng = np.random.default_rng(1)
    x = (3 * np.eye(3)[CLASS] + rng.normal(0, 1, (N, 3))).astype(np.float32)
    shuffled = Graph.from_edges(rng.permutation(N)[EDGES], num_nodes=N)

    def weight_without_graph(graph: Graph) -> float:
        weights = auto().fit(x, FEW, graph=graph).teachers_.weights
        return sum(w for name, w in weights.items() if name in ALONE)

    assert weight_without_graph(shuffled) > 0.8 > 0.5 > weight_without_graph(GRAPH)


def test_a_graph_gets_teachers_of_its_own_and_views_too() -> None:
    shuffled = Graph.from_edges(RNG.permutation(N)[EDGES], num_nodes=N)
    given = {"noise": RNG.normal(size=(N, 2)), "sparse": sp.csr_matrix(np.eye(N))}
    model = auto().fit(X, FEW, graph=[GRAPH, shuffled], views=given)
    weights = model.teachers_.weights
    assert sum(weights.values()) == pytest.approx(1)
    assert {"features", "noise", "sparse", "spreading 0", "spreading 1"} <= set(weights)
    assert weights["spreading 0"] > weights["spreading 1"]
    assert model.predict(X).shape == (N,)  # no views needed


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([X], "views is [array"),
        ({"short": X[:5]}, "view 'short' has 5 rows, x has 120"),
        ({"flat": X[:, 0]}, "view 'flat' has shape (120,)"),
        ({"words": np.full((N, 1), "a")}, "view 'words' has shape (120, 1) and type <U1"),
        ({"holes": np.full((N, 1), np.nan)}, "view 'holes' has NaN or infinity in it"),
    ],
)
def test_views_that_cannot_be_are_refused(given: object, text: str) -> None:
    with pytest.raises(ValueError, match="view") as error:
        auto().fit(X, FEW, graph=GRAPH, views=given)  # type: ignore[arg-type]
    assert text in str(error.value)


def test_label_sets_are_taught_too() -> None:
    sets = np.stack([CLASS == 0, CLASS != 1], axis=1).astype(int)
    y = np.where(LABELED[:, None], sets, -1)
    model = auto(epochs=100).fit(X, y, graph=GRAPH)
    assert model.teachers_.num_held_out == 12
    assert model.predict(X).shape == sets.shape


def test_one_label_a_class_holds_nothing_out() -> None:
    y = np.where(np.arange(N) < 3, CLASS, -1)
    report = auto().fit(X, y, graph=GRAPH).teachers_
    assert (report.num_held_out, report.interval) == (0, (0.0, 1.0))
    assert np.isnan(report.score)


def test_nodes_without_edges_and_labels_take_no_part() -> None:
    x, y = np.vstack([X, 100 + X[:9]]), np.append(FEW, np.full(9, -1))
    before = auto().fit(X, FEW, graph=GRAPH)
    after = auto().fit(x, y, graph=Graph.from_edges(EDGES, num_nodes=N + 9))
    np.testing.assert_array_equal(before.predict_proba(X), after.predict_proba(X))
    assert before.teachers_ == after.teachers_


def test_same_seed_same_bits_and_the_report_is_kept(tmp_path: Path) -> None:
    first = auto(folder=tmp_path / "run").fit(X, FEW, graph=GRAPH)
    np.testing.assert_array_equal(first.predict_proba(X), auto().fit(X, FEW, graph=GRAPH).predict_proba(X))
    assert load(tmp_path / "run").teachers_ == first.teachers_
    y = np.where(np.arange(N) < 3, CLASS, -1)
    one = auto(folder=tmp_path / "one").fit(X, y, graph=GRAPH)
    assert load(tmp_path / "one").teachers_.weights == one.teachers_.weights


def test_inputs_of_ones_own_are_taught_by_the_graph_alone() -> None:
    class Rows:
        def __len__(self) -> int:
            return N

        def __getitem__(self, nodes: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(X)[nodes]

    def network(width: int, classes: int) -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, classes))

    model = NGMClassifier(network=network, epochs=3).fit(Rows(), FEW, graph=GRAPH)
    assert list(model.teachers_.weights) == ["spreading"]


def test_a_weight_of_zero_takes_a_label_out() -> None:
    wrong = FEW.copy()
    wrong[0] = (FEW[0] + 1) % 3
    weight = np.ones(N)
    weight[0] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weighted = auto().fit(X, wrong, graph=GRAPH, sample_weight=weight)
    assert (weighted.predict(X[12:]) == CLASS[12:]).mean() > 0.5
