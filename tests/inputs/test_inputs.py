"""Inputs made from the graph: adjacency rows, sampled neighbourhoods, inputs side by side, and those of new nodes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngm import EdgeLoader, Graph, NGMClassifier, NGMLoss, inputs
from ngm.networks import FFNNModule
from tests.conftest import random_graph


def planted(n: int, seed: int, groups: int = 3) -> tuple[Graph, np.ndarray]:
    """Groups joined within at .15 and between at .01."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(groups, size=n)
    chance = np.where(truth[:, None] == truth, 0.15, 0.01)
    edges = np.argwhere(np.triu(rng.random((n, n)) < chance, 1))
    return Graph.from_edges(edges, num_nodes=n), truth


# Adjacency rows


def test_a_row_has_1_at_its_own_index_and_at_its_neighbors_as_in_figure_2() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2]], [0.5, 4.0], num_nodes=4)
    rows = inputs.adjacency_rows(graph)
    assert rows.toarray().tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    assert rows.dtype == np.float32
    assert rows.format == "csr"
    weighted = inputs.adjacency_rows(graph, weighted=True)
    assert weighted.toarray().tolist() == [[1, 0.5, 0, 0], [0.5, 1, 4, 0], [0, 4, 1, 0], [0, 0, 0, 1]]


def test_a_directed_edge_is_in_the_row_of_its_source_and_one_of_weight_0_is_in_none() -> None:
    graph = Graph.from_edges([[0, 1], [2, 0]], [1.0, 0.0], directed=True)
    assert inputs.adjacency_rows(graph).toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]


def test_training_on_sparse_rows_equals_training_on_dense_rows_step_by_step() -> None:
    graph, truth = planted(60, seed=0)
    y = np.where(np.arange(60) < 20, truth, -1)
    rows = inputs.adjacency_rows(graph, weighted=True)
    runs = []
    for x in (rows, rows.toarray()):
        torch.manual_seed(0)
        network = FFNNModule(60, 3, hidden=(16,))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
        loss = NGMLoss(alpha_ll=0.1, alpha_lu=0.1, alpha_uu=0.1, scaling="mean")
        steps = []
        for batch in EdgeLoader(x, y, graph, batch_size=16, seed=0):
            cost = loss(network, batch).total
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
            steps.append(torch.nn.utils.parameters_to_vector(network.parameters()).detach().clone())
        runs.append(steps)
    assert len(runs[0]) == len(runs[1]) > 4
    for sparse, dense in zip(*runs, strict=True):
        torch.testing.assert_close(sparse, dense, atol=1e-5, rtol=0)
    assert (runs[0][0] - runs[0][-1]).abs().max() > 1e-3


def test_a_classifier_learns_the_same_from_sparse_and_dense_rows() -> None:
    graph, truth = planted(60, seed=1)
    y = np.where(np.arange(60) < 20, truth, -1)
    rows = inputs.adjacency_rows(graph)
    model = NGMClassifier(recipe="paper", hidden=(8,), epochs=3, seed=0)
    sparse = model.fit(rows, y, graph=graph).predict_proba(rows)
    dense = model.fit(rows.toarray(), y, graph=graph).predict_proba(rows.toarray())
    np.testing.assert_allclose(sparse, dense, atol=1e-5)


# Sampled neighbourhoods


def test_a_neighborhood_is_drawn_without_replacement_and_filled_up_with_the_node() -> None:
    graph = random_graph(40, 150, seed=1)
    found = inputs.neighborhoods(graph, size=5, seed=3)
    assert found.shape == (40, 5)
    for node, row in enumerate(found):
        neighbors = set(graph.neighbors(node).tolist())
        drawn = [v for v in row.tolist() if v != node]
        assert len(set(drawn)) == len(drawn) == min(5, len(neighbors))
        assert set(drawn) <= neighbors
    np.testing.assert_array_equal(found, inputs.neighborhoods(graph, size=5, seed=3))
    assert (found != inputs.neighborhoods(graph, size=5, seed=4)).any()


