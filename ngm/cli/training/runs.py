"""The estimator that was asked for, its training, and the control without the graph."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from sklearn.base import clone

from ngm.cli.progress import Progress, metric_of
from ngm.cli.signals import stopped_again
from ngm.cli.terminal import err
from ngm.cli.training.checks import check_edges, has_teachers
from ngm.cli.training.command_record import Kept
from ngm.cli.training.config import Asked
from ngm.cli.training.data import Data
from ngm.cli.training.options import FEW_LABELS, SHARE, Told
from ngm.distributed import rank_and_world
from ngm.estimators.base import NGMEstimator, followed_recipe
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.control import without_graph
from ngm.estimators.regressor import NGMRegressor
from ngm.experiments.table import Row
from ngm.io.files import is_graph_folder
from ngm.io.run_folder import JSON, Run
from ngm.networks import TEXT_NETWORKS, WORD_NETWORKS
from ngm.networks.input_scaling import Table
from ngm.training import Epoch

OnEpoch = Callable[[Epoch], None]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a training.

    Args:
        model: The run that is kept.
        with_graph: One estimator for each seed, the kept one first; empty where there is no control.
        without: The control of each.
    """

    model: NGMEstimator
    with_graph: Sequence[NGMEstimator] = ()
    without: Sequence[NGMEstimator] = ()

    def control(self) -> dict[str, JSON]:
        """Both as rows and seed by seed, for `metrics.json`; nothing where there is no control."""
        if not self.without:
            return {}
        rows: dict[str, JSON] = {}
        scores: dict[str, JSON] = {}
        for name, models in (("with_graph", self.with_graph), ("without_graph", self.without)):
            values = [value_of(model) for model in models]
            rows[name] = asdict(_row(models, values))
            scores[name] = cast(JSON, values)
        return {"control": {**rows, "scores": scores}}


def _row(models: Sequence[NGMEstimator], values: Sequence[float]) -> Row:
    seconds = [sum(epoch["seconds"] for epoch in model.history_.epochs) for model in models]
    name = (metric(models[0]) or ("accuracy", 0.0))[0]
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    mean = statistics.fmean(values)
    return Row(str(models[0].network), "validation", name, mean, spread, len(values), None, statistics.fmean(seconds))


def metric(model: NGMEstimator) -> tuple[str, float] | None:
    """(name, value) on the validation rows, of the epoch that is kept; None without validation."""
    history = model.history_
    return metric_of(history.epochs[history.best_epoch]) if history.epochs else None


def value_of(model: NGMEstimator) -> float:
    """The metric of a model that was validated."""
    return cast("tuple[str, float]", metric(model))[1]


def estimator(asked: Asked, data: Data) -> NGMEstimator:
    """The estimator with the settings that were given, and the defaults that go with the data."""
    told, given = asked.told, dict(asked.settings)
    network = given.setdefault("network", "ffnn")
    kind = NGMRegressor if data.target.task == "number" else NGMClassifier
    taught = has_teachers(given, data.target.task) and data.graph is not None
    if taught:
        check_edges(given)
    if network in WORD_NETWORKS or (taught and network in TEXT_NETWORKS):
        given["word_vectors"] = told.vectors
    share = given.pop("validation", _share(asked, data))
    given["validation"] = data.target.held_out if data.target.held_out is not None else share or None
    call = asked.call
    model = kind(**given, folder=call.output, resume=call.resume, overwrite=call.overwrite)  # type: ignore[arg-type]
    model.recomputed = _recomputed(told, data)
    return model


def _share(asked: Asked, data: Data) -> float:
    """Part of the labelled rows to validate on where nothing is said: none where labels are too few to waste."""
    needed = asked.told.control or asked.settings.get("patience") is not None
    counts = data.target.counts
    few = bool(counts) and int((~data.target.unlabeled).sum()) < FEW_LABELS * len(counts)
    return 0.0 if few and not needed else SHARE


def _recomputed(told: Told, data: Data) -> frozenset[str]:
    """What was made here from data that is compared: x from a graph, or a graph from the rows."""
    given = told.graph is not None or is_graph_folder(told.source or "")
    made = {"x": data.features.kind in ("graph", "vectors"), "graphs": data.graph is not None and not given}
    made["views"] = data.encoding is not None
    return frozenset(name for name, true in made.items() if true)


def train(model: NGMEstimator, data: Data, asked: Asked) -> Outcome:
    """Trains the run that is kept and, where it is asked for, controls and further seeds."""
    told, call = asked.told, asked.call
    logs = _logs(call.log or [], call.output)
    kept = Kept(call.output, told)
    if call.resume:
        kept.check_same()
    fit(model, data, "with the graph" if told.control else "training", call.as_json, [*logs, kept])
    kept.write()
    if not told.control:
        return Outcome(model)
    count = told.seeds or 1
    with_graph, without = [model], []
    for i in range(count):
        of = f" (seed {i + 1} of {count})" if count > 1 else ""
        if i:
            other = clone(model).set_params(seed=model.seed + i, folder=None, resume=False, overwrite=False)
            with_graph.append(fit(other, data, f"with the graph{of}", call.as_json))
        plain = without_graph(with_graph[i], data.target.y)
        without.append(fit(plain, data, f"without the graph{of}", call.as_json, graph=False))
    return Outcome(model, with_graph, without)


def views_of(model: NGMEstimator, data: Data) -> dict[str, Table] | None:
    """What the teachers of the model look at beside x; None where it has no teachers that do."""
    return data.views if data.graph is not None and followed_recipe(model) == "auto" else None


def fit(
    model: NGMEstimator,
    data: Data,
    what: str,
    quiet: bool,
    watchers: Sequence[OnEpoch] = (),
    graph: bool = True,
) -> NGMEstimator:
    """Fits with progress on standard error; an interrupted run says how to go on."""
    try:
        with Progress(model, what, quiet) as progress:

            def on_epoch(epoch: Epoch) -> None:
                for watcher in watchers:
                    watcher(epoch)
                progress(epoch)

            return model.fit(
                data.x,
                data.target.y,
                graph=data.graph if graph else None,
                views=views_of(model, data) if graph else None,
                on_epoch=on_epoch,
            )
    except KeyboardInterrupt:
        leads = rank_and_world()[0] == 0 and not stopped_again()
        if model.folder is not None and hasattr(model, "n_iter_") and leads:
            data.features.save(Run.open(model.folder))
            kept = f"{model.n_iter_:,} epoch{' is' if model.n_iter_ == 1 else 's are'} kept"
            err.print(f"{kept}; the same command with --resume goes on", highlight=False)
        raise


def _logs(names: Sequence[str], folder: Path) -> list[OnEpoch]:
    if not names:
        return []
    from ngm.logs import csv_log, tensorboard_log

    made = {"csv": lambda: csv_log(folder / "log.csv"), "tensorboard": lambda: tensorboard_log(folder / "tensorboard")}
    try:
        return [made[name]() for name in dict.fromkeys(names)]
    except ImportError as error:
        raise ValueError(f"--log: {error}") from None
