"""Interrupted, resumed and checkpointed training ends in the same bits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from ngm import EdgeBatch, EdgeLoader, NGMClassifier, NGMLoss, load
from ngm.estimators.base import trained_model
from ngm.estimators.network_factory import make_network
from ngm.io.run_folder import Run
from ngm.networks import FFNN, FFNNModule
from ngm.training import Epoch, History, train
from tests.fits import SMALL, same_bits, stop_after, timeless, weights
from tests.flat_settings import flat

RESUMED = [
    {"optimizer": "adam"},
    {"optimizer": "adamw", "weight_decay": 0.1},
    {"optimizer": "sgd", "clip": 0.5},
    {"dropout": 0.5},
    {"validation": 0.4},
    {"validation": 0.4, "patience": 2, "epochs": 9},
    {"sampling": "balanced"},
    {"ema_decay": 0.9},
    {"ema_decay": 0.9, "validation": 0.4},
]


@pytest.mark.parametrize("settings", RESUMED, ids=str)
def test_resumed_training_ends_in_the_same_bits(data, settings: dict, tmp_path: Path) -> None:
    x, y, graph = data
    settings = flat(**SMALL | settings)
    whole = NGMClassifier(**settings).fit(x, y, graph=graph, folder=tmp_path / "whole")
    NGMClassifier(**settings | {"epochs": 3}).fit(x, y, graph=graph, folder=tmp_path / "parts")
    parts = NGMClassifier(**settings).fit(x, y, graph=graph, folder=tmp_path / "parts", resume=True)
    assert parts.n_iter_ > 3
    assert same_bits(weights(parts), weights(whole))
    assert timeless(parts.history_) == timeless(whole.history_)
    assert (parts.history_.best_epoch, parts.history_.stopped) == (whole.history_.best_epoch, whole.history_.stopped)
    of = "weights.safetensors"
    assert (tmp_path / "parts" / of).read_bytes() == (tmp_path / "whole" / of).read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "parts" / "history.jsonl").read_text().splitlines()]
    assert lines == parts.history_.epochs


@pytest.mark.parametrize("settings", [{"ema_decay": 0.9}, {"ema_decay": 0.9, "validation": 0.4}, {}], ids=str)
def test_resuming_what_is_done_changes_nothing(data, settings: dict, tmp_path: Path) -> None:
    x, y, graph = data
    whole = NGMClassifier(**flat(**SMALL, **settings)).fit(x, y, graph=graph, folder=tmp_path)
    again = NGMClassifier(**flat(**SMALL, **settings)).fit(x, y, graph=graph, folder=tmp_path, resume=True)
    assert same_bits(weights(again), weights(whole))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("power cut")], ids=repr)
@pytest.mark.parametrize("validation", [None, 0.4])
def test_training_that_broke_off_resumes_to_the_same_bits(
    data, error: BaseException, validation: float | None, tmp_path: Path
) -> None:
    x, y, graph = data
    settings = SMALL | {"network": FFNN(dropout=0.3), "validation": validation}
    whole = NGMClassifier(**settings).fit(x, y, graph=graph)
    with pytest.raises(type(error)):
        NGMClassifier(**settings).fit(x, y, graph=graph, on_epoch=stop_after(1, error), folder=tmp_path)
    parts = NGMClassifier(**settings).fit(x, y, graph=graph, folder=tmp_path, resume=True)
    assert same_bits(weights(parts), weights(whole))
    assert timeless(parts.history_) == timeless(whole.history_)


def test_training_that_broke_off_within_an_epoch_resumes_from_its_last_whole_one(data, tmp_path: Path) -> None:
    x, y, graph = data
    passes = 0

    class Interrupted(FFNNModule):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            nonlocal passes
            passes += 1
            if passes == 11:  # one look before training, then 4 batches an epoch, so within the third
                raise KeyboardInterrupt
            return super().forward(rows)

    def made(width: int, classes: int) -> nn.Module:
        return Interrupted(width, classes, hidden=(8,))

    settings = SMALL | {"network": made}
    broken = NGMClassifier(**settings)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(x, y, graph=graph, folder=tmp_path)
    assert broken.n_iter_ == 2
    resumed = NGMClassifier(**settings).fit(x, y, graph=graph, folder=tmp_path, resume=True)
    whole = NGMClassifier(**SMALL, network=FFNN(input_scaling="none")).fit(x, y, graph=graph)
    assert same_bits(weights(resumed), weights(whole))


def test_resumed_training_remembers_a_best_epoch_from_before(data, tmp_path: Path) -> None:
    x, y, graph = data
    run, scores = Run.create(tmp_path), iter([0.3, 0.9, 0.5, 0.6, 0.4])
    kept: list[dict[str, torch.Tensor]] = []

    def go_on(epochs: int) -> tuple[History, nn.Module]:
        network = FFNNModule(5, 2, hidden=(8,))
        loader = EdgeLoader(x, y, graph, batch_size=16)
        told = {"evaluate": lambda n: {"accuracy": next(scores)}, "on_epoch": lambda e: kept.append(weights(network))}
        return train(network, loader, NGMLoss(), epochs=epochs, run=run, resume=True, **told), network

    go_on(3)
    history, network = go_on(5)
    assert [epoch["validation_accuracy"] for epoch in history.epochs] == [0.3, 0.9, 0.5, 0.6, 0.4]
    assert history.best_epoch == 1
    assert same_bits(weights(network), kept[1])
    assert not same_bits(kept[1], kept[4])


def test_resume_drops_lines_of_history_that_the_checkpoint_does_not_know(data, tmp_path: Path) -> None:
    x, y, graph = data
    NGMClassifier(**SMALL | {"epochs": 2}).fit(x, y, graph=graph, folder=tmp_path)
    with (tmp_path / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"epoch": 2, "tot')  # cut off by a crash
    seen: list[list[float]] = []
    again = NGMClassifier(**SMALL | {"epochs": 4})
    told = {"on_epoch": lambda e: seen.append([r["epoch"] for r in Run(tmp_path).read_history()])}
    again.fit(x, y, graph=graph, folder=tmp_path, resume=True, **told)
    assert seen == [[0, 1, 2], [0, 1, 2, 3]]


def test_a_run_that_is_done_resumes_to_itself(data, tmp_path: Path) -> None:
    x, y, graph = data
    done = NGMClassifier(**SMALL, validation=0.4).fit(x, y, graph=graph, folder=tmp_path)
    called: list[Epoch] = []
    again = NGMClassifier(**SMALL, validation=0.4)
    again.fit(x, y, graph=graph, on_epoch=called.append, folder=tmp_path, resume=True)
    assert called == []
    assert again.history_ == done.history_
    assert same_bits(weights(again), weights(done))


def test_resume_of_a_folder_that_is_not_there_starts_afresh(data, tmp_path: Path) -> None:
    x, y, graph = data
    fresh = NGMClassifier(**SMALL).fit(x, y, graph=graph, folder=tmp_path / "new", resume=True)
    assert same_bits(weights(fresh), weights(NGMClassifier(**SMALL).fit(x, y, graph=graph)))


@pytest.fixture
def break_off(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes Ctrl-C come in the midst of the epoch of this number, counted from 1."""
    batches = EdgeLoader.__iter__

    def within(epoch: int) -> None:
        def broken_off(self: EdgeLoader) -> Iterator[EdgeBatch]:
            for i, batch in enumerate(batches(self)):
                if self.epoch == epoch and i == 1:
                    raise KeyboardInterrupt
                yield batch

        monkeypatch.setattr(EdgeLoader, "__iter__", broken_off)

    return within


