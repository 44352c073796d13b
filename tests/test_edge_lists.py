"""Lists of edges: repeated ones refused by `Graph`, in one pass where they are sorted, and pairs of very many nodes."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from ngm import Graph, _edge_lists
from ngm._edge_lists import refuse_repeated
from ngm._pair_keys import MAX_KEYED_NODES, pair_keys, unique_pairs
from ngm.inputs import links
from ngm.ordering.blocks import edge_blocks

HUGE = 2**62  # nodes: u * n + v is far beyond int64


@pytest.mark.parametrize(
    ("edges", "directed", "text"),
    [
        ([[0, 1], [1, 2], [0, 1]], False, "edge 2 is [0, 1], and edge 0 is [0, 1], the same"),
        ([[0, 1], [0, 1]], True, "edge 1 is [0, 1], and edge 0 is [0, 1], the same"),
        ([[2, 1], [0, 1], [1, 2]], False, "edge 2 is [1, 2], and edge 0 is [2, 1], the same"),
        ([[3, 2], [1, 2], [3, 2], [2, 1], [1, 2]], True, "edge 2 is [3, 2], and edge 0 is [3, 2], the same"),
    ],
)
@pytest.mark.parametrize("num_nodes", [4, HUGE])
def test_an_edge_that_is_there_twice_is_refused(
    edges: list[list[int]], directed: bool, text: str, num_nodes: int
) -> None:
    remedy = "; give each edge once, or use Graph.from_edges, which merges them"
    with pytest.raises(ValueError, match=f"^{re.escape(text + remedy)}$"):
        Graph(num_nodes, torch.tensor(edges), torch.ones(len(edges)), directed)


def test_both_directions_are_two_edges_of_a_directed_graph() -> None:
    assert Graph(3, torch.tensor([[0, 1], [1, 0], [2, 0]]), torch.ones(3), directed=True).num_edges == 3
    assert Graph(3, torch.tensor([[1, 0], [2, 0], [2, 1]]), torch.ones(3)).num_edges == 3  # in any order


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("at_once", [1, 2, 3, 1 << 20])
def test_repeated_edges_are_found_like_by_a_plain_loop(
    directed: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_edge_lists, "_ROWS_AT_ONCE", at_once)
    rng = np.random.default_rng(at_once)
    found = 0
    for _ in range(200):
        edges = rng.integers(5, size=(int(rng.integers(1, 7)), 2))
        edges = np.sort(edges, axis=1) if rng.random() < 0.5 else edges
        edges = edges[np.lexsort(edges.T[::-1])] if rng.random() < 0.5 else edges
        edges = edges[edges[:, 0] != edges[:, 1]]
        pairs = [(u, v) if directed else (min(u, v), max(u, v)) for u, v in edges.tolist()]
        if len(set(pairs)) == len(pairs):
            refuse_repeated(torch.from_numpy(edges), 5, directed)
            continue
        found += 1
        with pytest.raises(ValueError, match="the same; give each edge once"):
            refuse_repeated(torch.from_numpy(edges), 5, directed)
    assert 20 < found < 180


def test_graphs_made_by_the_library_are_checked_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    graphs = [Graph.from_edges(rng.integers(50, size=(200, 2)), num_nodes=50, directed=d) for d in (False, True)]
    monkeypatch.setattr(_edge_lists, "distinct_pairs", None)  # would fail, were the edges sorted again
    for i, graph in enumerate(graphs):
        opened = Graph.open(graph.save(tmp_path / str(i)))
        assert torch.equal(opened.edges, graph.edges)
        assert opened.without([0, 1]).num_edges < graph.num_edges


def test_the_check_costs_less_than_a_sort_of_the_edges() -> None:
    u = torch.arange(2_000_000) // 4
    edges = torch.stack([u, u + 1 + torch.arange(2_000_000) % 4], dim=1)

    def seconds(call) -> float:
        times = []
        for _ in range(3):
            started = time.perf_counter()
            call()
            times.append(time.perf_counter() - started)
        return min(times)

    checked = seconds(lambda: refuse_repeated(edges, 600_000, False))
    assert checked < seconds(lambda: torch.unique(edges[:, 0] * 600_000 + edges[:, 1]))


# Very many nodes


def test_edges_of_very_many_nodes_are_merged_like_those_of_few() -> None:
    rng = np.random.default_rng(0)
    edges, weight = rng.integers(20, size=(300, 2)), rng.random(300)
    spread = HUGE // 20
    for directed in (False, True):
        few = Graph.from_edges(edges, weight, 20, directed)
        many = Graph.from_edges(edges * spread, weight, HUGE, directed)
        assert torch.equal(many.edges, few.edges * spread)
        assert torch.equal(many.weight, few.weight)
        assert (many.self_loops, many.duplicates) == (few.self_loops, few.duplicates)


def test_the_first_number_of_nodes_whose_pairs_overflow_takes_the_other_way() -> None:
    assert MAX_KEYED_NODES**2 <= 2**63 < (MAX_KEYED_NODES + 1) ** 2
    for num_nodes in (MAX_KEYED_NODES, MAX_KEYED_NODES + 1):
        last = np.array([num_nodes - 1, 0, num_nodes - 1])
        low, high, index = unique_pairs(last, last[::-1].copy(), num_nodes)
        assert low.tolist() == [0, num_nodes - 1]
        assert (high.tolist(), index.tolist()) == ([0, num_nodes - 1], [1, 0, 1])
    with pytest.raises(ValueError, match=r"^there are 3,037,000,500 nodes; pairs of 3,037,000,499 at most"):
        pair_keys(last, last, num_nodes)


def test_edges_of_very_many_nodes_are_cut_into_blocks_too() -> None:
    rng = np.random.default_rng(0)
    edges = np.stack([rng.integers(15, size=100), rng.integers(15, 30, size=100)], axis=1)
    blocks = edge_blocks(edges * (HUGE // 30), HUGE, seed=0, block=10)
    parts = [blocks[i] for i in range(len(blocks))]
    assert sorted(np.concatenate(parts).tolist()) == list(range(100))
    assert max(map(len, parts)) <= 10
    ends = [len(np.unique(edges[part])) for part in parts]
    shuffled = [len(np.unique(edges[part])) for part in np.split(rng.permutation(100), 10)]
    assert sum(ends) < sum(shuffled)


def test_links_to_one_of_very_many_nodes_do_not_overflow() -> None:
    graph = Graph.from_edges([[0, HUGE - 1]], num_nodes=HUGE)
    found = links([[0, 1], [2, HUGE - 1], [2, HUGE - 1], [2, 5]], graph, weight=[1.0, 2.0, 3.0, 4.0]).tocoo()
    assert list(zip(found.row.tolist(), found.col.tolist(), found.data.tolist(), strict=True)) == [
        (0, 1, 1.0),
        (2, 5, 4.0),
        (2, HUGE - 1, 3.0),
    ]
