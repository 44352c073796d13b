"""The one training loop: SGD on minibatches of edges (the paper's section 3.3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor, nn

from ngm._memory_order import ordered_like
from ngm.choices import OptimizerName
from ngm.collapse import STATISTICS, layer_records, layer_statistics, warn_of_collapse
from ngm.collapse import CollapseWarning as CollapseWarning  # where it was before
from ngm.distributed import (
    check_same,
    deferred_interrupt,
    file_from_first,
    json_from_first,
    rank_and_world,
    share_weights,
    sum_gradients,
    sum_over_ranks,
    text_of_any,
)
from ngm.io.run_folder import JSON, Run, load_tensors, save_tensors
from ngm.objective import Cost, NGMLoss
from ngm.parameters import PARAMETERS
from ngm.sampling import EdgeLoader

Epoch: TypeAlias = dict[str, float]
Evaluate: TypeAlias = Callable[[nn.Module], Mapping[str, float]]
TERMS = ("supervised", "ll", "lu", "uu", "repulsion", "total", "h_norm", "h_spread")
_REMEDY = "lower the learning rate, set clip, or look for extreme values in x"


class NonFiniteCostError(ArithmeticError):
    """A cost term became infinite or NaN; of several ranks, all stop with that of the one that had it."""


class _AllInterrupted(KeyboardInterrupt):
    """A rank got Ctrl-C, and all stop at this step."""


@dataclass
class History:
    """What happened, epoch by epoch.

    Args:
        epochs: One record per epoch: number, seconds, cost terms, |h|, and `validation_*` where there is any.
        best_epoch: The epoch whose weights the network has now.
        stopped: Why it ended.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best_epoch: int = -1
    stopped: Literal["all epochs done", "no improvement", "interrupted"] = "all epochs done"


def train(
    network: nn.Module,
    loader: EdgeLoader,
    loss: NGMLoss,
    *,
    epochs: int,
    seed: int = 0,
    optimizer: OptimizerName = "adam",
    learning_rate: float = 1e-3,
    weight_decay: float = 0.0,
    clip: float | None = None,
    bfloat16: bool = False,
    ema_decay: float | None = None,
    evaluate: Evaluate | None = None,
    patience: int | None = None,
    run: Run | None = None,
    resume: bool = False,
    on_epoch: Callable[[Epoch], None] | None = None,
    max_steps: int | None = None,
) -> History:
    """Trains the network in place and leaves it with its best weights.

    Args:
        network: Maps inputs to logits.
        loader: Gives the batches.
        loss: Gives each batch's cost.
        epochs: Passes over the loader, at most.
        seed: Makes dropout repeatable; the state of torch's global generator is left as it was.
        optimizer: Name of the rule that takes the steps.
        learning_rate: Size of a step.
        weight_decay: L2 penalty on the weights (decoupled for adamw).
        clip: Largest norm of the gradient; longer ones are shortened.
        bfloat16: Run the network in bfloat16 where torch finds that safe; costs stay in float32.
        ema_decay: Decay per step of an exponential moving average of the weights, which evaluation uses and the network
            is left with; None for the weights themselves.
        evaluate: Network -> validation metrics after each epoch; the first is the one to raise, and a `cost` among
            them breaks ties. The best epoch's weights are kept; without it, the last epoch's.
        patience: Stop after this many epochs without improvement.
        run: Where history and checkpoint are written after each epoch.
        resume: Go on from the run's checkpoint, to the same bits as if never interrupted.
        on_epoch: Called with each epoch's record.
        max_steps: End each epoch after this many batches; all of them by default.

    Returns:
        The history. Ctrl-C ends training early with the best weights so far; `stopped` tells.
    """
    check_same(_facts(network, loader, epochs, seed))
    share_weights(network)
    steps = _optimizer(optimizer, network, learning_rate, weight_decay)
    state = _State(network, steps, ema_decay)
    if resume and run is not None:
        with file_from_first(run.checkpoint) as checkpoint:
            if checkpoint is not None:
                state.load(checkpoint)
        if state.history.epochs and rank_and_world()[0] == 0:
            run.write_history(cast("list[dict[str, JSON]]", state.history.epochs))
    history = state.history
    steps_per_epoch = len(loader) if max_steps is None else min(len(loader), max_steps)
    with deferred_interrupt() as interrupted:
        try:
            for epoch in range(len(history.epochs), epochs):
                if patience is not None and evaluate is not None and epoch - history.best_epoch > patience:
                    history.stopped = "no improvement"
                    break
                started = time.perf_counter()
                loader.set_epoch(epoch)
                with seeded(seed, epoch):
                    record = _one_epoch(
                        network, loader, loss, steps, epoch, clip, bfloat16, state.step, interrupted, steps_per_epoch
                    )
                record = {"epoch": epoch, **record}
                if evaluate is not None:
                    with state.averaged():
                        record |= _evaluated(evaluate, network, epoch)
                record["seconds"] = time.perf_counter() - started
                warn_of_collapse(record, history.epochs, loss.scaling, loss.layers, (epoch + 1) * steps_per_epoch)
                state.take(record)
                if run is not None and rank_and_world()[0] == 0:
                    state.save(run.checkpoint)
                    run.append_history(cast("dict[str, JSON]", record))
                if on_epoch is not None:
                    on_epoch(record)
            _stop_together("", sum_over_ranks(torch.tensor([0.0, interrupted()])))
        except KeyboardInterrupt as error:
            if rank_and_world()[1] > 1 and not isinstance(error, _AllInterrupted):
                raise  # the others are in the middle of a step
            history.stopped = "interrupted"
    state.restore_best()
    share_weights(network)
    return history


