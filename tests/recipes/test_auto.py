"""The default recipe: weighted teachers, and a student that needs no graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.datasets import make_circles, make_moons

from ngm import Graph, NGMClassifier, knn_graph, load
from ngm.datasets import few_labels
from tests.flat_settings import flat
from tests.three_classes import CLASS, EDGES, FEW, GRAPH, LABELED, N, X

RNG = np.random.default_rng(0)
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
    same = ("dropout", "input_dropout", "input_scaling", "learning_rate", "weight_decay", "ema_decay", "batch_size")
    plain = auto(**flat(recipe="paper", hidden=(8,), epochs=30, **{name: getattr(used, name) for name in same})).fit(
        X, FEW
    )
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_a_graph_that_knows_nothing_leaves_nearly_the_plain_network() -> None:
    rng = np.random.default_rng(2)
    label = np.arange(400) % 3
    x = (1.5 * np.eye(3)[label] + rng.normal(0, 1, (400, 3))).astype(np.float32)
    y = np.where(np.arange(400) < 60, label, -1)
    edges = np.array([[i, j] for i in range(400) for j in (i + 3, i + 9, i + 30) if j < 400])
    new = (1.5 * np.eye(3)[label] + rng.normal(0, 1, (400, 3))).astype(np.float32)

    def scores(recipe: str, graph: Graph | None) -> float:
        models = [NGMClassifier(hidden=(16,), recipe=recipe, seed=s).fit(x, y, graph=graph) for s in range(2)]
        return float(np.mean([(model.predict(new) == label).mean() for model in models]))

    shuffled = Graph.from_edges(rng.permutation(400)[edges], num_nodes=400)
    assert abs(scores("auto", shuffled) - scores("auto", None)) < 0.03


def test_a_graph_without_edges_is_said_to_do_nothing() -> None:
    with pytest.warns(UserWarning, match="^the graph does nothing: it has no edge with a weight above 0$"):
        model = auto().fit(X, FEW, graph=Graph.from_edges(np.empty((0, 2), int), num_nodes=N))
    assert (model.graphs_used_, model.teachers_, model.num_labeled_) == ([False], None, 12)


def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = auto(epochs=6).fit(X, FEW, graph=GRAPH)
    auto(epochs=2).fit(X, FEW, graph=GRAPH, folder=tmp_path)
    parts = auto(epochs=6).fit(X, FEW, graph=GRAPH, folder=tmp_path, resume=True)
    np.testing.assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))


@pytest.mark.parametrize(("given", "why"), [({"recipe": "paper"}, "recipe 'paper' has none"), ({}, "without a graph")])
def test_views_that_no_teacher_sees_are_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=f"^views is for the teachers of recipe 'auto', and {why}"):
        auto(**given).fit(X, FEW, graph=GRAPH if given else None, views={"again": X})


def test_a_graph_that_knows_the_classes_beats_the_network_alone() -> None:
    unlabeled = FEW < 0
    gain = []
    for seed in range(2):
        with_graph = auto(seed=seed).fit(X, FEW, graph=GRAPH).predict(X)
        alone = auto(seed=seed, epochs=200).fit(X, FEW).predict(X)
        gain.append((with_graph == CLASS)[unlabeled].mean() - (alone == CLASS)[unlabeled].mean())
    assert np.mean(gain) > 0


@pytest.mark.parametrize(("make", "least"), [(partial(make_circles, factor=0.5), 0.95), (make_moons, 0.9)])
def test_classes_that_no_line_tells_apart_are_learned(
    make: Callable[..., tuple[np.ndarray, np.ndarray]], least: float
) -> None:
    """A line gets half of the rings right and .87 of the moons."""
    x, label = make(600, noise=0.08, random_state=0)
    new = np.arange(600) >= 400
    y = few_labels(label[~new], 15, seed=0)
    graph = knn_graph(x[~new], k=5, metric="euclidean")
    model = NGMClassifier(seed=0).fit(x[~new], y, graph=graph)
    assert model.score(x[new], label[new]) >= least


def test_a_graph_that_knows_nothing_gets_little_weight() -> None:
    rng = np.random.default_rng(1)
    x = (3 * np.eye(3)[CLASS] + rng.normal(0, 1, (N, 3))).astype(np.float32)
    shuffled = Graph.from_edges(rng.permutation(N)[EDGES], num_nodes=N)

    def weight_without_graph(graph: Graph) -> float:
        weights = auto().fit(x, FEW, graph=graph).teachers_.weights
        return sum(w for name, w in weights.items() if name.removesuffix(" relearned") in ALONE)

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
    first = auto().fit(X, FEW, graph=GRAPH, folder=tmp_path / "run")
    np.testing.assert_array_equal(first.predict_proba(X), auto().fit(X, FEW, graph=GRAPH).predict_proba(X))
    assert load(tmp_path / "run").teachers_ == first.teachers_
    y = np.where(np.arange(N) < 3, CLASS, -1)
    one = auto().fit(X, y, graph=GRAPH, folder=tmp_path / "one")
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
