"""Clusters of nodes as inputs."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.metrics import adjusted_rand_score

from ngm import Graph
from ngm.inputs import clusters
from tests.conftest import random_graph


def planted(per_group: int, groups: int, seed: int = 0) -> tuple[Graph, np.ndarray]:
    """Groups joined within at .3 and between at .01; three more nodes have no edge."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(groups), per_group)
    n = len(truth)
    chance = np.where(truth[:, None] == truth, 0.3, 0.01)
    edges = np.argwhere(np.triu(rng.random((n, n)) < chance, 1))
    return Graph.from_edges(edges, num_nodes=n + 3), truth


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_groups_are_found(seed: int) -> None:
    graph, truth = planted(40, 4, seed)
    found = clusters(graph, 4, seed=seed)
    assert found.shape == (163, 4)
    assert found.dtype == np.float32
    assert (np.diff(found.indptr) == 1).all()
    assert (found.data == 1).all()
    assert adjusted_rand_score(truth, found.indices[:160]) > 0.97


def test_above_a_size_portions_do_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["ngm.inputs.clusters"]  # the name itself is that of the function
    monkeypatch.setattr(module, "_LARGE", 100)
    graph, truth = planted(40, 4)
    assert adjusted_rand_score(truth, clusters(graph, 4).indices[:160]) > 0.97


def test_small_components_and_lone_nodes_take_no_vector_of_their_own() -> None:
    graph, truth = planted(40, 3)
    dust = [[123 + 2 * i, 124 + 2 * i] for i in range(20)]  # twenty pairs on their own
    dusty = Graph.from_edges([*graph.edges.tolist(), *dust], num_nodes=163)
    assert adjusted_rand_score(truth, clusters(dusty, 3).indices[:120]) > 0.9


def test_a_node_is_most_similar_to_its_own_cluster() -> None:
    graph, _ = planted(40, 4)
    near = clusters(graph, 4, kind="similarity")
    hard = clusters(graph, 4)
    assert near.dtype == np.float32
    assert near.shape == (163, 4)
    assert np.abs(near).max() <= 1 + 1e-5
    assert (near[:160].argmax(axis=1) == hard.indices[:160]).mean() > 0.99


def test_vectors_that_are_given_are_clustered_by_direction() -> None:
    graph = random_graph(6, 10, seed=0)
    vectors = [[1, 0.1], [9, 0], [2, 0], [0, 1], [0.1, 5], [0, 3]]
    found = clusters(graph, 2, vectors=vectors).toarray()
    assert (found[:3] == found[0]).all()
    assert (found[3:] == 1 - found[0]).all()
    near = clusters(graph, 2, kind="similarity", vectors=vectors)
    np.testing.assert_allclose(near.max(axis=1), 1, atol=0.02)


def test_same_seed_same_clusters_and_edge_order_does_not_matter() -> None:
    graph, _ = planted(20, 3)
    order = torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(0))
    turned = Graph(graph.num_nodes, graph.edges[order].flip(1), graph.weight[order])
    np.testing.assert_array_equal(clusters(graph, 3, "similarity"), clusters(turned, 3, "similarity"))


def test_as_many_clusters_as_nodes_and_graphs_without_edges_work() -> None:
    each = clusters(Graph.from_edges([[0, 1], [1, 2]]), 3)
    assert (each.sum(axis=0).tolist(), each.sum(axis=1).tolist()) == ([1, 1, 1], [1, 1, 1])
    assert clusters(Graph.from_edges([[0, 1]], num_nodes=4).without([0]), 1).toarray().tolist() == [[1.0]] * 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 6}, "k is 6 and the graph has 5 nodes; give at least 1 cluster and at most one per node"),
        ({"k": 0}, "k is 0 and the graph has 5 nodes"),
        ({"k": 2, "kind": "soft"}, "kind is 'soft'; choose 'one_hot' or 'similarity'"),
        ({"k": 2, "vectors": np.ones((4, 3))}, "vectors has 4 rows and the graph 5 nodes; give a row per node"),
        ({"k": 2, "vectors": sp.eye_array(5)}, "vectors is sparse; give dense node vectors"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clusters(Graph.from_edges([[0, 1]], num_nodes=5), **settings)  # type: ignore[arg-type]
