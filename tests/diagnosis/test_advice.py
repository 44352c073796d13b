"""Verdicts on graphs where the truth is known, and advice that names the figure and the remedy."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ngm import Graph, knn_graph
from ngm.datasets import few_labels, load
from ngm.diagnosis import Diagnosis, diagnose
from ngm.diagnosis.advice import judge
from ngm.diagnosis.records import Agreement, Estimate, HeldOutScores, WithX
from tests.conftest import needs
from tests.planted_graphs import RNG, planted, renamed, shown

Ids = NDArray[np.int64]


def features(truth: Ids, strength: float = 1.0, width: int = 10) -> NDArray[np.float64]:
    x = RNG(0).normal(size=(len(truth), width))
    x[np.arange(len(truth)), truth] += strength
    return x


# Verdicts


@pytest.mark.parametrize("with_x", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_planted_graphs_are_told_apart(seed: int, with_x: bool) -> None:
    for alike, verdict in ((0.8, "helps"), (0.25, "hurts"), (0.02, "hurts")):
        graph, truth = planted(alike=alike, seed=seed)
        found = diagnose(graph, shown(truth, 0.2, seed), features(truth) if with_x else None)
        assert found.verdict == verdict, (alike, str(found))


@pytest.mark.parametrize("seed", range(4))
def test_a_single_seed_a_class_decides_nothing(seed: int) -> None:
    for alike in (0.8, 0.25):
        graph, truth = planted(alike=alike, seed=seed)
        found = diagnose(graph, few_labels(truth, 1, seed), features(truth))
        assert found.verdict == "unclear"
        assert found.held_out is None
        assert found.advice[0].startswith("only 0 labelled nodes could be held out, too few to judge this graph")


@pytest.mark.parametrize("count", [2, 4])
def test_few_seeds_do_not_condemn_a_good_graph_nor_pass_a_random_one(count: int) -> None:
    for seed in range(8):
        for alike, wrong in ((0.8, "hurts"), (0.25, "helps")):
            graph, truth = planted(400, 2000, alike=alike, seed=seed)
            verdict = diagnose(graph, few_labels(truth, count, seed)).verdict
            assert verdict != wrong
            assert count > 2 or verdict == "unclear"  # eight seeds in all: fewer than may be judged by


@pytest.mark.parametrize("name", [pytest.param(n, marks=needs(n)) for n in ("pubmed", "cora", "citeseer")] + ["digits"])
def test_graphs_that_are_known_to_help_pass_and_renamed_ones_do_not(name: str) -> None:
    data = load(name)
    graph = knn_graph(data.x, k=5) if data.graph is None else data.graph
    y = np.full(len(data.y), -1)
    y[data.train] = data.y[data.train]
    if name == "digits":
        y = few_labels(data.y, 5, seed=0)
    alone = diagnose(graph, y)
    assert alone.verdict == "helps"
    assert (alone.agreement is None) == (name == "pubmed")  # no edge between labelled nodes, and still a verdict
    assert diagnose(graph, y, data.x).verdict == "helps"
    assert diagnose(renamed(graph), y, data.x).verdict == "hurts"


def _judged(
    gain: tuple[float, float] | None = None,
    beyond: tuple[float, float] = (0.0, 0.5),
    adjusted: tuple[float, float] | None = None,
    alone: tuple[float, float] = (0.3, 0.5),
    across: tuple[float, float] = (0.3, 0.4),
) -> str:
    """The verdict on made-up intervals; chance is 0, so that `right` is `beyond`."""

    def between(bounds: tuple[float, float]) -> Estimate:
        return Estimate(sum(bounds) / 2, *bounds)

    found = diagnose(Graph.from_edges([[0, 1], [2, 3]]), [0, 0, 1, 1])
    x = None
    if gain is not None:
        x = WithX(between(alone), between(alone), between(gain), between(alone), between(across))
    held = HeldOutScores(10, 100, 0, 2, between(beyond), 0.0, between(beyond), x)
    edges = None if adjusted is None else Agreement(100, between((0.4, 0.6)), 0.3, between(adjusted), ())
    return judge(replace(found, held_out=held, agreement=edges))[0]


def test_the_first_clear_figure_decides_unless_another_contradicts_it() -> None:
    assert _judged() == "unclear"
    assert _judged(beyond=(0.16, 0.5)) == "helps"
    assert _judged(beyond=(-0.2, 0.14)) == "hurts"
    assert _judged(beyond=(0.16, 0.5), adjusted=(-0.3, -0.1)) == "unclear"  # neighbours differ, yet labels are told
    assert _judged(beyond=(0.16, 0.5), adjusted=(-0.3, 0.05)) == "helps"
    assert _judged(adjusted=(0.31, 0.5)) == "helps"
    assert _judged(adjusted=(0.0, 0.09)) == "hurts"
    assert _judged(adjusted=(0.0, 0.4)) == "unclear"
    assert _judged(beyond=(0.5, 0.6), gain=(-0.2, -0.1)) == "hurts"
    assert _judged(beyond=(0.0, 0.1), gain=(0.1, 0.2)) == "helps"
    assert _judged(beyond=(0.16, 0.2), gain=(-0.1, 0.1)) == "unclear"  # x alone knows more
    assert _judged(beyond=(0.16, 0.4), gain=(-0.1, 0.1)) == "helps"
    assert _judged(gain=(-0.1, 0.1), across=(-0.01, 0.01)) == "hurts"  # x knows the classes, edges do not follow it
    assert _judged(gain=(-0.1, 0.1), across=(-0.01, 0.02)) == "unclear"
    assert _judged(gain=(-0.1, 0.1), across=(-0.01, 0.01), alone=(0.1, 0.7)) == "unclear"  # x may know nothing
    assert _judged(beyond=(0.16, 0.5), gain=(-0.1, 0.1), across=(-0.01, 0.01)) == "unclear"


def test_renaming_the_nodes_of_everything_changes_no_count_and_no_verdict() -> None:
    graph, truth = planted(600, 3000)
    y = shown(truth, 0.2)
    order = RNG(5).permutation(600)
    moved, here = diagnose(graph.subgraph(order), y[order]), diagnose(graph, y)
    assert moved.agreement == here.agreement
    assert moved.verdict == here.verdict
    assert replace(moved.shape, hubs=(), unseeded_places=()) == replace(here.shape, hubs=(), unseeded_places=())


def test_direction_makes_no_difference() -> None:
    graph, truth = planted(600, 3000)
    y = shown(truth, 0.2)
    edges = graph.edges.flip(1)
    back = Graph(600, edges, graph.weight, directed=True)
    assert diagnose(back, y).agreement == diagnose(graph, y).agreement
    assert diagnose(back, y).shape == diagnose(graph, y).shape
    assert diagnose(back, y).directed


def test_the_same_seed_gives_the_same_figures() -> None:
    graph, truth = planted(600, 3000)
    y, x = shown(truth, 0.2), features(truth)
    assert diagnose(graph, y, x, seed=3) == diagnose(graph, y, x, seed=3)
    assert diagnose(graph, y, x, seed=3).held_out != diagnose(graph, y, x, seed=4).held_out


# Advice


def _advice(found: Diagnosis) -> str:
    return "\n".join(found.advice)


def test_edges_between_classes_are_named_with_their_share() -> None:
    graph, truth = planted(alike=0.25)
    found = diagnose(graph, truth)
    assert found.agreement is not None
    share = 1 - found.agreement.share.value
    assert found.advice[0].startswith(
        f"{share:.0%} of your labelled edges join different classes (chance 75%): this graph will hurt; leave it out"
    )


def test_too_few_labelled_edges_are_said_to_be_too_few() -> None:
    found = diagnose(Graph.from_edges([[0, 1], [1, 2], [3, 4]]), [0, 0, 1, 1, 1])
    assert found.agreement is not None
    low, high = found.agreement.share.low, found.agreement.share.high
    assert (
        "there are only 3 labelled edges, too few to judge by: the share that agree may be anything from "
        f"{low:.0%} to {high:.0%}; label a few neighbours of labelled nodes to know more"
    ) in found.advice
    assert low < 0.2
    assert high > 0.9


def test_components_without_a_seed_are_named_with_a_node_to_label() -> None:
    ring = [[i, i + 1] for i in range(5)]
    lost = [[10, 11], [10, 12], [10, 13], [20, 21]]
    found = diagnose(Graph.from_edges([*ring, *lost], num_nodes=22), [0, 1, *[-1] * 4, 1, *[-1] * 15])
    assert (
        "27% of the nodes are in 2 components without a labelled node: label one node in each of the largest, "
        "e.g. row 10 (4 nodes), row 20 (2 nodes)"
    ) in found.advice
    assert "41% of the nodes are unlabelled and have no edge: the graph does not reach them" in _advice(found)


def test_a_hub_is_named_with_its_share_of_the_edges() -> None:
    ring = [[i, (i + 1) % 880] for i in range(880)]
    hub = [[880, i] for i in range(120)]
    found = diagnose(Graph.from_edges([*ring, *hub]), np.arange(881) % 2)
    assert (
        "one node (row 880) has 12% of all edges: it connects everything with everything; try max_degree where the "
        "graph is made, or drop its edges (graph.without([880]))"
    ) in found.advice
    assert "of all edges" not in _advice(diagnose(Graph.from_edges(ring), np.arange(880) % 2))


def test_weights_that_say_nothing_or_too_much_are_named() -> None:
    ring, y = [[i, (i + 1) % 200] for i in range(200)], np.arange(200) % 2
    floored = diagnose(Graph.from_edges(ring, [1e-6] * 50 + [1.0] * 150), y)
    assert "25% of the edges have a weight of (nearly) 0" in _advice(floored)
    heavy = diagnose(Graph.from_edges(ring, [300.0] * 2 + [1.0] * 198), y)
    assert "the heaviest 1% of the edges have 75% of all weight (up to 300, median 1)" in _advice(heavy)
    even = _advice(diagnose(Graph.from_edges(ring), y))
    assert "weight" not in even


def test_a_mixed_pair_of_classes_is_named() -> None:
    rng = RNG(0)
    truth = np.repeat([0, 1, 2, 3], 100)
    inside = [(c * 100 + rng.integers(100, size=2)) for c in range(4) for _ in range(200)]
    between = [(rng.integers(100), 100 + rng.integers(100)) for _ in range(600)]
    found = diagnose(Graph.from_edges(np.array([*inside, *between]), num_nodes=400), truth)
    assert "classes '0' and '1' are joined by" in _advice(found)
    assert "times what chance would give" in _advice(found)


def test_inputs_in_another_order_than_the_nodes_are_suspected() -> None:
    x = RNG(0).normal(size=(1000, 8))
    graph = knn_graph(x, k=4)
    y = shown((x[:, 0] > 0).astype(np.int64), 0.2)
    words = "check that row i of x is node i of the graph"
    assert words not in _advice(diagnose(graph, y, x))
    mixed = RNG(1).permutation(1000)
    assert words in _advice(diagnose(graph, y[mixed], x[mixed]))


def test_far_labels_and_single_seeds_are_named() -> None:
    path = Graph.from_edges([[i, i + 1] for i in range(99)])
    found = diagnose(path, ["a", "b"] + [None] * 98)
    assert "only 3% of the unlabelled nodes are within 3 hops of a labelled one" in _advice(found)
    assert "2 of 2 classes have a single labelled node ('a', 'b'): label a second one of each" in _advice(found)


def test_a_graph_without_edges_says_nothing() -> None:
    found = diagnose(Graph.from_edges([], num_nodes=4), [0, 1, 0, 1])
    assert found.advice[-1] == "the graph has no edges; make one with knn_graph"
    assert found.shape.weights is None
    assert (found.verdict, found.agreement, found.held_out) == ("unclear", None, None)


def test_every_sentence_of_advice_has_a_figure_and_json_holds_all() -> None:
    graph, truth = planted(600, 1500)
    found = diagnose(graph, shown(truth, 0.1), features(truth))
    assert all(any(c.isdigit() for c in line) for line in [*found.reasons, *found.advice])
    content = json.loads(json.dumps(found.as_json()))
    assert content == found.as_json()
    assert content["held_out"]["with_x"]["gain"].keys() == {"value", "low", "high"}
    assert content["verdict"] == found.verdict
    text = str(found)
    assert text.startswith(f"This graph: {found.verdict}\n600 nodes (")
    assert all(f"- {line}" in text for line in [*found.reasons, *found.advice])


# Bad input


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0, 1], "the graph has 3 nodes, y has 2 rows; give a label or -1 per node"),
        (None, "y is None; give a label per node, -1 where unlabelled"),
        (7, "the graph has 3 nodes, y has no rows; give a label or -1 per node"),
        ([-1, -1, -1], r"none of the 3 rows has a label \(-1, None and NaN mean unlabelled\); label some rows"),
        (["a", None, "a"], r"y holds one class only \('a'\)"),
    ],
)
def test_labels_that_cannot_be_used_are_refused(y: object, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        diagnose(Graph.from_edges([[0, 1], [1, 2]]), y)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.ones((2, 4)), "the graph has 3 nodes, x has 2 rows; give a row per node"),
        (np.ones(3), r"x has shape \(3,\); give \(n, d\), a row of numbers per node, or leave x out"),
        (np.array([["a"], ["b"], ["c"]]), "x holds <U1, not numbers"),
        (np.array([[1.0], [math.nan], [0.0]]), "row 1 of x holds NaN or infinity; fill in or drop such rows"),
        (sp.csr_array([[1.0], [0.0], [math.inf]]), "row 2 of x holds NaN or infinity"),
        (torch.tensor([[1.0], [2.0]]), "the graph has 3 nodes, x has 2 rows"),
    ],
)
def test_inputs_that_cannot_be_used_are_refused(x: object, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        diagnose(Graph.from_edges([[0, 1], [1, 2]]), [0, 1, 0], x)  # type: ignore[arg-type]


def test_anything_but_a_graph_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^graph is a list; make a Graph of it with Graph\.from_edges or the like$"):
        diagnose([[0, 1]], [0, 1])  # type: ignore[arg-type]
