"""Figures of all edges, a part at a time, against the same figures of the whole; graphs count as large here."""

from __future__ import annotations

import numpy as np
import pytest

import ngm
from ngm.diagnosis import diagnose, edge_figures
from ngm.diagnosis.edge_figures import count_kinds, labeled_edges, ordered_weight, share_at, sum_above, within_hops
from ngm.graph import Graph
from tests.conftest import random_graph
from tests.planted_graphs import RNG, planted, shown


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges come in parts of seven."""
    monkeypatch.setattr(edge_figures, "EDGES_AT_ONCE", 7)


def test_kinds_labelled_edges_hops_and_hubs_are_those_of_all_edges_at_once() -> None:
    graph, labeled = random_graph(60, 90, 0), RNG(1).random(60) < 0.3
    ends = graph.edges.numpy()
    of_both = labeled[ends].sum(axis=1)
    np.testing.assert_array_equal(count_kinds(graph, labeled), np.bincount(of_both, minlength=3))
    num_labeled = int((of_both == 2).sum())
    found = labeled_edges(graph, labeled, num_labeled, num_labeled, seed=0)
    np.testing.assert_array_equal(found, ends[of_both == 2])
    assert share_at(graph, labeled) == (of_both > 0).mean()
    near = (
        labeled
        | np.isin(np.arange(60), ends[labeled[ends[:, 0]], 1])
        | np.isin(np.arange(60), ends[labeled[ends[:, 1]], 0])
    )
    assert within_hops(graph, labeled, 1) == ((near & ~labeled).sum() / (~labeled).sum(),)


@pytest.mark.parametrize("kind", ["spread", "alike", "tiny and huge"])
def test_a_weight_by_its_rank_is_that_of_sorted_weights(kind: str) -> None:
    weight = RNG(0).random(101).astype(np.float32)
    if kind == "alike":
        weight = np.round(weight * 3).astype(np.float32)
    if kind == "tiny and huge":
        weight = (10.0 ** (75 * weight - 40)).astype(np.float32)
    assert [ordered_weight(weight, rank) for rank in range(101)] == np.sort(weight).tolist()
    count, total = sum_above(weight, float(np.median(weight)))
    above = weight[weight > np.median(weight)].astype(np.float64)
    assert count == len(above)
    assert total == pytest.approx(above.sum())


def test_of_many_labelled_edges_a_sample_is_compared_and_the_reasons_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, truth = planted(400, 3_000, 4, 0.8)
    everything = diagnose(graph, truth)
    monkeypatch.setattr(edge_figures, "MAX_LABELED_EDGES", 500)
    found, again, other = (diagnose(graph, truth, seed=seed) for seed in (0, 0, 1))
    assert everything.agreement is not None
    assert found.agreement is not None
    assert (found.ll, found.agreement.edges) == (everything.ll, 500)
    assert "of 500 labelled edges join nodes of the same class" in " ".join(found.reasons)
    assert f"a random sample of {found.ll:,})" in " ".join(found.reasons)
    assert "a random sample" not in " ".join(everything.reasons)
    assert found.agreement.share.low < everything.agreement.share.value < found.agreement.share.high
    assert found.as_json() == again.as_json()
    assert found.agreement != other.agreement


@pytest.mark.parametrize("directed", [False, True])
def test_a_large_graph_has_the_figures_of_a_small_one(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, truth = planted(300, 1_500, 3, 0.8)
    weight = np.where(RNG(0).random(graph.num_edges) < 0.1, 0, 0.5 + RNG(1).random(graph.num_edges))
    graph = Graph.from_edges(graph.edges, weight, 310, directed)
    y = np.concatenate([shown(truth, 0.3), np.full(10, -1)])
    x = np.eye(3)[np.concatenate([truth, np.zeros(10, dtype=int)])] + RNG(2).normal(size=(310, 3))
    plain = diagnose(graph, y, x).as_json()
    monkeypatch.setattr(ngm.graph, "LARGE_EDGES", -1)
    assert diagnose(graph, y, x).as_json() == plain
