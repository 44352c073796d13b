"""`ngm train --resume` goes on with the same data and options, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ngm import Graph, save_graph
from tests.commands import Run, runner
from tests.test_train_command import config

TRAIN = ("train", "rows.csv", "--columns", "a", "--label", "kind", "--hidden", "3", "--no-report")
REMEDY = "resume with the same, or train into a new folder"


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
    ({"kind": ["y", "x"] * 10}, "on other labels"),
    ({"a": [i / 8 + (i == 7) for i in range(20)]}, "on rows of other values"),
]


@pytest.mark.parametrize(("columns", "said"), DATA, ids=[said for _, said in DATA])
def test_other_data_is_refused(columns: dict[str, object], said: str, run: Run) -> None:
    assert run(*TRAIN, "--epochs", "1")[0] == 0
    write(**columns)  # type: ignore[arg-type]
    assert run(*TRAIN, "--epochs", "2", "--resume") == (2, "", f"error: run was trained {said}; {REMEDY}")


def test_the_same_table_may_be_elsewhere_and_be_compared(run: Run) -> None:
    assert run(*TRAIN, "--epochs", "1")[0] == 0
    Path("rows.csv").rename("moved.csv")
    words = ("train", "moved.csv", *TRAIN[2:], "--epochs", "2", "--resume", "--control")
    assert run(*words)[0] == 0
    kept = config("run")
    assert (kept["command"]["source"], kept["data"]["rows"]) == ("moved.csv", 20)


def test_another_graph_of_the_same_name_is_refused(run: Run) -> None:
    save_graph("graph", Graph.from_edges([[0, 1], [2, 3]], num_nodes=20), table(), label="kind")
    words = ("train", "graph", "--input", "rows", "--hidden", "3", "--no-report")
    assert run(*words, "--epochs", "1")[0] == 0
    assert set(config("run")["data"]) == {"rows", "labels", "edges"}
    save_graph("graph", Graph.from_edges([[0, 1], [2, 3], [4, 5]], num_nodes=20), table(), label="kind")
    said = f"error: run was trained on 2 edges, now there are 3; {REMEDY}"
    assert run(*words, "--epochs", "2", "--resume")[2].endswith(said)
