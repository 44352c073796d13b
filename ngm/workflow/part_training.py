"""A training on a graph in parts: each process opens its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ngm.estimators.base import NGMEstimator
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.regressor import NGMRegressor
from ngm.features import Features
from ngm.io.node_records import NodeRecords
from ngm.io.run_folder import JSON, Run
from ngm.partition.local_part import Partition, open_partition
from ngm.recipes.parameters import parameters_from_flat
from ngm.training import Epoch
from ngm.workflow.monitor import Monitor
from ngm.workflow.options import TrainOptions, TrainRequest
from ngm.workflow.run_summary import model_summary
from ngm.workflow.target_column import with_label_names
from ngm.workflow.training_job import TrainingJob
from ngm.workflow.training_runs import TrainingRuns, make_logs


def part_job(request: TrainRequest, monitor: Monitor) -> TrainingJob:
    """From a folder that `ngm partition` wrote."""
    options = request.options
    check_part_options(options)
    partition = open_partition(options.source or "")
    runs = TrainingRuns(_make_estimator(request, partition))
    label_names = cast("Sequence[str]", partition.header.data.get("label_names", ()))

    def fit() -> None:
        logs = make_logs(request.log, request.output)
        with monitor.fitting(runs.model, "training") as progress:

            def on_epoch(epoch: Epoch) -> None:
                for log in (*logs, progress):
                    log(epoch)

            runs.model.fit_parts(partition, on_epoch, request.output, request.resume, request.overwrite)

    def name_records(records: NodeRecords) -> NodeRecords:
        return with_label_names(records, label_names)

    def save_features(run: Run) -> None:
        features = Features.open(Run(partition.folder))
        if features is not None:
            features.save(run)

    summary = {**part_summary(partition), "source": options.source, **model_summary(runs.model, with_graph=True)}
    return TrainingJob(partition, runs, summary, frozenset(), fit, name_records, save_features)


def part_summary(partition: Partition) -> dict[str, JSON]:
    """What there is to tell of the data: what `ngm partition` knew, or what follows from the sizes alone."""
    header = partition.header
    labeled, task = sum(part.labeled for part in header.parts), str(header.task["task"])
    known: dict[str, JSON] = {
        "features": f"{header.width:,} numbers a node",
        "label": "y",
        "id": None,
        "task": {"numbers": "number", "labels": "labels"}.get(task, "class"),
        "rows": header.num_nodes,
        "labeled": labeled,
        "unlabeled": header.num_nodes - labeled,
        "classes": {},
        "graph": {"nodes": header.num_nodes, "edges": header.num_edges, "origin": str(partition.folder)},
    }
    return {**known, **header.data}


def check_part_options(options: TrainOptions) -> None:
    """Refuses options that were settled when the graph was cut."""
    for name in options.as_json():
        if name != "source":
            option = "-k" if name == "k" else f"--{name.replace('_', '-')}"
            remedy = "train on the graph itself" if name in ("control", "seeds") else "give it to ngm partition"
            raise ValueError(f"{option} is given, and {options.source} has rows and labels in parts already; {remedy}")


def _make_estimator(request: TrainRequest, partition: Partition) -> NGMEstimator:
    given = dict(request.settings)
    given.setdefault("network", "ffnn")
    if "validation" in given:
        given["validation"] = given["validation"] or None
    kind = NGMRegressor if partition.header.task["task"] == "numbers" else NGMClassifier
    return kind(**vars(parameters_from_flat(given)))
