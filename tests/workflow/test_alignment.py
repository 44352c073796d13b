"""Rows of a table go to the nodes of a graph by their ids, whatever the column is called and in whatever order."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ngm import Graph, load, open_graph, read_table, save_graph
from ngm.io.node_records import read_node_records
from ngm.io.run_folder import Run as RunFolder
from tests.commands import Run, runner
from tests.fits import same_bits, weights

RNG = np.random.default_rng(5)
N = 60
KIND = np.array(["red", "green", "blue"])[np.arange(N) % 3]
EDGES = [[i, j] for i in range(N) for j in range(i) if KIND[i] == KIND[j] and (i + j) % 7 == 0]
ROWS = pd.DataFrame({"key": [f"n{i:02}" for i in range(N)], "a": RNG.normal(size=N), "kind": KIND})
SHUFFLED = RNG.permutation(N)
FAST = ("--columns", "a", "--label", "kind", "--epochs", "2", "--hidden", "6", "--no-report", "--json")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A graph whose edges stay within a class, with ids in the column `node`."""
    monkeypatch.chdir(tmp_path)
    save_graph("g", Graph.from_edges(EDGES, num_nodes=N), {"node": ROWS["key"].tolist()}, id="node")
    save_graph("numbers", Graph.from_edges(EDGES, num_nodes=N), {"node": list(range(N))}, id="node")
    save_graph("bare", Graph.from_edges(EDGES, num_nodes=N))
    ROWS.to_csv("ordered.csv", index=False)
    return runner(monkeypatch, capsys)


def within(folder: str) -> float:
    """Share of the edges of a run that join rows of one class."""
    kept = read_node_records(RunFolder.open(folder))
    assert kept is not None
    assert len(kept) == N
    kind = dict(zip(ROWS["key"], KIND, strict=True))
    names = [kind[str(name)] for name in kept.ids]
    return float(np.mean([names[u] == names[v] for u, v in kept.edges.tolist()]))


def shuffled(**columns: object) -> pd.DataFrame:
    return ROWS.assign(**columns).iloc[SHUFFLED]


@pytest.mark.parametrize("name", ["key", "node", "id", "Id"])
def test_edges_stay_within_their_classes_whatever_the_order_of_the_rows(name: str, run: Run) -> None:
    assert run("train", "ordered.csv", "--graph", "g", "--id", "key", *FAST, "-o", "first")[0] == 0
    shuffled().rename(columns={"key": name}).to_csv("rows.csv", index=False)
    option = ("--id", "key") if name == "key" else ()
    code, out, err = run("train", "rows.csv", "--graph", "g", *option, *FAST)
    assert (code, err, json.loads(out)["notes"]) == (0, "", [])
    assert within("run") == within("first") == 1.0
    assert same_bits(weights(load("run")), weights(load("first")))


def test_validation_rows_and_labels_go_with_their_rows(run: Run) -> None:
    split = np.where(np.arange(N) < 9, "validation", "train")
    ROWS.assign(split=split).to_csv("rows.csv", index=False)
    shuffled(split=split).to_csv("mixed.csv", index=False)
    words = ("--graph", "g", "--id", "key", "--validation-column", "split", *FAST)
    assert run("train", "rows.csv", *words, "-o", "first")[0] == 0
    assert run("train", "mixed.csv", *words)[0] == 0
    assert same_bits(weights(load("run")), weights(load("first")))
    assert json.loads(Path("run/metrics.json").read_text())["validation_rows"] == 9


def test_ids_are_the_same_as_numbers_and_as_text(run: Run) -> None:
    ordered = ROWS.assign(key=range(N))
    ordered.to_csv("rows.csv", index=False)
    assert run("train", "rows.csv", "--graph", "numbers", "--id", "key", *FAST, "-o", "first")[0] == 0
    texts = [{**row, "key": str(row["key"])} for row in ordered.iloc[SHUFFLED].to_dict("records")]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
    assert read_table("rows.jsonl").column("key")[0] == str(SHUFFLED[0])
    assert run("train", "rows.jsonl", "--graph", "numbers", "--id", "key", *FAST)[0] == 0
    assert same_bits(weights(load("run")), weights(load("first")))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.iloc[2:], "2 ids of column 'key' have no row in rows.csv: 'n00', 'n01'; add these rows"),
        (
            lambda t: t.assign(key=t["key"].replace("n07", "new")),
            "1 ids of column 'key' are not in g: 'new'; leave these rows out",
        ),
        (lambda t: pd.concat([t, t[3:4]]), "1 ids of column 'key' name several rows of rows.csv: 'n03'; keep one each"),
        (lambda t: t.assign(key=t["key"].mask(t["key"] == "n05")), "rows.csv has no id in column 'key' of row 5"),
        (lambda t: t.assign(key=range(N)), "60 ids of column 'key' are not in g: '0', '1', '2', ...; leave these"),
    ],
    ids=["fewer", "another", "twice", "empty", "others"],
)
def test_ids_that_do_not_match_are_named(change: object, said: str, run: Run) -> None:
    change(ROWS).to_csv("rows.csv", index=False)
    code, out, err = run("train", "rows.csv", "--graph", "g", "--id", "key", *FAST)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {said}")
    assert not Path("run").exists()


def test_a_table_without_the_ids_is_taken_in_order_with_a_warning(run: Run) -> None:
    code, out, _ = run("train", "ordered.csv", "--graph", "g", *FAST)
    assert code == 0
    assert json.loads(out)["notes"] == [
        "the nodes of g have ids ('node'), and ordered.csv has no such column: row i is taken for node i; name the "
        "column of ids with --id"
    ]
    ROWS.assign(id=range(N)).to_csv("rows.csv", index=False)  # called id, and not those of the graph
    assert len(json.loads(run("train", "rows.csv", "--graph", "g", *FAST, "-o", "other")[1])["notes"]) == 1
    code, out, err = run("train", "ordered.csv", "--graph", "bare", "--id", "key", *FAST, "-o", "third")
    assert (code, err, json.loads(out)["notes"]) == (0, "", [])
    assert len(open_graph("bare").graph) == N


def test_rows_of_a_table_are_put_into_another_order() -> None:
    table = read_table({"a": [3, 1, 2], "b": ["x", None, "z"]}).reordered([2, 0, 1])
    assert (table.column("a").tolist(), table.column("b").tolist()) == ([1, 2, 3], [None, "z", "x"])
    assert table.reordered([1, 2, 0]).column("a").tolist() == [3, 1, 2]


@pytest.mark.parametrize(("word", "count"), [("holdout", 3), ("yes", 1), ("2", 2)])
def test_marks_that_are_unknown_are_named_and_stop_training(word: str, count: int, run: Run) -> None:
    split = ["validation"] * 5 + [word] * count + ["train"] * (N - 5 - count)
    ROWS.assign(split=split).to_csv("rows.csv", index=False)
    code, out, err = run("train", "rows.csv", "--validation-column", "split", *FAST)
    assert (code, out, err) == (
        2,
        "",
        f"error: column 'split' of rows.csv marks {count} rows with {word!r}, which says neither; write 'train', "
        "'validation' or 'test', or true and false",
    )
    assert not Path("run").exists()
