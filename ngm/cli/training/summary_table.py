"""Prints what there is to tell of a training, or of a dry run: as JSON, or as a short table."""

from __future__ import annotations

import shlex
from typing import cast

from rich.markup import escape
from rich.table import Table

from ngm.cli.progress import metric_name, metric_value
from ngm.cli.terminal import out, print_json
from ngm.estimators.base import NGMEstimator
from ngm.partition.local_part import Partition
from ngm.partition.part_folder import is_partition
from ngm.recipes.stacking import TeacherReport
from ngm.workflow.options import TrainRequest
from ngm.workflow.target_column import TASKS
from ngm.workflow.training import DryRunResult, TrainResult
from ngm.workflow.training_data import TrainingData
from ngm.workflow.training_plan import TrainingPlan
from ngm.workflow.training_runs import TrainingRuns, metric_of

_CLASSES_SHOWN = 10
_TEACHERS_SHOWN = 3


def show_training(result: TrainResult, request: TrainRequest, as_json: bool) -> None:
    """Prints what was trained, and where it is."""
    if as_json:
        print_json(dict(result.summary))
        return
    data = result.data
    if isinstance(data, TrainingData):
        noun, facts = data.noun, data_facts(data, use_of_graph(result.model, data.noun))
    else:
        noun, facts = "nodes", part_facts(data, use_of_graph(result.model, "nodes"))
    _print(facts | training_facts(result.runs, noun, result.seconds))
    if result.report is not None:
        out.print(f"Report: {escape(str(result.report))}", highlight=False, soft_wrap=True)
    next_ = escape(f"next: ngm predict {shlex.quote(str(result.folder))} {_new_rows(request)}")
    out.print(f"Run folder: {escape(str(result.folder))}   ({next_})", highlight=False, soft_wrap=True)


def show_dry_run(result: DryRunResult, request: TrainRequest, as_json: bool) -> None:
    """Prints what would be trained."""
    if as_json:
        print_json(dict(result.summary))
        return
    use = planned_use_of_graph(result.plan, result.data.noun, len(result.data))
    _print(data_facts(result.data, use) | plan_facts(result))
    out.print("Nothing was written; leave out --dry-run to train.", highlight=False, soft_wrap=True)


def _new_rows(request: TrainRequest) -> str:
    """The end of the command that predicts new rows."""
    options = request.options
    if is_partition(options.source or ""):
        return shlex.quote(str(options.source))
    if options.text is not None:
        return f"new.csv --text {shlex.quote(options.text)}"
    return "new.csv" if options.columns is not None else "links.csv"


