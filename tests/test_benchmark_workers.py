"""What the benchmarks against other libraries share: environments, workers, generated graphs, and their sums."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import environments
import generated_graph
import ingest
import knn
import time_to_accuracy

from ngm import open_graph

Patch = pytest.MonkeyPatch
SCRIPT = """
import sys, time
sys.path.insert(0, {scripts!r})
from peer_worker import serve

print("a library says hello")
serve({{"double": lambda n: {{"n": 2 * n}}, "fail": lambda: 1 / 0, "sleep": lambda: time.sleep(60)}})
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: Patch) -> environments.Worker:
    text = SCRIPT.format(scripts=str(environments.SCRIPTS))
    (tmp_path / "script.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(environments, "SCRIPTS", tmp_path)
    return environments.Worker("ngm", "script.py")


def test_a_worker_answers_whatever_its_libraries_print_and_goes_on_after_an_error(
    worker: environments.Worker,
) -> None:
    with worker:
        assert worker.ask("double", n=4) == {"n": 8}
        with pytest.raises(environments.WorkerError, match="ZeroDivisionError"):
            worker.ask("fail")
        assert worker.ask("double", n=5) == {"n": 10}


def test_a_worker_that_takes_too_long_is_ended(worker: environments.Worker) -> None:
    with worker:
        worker.ask("double", n=1)
        with pytest.raises(environments.WorkerError, match="not done within 0 s"):
            worker.ask("sleep", 0.2)
    assert worker._process.returncode != 0


def test_an_environment_is_made_once_and_again_when_other_packages_are_asked_for(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setattr(environments.venv, "create", lambda folder, with_pip: folder.mkdir(parents=True))
    monkeypatch.setattr(environments, "_install", lambda python, packages, options: made.extend(packages))
    for packages in (("a",), ("a",), ("a", "b")):
        monkeypatch.setitem(environments.ENVIRONMENTS, "some", environments.Environment(packages, ()))
        environments.python_of("some")
    assert made == ["a", "a", "b"]
    (tmp_path / "some" / "packages.json").unlink()  # as one that was interrupted
    environments.python_of("some")
    assert made == ["a", "a", "b", "a", "b"]


def test_a_generated_graph_is_sorted_and_without_duplicates_whatever_the_pieces(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(generated_graph, "_NODES", 700)
    total = generated_graph.write_graph(tmp_path / "graph", 4_000, 5, 4)
    graph = open_graph(tmp_path / "graph").graph
    edges = graph.edges.numpy()
    assert len(edges) == total > 15_000
    assert (edges[:, 0] < edges[:, 1]).all()
    key = edges[:, 0] * 4_000 + edges[:, 1]
    assert (np.diff(key) > 0).all()
    alike = float((edges[:, 0] % 4 == edges[:, 1] % 4).mean())
    assert alike == pytest.approx(0.85, abs=0.02)  # four fifths, and a quarter of the rest
    assert {file.name for file in (tmp_path / "graph").iterdir()} == {"edges.npy", "weight.npy", "graph.json"}


def test_true_neighbors_are_those_of_a_plain_loop() -> None:
    x = knn.vectors_of(None, 60)
    sample = np.array([3, 40])
    for row, found in zip(sample, knn.true_neighbors(x, sample), strict=True):
        order = [v for v in np.argsort(-(x @ x[row])).tolist() if v != row]
        assert found == set(order[:5])


def test_recall_counts_no_row_as_its_own_neighbor() -> None:
    found = [[7, 1, 2, 3, 4, 5], [9, 1, 2, 3, 4, 5]]
    assert knn.recall_of(found, [{1, 2, 3, 4, 5}] * 2, [7, 8]) == pytest.approx(0.9)


def test_seconds_to_an_accuracy_are_the_median_of_seeds_or_none_where_half_fail() -> None:
    fast, slow, never = [[1.0, 0.5], [2.0, 0.8]], [[4.0, 0.9]], [[1.0, 0.1]]
    assert time_to_accuracy.median_to([fast, slow, never], 0.8) == 4.0
    assert time_to_accuracy.median_to([fast, never], 0.8) is None
    found = {"ngm": {f"{a:.2f}": 2.0 for a in time_to_accuracy.ACCURACIES}}
    found["peer"] = {name: (6.0 if name == "0.70" else None) for name in found["ngm"]}
    assert time_to_accuracy.ratios_of(found) == {"0.70, fastest peer / ours": 3.0}
    assert time_to_accuracy.thinned([[1.0, 0.5], [2.0, 0.4], [3.0, 0.6], [4.0, 0.6]]) == [
        [1.0, 0.5],
        [3.0, 0.6],
        [4.0, 0.6],
    ]


def test_a_billion_edges_follow_the_power_of_the_two_largest_sizes() -> None:
    rows = {
        str(m): {"edges": m, "ours": {"seconds": (m / 100) ** 2, "peak_gib": 2.0}} for m in (1_000, 10_000, 100_000)
    }
    rows["1000"]["ours"] = {"seconds": 1.0, "peak_gib": 1.0}
    assert ingest.extrapolated(rows, 1_000_000) == pytest.approx({"edges": 1e6, "seconds": 1e8, "peak_gib": 2.0})
    assert ingest.extrapolated({"1000": rows["1000"]}) is None