def test_ctrl_c_within_an_epoch_leaves_the_weights_of_the_last_whole_one(data, break_off) -> None:
    x, y, graph = data
    whole = NGMClassifier(**SMALL | {"epochs": 2}).fit(x, y, graph=graph)
    break_off(3)
    model = NGMClassifier(**SMALL)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, graph=graph)
    assert model.n_iter_ == 2
    assert same_bits(weights(model), weights(whole))


@pytest.mark.parametrize("settings", [{}, {"ema_decay": 0.9}, {"validation": 0.4}], ids=str)
def test_ctrl_c_in_the_first_epoch_after_a_resume_leaves_the_weights_of_the_last_whole_one(
    data, settings: dict, break_off, tmp_path: Path
) -> None:
    x, y, graph = data
    whole = NGMClassifier(**flat(**SMALL | {"epochs": 2}, **settings)).fit(x, y, graph=graph, folder=tmp_path)
    break_off(3)
    model = NGMClassifier(**flat(**SMALL, **settings))
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, graph=graph, folder=tmp_path, resume=True)
    assert model.n_iter_ == 2
    assert same_bits(weights(model), weights(whole))
    assert same_bits(weights(load(tmp_path)), weights(whole))


def initial_network(model: NGMClassifier) -> nn.Module:
    """The network as it was before training."""
    fitted = trained_model(model)
    return make_network(fitted.parameters, fitted.settings, fitted.widths, fitted.dtype)


def test_ctrl_c_in_the_very_first_epoch_leaves_the_weights_it_began_with(data, break_off) -> None:
    x, y, graph = data
    break_off(1)
    model = NGMClassifier(**SMALL, network=FFNN(input_scaling="none"))
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, graph=graph)
    assert model.n_iter_ == 0
    assert same_bits(weights(model), initial_network(model).state_dict())
