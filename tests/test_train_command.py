"""`ngm train` and `ngm predict`, from a table to classes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from ngm import NGMClassifier, load, open_graph, save_graph, text_graph
from ngm.cli import main, predict, progress, terminal
from tests.test_text_estimators import make_texts
from tests.test_training import same_bits, weights

Run = Callable[..., tuple[int, str, str]]
TEXTS, TRUTH = make_texts(30)
NEW, RIGHT = make_texts(11, seed=9)
TRAIN = ("train", "texts.csv", "--text", "body", "--label", "topic", "--epochs", "2", "--network", "lstm")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder of its own with two small tables, and gives (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    topics = [topic if row < 20 else None for row, topic in enumerate(TRUTH)]
    pd.DataFrame({"id": range(100, 130), "body": TEXTS, "topic": topics}).to_csv("texts.csv", index=False)
    pd.DataFrame({"key": list("abcdefghijk"), "body": NEW, "topic": RIGHT}).to_csv("new.csv", index=False)

    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ngm", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, " ".join(told.err.split())

    return command


def labels() -> list[str | None]:
    return [topic if row < 20 else None for row, topic in enumerate(TRUTH)]


def test_train_is_fit_on_the_columns_and_a_graph_of_the_texts(run: Run) -> None:
    code, out, _ = run(*TRAIN, "--alpha", "0.3", "-k", "3", "--seed", "4", "--validation", "0.2", "-o", "here")
    assert code == 0
    settings = {"network": "lstm", "epochs": 2, "batch_size": None, "validation": 0.2, "seed": 4}
    alphas = {"alpha_ll": 0.3, "alpha_lu": 0.3, "alpha_uu": 0.3}
    graph = text_graph(TEXTS, 3, seed=4)
    expected = NGMClassifier(**settings, **alphas).fit(TEXTS, np.array(labels(), dtype=object), graph=graph)
    assert same_bits(weights(load("here")), weights(expected))
    told = " ".join(out.split())
    assert "labelled 20 texts (money 10, pets 10) unlabelled 10 texts" in told
    used = ", ".join(f"{count} {kind.upper()}" for kind, count in expected.edges_by_kind_.items())
    assert f"graph {graph.num_edges} edges: the 3 most similar texts by TF-IDF; trained on {used}" in told
    accuracy = expected.history_.epochs[expected.history_.best_epoch]["validation_accuracy"]
    assert f"accuracy {accuracy:.3f} on 4 validation texts, whose labels were hidden" in told
    assert told.endswith("Run folder: here (next: ngm predict here new.csv --text body)")


def test_json_has_counts_graph_and_accuracy_and_nothing_else_is_printed(run: Run) -> None:
    code, out, err = run(*TRAIN, "-o", "here", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["labeled"], found["unlabeled"], found["classes"]) == (20, 10, {"money": 10, "pets": 10})
    assert found["graph"]["edges"] == text_graph(TEXTS, 5).num_edges
    assert found["graph"]["origin"] == "the 5 most similar texts by TF-IDF"
    assert (found["epochs"], found["run"], found["accuracy_without_graph"]) == (2, "here", None)
    metrics = json.loads(Path("here/metrics.json").read_text(encoding="utf-8"))
    assert metrics["validation"]["accuracy"] == found["accuracy"]
    assert metrics["data"]["text"] == "body"
    assert "control" not in metrics


def test_a_graph_folder_is_used_as_it_is(run: Run) -> None:
    graph = text_graph(TEXTS, 2)
    save_graph("graph", graph, pd.read_csv("texts.csv"), id="id")
    code, out, _ = run(*TRAIN, "--graph", "graph", "--json")
    assert code == 0
    assert json.loads(out)["graph"]["edges"] == graph.num_edges
    assert json.loads(out)["graph"]["origin"] == "graph"
    nodes = pd.read_csv("texts.csv").assign(id=[*range(100, 128), 129, 128])
    save_graph("other", graph, nodes, id="id")
    assert run(*TRAIN, "--graph", "other") == (
        2,
        "",
        "error: row 28 of texts.csv is 128, node 28 of other is 129; a node is a row, so build the graph from "
        "this table",
    )
    save_graph("small", text_graph(TEXTS[:9], 2))
    assert run(*TRAIN, "--graph", "small") == (
        2,
        "",
        "error: small has 9 nodes, texts.csv has 30 rows; a node is a row, so build the graph from this table",
    )
    assert len(open_graph("graph").graph) == 30


def test_control_trains_again_without_the_graph_for_as_many_steps(run: Run) -> None:
    words = ("--batch-size", "16", "--validation", "0.2", "--control")
    code, out, err = run(*TRAIN, *words, "--recipe", "strong", "--json")
    assert (code, err) == (0, "")
    found, metrics = json.loads(out), json.loads(Path("run/metrics.json").read_text(encoding="utf-8"))
    assert metrics["control"]["with_graph"]["mean"] == found["accuracy"]
    assert metrics["control"]["without_graph"]["mean"] == found["accuracy_without_graph"]
    assert metrics["labeled"] > 16  # softly labelled ones too; 4 of 20 are validated on
    told = " ".join(run(*TRAIN, *words)[1].split())
    shown = r"\d\.\d{3} on 4 validation texts, whose labels were hidden"
    assert re.search(rf"accuracy {shown} without the graph {shown}", told)


def test_the_control_has_the_settings_of_the_other(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[NGMClassifier] = []
    fit = NGMClassifier.fit
    monkeypatch.setattr(
        NGMClassifier, "fit", lambda self, *args, **kwargs: (made.append(self), fit(self, *args, **kwargs))[1]
    )
    assert run(*TRAIN, "--recipe", "paper", "--batch-size", "8", "--cut", "0.2", "--control", "--seed", "3")[0] == 0
    main_, plain = made
    assert (plain.seed, plain.validation, plain.folder, plain.settings_.learning_rate) == (3, 0.1, None, 0.002)
    assert plain.settings_.cut == main_.settings_.cut == 0.2
    edges = sum(main_.edges_by_kind_.values())
    assert main_.n_iter_ * -(-edges // 8) == pytest.approx(plain.n_iter_ * -(-18 // 8), abs=2)


def test_training_goes_on_with_resume(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*TRAIN[:-4], "--epochs", "3", "--network", "lstm", "-o", "whole")[0] == 0
    show = progress.Progress.__call__

    def interrupted(self: progress.Progress, epoch: dict[str, float]) -> None:
        show(self, epoch)
        raise KeyboardInterrupt

    monkeypatch.setattr(progress.Progress, "__call__", interrupted)
    code, _, err = run(*TRAIN[:-4], "--epochs", "3", "--network", "lstm", "-o", "parts")
    assert code == 130
    assert err.endswith("1 epoch is kept; the same command with --resume goes on")
    monkeypatch.setattr(progress.Progress, "__call__", show)
    assert run(*TRAIN[:-4], "--epochs", "3", "--network", "lstm", "-o", "parts", "--resume")[0] == 0
    whole, parts = (Path(name, "weights.safetensors").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def test_progress_has_terms_accuracy_and_time_left(run: Run) -> None:
    _, _, err = run(*TRAIN, "--alpha", "0.1")
    number = r"\d+\.\d{3}"
    line = rf"training: cost {number} \(labels {number}(, (LL|LU|UU) {number})+\), accuracy {number}, \d+ s left"
    assert re.fullmatch(rf"epoch 1 of 2, {line} epoch 2 of 2, {line}", err)


def test_on_a_terminal_progress_is_a_bar(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Console(stderr=True, force_terminal=True, width=200)
    for module in (terminal, progress):
        monkeypatch.setattr(module, "err", shown)
    _, _, err = run(*TRAIN)
    assert "2/2" in err
    assert "epoch 2 of 2" not in err
    assert "training: cost" in err


def test_empty_and_blank_labels_are_unlabelled_and_numbers_are_classes(run: Run) -> None:
    table = pd.DataFrame({"body": TEXTS, "topic": [1, 2] * 10 + [None] * 10}).astype({"topic": "Int64"})
    table.to_csv("texts.csv", index=False)
    found = json.loads(run(*TRAIN, "--no-graph", "--json")[1])
    assert (found["classes"], found["unlabeled"], found["graph"]) == ({"1": 10, "2": 10}, 10, None)
    Path("texts.csv").write_text("body,topic\n" + "".join(f"{t},{'ab '[i % 3]}\n" for i, t in enumerate(TEXTS)))
    found = json.loads(run(*TRAIN, "--no-graph", "--json")[1])
    assert (found["classes"], found["unlabeled"]) == ({"a": 10, "b": 10}, 10)


def test_warnings_of_the_library_are_notes(run: Run) -> None:
    pd.DataFrame({"body": [*TEXTS[:29], ""], "topic": labels()}).to_csv("texts.csv", index=False)
    _, _, err = run(*TRAIN, "-k", "3")
    assert "note: 1 text is empty (row 29); to the network such texts are blank" in err
    found = json.loads(run(*TRAIN, "-k", "3", "--json")[1])
    assert found["notes"] == [
        "1 of 30 texts left without edges: empty (row 29)",
        "1 text is empty (row 29); to the network such texts are blank",
    ]


def test_lines_that_are_not_utf_8_are_left_out_and_noted(run: Run) -> None:
    lines = [f"{text},{topic or ''}" for text, topic in zip(TEXTS, labels(), strict=True)]
    Path("texts.csv").write_bytes("\n".join(["body,topic", *lines[:2], "café,pets", *lines[2:]]).encode("latin-1"))
    note = "1 lines of texts.csv did not fit and were left out: line 4: 'caf??pets' (not UTF-8)"
    assert f"note: {note} " in run(*TRAIN)[2]
    found = json.loads(run(*TRAIN, "--json")[1])
    assert (found["labeled"], found["unlabeled"], found["notes"]) == (20, 10, [note])


# Prediction


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predictions_are_those_of_the_loaded_network_in_pieces(
    ending: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict, "_AT_ONCE", 4)
    run(*TRAIN)
    code, out, err = run("predict", "run", "new.csv", "--text", "body", "--id", "key", "-o", f"out.{ending}")
    assert (code, err) == (0, "")
    found = pd.read_csv("out.csv") if ending == "csv" else pd.DataFrame(read_parquet("out.parquet"))
    model = load("run")
    assert found.columns.tolist() == ["key", "class", "probability"]
    assert found["key"].tolist() == list("abcdefghijk")
    assert found["class"].tolist() == model.predict(NEW).tolist()
    np.testing.assert_allclose(found["probability"], model.predict_proba(NEW).max(axis=1), atol=1e-5)
    assert out.splitlines()[-1] == f"Predictions: out.{ending}"
    assert sorted(p.name for p in Path().iterdir() if p.name.startswith(".")) == []


def read_parquet(file: str) -> dict[str, list[object]]:
    from ngm import read_table

    table = read_table(file)
    return {name: table.column(name).tolist() for name in table.columns}


def test_predict_counts_classes_and_tells_the_accuracy(run: Run) -> None:
    run(*TRAIN)
    code, out, err = run("predict", "run", "new.csv", "--label", "topic", "--json")
    assert (code, err) == (0, "")
    found, said = json.loads(out), load("run").predict(NEW)
    assert found["classes"] == {c: int((said == c).sum()) for c in ("money", "pets")}
    assert found["accuracy"] == pytest.approx((said == RIGHT).mean())
    assert found["predictions"] == "predictions.csv"
    assert pd.read_csv("predictions.csv")["row"].tolist() == list(range(11))
    out = run("predict", "run", "new.csv", "--label", "topic")[1]
    assert f"accuracy {found['accuracy']:.3f} on 11 labelled texts" in out


def test_whole_numbers_stay_so_in_parquet(run: Run) -> None:
    pd.DataFrame({"body": TEXTS, "topic": [3, 7] * 15}).to_csv("texts.csv", index=False)
    run(*TRAIN, "--no-graph")
    run("predict", "run", "texts.csv", "-o", "out.parquet")
    found = read_parquet("out.parquet")
    assert found["row"] == list(range(30))
    assert set(found["class"]) <= {3, 7}


def test_texts_that_say_nothing_are_noted_by_their_rows_in_the_table(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "_AT_ONCE", 4)
    run(*TRAIN)
    pd.DataFrame({"body": [*NEW[:6], None, "unheard"]}).to_csv("gaps.csv", index=False)
    note = "2 of 8 texts have no word of its vocabulary (rows 6, 7); what is predicted for them rests on nothing"
    assert run("predict", "run", "gaps.csv")[2] == f"note: {note}"
    assert json.loads(run("predict", "run", "gaps.csv", "--json")[1])["notes"] == [note]


# Mistakes


WRONG = [
    (
        ("train", "texts.csv", "--text", "bodi", "--label", "topic"),
        "texts.csv has no column 'bodi' (did you mean 'body'?); its columns are id, body, topic",
    ),
    (("train", "texts.csv", "--text", "body"), "give --text and --label; the columns of texts.csv are id, body, topic"),
    (
        ("train", "texts.csv", "--text", "id", "--label", "topic"),
        "column 'id' of texts.csv holds int64, not text; choose another",
    ),
    (
        (*TRAIN, "--network", "lstmm"),
        "--network is 'lstmm' (did you mean 'lstm'?); choose from charcnn, charcnn-small, charcnn-large, lstm",
    ),
    ((*TRAIN, "--recipe", "week"), "--recipe is 'week'; choose from paper, strong"),
    (
        (*TRAIN, "--recipe", "strong", "--no-graph"),
        "--recipe strong learns from a graph, and --no-graph is given; leave out one of them",
    ),
    (
        (*TRAIN, "--patience", "2", "--validation", "0"),
        "--patience waits for accuracy on validation texts, and --validation is 0; give a share",
    ),
    ((*TRAIN, "--graph", "g", "--no-graph"), "both --graph and --no-graph are given; choose one"),
    ((*TRAIN, "--graph", "g", "-k", "3"), "-k is for a graph made here, and --graph is given; leave it out"),
    ((*TRAIN, "--alpha", "1", "--no-graph"), "--alpha is about a graph, and --no-graph is given; leave it out"),
    ((*TRAIN, "--control", "--no-graph"), "--control is about a graph, and --no-graph is given; leave it out"),
    (
        (*TRAIN, "--control", "--validation", "0"),
        "--control compares accuracies on validation texts, and --validation is 0; give a share",
    ),
    (
        (*TRAIN, "--network", "charcnn", "--no-graph", "--vectors", "v.txt"),
        "--vectors has nothing to do: it is for a graph made here, for lstm and for strong",
    ),
    ((*TRAIN, "-k", "30"), "k is 30 and x has 30 rows; k must be at least 1 and below the number of rows"),
    ((*TRAIN, "--vectors", "no.txt"), "cannot find the word vectors no.txt; give a text, .bin or .npz file"),
    (
        (*TRAIN, "--vectors", "wide.txt"),
        "wide.txt, line 2, has 3 numbers and line 1 has 2; all words need the same width",
    ),
    ((*TRAIN, "--epochs", "0"), "epochs is 0; it must be a whole number greater than 0"),
    ((*TRAIN, "-o", "mine"), "mine holds other files and no run; name a new or empty folder"),
    (
        ("train", "one.csv", *TRAIN[2:]),
        "y holds one class only ('a'); a classifier needs labelled rows of at least two",
    ),
    (
        ("train", "none.csv", *TRAIN[2:]),
        "none of the 3 rows has a label (-1, None and NaN mean unlabelled); label some rows",
    ),
    (
        ("train", "gap.csv", *TRAIN[2:], "--no-graph"),
        "1 text is labelled and empty (row 1), which would teach the network what to say of texts of which "
        "it sees nothing; drop these rows, or their labels",
    ),
    (
        ("train", "latin.csv", *TRAIN[2:]),
        "none of the 2 rows of latin.csv can be used: line 2: 'caf??a' (not UTF-8); line 3: 'th??b' (not UTF-8)",
    ),
    (("train", "not.here", *TRAIN[2:]), "not.here is not there; give a file, a folder or a query"),
    (("predict", "no", "new.csv"), "no is not a run folder: it has no config.json"),
    (
        ("predict", "table", "new.csv", "--text", "body"),
        "table holds an NGMClassifier with network 'ffnn'; ngm predict gives classes to texts, so use ngm.load for it",
    ),
    (
        ("predict", "run", "new.csv", "-o", "out.txt"),
        "--output is 'out.txt'; name a file that ends in .csv or .parquet",
    ),
    (("predict", "run", "new.csv", "-o", "new.csv"), "--output is 'new.csv', the table itself; name another file"),
    (("predict", "python", "new.csv"), "give --text; the columns of new.csv are key, body, topic"),
    (
        ("predict", "python", "new.csv", "--text", "body", "--id", "kee"),
        "new.csv has no column 'kee' (did you mean 'key'?); its columns are key, body, topic",
    ),
]


@pytest.mark.parametrize(("words", "message"), WRONG, ids=[message[:40] for _, message in WRONG])
def test_a_mistake_ends_in_one_line_and_exit_code_2(words: tuple[str, ...], message: str, run: Run) -> None:
    Path("wide.txt").write_text("cat 1 2\ndog 1 2 3\n", encoding="utf-8")
    Path("one.csv").write_text("body,topic\na b,a\nc d,a\ne f,\n" + "g h,\n" * 5, encoding="utf-8")
    Path("none.csv").write_text("body,topic\na b,\nc d,\ne f,\n", encoding="utf-8")
    Path("gap.csv").write_text("body,topic\na b,x\n,y\ne f,x\n", encoding="utf-8")
    Path("latin.csv").write_bytes("body,topic\ncafé,a\nthé,b\n".encode("latin-1"))
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("keep", encoding="utf-8")
    if words[0] == "predict" and words[1] == "table":
        NGMClassifier(hidden=(2,), epochs=1).fit(np.eye(4, dtype=np.float32), [0, 1, 0, 1]).save("table")
    if words[0] == "predict" and words[1] == "python":
        NGMClassifier(network="charcnn", epochs=1).fit(["a", "b"], [0, 1]).save("python")
    assert run(*words) == (2, "", f"error: {message}")
    assert not Path("run").exists()
    assert not Path("predictions.csv").exists()


@pytest.mark.parametrize("command", ["train", "predict"])
def test_help_has_an_example(command: str, run: Run) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"Example: ngm {command}" in " ".join(out.split())
    assert "--json" in out
