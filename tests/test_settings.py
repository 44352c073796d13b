"""The estimator's fields as options."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import pytest
import typer
from typer.testing import CliRunner

from ngm import NGMClassifier
from ngm.cli import settings as module
from ngm.cli.settings import explained, settings, with_options
from ngm.cli.training.told import Call, Told

GIVEN_OTHERWISE = {"folder", "resume", "overwrite", "word_vectors"}


def test_every_field_of_the_estimator_is_an_option_but_for_four() -> None:
    assert set(settings()) == {f.name for f in fields(NGMClassifier)} - GIVEN_OTHERWISE
    own = {f.name for record in (Told, Call) for f in fields(record)}
    assert not own & set(settings())
    assert {"output", "resume", "vectors"} <= own  # what the three are called


def test_every_field_is_explained_in_the_docstring_and_so_in_help() -> None:
    said = explained(NGMClassifier)
    assert set(said) == {f.name for f in fields(NGMClassifier)}
    assert said["batch_size"] == (
        "Edges in a batch (labelled rows where no edge is used). None: 512, and 128 for texts."
    )


def test_what_is_left_out_of_help_is_in_the_docstring() -> None:
    everything = " ".join((inspect.getdoc(NGMClassifier) or "").split())
    for part in module._IN_PYTHON:
        assert part in everything


def test_help_does_not_speak_python() -> None:
    said = {name: s.option().annotation.__metadata__[0].help for name, s in settings().items()}
    for name, text in said.items():
        assert not re.search(r"\b(None|True|False|nn|x is|mask|function)\b", text), name
    assert said["batch_size"] == (
        "Edges in a batch (labelled rows where no edge is used). Where not given: 512, and 128 for texts."
    )
    assert said["dtype"] == '"float32" or "float64"; float32 where not given.'


def test_types_are_those_of_the_fields() -> None:
    kinds = {name: s.kind for name, s in settings().items()}
    assert {name for name, kind in kinds.items() if kind is bool} == {"bfloat16"}
    assert {name for name, kind in kinds.items() if kind is int} == {
        "epochs",
        "batch_size",
        "patience",
        "seed",
        "max_words",
    }
    assert [name for name, kind in kinds.items() if kind is tuple] == ["hidden"]
    assert kinds["alpha_ll"] is kinds["validation"] is kinds["clip"] is float
    choices = {name: tuple(s.choices) for name, s in settings().items() if s.choices}
    assert choices["recipe"] == ("auto", "paper", "strong")
    assert choices["dtype"] == ("float32", "float64")
    assert set(choices) == {
        *("network", "recipe", "distance", "optimizer", "influence", "scaling", "sampling", "labels", "dtype"),
        "input_scaling",
    }


def test_options_reach_the_function_as_the_fields_take_them() -> None:
    got: dict[str, object] = {}

    def take(given: object) -> None:
        """Takes options."""
        got.update({n: s.checked(given[n], s.flag) for n, s in settings().items() if given[n] is not None})  # type: ignore[index]

    app = typer.Typer()
    app.command()(with_options(take, [s.option() for s in settings().values()]))
    words = ["--hidden", "30,20", "--alpha-uu", "1", "--input-scaling", "none", "--bfloat16", "--batch-size", "7"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert got == {"hidden": (30, 20), "alpha_uu": 1.0, "input_scaling": "none", "bfloat16": True, "batch_size": 7}
    made = NGMClassifier(**got)
    assert made.hidden == (30, 20)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epochs", "ten", "x is 'ten'; give a whole number"),
        ("epochs", True, "x is True; give a whole number"),
        ("epochs", 2.5, "x is 2.5; give a whole number"),
        ("clip", "1", "x is '1'; give a number"),
        ("alpha_ll", [0.1, 0.2], "x is [0.1, 0.2]; give a number, since there is one graph"),
        ("bfloat16", 1, "x is 1; give true or false"),
        ("layer", 3, "x is 3; give a text"),
        ("seed", None, "x is None; give a whole number"),
        ("hidden", [2.5], "x is [2.5]; give whole numbers, such as 250,100"),
        ("hidden", 5, "x is 5; give whole numbers, such as 250,100"),
        ("sampling", "balance", "x is 'balance' (did you mean 'balanced'?); choose from plain, balanced"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        settings()[name].checked(value, "x")


def test_shares_of_classes_are_read_from_the_command_line_and_from_a_config() -> None:
    prior = settings()["class_prior"]
    wanted = {"ham": 0.9, "a=b": 0.1}
    assert prior.checked("ham=0.9, a=b=.1", "--class-prior") == wanted
    assert prior.checked(wanted, "config.json") == wanted
    with pytest.raises(ValueError, match="--class-prior is 'ham,spam'; give the share of each class"):
        prior.checked("ham,spam", "--class-prior")
