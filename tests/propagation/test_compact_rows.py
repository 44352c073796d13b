"""Compact rows of large graphs, held to scipy's matrix; graphs count as large here however small they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import ngm
from ngm import Graph, LabelPropagation
from ngm.propagation import compact_rows as module
from ngm.propagation.compact_rows import CompactRows, compact_rows
from ngm.propagation.coupling import couple
from ngm.propagation.kernel import Shares, pull
from ngm.propagation.label_propagation import UnreachedNodesWarning
from ngm.propagation.seeds import reached_by
from tests.conftest import random_graph

KINDS = [(False, "both"), (True, "both"), (True, "source"), (True, "target")]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """All graphs are large, and blocks and windows are small."""
    monkeypatch.setattr(ngm.graph, "LARGE_EDGES", -1)
    for name, size in (("WINDOW", 37), ("BLOCK_ENTRIES", 16), ("BLOCK_ROWS", 7)):
        monkeypatch.setattr(module, name, size)
    return monkeypatch


def graph_of(directed: bool, nodes: int = 60, edges: int = 150, seed: int = 0) -> Graph:
    """A random graph with weights, some of them 0, and nodes without an edge."""
    plain = random_graph(nodes - 5, edges, seed)
    rng = np.random.default_rng(seed)
    pairs = plain.edges.numpy()
    pairs = np.where(rng.random((len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1]) if directed else pairs
    weight = np.where(rng.random(len(pairs)) < 0.1, 0, rng.random(len(pairs)) + 0.1)
    return Graph.from_edges(pairs, weight, nodes, directed)


def labels(nodes: int, classes: int = 4, seed: int = 0) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(nodes) < 0.2, rng.integers(classes, size=nodes), -1)
    y[:classes] = np.arange(classes)
    return y


def both_ways(
    model: LabelPropagation, graph: Graph, y: NDArray[np.integer], large: pytest.MonkeyPatch
) -> list[NDArray[np.floating]]:
    """(n, C) by compact rows and by the matrix; both warn of the nodes that no label reaches."""
    found = []
    for size in (-1, 1_000):
        large.setattr(ngm.graph, "LARGE_EDGES", size)
        with pytest.warns(UnreachedNodesWarning):
            found.append(model.fit(None, y, graph=graph).distributions())
    return found


@pytest.mark.parametrize(("directed", "influence"), KINDS)
def test_rows_have_the_entries_of_scipy_s_matrix(directed: bool, influence: str, large: pytest.MonkeyPatch) -> None:
    graph = graph_of(directed)
    rows = compact_rows(graph, influence)  # type: ignore[arg-type]
    dense = np.zeros((60, 60), dtype=np.float32)
    np.add.at(dense, (np.repeat(np.arange(60), np.diff(rows.start)), rows.column), rows.weight)
    expected = pull(graph, influence).toarray()  # type: ignore[arg-type]
    np.testing.assert_array_equal(dense, expected)
    np.testing.assert_allclose(rows.sums(), expected.astype(np.float64).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_product_by_blocks_is_that_of_the_matrix(dtype: torch.dtype, large: pytest.MonkeyPatch) -> None:
    graph = graph_of(False)
    rows, matrix = compact_rows(graph), pull(graph)
    assert len(rows.blocks) > 10
    z, factor = torch.rand(60, 3, dtype=dtype), torch.rand(60, dtype=torch.float64)
    whole = Shares(matrix, np.ones(60)) @ z
    torch.testing.assert_close(rows.times(z, factor), whole * factor[:, None].to(dtype))


def test_blocks_cover_all_rows_and_a_long_row_is_one_by_itself(large: pytest.MonkeyPatch) -> None:
    rows = compact_rows(Graph.from_edges([[0, i] for i in range(1, 50)], num_nodes=80))
    assert [row for first, last in rows.blocks for row in range(first, last)] == list(range(80))
    assert rows.blocks[0] == (0, 1)
    assert compact_rows(Graph.from_edges([], num_nodes=0)).blocks == []


def test_of_a_graph_folder_no_row_is_in_memory_and_no_file_is_left(tmp_path: Path, large: pytest.MonkeyPatch) -> None:
    graph = graph_of(False)
    before = sorted(graph.save(tmp_path / "graph").iterdir())
    opened = Graph.open(tmp_path / "graph")
    rows, in_memory = compact_rows(opened), compact_rows(graph)
    assert (_is_mapped(rows), _is_mapped(in_memory)) == (True, False)
    assert sorted((tmp_path / "graph").iterdir()) == before
    for name in ("start", "column", "weight"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(in_memory, name))


def _is_mapped(rows: CompactRows) -> bool:
    return all(isinstance(array.base, np.memmap) for array in (rows.column, rows.weight))


def test_rows_are_in_memory_where_the_folder_is_full(tmp_path: Path, large: pytest.MonkeyPatch) -> None:
    def refuse(file: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    graph = graph_of(False)
    graph.save(tmp_path / "graph")
    large.setattr("ngm.io.scratch.reserve", refuse)
    rows = compact_rows(Graph.open(tmp_path / "graph"))
    assert not _is_mapped(rows)
    np.testing.assert_array_equal(rows.column, compact_rows(graph).column)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("directed", "influence"), KINDS)
def test_labels_reach_the_nodes_that_they_reach_by_the_matrix(
    directed: bool, influence: str, seed: int, large: pytest.MonkeyPatch
) -> None:
    graph = graph_of(directed, edges=50, seed=seed)
    labeled = np.random.default_rng(seed).random(60) < 0.1
    expected = reached_by(labeled, pull(graph, influence))  # type: ignore[arg-type]
    assert 0 < expected.sum() < 60
    np.testing.assert_array_equal(couple(graph, influence).reached(labeled), expected)  # type: ignore[arg-type]


def test_components_of_a_large_graph_are_those_of_scipy(large: pytest.MonkeyPatch) -> None:
    graph = graph_of(True, edges=40)
    count, component = graph.components()
    large.setattr(ngm.graph, "LARGE_EDGES", 1_000)
    plain_count, plain = graph.components()
    assert (count, component.tolist()) == (plain_count, plain.tolist())
    assert count > 5


@pytest.mark.parametrize(("directed", "influence"), KINDS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"solver": "jacobi"},
        {"mu1": float("inf"), "mu3": 0.0},
        {"keep": 2},
        {"keep": 4},
        {"keep": 4, "mu1": float("inf"), "mu3": 0.0},
    ],
    ids=str,
)
def test_a_large_graph_is_labeled_as_a_small_one(
    directed: bool, influence: str, settings: dict[str, object], large: pytest.MonkeyPatch
) -> None:
    graph, y = graph_of(directed), labels(60)
    model = LabelPropagation(influence=influence, tolerance=1e-6, max_steps=5_000, **settings)  # type: ignore[arg-type]
    found, plain = both_ways(model, graph, y, large)
    np.testing.assert_allclose(found, plain, atol=2e-5)


@pytest.mark.parametrize("prior", ["nodes", "labels"])
@pytest.mark.parametrize("keep", [None, 2])
def test_priors_of_each_node_and_several_labels_do_so_too(
    prior: str, keep: int | None, large: pytest.MonkeyPatch
) -> None:
    graph, rng = graph_of(False), np.random.default_rng(0)
    y: NDArray[np.integer] = labels(60)
    shares = rng.dirichlet(np.ones(4), size=60)
    if prior == "labels":
        y = np.where(y[:, None] < 0, -1, np.eye(4, dtype=np.int64)[y] | np.eye(4, dtype=np.int64)[0])
    model = LabelPropagation(prior=shares if prior == "nodes" else None, keep=keep, tolerance=1e-6, max_steps=5_000)
    found, plain = both_ways(model, graph, y, large)
    np.testing.assert_allclose(found, plain, atol=2e-5)


@pytest.mark.parametrize("size", [1e-38, 1e-30, 1e30, 1e37])
def test_weights_of_any_size_give_the_same(size: float, large: pytest.MonkeyPatch) -> None:
    graph = random_graph(60, 300, 0)
    scaled = Graph(60, graph.edges, torch.full((graph.num_edges,), size))
    model = LabelPropagation(mu1=float("inf"), mu3=0.0, tolerance=1e-6)
    values = model.fit(None, labels(60), graph=scaled).label_distributions_
    large.setattr(ngm.graph, "LARGE_EDGES", 1_000)
    plain = Graph(60, graph.edges, torch.ones(graph.num_edges))
    np.testing.assert_allclose(values, model.fit(None, labels(60), graph=plain).label_distributions_, atol=1e-5)


def test_neither_threads_nor_repetition_change_a_bit(large: pytest.MonkeyPatch) -> None:
    graph, y = random_graph(300, 2_000, 0), labels(300)
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2, 2):
        torch.set_num_threads(threads)
        whole = LabelPropagation().fit(None, y, graph=graph).label_distributions_
        kept = LabelPropagation(keep=2).fit(None, y, graph=graph).distributions()
        results.append((whole.tobytes(), kept.tobytes()))
    torch.set_num_threads(before)
    assert results[0] == results[1] == results[2]
