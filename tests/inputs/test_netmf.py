"""NetMF vectors against a derivation with dense matrices."""

from __future__ import annotations

import sys
from inspect import signature

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

from ngm import Graph
from ngm.inputs import netmf
from tests.conftest import random_graph

module = sys.modules["ngm.inputs.netmf"]  # the name itself is that of the function


def matrix(graph: Graph, window: int, negative: float) -> np.ndarray:
    """(n, n) log(max(vol / b * mean of P^r, r = 1..T, times D^-1, 1)), power by power."""
    weight = graph.to_scipy().toarray().astype(np.float64)
    degree = weight.sum(axis=1)
    walk = weight / degree[:, None]
    mean = sum(np.linalg.matrix_power(walk, r) for r in range(1, window + 1)) / window
    return np.log(np.maximum(weight.sum() / negative * mean / degree, 1))


@pytest.mark.parametrize(("window", "negative"), [(1, 1.0), (3, 1.0), (10, 5.0)])
def test_vectors_are_the_strongest_part_of_deepwalks_matrix(window: int, negative: float) -> None:
    graph = random_graph(40, 100, seed=1).subgraph(range(1, 40))
    graph = graph.subgraph(graph.degree > 0)
    left, strength, _ = np.linalg.svd(matrix(graph, window, negative))
    expected = (left[:, :6] * strength[:6]) @ left[:, :6].T
    found = netmf(graph, 6, window, negative, rank=None)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found @ found.T, expected, atol=5e-3 * np.abs(expected).max())
    np.testing.assert_allclose((found**2).sum(axis=0), strength[:6], rtol=5e-3)


def test_the_largest_eigenpairs_alone_come_close_for_a_large_window() -> None:
    graph = random_graph(120, 500, seed=2)
    exact = netmf(graph, 8, 10, rank=None)
    found = [netmf(graph, 8, 10, rank=rank) for rank in (4, 30, 110)]
    off = [np.linalg.norm(v @ v.T - exact @ exact.T) / np.linalg.norm(exact @ exact.T) for v in found]
    assert off[0] > off[1] > off[2]
    assert off[2] < 0.1


def test_isolated_nodes_get_zeros_and_the_scale_of_the_weights_does_not_matter() -> None:
    graph = random_graph(30, 80, seed=3)
    found = netmf(graph, 4, rank=None)
    assert (np.abs(found[0]) < 1e-6).all()
    assert np.isfinite(found).all()
    louder = netmf(Graph(30, graph.edges, graph.weight * 8, False), 4, rank=None)
    np.testing.assert_allclose(found @ found.T, louder @ louder.T, atol=1e-3)


def test_same_seed_same_bits() -> None:
    graph = random_graph(60, 200, seed=4)
    np.testing.assert_array_equal(netmf(graph, 4, rank=20, seed=5), netmf(graph, 4, rank=20, seed=5))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dimensions": 6}, "dimensions is 6 and the graph has 5 nodes; give at least 1 and at most that"),
        ({"dimensions": 0}, "dimensions is 0"),
        ({"dimensions": 2, "window": 0}, "window is 0 and rank is 256; both must be at least 1"),
        ({"dimensions": 2, "rank": 0}, "window is 10 and rank is 0; both must be at least 1"),
        ({"dimensions": 2, "negative": 0.0}, "negative is 0.0; it must be above 0"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        netmf(Graph.from_edges([[0, 1]], num_nodes=5), **settings)  # type: ignore[arg-type]


def test_graphs_that_are_directed_or_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="netmf is defined on undirected graphs"):
        netmf(Graph.from_edges([[0, 1]], directed=True), 1)
    monkeypatch.setattr(module, "MAX_NODES", 4)
    with pytest.raises(ValueError, match="has 5 nodes; netmf factorizes a dense matrix and takes at most 4, so use"):
        netmf(Graph.from_edges([[0, 1]], num_nodes=5), 1)


def test_many_like_components_repeat_and_a_graph_without_edges_has_zeros() -> None:
    pairs = Graph.from_edges(np.arange(600).reshape(-1, 2))  # all eigenvalues are 1 or -1: ARPACK starts again
    if "rng" in signature(eigsh).parameters:
        np.testing.assert_array_equal(netmf(pairs, 8), netmf(pairs, 8))
    empty = Graph.from_edges(np.zeros((0, 2)), num_nodes=300)
    assert not netmf(empty, 8).any()
