"""Every edge in one part, nodes and borders as a plain loop finds them."""

from __future__ import annotations

import numpy as np
import pytest

from ngm.graph import Graph
from ngm.partition.assignment import assign_nodes
from ngm.partition.part_arrays import part_arrays


def some_graph(n: int = 60, m: int = 200, seed: int = 0, directed: bool = False) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_edges(rng.integers(n, size=(m, 2)), rng.random(m), num_nodes=n, directed=directed)


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("directed", [False, True])
def test_every_edge_is_in_exactly_one_part_and_each_end_is_there(parts: int, directed: bool) -> None:
    graph = some_graph(directed=directed)
    found: list[int] = []
    for part in part_arrays(graph, assign_nodes(graph, parts)):
        global_ends = part.nodes[part.edges]
        if not directed:  # put the way round in which local ids ascend
            global_ends.sort(axis=1)
            assert (part.edges[:, 0] < part.edges[:, 1]).all()
        np.testing.assert_array_equal(global_ends, graph.edges.numpy()[part.edge_ids])
        assert part.edges.tolist() == sorted(part.edges.tolist())
        found += part.edge_ids.tolist()
    assert sorted(found) == list(range(graph.num_edges))


def test_own_nodes_border_and_other_edges_are_those_of_a_plain_loop() -> None:
    graph = some_graph()
    assignment = assign_nodes(graph, 4)
    arrays = list(part_arrays(graph, assignment))
    edges = [tuple(edge) for edge in graph.edges.tolist()]
    for p, part in enumerate(arrays):
        own = [v for v in range(60) if assignment.part[v] == p]
        carried = [edge for edge, carrier in zip(edges, assignment.carrier, strict=True) if carrier == p]
        border = sorted({v for edge in carried for v in edge} - set(own))
        assert part.nodes.tolist() == own + border
        assert part.num_own == len(own)
        for node, there, place in zip(border, part.border_part, part.border_place, strict=True):
            assert arrays[there].nodes[place] == node
            assert place < arrays[there].num_own
        here = set(own) | set(border)
        others = {edge for edge in edges if set(edge) <= here and edge not in carried}
        assert {tuple(edge) for edge in part.nodes[part.other_edges].tolist()} == others
        assert len(part.other_edges) == len(others)
    assert any(len(part.other_edges) for part in arrays)


def test_a_part_carries_an_edge_only_of_its_own_nodes() -> None:
    graph = some_graph()
    for part in part_arrays(graph, assign_nodes(graph, 3)):
        assert (part.edges < part.num_own).any(axis=1).all()
