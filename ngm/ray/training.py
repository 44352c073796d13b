"""Training by Ray Train: its workers are the ranks of `ngm.distributed`, in the process group that Ray makes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

from numpy.typing import ArrayLike
from sklearn.base import clone
from torch import nn

from ngm._arguments import as_path, whole_number
from ngm.distributed import json_from_first, rank_and_world
from ngm.estimators.base import NGMEstimator
from ngm.estimators.loading import load
from ngm.graph import Graph
from ngm.io.run_folder import Run, RunTarget
from ngm.networks.input_scaling import Table
from ngm.networks.specifications import CustomNetwork, network_of
from ngm.ray._installed import check_ray
from ngm.recipes.parameters import parameters_from_flat
from ngm.text.readers import Given
from ngm.training import Epoch
from ngm.workflow.checks import check
from ngm.workflow.monitor import Monitor
from ngm.workflow.options import TrainRequest
from ngm.workflow.training import run_request

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.train import RunConfig, ScalingConfig

_POLLING = ("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", 2.0)  # how often Ray reads reports, in seconds, and its default


def fit(
    estimator: NGMEstimator,
    x: Given,
    y: ArrayLike,
    graph: Graph | Sequence[Graph] | None = None,
    *,
    folder: str | Path,
    workers: int | ScalingConfig = 2,
    sample_weight: ArrayLike | None = None,
    views: Mapping[str, Table] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    run_config: RunConfig | None = None,
) -> NGMEstimator:
    """Fits an estimator in the workers of Ray Train's `TorchTrainer`, which train as one.

    x, y and the graph are put once into Ray's object store. The record of an epoch is reported to Ray by rank 0, at
    most once per `RAY_TRAIN_HEALTH_CHECK_INTERVAL_S` (2 s by default), since Ray reads no faster; the last epoch is
    always reported.

    Args:
        estimator: An `NGMClassifier` or `NGMRegressor`; it stays as it is.
        x: As `fit` of the estimator takes it, like the next two and `sample_weight`, `views`, `resume`, `overwrite`.
        y: Targets of the rows, unlabelled ones marked.
        graph: Over the rows.
        folder: Run folder, written by rank 0; on a file system that this process and the workers share.
        workers: How many, or a `ray.train.ScalingConfig` with their resources.
        sample_weight: (n,) weight of each labelled row.
        views: Name -> (n, d) table: further descriptions of the rows.
        resume: Go on from the checkpoint in the folder, if there is one. With it, workers that Ray starts again (see
            `ray.train.FailureConfig`) go on from the last whole epoch.
        overwrite: Replace a run that is in the folder.
        run_config: Where Ray keeps its own records, how often it starts workers again, who is told of reports.

    Returns:
        The fitted estimator, read from the folder.
    """
    if not isinstance(estimator, NGMEstimator):
        raise TypeError(f"estimator is a {type(estimator).__name__}; give an NGMClassifier or an NGMRegressor")
    check_ray("ngm.ray.fit")
    import ray

    target = as_path("folder", folder).resolve()
    RunTarget(target, resume, overwrite).check()
    named = {"graph": graph, "sample_weight": sample_weight, "views": views, "resume": resume, "overwrite": overwrite}
    data = ray.put((clone(estimator), x, y, {**named, "folder": target}))
    _run_workers(_fit_in_worker, data, workers, run_config)
    is_function = isinstance(network_of(estimator.network), CustomNetwork)
    return _written(target, cast("Callable[[int, int], nn.Module]", estimator.network) if is_function else None)


def train(
    request: TrainRequest, *, workers: int | ScalingConfig = 2, run_config: RunConfig | None = None
) -> NGMEstimator:
    """Trains on a table, a graph folder or a partition as `ngm.workflow.train` does, in the workers of Ray Train.

    Every worker reads the source itself. Epochs are reported as those of `fit`.

    Args:
        request: The training; its source and its output must be on a file system that this process and the workers
            share.
        workers: How many, or a `ray.train.ScalingConfig` with their resources.
        run_config: As for `fit`.

    Returns:
        The fitted estimator, read from the run folder.
    """
    check(request)
    parameters_from_flat(request.settings)  # refuses settings of another network before anything is started
    check_ray("ngm.ray.train")
    import ray

    _run_workers(_train_in_worker, ray.put(request), workers, run_config)
    return _written(request.output)


# In the process that starts the workers


class _WorkerConfig(TypedDict):
    """What a worker is told."""

    data: ObjectRef
    cwd: str


def _run_workers(
    loop: Callable[[_WorkerConfig], None], data: ObjectRef, workers: int | ScalingConfig, run_config: RunConfig | None
) -> None:
    from ray.train import ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    scaling = ScalingConfig(num_workers=whole_number("workers", workers, 1)) if isinstance(workers, int) else workers
    trainer = TorchTrainer(
        loop,
        train_loop_config=_WorkerConfig(data=data, cwd=str(Path.cwd())),
        torch_config=TorchConfig(backend="cpu:gloo,cuda:nccl" if scaling.use_gpu else "gloo"),
        scaling_config=scaling,
        run_config=run_config,
    )
    with _same_interrupt_handler():
        trainer.fit()


@contextmanager
def _same_interrupt_handler() -> Iterator[None]:
    """Puts back what Ctrl-C did before: Ray Train leaves a handler of its own behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _written(folder: Path, network: Callable[[int, int], nn.Module] | None = None) -> NGMEstimator:
    """The model of a run folder that the workers wrote."""
    if not Run(folder).is_trained:
        raise FileNotFoundError(f"rank 0 wrote {folder} on another machine; give a folder that all machines share")
    return load(folder, network)


# In the workers


def _fit_in_worker(config: _WorkerConfig) -> None:
    import ray

    os.chdir(config["cwd"])  # Ray Train has put the worker elsewhere, where relative names of files would not be found
    estimator, x, y, named = ray.get(config["data"])
    report = _Reports()
    estimator.fit(x, y, on_epoch=report, **named)
    report.flush()


def _train_in_worker(config: _WorkerConfig) -> None:
    import ray

    os.chdir(config["cwd"])
    monitor = _ReportingMonitor()
    run_request(ray.get(config["data"]), monitor)
    monitor.reports.flush()


class _Reports:
    """Reports epochs to Ray, those of rank 0; all ranks have to report equally often."""

    def __init__(self) -> None:
        self.interval = float(os.environ.get(_POLLING[0], _POLLING[1]))
        self.last = time.monotonic()
        self.waiting: Epoch | None = None

    def __call__(self, epoch: Epoch) -> None:
        self.waiting = epoch
        if json_from_first({"due": int(time.monotonic() - self.last >= self.interval)})["due"]:
            self.flush()

    def flush(self) -> None:
        """Reports the last epoch unless that is done."""
        from ray.train import report

        if self.waiting is not None:
            report(dict(self.waiting) if rank_and_world()[0] == 0 else {})
            self.last, self.waiting = time.monotonic(), None


class _ReportingMonitor(Monitor):
    """Reports the epochs of the network that is kept, not those of its control without the graph."""

    on_every_rank = True

    def __init__(self) -> None:
        self.reports = _Reports()
        self.shows_notes = rank_and_world()[0] > 0  # warnings are those of rank 0
        self.fits = 0

    def fitting(self, model: NGMEstimator, description: str) -> AbstractContextManager[Callable[[Epoch], None]]:
        """Reports epochs of the first fit."""
        self.fits += 1
        return nullcontext(self.reports if self.fits == 1 else lambda epoch: None)
