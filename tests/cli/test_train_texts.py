"""`ngm train --text` and what becomes of it: vectors, graph, prediction, export; a tiny BERT stands in for MiniLM."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ngm import NGMClassifier, load, text_graph
from ngm.features import Features
from ngm.io.run_folder import Run as RunFolder
from ngm.text.encoders import MiniLM, TfidfSVD
from tests.commands import NO_ENCODER, Run, runner
from tests.fits import same_bits, weights

Patch = pytest.MonkeyPatch
FAST = ("--epochs", "2", "--hidden", "6", "--no-report")


def texts() -> tuple[list[str], list[str]]:
    """Sixty texts of five words, in which fruits and vehicles are told by their nouns."""
    rng = np.random.default_rng(0)
    found = [
        " ".join([*rng.choice(["red", "blue", "old"], 3), noun, f"w{i}"])
        for i, noun in enumerate(["apples", "cars"] * 30)
    ]
    return found, ["fruit", "vehicle"] * 30


TEXTS, TRUTH = texts()


def labels() -> list[str | None]:
    return [topic if row < 20 else None for row, topic in enumerate(TRUTH)]


@pytest.fixture
def run(
    tmp_path: Path,
    published: Path,
    alone: Path,
    monkeypatch: Patch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs a command in a folder with a table of texts, on a machine that has the tiny MiniLM."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"body": TEXTS, "topic": labels()}).to_csv("texts.csv", index=False)
    command = runner(monkeypatch, capsys, lacking=True)
    monkeypatch.setenv("NGM_CACHE", str(alone))
    return command


def train(run: Run, *words: str) -> dict[str, object]:
    code, out, err = run("train", "texts.csv", "--text", "body", "--label", "topic", *FAST, "--json", *words)
    assert (code, err) == (0, "")
    return json.loads(out)  # type: ignore[no-any-return]


def test_texts_are_vectors_beside_components_joined_by_the_vectors(run: Run) -> None:
    found = train(run, "--recipe", "paper")
    vectors = MiniLM.load()
    x = np.hstack([vectors.encode(TEXTS), TfidfSVD.fit(TEXTS).encode(TEXTS)])
    y = np.array(labels(), dtype=object)
    graph = text_graph(TEXTS, 5, encoder=vectors.encode)
    expected = NGMClassifier(hidden=(6,), epochs=2, recipe="paper").fit(x, y, graph=graph)
    assert same_bits(weights(load("run")), weights(expected))
    assert found["features"] == f"{x.shape[1]} numbers a text, of body: 8 of minilm and {x.shape[1] - 8} of tfidf"
    assert found["graph"]["origin"] == "the 5 most similar texts by minilm"  # type: ignore[index]
    assert (found["encoder"], found["network"]) == ("minilm", "ffnn")


def test_teachers_see_the_vectors_and_the_words_apart(run: Run) -> None:
    found = train(run)
    assert found["recipe"] == "auto"
    kept = RunFolder.open("run").read("metrics.json")["teachers"]
    assert found["teachers"] == kept
    weights_of = kept["weights"]
    assert {"features", "minilm", "words", "spreading"} <= set(weights_of)
    words = ("train", "texts.csv", "--text", "body", "--label", "topic", "--epochs", "1", "--no-report", "--json")
    assert run(*words, "--network", "charcnn", "-o", "characters")[0] == 0
    weights_of = RunFolder.open("characters").read("metrics.json")["teachers"]["weights"]
    assert {"minilm", "words"} <= set(weights_of)
    assert "features" not in weights_of


def test_new_texts_are_read_by_the_same_encoder(run: Run) -> None:
    train(run)
    new = ["old apples", "", "blue cars w3", "красный", "red " * 400]
    pd.DataFrame({"body": new, "topic": ["fruit", "", "vehicle", "", ""]}).to_csv("new.csv", index=False)
    code, _, _ = run("predict", "run", "new.csv", "-o", "out.csv")
    assert code == 0
    features = Features.open(RunFolder.open("run"))
    assert features is not None
    assert features.vectors is not None
    x = np.hstack([part.encoder.encode(new) for part in features.vectors.encoders])
    proba = load("run").predict_proba(x)
    out = pd.read_csv("out.csv")
    np.testing.assert_allclose(out["probability"], proba.max(axis=1), atol=1e-5)


def test_prediction_without_the_files_of_the_encoder_says_what_to_fetch(run: Run, published: Path) -> None:
    train(run)
    (published / "model.safetensors").unlink()
    code, _, err = run("predict", "run", "texts.csv", "-o", "out.csv")
    assert code == 2
    assert "run 'ngm datasets --fetch minilm' with network access" in err


def test_without_minilm_words_are_taken_and_a_note_says_so(run: Run, published: Path) -> None:
    (published / "model.safetensors").unlink()
    code, out, err = run("train", "texts.csv", "--text", "body", "--label", "topic", *FAST)
    assert code == 0
    assert f"note: {NO_ENCODER}" in err
    assert "words of body, weighed by TF-IDF" in out
    code, _, err = run(
        "train", "texts.csv", "--text", "body", "--label", "topic", *FAST, "--encoder", "minilm", "-o", "b"
    )
    assert code == 2
    assert "error: cannot find MiniLM" in err


def test_the_encoder_can_be_named(run: Run) -> None:
    assert train(run, "--encoder", "tfidf")["encoder"] is None
    found = train(run, "--encoder", "minilm-static", "-o", "static")
    assert found["encoder"] == "minilm-static"
    assert found["graph"]["origin"] == "the 5 most similar texts by minilm-static"  # type: ignore[index]
    code, out, _ = run("train", "texts.csv", "--text", "body", "--label", "topic", *FAST, "-o", "shown")
    assert code == 0
    assert "minilm: sentence vectors are the best start with few labels" in out


def test_a_network_that_reads_texts_gets_a_graph_of_vectors(run: Run) -> None:
    words = ("train", "texts.csv", "--text", "body", "--label", "topic", "--epochs", "2", "--no-report", "--json")
    found = json.loads(run(*words, "--network", "lstm")[1])
    assert (found["features"], found["encoder"]) == ("the texts of body themselves", "minilm")
    assert found["graph"]["origin"] == "the 5 most similar texts by minilm"
    found = json.loads(run(*words, "--network", "lstm", "--recipe", "paper", "-o", "paper")[1])
    assert (found["encoder"], found["graph"]["origin"]) == (None, "the 5 most similar texts by TF-IDF")


def test_an_export_says_which_vectors_it_wants(run: Run) -> None:
    pytest.importorskip("torch", minversion="2.9")
    found = train(run)
    code, out, _ = run("export", "run", "-o", "model.pt2", "--json")
    assert code == 0
    told = json.loads(out)
    width = load("run").n_features_in_
    assert told["encoders"] == [{"encoder": "minilm", "width": 8}, {"encoder": "tfidf", "width": width - 8}]
    assert (told["text"], told["inputs"]["x"]["shape"]) == (["body"], ["batch", width])
    assert found["encoder"] == "minilm"


MISTAKES = [
    (("--encoder", "minlm"), "--encoder is 'minlm' (did you mean 'minilm'?); choose from minilm, "),
    (("--encoder", "minilm", "--network", "lstm", "--recipe", "paper", "--no-graph"), "--encoder has nothing to do"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES)
def test_an_encoder_that_would_do_nothing_is_refused(words: tuple[str, ...], message: str, run: Run) -> None:
    code, _, err = run("train", "texts.csv", "--text", "body", "--label", "topic", *words)
    assert code == 2
    assert err.startswith(f"error: {message}")
    code, _, err = run("train", "texts.csv", "--columns", "body", "--label", "topic", "--encoder", "minilm")
    assert (code, err) == (2, "error: --encoder makes vectors of texts; give --text")


def test_few_labels_are_not_held_out_unless_they_are_to_be_compared(run: Run) -> None:
    assert train(run)["validation_rows"] == 0
    assert train(run, "--validation", "0.1", "--overwrite")["validation_rows"] == 2
    assert train(run, "--control", "--overwrite")["validation_rows"] == 2
    pd.DataFrame({"body": TEXTS, "topic": TRUTH}).to_csv("texts.csv", index=False)
    assert train(run, "--overwrite")["validation_rows"] == 6  # thirty of each class
