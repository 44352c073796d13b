"""The recorded cost terms, worked out by hand, and training without the graph."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ngm import EdgeLoader, Graph, NGMClassifier, NGMLoss, Optimizer
from ngm.io.run_folder import Run
from ngm.networks import FFNN, FFNNModule
from ngm.training import Epoch, seeded, train
from tests.fits import SMALL, same_bits, timeless, weights


class ByHand(nn.Module):
    """h is relu(x), logits are 0."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(1, 1), nn.Linear(1, 2)
        for parameter in self.parameters():
            nn.init.zeros_(parameter)
        nn.init.ones_(self.hidden.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.output(F.relu(self.hidden(x)))
        return logits


START = ["h_norm_start", "h_spread_start", "h_zero_start"]  # in the first epoch
PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3]], weight=[1.0, 1.0, 2.0])
ON_PATH = np.array([[0.0], [1.0], [3.0], [7.0]], dtype=np.float32)  # distances 1 (LL), 2 (LU), 4 (UU)


@pytest.mark.parametrize(("scaling", "supervised"), [("mean", math.log(2)), ("sum", 2 * math.log(2))])
def test_history_holds_the_terms_worked_out_by_hand(scaling: str, supervised: float) -> None:
    model = NGMClassifier(
        recipe="paper",
        network=lambda a, b: ByHand(),
        alpha_ll=0.5,
        alpha_lu=0.25,
        alpha_uu=0.125,
        scaling=scaling,
        epochs=1,
    ).fit(ON_PATH, [0, 1, -1, -1], graph=PATH)
    (epoch,) = model.history_.epochs
    assert list(epoch) == [
        "epoch",
        "supervised",
        "ll",
        "lu",
        "uu",
        "repulsion",
        "total",
        "h_norm",
        "h_spread",
        "h_zero",
        *START,
        "seconds",
    ]
    assert epoch["seconds"] > 0
    expected = {"epoch": 0, "supervised": supervised, "ll": 0.5, "lu": 0.25 * 2, "uu": 0.125 * 2 * 4}
    expected |= {"total": supervised + 2, "h_norm": 11 / 4, "h_spread": (2.75 + 1.75 + 0.25 + 4.25) / 4}
    assert {name: epoch[name] for name in expected} == pytest.approx(expected, rel=1e-6)


def test_history_without_alphas_holds_the_supervised_cost_alone() -> None:
    alphas = {"alpha_ll": 0, "alpha_lu": 0, "alpha_uu": 0}
    model = NGMClassifier(recipe="paper", network=lambda a, b: ByHand(), **alphas, epochs=1)
    (epoch,) = model.fit(ON_PATH, [0, 1, -1, -1], graph=PATH).history_.epochs
    assert epoch["supervised"] == epoch["total"] == pytest.approx(math.log(2), rel=1e-6)
    assert [epoch[name] for name in ("ll", "lu", "uu", "h_norm", "h_spread")] == [0] * 5


@pytest.mark.parametrize("scaling", ["mean", "sum"])
def test_terms_of_an_epoch_do_not_depend_on_the_batch_size(data, scaling: str) -> None:
    x, y, graph = data

    def epoch(size: int) -> Epoch:
        still = SMALL | {"epochs": 1, "negatives": 0, "learning_rate": 1e-30}  # so small that no weight moves
        model = NGMClassifier(**still | {"batch_size": size}, scaling=scaling).fit(x, y, graph=graph)
        return model.history_.epochs[0]

    whole, parts = epoch(1000), epoch(7)
    for name in ("supervised", "ll", "lu", "uu", "total"):
        assert parts[name] == pytest.approx(whole[name], rel=1e-5)


