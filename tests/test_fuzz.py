"""Bad input by the hundred, with a fixed seed: each ends in success or in an error of ours.

`python benchmarks/faults.py` has the thousands.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from fuzz import SHARES, Counts, run, table
from fuzzing.judge import judge

import ngm

CASES = {
    "readers": 50,
    "graphs": 100,
    "builders": 60,
    "estimators": 40,
    "folders": 25,
    "vectors": 60,
    "commands": 25,
}


@pytest.mark.parametrize("area", SHARES)
def test_bad_input_is_accepted_or_refused_by_name(area: str) -> None:
    counts = run(CASES[area], seed=0, areas=[area])[area]
    assert counts.found == []
    assert (counts.cases, counts.accepted + counts.refused) == (CASES[area], CASES[area])
    assert min(counts.accepted, counts.refused) > 0  # cases that are all refused, or none, would show little


@pytest.fixture
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


def test_an_error_of_ours_is_told_from_an_accident(tmp_path: Path, empty: Path) -> None:
    assert judge(lambda: ngm.Graph.from_edges([[0, 1]]), tmp_path, empty) == ("accepted", "")
    what, text = judge(lambda: ngm.Graph.from_edges([[0, -1]]), tmp_path, empty)
    assert (what, text[:18]) == ("refused", "edge 0 is [0, -1];")
    what, text = judge(lambda: [][3], tmp_path, empty)
    assert (what, text[:13]) == ("finding", "IndexError at")
    what, text = judge(lambda: ngm.knn_graph([[1.0], [2.0]], k=1, on_step=lambda *_: 1 / 0), tmp_path, empty)
    assert (what, text[:20]) == ("finding", "ZeroDivisionError at")


def test_what_is_left_behind_is_a_finding(tmp_path: Path, empty: Path) -> None:
    assert judge((tmp_path / ".graph.1@host.part").mkdir, tmp_path, empty) == (
        "finding",
        "left behind .graph.1@host.part",
    )


def test_counts_add_up_in_the_table() -> None:
    counts = {"readers": Counts(3, 1, 2, 0, 0.5), "graphs": Counts(2, 1, 0, 1, 0.25)}
    assert table(counts).splitlines()[-1].split() == ["all", "5", "2", "2", "1", "0.8"]
