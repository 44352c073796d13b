"""What an `EdgeLoader` keeps in memory, and how it draws batches of graphs that are larger than that."""

from __future__ import annotations

import tracemalloc
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest
import torch

from ngm import EdgeKind, EdgeLoader, Graph, sampling
from ngm.edge_batch import ALL_KINDS
from ngm.sampled_edges import SampledEdges
from tests.conftest import random_graph
from tests.edge_sources import communities


def held(value: object, seen: set[int]) -> int:
    """Bytes of the arrays that an object holds on to, directly or through others; memory that is shared counts once."""
    if isinstance(value, torch.Tensor):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        while isinstance(value.base, np.ndarray):
            value = value.base
        start = value.__array_interface__["data"][0]
        new = start not in seen
        seen.add(start)
        return value.nbytes * new
    if id(value) in seen or isinstance(value, str | bytes | type):
        return 0
    seen.add(id(value))
    if isinstance(value, dict):
        return sum(held(v, seen) for v in value.values())
    if isinstance(value, list | tuple | set):
        return sum(held(v, seen) for v in value)
    own = getattr(value, "__self__", None)
    return held(own, seen) if own is not None else held(getattr(value, "__dict__", {}), seen)


@pytest.mark.parametrize(("kinds", "graphs", "bytes_per_edge"), [(None, 1, 24), ([EdgeKind.UU], 1, 28), (None, 2, 24)])
def test_a_large_graph_costs_at_most_28_bytes_an_edge_with_its_own_20(
    kinds: list[EdgeKind] | None, graphs: int, bytes_per_edge: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "KEPT_UP_TO", 1000)
    given = [random_graph(2000, 60_000, seed) for seed in range(graphs)]
    y = torch.full((2000,), -1)
    y[:20] = 1
    loader = EdgeLoader(torch.zeros(2000, 1), y, given, batch_size=512, kinds=kinds)
    for _ in range(6):  # whichever of the orders an epoch would take
        next(iter(loader))
    per_node = 2000 * 40
    assert held(loader, set()) <= bytes_per_edge * sum(g.num_edges for g in given) + per_node


@pytest.mark.parametrize(("kinds", "bytes_per_edge"), [(ALL_KINDS, 0.5), ({EdgeKind.UU}, 8.5)])
def test_edges_are_counted_and_chosen_with_memory_for_few_of_them(
    kinds: Collection[EdgeKind], bytes_per_edge: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ngm.sampled_edges.CHUNK", 500)
    graph, labeled = random_graph(2000, 200_000, 0), torch.arange(2000) < 20
    SampledEdges([graph], [kinds], labeled)  # whatever is imported or kept by the first call
    tracemalloc.start()
    edges = SampledEdges([graph], [kinds], labeled)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (
        edges.num_edges > 0.9 * graph.num_edges
    )  # of those of kind UU 4 bytes are kept, and as many are there twice for a moment
    assert peak < bytes_per_edge * graph.num_edges


def test_edges_of_a_graph_are_not_copied() -> None:
    graph = random_graph(200, 2000, 0)
    loader = EdgeLoader(torch.zeros(200, 1), torch.zeros(200, dtype=torch.int64), graph)
    assert np.shares_memory(loader._edges.ends(), graph.edges.numpy())


def test_batches_that_are_kept_ready_are_those_that_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    problem_graph, x = random_graph(100, 600, 0), torch.zeros(100, 1)
    y = torch.where(torch.arange(100) < 10, 0, -1)
    ready = EdgeLoader(x, y, problem_graph, batch_size=64)
    parts = list(ready._neighborhoods(0))
    monkeypatch.setattr(sampling, "KEPT_UP_TO", 0)
    lazy = EdgeLoader(x, y, problem_graph, batch_size=64)._neighborhoods(3)  # large graphs have one order
    for one, other in zip(parts, lazy, strict=True):
        assert torch.equal(one.nodes, other.nodes)
        assert torch.equal(one.ends, other.ends)
        assert torch.equal(one.kind, other.kind)


def test_a_graph_folder_that_is_cut_out_of_core_gives_every_edge_once_and_the_same_batches_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ngm.sampled_edges.LARGE_EDGES", 100)
    monkeypatch.setattr("ngm.sampling.KEPT_UP_TO", 100)
    monkeypatch.setattr("ngm.ordering.out_of_core.PART_EDGES", 60)
    edges = communities(20, 6, seed=0)
    Graph(120, torch.from_numpy(edges), torch.arange(1.0, len(edges) + 1)).save(tmp_path / "graph")
    y = np.where(np.arange(120) % 5 == 0, 1, -1)

    def epoch(graph: Graph, seed: int) -> list[list[list[int]]]:
        loader = EdgeLoader(torch.eye(120), y, graph, batch_size=16, seed=seed, kinds={EdgeKind.LU, EdgeKind.UU})
        return [torch.cat([b.nodes[b.ends], b.weight[:, None]], dim=1).long().tolist() for b in loader]

    first = epoch(Graph.open(tmp_path / "graph"), 0)
    weight = {tuple(pair): i + 1 for i, pair in enumerate(edges.tolist()) if (y[pair] < 0).any()}
    assert sorted(edge for batch in first for edge in batch) == sorted([u, v, w] for (u, v), w in weight.items())
    assert max(map(len, first)) <= 16
    (kept,) = (tmp_path / "graph" / "batches").iterdir()
    assert epoch(Graph.open(tmp_path / "graph"), 0) == first  # read
    other = epoch(Graph.open(tmp_path / "graph"), 1)
    assert other != first
    assert sorted(sorted(batch) for batch in other) == sorted(sorted(batch) for batch in first)  # in another order
    assert epoch(Graph(120, torch.from_numpy(edges), torch.arange(1.0, len(edges) + 1)), 0) == first  # in memory
    assert list((tmp_path / "graph" / "batches").iterdir()) == [kept]


def test_memory_of_a_graph_folder_grows_with_its_nodes_and_not_with_its_edges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (
        ("sampled_edges.LARGE_EDGES", 10_000),
        ("sampled_edges.CHUNK", 4_096),
        ("sampling.KEPT_UP_TO", 10_000),
        ("ordering.out_of_core.PART_EDGES", 10_000),
        ("_edge_lists._ROWS_AT_ONCE", 4_096),
    ):
        monkeypatch.setattr(f"ngm.{name}", size)
    peak: dict[int, int] = {}
    for size in (30_000, 20_000, 120_000):  # the first one compiles
        rng = np.random.default_rng(size)
        Graph.from_edges(rng.integers(3_000, size=(size, 2)), num_nodes=3_000).save(tmp_path / str(size))
        tracemalloc.start()
        graph = Graph.open(tmp_path / str(size))
        loader = EdgeLoader(torch.zeros(3_000, 2), np.arange(3_000) % 9 - 1, graph, batch_size=128)
        for _ in zip(loader, range(20), strict=False):
            pass
        peak[size] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak[120_000] - peak[20_000] < 1.5 * 100_000  # bytes; one copy of the ends takes 16 an edge, their order 4
