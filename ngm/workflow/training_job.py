"""What there is to train, from whatever source: the estimator, its fit, and what goes into the run folder beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ngm.io.node_records import NodeRecords
from ngm.io.run_folder import JSON, Run
from ngm.partition.local_part import Partition
from ngm.workflow.monitor import Monitor
from ngm.workflow.options import TrainRequest
from ngm.workflow.run_summary import data_summary
from ngm.workflow.target_column import with_label_names
from ngm.workflow.training_data import TrainingData, read_data
from ngm.workflow.training_runs import TrainingRuns, fit_controls, fit_kept, make_estimator, recomputed_parts


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """A training that can begin.

    Args:
        data: What was read.
        runs: Has the estimator that is kept.
        summary: What there is to tell of the data.
        recomputed: Parts of the data that were made here; see `RunWriter`.
        fit: Trains all that is to be trained.
        name_records: Gives the recorded nodes the users' names.
        save_features: Writes how rows are read.
    """

    data: TrainingData | Partition
    runs: TrainingRuns
    summary: Mapping[str, JSON]
    recomputed: frozenset[str]
    fit: Callable[[], None]
    name_records: Callable[[NodeRecords], NodeRecords]
    save_features: Callable[[Run], None]


def table_job(request: TrainRequest, monitor: Monitor) -> TrainingJob:
    """From a table or a graph folder, which is read."""
    options = request.options
    data = read_data(options, request.settings, request.trusted, monitor)
    runs = TrainingRuns(make_estimator(request, data))

    def fit() -> None:
        fit_kept(runs.model, data, request, monitor)
        if options.control:
            fit_controls(runs, data, options, monitor)

    def name_records(records: NodeRecords) -> NodeRecords:
        return with_label_names(records.named(ids=data.ids, texts=data.texts), data.target.names)

    summary, recomputed = data_summary(request, data, runs.model), recomputed_parts(options, data)
    return TrainingJob(data, runs, summary, recomputed, fit, name_records, data.features.save)
