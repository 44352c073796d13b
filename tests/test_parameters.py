"""The declared settings: one place that the estimators, their docstrings, the checks and the options agree with."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import MISSING, fields
from types import NoneType
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from ngm import EdgeLoader, Graph, NGMClassifier, NGMLoss, NGMRegressor, Regularizer
from ngm.cli.settings import settings, with_options
from ngm.cli.training.options import CallOptions
from ngm.distances import DISTANCES
from ngm.estimators.base import NGMEstimator
from ngm.negatives import MAX_NEGATIVES
from ngm.networks import FFNN, LSTM, NETWORKS, CharCNN
from ngm.networks.specifications import NETWORK_SETTINGS
from ngm.parameters import PARAMETERS, PLACEHOLDER, Interval, fill_in
from ngm.recipes.optimizer import Optimizer
from ngm.recipes.parameters import OPTIMIZER_SETTINGS, parameters_from_flat
from ngm.recipes.settings import RECIPES, TEXT_RECIPES
from ngm.workflow.options import TrainOptions

GIVEN_OTHERWISE = {"vectors", "size"}
X = np.eye(4, dtype=np.float32)
estimators = pytest.mark.parametrize("kind", [NGMClassifier, NGMRegressor])
PARTS = (FFNN, CharCNN, LSTM, Optimizer)
OWN = {name: p for name, p in PARAMETERS.items() if p.of == "estimator"}
each = pytest.mark.parametrize("name", PARAMETERS)
RANGES = {name: p.interval for name, p in PARAMETERS.items() if p.interval is not None}


def words_of(hint: object) -> tuple[object, ...]:
    """The words of a `Literal` anywhere in a type."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(word for part in get_args(hint) for word in words_of(part))


@estimators
def test_every_field_is_declared_with_its_default_in_the_same_order(kind: type[NGMEstimator]) -> None:
    assert {f.name: f.default for f in fields(kind)} == {name: p.default for name, p in OWN.items()}
    assert [f.name for f in fields(kind)] == list(OWN)
    assert len(OWN) <= 24
    assert all(f.default_factory is MISSING for f in fields(kind))


def test_every_setting_of_networks_and_optimizers_is_declared_with_its_default() -> None:
    has = {"network": set(NETWORK_SETTINGS) - {"hidden"}, "optimizer": set(OPTIMIZER_SETTINGS)}
    for of, names in has.items():
        assert {name for name, p in PARAMETERS.items() if p.of == of} == names
    for kind in PARTS:
        for field in fields(kind):
            if field.name not in ("name", "hidden"):
                assert field.default == PARAMETERS[field.name].default, field.name
    assert FFNN().hidden is None  # that of the estimator


@pytest.mark.parametrize("kind", PARTS)
def test_the_docstrings_of_networks_and_optimizers_list_their_settings(kind: type) -> None:
    text = inspect.getdoc(kind) or ""
    listed = text.partition("\nArgs:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^ {4}(\w+): ", listed, re.MULTILINE) == [f.name for f in fields(kind)]
    assert PLACEHOLDER not in text


@each
def test_declared_types_and_words_are_those_of_the_fields(name: str) -> None:
    declared = PARAMETERS[name]
    (owner, *_) = [kind for kind in (NGMEstimator, *PARTS) if name in {f.name for f in fields(kind)}]
    hint = get_type_hints(owner)[name]
    members = get_args(hint) or (hint,)
    assert (NoneType in members) == (declared.default in (None, "auto") and name != "recipe")
    if words_of(hint):
        assert declared.choices == tuple(w for w in words_of(hint) if name != "validation")
    elif declared.kind not in (tuple, dict):
        plain = [m for m in members if m in (bool, int, float, str)]
        assert declared.kind in (plain or [str])
    assert declared.default in (None, "auto") or isinstance(declared.default, declared.kind)


def test_words_that_other_modules_look_up_are_the_declared_ones() -> None:
    assert PARAMETERS["distance"].choices == tuple(DISTANCES)
    assert PARAMETERS["network"].choices == tuple(NETWORKS)
    assert PARAMETERS["recipe"].choices == tuple(RECIPES) == tuple(TEXT_RECIPES)
    assert PARAMETERS["negatives"].interval == Interval(0, MAX_NEGATIVES)


@each
def test_help_names_every_word_to_choose_from(name: str) -> None:
    assert [word for word in PARAMETERS[name].choices if f'"{word}"' not in PARAMETERS[name].help] == []
    assert re.fullmatch(r'["A-Z].*[.)]', PARAMETERS[name].help), "a sentence, which ends as such"


def given_as(name: str, value: object) -> dict[str, object]:
    """A setting as an argument of the estimator."""
    if name in OWN:
        return {name: value}
    (kind, *_) = [kind for kind in PARTS if name in {f.name for f in fields(kind)}]
    return {PARAMETERS[name].of: kind(**{name: value})}


