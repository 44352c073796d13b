"""Random walks: where they go, how often, and the vectors learned from them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from ngm.graph import Graph
from ngm.inputs import walk_steps
from ngm.inputs.walk_steps import Steps
from ngm.inputs.walks import deepwalk, node2vec, random_walks
from tests.conftest import random_graph
from tests.graphs import NEEDS_GENSIM, cliques


def frequencies(walks: np.ndarray, num_nodes: int) -> np.ndarray:
    """(n, n) how often walks go from u to v, as shares of the times they leave u."""
    seen = np.zeros((num_nodes, num_nodes))
    np.add.at(seen, (walks[:, :-1].ravel(), walks[:, 1:].ravel()), 1)
    return seen / np.maximum(seen.sum(axis=1, keepdims=True), 1)


@pytest.mark.parametrize("directed", [False, True])
def test_steps_are_as_frequent_as_the_row_normalised_weights_say(directed: bool) -> None:
    graph = random_graph(8, 20, seed=1, directed=directed)
    weight = graph.to_scipy().toarray()
    out = weight.sum(axis=1, keepdims=True)
    expected = np.where(out > 0, weight / np.where(out > 0, out, 1), np.eye(8))  # without a way out: stay
    walks = random_walks(graph, length=30, walks_per_node=1000, seed=0)
    assert np.abs(frequencies(walks, 8) - expected)[np.unique(walks)].max() < 0.02


def test_every_step_follows_an_edge() -> None:
    graph = random_graph(50, 90, seed=2)
    walks = random_walks(graph, length=12, walks_per_node=4, seed=3)
    allowed = graph.to_scipy().toarray() > 0
    allowed[graph.degree.numpy() == 0] = np.eye(50, dtype=bool)[graph.degree.numpy() == 0]
    assert allowed[walks[:, :-1], walks[:, 1:]].all()


def test_walks_start_at_the_nodes_given_in_their_order() -> None:
    graph = random_graph(10, 20, seed=0)
    walks = random_walks(graph, length=2, walks_per_node=3, seed=0, nodes=[7, 2, 7])
    assert walks.dtype == np.int64
    assert walks[:, 0].tolist() == [7, 2, 7] * 3
    mask = np.zeros(10, dtype=bool)
    mask[[4, 8]] = True
    assert random_walks(graph, 0, 1, seed=0, nodes=mask).tolist() == [[4], [8]]


def test_nodes_without_a_way_out_stay_where_they_are() -> None:
    alone = Graph.from_edges(np.zeros((0, 2)), num_nodes=2)
    assert random_walks(alone, 2, 1, seed=0).tolist() == [[0, 0, 0], [1, 1, 1]]
    one_way = Graph.from_edges([[0, 1], [1, 2]], directed=True)
    assert random_walks(one_way, 3, 1, seed=0).tolist() == [[0, 1, 2, 2], [1, 2, 2, 2], [2, 2, 2, 2]]


def test_an_edge_of_weight_0_is_never_taken_wherever_it_stands_in_the_row() -> None:
    for dead in range(3):
        weight = [1.0, 1.0, 1.0]
        weight[dead] = 0.0
        star = Graph.from_edges([[0, 1], [0, 2], [0, 3]], weight, num_nodes=4)
        walks = random_walks(star, 1, 200, seed=0, nodes=[0])
        assert set(walks[:, 1].tolist()) == {1, 2, 3} - {dead + 1}
    only = Graph.from_edges([[0, 1]], [0.0])
    assert random_walks(only, 1, 1, seed=0).tolist() == [[0, 0], [1, 1]]


@pytest.mark.parametrize("bits", [0, 2**64 - 1])
def test_the_extreme_draws_stay_on_the_edges_of_the_node_that_have_weight(bits: int) -> None:
    edges = [[0, 1], [0, 2], [0, 3], [4, 5], [4, 6]]
    graph = Graph.from_edges(edges, [0.0, 1.0, 0.0, 0.1, 0.2], directed=True)
    draw = np.full(2, bits, dtype=np.uint64)
    assert Steps(graph)._propose(np.array([0, 4]), draw).tolist() == [2, 6 if bits else 5]


def second_order_law(graph: Graph, before: int, at: int, p: float, q: float) -> np.ndarray:
    """(n,) chances of the next node by the definition of Grover and Leskovec, one neighbor at a time."""
    weight = graph.to_scipy().toarray()
    chance = np.zeros(graph.num_nodes)
    for to in range(graph.num_nodes):
        distance = 0 if to == before else 1 if weight[before, to] > 0 else 2
        chance[to] = weight[at, to] * {0: 1 / p, 1: 1.0, 2: 1 / q}[distance]
    return chance / chance.sum()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("p", "q", "directed", "weighted", "seed"),
    [(0.25, 4.0, False, True, 0), (4.0, 0.5, False, True, 1), (3.0, 2.0, True, True, 2), (0.5, 0.3, False, False, 3)],
)
def test_biased_steps_follow_the_law_of_node2vec(
    p: float, q: float, directed: bool, weighted: bool, seed: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(walk_steps, "_kernels", lambda: None)
    graph = random_graph(8, 35 if directed else 22, seed, directed)
    if not weighted:
        graph = Graph(graph.num_nodes, graph.edges, torch.ones(graph.num_edges), directed)
    walks = random_walks(graph, length=20, walks_per_node=600, seed=seed, p=p, q=q)
    triples, seen = np.unique(
        np.stack([walks[:, :-2], walks[:, 1:-1], walks[:, 2:]], axis=-1).reshape(-1, 3), axis=0, return_counts=True
    )
    counts = np.zeros((8, 8, 8))
    counts[tuple(triples.T)] = seen
    moving = graph.to_scipy().toarray().sum(axis=1) > 0
    surprise, cells = 0.0, 0
    for before, at in {(int(b), int(a)) for b, a, _ in triples if b != a and moving[a]}:
        expected = second_order_law(graph, before, at, p, q) * counts[before, at].sum()
        assert (counts[before, at][expected == 0] == 0).all()
        there = expected > 5
        surprise += float(((counts[before, at] - expected)[there] ** 2 / expected[there]).sum())
        cells += max(int(there.sum()) - 1, 0)
    assert cells > 30
    assert surprise < cells + 4.5 * np.sqrt(2 * cells)  # chi-square: its mean, and 4.5 deviations more


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.5, 2.0), (4.0, 0.25)])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_numba_and_numpy_take_the_same_walks_on_any_number_of_threads(
    p: float, q: float, directed: bool, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba", reason="numba is not here: pip install 'neural-graph-machines[walks]'")
    monkeypatch.setattr(walk_steps, "_WALKS_AT_ONCE", 37)
    graph = random_graph(60, 150, seed=5, directed=directed)
    if not weighted:
        graph = Graph(graph.num_nodes, graph.edges, torch.full((graph.num_edges,), 0.3), directed)
    walks = []
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        walks.append(random_walks(graph, 15, 3, seed=1, p=p, q=q))
    monkeypatch.setattr(walk_steps, "_kernels", lambda: None)
    walks.append(random_walks(graph, 15, 3, seed=1, p=p, q=q))
    np.testing.assert_array_equal(walks[0], walks[1])
    np.testing.assert_array_equal(walks[0], walks[2])


def test_without_numba_walks_are_taken_by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(20, 50, seed=0)
    expected = random_walks(graph, 6, 2, seed=0)
    monkeypatch.setitem(sys.modules, "ngm.inputs.compiled_walk_steps", None)
    monkeypatch.delattr("ngm.inputs.compiled_walk_steps", raising=False)
    assert walk_steps._kernels() is None
    np.testing.assert_array_equal(random_walks(graph, 6, 2, seed=0), expected)


def test_streams_are_those_of_splitmix64() -> None:
    # the first outputs of SplitMix64 from state 1234567, as its reference gives them
    state, drawn = np.array([1234567], dtype=np.uint64), []
    for _ in range(3):
        state += np.uint64(walk_steps.GOLDEN)
        drawn.append(int(walk_steps.mix(state)[0]))
    assert drawn == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_large_p_and_small_q_carry_walks_further() -> None:
    ring = Graph.from_edges([(i, (i + 1) % 60) for i in range(60)] + [(i, (i + 2) % 60) for i in range(60)])

    def reach(p: float, q: float) -> float:
        walks = random_walks(ring, 12, 20, seed=0, p=p, q=q)
        gone = np.abs(walks[:, -1] - walks[:, 0])
        return float(np.minimum(gone, 60 - gone).mean())

    assert reach(20, 0.1) > 1.5 * reach(1, 1) > 2 * reach(0.05, 10)


def test_scaling_the_weights_of_a_component_changes_no_walk() -> None:
    edges = [[0, 1], [0, 2], [3, 4], [3, 5]]
    small = Graph.from_edges(edges, [1.0, 3.0, 1e-20, 3e-20])
    large = Graph.from_edges(edges, [1e10, 3e10, 1.0, 3.0])
    np.testing.assert_array_equal(random_walks(small, 9, 20, seed=4), random_walks(large, 9, 20, seed=4))


def test_same_seed_same_walks_whatever_the_global_state() -> None:
    graph = random_graph(30, 60, seed=0)
    np.random.seed(1)
    first = random_walks(graph, 5, 2, seed=9)
    np.random.seed(2)
    np.testing.assert_array_equal(first, random_walks(graph, 5, 2, seed=9))
    assert (first != random_walks(graph, 5, 2, seed=10)).any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": -1}, "length is -1; it must be at least 0"),
        ({"walks_per_node": 0}, "walks_per_node is 0; it must be at least 1"),
        ({"p": 0.0}, "p is 0.0; give a number from 0.001 to 1000"),
        ({"q": -1.0}, "q is -1.0; give a number from 0.001 to 1000"),
        ({"q": float("nan")}, "q is nan; give a number from 0.001 to 1000"),
        ({"nodes": [0, 5]}, "node 5 is not in the graph; ids run from 0 to 4"),
        ({"nodes": [0.5]}, "give \\(b,\\) node ids or a mask of 5 entries"),
        ({"nodes": [True, False]}, "give \\(b,\\) node ids or a mask of 5 entries"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], message: str) -> None:
    graph = Graph.from_edges([[0, 1]], num_nodes=5)
    with pytest.raises(ValueError, match=message):
        random_walks(graph, **({"length": 1, "walks_per_node": 1, "seed": 0} | settings))  # type: ignore[arg-type]


def test_nodes_of_a_clique_get_similar_vectors() -> None:
    pytest.importorskip("gensim", reason=NEEDS_GENSIM)
    vectors = deepwalk(cliques(), dimensions=8, length=20, walks_per_node=20, window=3, epochs=5)
    assert vectors.shape == (13, 8)
    assert vectors.dtype == np.float32
    unit = torch.nn.functional.normalize(torch.from_numpy(vectors), dim=1)
    alike = (unit @ unit.t()).numpy()
    within = (alike[:6, :6].sum() - 6 + alike[6:12, 6:12].sum() - 6) / 60
    assert within > alike[:6, 6:12].mean() + 0.2


def test_deepwalk_gives_the_same_bits_for_the_same_seed_in_any_process() -> None:
    pytest.importorskip("gensim", reason=NEEDS_GENSIM)
    code = (
        "import sys; from tests.graphs import cliques; from ngm.inputs.walks import deepwalk; "
        "sys.stdout.write(deepwalk(cliques(), 4, 5, 2, 2, seed=3).tobytes().hex())"
    )
    root = Path(__file__).parents[2]
    other = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        env=os.environ | {"PYTHONHASHSEED": "17", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    here = deepwalk(cliques(), 4, 5, 2, 2, seed=3)
    assert here.tobytes().hex() == other.stdout
    assert (here != deepwalk(cliques(), 4, 5, 2, 2, seed=4)).any()


def test_node2vec_without_bias_is_deepwalk_and_with_bias_is_not() -> None:
    pytest.importorskip("gensim", reason=NEEDS_GENSIM)
    plain = deepwalk(cliques(), 4, 6, 3, 2, seed=1)
    np.testing.assert_array_equal(node2vec(cliques(), 4, length=6, walks_per_node=3, window=2, seed=1), plain)
    assert (node2vec(cliques(), 4, p=0.2, length=6, walks_per_node=3, window=2, seed=1) != plain).any()
    assert deepwalk(Graph.from_edges([], num_nodes=0), 4).shape == (0, 4)


def test_without_gensim_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ImportError, match=r"pip install 'neural-graph-machines\[walks\]'"):
        node2vec(cliques())
