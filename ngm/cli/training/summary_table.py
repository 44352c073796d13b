"""What there is to tell of a training, or of one that would be: as JSON, and as a short table."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from rich.markup import escape
from rich.table import Table as Shown

from ngm.cli.progress import metric_name, metric_value
from ngm.cli.terminal import out
from ngm.cli.training.config import Asked
from ngm.cli.training.data import Data
from ngm.cli.training.dry_run import Plan
from ngm.cli.training.labels import TASKS
from ngm.cli.training.options import SEPARATOR
from ngm.cli.training.runs import Outcome, metric, value_of
from ngm.estimators.base import NGMEstimator, followed_recipe
from ngm.io.run_folder import JSON
from ngm.recipes.stacking import TeacherReport

_CLASSES_SHOWN = 10
_TEACHERS_SHOWN = 3
_FILES = ("config.json", "history.jsonl", "metrics.json", "model.json", "weights.safetensors", "features.json")
_FOLDERS = ("checkpoint/", "evidence/")


def data_told(asked: Asked, data: Data, model: NGMEstimator) -> dict[str, JSON]:
    """What was read, for `metrics.json` and `--json`."""
    told, target = asked.told, data.target
    unlabeled = int(target.unlabeled.sum())
    graph: JSON = None
    if data.joined is not None:
        nodes, edges = data.joined.graph.num_nodes, data.joined.graph.num_edges
        graph = {"nodes": nodes, "edges": edges, "origin": data.joined.origin}
    nodes_made = data.features.nodes
    return {
        "source": told.source,
        "text": told.text,
        "columns": told.columns,
        "input": None if nodes_made is None else nodes_made.how,
        "features": data.read_as,
        "encoder": None if data.encoding is None else data.encoding.name,
        "label": data.label,
        "id": data.id_column,
        "task": target.task,
        **({"label_names": list(target.names)} if target.names else {}),
        **({"label_separator": told.label_separator} if told.label_separator not in (None, SEPARATOR) else {}),
        "rows": len(data),
        "labeled": len(data) - unlabeled,
        "unlabeled": unlabeled,
        "classes": cast(JSON, target.counts),
        "graph": graph,
        "network": str(model.network),
        "recipe": model.recipe,
        "recipe_followed": followed_recipe(model),
    }


def outcome_told(outcome: Outcome, seconds: float) -> dict[str, JSON]:
    """What became of the training."""
    model = outcome.model
    found = metric(model)
    name, value = found if found is not None else (None, None)
    plain = value_of(outcome.without[0]) if outcome.without else None
    right = name == "accuracy"
    return {
        "weights": sum(p.numel() for p in model.network_.parameters()),
        "epochs": model.n_iter_,
        "best_epoch": model.history_.best_epoch,
        "validation_rows": model.num_validation_,
        "metric": name,
        "value": value,
        "value_without_graph": plain,
        "accuracy": value if right else None,
        "accuracy_without_graph": plain if right else None,
        "seconds": round(seconds, 3),
    }


def files(asked: Asked, data: Data) -> list[str]:
    """What a run folder would hold."""
    logs = {"csv": "log.csv", "tensorboard": "tensorboard/"}
    more = [logs[name] for name in dict.fromkeys(asked.call.log or [])]
    more += ["features.safetensors"] if data.features.part.arrays() else []
    report = ["report.html"] if asked.call.report else []
    folder = asked.call.output
    return [str(folder / name) + ("/" if name.endswith("/") else "") for name in (*_FILES, *_FOLDERS, *more, *report)]


def plan_told(plan: Plan, asked: Asked, data: Data) -> dict[str, JSON]:
    """What would become of it."""
    runs = 2 * (asked.told.seeds or 1) if asked.told.control else 1
    return {
        **cast("dict[str, JSON]", asdict(plan)),
        "seconds": round(plan.seconds * runs, 3),
        "runs": runs,
        "files": cast(JSON, files(asked, data)),
    }


def show(facts: dict[str, str]) -> None:
    """A table of two columns."""
    shown = Shown(show_header=False, box=None, pad_edge=False)
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in facts.items():
        shown.add_row(name, escape(value))
    out.print(shown, highlight=False)


def facts_of_data(data: Data, use: str) -> dict[str, str]:
    """What was read, in words.

    Args:
        data: What was read.
        use: What becomes of the graph.
    """
    noun, target = data.noun, data.target
    unlabeled = int(target.unlabeled.sum())
    facts = {
        "learned": f"{data.label} ({TASKS[target.task]})",
        "from": data.read_as,
        "labelled": f"{len(data) - unlabeled:,} {noun}{_classes(target.counts)}",
        "unlabelled": f"{unlabeled:,} {noun}",
        "graph": "none",
    }
    if data.encoding is not None:
        facts["vectors"] = f"{data.encoding.name}: {data.encoding.reason}"
    if data.joined is not None:
        facts["graph"] = f"{data.joined.graph.num_edges:,} edges: {data.joined.origin}; {use}"
    return facts


def _classes(counts: dict[str, int]) -> str:
    if not counts:
        return ""
    shown = [f"{name} {count:,}" for name, count in list(counts.items())[:_CLASSES_SHOWN]]
    more = f", ... ({len(counts):,} classes)" if len(counts) > _CLASSES_SHOWN else ""
    return f" ({', '.join(shown)}{more})"


def facts_of_outcome(outcome: Outcome, noun: str, seconds: float) -> dict[str, str]:
    """What became of the training, in words."""
    model = outcome.model
    weights = sum(p.numel() for p in model.network_.parameters())
    facts = {
        "network": f"{model.network}, {weights:,} weights, {_recipe(model)}",
        "epochs": f"{model.n_iter_:,}, of which {model.history_.best_epoch + 1:,} is kept",
    }
    if model.teachers_ is not None:
        facts["teachers"] = _teachers(model.teachers_, "micro_f1" if model.task_ == "labels" else "accuracy")
    if not outcome.without:
        found = metric(model)
        if found is not None:
            facts[metric_name(found[0])] = f"{metric_value(*found)} on {_hidden(model, noun)}"
        elif "teachers" not in facts:
            facts["accuracy"] = f"not measured: no {noun} were held out; --validation 0.2 holds out a fifth"
    else:
        facts |= _compared(outcome, noun)
    return facts | {"seconds": f"{seconds:.1f}"}


def _recipe(model: NGMEstimator) -> str:
    """The recipe, and which one is followed in its place."""
    followed = followed_recipe(model)
    return f"recipe {model.recipe}" + (f" ({followed} for numbers)" if followed != model.recipe else "")


def _teachers(teachers: TeacherReport, name: str) -> str:
    """The score of all teachers on held-out labels, and the largest weights."""
    score = "no label could be held out"
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


def _compared(outcome: Outcome, noun: str) -> dict[str, str]:
    """Both metrics, with their spread where there are several seeds."""
    rows = cast("dict[str, dict[str, int]]", outcome.control()["control"])
    facts = {}
    for key, label in (("with_graph", None), ("without_graph", "without the graph")):
        row = rows[key]
        name, several = str(row["metric"]), row["seeds"] > 1
        value = metric_value(name, row["mean"], row["std"] if several else None)
        seeds = f" over {row['seeds']:,} seeds" if several else ""
        facts[label or metric_name(name)] = f"{value}{seeds} on {_hidden(outcome.model, noun)}"
    return facts


def _hidden(model: NGMEstimator, noun: str) -> str:
    return f"{model.num_validation_:,} validation {noun}, whose labels were hidden"


def use_of_graph(model: NGMEstimator, noun: str) -> str:
    """What became of the graph."""
    if not all(model.graphs_used_):
        return "left out, since it tells nothing"
    edges = "trained on " + ", ".join(f"{count:,} {kind.upper()}" for kind, count in model.edges_by_kind_.items())
    if model.settings_.recipe != "paper":
        more = f"; {edges}" if any(model.edges_by_kind_.values()) else ""
        return f"{model.num_labeled_:,} {noun} labelled by it{more}"
    return edges


def facts_of_plan(asked: Asked, data: Data, model: NGMEstimator, plan: Plan) -> dict[str, str]:
    """What would happen, in words."""
    told = plan_told(plan, asked, data)
    teachers = ", after the teachers" if plan.taught else ""
    runs = f", for {told['runs']} trainings" if told["runs"] != 1 else ""
    return {
        "network": f"{model.network}, {plan.weights:,} weights, {_recipe(model)}",
        "validation": f"{plan.validation:,} {data.noun}, whose labels are hidden" if plan.validation else "none",
        "steps": f"{plan.steps:,} of {plan.batch_size:,} an epoch, {plan.epochs:,} epochs at most",
        "time": f"roughly {_time(cast(float, told['seconds']))}{runs}{teachers}",
        "would write": ", ".join(cast("list[str]", told["files"])),
    }


def use_planned(plan: Plan, noun: str, rows: int) -> str:
    """What would become of the graph."""
    if plan.taught:
        return f"teachers would label up to {rows:,} {noun} by it"
    if not any(plan.edges.values()):
        return "would be left out, since it tells nothing"
    return "would train on " + ", ".join(f"{count:,} {kind.upper()}" for kind, count in plan.edges.items())


def _time(seconds: float) -> str:
    """`40 s`, `3 min` or `2.5 h`."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
