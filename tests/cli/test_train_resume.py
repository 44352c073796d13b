"""`ngm train --resume` goes on with the same data and options, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ngm import Graph, save_graph
from tests.commands import Run, runner
from tests.train_tables import config

TRAIN = ("train", "rows.csv", "--columns", "a", "--label", "kind", "--hidden", "3", "--no-report")
REMEDY = "resume with the same, or train into a new folder"
SAME_DATA = "resume with the same data, or train anew: overwrite=True (--overwrite), or another folder"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder of its own with a small table, and gives (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    write()
    return runner(monkeypatch, capsys)


def table(rows: int = 20) -> pd.DataFrame:
    return pd.DataFrame({"a": [i / 4 for i in range(rows)], "b": range(rows), "kind": ["x", "y"] * (rows // 2)})


def write(rows: int = 20, **columns: object) -> None:
    table(rows).assign(**columns).to_csv("rows.csv", index=False)


OTHERS = [
    (("--columns", "b"), "was trained with --columns a, now it is --columns b"),
    (("-k", "3"), "was trained with no -k, now it is -k 3"),
    (("--no-graph",), "was trained with no --no-graph, now it is --no-graph"),
    (("--label", "b"), "was trained with --label kind, now it is --label b"),
]


@pytest.mark.parametrize(("words", "said"), OTHERS, ids=[said for _, said in OTHERS])
def test_other_options_are_refused(words: tuple[str, ...], said: str, run: Run) -> None:
    assert run(*TRAIN, "--epochs", "1")[0] == 0
    before = Path("run/weights.safetensors").read_bytes()
    assert run(*TRAIN, *words, "--epochs", "2", "--resume") == (2, "", f"error: run {said}; {REMEDY}")
    assert Path("run/weights.safetensors").read_bytes() == before


DATA = [
    ({"rows": 22}, "on 20 rows, now there are 22"),
    ({"kind": ["y", "x"] * 10}, "on other labels (y)"),
    ({"a": [i / 8 + (i == 7) for i in range(20)]}, "on other inputs (x)"),
]


@pytest.mark.parametrize(("columns", "said"), DATA, ids=[said for _, said in DATA])
def test_other_data_is_refused(columns: dict[str, object], said: str, run: Run) -> None:
    assert run(*TRAIN, "--epochs", "1")[0] == 0
    write(**columns)  # type: ignore[arg-type]
    assert run(*TRAIN, "--epochs", "2", "--resume") == (2, "", f"error: run was trained {said}; {SAME_DATA}")


def test_the_same_table_may_be_elsewhere_and_be_compared(run: Run) -> None:
    assert run(*TRAIN, "--validation", "0.1", "--epochs", "1")[0] == 0
    Path("rows.csv").rename("moved.csv")
    words = ("train", "moved.csv", *TRAIN[2:], "--validation", "0.1", "--epochs", "2", "--resume", "--control")
    assert run(*words)[0] == 0
    kept = config("run")
    assert (kept["command"]["source"], kept["data"]["rows"]) == ("moved.csv", 20)


def test_another_graph_of_the_same_name_is_refused(run: Run) -> None:
    save_graph("graph", Graph.from_edges([[0, 1], [2, 3]], num_nodes=20), table(), label="kind")
    words = ("train", "graph", "--input", "rows", "--hidden", "3", "--no-report")
    assert run(*words, "--epochs", "1")[0] == 0
    assert config("run")["data"]["recomputed"] == ["x"]
    said = f"error: run was trained on a graph with 2 edges, now it has 3; {SAME_DATA}"
    save_graph("graph", Graph.from_edges([[0, 1], [2, 3], [4, 5]], num_nodes=20), table(), label="kind")
    assert run(*words, "--epochs", "2", "--resume")[2].endswith(said)
    said = f"error: run was trained on another graph (edges, weights or direction differ); {SAME_DATA}"
    for other in (Graph.from_edges([[0, 1], [2, 4]], num_nodes=20), Graph.from_edges([[0, 1], [2, 3]], [1, 2], 20)):
        save_graph("graph", other, table(), label="kind")
        assert run(*words, "--epochs", "2", "--resume")[2].endswith(said)


def test_a_run_is_replaced_only_on_request(run: Run) -> None:
    assert run(*TRAIN, "--epochs", "1", "--log", "csv")[0] == 0
    before = Path("run/weights.safetensors").read_bytes()
    said = (
        "error: run holds a trained run; set overwrite=True (--overwrite) to replace it, resume=True (--resume) to go "
        "on with it, or name another folder"
    )
    assert run(*TRAIN, "--epochs", "2") == (2, "", said)
    assert Path("run/weights.safetensors").read_bytes() == before
    both = "error: both --resume and --overwrite are given; choose whether to go on with the run or replace it"
    assert run(*TRAIN, "--resume", "--overwrite") == (2, "", both)
    assert run(*TRAIN, "--epochs", "2", "--dry-run")[0] == 0
    assert run(*TRAIN, "--epochs", "2", "--overwrite")[0] == 0
    assert len(Path("run/history.jsonl").read_text(encoding="utf-8").splitlines()) == 2
    assert not Path("run/log.csv").exists()
