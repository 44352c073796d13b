"""A training from a table or a graph folder to a run folder: what `ngm train` does, for Python."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from ngm.distributed import process_group
from ngm.estimators.base import NGMEstimator
from ngm.io.locks import folder_lock
from ngm.io.run_folder import JSON, Run
from ngm.io.run_writer import RunWriter
from ngm.partition.local_part import Partition
from ngm.partition.part_folder import is_partition
from ngm.recipes.parameters import parameters_from_flat
from ngm.workflow.checks import check
from ngm.workflow.monitor import Monitor, SilentMonitor, collected_notes
from ngm.workflow.options import TrainOptions, TrainRequest
from ngm.workflow.part_training import part_job
from ngm.workflow.resumption import check_same_options
from ngm.workflow.run_summary import data_summary, plan_summary, training_summary
from ngm.workflow.training_data import TrainingData, read_data
from ngm.workflow.training_job import TrainingJob, table_job
from ngm.workflow.training_plan import TrainingPlan, plan_training
from ngm.workflow.training_runs import TrainingRuns, make_estimator


@dataclass(frozen=True, eq=False)
class TrainResult:
    """A training that is done.

    Args:
        model: The trained estimator, ready to predict.
        folder: Its run folder.
        report: The report in it, where one was written.
        data: What was read: n rows, their targets, the graph; or the partition that was trained on.
        runs: The estimator again and, with a control, those that it was compared with.
        seconds: How long it all took.
        notes: Warnings that were issued on the way.
        summary: What `ngm train --json` prints.
    """

    model: NGMEstimator
    folder: Path
    report: Path | None
    data: TrainingData | Partition
    runs: TrainingRuns
    seconds: float
    notes: Sequence[str]
    summary: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class DryRunResult:
    """A training that would be.

    Args:
        plan: What would be trained, and how long that would take.
        model: The estimator, not fitted.
        data: What was read.
        notes: Warnings that were issued on the way.
        summary: What `ngm train --dry-run --json` prints.
    """

    plan: TrainingPlan
    model: NGMEstimator
    data: TrainingData
    notes: Sequence[str]
    summary: Mapping[str, JSON]


def train(
    source: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    output: str | Path = "run",
    columns: str | None = None,
    input: str | None = None,
    graph: str | Path | None = None,
    no_graph: bool = False,
    k: int | None = None,
    encoder: str | None = None,
    vectors: str | Path | None = None,
    task: str | None = None,
    label_separator: str | None = None,
    id: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    validation_column: str | None = None,
    control: bool = False,
    seeds: int | None = None,
    settings: Mapping[str, object] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    log: Sequence[str] = (),
    report: bool = True,
    monitor: Monitor | None = None,
) -> TrainResult:
    """Trains a network on a table or a graph folder, of which few rows need a label, and writes a run folder.

    This is `ngm train`: rows are texts (`text`), numbers (`columns`) or what the graph says of them (`input`). Without
    a graph each row is joined to the rows most like it. Messages name the options of the command: `--label` is
    `label`.

    Args:
        source: A table of n rows (CSV, TSV, Parquet, JSON lines, a DuckDB query), or a graph folder with n nodes.
        text: Column of texts; several as `title,body`.
        label: Column to learn; a row without a value is unlabelled. By default that of the graph folder.
        output: Run folder, a new or an empty one.
        columns: Columns of numbers, or of lists of numbers, separated by commas.
        input: Learn from the graph itself: "rows", "netmf", "identities", "clusters" or "node2vec".
        graph: Graph folder over the n rows of the table.
        no_graph: Train on the labelled rows alone.
        k: Neighbours per row in the graph that is made; 5 by default.
        encoder: What makes vectors of texts; by default the best that is available.
        vectors: File of word vectors.
        task: "class", "number" or "labels" (several per row); detected by default.
        label_separator: Separates the labels of a row; `;` by default.
        id: Column of ids.
        header: Whether the first line of a text file has names; detected by default.
        delimiter: Separates the fields of a text file; detected by default.
        validation_column: Column that marks rows as 'train', 'validation' or 'test'.
        control: Train again without the graph, for comparison.
        seeds: With `control`: repeat both with this many seeds; the first run is kept.
        settings: Fields of the estimator by name, such as `{"epochs": 20}`; see `ngm.NGMClassifier`.
        resume: Go on with the run in the folder, if there is one.
        overwrite: Replace the run in the folder.
        log: Further logs of every epoch in the run folder: "csv", "tensorboard".
        report: Write `report.html`.
        monitor: Is told how the training goes.

    Returns:
        The trained model, its folder, and what was measured.
    """
    options = TrainOptions(
        source=str(source),
        text=text,
        encoder=encoder,
        columns=columns,
        input=input,
        label=label,
        task=task,
        label_separator=label_separator,
        id=id,
        header=header,
        delimiter=delimiter,
        validation_column=validation_column,
        graph=None if graph is None else str(graph),
        no_graph=no_graph or None,
        k=k,
        vectors=None if vectors is None else str(vectors),
        control=control or None,
        seeds=seeds,
    )
    request = TrainRequest(options, settings or {}, Path(output), resume, overwrite, log=log, report=report)
    return run_request(request, monitor)


def run_request(request: TrainRequest, monitor: Monitor | None = None, started: float | None = None) -> TrainResult:
    """Trains as `train` does; in each of several processes, of which the first one writes.

    Args:
        request: The training.
        monitor: Is told how it goes.
        started: When the caller began with it, by `time.perf_counter`; now by default.
    """
    started = time.perf_counter() if started is None else started
    monitor = monitor or Monitor()
    check(request)
    parameters_from_flat(request.settings)  # refuses settings of another network before anything is read
    with process_group() as (rank, _):
        if rank > 0:
            silent = monitor if monitor.on_every_rank else SilentMonitor()
            return _train(replace(request, log=()), silent, started, leads=False)
        with folder_lock(request.output):
            _check_folder(request, monitor)
            return _train(request, monitor, started, leads=True)


def dry_run(request: TrainRequest, monitor: Monitor | None = None) -> DryRunResult:
    """Reads and checks everything that `train` would, and times a few steps; nothing is written.

    Args:
        request: The training.
        monitor: Is told how it goes.
    """
    monitor, request = monitor or Monitor(), replace(request, dry_run=True)
    check(request)
    if is_partition(request.options.source or ""):
        raise ValueError(f"--dry-run is for a table or a graph folder, and {request.options.source} has parts")
    parameters_from_flat(request.settings)
    with process_group() as (rank, _):
        if rank == 0:
            _check_folder(request, monitor)
        monitor = monitor if rank == 0 else SilentMonitor()
        with collected_notes(monitor) as notes:
            data = read_data(request.options, request.settings, request.trusted, monitor)
            model = make_estimator(request, data)
            plan = plan_training(model, data)
        content = data_summary(request, data, model) | plan_summary(plan, request, data)
        summary = {"dry_run": True, "run": str(request.output), **content, "notes": cast(JSON, list(notes))}
        return DryRunResult(plan, model, data, notes, summary)


def _check_folder(request: TrainRequest, monitor: Monitor) -> None:
    """Refuses a folder that may be neither written into nor gone on with, before anything is read."""
    if request.resume and (request.output / "config.json").is_file():
        return
    Run.check(request.output, request.overwrite or request.dry_run, resumable=True)
    if request.resume:
        monitor.message(f"there is no run in {request.output} yet; a new one begins")


def _train(request: TrainRequest, monitor: Monitor, started: float, leads: bool) -> TrainResult:
    """Reads, trains and, in the first process, writes."""
    options = request.options
    with collected_notes(monitor) as notes:
        job = (part_job if is_partition(options.source or "") else table_job)(request, monitor)
        if request.resume:
            check_same_options(request.output, options)
        writer = RunWriter(options.as_json(), recomputed=job.recomputed, deferred=True)
        job.runs.model.run_writer = writer
        result = _Result(request, job, writer, started, notes)
        try:
            job.fit()
        except BaseException as error:
            if leads:
                _keep_unfinished(result, monitor, error)
            raise
    if leads:
        return result.write()
    return TrainResult(job.runs.model, request.output, None, job.data, job.runs, time.perf_counter() - started, notes)


@dataclass(frozen=True, eq=False)
class _Result:
    """What a training has come to, to be written into its run folder once."""

    request: TrainRequest
    job: TrainingJob
    writer: RunWriter
    started: float
    notes: Sequence[str]

    def write(self, report: bool = True) -> TrainResult:
        """Writes every file of the run folder, and the report."""
        request, job, runs, writer = self.request, self.job, self.job.runs, self.writer
        seconds = time.perf_counter() - self.started
        content = {**job.summary, **training_summary(runs, seconds), "notes": cast(JSON, list(self.notes))}
        if isinstance(content["graph"], dict):
            content["graph"] = content["graph"] | {"edges_used": cast(JSON, dict(runs.model.edges_by_kind_))}
        comparison = runs.comparison()
        trained = writer.write({"data": content, **comparison}, job.name_records, job.save_features)
        page = _write_report(request.output) if report and request.report else None
        summary = {
            "run": str(request.output),
            **content,
            "teachers": trained.metrics.get("teachers"),
            **comparison,
            "report": None if page is None else str(page),
        }
        return TrainResult(runs.model, request.output, page, job.data, runs, seconds, self.notes, summary)


def _keep_unfinished(result: _Result, monitor: Monitor, error: BaseException) -> None:
    """Writes what is trained so far, if the run that is kept has ended, when Ctrl-C or an error stops the rest."""
    model = result.job.runs.model
    interrupted = isinstance(error, KeyboardInterrupt)
    if (interrupted and monitor.stopped_again()) or result.writer.finished is None:
        return
    result.write(report=interrupted)
    if interrupted and model.history_.stopped == "interrupted":
        kept = f"{model.n_iter_:,} epoch{' is' if model.n_iter_ == 1 else 's are'} kept"
        monitor.message(f"{kept}; the same command with --resume goes on")
    elif interrupted:
        where = result.request.output
        monitor.message(f"the run is whole in {where}; its comparison without the graph was not finished")


def _write_report(folder: Path) -> Path:
    from ngm.report import write_report

    return write_report(folder)