def outside(interval: Interval) -> list[float]:
    """The numbers next to an interval, and those that are in none."""
    below = interval.low if interval.open_low else interval.low - 1
    above = interval.high if interval.open_high else interval.high + 1
    return [below, above, float("nan")]


def inside(interval: Interval) -> float:
    return interval.low + 0.5 if interval.high == 1 else interval.low + 1


@estimators
@pytest.mark.parametrize("name", RANGES)
def test_fit_refuses_numbers_outside_the_declared_range(kind: type[NGMEstimator], name: str) -> None:
    for value in outside(RANGES[name]):
        given = (value,) if name == "hidden" else value
        with pytest.raises(ValueError, match=rf"^{name} is {re.escape(repr(given))}; "):
            kind(**given_as(name, given)).fit(X, [0.0, 1.0, 0.0, 1.0])
    declared = PARAMETERS[name]
    assert declared.admits(int(inside(RANGES[name])) if declared.kind in (int, tuple) else inside(RANGES[name]))
    assert not declared.admits("1")
    assert declared.admits(2.5) == (declared.kind is float and 2.5 in RANGES[name])


@estimators
@pytest.mark.parametrize("name", [name for name, p in PARAMETERS.items() if p.choices])
def test_fit_refuses_words_that_are_not_declared(kind: type[NGMEstimator], name: str) -> None:
    for value in ("qqq", ["auto"], 3, np.zeros(2)):
        with pytest.raises(ValueError, match=rf"^{name} is {re.escape(repr(value))}; choose from "):
            kind(**given_as(name, value)).fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("interval", "words", "within", "without"),
    [
        (Interval(0), "at least 0", [0, 10**400, 0.5], [-1e-9, float("inf"), float("nan")]),
        (Interval(0, open_low=True), "greater than 0", [1e-300, 7], [0, float("inf"), float("nan")]),
        (Interval(0, 1, open_high=True), "at least 0 and below 1", [0, 0.999], [1, -0.1, float("nan")]),
        (Interval(0, 100), "at least 0 and at most 100", [0, 100], [100.5, -1, float("nan")]),
    ],
)
def test_intervals_hold_what_they_say(
    interval: Interval, words: str, within: list[float], without: list[float]
) -> None:
    assert str(interval) == words
    assert all(number in interval for number in within)
    assert not any(number in interval for number in without)


@estimators
def test_the_docstring_lists_every_setting_once_with_its_range(kind: type[NGMEstimator]) -> None:
    text = inspect.getdoc(kind) or ""
    listed = text.partition("\nArgs:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^ {4}(\w+): ", listed, re.MULTILINE) == list(OWN)
    assert "    patience: Epochs without improvement on validation after which to stop. Greater than 0.\n" in listed
    assert "nn.Module." in listed
    assert PLACEHOLDER not in text
    assert max(map(len, listed.splitlines())) <= 120


def test_the_list_takes_the_indentation_of_its_place() -> None:
    filled = fill_in("One.\n\n        Args:\n            {settings}\n\n        Two.", OWN, PARAMETERS)
    assert filled.startswith(
        'One.\n\n        Args:\n            hidden: Widths of the hidden layers of network "ffnn".'
    )
    assert "\n            alpha_ll: Weight" in filled
    assert "\n                says (0 for" in filled
    assert filled.endswith('device: Where to train: "cpu", "cuda", ...\n\n        Two.')
    assert fill_in("no list here", OWN, PARAMETERS) == "no list here"


