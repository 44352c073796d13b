"""`ngm train --config`: a run repeated, or varied."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ngm import NGMClassifier, NGMRegressor
from ngm.cli.training.config import read_config, train_request
from ngm.cli.training.options import CallOptions
from ngm.parameters import PARAMETERS
from ngm.workflow.options import TrainOptions
from tests.commands import Run, runner
from tests.train_tables import TEXTS, TRAIN, config, labels

VARIED = ("--alpha", "0.3", "-k", "4", "--seed", "2", "--validation", "0.2", "--max-words", "90", "--log", "csv")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a folder of its own with a small table, and gives (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": range(100, 130), "body": TEXTS, "topic": labels()}).to_csv("texts.csv", index=False)
    return runner(monkeypatch, capsys)


def bits(folder: str) -> bytes:
    return Path(folder, "weights.safetensors").read_bytes()


@pytest.mark.parametrize("words", [(), VARIED, ("--no-graph", "--validation", "0")], ids=["plain", "varied", "alone"])
@pytest.mark.parametrize("given", ["first", "first/config.json"])
def test_a_run_is_repeated_to_the_same_bits_by_its_config_alone(given: str, words: tuple[str, ...], run: Run) -> None:
    assert run(*TRAIN, *words, "-o", "first")[0] == 0
    code, _, err = run("train", "--config", given, "-o", "again", "--no-report", "--json")
    assert (code, err) == (0, "")
    assert bits("first") == bits("again")
    first, again = config("first"), config("again")
    assert first["command"] == again["command"]
    assert first["settings"] == again["settings"]


def test_config_keeps_what_the_command_was_told(run: Run) -> None:
    run(*TRAIN, "-k", "4", "-o", "first")
    assert config("first")["command"] == {"source": "texts.csv", "text": "body", "label": "topic", "k": 4}


def test_what_is_given_wins_over_the_file(run: Run) -> None:
    run(*TRAIN, "--alpha", "0.3", "-o", "first")
    run("train", "--config", "first", "--alpha-uu", "0", "--epochs", "1", "-k", "2", "-o", "again", "--no-report")
    kept = config("again")
    assert [kept["settings"][name] for name in ("alpha_ll", "alpha_lu", "alpha_uu", "epochs")] == [0.3, 0.3, 0.0, 1]
    assert (kept["command"]["k"], kept["settings"]["network"]) == (2, "lstm")
    run(*TRAIN, "--alpha", "0.3", "--epochs", "1", "-k", "2", "--alpha-uu", "0", "-o", "told")
    assert bits("again") == bits("told")


def given(**words: object) -> dict[str, object]:
    """Options by name as the command line gives them."""
    names = [f.name for f in fields(TrainOptions)]
    return {**dict.fromkeys([*names, *PARAMETERS]), **{f.name: f.default for f in fields(CallOptions)}, **words}


@pytest.mark.parametrize(
    ("words", "told", "settings"),
    [
        ({}, {"graph": "g", "text": "body"}, {"recipe": "paper", "alpha_ll": 0.5, "distance": "l1"}),
        ({"no_graph": True}, {"no_graph": True, "text": "body"}, {"recipe": "paper"}),
        ({"k": 3}, {"k": 3, "text": "body"}, {"recipe": "paper", "alpha_ll": 0.5, "distance": "l1"}),
        ({"columns": "a"}, {"graph": "g", "columns": "a"}, {"recipe": "paper", "alpha_ll": 0.5, "distance": "l1"}),
        (
            {"alpha": 0.1},
            {"graph": "g", "text": "body"},
            {"recipe": "paper", "alpha_ll": 0.1, "alpha_lu": 0.1, "alpha_uu": 0.1, "distance": "l1"},
        ),
        (
            {"recipe": "strong", "alpha_ll": 0.0},
            {"graph": "g", "text": "body"},
            {"recipe": "strong", "alpha_ll": 0.0, "distance": "l1"},
        ),
    ],
    ids=["nothing", "no graph", "k", "columns", "alpha", "settings"],
)
def test_an_option_takes_the_place_of_what_it_contradicts(
    words: dict[str, object], told: dict[str, object], settings: dict[str, object], tmp_path: Path
) -> None:
    file = tmp_path / "config.json"
    kept = {"recipe": "paper", "alpha_ll": 0.5, "distance": "l1", "scaling": "mean", "epochs": None}
    file.write_text(json.dumps({"settings": kept, "command": {"graph": "g", "text": "body"}}), encoding="utf-8")
    found = train_request(given(config=file, **words))
    assert found.options == TrainOptions(**told)
    assert found.settings == settings


def test_without_a_graph_the_recipe_of_the_file_stands_unless_it_needs_one(tmp_path: Path) -> None:
    for recipe, expected in (("paper", {"recipe": "paper"}), ("strong", {}), ("auto", {})):
        file = tmp_path / f"{recipe}.json"
        file.write_text(json.dumps({"settings": {"recipe": recipe}, "command": {"text": "body"}}), encoding="utf-8")
        assert train_request(given(config=file, no_graph=True)).settings == expected


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"task": "class"}, {"source": "t.csv", "task": "class", "graph": "g", "input": "rows", "header": False}),
        ({"source": "u.csv"}, {"source": "u.csv", "task": "labels", "label_separator": "|", "input": "rows"}),
        ({"no_graph": True}, {"source": "t.csv", "task": "labels", "label_separator": "|", "no_graph": True}),
    ],
    ids=["task", "source", "no graph"],
)
def test_what_goes_with_an_option_of_the_file_goes_when_it_is_replaced(
    words: dict[str, object], told: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").touch()
    kept = {"source": "t.csv", "task": "labels", "label_separator": "|", "graph": "g", "input": "rows", "header": False}
    Path("config.json").write_text(json.dumps({"settings": {}, "command": kept}), encoding="utf-8")
    if "no_graph" in words:
        told = {**told, "header": False}
    assert train_request(given(config=Path("config.json"), **words)).options == TrainOptions(**told)


def test_a_table_that_is_elsewhere_is_asked_for(run: Run) -> None:
    run(*TRAIN, "-o", "first")
    Path("texts.csv").rename("moved.csv")
    assert run("train", "--config", "first", "-o", "again") == (
        2,
        "",
        "error: texts.csv is not there (relative to where the run was trained; give the table as well)",
    )
    assert run("train", "moved.csv", "--config", "first", "-o", "again", "--no-report")[0] == 0
    assert bits("first") == bits("again")


def test_a_validation_column_and_a_share_replace_each_other(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"settings": {"validation": [1, 2]}, "command": {"validation_column": "s"}}), "utf-8")
    found = train_request(given(config=file))
    assert (found.options.validation_column, dict(found.settings)) == ("s", {})
    found = train_request(given(config=file, validation=0.3))
    assert (found.options.validation_column, dict(found.settings)) == (None, {"validation": 0.3})


def test_a_run_from_python_needs_the_data_on_the_command_line(run: Run) -> None:
    x = np.eye(4, dtype=np.float32)
    NGMClassifier(network="charcnn", epochs=1, seed=9).fit(["a", "b"], [0, 1]).save("python")
    assert run("train", "--config", "python")[2] == (
        "error: give a table or a graph folder to train on, or --config with a run that has one"
    )
    assert run("train", "texts.csv", "--text", "body", "--label", "topic", "--config", "python", "--no-report")[0] == 0
    settings = config("run")["settings"]
    assert (settings["network"], settings["seed"], settings["validation"], settings["recipe"]) == (
        "charcnn",
        9,
        "auto",
        "auto",
    )
    NGMRegressor(epochs=1, hidden=(3,)).fit(x, [0.0, 1.0, 2.0, 3.0]).save("numbers")
    assert read_config(Path("numbers"), ()) == (
        {"task": "number"},
        {"network": "ffnn", "hidden": (3,), "epochs": 1},
    )


def test_what_cannot_be_kept_in_a_file_must_be_given_again(run: Run) -> None:
    def linear(width: int, classes: int) -> torch.nn.Module:
        return torch.nn.Linear(width, classes)

    NGMClassifier(network=linear, layer="output", epochs=1).fit(np.eye(2, dtype=np.float32), [0, 1]).save("own")
    assert run("train", "texts.csv", "--config", "own")[2] == (
        "error: own/config.json: settings.network was given in Python (function linear); give --network as well"
    )
    words = ("--columns", "id", "--label", "topic", "--network", "ffnn", "--no-graph", "--no-report")
    assert run("train", "texts.csv", "--config", "own", *words, "--layer", "hidden.0")[0] == 0


WRONG = [
    ("no.json", None, "--config is 'no.json', which is not there; give a run folder, or its config.json"),
    (
        "c.json",
        "{",
        "c.json is not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)); "
        "give a run folder, or its config.json",
    ),
    ("c.json", "[1]", "c.json holds no object; give a run folder, or its config.json"),
    (
        "c.json",
        {"setings": {}},
        "c.json has the unknown key 'setings' (did you mean 'settings'?); settings are under 'settings', the data is "
        "under 'command'",
    ),
    ("c.json", {"estimator": "SVC"}, "c.json is of a SVC; ngm train has NGMClassifier and NGMRegressor"),
    ("c.json", {"settings": 3}, "c.json: settings is 3; give an object with a value for each name"),
    ("c.json", {"settings": {"patience": "ten"}}, "c.json: settings.patience is 'ten'; give a whole number"),
    (
        "c.json",
        {"settings": {"distance": "l5"}},
        "c.json: settings.distance is 'l5'; choose from l1, l2, squared_l2, cosine, cross_entropy, kl, js",
    ),
    ("c.json", {"command": {"seeds": "five"}}, "c.json: command.seeds is 'five'; give a whole number"),
    (
        "c.json",
        {"format": "ngm-run", "version": 2},
        "c.json says format 'ngm-run' version 2; this release reads 'ngm-run' version 1",
    ),
    (
        "c.json",
        {"format": "ngm-graph"},
        "c.json says format 'ngm-graph' version 1; this release reads 'ngm-run' version 1",
    ),
    ("c.json", {"command": {"control": 1}}, "c.json: command.control is 1; give true or false"),
]


@pytest.mark.parametrize(("file", "content", "message"), WRONG, ids=[message[:40] for *_, message in WRONG])
def test_a_mistake_in_the_file_is_one_line(file: str, content: object, message: str, run: Run) -> None:
    if content is not None:
        Path(file).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert run(*TRAIN, "--config", file) == (2, "", f"error: {message}")
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("content", "start"),
    [
        ({"settings": {"epoch": 3}}, "error: c.json: settings has the unknown key 'epoch' (did you mean 'epochs'?); "),
        ({"command": {"txt": "a"}}, "error: c.json: command has the unknown key 'txt' (did you mean 'text'?); choose "),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(content: object, start: str, run: Run) -> None:
    Path("c.json").write_text(json.dumps(content), encoding="utf-8")
    code, _, err = run(*TRAIN, "--config", "c.json")
    assert code == 2
    assert err.startswith(start)


def test_without_the_comparison_of_the_file_its_seeds_do_not_count(run: Run) -> None:
    first = json.dumps({**_SAVED, "command": {"source": "texts.csv", "text": "body", "control": True, "seeds": 3}})
    Path("config.json").write_text(first, encoding="utf-8")
    given = dict.fromkeys([*PARAMETERS, *(f.name for kind in (TrainOptions, CallOptions) for f in fields(kind))])
    found = train_request({**given, "config": Path("config.json"), "control": False})
    assert (found.options.control, found.options.seeds) == (False, None)
    assert train_request({**given, "config": Path("config.json")}).options.seeds == 3


_SAVED = {"format": "ngm-run", "version": 1, "estimator": "NGMClassifier", "settings": {"validation": 0.2}}
