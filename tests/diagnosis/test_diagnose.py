"""Is this graph any good? Figures by hand, by other libraries, and on planted graphs whose truth is known."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.metrics import roc_auc_score

from ngm import Graph, knn_graph
from ngm.diagnosis import diagnose
from ngm.diagnosis.agreement import agreement
from ngm.diagnosis.intervals import edge_fraction, mean_variance, paired_gain, wilson
from ngm.diagnosis.similarity import similarity
from ngm.diagnosis.structure import histogram
from ngm.propagation.seeds import read_seeds
from tests.conftest import random_graph
from tests.planted_graphs import RNG, Ids, planted, renamed, shown

# Counts and agreement


def test_a_small_graph_worked_by_hand() -> None:
    """A path a - a - b - ? and a pair ? - ?, and a labelled node alone."""
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3], [4, 5]], num_nodes=7)
    found = diagnose(graph, ["a", "a", "b", None, None, None, "b"])
    assert (found.ll, found.lu, found.uu) == (2, 1, 1)
    assert (found.num_nodes, found.num_edges, found.labeled, found.seeds) == (7, 4, 4, (2, 2))
    assert found.agreement is not None
    assert found.agreement.share.value == 0.5
    assert found.agreement.chance == pytest.approx((3 / 4) ** 2 + (1 / 4) ** 2)  # ends a, a, a, b
    assert found.agreement.adjusted is not None
    assert found.agreement.adjusted.value == pytest.approx((0.5 - 0.625) / 0.375)
    assert [(p.first, p.second, p.edges, p.expected) for p in found.agreement.pairs] == [
        ("a", "a", 1, 2 * 9 / 16),
        ("a", "b", 1, 2 * 2 * 3 / 16),
    ]
    shape = found.shape
    assert (shape.isolated, shape.isolated_seeds, shape.isolated_seed_rows) == (1, 1, (6,))
    assert (shape.components, shape.largest, shape.unseeded, shape.unseeded_nodes) == (2, 4, 1, 2)
    assert [(p.row, p.count) for p in shape.unseeded_places] == [(4, 2)]
    assert shape.within_hops == (1 / 3, 1 / 3, 1 / 3)
    assert [(b.low, b.high, b.nodes) for b in shape.degrees] == [(0, 0, 1), (1, 1, 4), (2, 3, 2)]
    assert [(p.row, p.count) for p in shape.hubs[:2]] == [(1, 2), (2, 2)]
    assert "1 of 4 labelled nodes has no edge, row 6" in " ".join(found.advice)


def test_adjusted_agreement_is_networkx_s_assortativity() -> None:
    graph, truth = planted(300, 900, 3, 0.6)
    other = graph.to_networkx()
    networkx.set_node_attributes(other, dict(enumerate(truth.tolist())), "c")
    found = agreement(graph.edges.numpy(), read_seeds(truth, 300), RNG(0))
    assert found is not None
    assert found.adjusted is not None
    assert found.adjusted.value == pytest.approx(networkx.attribute_assortativity_coefficient(other, "c"))


def test_chance_is_what_joining_the_same_ends_at_random_gives() -> None:
    graph, truth = planted(300, 900, 3, 0.6)
    truth = np.minimum(truth, 1)  # two thirds of one class
    found = agreement(graph.edges.numpy(), read_seeds(truth, 300), RNG(0))
    assert found is not None
    ends = truth[graph.edges.numpy()].ravel()
    rng = RNG(1)
    joined = [float(np.equal(*rng.permutation(ends).reshape(2, -1)).mean()) for _ in range(300)]
    assert found.chance == pytest.approx(np.mean(joined), abs=4 * np.std(joined) / math.sqrt(300) + 1e-3)


def test_pairs_add_up_to_all_labelled_edges_and_so_does_chance() -> None:
    graph, truth = planted(classes=5, nodes=1000)
    found = agreement(graph.edges.numpy(), read_seeds(truth, 1000), RNG(0))
    assert found is not None
    assert sum(p.edges for p in found.pairs) == graph.num_edges
    assert sum(p.expected for p in found.pairs) == pytest.approx(graph.num_edges)
    same = sum(p.edges for p in found.pairs if p.first == p.second)
    assert same / graph.num_edges == pytest.approx(found.share.value)


@pytest.mark.parametrize("most_sets", [4096, 3])
def test_of_several_labels_one_in_common_is_agreement(most_sets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngm.diagnosis.agreement._MAX_SETS", most_sets)
    rng = RNG(0)
    y = (rng.random((60, 5)) < 0.3).astype(np.int64)
    y[::4] = -1
    graph = Graph.from_edges(rng.integers(60, size=(300, 2)), num_nodes=60)
    found = diagnose(graph, y)
    known = [(u, v) for u, v in graph.edges.tolist() if y[u, 0] >= 0 and y[v, 0] >= 0]
    ends = [n for edge in known for n in edge]
    chance = np.mean([bool((y[a] & y[b]).any()) for a in ends for b in ends])
    assert found.task == "labels"
    assert found.agreement is not None
    assert found.agreement.edges == len(known)
    assert found.agreement.share.value == pytest.approx(np.mean([bool((y[u] & y[v]).any()) for u, v in known]))
    sampled = [diagnose(graph, y, seed=seed).agreement.chance for seed in range(40)]  # type: ignore[union-attr]
    assert np.mean(sampled) == pytest.approx(chance, abs=0.04 if most_sets == 3 else 1e-6)
    first = found.agreement.pairs[0]
    a, b = int(first.first), int(first.second)
    there = sum(int(y[u, a] * y[v, b] + (a != b) * y[u, b] * y[v, a]) for u, v in known)
    assert first.edges == there


def test_soft_labels_count_as_their_largest_share_and_sparse_ones_as_dense() -> None:
    graph, truth = planted(200, 800, 2, 0.9)
    soft = np.where(truth[:, None] == np.arange(2), 0.7, 0.3)
    soft[50:] = -1
    hard = np.where(np.arange(200) < 50, truth, -1)
    assert diagnose(graph, soft).agreement == diagnose(graph, hard).agreement
    several = np.eye(2, dtype=np.int64)[truth]
    several[50:] = -1
    sparse = sp.csr_array(np.where(several > 0, 1, 0))
    assert diagnose(graph, sparse).agreement == diagnose(graph, hard).agreement


# Intervals


def test_the_variance_adds_up_pairs_of_edges_with_a_node_in_common() -> None:
    ends = random_graph(40, 60, seed=1).edges.numpy()
    own = RNG(0).normal(size=40)
    off = own[ends].sum(axis=1) + 0.1 * RNG(1).normal(size=len(ends))  # what nodes are like shows at all their edges
    off -= off.mean()
    plain = float(off @ off)
    for i, j in combinations(range(len(ends)), 2):
        if set(ends[i].tolist()) & set(ends[j].tolist()):
            plain += 2 * off[i] * off[j]
    assert plain > off @ off  # else the floor is what is tested
    assert mean_variance(off, ends) == pytest.approx(plain / len(ends) ** 2)


def test_the_variance_is_that_of_independent_edges_where_no_two_meet() -> None:
    off = RNG(0).normal(size=50)
    assert mean_variance(off, np.arange(100).reshape(50, 2)) == pytest.approx(off @ off / 2500)


def _own_ways(nodes: int, edges: int, seed: int) -> tuple[Ids, Ids]:
    """Nodes of two kinds: neighbours of the first are of any class, of the second nine in ten of their own."""
    rng = RNG(seed)
    truth = rng.integers(4, size=nodes)
    own = np.where(rng.random(nodes) < 0.5, 0.9, 0.0)
    busy = rng.pareto(2.5, size=nodes) + 0.2
    u, v = rng.choice(nodes, edges, p=busy / busy.sum()), rng.integers(nodes, size=edges)
    alike = rng.random(edges) < own[u]
    for c in range(4):
        mine = alike & (truth[u] == c)
        v[mine] = rng.choice(np.flatnonzero(truth == c), int(mine.sum()))
    ends = np.stack([u, v], axis=1)
    return ends[u != v], truth


def test_the_interval_covers_the_truth_where_plain_wilson_does_not() -> None:
    """Nodes differ in how choosy they are, so edges of one node are alike; a fifth of the nodes is labelled."""
    ends, truth = _own_ways(100_000, 500_000, seed=99)
    true = float((truth[ends[:, 0]] == truth[ends[:, 1]]).mean())
    covered, by_wilson, adjusted, draws = 0, 0, 0, 150
    for seed in range(draws):
        ends, truth = _own_ways(400, 2000, seed)
        y = shown(truth, 0.4, seed)
        known = ends[(y[ends] >= 0).all(axis=1)]
        found = agreement(known, read_seeds(y, 400), RNG(0))
        assert found is not None
        assert found.adjusted is not None
        covered += found.share.low <= true <= found.share.high
        adjusted += found.adjusted.low <= (true - 0.25) / 0.75 <= found.adjusted.high
        plain = wilson(found.share.value, len(known))
        by_wilson += plain.low <= true <= plain.high
    assert by_wilson < 0.8 * draws
    assert 0.90 * draws <= covered <= 0.99 * draws
    assert 0.90 * draws <= adjusted <= 0.99 * draws


@pytest.mark.parametrize("alike", [0.25, 0.7])
def test_the_interval_covers_the_truth_on_planted_partitions(alike: float) -> None:
    covered, draws, width = 0, 100, []
    for seed in range(draws):
        graph, truth = planted(400, 1600, 4, alike, seed)
        y = shown(truth, 0.3, seed)
        known = graph.edges.numpy()[(y[graph.edges.numpy()] >= 0).all(axis=1)]
        found = agreement(known, read_seeds(y, 400), RNG(0))
        assert found is not None
        covered += found.share.low <= alike <= found.share.high
        plain = wilson(found.share.value, len(known))
        width.append((found.share.high - found.share.low) / (plain.high - plain.low))
    assert covered >= 0.92 * draws
    assert np.mean(width) < 1.3  # and is not wide for nothing


def test_the_interval_of_adjusted_agreement_is_that_of_a_bootstrap_where_no_two_edges_meet() -> None:
    """Four in five nodes are of one class, so chance itself moves with the edges drawn."""
    rng = RNG(0)
    first = (rng.random(600) < 0.2).astype(np.int64)
    second = np.where(rng.random(600) < 0.5, first, rng.random(600) < 0.2)
    found = agreement(np.arange(1200).reshape(2, 600).T, read_seeds(np.concatenate([first, second]), 1200), rng)
    assert found is not None
    assert found.adjusted is not None
    drawn = rng.integers(600, size=(4000, 600))
    ones = (first + second)[drawn].mean(axis=1) / 2
    chance = ones**2 + (1 - ones) ** 2
    adjusted = ((first == second)[drawn].mean(axis=1) - chance) / (1 - chance)
    bounds = np.quantile(adjusted, [0.025, 0.975])
    assert (found.adjusted.low, found.adjusted.high) == pytest.approx(bounds.tolist(), abs=0.015)


def test_few_edges_that_all_agree_prove_little() -> None:
    star = np.array([[0, i] for i in range(1, 7)])
    few = edge_fraction(np.ones(6), np.zeros(6), star)
    many = edge_fraction(np.ones(6), np.zeros(6), np.arange(12).reshape(6, 2))
    assert few.high == many.high == 1
    assert few.low < many.low < wilson(1.0, 6).low
    nodes = 12**2 / (6**2 + 6)  # as many nodes of equal degree as the star's 7 amount to
    assert few.low == pytest.approx(wilson(1.0, nodes / 2, degrees=nodes - 1).low)


def test_wilson_s_interval_is_that_of_a_textbook() -> None:
    found = wilson(15 / 20, 20)  # worked by hand: z = 1.96, middle 0.7097, half 0.1784
    assert (found.low, found.high) == pytest.approx((0.5313, 0.8881), abs=2e-4)


def test_a_gain_counts_rows_on_which_the_two_differ() -> None:
    first, second = np.arange(100) < 60, np.arange(100) >= 10
    gain = paired_gain(first, second)
    assert gain.value == pytest.approx(0.3)
    assert gain.low == pytest.approx(30 / 102 - 1.96 * math.sqrt(51 - 900 / 102) / 102, abs=1e-4)
    same = paired_gain(first, first)
    assert same.low < 0 == same.value < same.high


# Shape


def test_hops_and_components_agree_with_networkx() -> None:
    graph = random_graph(300, 260, seed=2)
    y = shown(np.arange(300) % 2, 0.05)
    found = diagnose(graph, y).shape
    other, seeds = graph.to_networkx(), set(np.flatnonzero(y >= 0).tolist())
    distance = networkx.multi_source_dijkstra_path_length(other, seeds, weight=None)
    for hops, share in enumerate(found.within_hops, start=1):
        near = sum(1 for node, d in distance.items() if node not in seeds and d <= hops)
        assert share == pytest.approx(near / (300 - len(seeds)))
    parts = [part for part in networkx.connected_components(other) if len(part) > 1]
    lost = [part for part in parts if not part & seeds]
    assert (found.components, found.unseeded) == (len(parts), len(lost))
    assert found.unseeded_nodes == sum(map(len, lost))
    largest = max(lost, key=len)
    assert found.unseeded_places[0].count == len(largest)
    assert found.unseeded_places[0].row in {n for p in lost if len(p) == len(largest) for n in p}


@pytest.mark.parametrize("top", [1, 2, 3, 4, 255, 256])
def test_bins_of_degrees_double_and_hold_every_node_once(top: int) -> None:
    degree = np.arange(top + 1)
    bins = histogram(degree)
    assert sum(b.nodes for b in bins) == top + 1
    assert all(after.low == before.high + 1 for before, after in pairwise(bins))
    for b in bins:
        assert b.nodes == int(((degree >= b.low) & (degree <= b.high)).sum())


def test_hubs_and_weights_worked_by_hand() -> None:
    star = [[0, i] for i in range(1, 150)]
    graph = Graph.from_edges([*star, [1, 2]], [1.0] * 149 + [1e-7], num_nodes=200)
    shape = diagnose(graph, [0, 1] + [-1] * 198).shape
    assert (shape.hubs[0].row, shape.hubs[0].count) == (0, 149)
    assert shape.hub_share == 1.0  # two hubs: nodes 0 and 1
    assert shape.weights is not None
    assert (shape.weights.high, shape.weights.median) == (1.0, 1.0)
    assert shape.weights.at_floor == pytest.approx(1 / 150)
    assert shape.weights.top_share == pytest.approx(1 / 149)


# Inputs


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, torch.from_numpy])
def test_the_auc_of_similarity_is_scikit_learn_s(form: type, monkeypatch: pytest.MonkeyPatch) -> None:
    x = RNG(0).normal(size=(200, 6)) + np.arange(200)[:, None] / 100
    graph = knn_graph(x, k=3)
    drawn: list[Ids] = []

    class Noted(np.random.Generator):
        def permutation(self, values: Ids, axis: int = 0) -> Ids:  # type: ignore[override]
            drawn.append(super().permutation(values))
            return drawn[-1]

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Noted(np.random.PCG64(0)))
    found = diagnose(graph, np.arange(200) % 2, form(x)).similarity
    assert found is not None
    ends = graph.edges.numpy().ravel()
    mixed = next(d for d in drawn if len(d) == len(ends)).reshape(-1, 2)
    pairs = np.concatenate([graph.edges.numpy(), mixed[mixed[:, 0] != mixed[:, 1]]])
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosine = (unit[pairs[:, 0]] * unit[pairs[:, 1]]).sum(axis=1)
    is_edge = np.arange(len(pairs)) < graph.num_edges
    assert found.auc.value == pytest.approx(roc_auc_score(is_edge, cosine), abs=1e-4)
    assert found.across_edges == pytest.approx(cosine[is_edge].mean(), abs=1e-4)
    assert found.random_pairs == pytest.approx(cosine[~is_edge].mean(), abs=1e-4)
    assert (found.edges, found.pairs) == (graph.num_edges, int((~is_edge).sum()))


def test_pairs_that_are_as_alike_as_edges_count_by_half() -> None:
    ends = np.array([[0, 1], [2, 3], [0, 2], [1, 3]])
    found = similarity(ends, np.ones((4, 3)), RNG(0))
    assert found is not None
    assert found.auc.value == 0.5
    assert (found.across_edges, found.random_pairs) == pytest.approx((1.0, 1.0))


def test_similarity_at_random_is_a_half_within_its_interval() -> None:
    covered = 0
    for seed in range(60):
        graph = renamed(knn_graph(RNG(seed).normal(size=(150, 5)), k=4), seed)
        found = similarity(graph.edges.numpy(), RNG(seed).normal(size=(150, 5)), RNG(seed))
        assert found is not None
        covered += found.auc.low <= 0.5 <= found.auc.high
    assert covered >= 54


def test_large_graphs_are_sampled_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngm.diagnosis.similarity.MAX_SAMPLED", 100)
    x = RNG(0).normal(size=(500, 4))
    found = diagnose(knn_graph(x, k=5), np.arange(500) % 2, x).similarity
    assert found is not None
    assert found.edges == 100
    assert found.auc.low > 0.9


def test_edges_of_weight_zero_join_nothing() -> None:
    graph, truth = planted(200, 800, 2, 0.9)
    y = shown(truth, 0.5)
    more = torch.cat([graph.edges, torch.tensor([[0, 1], [2, 3]])]).unique(dim=0)
    there = {tuple(edge) for edge in graph.edges.tolist()}
    weight = torch.tensor([1.0 if tuple(edge) in there else 0.0 for edge in more.tolist()])
    assert (weight == 0).any()
    with_zeros = diagnose(Graph(200, more, weight), y)
    assert with_zeros.as_json() == diagnose(Graph.from_edges(graph.edges, num_nodes=200), y).as_json()


def test_with_few_held_out_labels_the_advice_rests_on_what_the_verdict_rests_on() -> None:
    triangles = [[a, b] for c in (0, 3, 6) for a, b in ((c, c + 1), (c + 1, c + 2), (c, c + 2))]
    found = diagnose(Graph.from_edges([*triangles, [9, 10]]), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3])
    assert found.verdict == "helps"
    assert found.advice[0].startswith("100% of your labelled edges join nodes of the same class")
    assert found.advice[1].endswith("the verdict rests on these alone, so label more nodes to be surer")