def _one_epoch(
    network: nn.Module,
    loader: EdgeLoader,
    loss: NGMLoss,
    steps: torch.optim.Optimizer,
    epoch: int,
    clip: float | None,
    bfloat16: bool,
    on_step: Callable[[], None],
    interrupted: Callable[[], bool],
    num_steps: int,
) -> Epoch:
    """One pass over `num_steps` batches; returns the terms of the objective, summed or averaged as the loss scales."""
    network.train()
    sums = torch.zeros(len(TERMS), dtype=torch.float64)
    of_layers = torch.zeros(2, len(loss.layers), len(STATISTICS), dtype=torch.float64)  # over the epoch, first step
    parameters = [p for p in network.parameters() if p.requires_grad]
    device = parameters[0].device
    for i, batch in enumerate(loader if num_steps == len(loader) else islice(loader, num_steps)):
        with torch.autocast(device.type, torch.bfloat16, enabled=bfloat16):
            cost: Cost = loss(network, batch if device.type == "cpu" else batch.to(device))
        now = layer_statistics(cost.layers).double().cpu()  # (L, 3)
        of_h = now[0, :2] if len(now) else torch.zeros(2, dtype=torch.float64)
        terms = torch.cat([_cost_terms(cost), of_h])
        wrong = "" if torch.isfinite(terms).all() else _non_finite(terms, epoch, i)
        steps.zero_grad(set_to_none=True)
        if cost.total.requires_grad and not wrong:
            cost.total.backward()  # type: ignore[no-untyped-call]
        _stop_together(wrong, sum_gradients(parameters, torch.tensor([float(bool(wrong)), interrupted()])))
        if clip is not None:
            nn.utils.clip_grad_norm_(parameters, clip)
        steps.step()
        on_step()
        sums += terms
        if len(now):  # none in the empty share of a rank
            of_layers[0] += now / num_steps
            if i == 0:
                of_layers[1] = now
    costs = sums if loss.scaling == "sum" else sums / num_steps
    over_ranks = sum_over_ranks(torch.cat([costs, of_layers.flatten()]))
    record = dict(zip(TERMS, over_ranks[: len(TERMS)].tolist(), strict=True))
    whole, first = (over_ranks[len(TERMS) :] / rank_and_world()[1]).reshape(of_layers.shape)
    return record | layer_records(loss.layers, whole, first if epoch == 0 else None)


