"""`ngm train` once its options are known to go together: reads, trains, writes the run folder and prints."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import cast

from rich.markup import escape

from ngm.cli.progress import noted
from ngm.cli.signals import stopped_again
from ngm.cli.terminal import err, out, print_json
from ngm.cli.training import summary_table
from ngm.cli.training.config import Asked
from ngm.cli.training.data import Data, read_data
from ngm.cli.training.dry_run import rehearsed
from ngm.cli.training.labels import in_words
from ngm.cli.training.runs import Outcome, estimator, train
from ngm.distributed import process_group, rank_and_world
from ngm.estimators.base import NGMEstimator
from ngm.io.locks import folder_lock
from ngm.io.node_records import read_evidence, write_evidence
from ngm.io.run_folder import JSON, Run


def execute(wanted: Asked, start: float) -> None:
    """Trains what was asked for, in each of several processes; the first one writes and prints.

    Args:
        wanted: Checked.
        start: When the command began, as `time.perf_counter` tells it.
    """
    with process_group() as (rank, _):
        if rank > 0:
            _follow(wanted)
        else:
            _lead(wanted, start)


def _lead(wanted: Asked, start: float) -> None:
    """Trains, writes and prints."""
    call = wanted.call
    with nullcontext() if call.dry_run else folder_lock(call.output):
        if not (call.resume and (call.output / "config.json").is_file()):
            Run.check(call.output, call.overwrite or call.dry_run, resumable=True)
            if call.resume and not call.as_json:
                err.print(f"there is no run in {escape(str(call.output))} yet; a new one begins", highlight=False)
        _train(wanted, start)


def _follow(wanted: Asked) -> None:
    """What the other ranks of several do: they train, and the first one writes and prints."""
    with noted(quiet=True):
        data = _read(wanted)
        model = estimator(wanted, data)
        if wanted.call.dry_run:
            rehearsed(model, data)
        else:
            train(model, data, replace(wanted, call=replace(wanted.call, as_json=True, log=None)))


def _train(wanted: Asked, start: float) -> None:
    quiet = wanted.call.as_json
    with noted(quiet=quiet) as notes:
        data = _read(wanted)
        model = estimator(wanted, data)
        if wanted.call.dry_run:
            _plan(wanted, data, model, notes)
            return
        try:
            outcome = train(model, data, wanted)
        except KeyboardInterrupt:
            _keep_interrupted(wanted, data, model, time.perf_counter() - start, notes)
            raise
    seconds = time.perf_counter() - start
    content = _keep(wanted, data, outcome, seconds, notes)
    if quiet:
        print_json(content)
    else:
        _show(wanted, data, outcome, seconds, content)


def _read(wanted: Asked) -> Data:
    quiet = wanted.call.as_json or rank_and_world()[0] > 0
    return read_data(wanted.told, wanted.settings, trusted=wanted.source_typed, quiet=quiet)


def _keep(wanted: Asked, data: Data, outcome: Outcome, seconds: float, notes: list[str]) -> dict[str, JSON]:
    """Writes what training leaves to the command into the run folder, and gives what there is to print."""
    run = Run.open(wanted.call.output)
    content = summary_table.data_told(wanted, data, outcome.model) | summary_table.outcome_told(outcome, seconds)
    content |= {"notes": cast(JSON, list(notes))}
    if isinstance(content["graph"], dict):
        content["graph"] |= {"edges_used": cast(JSON, dict(outcome.model.edges_by_kind_))}
    metrics = run.read("metrics.json")
    run.write("metrics.json", metrics | {"data": content, **outcome.control()})
    data.features.save(run)
    evidence = read_evidence(run)
    if evidence is not None:
        write_evidence(run, in_words(evidence.named(ids=data.ids, texts=data.texts), data.target.names))
    taught = {"teachers": metrics.get("teachers")}
    return {"run": str(run.folder), **content, **taught, **outcome.control(), "report": _report(wanted, run)}


def _keep_interrupted(wanted: Asked, data: Data, model: NGMEstimator, seconds: float, notes: list[str]) -> None:
    """Leaves a run folder with ids and a report, if at least one epoch was done."""
    if stopped_again() or not hasattr(model, "n_iter_") or not (wanted.call.output / "metrics.json").exists():
        return
    _keep(wanted, data, Outcome(model), seconds, notes)
    if model.history_.stopped != "interrupted":
        where = escape(str(wanted.call.output))
        err.print(f"the run is whole in {where}; its comparison without the graph was not finished", highlight=False)


def _report(wanted: Asked, run: Run) -> str | None:
    """Writes the report, unless it is not wanted."""
    if not wanted.call.report:
        return None
    from ngm.report import write_report

    return str(write_report(run.folder))


def _show(wanted: Asked, data: Data, outcome: Outcome, seconds: float, content: Mapping[str, JSON]) -> None:
    use = summary_table.use_of_graph(outcome.model, data.noun)
    summary_table.show(
        summary_table.facts_of_data(data, use) | summary_table.facts_of_outcome(outcome, data.noun, seconds)
    )
    where = wanted.call.output
    if content["report"] is not None:
        out.print(f"Report: {escape(str(content['report']))}", highlight=False, soft_wrap=True)
    next_ = escape(f"next: ngm predict {shlex.quote(str(where))} {_new(wanted)}")
    out.print(f"Run folder: {escape(str(where))}   ({next_})", highlight=False, soft_wrap=True)


def _new(wanted: Asked) -> str:
    """The end of the command that predicts new rows."""
    if wanted.told.text is not None:
        return f"new.csv --text {shlex.quote(wanted.told.text)}"
    return "new.csv" if wanted.told.columns is not None else "links.csv"


def _plan(wanted: Asked, data: Data, model: NGMEstimator, notes: list[str]) -> None:
    """Says what would happen."""
    plan = rehearsed(model, data)
    if wanted.call.as_json:
        content = summary_table.data_told(wanted, data, model) | summary_table.plan_told(plan, wanted, data)
        print_json({"dry_run": True, "run": str(wanted.call.output), **content, "notes": cast(JSON, list(notes))})
        return
    use = summary_table.use_planned(plan, data.noun, len(data))
    summary_table.show(summary_table.facts_of_data(data, use) | summary_table.facts_of_plan(wanted, data, model, plan))
    out.print("Nothing was written; leave out --dry-run to train.", highlight=False, soft_wrap=True)
