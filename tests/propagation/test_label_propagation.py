"""Label propagation, held to the minimiser of Eq. 2, plain loops and hand-worked paths."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.semi_supervised import LabelSpreading

from ngm import Graph, LabelPropagation, knn_graph
from ngm.propagation.kernel import walk_shares
from tests.conftest import random_graph

EXACT = {"tolerance": 1e-6, "max_steps": 5000}
N = 30
PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3]])
ENDS = [0, -1, -1, 1]


def ring_and_chords(seed: int, directed: bool = False) -> Graph:
    """A connected graph on 30 nodes with random weights."""
    rng = np.random.default_rng(seed)
    ring = np.stack([np.arange(N), (np.arange(N) + 1) % N], axis=1)
    edges = np.concatenate([ring, rng.integers(N, size=(40, 2))])
    return Graph.from_edges(edges, rng.random(70) + 0.1, N, directed)


def seeds(kind: str, seed: int = 0) -> NDArray[np.floating]:
    """(30, 3) with 8 labelled rows, -1 elsewhere."""
    rng = np.random.default_rng(seed)
    y = np.full((N, 3), -1.0)
    rows = rng.permutation(N)[:8]
    if kind == "classes":
        y[rows] = np.eye(3)[np.arange(8) % 3]
    elif kind == "soft":
        y[rows] = rng.dirichlet(np.ones(3), size=8)
    else:
        y[rows] = rng.random((8, 3)) < 0.5
    return y


def equation_2(
    values: NDArray[np.floating], graph: Graph, y: NDArray[np.floating], prior: NDArray[np.floating], mu: list[float]
) -> float:
    """Eq. 2 by a plain loop; an undirected edge is there for both its ends."""
    cost = 0.0
    for v in range(len(values)):
        if (y[v] >= 0).all():
            cost += mu[0] * ((values[v] - y[v]) ** 2).sum()
        cost += mu[2] * ((values[v] - prior[v]) ** 2).sum()
    for (u, v), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True):
        cost += (1 if graph.directed else 2) * mu[1] * w * ((values[v] - values[u]) ** 2).sum()
    return cost


def minimiser(
    graph: Graph, y: NDArray[np.floating], prior: NDArray[np.floating], mu: list[float]
) -> NDArray[np.float64]:
    """Where the gradient of `equation_2`, which is linear, is 0; put together from that plain loop."""
    matrix, right = np.zeros((N, N)), np.zeros((N, y.shape[1]))
    for v in range(N):
        labeled = (y[v] >= 0).all()
        matrix[v, v] += mu[0] * labeled + mu[2]
        right[v] += mu[0] * labeled * y[v] + mu[2] * prior[v]
    for (u, v), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True):
        pull = (1 if graph.directed else 2) * mu[1] * w
        matrix[[u, v], [u, v]] += pull
        matrix[[u, v], [v, u]] -= pull
    return np.linalg.solve(matrix, right)


def as_y(y: NDArray[np.floating], kind: str) -> NDArray[np.generic]:
    return np.where(y[:, 0] < 0, -1, y.argmax(axis=1)) if kind == "classes" else y


MU = [[1.0, 0.5, 0.01], [0.3, 2.0, 0.2], [5.0, 0.1, 1.0]]
PRIORS = {
    "uniform": None,
    "per class": np.array([0.6, 0.3, 0.1]),
    "per node": np.random.default_rng(3).dirichlet(np.ones(3), size=N),
}


@pytest.mark.parametrize("solver", ["conjugate_gradient", "jacobi"])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", ["classes", "soft", "labels"])
def test_it_is_the_minimiser_of_equation_2(kind: str, prior: str, solver: str) -> None:
    for seed, mu in enumerate(MU):
        graph, y = ring_and_chords(seed), seeds(kind, seed)
        model = LabelPropagation(*mu, prior=PRIORS[prior], solver=solver, **EXACT)
        found = model.fit(None, as_y(y, kind), graph=graph).label_distributions_
        default = y[y[:, 0] >= 0].mean(axis=0) if kind == "labels" else np.full(3, 1 / 3)
        u = np.broadcast_to(default if PRIORS[prior] is None else PRIORS[prior], (N, 3))
        best = minimiser(graph, y, u, mu)
        np.testing.assert_allclose(found, best, atol=2e-4)
        if kind != "labels":
            np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
        rng, least = np.random.default_rng(seed), equation_2(best, graph, y, u, mu)
        assert equation_2(found.astype(np.float64), graph, y, u, mu) == pytest.approx(least, rel=1e-5)
        for _ in range(5):  # no neighbour has a lower cost
            aside = best + 0.01 * rng.normal(size=best.shape)
            assert equation_2(aside, graph, y, u, mu) > least


def test_a_directed_graph_counts_each_edge_once_in_equation_2() -> None:
    graph, y = ring_and_chords(1, directed=True), seeds("classes")
    found = LabelPropagation(1, 0.5, 0.1, **EXACT).fit(None, as_y(y, "classes"), graph=graph)
    np.testing.assert_allclose(
        found.label_distributions_, minimiser(graph, y, np.full((N, 3), 1 / 3), [1, 0.5, 0.1]), atol=1e-4
    )


@pytest.mark.parametrize("influence", ["source", "target"])
def test_with_one_way_influence_each_node_is_the_mean_of_what_pulls_it(influence: str) -> None:
    graph, y = ring_and_chords(2, directed=True), seeds("classes")
    model = LabelPropagation(1, 0.5, 0.1, influence=influence, **EXACT).fit(None, as_y(y, "classes"), graph=graph)
    z = model.label_distributions_.astype(np.float64)
    pull, total = 0.1 / 3 * np.ones((N, 3)), np.full(N, 0.1)
    labeled = y[:, 0] >= 0
    pull[labeled] += y[labeled]
    total[labeled] += 1
    for (source, target), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True):
        puller, pulled = (source, target) if influence == "source" else (target, source)
        pull[pulled] += 0.5 * w * z[puller]
        total[pulled] += 0.5 * w
    np.testing.assert_allclose(z, pull / total[:, None], atol=1e-5)


@pytest.mark.parametrize("solver", ["conjugate_gradient", "jacobi"])
def test_clamped_ends_of_a_path_give_thirds_between_them(solver: str) -> None:
    found = LabelPropagation(mu1=math.inf, mu3=0, solver=solver, **EXACT).fit(None, ENDS, graph=PATH)
    expected = [[1, 0], [2 / 3, 1 / 3], [1 / 3, 2 / 3], [0, 1]]
    np.testing.assert_allclose(found.label_distributions_, expected, atol=1e-5)
    assert found.label_distributions_[[0, 3]].tolist() == [[1, 0], [0, 1]]  # exactly
    assert found.transduction_.tolist() == [0, 0, 1, 1]


def test_a_heavier_edge_of_a_path_pulls_in_proportion_to_its_weight() -> None:
    path = Graph.from_edges([[0, 1], [1, 2]], [3.0, 1.0])
    found = LabelPropagation(mu1=math.inf, mu3=0, **EXACT).fit(None, ["b", None, "a"], graph=path)
    assert found.classes_.tolist() == ["a", "b"]
    np.testing.assert_allclose(found.label_distributions_[1], [0.25, 0.75], atol=1e-5)
    assert found.transduction_.tolist() == ["b", "b", "a"]


def test_several_labels_are_decided_each_by_itself() -> None:
    y = [[1, 1, 0], [-1, -1, -1], [-1, -1, -1], [0, 1, 0]]
    model = LabelPropagation(mu1=math.inf, mu3=0, **EXACT)
    with pytest.warns(UserWarning, match="no seed has class 2"):
        found = model.fit(None, y, graph=PATH)
    np.testing.assert_allclose(found.label_distributions_[1], [2 / 3, 1, 0], atol=1e-5)
    assert found.transduction_.tolist() == [[1, 1, 0], [1, 1, 0], [0, 1, 0], [0, 1, 0]]


def test_sparse_y_is_read_as_dense_y_is() -> None:
    graph = ring_and_chords(0)
    for kind in ("classes", "soft", "labels"):
        y = seeds(kind)
        y[(y[:, 0] >= 0) & (y.sum(axis=1) == 0), 0] = 1  # an empty row would be unlabelled
        sparse = sp.csr_array(np.where(y < 0, 0, y))
        dense = LabelPropagation(**EXACT).fit(None, as_y(y, kind), graph=graph)
        found = LabelPropagation(**EXACT).fit(None, sparse, graph=graph)
        np.testing.assert_allclose(found.label_distributions_, dense.label_distributions_, atol=1e-6)
        np.testing.assert_array_equal(found.transduction_, dense.transduction_)


@pytest.mark.parametrize("prior", PRIORS)
def test_keeping_every_label_gives_what_keeping_is_not_asked_for_gives(prior: str) -> None:
    graph, y = ring_and_chords(0), as_y(seeds("classes"), "classes")
    whole = LabelPropagation(mu3=0.1, prior=PRIORS[prior], **EXACT).fit(None, y, graph=graph)
    for keep in (3, 10):
        kept = LabelPropagation(mu3=0.1, prior=PRIORS[prior], keep=keep, **EXACT).fit(None, y, graph=graph)
        np.testing.assert_allclose(kept.label_distributions_.toarray(), whole.label_distributions_, atol=1e-4)
        np.testing.assert_array_equal(kept.transduction_, whole.transduction_)


def test_at_most_so_many_labels_are_kept_and_each_is_a_share() -> None:
    graph = ring_and_chords(0)
    for kind in ("classes", "soft"):
        kept = LabelPropagation(keep=2).fit(None, as_y(seeds(kind), kind), graph=graph).label_distributions_
        assert np.diff(kept.indptr).max() == 2
        assert (kept.data > 0).all()
        assert (kept.sum(axis=1) <= 1 + 1e-4).all()


def test_scikit_learns_label_spreading_is_the_same_where_every_node_has_one_degree() -> None:
    # On a ring S = W / 2, so F = (1 - a) (I - a S)^-1 Y: Eq. 2 with U = Y and 2 mu2 * 2 / mu3 = a / (1 - a)
    ring = Graph.from_edges(np.stack([np.arange(N), (np.arange(N) + 1) % N], axis=1))
    y = np.full(N, -1)
    y[[0, 7, 19]] = [0, 1, 2]
    theirs = LabelSpreading(kernel=lambda a, b: ring.to_scipy().toarray(), alpha=0.8, max_iter=1000, tol=1e-9)
    theirs.fit(np.arange(N)[:, None], y)
    anchors = np.full((N, 3), 0.0)
    anchors[[0, 7, 19]] = np.eye(3)  # a prior of every node's own: its label, or no label at all
    multi = np.full((N, 3), -1.0)
    multi[[0, 7, 19]] = np.eye(3)
    ours = LabelPropagation(mu1=1e-9, mu2=0.8 / 0.2 / 4, mu3=1, prior=anchors, **EXACT).fit(None, multi, graph=ring)
    scaled = ours.label_distributions_ / ours.label_distributions_.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scaled, theirs.label_distributions_, atol=1e-4)


def test_doubling_every_mu_changes_nothing() -> None:
    graph, y = ring_and_chords(0), as_y(seeds("classes"), "classes")
    once, twice = (LabelPropagation(s * 0.7, s * 0.4, s * 0.1, **EXACT).fit(None, y, graph=graph) for s in (1, 2))
    np.testing.assert_allclose(twice.label_distributions_, once.label_distributions_, atol=1e-6)


def test_neither_the_direction_of_undirected_edges_nor_the_order_of_nodes_matters() -> None:
    graph, y = ring_and_chords(0), as_y(seeds("classes"), "classes")
    found = LabelPropagation(**EXACT).fit(None, y, graph=graph).label_distributions_
    turned = Graph(N, graph.edges.flip(1), graph.weight)
    np.testing.assert_allclose(
        LabelPropagation(**EXACT).fit(None, y, graph=turned).label_distributions_, found, atol=1e-6
    )
    new = torch.randperm(N, generator=torch.Generator().manual_seed(0))  # node i becomes new[i]
    moved = np.empty_like(y)
    moved[new] = y
    renumbered = Graph.from_edges(new[graph.edges], graph.weight, N)
    again = LabelPropagation(**EXACT).fit(None, moved, graph=renumbered).label_distributions_
    np.testing.assert_allclose(again[new], found, atol=1e-5)


def test_without_a_graph_one_is_made_of_the_nearest_rows() -> None:
    x = np.random.default_rng(0).normal(size=(N, 2)).astype(np.float32)
    y = as_y(seeds("classes"), "classes")
    made = LabelPropagation(k=4).fit(x, y)
    given = LabelPropagation(k=4).fit(x, y, graph=knn_graph(x, 4, "euclidean"))
    sparse = LabelPropagation(k=4).fit(sp.csr_matrix(x), y)
    np.testing.assert_array_equal(made.label_distributions_, given.label_distributions_)
    np.testing.assert_allclose(sparse.label_distributions_, made.label_distributions_, atol=1e-6)


@pytest.mark.parametrize("classes", [[0, 1], ["no", "yes"]])
def test_a_new_row_gets_the_mean_of_the_rows_nearest_to_it(classes: list[object]) -> None:
    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([classes[0], None, None, classes[1]], dtype=object)
    model = LabelPropagation(mu1=math.inf, mu3=0, k=2, **EXACT).fit(x, y, graph=PATH)  # 1, 2/3, 1/3, 0 of the first
    np.testing.assert_allclose(model.predict_proba([[-1.0], [1.6]]), [[5 / 6, 1 / 6], [1 / 2, 1 / 2]], atol=1e-5)
    assert model.predict([[-1.0], [9.0]]).tolist() == classes


def test_every_step_is_told() -> None:
    seen: list[tuple[int, float]] = []
    model = LabelPropagation(solver="jacobi").fit(None, ENDS, graph=PATH, on_step=lambda *step: seen.append(step))
    assert seen[-1] == (model.n_iter_, model.residual_)
    assert [step for step, _ in seen] == list(range(1, model.n_iter_ + 1))
    assert model.residual_ <= model.tolerance


def test_random_graphs_with_nodes_alone_keep_rows_adding_up_to_one() -> None:
    graph = random_graph(N, 40, seed=0)
    y = np.full(N, -1)
    y[:3] = [0, 1, 2]  # node 0 is labelled and has no edge
    with pytest.warns(UserWarning, match="in components without a label"):
        model = LabelPropagation(mu1=math.inf, **EXACT).fit(None, y, graph=graph)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, atol=1e-6)
    assert model.label_distributions_[0].tolist() == [1, 0, 0]
    assert model.reached_[:3].all()


# Weights at the ends of float32


@pytest.mark.parametrize("size", [1e-44, 1e-38, 1e-31, 1e31, 1e38, 3e38])
@pytest.mark.parametrize("solver", ["conjugate_gradient", "jacobi"])
def test_clamped_labels_spread_alike_whatever_the_size_of_the_weights(size: float, solver: str) -> None:
    plain = LabelPropagation(mu1=math.inf, mu3=0, solver=solver, **EXACT).fit(None, ENDS, graph=PATH)
    scaled = Graph(4, PATH.edges, PATH.weight * size)
    found = LabelPropagation(mu1=math.inf, mu3=0, solver=solver, **EXACT).fit(None, ENDS, graph=scaled)
    assert found.label_distributions_.dtype == np.float32
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-4)


@pytest.mark.parametrize("size", [1e-44, 3e38])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("keep", [None, 2])
def test_extreme_weights_give_distributions(size: float, directed: bool, keep: int | None) -> None:
    graph = ring_and_chords(0, directed)
    extreme = Graph(N, graph.edges, torch.full((graph.num_edges,), size), directed)
    y = seeds("classes").argmax(axis=1)
    y[(seeds("classes") < 0).all(axis=1)] = -1
    model = LabelPropagation(keep=keep, tolerance=0.01).fit(None, y, graph=extreme)
    shares = model.distributions()
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-4)


def test_edges_count_by_their_weights_where_some_are_tiny_and_some_huge() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2]], [1e-40, 3e38])
    model = LabelPropagation(mu1=math.inf, mu3=0, **EXACT).fit(None, [0, -1, 1], graph=graph)
    assert model.transduction_.tolist() == [0, 1, 1]
    np.testing.assert_allclose(model.label_distributions_[1], [0, 1], atol=1e-6)


@pytest.mark.parametrize("size", [1e-44, 3e38])
def test_a_walk_over_extreme_weights_is_a_walk(size: float) -> None:
    shares = walk_shares(Graph(4, PATH.edges, PATH.weight * size))
    z = shares @ torch.eye(4)
    torch.testing.assert_close(z.sum(dim=1), torch.ones(4))
    expected = torch.eye(4)[1] if size < 1 else torch.tensor([0.5, 0.0, 0.5, 0.0])
    torch.testing.assert_close(z[1], expected)
