"""What processes run on a graph in parts in tests; each a function of the folder that has `parts` and gets results."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ngm import EdgeLoader, NGMClassifier, NGMLoss, NGMRegressor, Partition, open_partition, partition_graph
from ngm.cli import main
from ngm.distributed import process_group, rank_and_world, sum_over_ranks
from ngm.estimators.base import NGMEstimator
from ngm.partition.part_loader import PartLoader
from ngm.training import Epoch
from ngm.workflow import part_prediction, predict
from tests.conftest import make_problem

TASKS = ("classes", "labels", "numbers")
SCALINGS: tuple[Literal["sum", "mean"], ...] = ("sum", "mean")
SAMPLE_WEIGHT = np.random.default_rng(1).random(40) + 0.5


def targets(task: str) -> NDArray[np.generic]:
    """(40, ...) targets of the nodes of `make_problem`."""
    problem = make_problem()
    y = problem.y.numpy()
    if task == "numbers":
        return np.where(y >= 0, problem.x[:, 0].numpy() + y, np.nan)
    if task == "labels":
        several = np.stack([y == 0, y >= 1, y != 2], axis=1).astype(np.int64)
        several[y < 0] = -1
        return several
    return y


def write_parts(folder: Path, parts: int = 4) -> None:
    """Cuts the graph of `make_problem`, once for each task."""
    problem = make_problem()
    for task in TASKS:
        kind: Literal["classes", "numbers"] = "numbers" if task == "numbers" else "classes"
        y, weight = targets(task), SAMPLE_WEIGHT
        ids = [f"node {i}" for i in range(len(y))] if task == "classes" else None
        partition_graph(
            folder / task, problem.graph, problem.x, y, parts=parts, task=kind, sample_weight=weight, ids=ids
        )


def model(task: str, epochs: int = 4, batch_size: int = 1000) -> NGMEstimator:
    """Validated, without negative pairs; an epoch is one batch, so that its steps do not depend on how it is cut."""
    kind = NGMRegressor if task == "numbers" else NGMClassifier
    return kind(
        hidden=(8,),
        batch_size=batch_size,
        epochs=epochs,
        validation=0.3,
        seed=3,
        recipe="paper",
        negatives=0.0,
        graph_screen=False,
    )


def fitted(task: str, epochs: int = 4) -> NGMEstimator:
    """Trained on the whole graph by one process."""
    problem = make_problem()
    return model(task, epochs).fit(problem.x, targets(task), graph=problem.graph, sample_weight=SAMPLE_WEIGHT)


def learned_alone() -> dict[str, NDArray[np.floating]]:
    """What one process learns of each task on the whole graph."""
    return {f"{task} {name}": value for task in TASKS for name, value in learned(fitted(task)).items()}


def learned(estimator: NGMEstimator) -> dict[str, NDArray[np.floating]]:
    """Weights, and everything that was measured on the way."""
    weights = {name: tensor.numpy() for name, tensor in estimator.network_.state_dict().items()}
    epochs = [{k: v for k, v in epoch.items() if k != "seconds"} for epoch in estimator.history_.epochs]
    names = ("epoch", "supervised", "ll", "lu", "uu", "total")
    names += tuple(name for name in epochs[0] if name.startswith("validation_"))
    counts = [estimator.num_labeled_, estimator.num_given_, estimator.num_validation_]
    return weights | {
        "history": np.array([[epoch[name] for name in names] for epoch in epochs]),
        "counts": np.array([*counts, *estimator.edges_by_kind_.values()]),
    }


def objective(loss: NGMLoss, loader: EdgeLoader) -> NDArray[np.floating]:
    """(5,) the terms of an epoch at the weights of `make_problem`, over all ranks: summed, or averaged over batches."""
    network = make_problem().network
    sums = torch.zeros(5, dtype=torch.float64)
    for batch in loader:
        cost = loss(network, batch)
        sums += torch.stack([cost.supervised, cost.ll, cost.lu, cost.uu, cost.total]).detach()
    found = sum_over_ranks(sums / (1 if loss.scaling == "sum" else len(loader)))
    return np.asarray(found)


def loss_of(scaling: Literal["sum", "mean"], alpha_uu: float = 0.1) -> NGMLoss:
    return NGMLoss(alpha_ll=0.3, alpha_lu=0.2, alpha_uu=alpha_uu, scaling=scaling)


def part_objective(partition: Partition, loss: NGMLoss, batch_size: int) -> NDArray[np.floating]:
    """The same on parts, in a process group or alone."""
    rank, world = rank_and_world()
    part = partition.local(rank, world)
    loader = PartLoader(
        part.x,
        part.y,
        part,
        batch_size=batch_size,
        world=world,
        labeled=part.labeled,
        sample_weight=part.sample_weight,
        kinds=loss.kinds,
        dtype=torch.float64,
    )
    lengths = sum_over_ranks(torch.tensor([len(loader), sum(len(batch.ends) for batch in loader)]))
    assert int(lengths[0]) == world * len(loader)
    return np.append(objective(loss, loader), [len(loader), int(lengths[1])])


def objectives(partition: Partition) -> dict[str, NDArray[np.floating]]:
    """For both scalings, all kinds of edges and some, and several sizes of batches."""
    return {
        f"{scaling} {alpha_uu} {size}": part_objective(partition, loss_of(scaling, alpha_uu), size)
        for scaling in SCALINGS
        for alpha_uu in (0.1, 0.0)
        for size in (1000, 16)
    }


def train_and_measure(folder: Path) -> None:
    """Trains on the parts of every task and measures the objective; results of this rank as `rank0.npz`."""
    with process_group() as (rank, _):
        found = objectives(open_partition(folder / "classes"))
        for task in TASKS:
            trained = model(task).fit_parts(folder / task, folder=folder / f"run of {task}")
            found |= {f"{task} {name}": value for name, value in learned(trained).items()}
        np.savez(folder / f"rank{rank}.npz", **found)


def killed(folder: Path) -> None:
    """Trains on parts in two batches an epoch; rank 1 dies in the third epoch at the first attempt."""
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]

    def on_epoch(epoch: Epoch) -> None:
        if epoch["epoch"] == 1 and attempt == "0" and rank_and_world()[0] == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    trained = model("classes", batch_size=60)
    trained.fit_parts(folder / "classes", on_epoch, folder / "run", resume=True)
    whole = model("classes", batch_size=60).fit_parts(folder / "classes")
    found = {"resumed": learned(trained), "whole": learned(whole)}
    for name, arrays in found.items():
        np.savez(folder / f"{name}{os.environ['RANK']}.npz", **arrays)


def killed_command(folder: Path) -> None:
    """`ngm train` on parts; at the first attempt rank 1 dies once three epochs are done."""
    history = folder / "run" / "history.jsonl"

    def die() -> None:
        while not (history.exists() and history.read_text(encoding="utf-8").count("\n") > 2):
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)

    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "1":
        threading.Thread(target=die, daemon=True).start()
    words = ["train", str(folder / "classes"), "--recipe", "paper", "--epochs", "40", "--hidden", "4"]
    sys.argv = ["ngm", *words, "--batch-size", "60", "--negatives", "0", "--no-report", "--resume"]
    sys.argv += ["-o", str(folder / "run")]
    try:
        main()
    except SystemExit as ended:
        sys.stderr.flush()
        if ended.code:
            os._exit(int(ended.code))


def predictions(folder: Path) -> None:
    """Predicts the nodes of every task, in batches and windows of a few nodes; files of each number of ranks."""
    part_prediction.BATCH_SIZE, part_prediction.WINDOW = 3, 7
    with process_group() as (_, world):
        for task in TASKS:
            for kind in ("csv", "parquet"):
                predict(folder / f"run of {task}", folder / task, folder / f"{task}{world}.{kind}")
