"""Teachers of the strong recipe."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

import ngm
from ngm import Graph, NGMClassifier
from ngm.propagation.kernel import walk_shares
from ngm.recipes import strong_teachers
from ngm.recipes.auto import connected_nodes, soft_targets
from ngm.recipes.label_matrix import Targets
from ngm.recipes.strong_teachers import RandomWalks, TeacherConfig, TeacherEnsemble, strong_preset, unit_rows

QUICK = TeacherConfig(walkers=1, embedders=1, steps=30, embedder_steps=20, pool=16, walks=4, pairs=32)


def planted(seed: int = 0, n: int = 120) -> tuple[np.ndarray, np.ndarray, Graph]:
    """Two classes whose rows say little and whose edges say much; three seeds a class."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    x = (rng.normal(size=(n, 10)) + 0.4 * np.where(truth, 1, -1)[:, None]).astype(np.float32)
    u = rng.integers(n, size=6 * n)
    v = np.where(rng.random(6 * n) < 0.9, (u + 2 * rng.integers(n // 2, size=6 * n)) % n, rng.integers(n, size=6 * n))
    return x, truth, Graph.from_edges(np.stack([u, v], axis=1), num_nodes=n)


def shown(truth: np.ndarray, count: int = 6) -> torch.Tensor:
    y = np.full(len(truth), -1)
    y[:count] = truth[:count]
    return torch.from_numpy(y)


def strong_soft_labels(
    x: np.ndarray | sp.csr_matrix,
    targets: torch.Tensor,
    labeled: torch.Tensor,
    graph: Graph,
    classes: int,
    seed: int,
    config: TeacherConfig,
) -> tuple[torch.Tensor, torch.Tensor]:
    """((n, C) soft labels, (n,) mask of the nodes that teachers look at)."""
    values = targets if targets.ndim == 2 else torch.nn.functional.one_hot(targets.clamp(min=0), classes).float()
    nodes = connected_nodes({"features": x}, [graph], labeled.numpy(), classes, unit_rows)
    soft, _ = soft_targets(nodes, Targets(values.numpy()), labeled.numpy(), seed, strong_preset(seed, config))
    return torch.from_numpy(soft), torch.from_numpy(nodes.included)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimators have their teachers learn as briefly as `QUICK` says."""
    monkeypatch.setattr(strong_teachers, "TeacherConfig", lambda: QUICK)


def test_walk_ends_are_shares_that_add_up_to_one_and_stay_in_their_component() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2], [3, 4]], num_nodes=6)
    ends = (
        RandomWalks(walk_shares(graph))
        .ends(np.array([0, 3, 5]), TeacherConfig(walks=50), np.random.default_rng(0))
        .toarray()
    )
    np.testing.assert_allclose(ends.sum(axis=1), 1, rtol=1e-5)
    assert ends[0, 3:].sum() == ends[1, [0, 1, 2, 5]].sum() == 0
    np.testing.assert_allclose(ends[2], [0, 0, 0, 0, 0, 1], rtol=1e-5)  # a node without edges stays where it is


def test_walk_ends_have_the_distribution_that_exact_propagation_has() -> None:
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(rng.integers(8, size=(14, 2)), rng.random(14), num_nodes=8)
    step = walk_shares(graph).matrix.toarray()
    config = TeacherConfig(walks=200_000, restart=0.4, hops=3)
    exact, z = 0.4 * np.eye(8), np.eye(8)
    for _ in range(3):
        z = 0.6 * step @ z + 0.4 * np.eye(8)
    exact = z
    ends = RandomWalks(walk_shares(graph)).ends(np.arange(8), config, rng).toarray()
    np.testing.assert_allclose(ends, exact, atol=0.006)


def test_teachers_tell_nodes_with_an_edge_or_a_label_and_keep_to_the_labels() -> None:
    x, truth, graph = planted()
    lonely = graph.without([0, 50])  # a seed and another node lose their edges
    y = shown(truth)
    words, told = strong_soft_labels(x, y, y >= 0, lonely, 2, seed=0, config=QUICK)
    assert told[0]
    assert not told[50]
    assert int(told.sum()) == int((lonely.degree > 0).sum()) + 1
    torch.testing.assert_close(words.sum(dim=1)[told], torch.ones(int(told.sum())))
    assert torch.equal(words[:6], torch.nn.functional.one_hot(y[:6], 2).float())


def test_walkers_and_embedders_have_half_of_the_soft_labels_each() -> None:
    x, truth, graph = planted()
    y = shown(truth)
    soft, _ = strong_soft_labels(x, y, y >= 0, graph, 2, seed=5, config=QUICK)
    values = torch.nn.functional.one_hot(y.clamp(min=0), 2).float()
    nodes = connected_nodes({"features": x}, [graph], (y >= 0).numpy(), 2, unit_rows)
    ensemble = TeacherEnsemble(nodes.views.features["features"], values, y >= 0, nodes.views.operators[0], QUICK)
    mean = torch.stack([ensemble.walkers(5), ensemble.embedders(5)]).mean(dim=0)
    assert torch.equal(soft[6:], mean[6:])


def test_a_strong_model_keeps_the_weights_of_its_teachers_which_have_no_scores(quick: None, tmp_path: Path) -> None:
    x, truth, graph = planted()
    model = NGMClassifier(hidden=(8,), recipe="strong", epochs=1).fit(
        x, shown(truth).numpy(), graph=graph, folder=tmp_path / "run"
    )
    for report in (model.teachers_, ngm.load(tmp_path / "run").teachers_):
        assert report is not None
        assert report.weights == {"walkers": 0.5, "embedders": 0.5}
        assert np.isnan([report.score, *report.scores.values()]).all()
        assert (report.num_held_out, report.scored) == (0, False)
        assert report.graphs == {"walkers": 0, "embedders": 0}


def test_the_order_of_the_edges_does_not_matter(quick: None) -> None:
    x, truth, graph = planted()
    order = torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(0))
    mixed = Graph(graph.num_nodes, graph.edges[order].flip(1), graph.weight[order])
    proba = [
        NGMClassifier(hidden=(8,), recipe="strong", epochs=1).fit(x, shown(truth).numpy(), graph=one).predict_proba(x)
        for one in (graph, mixed)
    ]
    np.testing.assert_array_equal(proba[0], proba[1])


def test_soft_seeds_are_kept_as_they_are() -> None:
    x, truth, graph = planted()
    soft = torch.full((len(truth), 2), 0.5)
    soft[:6] = torch.tensor([[0.9, 0.1], [0.2, 0.8]]).repeat(3, 1)
    labeled = torch.arange(len(truth)) < 6
    words, _ = strong_soft_labels(x, soft, labeled, graph, 2, seed=0, config=QUICK)
    assert torch.equal(words[:6], soft[:6])


def test_same_seed_same_words_and_sparse_rows_teach_as_dense_ones() -> None:
    x, truth, graph = planted()
    x[x < 0] = 0
    y = shown(truth)
    first, _ = strong_soft_labels(x, y, y >= 0, graph, 2, seed=3, config=QUICK)
    again, _ = strong_soft_labels(x, y, y >= 0, graph, 2, seed=3, config=QUICK)
    other, _ = strong_soft_labels(x, y, y >= 0, graph, 2, seed=4, config=QUICK)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    undropped = dataclasses.replace(QUICK, dropout=0.0)  # only stored entries of sparse rows can be dropped
    dense, _ = strong_soft_labels(x, y, y >= 0, graph, 2, seed=3, config=undropped)
    sparse, _ = strong_soft_labels(sp.csr_matrix(x), y, y >= 0, graph, 2, seed=3, config=undropped)
    torch.testing.assert_close(sparse, dense, atol=1e-4, rtol=1e-3)


def test_the_length_of_a_row_does_not_matter() -> None:
    x, truth, graph = planted()
    y = shown(truth)
    scaled = x * np.linspace(0.5, 20, len(x), dtype=np.float32)[:, None]
    one, _ = strong_soft_labels(x, y, y >= 0, graph, 2, seed=0, config=QUICK)
    other, _ = strong_soft_labels(scaled, y, y >= 0, graph, 2, seed=0, config=QUICK)
    torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-3)


def test_the_strong_recipe_beats_the_plain_network_where_edges_say_more_than_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strong_teachers, "TeacherConfig", lambda: TeacherConfig(walkers=1, embedders=1))
    gains = []
    for seed in range(2):
        x, truth, graph = planted(seed, n=300)
        y = shown(truth).numpy()
        new, new_truth, _ = planted(seed + 10, n=300)
        strong = NGMClassifier(hidden=(16,), recipe="strong", seed=seed).fit(x, y, graph=graph)
        plain = NGMClassifier(hidden=(16,), epochs=300, seed=seed).fit(x, y)
        gains.append(strong.score(new, new_truth) - plain.score(new, new_truth))
    assert np.mean(gains) > 0.03
    assert min(gains) > -0.02


def test_targets_of_validation_rows_are_the_teachers_and_never_their_labels(quick: None) -> None:
    x, truth, graph = planted()
    y = np.full(len(truth), -1)
    y[:20] = truth[:20]
    one = NGMClassifier(hidden=(8,), recipe="strong", epochs=2, validation=np.arange(6, 20))
    wrong = y.copy()
    wrong[6:20] = 1 - wrong[6:20]
    right = one.fit(x, y, graph=graph).predict_proba(x)
    assert one.history_.epochs[-1].keys() >= {"validation_accuracy"}
    other = NGMClassifier(hidden=(8,), recipe="strong", epochs=2).fit(
        x, np.where(np.arange(120) < 6, y, -1), graph=graph
    )
    assert right.shape == other.predict_proba(x).shape
    last = NGMClassifier(hidden=(8,), recipe="strong", epochs=1, validation=np.arange(6, 20)).fit(x, wrong, graph=graph)
    same = NGMClassifier(hidden=(8,), recipe="strong", epochs=1, validation=np.arange(6, 20)).fit(x, y, graph=graph)
    np.testing.assert_array_equal(last.predict_proba(x), same.predict_proba(x))


def test_a_strong_model_resumes_saves_and_comes_back(quick: None, tmp_path: Path) -> None:
    x, truth, graph = planted()
    y = shown(truth).numpy()
    settings = {"hidden": (8,), "recipe": "strong", "seed": 1}
    whole = NGMClassifier(**settings, epochs=4).fit(x, y, graph=graph)
    NGMClassifier(**settings, epochs=2).fit(x, y, graph=graph, folder=tmp_path / "a")
    parts = NGMClassifier(**settings, epochs=4).fit(x, y, graph=graph, folder=tmp_path / "a", resume=True)
    np.testing.assert_array_equal(parts.predict_proba(x), whole.predict_proba(x))
    np.testing.assert_array_equal(ngm.load(tmp_path / "a").predict_proba(x), whole.predict_proba(x))
    assert whole.settings_.weight_decay == pytest.approx(1 / whole.num_labeled_)


def test_the_strong_recipe_has_no_direction() -> None:
    x, truth, graph = planted()
    directed = Graph(graph.num_nodes, graph.edges, graph.weight, directed=True)
    model = NGMClassifier(recipe="strong", influence="source")
    with pytest.raises(ValueError, match=r"^recipe is 'strong', which has no direction; influence is 'source', set it"):
        model.fit(x, shown(truth).numpy(), graph=directed)


def test_the_strong_recipe_takes_tables_only(data) -> None:
    x, y, graph = data

    class Net(nn.Module):
        def __init__(self, in_features: int, out_features: int) -> None:
            super().__init__()
            self.output = nn.Linear(5, out_features)

        def forward(self, x: dict[str, torch.Tensor]) -> torch.Tensor:
            return self.output(x["a"])

    words = r"^recipe is 'strong', which averages rows of x, and x is a dict; give a table, or use ngm\.CoTraining$"
    with pytest.raises(ValueError, match=words):
        NGMClassifier(network=Net, recipe="strong", layer="output").fit({"a": x}, y, graph=graph)


def test_more_seeds_than_a_step_shows_are_drawn_from() -> None:
    x, truth, graph = planted()
    y = torch.from_numpy(truth)
    few = dataclasses.replace(QUICK, max_batch=10)
    words, _ = strong_soft_labels(x, y, y >= 0, graph, 2, seed=0, config=few)
    assert torch.equal(words.argmax(dim=1), y)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"graph": None}, "learns from a graph; give graph=, or set recipe='paper'"),
        (
            {"graph": Graph.from_edges([[0, 1]], [0.0], 30)},
            "learns from edges; Graph(30 nodes, 1 undirected edges) has none with a weight above 0",
        ),
        ({"sample_weight": np.ones(30)}, "takes no sample_weight; leave it out, or set recipe='paper'"),
        (
            {"y": np.eye(30, 3, dtype=int)},
            "takes one class per row; y has several labels per row, so set recipe='paper'",
        ),
    ],
)
def test_what_the_strong_recipe_cannot_take_is_refused(data, change: dict, text: str) -> None:
    x, y, graph = data
    given = {"x": x, "y": y, "graph": graph} | change
    whole = re.escape("recipe is 'strong', which " + text)
    with pytest.raises(ValueError, match=f"^{whole}$"):
        NGMClassifier(recipe="strong").fit(given.pop("x"), given.pop("y"), **given)
