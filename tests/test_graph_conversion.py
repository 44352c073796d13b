"""Graphs from and to scipy, networkx and PyTorch Geometric."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from ngm import Graph
from ngm.graph import RenumberedNodesWarning
from tests.graphs import random_graph, weights

# From and to other libraries


def test_an_asymmetric_matrix_gives_the_larger_of_both_entries() -> None:
    matrix = sp.csr_array(np.array([[5.0, 2.0, 0.0], [3.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    graph = Graph.from_scipy(matrix)
    assert weights(graph) == {(0, 1): 3.0, (0, 2): 1.0}
    assert graph.self_loops == 1
    assert weights(Graph.from_scipy(matrix, merge="sum")) == {(0, 1): 5.0, (0, 2): 1.0}
    assert weights(Graph.from_scipy(matrix, directed=True)) == {(0, 1): 2.0, (1, 0): 3.0, (2, 0): 1.0}


def test_explicit_zeros_of_a_matrix_are_not_edges() -> None:
    matrix = sp.coo_array(([0.0, 2.0], ([0, 1], [1, 2])), shape=(4, 4))
    graph = Graph.from_scipy(matrix)
    assert weights(graph) == {(1, 2): 2.0}
    assert graph.num_nodes == 4


def test_an_entry_stored_in_parts_is_their_sum() -> None:
    matrix = sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert weights(Graph.from_scipy(matrix)) == {(0, 1): 3.0, (1, 2): 4.0}
    assert matrix.nnz == 3  # the caller's matrix is left as it was


def test_a_matrix_must_be_square() -> None:
    message = r"^adjacency has shape \(2, 3\); it must be square, a row and a column per node$"
    with pytest.raises(ValueError, match=message):
        Graph.from_scipy(sp.csr_array(np.ones((2, 3))))


@pytest.mark.parametrize("directed", [False, True])
def test_a_matrix_survives_the_round_trip(directed: bool) -> None:
    graph = random_graph(3, directed)
    matrix = graph.to_scipy().toarray()
    for u in range(graph.num_nodes):
        for v in range(graph.num_nodes):
            expected = weights(graph).get((u, v), 0.0) or (0.0 if directed else weights(graph).get((v, u), 0.0))
            assert matrix[u, v] == expected
    assert weights(Graph.from_scipy(sp.csr_array(matrix), directed)) == weights(graph)


def test_networkx_nodes_of_any_name_become_their_positions() -> None:
    source = nx.Graph()
    source.add_nodes_from(["alone", "c", "a", "b"])
    source.add_edge("a", "b", weight=2.0, closeness=7.0)
    source.add_edge("b", "c")
    graph = Graph.from_networkx(source)
    assert weights(graph) == {(2, 3): 2.0, (1, 3): 1.0}
    assert graph.num_nodes == 4
    assert weights(Graph.from_networkx(source, weight="closeness")) == {(2, 3): 7.0, (1, 3): 1.0}


def test_networkx_nodes_from_0_to_n_are_their_own_ids_in_whatever_order_they_were_added() -> None:
    source = nx.Graph()
    source.add_weighted_edges_from([(np.int64(3), 1, 2.0), (0, 2, 1.0), (2, 3, 4.0)])
    assert list(source.nodes) == [3, 1, 0, 2]
    assert weights(Graph.from_networkx(source)) == {(1, 3): 2.0, (0, 2): 1.0, (2, 3): 4.0}
    digraph = nx.DiGraph([(2, 0), (1, 2)])
    assert list(weights(Graph.from_networkx(digraph))) == [(1, 2), (2, 0)]


def test_other_integers_in_networkx_are_numbered_with_a_warning() -> None:
    source = nx.Graph([(30, 10), (10, 20)])
    text = r"^the nodes are 3 integers, but not 0 to 2: ids are positions in graph.nodes \(node 30 is id 0\)"
    with pytest.warns(RenumberedNodesWarning, match=text):
        graph = Graph.from_networkx(source)
    assert list(weights(graph)) == [(0, 1), (1, 2)]


def test_a_list_of_nodes_says_which_networkx_node_is_which_row() -> None:
    source = nx.Graph([(30, 10), (10, 20)])
    assert list(weights(Graph.from_networkx(source, nodelist=[10, 20, 30]))) == [(0, 1), (0, 2)]
    assert list(weights(Graph.from_networkx(source, nodelist=list(source.nodes)))) == [(0, 1), (1, 2)]
    assert list(weights(Graph.from_networkx(nx.Graph([(0, 1), (1, 2)]), nodelist=[1, 0, 2]))) == [(0, 1), (0, 2)]


@pytest.mark.parametrize(
    ("nodelist", "text"),
    [
        ([30, 10, 40], "nodelist has 40, which is not a node of the graph; give its nodes, each once"),
        ([30, 10], "nodelist has 2 entries, 2 different, for 3 nodes; give each of them once"),
        ([30, 10, 10], "nodelist has 3 entries, 2 different, for 3 nodes; give each of them once"),
    ],
)
def test_a_list_that_is_not_that_of_the_nodes_is_refused(nodelist: list[int], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text}$"):
        Graph.from_networkx(nx.Graph([(30, 10), (10, 20)]), nodelist=nodelist)


def test_a_networkx_digraph_keeps_its_directions() -> None:
    graph = Graph.from_networkx(nx.DiGraph([("u", "v"), ("v", "u"), ("v", "w")]))
    assert graph.directed
    assert list(weights(graph)) == [(0, 1), (1, 0), (1, 2)]


def test_parallel_edges_of_a_multigraph_keep_the_largest_weight() -> None:
    source = nx.MultiGraph()
    source.add_weighted_edges_from([(0, 1, 1.0), (0, 1, 3.0), (1, 0, 2.0)])
    graph = Graph.from_networkx(source)
    assert weights(graph) == {(0, 1): 3.0}
    assert graph.duplicates == 2


@pytest.mark.parametrize("directed", [False, True])
def test_networkx_survives_the_round_trip(directed: bool) -> None:
    graph = random_graph(4, directed)
    other = graph.to_networkx()
    assert other.is_directed() == directed
    assert list(other.nodes) == list(range(graph.num_nodes))
    assert weights(Graph.from_networkx(other)) == weights(graph)


def test_an_empty_networkx_graph_is_an_empty_graph() -> None:
    graph = Graph.from_networkx(nx.empty_graph(3))
    assert (graph.num_nodes, graph.num_edges) == (3, 0)


@dataclass
class StandInData:
    """Has what `from_pyg` reads of `torch_geometric.data.Data`, which the tests do not install."""

    edge_index: Tensor
    num_nodes: int
    one_way: bool
    edge_weight: Tensor | None = None

    def is_directed(self) -> bool:
        return self.one_way


def test_a_pyg_graph_listed_from_both_ends_becomes_undirected() -> None:
    data = StandInData(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 4, one_way=False)
    graph = Graph.from_pyg(data)  # type: ignore[arg-type]
    assert weights(graph) == {(0, 1): 1.0, (1, 2): 1.0}
    assert (graph.num_nodes, graph.directed) == (4, False)


def test_a_directed_pyg_graph_stays_directed_unless_told_otherwise() -> None:
    data = StandInData(torch.tensor([[2, 0, 1], [0, 2, 0]]), 3, one_way=True, edge_weight=torch.tensor([0.5, 0.7, 2.0]))
    assert weights(Graph.from_pyg(data)) == pytest.approx(  # type: ignore[arg-type]
        {(0, 2): 0.7, (1, 0): 2.0, (2, 0): 0.5}
    )
    assert weights(Graph.from_pyg(data, directed=False)) == pytest.approx(  # type: ignore[arg-type]
        {(0, 1): 2.0, (0, 2): 0.7}
    )
