"""A graph in numbers."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest

from ngm import Graph
from ngm.build.summary import DegreeRange, summarize
from tests.conftest import random_graph


def test_a_star_and_a_pair_and_a_loner_worked_by_hand() -> None:
    star = [[0, leaf] for leaf in range(1, 7)]
    graph = Graph.from_edges([*star, [7, 8]], [1, 2, 3, 4, 5, 6, 0.5], num_nodes=10)
    found = summarize(graph, recall=0.99, seconds=1.5)
    assert (found.nodes, found.edges, found.directed) == (10, 7, False)
    assert (found.isolated, found.components, found.largest) == (1, 3, 7)
    assert (found.mean_degree, found.median_degree, found.max_degree) == (1.4, 1.0, 6)
    assert found.weights == (0.5, 3.0, 6.0)
    assert [(bar.name, bar.nodes) for bar in found.degrees] == [("0", 1), ("1", 8), ("2 to 3", 0), ("4 to 7", 1)]
    assert (found.recall, found.seconds) == (0.99, 1.5)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 8, 9, 16, 17, 64, 65])
def test_a_degree_falls_between_the_ends_of_its_bar(degree: int) -> None:
    graph = Graph.from_edges([[0, leaf] for leaf in range(1, degree + 1)])
    last = summarize(graph).degrees[-1]
    assert last.low <= degree <= last.high == 2 * last.low - 1
    assert last.nodes == (2 if degree == 1 else 1)


def test_bars_follow_on_each_other_and_hold_every_node() -> None:
    bars = summarize(random_graph(300, 2000, seed=1)).degrees
    assert sum(bar.nodes for bar in bars) == 300
    assert all(a.high + 1 == b.low for a, b in itertools.pairwise(bars))


@pytest.mark.parametrize("directed", [False, True])
def test_counts_are_those_of_networkx(directed: bool) -> None:
    graph = random_graph(200, 150, seed=2, directed=directed)
    found, theirs = summarize(graph), graph.to_networkx()
    parts = list((networkx.weakly_connected_components if directed else networkx.connected_components)(theirs))
    assert (found.components, found.largest) == (len(parts), max(map(len, parts)))
    assert found.isolated == networkx.number_of_isolates(theirs)
    assert found.max_degree == max(degree for _, degree in theirs.degree)
    assert found.mean_degree == pytest.approx(np.mean([degree for _, degree in theirs.degree]))


def test_a_graph_without_edges_or_nodes_has_a_summary_too() -> None:
    bare = summarize(Graph.from_edges([], num_nodes=3))
    assert (bare.components, bare.isolated, bare.weights) == (3, 3, None)
    assert bare.degrees == (DegreeRange(0, 0, 3),)
    none = summarize(Graph.from_edges([], num_nodes=0))
    assert (none.nodes, none.components, none.largest, none.degrees) == (0, 0, 0, ())
