"""The estimator that a request asks for, its training, and the control without the graph."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, cast

from sklearn.base import clone

from ngm.choices import TEXT_NETWORKS, WORD_NETWORKS
from ngm.estimators.base import NGMEstimator, followed_recipe
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.control import without_graph
from ngm.estimators.regressor import NGMRegressor
from ngm.estimators.validation import SHARE
from ngm.io.files import is_graph_folder
from ngm.io.run_folder import JSON, RunTarget
from ngm.networks.input_scaling import Table
from ngm.recipes.parameters import network_specification, parameters_from_flat
from ngm.training import Epoch
from ngm.workflow.checks import check_edges, has_teachers
from ngm.workflow.monitor import Monitor, validation_metric
from ngm.workflow.options import TrainOptions, TrainRequest
from ngm.workflow.training_data import TrainingData

OnEpoch: TypeAlias = Callable[[Epoch], None]


@dataclass(eq=False)
class TrainingRuns:
    """The trained estimators of a request.

    Args:
        model: The one that is kept.
        with_graph: One estimator for each seed, the kept one first; empty where there is no control.
        without_graph: The control of each.
    """

    model: NGMEstimator
    with_graph: list[NGMEstimator] = field(default_factory=list)
    without_graph: list[NGMEstimator] = field(default_factory=list)

    def comparison(self) -> dict[str, JSON]:
        """Both as rows and seed by seed, for `metrics.json`; nothing where there is no control."""
        if not self.without_graph:
            return {}
        rows: dict[str, JSON] = {}
        scores: dict[str, JSON] = {}
        for name, models in (("with_graph", self.with_graph), ("without_graph", self.without_graph)):
            values = [metric_value_of(model) for model in models]
            rows[name] = _comparison_row(models, values)
            scores[name] = cast(JSON, values)
        return {"control": {**rows, "scores": scores}}


def _comparison_row(models: Sequence[NGMEstimator], values: Sequence[float]) -> dict[str, JSON]:
    """A row as tables of experiments have them."""
    seconds = [sum(epoch["seconds"] for epoch in model.history_.epochs) for model in models]
    return {
        "method": network_specification(models[0]).name,
        "setting": "validation",
        "metric": (metric_of(models[0]) or ("accuracy", 0.0))[0],
        "mean": statistics.fmean(values),
        "std": statistics.stdev(values) if len(values) > 1 else 0.0,
        "seeds": len(values),
        "paper": None,
        "seconds": statistics.fmean(seconds),
        "dataset": None,
        "protocol": None,
        "threshold": None,
        "labels": None,
    }


def metric_of(model: NGMEstimator) -> tuple[str, float] | None:
    """(name, value) on the validation rows, of the epoch that is kept; None without validation."""
    history = model.history_
    return validation_metric(history.epochs[history.best_epoch]) if history.epochs else None


def metric_value_of(model: NGMEstimator) -> float:
    """The metric of a model that was validated."""
    return cast("tuple[str, float]", metric_of(model))[1]


def make_estimator(request: TrainRequest, data: TrainingData) -> NGMEstimator:
    """The estimator with the settings that were given, and the defaults that go with the data."""
    options, given = request.options, dict(request.settings)
    network = given.setdefault("network", "ffnn")
    kind = NGMRegressor if data.target.task == "number" else NGMClassifier
    taught = has_teachers(given) and data.graph is not None
    if taught:
        check_edges(given)
    if network in WORD_NETWORKS or (taught and network in TEXT_NETWORKS):
        given["vectors"] = options.vectors
    if data.target.held_out is not None:
        given["validation"] = data.target.held_out
    elif "validation" in given:
        given["validation"] = given["validation"] or None
    elif options.control:
        given["validation"] = SHARE  # a comparison needs validation rows, however few labels there are
    return kind(**vars(parameters_from_flat(given)))


def recomputed_parts(options: TrainOptions, data: TrainingData) -> frozenset[str]:
    """What was made here from data that is compared: x from a graph, or a graph from the rows."""
    given = options.graph is not None or is_graph_folder(options.source or "")
    made = {"x": data.features.kind in ("graph", "vectors"), "graphs": data.graph is not None and not given}
    made["views"] = data.encoding is not None
    return frozenset(name for name, true in made.items() if true)


def fit_kept(model: NGMEstimator, data: TrainingData, request: TrainRequest, monitor: Monitor) -> None:
    """Trains the run that is kept."""
    logs = make_logs(request.log, request.output)
    description = "with the graph" if request.options.control else "training"
    fit(model, data, description, monitor, logs, target=RunTarget(request.output, request.resume, request.overwrite))


def fit_controls(runs: TrainingRuns, data: TrainingData, options: TrainOptions, monitor: Monitor) -> None:
    """Trains the controls and, for further seeds, both; they are added to `runs` once all are trained."""
    count, model = options.seeds or 1, runs.model
    with_graph, without = [model], []
    for i in range(count):
        of = f" (seed {i + 1} of {count})" if count > 1 else ""
        if i:
            other = clone(model).set_params(seed=model.seed + i)
            with_graph.append(fit(other, data, f"with the graph{of}", monitor))
        plain = without_graph(with_graph[i], data.target.y)
        without.append(fit(plain, data, f"without the graph{of}", monitor, graph=False))
    runs.with_graph, runs.without_graph = with_graph, without


def views_of(model: NGMEstimator, data: TrainingData) -> dict[str, Table] | None:
    """Further tables for the teachers of the model; None where it has no teachers that read them."""
    return data.views if data.graph is not None and followed_recipe(model, True) == "auto" else None


def fit(
    model: NGMEstimator,
    data: TrainingData,
    description: str,
    monitor: Monitor,
    logs: Sequence[OnEpoch] = (),
    graph: bool = True,
    target: RunTarget | None = None,
) -> NGMEstimator:
    """Fits, and tells the monitor and the logs of every epoch."""
    target = target or RunTarget()
    with monitor.fitting(model, description) as progress:

        def on_epoch(epoch: Epoch) -> None:
            for log in (*logs, progress):
                log(epoch)

        return model.fit(
            data.x,
            data.target.y,
            graph=data.graph if graph else None,
            views=views_of(model, data) if graph else None,
            on_epoch=on_epoch,
            folder=target.folder,
            resume=target.resume,
            overwrite=target.overwrite,
        )


def make_logs(names: Sequence[str], folder: Path) -> list[OnEpoch]:
    """What is called with every epoch to write the further logs of a run folder."""
    if not names:
        return []
    from ngm.logs import csv_log, tensorboard_log

    made = {"csv": lambda: csv_log(folder / "log.csv"), "tensorboard": lambda: tensorboard_log(folder / "tensorboard")}
    try:
        return [made[name]() for name in dict.fromkeys(names)]
    except ImportError as error:
        raise ValueError(f"--log: {error}") from None
