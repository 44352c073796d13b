"""Graphs in parts that processes check in tests; figures of each rank as `figures0of2.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm import Graph, partition_graph
from ngm.diagnosis import Diagnosis, diagnose, diagnose_parts
from ngm.distributed import process_group
from ngm.io.run_folder import JSON
from tests.planted_graphs import RNG, planted, shown

N = 120


@dataclass(frozen=True, eq=False)
class Case:
    """A graph with rows and labels, and whether rows are looked at."""

    graph: Graph
    x: NDArray[np.floating] | sp.csr_array
    y: NDArray[np.generic]
    with_x: bool = True

    def whole(self) -> Diagnosis:
        """What one process finds on the whole graph."""
        return diagnose(self.graph, self.y, self.x if self.with_x else None, seed=2)


def _scattered() -> Graph:
    """Two large components, small ones, nodes alone, weights of which some are 0."""
    rng = RNG(1)
    near = np.array([[i, j] for i in range(N - 40) for j in (i + 2, i + 6) if j < N - 40])
    pairs = np.array([[i, i + 1] for i in range(N - 40, N - 8, 3)])
    edges = np.vstack([near, pairs])
    return Graph.from_edges(edges, rng.integers(0, 9, size=len(edges)) / 4, num_nodes=N)


def cases() -> dict[str, Case]:
    """By name."""
    graph, truth = planted(N, 350, 3, 0.7)
    few, rng = shown(truth, 0.3), RNG(5)
    x = (rng.normal(size=(N, 4)) + np.eye(4)[truth]).astype(np.float32)
    several = np.stack([truth == 0, truth >= 1, x[:, 0] > 0.5], axis=1).astype(np.int64)
    several[few < 0] = -1
    soft = np.where(truth[:, None] == np.arange(3), 0.8, 0.1)
    soft[(np.arange(N) % 2 == 0) | (rng.random(N) < 0.5)] = -1
    words = np.array(["art", "law", "sea"], dtype=object)[truth]
    words[few < 0] = None
    directed = Graph(N, graph.edges, graph.weight, directed=True)
    return {
        "classes": Case(graph, x, few),
        "labels": Case(directed, sp.csr_array(np.where(x > 0.5, x, 0)), several),
        "scattered": Case(_scattered(), x, soft, with_x=False),
        "no edges": Case(Graph.from_edges(np.zeros((0, 2), dtype=np.int64), num_nodes=N), x, words, with_x=False),
    }


def write_parts(folder: Path, parts: int = 4) -> None:
    """Cuts the graph of every case."""
    for name, case in cases().items():
        partition_graph(folder / name, case.graph, case.x, case.y, parts=parts)


def run(folder: Path) -> None:
    """Checks every case, on one rank of several or alone."""
    with process_group() as (rank, world):
        found = {
            name: diagnose_parts(folder / name, with_x=case.with_x, seed=2).as_json() for name, case in cases().items()
        }
    (folder / f"figures{rank}of{world}.json").write_text(json.dumps(found), encoding="utf-8")


def assert_alike(found: JSON, expected: JSON, at: str) -> None:
    """Equal, numbers with a fraction to rounding."""
    if isinstance(expected, dict):
        assert isinstance(found, dict)
        assert found.keys() == expected.keys(), at
        for name in expected:
            assert_alike(found[name], expected[name], f"{at} {name}")
    elif isinstance(expected, list):
        assert isinstance(found, list)
        assert len(found) == len(expected), at
        for i, pair in enumerate(zip(found, expected, strict=True)):
            assert_alike(*pair, f"{at} {i}")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9), at
    else:
        assert found == expected, at
