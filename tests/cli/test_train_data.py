"""What `ngm train` learns from: columns, words, the graph itself; classes, numbers, several labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ngm import Graph, NGMClassifier, NGMRegressor, inputs, knn_graph, load, read_graph, read_table, save_graph
from ngm.io.node_records import labels_in, read_node_records
from ngm.io.run_folder import Run as RunFolder
from ngm.report import page_of
from ngm.text import tfidf_rows
from tests.commands import Run, runner
from tests.fits import same_bits, weights
from tests.train_tables import TEXTS, labels

RNG = np.random.default_rng(3)
A, B = RNG.normal(5, 2, 40), RNG.normal(-100, 30, 40)
KIND = np.where(A + B / 15 > -1.7, "high", "low")
GRAPH = Graph.from_edges([[i, j] for i in range(40) for j in range(i) if KIND[i] == KIND[j] and (i + j) % 7 == 0])
FAST = ("--epochs", "2", "--hidden", "6", "--no-report", "--overwrite", "--json")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder of its own with a table of numbers and two graph folders."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"name": [f"n{i}" for i in range(40)], "a": A, "b": B, "kind": known()})
    table["price"] = np.where(np.arange(40) < 30, A * 2, np.nan)
    table.to_csv("rows.csv", index=False)
    save_graph("graph", GRAPH, table.assign(body=(TEXTS * 2)[:40]), id="name", label="kind")
    save_graph("bare", GRAPH, table[["name", "kind"]], id="name", label="kind")
    pd.DataFrame({"id": range(100, 130), "body": TEXTS, "topic": labels()}).to_csv("texts.csv", index=False)
    return runner(monkeypatch, capsys)


def known() -> list[str | None]:
    return [kind if row < 20 else None for row, kind in enumerate(KIND)]


def y() -> np.ndarray:
    return np.array(known(), dtype=object)


def scaled(*columns: np.ndarray) -> np.ndarray:
    return np.stack([(c - c.mean()) / c.std() for c in columns], axis=1).astype(np.float32)


def model(**settings: object) -> NGMClassifier:
    return NGMClassifier(**{"hidden": (6,), "epochs": 2, **settings})


def train(run: Run, *words: str) -> dict[str, object]:
    code, out, err = run("train", *words, *FAST)
    assert (code, err) == (0, "")
    return json.loads(out)


def test_columns_are_scaled_and_joined_to_the_nearest_rows(run: Run) -> None:
    found = train(run, "rows.csv", "--columns", "a,b", "--label", "kind", "-k", "4")
    x = scaled(read_table("rows.csv").column("a"), read_table("rows.csv").column("b"))
    graph = knn_graph(x, 4, "euclidean")
    assert same_bits(weights(load("run")), weights(model().fit(x, y(), graph=graph)))
    assert found["graph"]["origin"] == "the 4 most similar rows by distance"
    assert (found["network"], found["recipe"], found["features"]) == ("ffnn", "auto", "2 numbers a row, of a, b")
    assert (found["task"], found["id"]) == ("class", None)


def test_vectors_are_left_as_they_are_and_joined_by_cosine(run: Run) -> None:
    vectors = RNG.normal(size=(40, 3)).astype(np.float32)
    Path("rows.jsonl").write_text(
        "\n".join(json.dumps({"v": v, "kind": k}) for v, k in zip(vectors.tolist(), known(), strict=True)), "utf-8"
    )
    found = train(run, "rows.jsonl", "--columns", "v", "--label", "kind", "--alpha", "0.1")
    alphas = {"alpha_ll": 0.1, "alpha_lu": 0.1, "alpha_uu": 0.1}
    expected = model(**alphas).fit(vectors, y(), graph=knn_graph(vectors, 5))
    assert same_bits(weights(load("run")), weights(expected))
    assert found["graph"]["origin"] == "the 5 most similar rows by cosine"


def test_a_graph_folder_is_table_graph_ids_and_labels_at_once(run: Run) -> None:
    found = train(run, "graph", "--columns", "a")
    assert found["graph"] == {
        "nodes": 40,
        "edges": GRAPH.num_edges,
        "origin": "graph",
        "edges_used": load("run").edges_by_kind_,
    }
    assert (found["label"], found["id"]) == ("kind", "name")
    x = scaled(A)
    assert same_bits(weights(load("run")), weights(model().fit(x, y(), graph=GRAPH)))
    alone = train(run, "graph", "--columns", "a", "--no-graph", "-o", "alone")
    assert alone["graph"] is None
    assert same_bits(weights(load("alone")), weights(model().fit(x, y())))


def test_texts_for_a_network_of_numbers_are_weighed_words(run: Run) -> None:
    found = train(run, "graph", "--text", "body", "--network", "ffnn", "--recipe", "paper")
    expected = model(recipe="paper").fit(tfidf_rows((TEXTS * 2)[:40]), y(), graph=GRAPH)
    torch.testing.assert_close(weights(load("run")), weights(expected), rtol=0, atol=1e-5)
    assert found["features"] == f"{expected.n_features_in_} words of body, weighed by TF-IDF"


def test_without_features_the_graph_itself_is_the_input(run: Run) -> None:
    found = train(run, "bare", "--recipe", "paper")
    expected = model(recipe="paper").fit(inputs.adjacency_rows(GRAPH), y(), graph=GRAPH)
    assert same_bits(weights(load("run")), weights(expected))
    assert (found["input"], found["features"]) == ("rows", "the graph itself: 40 numbers a node, by rows")
    found = train(run, "graph", "--input", "netmf", "--recipe", "paper")
    expected = model(recipe="paper").fit(inputs.netmf(GRAPH, 40), y(), graph=GRAPH)
    assert same_bits(weights(load("run")), weights(expected))
    found = train(run, "rows.csv", "--graph", "graph", "--input", "clusters", "--label", "kind", "--recipe", "paper")
    assert (found["input"], found["graph"]["origin"]) == ("clusters", "graph")


@pytest.mark.parametrize(
    "words",
    [("rows.csv", "--columns", "a,b", "--label", "kind"), ("graph", "--columns", "a"), ("bare",)],
    ids=["columns", "graph folder", "graph alone"],
)
def test_few_labels_are_all_trained_on_and_the_score_of_the_folds_is_told(words: tuple[str, ...], run: Run) -> None:
    found = train(run, *words)
    report = load("run").teachers_
    assert (found["validation_rows"], found["value"]) == (0, None)
    assert (found["recipe"], found["recipe_followed"]) == ("auto", "auto")
    teachers = found["teachers"]
    assert (teachers["held_out"], teachers["score"], tuple(teachers["interval"])) == (20, report.score, report.interval)
    assert teachers["weights"] == report.weights
    low, high = report.interval
    told = " ".join(run("train", *words, *FAST[:-1])[1].split())
    assert (
        f"teachers accuracy {report.score:.3f} (95 % interval {low:.3f} to {high:.3f}) on 20 labels held out from them"
        in told
    )


def test_thirty_labels_a_class_leave_some_to_validate_on(run: Run) -> None:
    table = pd.concat([pd.DataFrame({"a": A, "b": B, "kind": KIND})] * 2)
    table.to_csv("many.csv", index=False)
    found = train(run, "many.csv", "--columns", "a,b", "--label", "kind", "--no-graph")
    assert found["validation_rows"] == 8
    assert found["teachers"] is None
    table.iloc[:-21].to_csv("fewer.csv", index=False)
    words = ("fewer.csv", "--columns", "a,b", "--label", "kind", "--no-graph")
    assert train(run, *words)["validation_rows"] == 0
    told = " ".join(run("train", *words, *FAST[:-1])[1].split())
    assert "accuracy not measured: no rows were held out" in told


def test_numbers_have_teachers_with_a_graph_and_the_summary_says_so(run: Run) -> None:
    words = ("rows.csv", "--columns", "a,b", "--label", "price")
    found = train(run, *words)
    assert (found["recipe"], found["recipe_followed"]) == ("auto", "auto")
    assert found["teachers"]["held_out"] == 30
    low, high = found["teachers"]["interval"]
    assert low <= found["teachers"]["score"] <= high
    assert f"R² {found['teachers']['score']:.3f}" in " ".join(run("train", *words, *FAST[:-1])[1].split())


def test_numbers_without_a_graph_are_learned_as_paper_does_and_the_summary_says_so(run: Run) -> None:
    words = ("rows.csv", "--columns", "a,b", "--label", "price", "--no-graph")
    found = train(run, *words)
    assert (found["recipe"], found["recipe_followed"], found["teachers"]) == ("auto", "paper", None)
    assert "recipe auto (paper without a graph)" in " ".join(run("train", *words, *FAST[:-1])[1].split())


def test_numbers_with_a_fraction_are_learned_as_numbers(run: Run) -> None:
    found = train(run, "rows.csv", "--columns", "a,b", "--label", "price", "--control")
    price = pd.read_csv("rows.csv")["price"].to_numpy()
    expected = NGMRegressor(hidden=(6,), epochs=2, validation=0.1)
    x = scaled(A, B)
    expected.fit(x, price, graph=knn_graph(x, 5, "euclidean"))
    assert same_bits(weights(load("run").network_), weights(expected.network_))
    best = expected.history_.epochs[expected.history_.best_epoch]
    assert (found["task"], found["metric"]) == ("number", "negative_squared_error")
    assert found["value"] == pytest.approx(best["validation_negative_squared_error"])
    assert found["control"]["without_graph"]["metric"] == "negative_squared_error"
    assert (found["labeled"], found["classes"], found["accuracy"]) == (30, {}, None)
    code, out, err = run("train", "rows.csv", "--columns", "a,b", "--label", "price", "--validation", "0.1", *FAST[:-1])
    assert code == 0
    said = f"squared error of scaled numbers {-found['value']:.3f}"
    assert f"{said} on 3 validation rows, whose labels were hidden" in " ".join(out.split())
    assert said in err


def test_a_column_called_target_is_of_numbers_all_the_same(run: Run) -> None:
    pd.DataFrame({"a": A, "target": [f"{v:.1f}" for v in A]}).to_csv("rows.csv", index=False)  # ids are kept as text
    assert train(run, "rows.csv", "--columns", "a", "--label", "target")["task"] == "number"
    pd.DataFrame({"a": A, "target": [1.0, 2.0] * 20}).to_csv("rows.csv", index=False)
    found = train(run, "rows.csv", "--columns", "a", "--label", "target")
    assert (found["task"], found["classes"]) == ("class", {"1": 20, "2": 20})


@pytest.mark.parametrize(
    ("first", "second"), [("+", "-"), ("E1", "E2"), (".", "x"), ("01", "02"), ("1", "01"), ("9" * 20, "9" * 19 + "8")]
)
def test_classes_are_called_as_they_are_written(first: str, second: str, run: Run) -> None:
    lines = [f"{a},{second if a > 5 else first}" for a in A]
    Path("rows.csv").write_text("\n".join(["a,kind", *lines, "0, ", ""]), encoding="utf-8")
    found = train(run, "rows.csv", "--columns", "a", "--label", "kind")
    assert found["task"] == "class"
    assert found["classes"] == {first: int((A <= 5).sum()), second: int((A > 5).sum())}
    assert (found["unlabeled"], found["notes"]) == (1, [])
    code, out, _ = run("predict", "run", "rows.csv", "--label", "kind", "-o", "p.csv", "--json")
    assert (code, json.loads(out)["rows"]) == (0, 41)
    said = pd.read_csv("p.csv", dtype=str)["class"].to_numpy()[:40]
    truth = np.where(A > 5, second, first)
    assert json.loads(out)["accuracy"] == pytest.approx((said == truth).mean())


def test_numbers_beside_blank_cells_are_numbers_and_classes_are_texts_on_request(run: Run) -> None:
    price = ["1.5", " ", "+2", "nan", ".5"] * 8
    Path("rows.csv").write_text(
        "\n".join(["a,price", *(f"{a},{p}" for a, p in zip(A, price, strict=True)), ""]), "utf-8"
    )
    found = train(run, "rows.csv", "--columns", "a", "--label", "price")
    assert (found["task"], found["labeled"], found["unlabeled"]) == ("number", 24, 16)
    price = ["1", " ", "2", "2", "1"] * 8
    Path("rows.csv").write_text(
        "\n".join(["a,price", *(f"{a},{p}" for a, p in zip(A, price, strict=True)), ""]), "utf-8"
    )
    for words in ((), ("--task", "class")):
        found = train(run, "rows.csv", "--columns", "a", "--label", "price", *words)
        assert (found["task"], found["classes"], found["unlabeled"]) == ("class", {"1": 16, "2": 16}, 8)


def test_the_label_minus_one_is_noted(run: Run) -> None:
    pd.DataFrame({"a": A, "kind": [-1] * 10 + [1, 2] * 15}).to_csv("rows.csv", index=False)
    found = train(run, "rows.csv", "--columns", "a", "--label", "kind")
    assert found["notes"] == [
        "10 rows have the label -1, which is taken for unlabelled; write it in another way if it is a class"
    ]
    assert (found["labeled"], found["unlabeled"]) == (30, 10)


@pytest.mark.parametrize("marks", [(1.0, 0.0), (1, 0), (True, False), ("validation", "train"), (1.0, None)])
def test_validation_rows_are_marked_in_any_of_these_ways(marks: tuple[object, object], run: Run) -> None:
    split = [marks[row >= 4] for row in range(40)]
    pd.read_csv("rows.csv").assign(split=split).to_csv("rows.csv", index=False)
    found = train(run, "rows.csv", "--columns", "a", "--label", "kind", "--validation-column", "split")
    assert found["validation_rows"] == 4


def test_numbers_with_leading_zeros_and_few_numbers_among_texts_are_categories(run: Run) -> None:
    zips, grades = ["01234", "98765"] * 20, ["1", "2", "3", "K"] * 10  # three in four are numbers
    pd.DataFrame({"zip": zips, "grade": grades, "kind": ["x", "y"] * 20}).to_csv("rows.csv", index=False)
    found = train(run, "rows.csv", "--columns", "zip,grade", "--label", "kind")
    assert found["features"] == "6 numbers a row, of zip, grade"


def test_many_whole_numbers_are_classes_with_a_note_or_numbers_on_request(run: Run) -> None:
    pd.DataFrame({"a": [*A, *A], "count": [i % 30 for i in range(80)]}).to_csv("rows.csv", index=False)
    found = train(run, "rows.csv", "--columns", "a", "--label", "count")
    assert found["notes"] == [
        "'count' has 30 different whole numbers in 80 labelled rows, each taken for a class; if they are quantities, "
        "give --task number"
    ]
    found = train(run, "rows.csv", "--columns", "a", "--label", "count", "--task", "number")
    assert (found["task"], found["notes"]) == ("number", [])


def test_names_of_several_labels_may_hold_anything(run: Run) -> None:
    tags = ['a; b|"c"', "[d]|a", "a; b", '"c"|[d]'] * 10
    pd.DataFrame({"a": A, "tags": tags}).to_csv("tags.csv", index=False)
    told = ("--columns", "a", "--label", "tags", "--label-separator", "|", "-o", "run")
    code, _, said = run("train", "tags.csv", *told, *FAST[:4], "--validation", "0.2")
    assert code == 0, said
    records = read_node_records(RunFolder.open("run"))
    assert records is not None
    assert [set(labels_in(label)) for label in records.label[:2]] == [{"a; b", '"c"'}, {"[d]", "a"}]
    page = page_of(["run"])
    scores = next(table for section in page.sections for table in section.tables if table.key == "labels")
    assert [row[0] for row in scores.rows] == ['"c"', "[d]", "a", "a; b"]
    space = next(section.space for section in page.sections if section.space is not None)
    assert '"c"; a; b' in space.classes


def test_several_labels_a_row_are_split_or_listed(run: Run) -> None:
    tags = ["x;y", "y", " x ; z ", "z;", None, ""] + ["x", "y;z"] * 17
    pd.DataFrame({"a": A, "tags": tags}).to_csv("tags.csv", index=False)
    found = train(run, "tags.csv", "--columns", "a", "--label", "tags", "--task", "labels")
    assert found["label_names"] == ["x", "y", "z"]
    assert found["classes"] == {"x": 2 + 17, "y": 2 + 17, "z": 2 + 17}
    assert (found["unlabeled"], found["validation_rows"], found["recipe"]) == (2, 0, "auto")
    records = read_node_records(RunFolder.open("run"))
    assert records is not None
    assert [v and labels_in(v) for v in records.label[:5]] == [["x", "y"], ["y"], ["x", "z"], ["z"], None]
    assert {name for said in records.predicted for name in labels_in(said)} <= {"x", "y", "z"}
    pd.DataFrame({"a": A, "tags": [None if t is None else t.replace(";", "|") for t in tags]}).to_csv("bars.csv")
    bars = train(run, "bars.csv", "--columns", "a", "--label", "tags", "--label-separator", "|", "-o", "bars")
    assert (bars["task"], bars["label_names"], bars["label_separator"]) == ("labels", ["x", "y", "z"], "|")
    assert same_bits(weights(load("run")), weights(load("bars")))
    lists = [[p.strip() for p in t.split(";") if p.strip()] if t else None for t in tags]
    Path("tags.jsonl").write_text(
        "\n".join(json.dumps({"a": a, "tags": t}) for a, t in zip(A.tolist(), lists, strict=True)), "utf-8"
    )
    assert train(run, "tags.jsonl", "--columns", "a", "--label", "tags", "-o", "lists")["task"] == "labels"
    assert same_bits(weights(load("run")), weights(load("lists")))


def test_a_column_may_mark_validation_rows_and_test_rows(run: Run) -> None:
    split = ["train"] * 14 + ["Validation"] * 4 + ["test"] * 2 + [None] * 20
    pd.read_csv("rows.csv").assign(split=split).to_csv("rows.csv", index=False)
    found = train(run, "rows.csv", "--columns", "a", "--label", "kind", "--validation-column", "split", "--no-graph")
    assert found["notes"] == ["2 rows are marked 'test' in 'split'; their labels are hidden"]
    assert (found["validation_rows"], found["labeled"]) == (4, 18)
    hidden = y()
    hidden[18:20] = None
    expected = model(validation=np.arange(14, 18)).fit(scaled(A), hidden)
    assert same_bits(weights(load("run")), weights(expected))
    pd.read_csv("rows.csv").assign(split=[row in (3, 39) for row in range(40)]).to_csv("rows.csv", index=False)
    words = ("rows.csv", "--columns", "a", "--label", "kind", "--validation-column", "split")
    assert run("train", *words, *FAST)[2] == (
        "error: row 39 of rows.csv is marked for validation in 'split' and has no label"
    )


@pytest.mark.parametrize("option", [("--graph", "bare"), ("-k", "3"), ("--delimiter", ";"), ("--no-header",)])
def test_options_of_tables_are_refused_beside_a_graph_folder(option: tuple[str, ...], run: Run) -> None:
    said = "--header" if option[0] == "--no-header" else option[0]
    assert run("train", "graph", "--columns", "a", *option) == (
        2,
        "",
        f"error: {said} is for tables, and graph is a graph folder; leave it out",
    )


def test_a_graph_folder_without_labels_or_features_says_what_to_give(run: Run) -> None:
    read_graph({"src": ["a"], "dst": ["b"]}, folder="edges")
    assert run("train", "edges")[2].startswith("error: give --label; the columns of edges")
    GRAPH.save("plain")
    assert run("train", "plain")[2] == (
        "error: plain has no table of nodes, so no labels; give it to ngm ingest as --nodes"
    )
    assert run("train", "graph")[2] == (
        "error: give --text, --columns or --input; the columns of graph/nodes.parquet are name, a, b, kind, price, body"
    )


# A dry run


def test_a_dry_run_says_what_would_happen_and_writes_nothing(run: Run) -> None:
    before = sorted(Path().rglob("*"))
    words = ("rows.csv", "--columns", "a,b", "--label", "kind", "--alpha", "0.2", "--batch-size", "8")
    code, out, err = run("train", *words, "--dry-run", "--log", "csv", *FAST)
    assert (code, err, sorted(Path().rglob("*"))) == (0, "", before)
    plan = json.loads(out)
    real = train(run, *words)
    for name in ("rows", "labeled", "unlabeled", "classes", "features", "network", "recipe", "weights", "task"):
        assert plan[name] == real[name]
    assert plan["edges"] == real["graph"]["edges_used"]
    fitted = load("run")
    assert (plan["epochs"], plan["validation"], plan["batch_size"]) == (2, real["validation_rows"], 8)
    assert plan["steps"] == -(-sum(fitted.edges_by_kind_.values()) // 8)
    assert plan["seconds"] > 0
    assert plan["dry_run"] is True
    names = {Path(name).name for name in plan["files"]}
    assert names - {"log.csv", "report.html"} == {path.name for path in Path("run").iterdir()}


def test_a_dry_run_is_told_in_a_table(run: Run) -> None:
    code, out, _ = run("train", "graph", "--columns", "a", "--dry-run", "--control", "--seeds", "2")
    told = " ".join(out.split())
    assert code == 0
    assert "learned kind (one class a row) from 1 numbers a row, of a labelled 20 rows" in told
    assert "roughly" in told
    assert "for 4 trainings" in told
    assert told.endswith("Nothing was written; leave out --dry-run to train.")
    assert "teachers would label up to 40 nodes by it" in " ".join(run("train", "bare", "--dry-run")[1].split())


def test_a_dry_run_finds_mistakes_too(run: Run) -> None:
    words = ("rows.csv", "--columns", "a", "--label", "kind", "--dry-run")
    assert run("train", *words, "--epochs", "0")[::2] == (
        2,
        "error: --epochs is 0; it must be a whole number greater than 0",
    )
    assert not Path("run").exists()