def test_one_neighbor_is_drawn_in_proportion_to_its_weight() -> None:
    star = Graph.from_edges([[0, 1], [0, 2], [0, 3], [0, 4]], [1.0, 2.0, 5.0, 0.0])
    drawn = [int(inputs.neighborhoods(star, size=1, seed=seed)[0, 0]) for seed in range(3000)]
    share = np.bincount(drawn, minlength=5) / 3000
    np.testing.assert_allclose(share, [0, 1 / 8, 2 / 8, 5 / 8, 0], atol=0.03)


def test_sampled_rows_are_adjacency_rows_where_no_node_has_more_neighbors() -> None:
    graph = random_graph(40, 80, seed=2)
    widest = int(graph.degree.max())
    full = inputs.adjacency_rows(graph).toarray()
    np.testing.assert_array_equal(inputs.sampled_rows(graph, size=widest).toarray(), full)
    few = inputs.sampled_rows(graph, size=2)
    assert np.diff(few.indptr).max() == 3
    assert (few.toarray() <= full).all()


# Side by side


def test_dense_parts_give_a_dense_table_and_a_sparse_part_makes_it_sparse() -> None:
    dense, column, sparse = np.arange(6.0).reshape(3, 2), torch.tensor([1, 2, 3]), sp.eye_array(3, format="csc")
    both = inputs.concat(dense, column)
    assert isinstance(both, np.ndarray)
    assert both.dtype == np.float32
    assert both.tolist() == [[0, 1, 1], [2, 3, 2], [4, 5, 3]]
    all_three = inputs.concat(dense, column, sparse, scale=[2, 1, 0.5])
    assert all_three.format == "csr"
    assert all_three.dtype == np.float32
    assert all_three.toarray().tolist() == [[0, 2, 1, 0.5, 0, 0], [4, 6, 2, 0, 0.5, 0], [8, 10, 3, 0, 0, 0.5]]
    assert dense.tolist() == [[0, 1], [2, 3], [4, 5]]  # as it was


