"""`ngm train`, from a table to a run folder."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from ngm import NGMClassifier, load, open_graph, read_table, save_graph, text_graph
from ngm.cli import progress, terminal
from ngm.estimators.control import without_graph
from ngm.features import Features
from ngm.io.node_records import read_node_records
from ngm.io.run_folder import Run as RunFolder
from tests.commands import NO_ENCODER, Run, runner
from tests.fits import same_bits, weights
from tests.train_tables import TEXTS, TRAIN, config, labels


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder of its own with a small table, and gives (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": range(100, 130), "body": TEXTS, "topic": labels()}).to_csv("texts.csv", index=False)
    return runner(monkeypatch, capsys)


def test_train_is_fit_on_the_columns_and_a_graph_of_the_texts(run: Run) -> None:
    words = ("--recipe", "paper", "--alpha", "0.3")
    code, out, _ = run(*TRAIN, *words, "-k", "3", "--seed", "4", "--validation", "0.2", "-o", "here")
    assert code == 0
    settings = {"network": "lstm", "recipe": "paper", "epochs": 2, "validation": 0.2, "seed": 4}
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
    code, out, err = run(*TRAIN, "--validation", "0.1", "-o", "here", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["labeled"], found["unlabeled"], found["classes"]) == (20, 10, {"money": 10, "pets": 10})
    assert found["graph"]["edges"] == text_graph(TEXTS, 5).num_edges
    assert found["graph"]["origin"] == "the 5 most similar texts by TF-IDF"
    assert (found["epochs"], found["run"], found["accuracy_without_graph"]) == (2, "here", None)
    metrics = json.loads(Path("here/metrics.json").read_text(encoding="utf-8"))
    assert metrics["validation"]["accuracy"] == found["accuracy"]
    assert (metrics["data"]["text"], metrics["data"]["id"], metrics["data"]["task"]) == ("body", "id", "class")
    assert "control" not in metrics
    assert found["report"] is None


def test_the_run_folder_has_names_features_and_a_report_and_says_so(run: Run) -> None:
    words = [word for word in TRAIN if word != "--no-report"]
    code, out, _ = run(*words, "-o", "here")
    assert code == 0
    records = read_node_records(RunFolder.open("here"))
    assert records is not None
    assert records.ids.tolist() == [str(i) for i in range(100, 130)]
    assert records.texts.tolist() == TEXTS
    features = Features.open(RunFolder.open("here"))
    assert features is not None
    assert features.rows(read_table("texts.csv")) == TEXTS
    assert "<html" in Path("here/report.html").read_text(encoding="utf-8")
    assert [line.split()[0] for line in out.splitlines()[-2:]] == ["Report:", "Run"]
    assert "Report: here/report.html" in out


def test_a_graph_folder_is_used_as_it_is(run: Run) -> None:
    graph = text_graph(TEXTS, 2)
    save_graph("graph", graph, pd.read_csv("texts.csv"), id="id")
    code, out, _ = run(*TRAIN, "--graph", "graph", "--json")
    assert code == 0
    assert json.loads(out)["graph"]["edges"] == graph.num_edges
    assert json.loads(out)["graph"]["origin"] == "graph"
    save_graph("small", text_graph(TEXTS[:9], 2))
    assert run(*TRAIN, "--overwrite", "--graph", "small") == (
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
    scores = metrics["control"]["scores"]
    assert scores == {"with_graph": [found["accuracy"]], "without_graph": [found["accuracy_without_graph"]]}
    assert metrics["labeled"] > 16  # softly labelled ones too; 4 of 20 are validated on
    told = " ".join(run(*TRAIN, "--overwrite", *words)[1].split())
    shown = r"\d\.\d{3} on 4 validation texts, whose labels were hidden"
    assert re.search(rf"accuracy {shown} without the graph {shown}", told)


def test_the_control_has_the_settings_of_the_other(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[NGMClassifier] = []
    fit = NGMClassifier.fit
    monkeypatch.setattr(
        NGMClassifier, "fit", lambda self, *args, **kwargs: (made.append(self), fit(self, *args, **kwargs))[1]
    )
    assert run(*TRAIN, "--recipe", "paper", "--batch-size", "8", "--crop", "0.2", "--control", "--seed", "3")[0] == 0
    main_, plain = made
    assert (plain.seed, plain.validation, plain.settings_.learning_rate) == (3, 0.1, 0.002)
    assert plain.settings_.crop == main_.settings_.crop == 0.2
    edges = sum(main_.edges_by_kind_.values())
    assert main_.n_iter_ * -(-edges // 8) == pytest.approx(plain.n_iter_ * -(-18 // 8), abs=2)


def test_seeds_repeat_both_and_the_first_is_kept(run: Run) -> None:
    words = ("--recipe", "paper", "--validation", "0.3", "--seed", "5")
    code, out, err = run(*TRAIN, *words, "--control", "--seeds", "3", "--json", "-o", "several")
    assert (code, err) == (0, "")
    control = json.loads(out)["control"]
    expected = {"with_graph": [], "without_graph": []}
    graph, y = text_graph(TEXTS, 5, seed=5), np.array(labels(), dtype=object)
    for seed in (5, 6, 7):
        model = NGMClassifier(network="lstm", recipe="paper", epochs=2, validation=0.3, seed=seed)
        model.fit(TEXTS, y, graph=graph)
        for name, one in (("with_graph", model), ("without_graph", without_graph(model, y).fit(TEXTS, y))):
            expected[name].append(one.history_.epochs[one.history_.best_epoch]["validation_accuracy"])
    assert control["scores"] == expected
    for name, values in expected.items():
        assert control[name]["mean"] == pytest.approx(np.mean(values))
        assert control[name]["std"] == pytest.approx(np.std(values, ddof=1))
        assert (control[name]["seeds"], control[name]["metric"]) == (3, "accuracy")
    run(*TRAIN, *words, "-o", "one")
    assert Path("several/weights.safetensors").read_bytes() == Path("one/weights.safetensors").read_bytes()


def test_both_are_shown_with_their_spread(run: Run) -> None:
    told = " ".join(run(*TRAIN, "--control", "--seeds", "2")[1].split())
    shown = r"\d\.\d{3} ± \d\.\d{3} over 2 seeds on 2 validation texts, whose labels were hidden"
    assert re.search(rf"accuracy {shown} without the graph {shown}", told)


def test_epochs_are_logged_into_the_run_folder(run: Run) -> None:
    assert run(*TRAIN, "--log", "csv", "--log", "tensorboard", "--log", "csv")[0] == 0
    assert pd.read_csv("run/log.csv")["epoch"].tolist() == [0, 1]
    assert list(Path("run/tensorboard").glob("events*"))


def test_training_goes_on_with_resume(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*TRAIN[:-4], "--epochs", "3", "--network", "lstm", "-o", "whole")[0] == 0
    show = progress.TrainingProgress.__call__

    def interrupted(self: progress.TrainingProgress, epoch: dict[str, float]) -> None:
        show(self, epoch)
        raise KeyboardInterrupt

    monkeypatch.setattr(progress.TrainingProgress, "__call__", interrupted)
    code, _, err = run(*TRAIN[:-4], "--epochs", "3", "--network", "lstm", "-o", "parts")
    assert code == 130
    assert err.endswith("1 epoch is kept; the same command with --resume goes on stopped")
    assert config("parts")["command"]["text"] == "body"
    kept = RunFolder.open("parts")
    assert Features.open(kept) is not None  # what was learned so far can predict
    assert kept.read("metrics.json")["data"]["text"] == "body"
    monkeypatch.setattr(progress.TrainingProgress, "__call__", show)
    assert run(*TRAIN[:-4], "--epochs", "3", "--network", "lstm", "-o", "parts", "--resume")[0] == 0
    assert config("parts")["command"] == config("whole")["command"]
    whole, parts = (Path(name, "weights.safetensors").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def test_progress_has_terms_accuracy_and_time_left(run: Run) -> None:
    _, _, err = run(*TRAIN, "--alpha", "0.1", "--validation", "0.1")
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
    found = json.loads(run(*TRAIN, "--overwrite", "--no-graph", "--json")[1])
    assert (found["classes"], found["unlabeled"]) == ({"a": 10, "b": 10}, 10)


def test_warnings_of_the_library_are_notes(run: Run) -> None:
    pd.DataFrame({"body": [*TEXTS[:29], ""], "topic": labels()}).to_csv("texts.csv", index=False)
    _, _, err = run(*TRAIN, "-k", "3")
    assert "note: 1 text is empty (row 29); to the network such texts are blank" in err
    found = json.loads(run(*TRAIN, "--overwrite", "-k", "3", "--json")[1])
    assert found["notes"] == [
        NO_ENCODER,
        "1 of 30 texts left without edges: empty (row 29)",
        "1 text is empty (row 29); to the network such texts are blank",
    ]


def test_lines_that_are_not_utf_8_are_left_out_and_noted(run: Run) -> None:
    lines = [f"{text},{topic or ''}" for text, topic in zip(TEXTS, labels(), strict=True)]
    Path("texts.csv").write_bytes("\n".join(["body,topic", *lines[:2], "café,pets", *lines[2:]]).encode("latin-1"))
    note = "1 lines of texts.csv did not fit and were left out: line 4: 'caf??pets' (not UTF-8)"
    assert f"note: {note} " in run(*TRAIN)[2]
    found = json.loads(run(*TRAIN, "--overwrite", "--json")[1])
    assert (found["labeled"], found["unlabeled"], found["notes"]) == (20, 10, [note, NO_ENCODER])


def test_a_comparison_that_is_interrupted_leaves_the_run_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    show = progress.TrainingProgress.__call__

    def interrupted(self: progress.TrainingProgress, epoch: dict[str, float]) -> None:
        show(self, epoch)
        if self.description.startswith("without"):
            raise KeyboardInterrupt

    monkeypatch.setattr(progress.TrainingProgress, "__call__", interrupted)
    code, _, err = run(*TRAIN, "--control", "--validation", "0.2")
    assert code == 130
    assert "the run is whole in run; its comparison without the graph was not finished" in err
    metrics = RunFolder.open("run").read("metrics.json")
    assert metrics["stopped"] == "all epochs done"
    assert metrics["data"]["text"] == "body"
    assert "control" not in metrics


def test_help_has_an_example(run: Run) -> None:
    code, out, _ = run("train", "--help")
    assert code == 0
    assert " ".join(out.split()).count("Example: ngm train") == 3
    for words in ("--json", "Data", "Graph", "Training", "Settings of the estimator", "Output"):
        assert words in out