def _cost_terms(cost: Cost) -> Tensor:
    """(6,) float64 on the CPU: the parts of a cost, as the first six of `TERMS` name them, in one transfer."""
    parts = (cost.supervised, cost.ll, cost.lu, cost.uu, cost.repulsion, cost.total)
    return torch.stack([part.detach() for part in parts]).double().cpu()


def _stop_together(wrong: str, flags: Tensor) -> None:
    """Stops every rank at this step if one of them has to; flags are (some cost is not finite, some Ctrl-C)."""
    failed, interrupted = flags.tolist()
    if failed:
        raise NonFiniteCostError(text_of_any(wrong))
    if interrupted:
        raise _AllInterrupted


def _facts(network: nn.Module, loader: EdgeLoader, epochs: int, seed: int) -> dict[str, int]:
    """What ranks that do not have the same data or settings would differ in."""
    return {
        **loader.sizes(),
        "batches in an epoch": len(loader),
        "parameters": sum(p.numel() for p in network.parameters()),
        "epochs": epochs,
        "seed": seed,
    }


def optimizer_step(optimizer: torch.optim.Optimizer, cost: Tensor) -> None:
    """One step down the gradient of a cost, for short trainings outside `train`: one process, no clipping."""
    optimizer.zero_grad(set_to_none=True)
    cost.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


@contextmanager
def seeded(seed: int, step: int = 0) -> Iterator[None]:
    """Makes torch's global generator (dropout, initialisation) repeatable inside, and puts it back after."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0]))
        yield


class _State:
    """Everything that changes while training: weights, their average, optimizer, history, the best weights so far."""

    def __init__(self, network: nn.Module, steps: torch.optim.Optimizer, ema_decay: float | None) -> None:
        self.network, self.steps, self.ema_decay = network, steps, ema_decay
        self.mean: dict[str, Tensor] = {}
        self.num_averaged = 0
        self.history = History()
        self.best: dict[str, Tensor] = {}
        self.last = self._weights()  # of the last whole epoch
        self.best_score = (-float("inf"), -float("inf"))

    def take(self, record: Epoch) -> None:
        """Adds an epoch; keeps its weights if it is the best, or if nothing tells epochs apart."""
        self.history.epochs.append(record)
        metrics = [v for k, v in record.items() if k.startswith("validation_")]
        if not metrics:
            self.history.best_epoch = int(record["epoch"])
            self.last = self._weights()
            return
        score = (metrics[0], -record.get("validation_cost", 0.0))
        if score > self.best_score:
            self.best_score, self.history.best_epoch = score, int(record["epoch"])
            self.best = self._weights()
            self.last = {}  # not needed any more

    def _weights(self) -> dict[str, Tensor]:
        """A copy of the weights that predict: their average, if there is one."""
        return {name: t.detach().clone() for name, t in (self.mean or self.network.state_dict()).items()}

    @torch.no_grad()
    def step(self) -> None:
        """Takes the weights after a step into their average, which starts as a plain mean of the first few."""
        if self.ema_decay is None:
            return
        now = self.network.state_dict()
        self.mean = self.mean or {name: t.clone() for name, t in now.items()}
        kept = min(self.ema_decay, (self.num_averaged + 1) / (self.num_averaged + 10))
        self.num_averaged += 1
        for name, tensor in self.mean.items():
            if tensor.is_floating_point():
                tensor.lerp_(now[name], 1 - kept)
            else:
                tensor.copy_(now[name])  # a count, say

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Gives the network its averaged weights inside, if there are any, and its own after."""
        if not self.mean:
            yield
            return
        own = {name: t.clone() for name, t in self.network.state_dict().items()}
        self.network.load_state_dict(self.mean)
        try:
            yield
        finally:
            self.network.load_state_dict(own)

    def restore_best(self) -> None:
        """The best weights; where nothing tells epochs apart, those of the last whole epoch."""
        self.network.load_state_dict(self.best or self.last)

    def save(self, file: Path) -> None:
        tensors = {f"network.{k}": v for k, v in self.network.state_dict().items()}
        tensors |= {f"best.{k}": v.clone() for k, v in self.best.items()}
        tensors |= {f"mean.{k}": v.clone() for k, v in self.mean.items()}
        for i, values in self.steps.state_dict()["state"].items():
            tensors |= {f"optimizer.{i}.{k}": v for k, v in values.items() if isinstance(v, Tensor)}
        state = {
            "epochs": self.history.epochs,
            "best_epoch": self.history.best_epoch,
            "best_score": list(self.best_score) if self.best else None,
            "num_averaged": self.num_averaged,
        }
        save_tensors(file, tensors, cast("dict[str, JSON]", state))

    def load(self, file: Path) -> None:
        tensors, state = load_tensors(file)
        load_into(self.network, _under("network.", tensors), f"{file} is of another network than this one")
        now = self.network.state_dict()
        self.best, self.mean = (
            {name: ordered_like(t, now[name]) for name, t in _under(prefix, tensors).items()}
            for prefix in ("best.", "mean.")
        )
        self.last = self._weights()
        self.num_averaged = cast(int, state.get("num_averaged", 0))
        parameters = [p for group in self.steps.param_groups for p in group["params"]]
        slots: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _under("optimizer.", tensors).items():
            index, _, key = name.partition(".")
            slots.setdefault(int(index), {})[key] = ordered_like(tensor, parameters[int(index)])
        self.steps.load_state_dict({"state": slots, "param_groups": self.steps.state_dict()["param_groups"]})
        self.history.epochs.extend(cast("list[Epoch]", state["epochs"]))
        self.history.best_epoch = cast(int, state["best_epoch"])
        if state["best_score"] is not None:
            self.best_score = cast("tuple[float, float]", tuple(cast("list[float]", state["best_score"])))


