"""What the graph tells of labels that were hidden, and whether it adds to what x tells."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ngm import Graph, LabelPropagation
from ngm.diagnosis import diagnose
from ngm.diagnosis import held_out as held_out_module
from ngm.diagnosis.checked_graph import MU3, WholeGraph
from ngm.propagation.seeds import read_seeds
from ngm.recipes.folds import label_folds
from tests.planted_graphs import RNG, planted, renamed, shown


@pytest.mark.filterwarnings("ignore:.*components without a label")
def test_hidden_labels_are_asked_of_label_propagation() -> None:
    """The same folds by the public class, each class divided by its mean over the nodes."""
    graph, truth = planted(300, 900, 3, 0.8)
    y = shown(truth, 0.1)
    found = diagnose(graph, y, seed=4).held_out
    component = graph.components()[1].numpy()
    reached_all = np.bincount(component, weights=y >= 0)[component] > 0
    fold = label_folds(y, y >= 0, 4)
    right = []
    for i in range(5):
        hidden = fold == i
        model = LabelPropagation().fit(None, np.where(hidden, -1, y), graph=graph)
        scaled = model.label_distributions_ / model.label_distributions_[model.reached_].mean(axis=0)
        right.extend((scaled.argmax(axis=1) == y)[hidden & reached_all].tolist())
    assert found is not None
    assert found.folds == 5
    assert found.right.value == pytest.approx(np.mean(right))


def _after_agreement(seed: int) -> np.random.Generator:
    return RNG([seed, 0xD1A6])  # classes: agreement draws nothing


@pytest.mark.filterwarnings("ignore:.*components without a label")
@pytest.mark.parametrize("directed", [False, True])
def test_labels_are_spread_as_label_propagation_spreads_them(directed: bool) -> None:
    graph, truth = planted(210, 500, 3, 0.8)
    y = shown(truth, 0.1)
    model = LabelPropagation(tolerance=1e-6).fit(None, y, graph=graph)
    graph = Graph(210, graph.edges, graph.weight, directed)  # a direction makes no difference
    seeds, prior = read_seeds(y, 210), np.full(3, 1 / 3, dtype=np.float32)
    checked = WholeGraph(graph)
    found = checked.spread(seeds.values, seeds.labeled, prior, MU3)
    assert found == pytest.approx(model.label_distributions_, abs=2e-3)
    assert (checked.reached(seeds.labeled) == model.reached_).all()


def test_chance_is_what_dealing_out_the_same_answers_gives() -> None:
    truth = sp.csr_array(np.eye(3)[RNG(0).integers(3, size=400)])
    answers = RNG(1).choice(3, size=400, p=[0.6, 0.3, 0.1])
    _, chance = held_out_module._score(answers, truth)
    dense = truth.toarray()
    rng = RNG(2)
    dealt = [dense[np.arange(400), rng.permutation(answers)].mean() for _ in range(400)]
    assert chance == pytest.approx(np.mean(dealt), abs=4 * np.std(dealt) / 20)


def test_a_graph_that_knows_nothing_is_rarely_credited_and_never_with_much() -> None:
    graph, truth = planted(400, 1200, 4, 0.8)
    y = shown(truth, 0.2)
    beyond = [diagnose(renamed(graph, seed), y).held_out for seed in range(20)]
    credited = [h for h in beyond if h is not None and h.beyond.low > 0]
    assert len(credited) <= 3
    values = [h.beyond.value for h in beyond if h is not None]
    assert abs(np.mean(values)) < 0.05


def test_seeds_that_no_other_label_reaches_are_not_scored() -> None:
    chains = Graph.from_edges([[0, 1], [1, 2], [3, 4], [4, 5], [6, 7]], num_nodes=9)
    found = diagnose(chains, [0, -1, 0, 1, -1, 1, 0, -1, 1]).held_out
    assert found is not None
    assert (found.seeds, found.unreached) == (4, 2)
    assert found.right.value == 1.0
    assert diagnose(chains, [0, -1, -1, 1, -1, -1, -1, -1, -1]).held_out is None


def test_x_and_graph_together_are_compared_with_x_alone() -> None:
    graph, truth = planted(600, 3000, 3, 0.8)
    y = shown(truth, 0.2)
    x = RNG(0).normal(size=(600, 10))
    x[np.arange(600), truth] += 2.0
    good, bad = diagnose(graph, y, x).held_out, diagnose(renamed(graph), y, x).held_out
    assert good is not None
    assert bad is not None
    assert good.with_x is not None
    assert bad.with_x is not None
    assert good.with_x.alone == bad.with_x.alone  # x does not change
    assert good.with_x.gain.low > 0
    assert good.with_x.gain.value == pytest.approx(good.with_x.both.value - good.with_x.alone.value)
    assert bad.with_x.gain.value < 0
    assert good.with_x.across_edges is not None
    assert bad.with_x.across_edges is not None
    assert good.with_x.across_edges.low > 0.1 > bad.with_x.across_edges.high


def test_only_the_most_common_classes_are_spread_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, truth = planted(600, 3600, 12, 0.9)
    y = np.where(np.isin(truth, [2, 3]) & (np.arange(600) % 4 > 0), -1, truth)
    assert diagnose(graph, y).held_out.classes == 12  # type: ignore[union-attr]
    monkeypatch.setattr(held_out_module, "MAX_VALUES", 600)
    seeds, counted = held_out_module._common_classes(WholeGraph(graph), read_seeds(y, 600))
    assert seeds.classes.tolist() == [0, 1, *range(4, 12)]
    assert counted.sum() == seeds.labeled.sum() == (~np.isin(y, [-1, 2, 3])).sum()
    found = diagnose(graph, y)
    assert found.held_out is not None
    assert found.held_out.seeds + found.held_out.unreached == counted.sum()
    assert "the 10 most common classes only)" in found.reasons[0]
