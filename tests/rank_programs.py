"""What several processes run in tests: `python -m tests.rank_programs NAME FOLDER`, alone or by torchrun.

Each program is a function of the folder that results go to, so that a test can run it in its own process too.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ngm import CoTraining, EdgeLoader, NGMClassifier, NGMLoss, SelfTraining
from ngm.choices import Sampling
from ngm.distributed import process_group, sum_gradients
from ngm.training import Epoch
from tests.conftest import make_problem

EPOCHS = 6


def classifier(epochs: int = EPOCHS) -> NGMClassifier:
    """Small, validated, and without dropout: that would be drawn anew for each number of ranks."""
    given = {"hidden": (8,), "batch_size": 16, "validation": 0.3, "seed": 3, "recipe": "paper"}
    return NGMClassifier(epochs=epochs, **given)  # type: ignore[arg-type]


def fit(
    model: NGMClassifier, folder: Path | None = None, on_epoch: Callable[[Epoch], None] | None = None
) -> NDArray[np.floating]:
    """Probabilities of all rows, after training, or after going on with what is in the folder."""
    problem = make_problem()
    resume = folder is not None
    model.fit(problem.x, problem.y, graph=problem.graph, on_epoch=on_epoch, folder=folder, resume=resume)
    return model.predict_proba(problem.x)


def many_fits() -> dict[str, NDArray[np.floating]]:
    """Trains again and again, and in rounds."""
    problem = make_problem()
    arrays = {f"fit {i}": fit(classifier(epochs=2 + i)) for i in range(3)}
    for name, rounds in (("self", SelfTraining(classifier(), rounds=2)), ("co", CoTraining(classifier(), rounds=2))):
        arrays[name] = rounds.fit(problem.x, problem.y.numpy(), graph=problem.graph).predict_proba(problem.x)
    return arrays


def save(folder: Path, arrays: dict[str, NDArray[np.floating]]) -> None:
    """Writes the results of this rank."""
    np.savez(folder / f"rank{rank()}.npz", **arrays)


def rank() -> int:
    return int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")))


def fits(folder: Path) -> None:
    """Trains again and again; goes on with the run of a single process, and begins one to go on with."""
    resumed = {"resumed": fit(classifier(), folder / "resumed")}
    fit(classifier(epochs=3), folder / "begun")
    save(folder, many_fits() | resumed)


class Faulty(nn.Module):
    """A linear network of which rank 1 goes wrong in the third batch, in the way that `fault` says."""

    fault = ""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.batches, self.last_batch = 0, -1

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.linear(x)
        if not self.training:
            return -logits if self.fault == "disagrees" and rank() == 1 else logits
        self.batches += 1
        if rank() == 1 and self.batches == self.last_batch:
            os.kill(os.getpid(), signal.SIGKILL)
        if rank() != 1 or self.batches != 3:
            return logits
        if self.fault == "raises":
            raise ValueError("row 7 is odd")
        return logits * float("inf") if self.fault == "explodes" else logits


def killed(folder: Path) -> None:
    """Trains a run, of which rank 1 dies in the middle of the fourth epoch at the first attempt; then more."""

    epochs: list[float] = []

    def on_epoch(epoch: Epoch) -> None:
        epochs.append(epoch["epoch"])
        if epoch["epoch"] == 2 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            model.network_.last_batch = model.network_.batches + 2

    model = classifier().set_params(network=Faulty)
    arrays = {"killed": fit(model, folder / "run", on_epoch)} | many_fits()
    save(folder, arrays | {"epochs": np.array(epochs)})


def faults(folder: Path) -> None:
    """One training after another in which a rank goes wrong, and what became of each; the last one is sound."""
    results = {name: outcome(name) for name in ("explodes", "raises", "disk", "interrupted", "odd data", "disagrees")}
    results["sound"] = outcome("")
    (folder / f"rank{rank()}.json").write_text(json.dumps(results), encoding="utf-8")


def outcome(fault: str) -> dict[str, object]:
    """Type and text of the error, how long it took from the fault to there, and how many epochs were done."""
    Faulty.fault = fault
    problem = make_problem()
    model = classifier().set_params(network=Faulty, patience=2 if fault == "disagrees" else None)
    y = problem.y.clone()
    if fault == "odd data" and rank() == 1:
        y[6:12] = 1

    def on_epoch(epoch: Epoch) -> None:
        if fault == "disk" and rank() == 0 and epoch["epoch"] == 1:
            raise OSError(28, "No space left on device")
        if fault == "interrupted" and rank() == 1 and epoch["epoch"] == 1:
            os.kill(os.getpid(), signal.SIGINT)

    start, error = time.monotonic(), ""
    try:
        model.fit(problem.x, y, graph=problem.graph, on_epoch=on_epoch)
    except (Exception, KeyboardInterrupt) as raised:
        error = f"{type(raised).__name__}: {raised}"
    history = getattr(model, "history_", None)
    return {
        "error": error,
        "seconds": time.monotonic() - start,
        "epochs": len(history.epochs) if history else None,
        "best": history.best_epoch if history else None,
        "stopped": history.stopped if history else None,
    }


def gradients(folder: Path) -> None:
    """Writes the gradients that the first rank has after summing them."""
    with process_group() as (here, world):
        found = {scaling: batch_gradients(scaling, here, world) for scaling in ("sum", "mean")}
        if here == 0:
            torch.save(found, folder / "gradients.pt")


def batch_gradients(scaling: Literal["sum", "mean"], here: int = 0, world: int = 1) -> Tensor:
    """(batches, parameters) gradients of the batches of an epoch, for both ways of sending labels."""
    problem = make_problem()
    loss = NGMLoss(alpha_ll=0.3, alpha_lu=0.2, alpha_uu=0.1, negatives=1.5, scaling=scaling)
    ways: tuple[Sampling, ...] = ("edges", "plain")
    out = []
    for sampling in ways:
        for batch in EdgeLoader(
            problem.x,
            problem.y,
            problem.graph,
            batch_size=16,
            negatives=loss.negatives,
            dtype=torch.float64,
            rank=here,
            world=world,
            sampling=sampling,
        ):
            problem.network.zero_grad()
            cost = loss(problem.network, batch)
            if cost.total.requires_grad:
                cost.total.backward()  # type: ignore[no-untyped-call]
            sum_gradients(problem.network.parameters())
            out.append(torch.cat([p.grad.reshape(-1) for p in problem.network.parameters() if p.grad is not None]))
    return torch.stack(out)


PROGRAMS: dict[str, Callable[[Path], None]] = {f.__name__: f for f in (fits, killed, faults, gradients)}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](Path(sys.argv[2]))
