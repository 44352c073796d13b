"""`ngm partition`, and `ngm train` on what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ngm
from tests.commands import runner


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """40 nodes with two columns and, for half of them, a label."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    kinds = [("x" if a > 0 else "y") if i % 2 else None for i, a in enumerate(x[:, 0])]
    split = ["validation" if i % 6 == 1 else "train" for i in range(40)]
    nodes = {"id": [f"n{i}" for i in range(40)], "a": x[:, 0], "b": x[:, 1], "kind": kinds, "split": split}
    made = ngm.Graph.from_edges(rng.integers(40, size=(90, 2)), num_nodes=40)
    ngm.save_graph(tmp_path / "graph", made, nodes, id="id", label="kind")
    return tmp_path / "graph"


def test_a_run_on_parts_predicts_what_a_run_on_the_graph_predicts(
    graph: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, folder = runner(monkeypatch, capsys), graph.parent
    columns = ["--columns", "a,b", "--validation-column", "split"]
    code, told, errors = command("partition", graph, *columns, "--parts", "3", "-o", folder / "parts")
    assert code == 0, errors
    assert "% of" in told
    settings = [
        "--recipe",
        "paper",
        "--epochs",
        "3",
        "--hidden",
        "4",
        "--batch-size",
        "500",
        "--negatives",
        "0",
        "--no-report",
        "-o",
    ]
    for source, more, name in ((folder / "parts", (), "on parts"), (graph, columns, "on graph")):
        code, told, errors = command("train", source, *more, *settings, folder / name)
        assert code == 0, errors
        assert "7 validation" in told
    found = []
    for name in ("on parts", "on graph"):
        command("predict", folder / name, graph, "--all", "-o", folder / "out.csv")
        found.append((folder / "out.csv").read_text(encoding="utf-8"))
    assert found[0] == found[1]
    metrics = [
        json.loads((folder / name / "metrics.json").read_text(encoding="utf-8")) for name in ("on parts", "on graph")
    ]
    for key in ("labeled", "labeled_given", "validation_rows", "edges"):
        assert metrics[0][key] == metrics[1][key]
    records = ngm.read_table(folder / "on parts" / "evidence" / "nodes.parquet")
    names = records.column("id").tolist()
    assert sorted(names) == sorted(f"n{i}" for i in range(40))
    assert [f"n{row}" for row in records.column("row").tolist()] == names


def test_json_has_the_sizes_of_every_part(
    graph: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = runner(monkeypatch, capsys)
    code, told, errors = command(
        "partition", graph, "--columns", "a", "--parts", "2", "-o", graph.parent / "p", "--json"
    )
    assert code == 0, errors
    content = json.loads(told)
    assert sum(content["part_own"]) == content["nodes"] == 40
    assert sum(content["part_edges"]) == content["edges"]
    assert sum(content["part_labeled"]) == 20


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("partition", "GRAPH", "--columns", "a"), "error: give --parts, at least as many as there will be processes"),
        (("partition", "GRAPH", "--columns", "a", "--parts", "2", "--method", "metsi"), "did you mean 'metis'"),
        (("partition", "GRAPH", "--columns", "a", "--parts", "41"), "parts is 41 for 40 nodes"),
        (
            ("train", "PARTS", "--recipe", "strong"),
            "recipe is 'strong', whose teachers need the whole graph in one process; set recipe='paper'",
        ),
        (("train", "PARTS", "--recipe", "paper", "--label", "kind"), "give it to ngm partition"),
        (("train", "PARTS", "--recipe", "paper", "--dry-run"), "--dry-run is for a table or a graph folder"),
        (("train", "PARTS", "--recipe", "paper", "--sampling", "edges"), "on parts it can be 'plain' alone"),
        (("train", "PARTS", "--recipe", "paper", "--network", "charcnn"), "reads texts"),
    ],
)
def test_mistakes_are_one_line(
    graph: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    said: str,
) -> None:
    parts, command = graph.parent / "parts", runner(monkeypatch, capsys)
    if "PARTS" in words:
        command("partition", graph, "--columns", "a,b", "--parts", "2", "-o", parts)
    places = {"GRAPH": str(graph), "PARTS": str(parts)}
    code, _, errors = command(*(places.get(word, word) for word in words), "-o", graph.parent / "new")
    assert code == 2
    assert said in errors
    assert not (graph.parent / "new").exists()
