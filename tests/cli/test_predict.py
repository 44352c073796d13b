"""`ngm predict`, from a run folder and a table to a file of predictions."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from rich.console import Console
from sklearn.metrics import f1_score, r2_score

from ngm import Graph, NGMClassifier, NGMRegressor, load, save_graph
from ngm.cli import predict, terminal
from ngm.inputs import adjacency_rows, links
from ngm.workflow import prediction
from ngm.workflow.predictions import Numbers
from tests.commands import Run, runner
from tests.predictions import (
    GRAPH,
    KEYS,
    LABELS,
    NEW,
    RIGHT,
    SHAPE,
    SIZE,
    TEXTS,
    TRUTH,
    new_rows,
    read_parquet,
    rows_of,
    train,
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder of its own with a table of new rows, and gives (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    new_rows().to_csv("new.csv", index=False)
    return runner(monkeypatch, capsys)


# Every kind of run


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("read", ["text", "words", "columns"])
def test_predictions_are_those_of_the_loaded_network_in_pieces(
    read: str, ending: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 4)
    train(read)
    code, out, err = run("predict", "run", "new.csv", "--id", "key", "-o", f"out.{ending}")
    assert (code, err) == (0, "")
    reader = {"csv": pd.read_csv, "jsonl": lambda f: pd.read_json(f, lines=True)}.get(ending)
    found = pd.DataFrame(read_parquet("out.parquet")) if reader is None else reader(f"out.{ending}")
    model, x = load("run"), rows_of("new.csv")
    assert found.columns.tolist() == ["key", "class", "probability"]
    assert found["key"].tolist() == KEYS
    assert found["class"].tolist() == model.predict(x).tolist()
    np.testing.assert_allclose(found["probability"], model.predict_proba(x).max(axis=1), atol=1e-6)
    assert out.splitlines()[-1] == f"Predictions: out.{ending}"
    assert out.startswith(f"11 {'rows' if read == 'columns' else 'texts'}: money ")
    assert sorted(p.name for p in Path().iterdir() if p.name.startswith(".")) == []


def test_all_gives_each_class_a_column_and_top_the_most_probable_ones(run: Run) -> None:
    y = [["a", "b", "c"][i % 3] for i in range(30)]
    train("columns", y=y)
    assert run("predict", "run", "new.csv", "--all", "--top", "3", "-o", "out.jsonl")[0] == 0
    shares = load("run").predict_proba(rows_of("new.csv"))
    for row, line in enumerate(Path("out.jsonl").read_text(encoding="utf-8").splitlines()):
        found = json.loads(line)
        assert list(found)[:4] == ["row", "class", "probability", "class_2"]
        np.testing.assert_allclose([found[f"p_{c}"] for c in "abc"], shares[row], atol=1e-6)
        order = np.argsort(-shares[row])
        assert [found["class"], found["class_2"], found["class_3"]] == [["a", "b", "c"][i] for i in order]
        np.testing.assert_allclose(found["probability_3"], shares[row].min(), atol=1e-6)


def test_numbers_are_predicted_and_r_squared_is_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 4)
    train("columns", NGMRegressor(hidden=(8,), epochs=60), y=3 * np.array(SIZE) + 1000)
    truth = [None, *(3 * np.array(SIZE[1:11]) + 1000)]
    pd.read_csv("new.csv").assign(worth=truth).to_csv("new.csv", index=False)
    code, out, err = run("predict", "run", "new.csv", "--label", "worth", "--json", "-o", "out.parquet")
    assert (code, err) == (0, "")
    told, found = json.loads(out), read_parquet("out.parquet")
    expected = load("run").predict(rows_of("new.csv"))
    assert list(found) == ["row", "prediction"]
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-6)  # type: ignore[arg-type]
    assert told["r2"] == pytest.approx(r2_score(truth[1:], expected[1:].astype(float)))
    assert told["labeled"] == 10
    assert (told["least"], told["largest"]) == pytest.approx((expected.min(), expected.max()))
    out = run("predict", "run", "new.csv", "--label", "worth")[1]
    assert out.splitlines()[1] == f"R2 {told['r2']:.3f} on 10 labelled rows"
    low, high, mean = expected.min(), expected.max(), expected.mean()
    assert out.splitlines()[0] == f"11 rows: numbers from {low:.6g} to {high:.6g}, {mean:.6g} in the mean"


def test_r_squared_of_numbers_far_from_zero_is_exact() -> None:
    truth, found = 1e9 + np.arange(6.0), 1e9 + np.array([0.0, 1.5, 2.0, 2.5, 4.0, 5.5])
    numbers = Numbers(NGMRegressor())
    for some in (slice(0, 4), slice(4, 6)):
        numbers._compare(truth[some], found[some])
    assert numbers.score() == ("R2", pytest.approx(r2_score(truth, found)), 6)


def test_several_labels_are_joined_and_each_has_its_probability(run: Run) -> None:
    train("words", NGMClassifier(hidden=(8,), epochs=60), y=LABELS, label_names=["pet", "third one"])
    mine = [
        ";".join(name for name, there in (("pet", t == "pets"), ("none such", i == 4)) if there)
        for i, t in enumerate(RIGHT)
    ]
    pd.read_csv("new.csv").assign(mine=mine).to_csv("new.csv", index=False)
    code, out, err = run("predict", "run", "new.csv", "--label", "mine", "-o", "out.csv", "--json")
    assert (code, err) == (0, "")
    told, found = json.loads(out), pd.read_csv("out.csv", keep_default_na=False)
    shares = load("run").predict_proba(rows_of("new.csv"))
    assert found.columns.tolist() == ["row", "labels", "p_pet", "p_third one"]
    np.testing.assert_allclose(found[["p_pet", "p_third one"]], shares, atol=1e-6)
    names = np.array(["pet", "third one"])
    assert found["labels"].tolist() == [";".join(names[row > 0.5]) for row in shares]
    truth = np.array([["pet" in m, False, "none such" in m] for m in mine])
    known = truth.any(axis=1)
    said = np.column_stack([shares > 0.5, np.zeros(11)])
    assert told["micro_f1"] == pytest.approx(f1_score(truth[known], said[known], average="micro", zero_division=0))
    assert (told["labeled"], told["labels"]["pet"]) == (known.sum(), (shares[:, 0] > 0.5).sum())
    assert told["none"] == (~(shares > 0.5).any(axis=1)).sum()
    assert told["notes"] == ["the run knows no such labels as 'none such' of column 'mine'; they count as wrong"]


def test_nodes_of_the_training_graph_are_predicted_by_their_ids(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 7)
    train("graph")
    save_graph("graph", GRAPH, {"name": range(100, 130), "topic": TRUTH}, id="name")
    code, out, err = run("predict", "run", "graph", "--label", "topic", "-o", "out.parquet", "--json")
    assert (code, err) == (0, "")
    model, found = load("run"), read_parquet("out.parquet")
    assert found["name"] == list(range(100, 130))
    assert found["class"] == model.predict(adjacency_rows(GRAPH)).tolist()
    shares = model.predict_proba(adjacency_rows(GRAPH)).max(axis=1)
    np.testing.assert_allclose(found["probability"], shares, atol=1e-6)  # type: ignore[arg-type]
    assert json.loads(out)["accuracy"] == pytest.approx(np.mean(np.array(found["class"]) == np.array(TRUTH)))
    assert json.loads(out)["nodes"] == 30


def test_new_nodes_are_predicted_from_their_links(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 2)
    train("graph", id="name")
    Path("links.csv").write_text(
        "source,target,weight\nq,103,1\np,100,1\n109,p,2\nr,zz,1\nq,105,1\ns,,1\n", encoding="utf-8"
    )
    code, out, err = run("predict", "run", "links.csv", "-o", "out.csv")
    assert code == 0
    found = pd.read_csv("out.csv")
    rows = adjacency_rows(links([[0, 0], [0, 9], [1, 3], [1, 5]], GRAPH, num_new=3))
    assert found["name"].tolist() == ["p", "q", "r"]
    assert found["class"].tolist() == load("run").predict(rows).tolist()
    assert out.startswith("3 nodes: money ")
    assert err == (
        "note: 1 of 3 nodes have no link to a node that the run knows (node r); what is predicted for them rests on "
        "nothing note: 1 of 6 links have no node at one end and were left out note: 1 of 6 links lead to nodes that "
        "the run does not know ('zz') and were left out"
    )


def test_links_of_a_directed_graph_lead_from_the_new_node(run: Run) -> None:
    train("graph", graph=Graph.from_edges(GRAPH.edges, num_nodes=30, directed=True))
    Path("links.csv").write_text("source,target\np,100\n109,p\n", encoding="utf-8")
    assert run("predict", "run", "links.csv", "--json")[0] == 0
    found = pd.read_csv("predictions.csv")
    assert found["node"].tolist() == ["109", "p"]
    assert found["probability"][1] == pytest.approx(
        load("run").predict_proba(adjacency_rows(links([[0, 0]], GRAPH))).max(), abs=1e-6
    )


def test_a_graph_folder_is_read_by_its_table_of_nodes(run: Run) -> None:
    train("columns", id="name")
    nodes = {"name": [f"n{i}" for i in range(30)], "size": SIZE, "shape": SHAPE}
    save_graph("graph", GRAPH, nodes, id="name")
    assert run("predict", "run", "graph")[0] == 0
    assert pd.read_csv("predictions.csv")["name"].tolist() == nodes["name"]


def test_a_network_saved_in_python_reads_the_texts_that_are_named(run: Run) -> None:
    model = NGMClassifier(network="charcnn", epochs=1).fit(TEXTS, TRUTH)
    model.save("run")
    assert run("predict", "run", "new.csv", "--text", "topic,body")[0] == 0
    joined = [f"{topic} {text}" for topic, text in zip(RIGHT, NEW, strict=True)]
    assert pd.read_csv("predictions.csv")["class"].tolist() == model.predict(joined).tolist()


def test_another_column_of_texts_may_be_named(run: Run) -> None:
    train("words")
    pd.read_csv("new.csv").rename(columns={"body": "says"}).to_csv("new.csv", index=False)
    assert run("predict", "run", "new.csv", "--text", "says")[0] == 0
    expected = load("run").predict(rows_of({"body": NEW}))
    assert pd.read_csv("predictions.csv")["class"].tolist() == expected.tolist()


# Ids, labels and types


def test_the_ids_of_training_are_kept_where_they_are_there(run: Run) -> None:
    train("columns", id="key")
    run("predict", "run", "new.csv")
    assert pd.read_csv("predictions.csv")["key"].tolist() == KEYS
    pd.read_csv("new.csv").drop(columns="key").to_csv("new.csv", index=False)
    run("predict", "run", "new.csv")
    assert pd.read_csv("predictions.csv")["row"].tolist() == list(range(11))


def test_ids_are_written_as_they_were(run: Run) -> None:
    train("columns")
    odd = ['say "x", y', "two\nlines", "007", "ü", *"efghijk"]
    pd.read_csv("new.csv").assign(key=odd).to_csv("new.csv", index=False)
    run("predict", "run", "new.csv", "--id", "key", "-o", "out.parquet")
    assert read_parquet("out.parquet")["key"] == odd
    run("predict", "run", "new.csv", "--id", "key", "-o", "out.jsonl")
    assert [json.loads(line)["key"] for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()] == odd


def test_whole_numbers_stay_so_in_parquet(run: Run) -> None:
    train("columns", y=[3, 7] * 15)
    pd.read_csv("new.csv").assign(key=range(2**60, 2**60 + 11)).to_csv("new.csv", index=False)
    run("predict", "run", "new.csv", "--id", "key", "-o", "out.parquet")
    found = read_parquet("out.parquet")
    assert found["key"] == list(range(2**60, 2**60 + 11))
    assert set(found["class"]) <= {3, 7}


def test_texts_that_look_like_numbers_are_texts_as_in_training(run: Run) -> None:
    train("text", NGMClassifier(network="charcnn", epochs=1))
    pd.DataFrame({"body": [2020, 2021]}).to_csv("new.csv", index=False)
    assert run("predict", "run", "new.csv")[0] == 0
    assert pd.read_csv("predictions.csv")["class"].tolist() == load("run").predict(["2020", "2021"]).tolist()


def test_predict_counts_classes_and_tells_the_accuracy(run: Run) -> None:
    train("words")
    truth = [*RIGHT[:9], None, " "]
    pd.read_csv("new.csv").assign(topic=truth).to_csv("new.csv", index=False)
    code, out, err = run("predict", "run", "new.csv", "--label", "topic", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    said = load("run").predict(rows_of("new.csv"))
    assert found["classes"] == {c: int((said == c).sum()) for c in ("money", "pets")}
    assert found["accuracy"] == pytest.approx((said[:9] == RIGHT[:9]).mean())
    assert (found["predictions"], found["texts"], found["labeled"], found["notes"]) == ("predictions.csv", 11, 9, [])
    out = run("predict", "run", "new.csv", "--label", "topic")[1]
    assert f"accuracy {found['accuracy']:.3f} on 9 labelled texts" in out


@pytest.mark.parametrize("written", ["1", "1.0"])
def test_a_label_is_right_however_its_number_is_written(written: str, run: Run) -> None:
    train("columns", y=[1] * 20 + [2] * 10)
    pd.read_csv("new.csv").assign(topic=[written] * 10 + ["-1"]).to_csv("new.csv", index=False)
    told = json.loads(run("predict", "run", "new.csv", "--label", "topic", "--json")[1])
    right = (load("run").predict(rows_of("new.csv"))[:10] == 1).mean()
    assert right > 0
    assert (told["accuracy"], told["labeled"], told["notes"]) == (right, 10, [])


def test_labels_that_no_training_row_had_are_noted(run: Run) -> None:
    train("words")
    pd.read_csv("new.csv").assign(topic=["pets", "petz", *["news"] * 9]).to_csv("new.csv", index=False)
    note = "the run knows no such labels as 'petz', 'news' of column 'topic'; they count as wrong"
    assert run("predict", "run", "new.csv", "--label", "topic")[2] == f"note: {note}"
    pd.read_csv("new.csv").assign(topic=None).to_csv("new.csv", index=False)
    note = "column 'topic' has no label in any row, so nothing can be compared"
    code, out, err = run("predict", "run", "new.csv", "--label", "topic")
    assert (code, err, "accuracy" in out) == (0, f"note: {note}", False)


# Rows of which something is to be said


def test_texts_that_say_nothing_are_noted_by_their_rows_in_the_table(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 4)
    train("text")
    pd.DataFrame({"body": [*NEW[:6], None, "unheard"]}).to_csv("gaps.csv", index=False)
    note = "2 of 8 texts have no word of its vocabulary (rows 6, 7); what is predicted for them rests on nothing"
    assert run("predict", "run", "gaps.csv")[2] == f"note: {note}"
    assert json.loads(run("predict", "run", "gaps.csv", "--json")[1])["notes"] == [note]


def test_unknown_categories_are_noted_by_their_rows_in_the_table(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 2)
    train("columns")
    shapes = ["round", "odd", "odd", "flat", "odd", None, "odd", *["long"] * 4]
    pd.read_csv("new.csv").assign(shape=shapes).to_csv("new.csv", index=False)
    assert json.loads(run("predict", "run", "new.csv", "--json")[1])["notes"] == [
        "4 of 11 rows have a value in 'shape' that no training row has (rows 1, 2, 4, ...); they are none of its 3 "
        "categories",
        "1 of 11 rows have no value in 'shape' (row 5); they are none of its 3 categories",
    ]


def test_lines_that_do_not_fit_are_left_out_and_noted(run: Run) -> None:
    train("columns")
    Path("new.csv").write_text("size,shape\n1,round\n2,flat,more\n3,long\n", encoding="utf-8")
    code, out, err = run("predict", "run", "new.csv")
    assert (code, out.split(":")[0]) == (0, "2 rows")
    assert err == "note: 1 lines of new.csv did not fit and were left out: line 3: '2,flat,more' (more than 2 fields)"


def test_many_classes_are_told_in_short(run: Run) -> None:
    train("columns", y=[f"c{i % 12}" for i in range(30)])
    out = run("predict", "run", "new.csv")[1]
    found = pd.read_csv("predictions.csv")["class"].value_counts()
    assert out.splitlines()[0].endswith(f" ({len(found)} of 12 classes)")
    assert len(json.loads(run("predict", "run", "new.csv", "--json")[1])["classes"]) == 12


# Larger than memory


def test_memory_does_not_grow_with_the_number_of_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 200)
    train("columns", id="key")
    peaks = []
    for rows in (400, 400, 8000):
        table = {"key": range(rows), "size": (SIZE * 300)[:rows], "shape": (["round", "odd"] * 4000)[:rows]}
        pd.DataFrame(table).to_csv("long.csv", index=False)
        tracemalloc.start()
        code = run("predict", "run", "long.csv", "--json", "-o", "out.parquet")[0]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (code, len(read_parquet("out.parquet")["key"])) == (0, rows)
    assert peaks[2] < 1.1 * peaks[1]


def test_on_a_terminal_rows_are_counted_on_a_bar(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Console(stderr=True, force_terminal=True, width=200)
    for module in (terminal, predict):
        monkeypatch.setattr(module, "err", shown)
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 4)
    train("columns")
    err = run("predict", "run", "new.csv")[2]
    assert "predicting" in err
    assert "11/11" in err


def test_without_a_terminal_a_line_tells_what_is_done_and_left(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 4)
    monkeypatch.setattr(predict, "_LINE_INTERVAL", 0.0)
    train("columns")
    err = run("predict", "run", "new.csv")[2]
    assert err.startswith("4 of 11 rows predicted, ")
    assert err.endswith("11 of 11 rows predicted, 0 s left")
    err = run("predict", "run", "FROM 'new.csv'")[2]
    assert err == "4 rows predicted 8 rows predicted 11 rows predicted"


def test_nothing_is_left_where_a_row_in_the_middle_is_wrong(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_BATCH_SIZE", 4)
    train("columns")
    pd.read_csv("new.csv").assign(size=[*SIZE[:9], "big", None]).to_csv("new.csv", index=False)
    Path("out.parquet").write_text("older", encoding="utf-8")
    assert run("predict", "run", "new.csv", "-o", "out.parquet") == (
        2,
        "",
        "error: column 'size' of new.csv has no number in row 10; fill in what is missing, or drop such rows",
    )
    assert Path("out.parquet").read_text(encoding="utf-8") == "older"
    assert sorted(p.name for p in Path().iterdir() if p.name.startswith(".")) == []


def test_help_has_two_examples(run: Run) -> None:
    code, out, _ = run("predict", "--help")
    assert code == 0
    assert " ".join(out.split()).count("Example: ngm predict run/") == 2
    assert "--json" in out


def test_sparse_rows_stay_sparse_on_their_way(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    shares = NGMClassifier.predict_proba
    monkeypatch.setattr(
        NGMClassifier, "predict_proba", lambda self, x: (seen.append(sp.issparse(x)), shares(self, x))[1]
    )
    train("words")
    run("predict", "run", "new.csv")
    assert seen == [True]