def test_classes_are_left_alone_where_python_drops_docstrings() -> None:
    lines = ["from dataclasses import dataclass", "from ngm.parameters import with_settings"]
    lines += ["@with_settings", "@dataclass", "class A:", "    'A {settings}'"]
    code = "\n".join([*lines, "print(A.__doc__)"])
    for option, expected in (("-OO", "A()"), ("-B", "A {settings}")):
        done = subprocess.run([sys.executable, option, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == expected, done.stderr


def test_every_setting_is_an_option_but_for_two() -> None:
    assert set(settings()) == set(PARAMETERS) - GIVEN_OTHERWISE
    own = {f.name for record in (TrainOptions, CallOptions) for f in fields(record)}
    assert not own & set(settings())
    assert "vectors" in own  # and the size is part of the network's name


def test_options_say_what_is_declared_and_do_not_speak_python() -> None:
    said = {name: s.option().annotation.__metadata__[0].help.replace("\\[", "[") for name, s in settings().items()}
    assert said == {name: PARAMETERS[name].text for name in settings()}
    for name, text in said.items():
        assert not re.search(r"\b(None|True|False|nn|x is|mask|function)\b", text), name


def test_options_reach_the_function_as_the_fields_take_them() -> None:
    got: dict[str, object] = {}

    def take(given: object) -> None:
        """Takes options."""
        got.update({n: s.checked(given[n], s.flag) for n, s in settings().items() if given[n] is not None})  # type: ignore[index]

    app = typer.Typer()
    app.command()(with_options(take, [s.option() for s in settings().values()]))
    words = [
        "--hidden",
        "30,20",
        "--alpha-uu",
        "1",
        "--input-scaling",
        "none",
        "--no-graph-screen",
        "--batch-size",
        "7",
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert got == {"hidden": (30, 20), "alpha_uu": 1.0, "input_scaling": "none", "graph_screen": False, "batch_size": 7}
    made = NGMClassifier(**vars(parameters_from_flat(got)))
    assert (made.hidden, made.network.input_scaling, made.graph_screen) == ((30, 20), "none", False)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epochs", "ten", "x is 'ten'; give a whole number"),
        ("epochs", True, "x is True; give a whole number"),
        ("epochs", 2.5, "x is 2.5; give a whole number"),
        ("epochs", 0, "x is 0; it must be a whole number greater than 0"),
        ("clip", "1", "x is '1'; give a number"),
        ("crop", 1, "x is 1; it must be a number of at least 0 and below 1"),
        ("alpha_ll", [0.1, 0.2], "x is [0.1, 0.2]; give a number, since there is one graph"),
        ("graph_screen", 1, "x is 1; give true or false"),
        ("layer", 3, "x is 3; give a text"),
        ("seed", None, "x is None; give a whole number"),
        ("hidden", [2.5], "x is [2.5]; give whole numbers, such as 250,100"),
        ("hidden", 5, "x is 5; give whole numbers, such as 250,100"),
        ("sampling", "balance", "x is 'balance' (did you mean 'balanced'?); choose from plain, edges, balanced"),
        ("network", "fnn", f"x is 'fnn' (did you mean 'ffnn'?); choose from {', '.join(NETWORKS)}"),
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


@each
def test_a_default_that_is_given_changes_nothing(name: str, data: tuple) -> None:
    x, y, graph = data
    base: dict[str, object] = {"hidden": (8,), "epochs": 2, "batch_size": 16, "recipe": "paper"}
    given = base | given_as(name, PARAMETERS[name].default)
    left_out = {key: value for key, value in base.items() if key != name}
    network = given.get("network")
    if isinstance(network, CharCNN | LSTM):
        x = [f"{'good' if row[0] > 0 else 'bad'} day {i}" for i, row in enumerate(x)]
        del given["hidden"], left_out["hidden"]
        left_out["network"] = network.name
    one, other = (NGMClassifier(**settings).fit(x, y, graph=graph).predict_proba(x) for settings in (given, left_out))
    np.testing.assert_array_equal(one, other)


def test_alphas_and_pairs_of_the_recipe_that_are_given_change_nothing() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)).astype(np.float32), np.where(np.arange(200) < 20, np.arange(200) % 2, -1)
    graph = Graph.from_edges(rng.integers(200, size=(1500, 2)), num_nodes=200)  # which is screened
    alphas = {"alpha_ll": 0.2, "alpha_lu": 0.2, "alpha_uu": 0.2, "negatives": 1, "margin": 3.0}
    found = []
    for given in ({}, alphas):
        with pytest.warns(UserWarning, match="^graph ignored"):
            model = NGMClassifier(hidden=(8,), epochs=2, recipe="paper", **given).fit(x, y, graph=graph)
        used = NGMClassifier(hidden=(8,), epochs=2, recipe="paper", graph_screen=False, **given).fit(x, y, graph=graph)
        found.append((model.predict_proba(x), used.predict_proba(x)))
    np.testing.assert_array_equal(found[0], found[1])


def test_a_name_has_one_default_wherever_it_is_a_setting() -> None:
    for name in ("sampling", "scaling", "recipe", "validation", "influence", "distance"):
        declared = PARAMETERS[name].default
        assert {getattr(kind(), name) for kind in (NGMClassifier, NGMRegressor)} == {declared}
        assert get_args(settings()[name].option().annotation)[1].show_default == declared
        for kind in (EdgeLoader, NGMLoss, Regularizer):
            parameter = inspect.signature(kind).parameters.get(name)
            assert parameter is None or parameter.default in (declared, None), (kind, name)
    assert inspect.signature(EdgeLoader).parameters["sampling"].default == "plain"
    assert inspect.signature(NGMLoss).parameters["scaling"].default == "mean"
    paper = RECIPES["paper"]
    assert Regularizer().alphas == (paper.alpha_ll, paper.alpha_lu, paper.alpha_uu) == (0.2, 0.2, 0.2)
    assert EdgeLoader(X, [0, 1, -1, -1], None).batch_size == paper.batch_size