def _print(facts: dict[str, str]) -> None:
    """Prints a table of two columns."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, escape(value))
    out.print(table, highlight=False)


def data_facts(data: TrainingData, use: str) -> dict[str, str]:
    """What was read, in words.

    Args:
        data: What was read.
        use: What becomes of the graph.
    """
    noun, target = data.noun, data.target
    unlabeled = int(target.unlabeled.sum())
    facts = {
        "learned": f"{data.label} ({TASKS[target.task]})",
        "from": data.description,
        "labelled": f"{len(data) - unlabeled:,} {noun}{_classes(target.counts)}",
        "unlabelled": f"{unlabeled:,} {noun}",
        "graph": "none",
    }
    if data.encoding is not None:
        facts["vectors"] = f"{data.encoding.name}: {data.encoding.reason}"
    if data.row_graph is not None:
        facts["graph"] = f"{data.row_graph.graph.num_edges:,} edges: {data.row_graph.origin}; {use}"
    return facts


def part_facts(partition: Partition, use: str) -> dict[str, str]:
    """What was read of a graph in parts, in words.

    Args:
        partition: What was trained on.
        use: What becomes of the graph.
    """
    header, data = partition.header, partition.header.data
    labeled = sum(part.labeled for part in header.parts)
    counts = cast("dict[str, int]", data.get("classes", {}))
    parts = f"{len(partition):,} parts, {100 * header.cut:.1f} % of the edges between them"
    return {
        "learned": f"{data.get('label', 'y')} ({header.task['task']})",
        "from": str(data.get("features", f"{header.width:,} numbers a node")),
        "labelled": f"{labeled:,} nodes{_classes(counts)}",
        "unlabelled": f"{header.num_nodes - labeled:,} nodes",
        "graph": f"{header.num_edges:,} edges in {parts}; {use}",
    }


def _classes(counts: dict[str, int]) -> str:
    if not counts:
        return ""
    shown = [f"{name} {count:,}" for name, count in list(counts.items())[:_CLASSES_SHOWN]]
    more = f", ... ({len(counts):,} classes)" if len(counts) > _CLASSES_SHOWN else ""
    return f" ({', '.join(shown)}{more})"


def training_facts(runs: TrainingRuns, noun: str, seconds: float) -> dict[str, str]:
    """What was trained, in words."""
    model = runs.model
    weights = sum(p.numel() for p in model.network_.parameters())
    facts = {
        "network": f"{model.network}, {weights:,} weights, {_recipe(model, model.settings_.recipe)}",
        "epochs": f"{model.n_iter_:,}, of which {model.history_.best_epoch + 1:,} is kept",
    }
    if model.teachers_ is not None:
        of_task = {"labels": "micro_f1", "numbers": "r_squared"}
        facts["teachers"] = _teachers(model.teachers_, of_task.get(getattr(model, "task_", "numbers"), "accuracy"))
    if not runs.without_graph:
        metric = metric_of(model)
        if metric is not None:
            facts[metric_name(metric[0])] = f"{metric_value(*metric)} on {_hidden(model, noun)}"
        elif model.teachers_ is None or not model.teachers_.scored:
            facts["accuracy"] = f"not measured: no {noun} were held out; --validation 0.2 holds out a fifth"
    else:
        facts |= _comparison_facts(runs, noun)
    return facts | {"seconds": f"{seconds:.1f}"}


def _recipe(model: NGMEstimator, followed: str) -> str:
    """The recipe, and which one is followed in its place."""
    return f"recipe {model.recipe}" + (f" ({followed} without a graph)" if followed != model.recipe else "")


def _teachers(teachers: TeacherReport, name: str) -> str:
    """The score of all teachers on held-out labels, and the largest weights."""
    score = "no label could be held out" if teachers.scored else "weights are fixed, no label was held out"
    if teachers.num_held_out:
        low, high = teachers.interval
        score = (
            f"{metric_name(name)} {teachers.score:.3f} (95 % interval {low:.3f} to {high:.3f}) on "
            f"{teachers.num_held_out:,} {'rows' if name == 'micro_f1' else 'labels'} held out from them"
        )
    ranked = sorted(teachers.weights.items(), key=lambda item: -item[1])
    largest = "; ".join(f"{teacher} {weight:.0%}" for teacher, weight in ranked[:_TEACHERS_SHOWN])
    of = f"largest of {len(ranked)} weights" if len(ranked) > _TEACHERS_SHOWN else "weights"
    return f"{score}; {teachers.weight_of_graphs:.0%} of the weight uses the graph; {of}: {largest}"


def _comparison_facts(runs: TrainingRuns, noun: str) -> dict[str, str]:
    """Both metrics, with their spread where there are several seeds."""
    rows = cast("dict[str, dict[str, int]]", runs.comparison()["control"])
    facts = {}
    for key, label in (("with_graph", None), ("without_graph", "without the graph")):
        row = rows[key]
        name, several = str(row["metric"]), row["seeds"] > 1
        value = metric_value(name, row["mean"], row["std"] if several else None)
        seeds = f" over {row['seeds']:,} seeds" if several else ""
        facts[label or metric_name(name)] = f"{value}{seeds} on {_hidden(runs.model, noun)}"
    return facts


def _hidden(model: NGMEstimator, noun: str) -> str:
    return f"{model.num_validation_:,} validation {noun}, whose labels were hidden"


def use_of_graph(model: NGMEstimator, noun: str) -> str:
    """What became of the graph."""
    if not all(model.graphs_used_):
        return "ignored: predictions of neighbours agree no more than chance"
    edges = "trained on " + ", ".join(f"{count:,} {kind.upper()}" for kind, count in model.edges_by_kind_.items())
    if model.settings_.recipe != "paper":
        more = f"; {edges}" if any(model.edges_by_kind_.values()) else ""
        return f"{model.num_labeled_:,} {noun} labelled by it{more}"
    return edges


def plan_facts(result: DryRunResult) -> dict[str, str]:
    """What would be trained, in words."""
    plan, summary, noun = result.plan, result.summary, result.data.noun
    teachers = ", after the teachers" if plan.taught else ""
    runs = f", for {summary['runs']} trainings" if summary["runs"] != 1 else ""
    recipe = _recipe(result.model, str(summary["recipe_followed"]))
    return {
        "network": f"{result.model.network}, {plan.weights:,} weights, {recipe}",
        "validation": f"{plan.validation:,} {noun}, whose labels are hidden" if plan.validation else "none",
        "steps": f"{plan.steps:,} of {plan.batch_size:,} an epoch, {plan.epochs:,} epochs at most",
        "time": f"roughly {_time(cast(float, summary['seconds']))}{runs}{teachers}",
        "would write": ", ".join(cast("list[str]", summary["files"])),
    }


def planned_use_of_graph(plan: TrainingPlan, noun: str, rows: int) -> str:
    """What would become of the graph."""
    if plan.taught:
        return f"teachers would label up to {rows:,} {noun} by it"
    if not any(plan.edges.values()):
        return "would be ignored: predictions of neighbours agree no more than chance"
    return "would train on " + ", ".join(f"{count:,} {kind.upper()}" for kind, count in plan.edges.items())


def _time(seconds: float) -> str:
    """`40 s`, `3 min` or `2.5 h`."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