def load_into(network: nn.Module, weights: Mapping[str, Tensor], wrong: str) -> None:
    """Gives the network these weights; where they do not fit it, says `wrong` and the first difference."""
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        first = str(error).splitlines()[1:2] or [str(error)]
        raise ValueError(f"{wrong} ({first[0].strip().rstrip('.')}); give the network and the data it had") from None


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


def _optimizer(name: str, network: nn.Module, rate: float, decay: float) -> torch.optim.Optimizer:
    PARAMETERS["optimizer"].check("optimizer", name)
    parameters = [p for p in network.parameters() if p.requires_grad]
    if name == "adam":
        return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, fused=True)
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9, weight_decay=decay, fused=True)


def _evaluated(evaluate: Evaluate, network: nn.Module, epoch: int) -> Epoch:
    network.eval()
    with torch.no_grad():
        # all ranks keep the epoch that is best on rank 0, and stop when it does
        metrics = {f"validation_{k}": v for k, v in json_from_first(evaluate(network)).items()}
    bad = [f"{name} is {value}" for name, value in metrics.items() if not np.isfinite(value)]
    if bad:
        raise NonFiniteCostError(f"epoch {epoch}: {', '.join(bad)}; {_REMEDY}")
    return metrics


def _non_finite(terms: Tensor, epoch: int, batch: int) -> str:
    named = dict(zip(TERMS, terms.tolist(), strict=True))
    bad = [f"{name} is {value}" for name, value in named.items() if not np.isfinite(value) and name != "total"]
    rank, world = rank_and_world()
    where = f"epoch {epoch}, batch {batch}" + (f", rank {rank} of {world}" if world > 1 else "")
    return f"{where}: {', '.join(bad) or 'total is not finite'}; {_REMEDY}"
