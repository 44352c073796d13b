"""Graphs: made from anything, cut, joined, saved and opened."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.utils import _safe_indexing
from torch import Tensor

from ngm import Graph
from tests.graphs import PATH, random_graph, weights

# Made from edges


def test_edges_come_out_sorted_once_and_without_self_loops() -> None:
    graph = Graph.from_edges([[2, 1], [1, 0], [0, 1], [2, 2], [0, 2], [1, 1]])
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.weight.tolist() == [1.0, 1.0, 1.0]
    assert (graph.num_nodes, graph.num_edges, graph.directed) == (3, 3, False)
    assert (graph.self_loops, graph.duplicates) == (2, 1)


def test_directed_edges_keep_both_directions_apart() -> None:
    graph = Graph.from_edges([[1, 0], [0, 1], [1, 0], [1, 1]], [1.0, 2.0, 4.0, 9.0], directed=True)
    assert weights(graph) == {(0, 1): 2.0, (1, 0): 4.0}
    assert (graph.self_loops, graph.duplicates) == (1, 1)


@pytest.mark.parametrize(("merge", "expected"), [("max", 4.0), ("sum", 7.0), ("mean", 7 / 3)])
def test_repeated_edges_are_merged_as_asked(merge: str, expected: float) -> None:
    graph = Graph.from_edges([[0, 1], [1, 0], [2, 3], [0, 1]], [1.0, 4.0, 5.0, 2.0], merge=merge)
    assert weights(graph) == {(0, 1): pytest.approx(expected), (2, 3): 5.0}


@pytest.mark.parametrize("merge", ["max", "sum", "mean"])
@pytest.mark.parametrize("directed", [False, True])
def test_merging_agrees_with_a_plain_loop(merge: str, directed: bool) -> None:
    rng = np.random.default_rng(1)
    edges, weight = rng.integers(0, 8, (100, 2)), rng.random(100).astype(np.float32)
    groups: dict[tuple[int, int], list[float]] = {}
    for (u, v), w in zip(edges.tolist(), weight.tolist(), strict=True):
        if u != v:
            groups.setdefault((u, v) if directed else (min(u, v), max(u, v)), []).append(w)
    combine: Callable[[list[float]], float] = {"max": max, "sum": sum, "mean": lambda ws: sum(ws) / len(ws)}[merge]
    graph = Graph.from_edges(edges, weight, directed=directed, merge=merge)
    assert weights(graph) == pytest.approx({pair: combine(ws) for pair, ws in groups.items()})
    assert graph.self_loops == int((edges[:, 0] == edges[:, 1]).sum())
    assert graph.duplicates == 100 - graph.self_loops - len(groups)


def test_an_edge_of_weight_zero_is_an_edge() -> None:
    assert weights(Graph.from_edges([[0, 1], [1, 0]], [0.0, 0.0])) == {(0, 1): 0.0}


def test_nodes_without_edges_count_where_their_number_is_given() -> None:
    assert Graph.from_edges([[0, 1]]).num_nodes == 2
    graph = Graph.from_edges([[0, 1]], num_nodes=5)
    assert (graph.num_nodes, len(graph), graph.shape) == (5, 5, (5, 5))


def test_the_order_and_direction_of_the_edges_change_nothing() -> None:
    rng = np.random.default_rng(2)
    edges, weight = rng.integers(0, 20, (60, 2)), rng.random(60)
    order = rng.permutation(60)
    one, other = Graph.from_edges(edges, weight), Graph.from_edges(edges[order][:, ::-1], weight[order])
    assert torch.equal(one.edges, other.edges)
    assert torch.equal(one.weight, other.weight)


@pytest.mark.parametrize(
    "edges",
    [
        [[0, 1], [2, 1]],
        ((0, 1), (2, 1)),
        np.array([[0, 1], [2, 1]], dtype=np.int32),
        np.array([[0.0, 1.0], [2.0, 1.0]]),
        np.array([[2, 1], [0, 1]])[::-1],
        np.frombuffer(np.array([0, 1, 2, 1]).tobytes(), dtype=np.int64).reshape(2, 2),  # read-only, as memory maps are
        pd.DataFrame({"u": [0, 2], "v": [1, 1]}),
        torch.tensor([[0, 2], [1, 1]]).t(),
        torch.tensor([[0, 1], [2, 1]], dtype=torch.int16),
    ],
    ids=["lists", "tuples", "int32", "float", "reversed", "read-only", "pandas", "transposed", "torch-int16"],
)
def test_edges_are_taken_in_any_form(edges: object) -> None:
    graph = Graph.from_edges(edges, pd.Series([3, 4]))
    assert graph.edges.dtype == torch.int64
    assert graph.weight.dtype == torch.float32
    assert set(weights(graph)) == {(0, 1), (1, 2)}


def test_it_describes_itself_in_one_line() -> None:
    assert repr(PATH) == "Graph(4 nodes, 3 undirected edges)"
    assert repr(Graph.from_edges([[0, 1]], num_nodes=1234, directed=True)) == "Graph(1,234 nodes, 1 directed edges)"


# Errors name the edge


@pytest.mark.parametrize(
    ("edges", "weight", "num_nodes", "message"),
    [
        (
            [[0, 1], [1, 3]],
            None,
            3,
            "edge 1 is [1, 3]; node ids run from 0 to 2, so drop the edge or raise num_nodes",
        ),
        (
            [[0, 1], [2, 0], [-1, 0]],
            None,
            None,
            "edge 2 is [-1, 0]; node ids run from 0 to 2, so drop the edge or raise num_nodes",
        ),
        ([[0, 1], [1.5, 2]], None, None, "edge 1 is [1.5, 2.0]; node ids must be whole numbers"),
        ([[0, float("nan")]], None, None, "edge 0 is [0.0, nan]; node ids must be whole numbers"),
        (
            [[0, 1], [1, 2]],
            [1.0, -0.5],
            None,
            "edge 1 ([1, 2]) has weight -0.5; weights must be finite and at least 0",
        ),
        (
            [[0, 1], [1, 2]],
            [float("nan"), 1.0],
            None,
            "edge 0 ([0, 1]) has weight nan; weights must be finite and at least 0",
        ),
        ([[0, 1]], [float("inf")], None, "edge 0 ([0, 1]) has weight inf; weights must be finite and at least 0"),
        ([[0, 1], [1, 2]], [1.0], None, "weight has 1 entries, edges has 2; give one weight per edge"),
        ([], [1.0], None, "weight has 1 entries, edges has 0; give one weight per edge"),
        ([0, 1], None, None, "edges has shape (2,); give (m, 2), one row of two node ids per edge"),
        ([[0, 1, 2]], None, None, "edges has shape (1, 3); give (m, 2), one row of two node ids per edge"),
        ([], None, -1, "num_nodes is -1; it must be a whole number of at least 0"),
    ],
)
def test_wrong_edges_are_refused_by_name(
    edges: object, weight: list[float] | None, num_nodes: int | None, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Graph.from_edges(edges, weight, num_nodes)


def test_an_unknown_way_to_merge_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^merge is 'min'; choose 'max', 'sum' or 'mean'$"):
        Graph.from_edges([[0, 1]], merge="min")


@pytest.mark.parametrize(
    ("edges", "weight", "message"),
    [
        (torch.tensor([[0, 1]], dtype=torch.int32), torch.ones(1), r"edges has shape \(1, 2\) and type torch.int32"),
        (torch.tensor([0, 1]), torch.ones(2), r"edges has shape \(2,\) and type torch.int64; give \(m, 2\) int64"),
        (
            torch.tensor([[0, 1]]),
            torch.ones(1).double(),
            r"weight has shape \(1,\) and type torch.float64; give \(m,\)",
        ),
        (torch.tensor([[0, 1]]), torch.ones(1, 1), r"weight has shape \(1, 1\) and type torch.float32; give \(m,\)"),
        (torch.tensor([[0, 1]]), torch.ones(2), "weight has 2 entries, edges has 1; give one weight per edge"),
        (torch.tensor([[0, 2]]), torch.ones(1), r"edge 0 is \[0, 2\]; node ids run from 0 to 1"),
        (torch.tensor([[0, 1], [1, 1]]), torch.ones(2), r"edge 1 is \[1, 1\], a self loop; Graph.from_edges drops"),
    ],
)
def test_the_bare_constructor_refuses_what_is_not_tidy(edges: Tensor, weight: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Graph(2, edges, weight)


def test_a_graph_is_frozen() -> None:
    with pytest.raises(AttributeError, match="cannot assign to field 'num_nodes'"):
        PATH.num_nodes = 7  # type: ignore[misc]


# Read off, against plain loops


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_degree_neighbors_and_csr_agree_with_a_plain_loop(seed: int, directed: bool) -> None:
    graph = random_graph(seed, directed)
    degree = [0] * graph.num_nodes
    joined: list[list[tuple[int, int]]] = [[] for _ in degree]  # (neighbor, edge)
    for edge, (u, v) in enumerate(graph.edges.tolist()):
        degree[u] += 1
        degree[v] += 1
        joined[u].append((v, edge))
        if not directed:
            joined[v].append((u, edge))
    assert graph.degree.tolist() == degree
    assert 0 in degree  # nodes alone are among those tested
    offsets, neighbors, edges = graph.csr
    for node, expected in enumerate(joined):
        at = slice(int(offsets[node]), int(offsets[node + 1]))
        assert list(zip(neighbors[at].tolist(), edges[at].tolist(), strict=True)) == sorted(expected)
        assert graph.neighbors(node).tolist() == sorted(v for v, _ in expected)
    assert len(offsets) == graph.num_nodes + 1
    assert {t.dtype for t in (graph.degree, offsets, neighbors, edges)} == {torch.int64}


@pytest.mark.parametrize("node", [-1, 4])
def test_neighbors_of_a_node_that_is_not_there_are_an_error(node: int) -> None:
    with pytest.raises(ValueError, match=f"^node {node} is not in the graph; ids run from 0 to 3$"):
        PATH.neighbors(node)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_components_agree_with_networkx(seed: int, directed: bool) -> None:
    graph = random_graph(seed, directed, num_edges=20)
    count, label = graph.components()
    expected = {frozenset(c) for c in nx.connected_components(graph.to_networkx().to_undirected())}
    found = {frozenset((label == c).nonzero()[:, 0].tolist()) for c in range(count)}
    assert found == expected
    assert 1 < count < graph.num_nodes


def test_an_edge_of_weight_zero_joins_components() -> None:
    assert Graph.from_edges([[0, 1]], [0.0], num_nodes=3).components()[0] == 2


@pytest.mark.parametrize("num_nodes", [0, 3])
def test_a_graph_without_edges_answers_everything(num_nodes: int, tmp_path: Path) -> None:
    graph = Graph.from_edges([], num_nodes=num_nodes)
    assert graph.edges.shape == (0, 2)
    assert graph.degree.tolist() == [0] * num_nodes
    assert [t.tolist() for t in graph.csr] == [[0] * (num_nodes + 1), [], []]
    assert graph.components()[0] == num_nodes
    assert graph.to_scipy().shape == (num_nodes, num_nodes)
    assert graph.to_networkx().number_of_nodes() == num_nodes
    assert graph.subgraph([]).num_nodes == 0
    assert weights(graph.merge(graph)) == {}
    opened = Graph.open(graph.save(tmp_path / "graph"))
    assert (opened.num_nodes, opened.edges.shape, opened.weight.shape) == (num_nodes, (0, 2), (0,))


# Cut and joined


def test_a_subgraph_is_renumbered_in_the_order_given() -> None:
    assert weights(PATH.subgraph([3, 1, 2])) == {(0, 2): 3.0, (1, 2): 2.0}
    directed = Graph.from_edges([[0, 1], [1, 2]], [1.0, 2.0], directed=True).subgraph([2, 1])
    assert weights(directed) == {(1, 0): 2.0}
    assert directed.directed


@pytest.mark.parametrize("directed", [False, True])
def test_a_subgraph_is_that_part_of_the_matrix(directed: bool) -> None:
    graph = random_graph(6, directed)
    nodes = np.random.default_rng(0).permutation(graph.num_nodes)[:15]
    expected = graph.to_scipy().toarray()[np.ix_(nodes, nodes)]
    np.testing.assert_array_equal(graph.subgraph(nodes).to_scipy().toarray(), expected)
    assert expected.any()


MASK = [True, True, False, True]


@pytest.mark.parametrize(
    "nodes",
    [[0, 1, 3], (0, 1, 3), np.array([0, 1, 3]), torch.tensor([0, 1, 3]), MASK, np.array(MASK), torch.tensor(MASK)],
    ids=["list", "tuple", "numpy", "torch", "mask-list", "mask-numpy", "mask-torch"],
)
def test_ids_and_masks_name_the_same_nodes(nodes: list[int]) -> None:
    assert weights(PATH.subgraph(nodes)) == {(0, 1): 1.0}
    assert weights(PATH.without(torch.tensor(MASK).logical_not())) == {(0, 1): 1.0}
    assert weights(PATH.without(nodes)) == {}


def test_without_keeps_the_numbering_and_drops_every_edge_at_the_nodes() -> None:
    graph = PATH.without([0])
    assert weights(graph) == {(1, 2): 2.0, (2, 3): 3.0}
    assert graph.num_nodes == 4
    assert Graph.from_edges([[1, 0]], directed=True).without([]).directed


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([0, 4], "node 4 is not in the graph; ids run from 0 to 3"),
        ([-1], "node -1 is not in the graph; ids run from 0 to 3"),
        ([True, False], r"mask has shape \(2,\); the graph has 4 nodes"),
        ([0.5, 1.0], r"nodes has shape \(2,\) and type torch.float64; give \(b,\) node ids or a mask"),
        ([[0, 1], [1, 2]], r"nodes has shape \(2, 2\) and type torch.int64; give \(b,\) node ids or a mask"),
    ],
)
def test_nodes_that_are_not_in_the_graph_are_refused(nodes: list[int], message: str) -> None:
    for cut in (PATH.subgraph, PATH.without):
        with pytest.raises(ValueError, match=f"^{message}$"):
            cut(nodes)


def test_a_subgraph_names_each_node_once() -> None:
    with pytest.raises(ValueError, match=r"^subgraph names a node twice; give distinct node ids$"):
        PATH.subgraph([1, 2, 1])


@pytest.mark.parametrize(("how", "expected"), [("max", 5.0), ("sum", 7.0), ("mean", 3.5)])
def test_merging_two_graphs_merges_the_edges_in_both(how: str, expected: float) -> None:
    other = Graph.from_edges([[2, 1], [0, 3]], [5.0, 4.0])
    assert weights(PATH.merge(other, how)) == {(0, 1): 1.0, (0, 3): 4.0, (1, 2): expected, (2, 3): 3.0}


def test_graphs_of_different_kinds_do_not_merge() -> None:
    other = Graph.from_edges([[0, 1]], num_nodes=4, directed=True)
    message = (
        r"^cannot merge Graph\(4 nodes, 3 undirected edges\) with Graph\(4 nodes, 1 directed edges\); "
        "both need the same nodes and the same kind of edge$"
    )
    with pytest.raises(ValueError, match=message):
        PATH.merge(other)
    with pytest.raises(ValueError, match=r"^cannot merge .* with Graph\(2 nodes"):
        PATH.merge(Graph.from_edges([[0, 1]]))


@pytest.mark.parametrize("rows", [[3, 2, 0], np.array([3, 2, 0]), np.array([True, False, True, True])])
def test_scikit_learn_cuts_a_graph_as_it_cuts_rows(rows: list[int]) -> None:
    expected = weights(PATH.subgraph(rows))
    assert expected
    assert weights(_safe_indexing(PATH, rows)) == expected
    assert weights(PATH[rows, ...]) == expected
    assert weights(PATH[rows]) == expected
