"""Which edges a graph of neighbors keeps, what they weigh, and how many a node may have."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.neighbors import kneighbors_graph
from torch.overrides import TorchFunctionMode

from ngm import Graph, knn_graph
from ngm.build import knn, nearest_neighbors, neighbor_graph
from ngm.build import weights as weights_module
from ngm.build.neighbors import Neighbors
from ngm.build.space import Metric
from ngm.build.weights import FLOOR, edge_weights, limit_degree, mutual

Floats = NDArray[np.float64]
Pairs = dict[tuple[int, int], float]


def points(rows: int = 120, width: int = 4, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(rows, width)) + 0.7


def weights(graph: Graph) -> Pairs:
    return {(u, v): w for (u, v), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True)}


def distances(x: Floats, metric: Metric) -> Floats:
    """(n, n), inf on the diagonal; of the vectors at length one for cosine."""
    if metric == "cosine":
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    table = np.linalg.norm(x[:, None] - x[None], axis=2)
    np.fill_diagonal(table, np.inf)
    return table


def chosen(x: Floats, k: int, metric: Metric) -> list[list[int]]:
    return np.argsort(distances(x, metric), axis=1)[:, :k].tolist()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("k", [1, 4, 15])
def test_the_graph_is_scikit_learn_s_made_symmetric(metric: Metric, k: int) -> None:
    x = points() + 2  # all cosines are above 0
    theirs = kneighbors_graph(x, k, mode="distance", metric=metric).toarray()
    theirs = np.maximum(theirs, theirs.T)
    ours = knn_graph(x, k, metric).to_scipy().toarray()
    similarity = 1 / (1 + theirs) if metric == "euclidean" else 1 - theirs
    np.testing.assert_allclose(ours, np.where(theirs > 0, similarity, 0), rtol=1e-4)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_mutual_edges_are_those_that_both_ends_chose(metric: Metric) -> None:
    x = points() + 2
    choice = chosen(x, 3, metric)
    expected = {(u, v) for u in range(len(x)) for v in choice[u] if u < v and u in choice[v]}
    alone = set(range(len(x))) - {node for pair in expected for node in pair}
    assert alone  # or the second rule is not tried
    expected |= {(min(u, choice[u][0]), max(u, choice[u][0])) for u in alone}
    graph = knn_graph(x, 3, metric, join="mutual")
    assert set(weights(graph)) == expected
    assert int(graph.degree.min()) >= 1
    union = weights(knn_graph(x, 3, metric))
    assert weights(graph) == {pair: union[pair] for pair in expected}


def test_mutual_edges_worked_by_hand() -> None:
    x = [[0.0], [1.0], [1.5], [9.0]]  # 1 and 2 chose each other, 0 chose 1, 3 chose 2
    assert weights(knn_graph(x, 1, "euclidean", join="mutual")) == pytest.approx(
        {(0, 1): 1 / 2, (1, 2): 1 / 1.5, (2, 3): 1 / 8.5}
    )
    assert set(weights(knn_graph(x, 2, "euclidean", join="mutual"))) == {(0, 1), (0, 2), (1, 2), (2, 3)}


def test_who_was_chosen_back_worked_by_hand() -> None:
    neighbor = torch.tensor([[1, 2], [0, 3], [3, 0], [2, 0]])
    assert mutual(neighbor).tolist() == [[True, True], [True, False], [True, True], [True, False]]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("k", [1, 5])
def test_self_tuned_weights_agree_with_a_plain_loop(metric: Metric, k: int) -> None:
    x = points() + 2
    table, choice = distances(x, metric), chosen(x, k, metric)
    scale = [table[u, choice[u][-1]] for u in range(len(x))]
    expected = {}
    for u in range(len(x)):
        for v in choice[u]:
            expected[min(u, v), max(u, v)] = max(math.exp(-(table[u, v] ** 2) / (scale[u] * scale[v])), FLOOR)
    assert weights(knn_graph(x, k, metric, weight="self_tuned")) == pytest.approx(expected, rel=2e-3)


def test_self_tuned_weights_worked_by_hand() -> None:
    graph = knn_graph([[0.0], [1.0], [3.0]], 1, "euclidean", weight="self_tuned")  # scales 1, 1, 2
    assert weights(graph) == pytest.approx({(0, 1): math.exp(-1), (1, 2): math.exp(-2)})


def test_rows_that_coincide_are_self_tuned_to_one_and_others_to_the_floor_from_there() -> None:
    graph = knn_graph([[0.0], [0.0], [5.0]], 1, "euclidean", weight="self_tuned")  # scales 0, 0, 5
    pairs = weights(graph)
    assert pairs.pop((0, 1)) == 1
    assert list(pairs.values()) == pytest.approx([FLOOR])


def test_a_cosine_that_rounding_put_above_one_is_a_distance_of_zero() -> None:
    similarity, neighbor = torch.tensor([[1.000001], [1.000001], [0.5]]), torch.tensor([[1], [0], [0]])
    value = edge_weights(similarity, neighbor, "cosine", "self_tuned")
    assert value[:, 0].tolist() == pytest.approx([1.0, 1.0, FLOOR])


def test_the_unit_of_length_does_not_count_for_self_tuned_weights() -> None:
    near, far = (knn_graph(points() * s, 4, "euclidean", weight="self_tuned") for s in (1, 1000))
    assert weights(far) == pytest.approx(weights(near), rel=1e-3)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product"])
@pytest.mark.parametrize("join", ["union", "mutual"])
def test_binary_weights_are_one_on_the_same_edges(metric: Metric, join: str) -> None:
    plain = knn_graph(points(), 4, metric, join=join)  # type: ignore[arg-type]
    binary = knn_graph(points(), 4, metric, join=join, weight="binary")  # type: ignore[arg-type]
    assert torch.equal(binary.edges, plain.edges)
    assert (binary.weight == 1).all()


def strongest_by_a_loop(pairs: Pairs, most: int) -> Pairs:
    """Edges from the strongest down, kept while both ends have room."""
    room: dict[int, int] = {}
    kept = {}
    for (u, v), w in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        if room.get(u, most) and room.get(v, most):
            kept[u, v] = w
            room[u], room[v] = room.get(u, most) - 1, room.get(v, most) - 1
    return dict(sorted(kept.items()))


@pytest.mark.parametrize("most", [1, 2, 5, 50])
@pytest.mark.parametrize("seed", range(5))
def test_the_strongest_edges_are_those_of_a_plain_loop(most: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 9, size=300)  # many ties
    graph = Graph.from_edges(rng.integers(40, size=(300, 2)), weight, num_nodes=40)
    kept = limit_degree(graph, most)
    ours = {tuple(graph.edges[i].tolist()): float(graph.weight[i]) for i in kept.tolist()}
    assert ours == strongest_by_a_loop(weights(graph), most)
    assert kept.tolist() == sorted(kept.tolist())


def test_the_number_of_edges_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = knn_graph(points(), 5)
    whole = limit_degree(graph, 3)
    monkeypatch.setattr(weights_module, "_CHUNK_EDGES", 7)
    assert torch.equal(limit_degree(graph, 3), whole)


class Counted(TorchFunctionMode):
    """Counts the array operations within."""

    calls = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.calls += 1
        return func(*args, **(kwargs or {}))


def test_a_chain_where_each_edge_waits_for_the_one_before_takes_no_more_rounds_when_longer() -> None:
    calls = []
    for n in (10, 1000):
        start = np.arange(n)
        chain = Graph.from_edges(np.stack([start, start + 1], axis=1), n - start)  # strongest at 0
        with Counted() as counted:
            kept = limit_degree(chain, 1)
        assert kept.tolist() == list(range(0, n, 2))
        calls.append(counted.calls)
    assert calls[0] == calls[1]


def test_a_graph_without_edges_has_no_strongest() -> None:
    assert limit_degree(Graph.from_edges([], num_nodes=3), 2).tolist() == []


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product"])
@pytest.mark.parametrize("most", [1, 3, 5])
def test_no_node_has_more_edges_than_the_maximum_degree(metric: Metric, most: int) -> None:
    whole = knn_graph(points(), 5, metric)
    assert int(whole.degree.max()) > most
    graph = knn_graph(points(), 5, metric, max_degree=most)
    assert int(graph.degree.max()) <= most
    assert weights(graph) == strongest_by_a_loop(weights(whole), most)


def test_of_binary_edges_the_most_similar_are_kept() -> None:
    similar = knn_graph(points(), 5, "euclidean", max_degree=2)
    binary = knn_graph(points(), 5, "euclidean", weight="binary", max_degree=2)
    assert torch.equal(binary.edges, similar.edges)
    assert (binary.weight == 1).all()


def test_a_maximum_degree_may_leave_a_node_alone() -> None:
    x = [[0.0], [1.0], [2.5]]  # the middle has room for one, and takes the nearer
    assert knn_graph(x, 1, "euclidean").edges.tolist() == [[0, 1], [1, 2]]
    assert knn_graph(x, 1, "euclidean", max_degree=1).edges.tolist() == [[0, 1]]


def test_a_graph_of_found_neighbors_is_the_graph_itself() -> None:
    found = nearest_neighbors(points(), 4, "euclidean")
    for weight in ("similarity", "self_tuned", "binary"):
        graph = neighbor_graph(found, join="mutual", weight=weight, max_degree=3)
        same = knn_graph(points(), 4, "euclidean", join="mutual", weight=weight, max_degree=3)
        assert weights(graph) == weights(same)


def test_an_approximate_graph_has_nearly_the_edges_of_the_exact_one() -> None:
    x = points(3000, 8)
    exact, close = (set(weights(knn_graph(x, 5, search=s))) for s in ("exact", "approximate"))
    assert len(exact & close) > 0.97 * len(exact)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"join": "both"}, r"^join is 'both'; choose 'union' or 'mutual'$"),
        ({"weight": "rbf"}, r"^weight is 'rbf'; choose 'similarity', 'self_tuned' or 'binary'$"),
        ({"max_degree": 0}, r"^max_degree is 0; it must be a whole number of at least 1$"),
        ({"max_degree": 1.5}, r"^max_degree is 1\.5; it must be a whole number of at least 1$"),
        (
            {"weight": "self_tuned", "metric": "inner_product"},
            r"^weight='self_tuned' needs distances; use metric='cosine' or 'euclidean'$",
        ),
    ],
)
def test_options_that_are_not_there_are_refused_before_the_search(
    options: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = nearest_neighbors(points(), 3, options.get("metric", "cosine"))  # type: ignore[arg-type]
    monkeypatch.setattr(knn, "nearest_neighbors", lambda *given, **settings: pytest.fail("searched"))
    with pytest.raises(ValueError, match=message):
        knn_graph(points(), 3, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        neighbor_graph(found, **{name: value for name, value in options.items() if name != "metric"})  # type: ignore[arg-type]


def test_the_settings_of_the_search_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def noted(x: Floats, k: int, metric: Metric, **settings: object) -> Neighbors:
        given.update(settings)
        return nearest_neighbors(x, k, metric)

    monkeypatch.setattr(knn, "nearest_neighbors", noted)
    settings = {"search": "approximate", "recall": 0.9, "seed": 3, "on_step": print}
    knn_graph(points(), 2, **settings)  # type: ignore[arg-type]
    assert given == settings
