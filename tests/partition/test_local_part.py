"""A process opens its own parts, and has every row, label and edge of them under global ids."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ngm import Graph, open_partition, partition_graph
from tests.conftest import make_problem


def written(folder: Path, parts: int = 5, sparse: bool = False) -> tuple[Graph, np.ndarray, np.ndarray]:
    problem = make_problem()
    x = problem.x.numpy().astype(np.float32)
    ids = [f"node {i}" for i in range(len(x))]
    given = sp.csr_array(x) if sparse else x
    partition_graph(folder, problem.graph, given, problem.y, parts=parts, ids=ids, validation=[0, 1])
    return problem.graph, x, problem.y.numpy()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("world", [1, 2, 5])
def test_ranks_together_have_the_whole(tmp_path: Path, world: int, sparse: bool) -> None:
    graph, x, y = written(tmp_path / "parts", sparse=sparse)
    partition = open_partition(tmp_path / "parts")
    nodes, edges = [], []
    locals_ = [partition.local(rank, world) for rank in range(world)]
    for part in locals_:
        rows = part.x.toarray() if sp.issparse(part.x) else part.x
        np.testing.assert_array_equal(rows, x[part.nodes])
        np.testing.assert_array_equal(part.y, y[part.nodes])
        assert part.ids is not None
        assert part.ids.tolist() == [f"node {i}" for i in part.nodes]
        assert part.validation is not None
        assert part.nodes[part.validation].tolist() == sorted(set(part.nodes) & {0, 1}, key=part.nodes.tolist().index)
        nodes += part.nodes[: part.num_own].tolist()
        ends, weights = part.nodes[part.graph.edges.numpy()], part.graph.weight.tolist()
        edges += [(min(e), max(e), w) for e, w in zip(ends.tolist(), weights, strict=True)]
        for node, owner, place in zip(part.nodes[part.num_own :], part.owner, part.place, strict=True):
            assert locals_[owner].nodes[place] == node
    assert sorted(nodes) == list(range(40))
    assert sorted(edges) == [(*e, w) for e, w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True)]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("world", [1, 2])
def test_other_edges_of_a_rank_are_those_of_its_parts_that_no_part_here_carries(
    tmp_path: Path, world: int, directed: bool
) -> None:
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(60, size=(300, 2)), num_nodes=60, directed=directed)
    partition = partition_graph(tmp_path, graph, rng.normal(size=(60, 2)), np.arange(60) % 3, parts=4)

    def as_pairs(edges: np.ndarray) -> list[tuple[int, int]]:
        return [(u, v) if directed else (min(u, v), max(u, v)) for u, v in edges.tolist()]

    for rank in range(world):
        part = partition.local(rank, world)
        alone = [partition.local(number, 4) for number in range(rank, 4, world)]
        known = {edge for one in alone for edge in as_pairs(one.nodes[one.other_edges.numpy()])}
        carried = set(as_pairs(part.nodes[part.graph.edges.numpy()]))
        assert sorted(as_pairs(part.nodes[part.other_edges.numpy()])) == sorted(known - carried)
        assert known & carried


def test_a_rank_needs_no_part_but_its_own(tmp_path: Path) -> None:
    written(tmp_path / "parts")
    shutil.rmtree(tmp_path / "parts" / "part-0001")
    partition = open_partition(tmp_path / "parts")
    assert partition.local(0, 2).numbers == (0, 2, 4)
    with pytest.raises(FileNotFoundError, match="part-0001"):
        partition.local(1, 2)


def test_what_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"has no parts\.json; give a folder that ngm partition wrote"):
        open_partition(tmp_path)
    written(tmp_path / "parts")
    with pytest.raises(ValueError, match="has 5 parts for 6 processes; start at most as many"):
        open_partition(tmp_path / "parts").local(0, 6)
    (tmp_path / "parts" / "part-0000" / "y.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(ValueError, match=r"y\.npy cannot be read .* partition the graph again"):
        open_partition(tmp_path / "parts").local(0, 5)
    (tmp_path / "parts" / "parts.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"parts\.json is damaged"):
        open_partition(tmp_path / "parts")


def test_its_description_has_the_sizes(tmp_path: Path) -> None:
    written(tmp_path / "parts")
    assert repr(open_partition(tmp_path / "parts")).startswith("Partition(5 parts, 40 nodes, 101 edges, ")
