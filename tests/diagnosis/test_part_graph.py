"""On parts, any number of processes finds the figures that one finds on the whole graph."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ngm import Graph, partition_graph
from ngm.diagnosis import diagnose, diagnose_parts, part_graph
from ngm.io.run_folder import JSON
from tests import part_checks
from tests.benchmark_modules import Forked
from tests.planted_graphs import RNG, planted, shown
from tests.ranks import in_ranks, run_ranks

Found = list[dict[str, JSON]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("checks")
    part_checks.write_parts(made)
    return made


@pytest.fixture(scope="module", params=[1, 2, 4])
def found(request: pytest.FixtureRequest, folder: Path, server: Forked) -> Found:
    """What each of 1, 2 and 4 ranks finds in every case."""
    world = int(request.param)
    if world == 1:
        part_checks.run(folder)
    else:
        ended = run_ranks(server, in_ranks("run", folder, "part_checks"), world)
        assert ended.code == 0, ended.err
    files = [folder / f"figures{rank}of{world}.json" for rank in range(world)]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


@pytest.mark.parametrize("case", part_checks.cases())
def test_figures_are_those_of_the_whole_graph(case: str, found: Found) -> None:
    expected = json.loads(json.dumps(part_checks.cases()[case].whole().as_json()))
    for rank in found:
        part_checks.assert_alike(rank[case], expected, case)
        assert rank[case] == found[0][case]  # to the bit, or processes would judge differently


def test_many_edges_are_sampled_alike_however_the_graph_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_graph, "MAX_SAMPLED", 200)
    graph, truth = planted(150, 900, 3, 0.8)
    x, y = RNG(0).normal(size=(150, 3)) + 2 * np.eye(3)[truth], shown(truth, 0.4)
    found = [diagnose_parts(partition_graph(tmp_path / f"{n}", graph, x, y, parts=n), seed=1) for n in (1, 5)]
    assert found[0].as_json() == found[1].as_json()
    similarity, whole = found[0].similarity, diagnose(graph, y, x, seed=1).similarity
    assert similarity is not None
    assert whole is not None
    assert similarity.edges == 200
    assert similarity.auc.low < whole.auc.value < similarity.auc.high
    other = diagnose_parts(tmp_path / "5", seed=2).similarity
    assert other is not None
    assert other.across_edges != similarity.across_edges


def test_numbers_cannot_judge_a_graph(tmp_path: Path) -> None:
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3]])
    parts = partition_graph(tmp_path / "parts", graph, np.eye(4), [0.5, np.nan, 1.5, 2.0], 2, task="numbers")
    with pytest.raises(ValueError, match="has numbers to learn"):
        diagnose_parts(parts)
