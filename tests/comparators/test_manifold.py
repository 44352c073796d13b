"""Laplacian RLS and SVM against the normal equations, the kernel form of the paper, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from ngm import Graph
from ngm.comparators.manifold import Kind, ManifoldRegularization, edge_differences
from tests.forty_rows import three_classes

Floats = NDArray[np.float64]
KINDS: tuple[Kind, ...] = ("rls", "svm")


def plain(kind: Kind = "rls", gamma_a: float = 0.3, gamma_i: float = 0.7) -> ManifoldRegularization:
    return ManifoldRegularization(kind, gamma_a, gamma_i, unit_rows=False)


def edge_loop(x: Floats, graph: Graph) -> Floats:
    """(d, d) mean over edges of (x_u - x_v)(x_u - x_v)'."""
    pairs = zip(graph.edges.tolist(), graph.weight.tolist(), strict=True)
    total = sum(w * np.outer(x[u] - x[v], x[u] - x[v]) for (u, v), w in pairs)
    return np.asarray(total / graph.weight.sum().item())


@pytest.mark.parametrize("width", [5, 30])  # fewer columns than labelled rows, and more
def test_rls_solves_the_normal_equations(width: int) -> None:
    x, y, graph = three_classes(width)
    model = plain().fit(x, y, graph)
    z = np.column_stack([x, np.ones(len(x))])
    known = z[y >= 0]
    penalty = 0.3 * np.diag([1.0] * width + [0.0]) + 0.7 * edge_loop(z, graph)
    for k in range(3):
        signs = np.where(y[y >= 0] == k, 1.0, -1.0)
        theta = np.linalg.solve(known.T @ known / len(known) + penalty, known.T @ signs / len(known))
        np.testing.assert_allclose(np.append(model.coef_[k], model.intercept_[k]), theta, rtol=1e-6, atol=1e-9)


def test_rls_equals_the_kernel_form_of_the_paper() -> None:
    x, y, graph = three_classes()
    n, known = len(x), (y >= 0).astype(float)
    adjacency = graph.to_scipy().toarray()
    laplacian = (np.diag(adjacency.sum(axis=1)) - adjacency) / graph.weight.sum().item()
    kernel, count = x @ x.T, known.sum()
    upper = np.diag(known) @ kernel / count + 0.3 * np.eye(n) + 0.7 * laplacian @ kernel
    system = np.block([[upper, known[:, None] / count], [known[None] @ kernel, np.array([[count]])]])
    for k in range(3):
        signs = known * np.where(y == k, 1.0, -1.0)
        solved = np.linalg.solve(system, np.append(signs / count, signs.sum()))
        scores = plain().fit(x, y, graph).decision_function(x)[:, k]
        np.testing.assert_allclose(scores, kernel @ solved[:-1] + solved[-1], rtol=1e-5, atol=1e-7)


def test_rls_without_the_graph_is_ridge_regression() -> None:
    x, y, _ = three_classes()
    model = plain(gamma_i=0).fit(x, y)
    known = y >= 0
    for k in range(3):
        peer = Ridge(alpha=0.3 * known.sum()).fit(x[known], np.where(y[known] == k, 1.0, -1.0))
        np.testing.assert_allclose(model.coef_[k], peer.coef_, rtol=1e-6)
        np.testing.assert_allclose(model.intercept_[k], peer.intercept_, rtol=1e-6)


@pytest.mark.parametrize("width", [5, 30])
def test_svm_has_no_slope_at_its_solution(width: int) -> None:
    x, y, graph = three_classes(width)
    model = plain("svm", gamma_a=0.05).fit(x, y, graph)
    known, differences = x[y >= 0], edge_loop(x, graph)
    for k in range(3):
        signs, w = np.where(y[y >= 0] == k, 1.0, -1.0), model.coef_[k]
        pull = -2 / len(known) * signs * np.maximum(0, 1 - signs * (known @ w + model.intercept_[k]))
        np.testing.assert_allclose(known.T @ pull + 2 * 0.05 * w + 2 * 0.7 * differences @ w, 0, atol=1e-5)
        np.testing.assert_allclose(pull.sum(), 0, atol=1e-5)


def test_svm_without_the_graph_is_that_of_scikit_learn() -> None:
    x, y, _ = three_classes()
    model = plain("svm", gamma_i=0).fit(x, y)
    known = y >= 0
    peer = LinearSVC(C=1 / (2 * known.sum() * 0.3), dual=False, intercept_scaling=100.0, tol=1e-10, max_iter=10_000)
    peer.fit(x[known], y[known])
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-3)


def test_edge_differences_are_a_weighted_mean_whatever_the_direction() -> None:
    x, _, graph = three_classes()
    flipped = Graph.from_edges(graph.edges.flip(1), graph.weight, len(x), directed=True)
    np.testing.assert_allclose(edge_differences(x, graph), edge_loop(x, graph), atol=1e-6)
    np.testing.assert_allclose(edge_differences(sp.csr_matrix(x), flipped), edge_loop(x, graph), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_neither_node_order_nor_the_unit_of_weights_matters(kind: Kind) -> None:
    x, y, graph = three_classes()
    order = np.random.default_rng(0).permutation(len(x))
    heavier = Graph(len(x), graph.edges, graph.weight * 8)
    there = plain(kind).fit(x[order], y[order], heavier.subgraph(order))
    np.testing.assert_allclose(there.coef_, plain(kind).fit(x, y, graph).coef_, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_heavy_edge_term_makes_neighbors_alike(kind: Kind) -> None:
    x, y, graph = three_classes(width=30)
    ends = graph.edges.numpy()[:10]  # ten edges leave 20 of 30 directions free
    few = Graph.from_edges(ends, num_nodes=len(x))
    gaps = [
        np.abs(np.diff(plain(kind, gamma_i=gamma).fit(x, y, few).decision_function(x)[ends], axis=1)).mean()
        for gamma in (0.01, 1e4)
    ]
    assert gaps[1] < gaps[0] / 1000


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows_new_rows_and_words_are_taken(kind: Kind) -> None:
    x, y, graph = three_classes()
    dense = ManifoldRegularization(kind).fit(x, y, graph)
    words = np.array(["a", "b", "c", None], dtype=object)[y]
    sparse = ManifoldRegularization(kind).fit(sp.csr_matrix(x), words, graph)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_array_equal(sparse.predict(x[::-1]), np.array(["a", "b", "c"])[dense.transduction_[::-1]])


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_classes_the_positive_side_is_the_second(kind: Kind) -> None:
    x = np.array([[-1.0], [1.0], [-3.0], [2.0]])
    model = plain(kind).fit(x, [7, 9, -1, -1], Graph.from_edges([[0, 2], [1, 3]]))
    np.testing.assert_array_equal(model.transduction_, [7, 9, 7, 9])
    assert model.decision_function(x).shape == (4,)


def test_bad_input_is_refused() -> None:
    x, y, graph = three_classes()
    with pytest.raises(ValueError, match="graph is None; ManifoldRegularization needs one over the 40 rows"):
        plain().fit(x, y)
    with pytest.raises(ValueError, match="kind is 'krr'; choose 'rls'"):
        plain("krr").fit(x, y, graph)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="gamma_a is 0; give a finite number above 0"):
        plain(gamma_a=0).fit(x, y, graph)
    with pytest.raises(ValueError, match="gamma_i is -1; give a finite number of at least 0"):
        plain(gamma_i=-1).fit(x, y, graph)
    with pytest.raises(ValueError, match=r"0 undirected edges.* has no edge with a weight above 0"):
        plain().fit(x, y, Graph.from_edges([], num_nodes=40))