@pytest.mark.parametrize(
    ("parts", "scale", "message"),
    [
        ([np.ones((3, 1)), np.ones((2, 1)), np.ones(3)], None, "parts have 3, 2, 3 rows; give a row per node in each"),
        ([np.ones((3, 1))], [1, 2], "scale has 2 factors, but there are 1 parts; give one for each"),
        ([], None, "concat needs at least one array"),
        ([np.ones(3), np.array(["a", "b", "c"])], None, r"part 1 has shape \(3,\) and type <U1; give numbers"),
        ([np.ones((3, 1, 2))], None, r"part 0 has shape \(3, 1, 2\)"),
    ],
)
def test_parts_that_do_not_fit_are_named(parts: list[object], scale: list[float] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        inputs.concat(*parts, scale=scale)  # type: ignore[arg-type]


# New nodes


def test_links_are_rows_over_the_nodes_of_the_graph() -> None:
    graph = random_graph(5, 8, seed=0)
    found = inputs.links([[2, 0], [0, 4], [2, 0], [2, 3]], graph, weight=[1, 2, 3, 4], num_new=4)
    assert found.toarray().tolist() == [[0, 0, 0, 0, 2], [0] * 5, [3, 0, 0, 4, 0], [0] * 5]
    assert inputs.links(torch.zeros(0, 2), graph).shape == (0, 5)
    assert inputs.adjacency_rows(found).toarray().tolist()[2] == [1, 0, 0, 1, 0]
    assert inputs.adjacency_rows(found, weighted=True).toarray().tolist()[2] == [3, 0, 0, 4, 0]
    assert found.toarray()[2].tolist() == [3, 0, 0, 4, 0]  # as it was


@pytest.mark.parametrize("directed", [False, True])
def test_the_links_of_a_node_of_the_graph_give_its_own_row_but_for_its_own_index(directed: bool) -> None:
    graph = random_graph(20, 50, seed=3, directed=directed)
    ends = graph.edges if directed else torch.cat([graph.edges, graph.edges.flip(1)])
    weight = graph.weight if directed else graph.weight.repeat(2)
    found = inputs.links(ends, graph, weight, num_new=20)
    for weighted in (False, True):
        own = inputs.adjacency_rows(graph, weighted).toarray() - np.eye(20)
        np.testing.assert_array_equal(inputs.adjacency_rows(found, weighted).toarray(), own)


def test_other_inputs_of_a_new_node_are_the_weighted_mean_of_its_links() -> None:
    graph = random_graph(9, 20, seed=1)
    joined = inputs.links([[0, 1], [0, 5], [2, 8]], graph, weight=[1, 3, 7])
    vectors = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    expected = np.stack([(vectors[1] + 3 * vectors[5]) / 4, np.zeros(4), vectors[8]])
    np.testing.assert_allclose(inputs.from_links(joined, vectors), expected, atol=1e-6)
    sparse = inputs.from_links(joined, sp.csr_array(np.abs(vectors)), keep=2, scale=0.5)
    full = 0.5 * np.stack([(np.abs(vectors[1]) + 3 * np.abs(vectors[5])) / 4, np.zeros(4), np.abs(vectors[8])])
    kept = np.where(full >= np.sort(full, axis=1)[:, [-2]], full, 0)
    np.testing.assert_allclose(sparse.toarray(), kept, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_model_of_adjacency_rows_predicts_nodes_that_were_never_in_the_graph(seed: int) -> None:
    whole, truth = planted(260, seed)
    known, new = np.arange(200), np.arange(200, 260)
    graph = whole.subgraph(known)
    y = np.where(np.random.default_rng(seed).random(200) < 0.3, truth[known], -1)
    edges = np.concatenate([whole.edges.numpy(), whole.edges.numpy()[:, ::-1]])
    edges = edges[(edges[:, 0] >= 200) & (edges[:, 1] < 200)] - [200, 0]
    joined = inputs.links(edges, graph, num_new=60)
    model = NGMClassifier(recipe="paper", hidden=(50,), epochs=30, batch_size=64, seed=seed)
    model.fit(inputs.adjacency_rows(graph), y, graph=graph)
    right = model.score(inputs.adjacency_rows(joined), truth[new])
    rng = np.random.default_rng(seed)
    shuffled = np.mean([model.score(inputs.adjacency_rows(joined[rng.permutation(60)]), truth[new]) for _ in range(5)])
    assert right > shuffled + 0.3  # against the links of other nodes


@pytest.mark.parametrize(
    ("edges", "settings", "message"),
    [
        ([[0, 5]], {}, r"edge 0 is \[0, 5\], where 5 is not a node of the graph; these run from 0 to 4"),
        ([[0, 1], [-1, 2]], {}, r"edge 1 is \[-1, 2\], where -1 is not a new node"),
        ([[3, 1]], {"num_new": 2}, r"where 3 is not a new node; these run from 0 to 1"),
        ([[0, 1]], {"weight": [1, 2]}, "weight has 2 entries, edges has 1; give one weight per edge"),
        ([[0, 1]], {"weight": [-1]}, "edge 0 has weight -1.0; weights must be finite and at least 0"),
        ([[0, 1, 2]], {}, r"edges has shape \(1, 3\)"),
        ([[0, 0.5]], {}, "give \\(k, 2\\) whole numbers"),
    ],
)
def test_links_that_lead_nowhere_are_named(edges: list[object], settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        inputs.links(edges, Graph.from_edges([[0, 1]], num_nodes=5), **settings)  # type: ignore[arg-type]


def test_inputs_of_another_graph_are_refused() -> None:
    joined = inputs.links([[0, 1]], Graph.from_edges([[0, 1]]))
    with pytest.raises(ValueError, match="links lead to 2 nodes and known has 3 rows; both must be of the same graph"):
        inputs.from_links(joined, np.ones((3, 2)))
    with pytest.raises(ValueError, match="keep is 2, but known is dense"):
        inputs.from_links(joined, np.ones((2, 2)), keep=2)
    with pytest.raises(ValueError, match="keep is 0; it must be at least 1"):
        inputs.from_links(joined, sp.eye_array(2), keep=0)
    with pytest.raises(ValueError, match="size is 0; it must be at least 1"):
        inputs.neighborhoods(Graph.from_edges([[0, 1]]), size=0)
