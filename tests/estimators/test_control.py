"""The control: the same network without the graph."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ngm import Graph, NGMClassifier, NGMRegressor, Optimizer, load
from ngm.estimators.control import without_graph
from ngm.networks import LSTM, CharCNN
from ngm.recipes.settings import resolve
from tests.fits import same_bits, weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32)
TRUTH = (X[:, 0] > 0).astype(int)
Y = np.where(np.arange(60) < 20, TRUTH, -1)
GRAPH = Graph.from_edges([[i, i + 2] for i in range(58)])


def classifier(**settings: object) -> NGMClassifier:
    given = {"hidden": (8,), "batch_size": 10, "epochs": 6, "validation": 0.2, "seed": 3, "recipe": "paper", **settings}
    return NGMClassifier(**given)


def fitted(folder: str | None = None, **settings: object) -> NGMClassifier:
    return classifier(**settings).fit(X, Y, graph=GRAPH, folder=folder)


def test_it_takes_as_many_steps_on_the_same_validation_rows() -> None:
    model = fitted()
    control = without_graph(model, Y).fit(X, Y)
    # 58 edges make 6 steps an epoch, 16 labelled rows that are not validated on make 2
    assert (model.steps_per_epoch_, control.steps_per_epoch_) == (6, 2)
    assert model.n_iter_ * 6 == control.n_iter_ * 2
    assert control.num_validation_ == model.num_validation_ == 4
    assert sum(control.edges_by_kind_.values()) == 0
    assert control.num_labeled_ == 16


def test_it_is_what_one_would_write_by_hand() -> None:
    control = without_graph(fitted(patience=2), Y)
    by_hand = classifier(
        epochs=18, patience=6, learning_rate=1e-3, optimizer=Optimizer(weight_decay=0.0)
    )  # a third of the steps an epoch
    assert same_bits(weights(control.fit(X, Y)), weights(by_hand.fit(X, Y)))


def test_of_the_strong_recipe_it_keeps_the_network_and_its_steps_and_not_the_teachers() -> None:
    model = NGMClassifier(recipe="strong", batch_size=10, validation=0.2)
    model.settings_ = replace(resolve(model, "classes"), epochs=50, weight_decay=0.02)  # as fit leaves them
    model.steps_per_epoch_, model.n_iter_ = 6, 50
    control = without_graph(model, Y)
    network, optimizer = control.network, control.optimizer
    assert (control.recipe, control.learning_rate, control.epochs) == ("paper", 0.005, 150)
    assert (network.dropout, network.input_dropout, network.input_scaling) == (0.5, 0.5, "unit_rows")
    assert (optimizer.ema_decay, optimizer.weight_decay) == (0.99, 0.02)
    for kind, read in ((CharCNN, None), (LSTM, "vectors.txt")):  # only teachers read those of characters
        model.network = kind(vectors="vectors.txt")
        model.settings_ = replace(resolve(model, "classes"), epochs=50)
        assert without_graph(model, Y).network.vectors == read


def test_it_takes_no_more_steps_where_the_graph_was_left_out() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 5)).astype(np.float32)
    y = np.where(np.arange(400) < 100, (x[:, 0] > 0).astype(int), -1)
    random = Graph.from_edges(rng.integers(400, size=(1500, 2)), num_nodes=400)
    with pytest.warns(UserWarning, match="graph ignored"):
        model = NGMClassifier(recipe="paper", hidden=(8,), batch_size=100, epochs=2).fit(x, y, graph=random)
    assert sum(model.edges_by_kind_.values()) == 0
    assert (model.steps_per_epoch_, without_graph(model, y).epochs) == (1, 2)  # over 100 labelled rows alone


def test_minus_one_is_a_number_like_others() -> None:
    y = np.where(np.arange(60) < 20, -1.0, np.nan)
    y[:10] = 2.0
    model = NGMRegressor(hidden=(4,), batch_size=10, epochs=3).fit(X, y, graph=GRAPH)
    assert without_graph(model, y).epochs == 9  # 6 steps over 58 edges, 2 over 20 numbers


def test_rows_that_are_named_for_validation_are_left_out_and_a_pair_is_not() -> None:
    named = fitted(validation=np.arange(10))
    assert without_graph(named, Y).epochs == 36  # 10 labelled rows are left: 1 step
    pair = fitted(validation=(X[40:], TRUTH[40:]))
    assert without_graph(pair, Y).epochs == 18  # 20 labelled rows: 2 steps


def test_it_writes_no_run_folder_and_resumes_nothing(tmp_path: Path) -> None:
    model = fitted(folder=f"{tmp_path}/run")
    before = sorted(tmp_path.rglob("*"))
    without_graph(model, Y).fit(X, Y)
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(ValueError, match="the model was loaded, and its steps are not kept; give one that was just"):
        without_graph(load(f"{tmp_path}/run"), Y)


def test_a_network_of_ones_own_is_made_again() -> None:
    model = fitted(network=lambda width, classes: torch.nn.Linear(width, classes), layer="output", hidden=(250, 100))
    control = without_graph(model, Y).fit(X, Y)
    assert isinstance(control.network_, torch.nn.Linear)
    assert control.network_ is not model.network_
