"""`ngm check` on graph folders."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ngm import Graph
from ngm.diagnosis import diagnose
from ngm.io.graph_data import open_graph, read_table, save_graph
from tests.benchmark_modules import Forked
from tests.commands import Run, runner
from tests.part_checks import assert_alike
from tests.planted_graphs import RNG, planted, shown
from tests.ranks import run_command, run_ranks


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `ngm check` here; gives (exit code, standard output, standard error)."""
    return runner(monkeypatch, capsys, "check", joined=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A planted graph of 400 nodes with topics in words, a vector, two columns of numbers, and gaps."""
    graph, truth = planted(400, 2400, 4, 0.8)
    y = shown(truth, 0.3)
    names = np.array(["art", "law", "sea", "sky"], dtype=object)
    vector = RNG(0).normal(size=(400, 5)) + 2 * np.eye(5)[truth]
    columns = {
        "name": [f"n{i}" for i in range(400)],
        "topic": [names[c] if c >= 0 else None for c in y],
        "nothing": [None] * 400,
        "age": (RNG(1).random(400) * 1000).tolist(),
        "height": [None if i == 7 else float(i) for i in range(400)],
        "vector": vector.tolist(),
    }
    columns["nothing"][0] = "art"  # or the column has no type
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    file = tmp_path / "nodes.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    save_graph(tmp_path / "graph", graph, read_table(file), id="name", label="topic")
    return tmp_path / "graph"


def test_tables_bars_verdict_and_advice_are_shown(check: Run, folder: Path) -> None:
    code, shown_, err = check(folder)
    assert (code, err) == (0, "")
    data = open_graph(folder)
    assert data.y is not None
    found = diagnose(data.graph, data.y)
    lines = shown_.splitlines()
    for part in (
        f"400 nodes, {found.num_edges:,} edges",
        f"{found.ll:,} / {found.lu:,} / {found.uu:,}",
        "Labelled edges by pair of classes",
        "Unlabelled nodes near a labelled one",
        "Nodes by number of edges",
        "This graph: helps",
    ):
        assert part in shown_
    assert all(f"  {line}" in lines for line in found.reasons)
    assert all(f"- {line}" in lines for line in found.advice)
    art = next(p for p in found.agreement.pairs if p.first == p.second == "art")  # type: ignore[union-attr]
    row = next(line for line in lines if line.count("art") == 2)
    assert f"{art.edges:,}" in row.split()
    near = next(line for line in lines if "within 1 hop " in line)
    assert near.count("█") == round(30 * found.shape.within_hops[0])
    assert "\x1b[" not in shown_  # colours only on a terminal


def test_json_is_the_diagnosis_and_nothing_else(check: Run, folder: Path) -> None:
    code, shown_, err = check(folder, "--json", "--columns", "vector", "--seed", "3")
    assert (code, err) == (0, "")
    data = open_graph(folder)
    x = np.array(data.column("vector").tolist(), dtype=np.float32)
    assert data.y is not None
    assert json.loads(shown_) == {"folder": str(folder), **diagnose(data.graph, data.y, x, seed=3).as_json()}


def test_columns_of_numbers_are_scaled_each_by_itself(check: Run, folder: Path) -> None:
    data = open_graph(folder)
    age = np.asarray(data.column("age"), dtype=np.float64)
    vector = np.array(data.column("vector").tolist(), dtype=np.float32)
    x = np.concatenate([((age - age.mean()) / age.std())[:, None], vector], axis=1)
    assert data.y is not None
    found = json.loads(check(folder, "--json", "--columns", "age, vector")[1])
    assert found["similarity"] == diagnose(data.graph, data.y, x).as_json()["similarity"]


def test_rows_are_named_by_the_users_ids(check: Run, tmp_path: Path) -> None:
    graph = Graph.from_edges([[0, 1], [1, 2], [3, 4]], num_nodes=6)
    columns = {"who": ["ann", "bob", "cid", "dan", "eve", "[fay]"], "class": ["a", "b", None, None, None, "a"]}
    save_graph(tmp_path / "graph", graph, columns, id="who", label="class")
    _, shown_, _ = check(tmp_path / "graph")
    assert "1 of 3 labelled nodes has no edge, row 5" in shown_
    assert "label one node in each of the largest, e.g. row 3 (2 nodes)" in shown_
    assert "Rows by who: 0 is ann, 1 is bob, 2 is cid, 3 is dan, 5 is [fay]" in shown_


def test_many_pairs_of_classes_are_cut_to_the_largest(check: Run, tmp_path: Path) -> None:
    graph, truth = planted(500, 4000, 10, 0.3)
    save_graph(tmp_path / "graph", graph, {"c": truth}, label="c")
    _, shown_, _ = check(tmp_path / "graph")
    assert "Labelled edges by pair of classes: the 10 with most of 55" in shown_
    assert "near a labelled one" not in shown_  # all are labelled


@pytest.fixture
def parts(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """The same graph in three parts."""
    made = folder.parent / "parts"
    code, _, errors = runner(monkeypatch, capsys)(
        "partition", folder, "--columns", "vector", "--parts", "3", "-o", made
    )
    assert code == 0, errors
    return made


def test_parts_are_checked_as_the_graph_by_any_number_of_processes(
    check: Run, folder: Path, parts: Path, server: Forked
) -> None:
    whole, alone = (json.loads(check(*words, "--json")[1]) for words in ((folder, "--columns", "vector"), (parts,)))
    assert_alike(alone, whole | {"folder": str(parts)}, "parts")
    ended = run_ranks(server, run_command("check", str(parts), "--json"), 2)
    assert ended.code == 0, ended.err
    assert_alike(json.loads(ended.out), alone, "two processes")  # printed once


def test_rows_of_parts_are_named_by_the_users_ids(check: Run, folder: Path, parts: Path) -> None:
    lines = [check(source)[1].splitlines()[-1] for source in (folder, parts)]
    assert lines[0].startswith("Rows by name: ")
    assert lines[1] == lines[0]


def test_options_that_were_settled_by_the_cut_are_refused(check: Run, parts: Path) -> None:
    for option in ("--label", "--columns"):
        code, shown_, err = check(parts, option, "vector")
        assert (code, shown_) == (2, "")
        assert f"{option} is given, and {parts} has rows and labels in parts; give it to ngm partition" in err


def test_help_has_an_example(check: Run) -> None:
    code, shown_, _ = check("--help")
    assert code == 0
    assert "Example:  ngm check graph/ --label topic" in shown_


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--label", "topc"),
            "has no column 'topc' (did you mean 'topic'?); its columns are name, topic, nothing, age, height, vector",
        ),
        (("--label", "nothing"), "y holds one class only ('art')"),
        (("--columns", "age,wide"), "has no column 'wide'; its columns are name, topic, nothing, age, height, vector"),
        (
            ("--columns", "name"),
            "column 'name' holds 'n0' and the like, which cannot be x; give columns of numbers, or of vectors of one "
            "length",
        ),
        (
            ("--columns", "height"),
            "column 'height' has no number in 1 rows, row 7 the first; fill them in, or leave the column out",
        ),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(check: Run, folder: Path, words: tuple[str, ...], message: str) -> None:
    code, shown_, err = check(folder, *words)
    assert (code, shown_) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_folder_without_graph_labels_or_columns_is_told_so(check: Run, tmp_path: Path) -> None:
    assert check(tmp_path)[2] == f"error: {tmp_path} is not a graph folder: it has no graph.json\n"
    graph = Graph.from_edges([[0, 1], [1, 2]])
    bare = graph.save(tmp_path / "bare")
    message = f"error: {bare} does not say which column holds the labels: give --label\n"
    assert check(bare) == (2, "", message)
    assert check(bare, "--label", "y")[2] == f"error: {bare} has no column 'y'; it has no node columns\n"
    save_graph(tmp_path / "empty", graph, {"y": [-1, -1, -1], "z": [0, 1, 1]}, label="y")
    assert (
        "none of the 3 rows has a label (-1, None and NaN mean unlabelled); label some rows"
        in check(tmp_path / "empty")[2]
    )
    save_graph(tmp_path / "unsaid", graph, {"y": [0, 1, 1]})
    assert check(tmp_path / "unsaid")[2].endswith("give --label; its columns are y\n")
