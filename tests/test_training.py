"""The training loop: same bits after an interruption, best weights, clipping, and what it says when it goes wrong."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss
from torch import nn
from torch.nn import functional as F

from ngm import EdgeLoader, Graph, NGMClassifier, NGMLoss, Optimizer, load
from ngm.collapse import CollapseWarning
from ngm.networks import FFNN, FFNNModule
from ngm.training import History, NonFiniteCostError, seeded, train
from tests.fits import SMALL, same_bits, stop_after, timeless, weights


def test_same_seed_gives_same_bits_and_another_seed_others(data) -> None:
    x, y, graph = data
    settings = SMALL | {"network": FFNN(dropout=0.5), "validation": 0.4}
    runs = [NGMClassifier(**settings, seed=seed).fit(x, y, graph=graph) for seed in (3, 3, 4)]
    assert same_bits(weights(runs[0]), weights(runs[1]))
    assert timeless(runs[0].history_) == timeless(runs[1].history_)
    assert not same_bits(weights(runs[0]), weights(runs[2]))


def test_averaged_weights_are_the_running_mean_of_the_weights_after_each_step(data) -> None:
    x, y, graph = data
    seen: list[torch.Tensor] = []

    class Noted(NGMLoss):
        def forward(self, network, batch):
            seen.append(network.output.weight.detach().clone())  # before the step
            return super().forward(network, batch)

    with seeded(0):
        network = FFNNModule(5, 2, hidden=(8,))
    loader = EdgeLoader(x, y, graph, batch_size=16, seed=0)
    train(network, loader, Noted(alpha_ll=0.1), epochs=3, learning_rate=0.1, ema_decay=0.9)
    with seeded(0):
        other = FFNNModule(5, 2, hidden=(8,))
    train(other, loader, NGMLoss(alpha_ll=0.1), epochs=3, learning_rate=0.1)
    after = [*seen[1:], other.output.weight.detach()]  # the weights after each step
    mean = after[0].clone()
    for i, weight in enumerate(after):
        kept = min(0.9, (i + 1) / (i + 10))
        mean = kept * mean + (1 - kept) * weight
    torch.testing.assert_close(network.output.weight.detach(), mean)


def test_evaluation_is_of_the_averaged_weights(data) -> None:
    x, y, graph = data
    with seeded(0):
        network = FFNNModule(5, 2, hidden=(8,))
    scored: list[torch.Tensor] = []

    def evaluate(module: nn.Module) -> dict[str, float]:
        scored.append(module.output.weight.detach().clone())
        return {"accuracy": float(len(scored))}

    loader = EdgeLoader(x, y, graph, batch_size=16, seed=0)
    train(network, loader, NGMLoss(), epochs=2, learning_rate=0.1, evaluate=evaluate, ema_decay=0.9)
    assert torch.equal(network.output.weight, scored[-1])
    assert not torch.equal(scored[0], scored[1])


def test_seed_decides_initial_weights_dropout_and_batches(data) -> None:
    x, y, graph = data

    def after_one_step(network_seed: int, loader_seed: int, train_seed: int) -> dict[str, torch.Tensor]:
        with seeded(network_seed):
            network = FFNNModule(5, 2, hidden=(8,), dropout=0.5)
        loader = EdgeLoader(x, y, graph, batch_size=16, seed=loader_seed)
        train(network, loader, NGMLoss(), epochs=1, seed=train_seed)
        return weights(network)

    assert same_bits(after_one_step(0, 0, 0), after_one_step(0, 0, 0))
    for other in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        assert not same_bits(after_one_step(0, 0, 0), after_one_step(*other))


def test_dropout_differs_from_epoch_to_epoch(data) -> None:
    x, y, _ = data
    seen: list[torch.Tensor] = []

    class Watched(FFNNModule):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            logits = super().forward(rows)
            seen.append(logits.detach())
            return logits

    loader = EdgeLoader(x[:16], y[:16], None)
    train(Watched(5, 2, hidden=(8,), dropout=0.5), loader, NGMLoss(), epochs=2, learning_rate=1e-30)
    rows = [logits[torch.argsort(logits[:, 0])] for logits in seen]
    assert not torch.allclose(rows[0], rows[1])


def test_the_dropout_of_an_estimator_reaches_its_network(data) -> None:
    x, y, _ = data
    one, other = (NGMClassifier(**SMALL, network=FFNN(dropout=dropout)).fit(x, y) for dropout in (0.0, 0.5))
    assert (one.network_.dropout.p, other.network_.dropout.p) == (0.0, 0.5)
    assert not same_bits(weights(one), weights(other))


def test_global_random_state_is_neither_read_nor_moved(data) -> None:
    x, y, graph = data
    settings = SMALL | {"network": FFNN(dropout=0.5), "validation": 0.4}
    torch.manual_seed(1)
    np.random.seed(1)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()
    first = NGMClassifier(**settings).fit(x, y, graph=graph)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]
    torch.manual_seed(2)
    np.random.seed(2)
    assert same_bits(weights(first), weights(NGMClassifier(**settings).fit(x, y, graph=graph)))


def test_global_random_state_is_put_back_after_an_error() -> None:
    before = torch.get_rng_state()

    def draw_and_fail() -> None:
        with seeded(0):
            torch.rand(1)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        draw_and_fail()
    assert torch.equal(torch.get_rng_state(), before)


def test_after_ctrl_c_the_estimator_is_fitted_and_its_folder_loads(data, tmp_path: Path) -> None:
    x, y, graph = data
    broken = NGMClassifier(**SMALL)
    with pytest.raises(KeyboardInterrupt):
        broken.fit(x, y, graph=graph, on_epoch=stop_after(2, KeyboardInterrupt()), folder=tmp_path)
    assert (broken.n_iter_, broken.history_.stopped) == (3, "interrupted")
    assert json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))["stopped"] == "interrupted"
    three = NGMClassifier(**SMALL | {"epochs": 3}).fit(x, y, graph=graph)
    np.testing.assert_array_equal(broken.predict_proba(x), three.predict_proba(x))
    np.testing.assert_array_equal(load(tmp_path).predict_proba(x), three.predict_proba(x))
    assert load(tmp_path).history_.stopped == "interrupted"


def test_ctrl_c_before_the_first_epoch_ends_leaves_a_folder_that_loads(data, tmp_path: Path) -> None:
    x, y, _ = data

    class Interrupted(FFNNModule):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            if self.training:
                raise KeyboardInterrupt
            return super().forward(rows)

    broken = NGMClassifier(network=lambda a, b: Interrupted(a, b, hidden=(8,)))
    with pytest.raises(KeyboardInterrupt):
        broken.fit(x, y, folder=tmp_path)
    again = load(tmp_path, network=lambda a, b: FFNNModule(a, b, hidden=(8,)))
    assert (again.n_iter_, again.history_.best_epoch) == (0, -1)
    np.testing.assert_array_equal(again.predict_proba(x), broken.predict_proba(x))


def scripted(data, metrics: list[dict[str, float]], patience: int | None) -> tuple[History, nn.Module, list[dict]]:
    """Trains with validation metrics that are given beforehand; also the weights after each epoch."""
    x, y, graph = data
    network = FFNNModule(5, 2, hidden=(8,))
    given, kept = iter(metrics), []
    history = train(
        network,
        EdgeLoader(x, y, graph, batch_size=16),
        NGMLoss(),
        epochs=len(metrics),
        evaluate=lambda n: next(given),
        patience=patience,
        on_epoch=lambda record: kept.append(weights(network)),
    )
    return history, network, kept


def test_training_stops_after_patience_epochs_without_improvement_and_keeps_the_best(data) -> None:
    accuracy = [0.2, 0.6, 0.5, 0.6, 0.4, 0.9]  # 0.6 again is no improvement, 0.9 comes too late
    history, network, kept = scripted(data, [{"accuracy": a} for a in accuracy], patience=3)
    assert [epoch["validation_accuracy"] for epoch in history.epochs] == accuracy[:5]
    assert (history.best_epoch, history.stopped) == (1, "no improvement")
    assert same_bits(weights(network), kept[1])
    assert not same_bits(kept[1], kept[4])


def test_without_patience_all_epochs_are_done_and_the_best_is_kept(data) -> None:
    history, network, kept = scripted(data, [{"accuracy": a} for a in (0.2, 0.9, 0.5, 0.6)], patience=None)
    assert (len(history.epochs), history.best_epoch, history.stopped) == (4, 1, "all epochs done")
    assert same_bits(weights(network), kept[1])


def test_an_improvement_starts_patience_anew(data) -> None:
    history, _, _ = scripted(data, [{"accuracy": a} for a in (0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.3)], patience=2)
    assert (len(history.epochs), history.best_epoch) == (7, 4)


def test_of_equal_metrics_the_lower_cost_wins(data) -> None:
    metrics = [(0.5, 3.0), (0.5, 1.0), (0.5, 2.0), (0.4, 0.1)]
    history, network, kept = scripted(data, [{"accuracy": a, "cost": c} for a, c in metrics], patience=None)
    assert history.best_epoch == 1
    assert same_bits(weights(network), kept[1])


def test_best_weights_score_what_history_says_of_the_best_epoch(data) -> None:
    x, y, graph = data
    held = [0, 3, 5, 8, 11]
    model = NGMClassifier(**SMALL | {"epochs": 15, "learning_rate": 0.1}, validation=held).fit(x, y, graph=graph)
    best = model.history_.epochs[model.history_.best_epoch]
    assert best["validation_accuracy"] == accuracy_score(y[held], model.predict(x[held]))
    assert best["validation_cost"] == pytest.approx(log_loss(y[held], model.predict_proba(x[held])), rel=1e-5)
    ranks = [(e["validation_accuracy"], -e["validation_cost"]) for e in model.history_.epochs]
    assert model.history_.best_epoch == ranks.index(max(ranks)) < 14


def test_an_estimator_stops_after_its_patience(data) -> None:
    x, y, _ = data
    wrong = (x[:16], 1 - y[:16])  # the better the network learns, the worse it does here
    settings = SMALL | {"epochs": 40, "validation": wrong}
    impatient = NGMClassifier(**settings, patience=3).fit(x, y)
    assert impatient.history_.stopped == "no improvement"
    assert impatient.n_iter_ == impatient.history_.best_epoch + 4
    assert NGMClassifier(**settings).fit(x, y).n_iter_ == 40


def test_clipped_sgd_takes_a_step_of_rate_times_clip() -> None:
    x = torch.full((4, 3), 50.0)
    network = FFNNModule(3, 2, hidden=())
    before = weights(network)
    loader = EdgeLoader(x, torch.tensor([0, 1, 0, 0]), None)
    train(network, loader, NGMLoss(), epochs=1, optimizer="sgd", learning_rate=0.1, clip=0.25)
    step = torch.cat([(after - before[name]).flatten() for name, after in weights(network).items()])
    assert float(step.norm()) == pytest.approx(0.1 * 0.25, rel=1e-4)


def test_the_clip_of_an_estimator_bounds_its_steps(data) -> None:
    x, y, graph = data
    settings = SMALL | {"optimizer": "sgd", "epochs": 1, "batch_size": 1000}
    start = NGMClassifier(**settings | {"learning_rate": 1e-30}).fit(x, y, graph=graph)
    steps = []
    for clip in (None, 1e-3):
        ended = weights(NGMClassifier(**settings | {"optimizer": Optimizer("sgd", clip=clip)}).fit(x, y, graph=graph))
        steps.append(float(torch.cat([(ended[k] - v).flatten() for k, v in weights(start).items()]).norm()))
    assert steps[1] == pytest.approx(0.01 * 1e-3, rel=1e-2)
    assert steps[0] > steps[1]


def test_validation_sees_the_network_without_dropout_and_training_with_it(data) -> None:
    x, y, _ = data
    modes: list[bool] = []

    class Watched(FFNNModule):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            modes.append(self.training)
            return super().forward(rows)

    def evaluate(network: nn.Module) -> dict[str, float]:
        network(torch.from_numpy(x))
        return {"accuracy": 0.5}

    train(Watched(5, 2, hidden=(8,)), EdgeLoader(x, y, None), NGMLoss(), epochs=2, evaluate=evaluate)
    assert modes == [True, False, True, False]


@pytest.mark.parametrize("clip", [None, 0.05, 1e6])
def test_clipping_agrees_with_plain_torch(data, clip: float | None) -> None:
    x, y, _ = data
    rows = torch.from_numpy(x[:16]).double()
    with seeded(0):
        network, plain = (FFNNModule(5, 2, hidden=(8,)).double() for _ in range(2))
    plain.load_state_dict(network.state_dict())
    loader = EdgeLoader(rows, y[:16], None, dtype=torch.float64)
    train(network, loader, NGMLoss(scaling="mean"), epochs=5, optimizer="sgd", learning_rate=0.1, clip=clip)
    steps = torch.optim.SGD(plain.parameters(), lr=0.1, momentum=0.9)
    for _ in range(5):
        steps.zero_grad()
        F.cross_entropy(plain(rows), torch.from_numpy(y[:16])).backward()
        norm = torch.cat([p.grad.flatten() for p in plain.parameters()]).norm()
        for p in plain.parameters():
            p.grad *= min(1.0, clip / float(norm)) if clip else 1.0
        steps.step()
    for name, tensor in weights(network).items():
        torch.testing.assert_close(tensor, plain.state_dict()[name], rtol=1e-4, atol=1e-6)


def test_bfloat16_stays_close_to_float32_but_is_another_computation(data) -> None:
    x, y, graph = data
    full = NGMClassifier(**SMALL).fit(x, y, graph=graph)
    short = NGMClassifier(**SMALL, dtype="bfloat16").fit(x, y, graph=graph)
    assert not same_bits(weights(full), weights(short))
    for name in ("supervised", "ll", "lu", "uu", "total", "h_norm"):
        for one, other in zip(full.history_.epochs, short.history_.epochs, strict=True):
            assert one[name] == pytest.approx(other[name], rel=0.02)  # bfloat16 has 8 bits: 1 in 256
    np.testing.assert_allclose(short.predict_proba(x), full.predict_proba(x), atol=0.02)
    assert short.network_.output.weight.dtype == torch.float32


def test_collapse_is_warned_of_once_and_noted_in_history(data) -> None:
    x, y, graph = data
    model = NGMClassifier(
        **SMALL | {"epochs": 30, "negatives": 0}, scaling="sum", alpha_ll=100, alpha_lu=10, alpha_uu=10
    )
    text = (
        r"^h has collapsed at epoch (\d+): (nodes differ by|h is 0 for) .*; "
        r"lower alpha_ll, or use scaling='mean'$"
    )
    with pytest.warns(CollapseWarning, match=text) as caught:
        model.fit(x, y, graph=graph)
    assert len(caught) == 1
    marked = [int(e["epoch"]) for e in model.history_.epochs if "collapsed" in e]
    spread = [e["h_spread"] for e in model.history_.epochs]
    assert {i for i in range(1, 30) if spread[i] < 0.02 * max(spread[:i])} <= set(marked)
    assert f"at epoch {marked[0]}:" in str(caught[0].message)


def test_the_warning_of_collapse_names_the_heaviest_alpha_and_a_remedy_that_is_left(data) -> None:
    x, y, graph = data
    model = NGMClassifier(**SMALL | {"epochs": 40, "negatives": 0}, alpha_ll=1, alpha_lu=1, alpha_uu=10)
    with pytest.warns(CollapseWarning, match=r"^h has collapsed at epoch \d+: .*; lower alpha_uu$"):
        model.fit(x, y, graph=graph)


def test_an_ordinary_run_is_not_said_to_collapse(data) -> None:
    x, y, graph = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NGMClassifier(**SMALL | {"epochs": 60}).fit(x, y, graph=graph)
    assert not any("collapsed" in epoch for epoch in model.history_.epochs)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_cost_that_is_not_finite_ends_training_and_names_epoch_batch_and_term(data, optimizer: str) -> None:
    x, y, graph = data
    text = (
        r"^epoch 0, batch 1: supervised is (inf|nan).*; "
        r"lower the learning rate, set clip, or look for extreme values in x$"
    )
    with pytest.raises(NonFiniteCostError, match=text):
        NGMClassifier(**SMALL | {"learning_rate": 1e30, "optimizer": optimizer}).fit(x, y, graph=graph)


def test_the_edge_term_that_is_not_finite_is_named() -> None:
    x = np.array([[0.0], [1.0], [2.0], [3.0]], dtype=np.float32)

    def endless(h_u: torch.Tensor, h_v: torch.Tensor) -> torch.Tensor:
        return h_u.sum(dim=1) / 0

    graph = Graph.from_edges([[2, 3]], num_nodes=4)
    model = NGMClassifier(recipe="paper", hidden=(), distance=endless, layer="output")
    with pytest.raises(NonFiniteCostError, match=r"^epoch 0, batch 0: uu is -?inf; lower the learning rate"):
        model.fit(x, [0, 1, -1, -1], graph=graph)


@pytest.mark.parametrize("several", [False, True])
def test_validation_that_is_not_finite_ends_training(data, several: bool, tmp_path: Path) -> None:
    x, y, _ = data
    targets = np.stack([y, 1 - y], axis=1)[:16] if several else y[:16]
    model = NGMClassifier(hidden=(8,), learning_rate=1e30, validation=[0, 1, 2])
    with pytest.raises(NonFiniteCostError, match=r"^epoch 0: validation_cost is (nan|inf); lower the learning rate"):
        model.fit(x[:16], targets, folder=tmp_path)
    assert not (tmp_path / "weights.safetensors").exists()