def test_on_epoch_gets_the_records_of_history(data) -> None:
    x, y, graph = data
    records: list[Epoch] = []
    model = NGMClassifier(**SMALL, validation=0.4).fit(x, y, graph=graph, on_epoch=records.append)
    assert records == model.history_.epochs
    assert [record["epoch"] for record in records] == list(range(6))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_with_all_alphas_0_the_graph_changes_no_bit(data, dropout: float) -> None:
    x, y, graph = data
    settings = SMALL | {"alpha_ll": 0, "alpha_lu": 0, "alpha_uu": 0, "network": FFNN(dropout=dropout), "batch_size": 4}
    with_graph = NGMClassifier(**settings).fit(x, y, graph=graph)
    without = NGMClassifier(**settings).fit(x, y)
    assert same_bits(weights(with_graph), weights(without))
    assert timeless(with_graph.history_) == timeless(without.history_)
    assert not same_bits(weights(without), weights(NGMClassifier(**settings | {"alpha_uu": 1}).fit(x, y, graph=graph)))


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_with_all_alphas_0_training_is_a_plain_torch_loop(data, optimizer: str) -> None:
    x, y, graph = data
    x = x.astype(np.float64)
    rate, decay = 0.01, 0.1
    kept: list[dict[str, torch.Tensor]] = []
    model = NGMClassifier(
        recipe="paper",
        hidden=(8,),
        alpha_ll=0,
        alpha_lu=0,
        alpha_uu=0,
        epochs=3,
        batch_size=4,
        learning_rate=rate,
        network=FFNN(input_scaling="none"),
        optimizer=Optimizer(optimizer, weight_decay=decay),
    )
    model.fit(x, y, graph=graph, on_epoch=lambda record: kept.append(weights(model)))
    with seeded(0):
        plain = FFNNModule(5, 2, hidden=(8,)).double()
    rules = {
        "adam": torch.optim.Adam(plain.parameters(), lr=rate, weight_decay=decay),
        "adamw": torch.optim.AdamW(plain.parameters(), lr=rate, weight_decay=decay),
        "sgd": torch.optim.SGD(plain.parameters(), lr=rate, weight_decay=decay, momentum=0.9),
    }
    loader = EdgeLoader(x, y, None, batch_size=4, dtype=torch.float64)
    for epoch in range(3):
        costs = []
        for batch in loader:
            assert len(batch.nodes) == 4
            cost = F.cross_entropy(plain(batch.x), batch.y)
            rules[optimizer].zero_grad()
            cost.backward()
            rules[optimizer].step()
            costs.append(cost.item())
        assert model.history_.epochs[epoch]["total"] == pytest.approx(np.mean(costs), rel=1e-6)
        for name, tensor in plain.state_dict().items():
            torch.testing.assert_close(kept[epoch][name], tensor, rtol=1e-6, atol=1e-8)


def test_x_in_float64_trains_in_float64_and_all_else_in_float32(data) -> None:
    x, y, graph = data
    for given, dtype, expected in [
        (np.float64, None, torch.float64),
        (np.float32, None, torch.float32),
        (np.float16, None, torch.float32),
        (np.int64, None, torch.float32),
        (np.float64, "float32", torch.float32),
        (np.float32, "float64", torch.float64),
    ]:
        model = NGMClassifier(**SMALL | {"epochs": 1}, dtype=dtype).fit(x.astype(given), y, graph=graph)
        assert {p.dtype for p in model.network_.parameters()} == {expected}
        assert torch.from_numpy(model.predict_proba(x.astype(given))).dtype == expected


def test_only_float64_tells_apart_what_differs_in_the_twelfth_digit() -> None:
    x = np.array([[1.0], [1.0 + 1e-12]])
    for dtype, differs in (("float64", True), ("float32", False)):
        logits = NGMClassifier(hidden=(4,), epochs=1, dtype=dtype).fit(x, [0, 1]).predict_proba(x)
        assert bool((logits[0] != logits[1]).any()) == differs


def test_a_checkpoint_is_written_after_each_epoch(data, tmp_path: Path) -> None:
    x, y, graph = data
    run = Run.create(tmp_path)
    network = FFNNModule(5, 2, hidden=(8,))
    lines: list[int] = []

    def look(record: Epoch) -> None:
        assert run.checkpoint.exists()
        lines.append(len(run.read_history()))

    train(network, EdgeLoader(x, y, graph), NGMLoss(), epochs=3, run=run, on_epoch=look)
    assert lines == [1, 2, 3]
