"""What there is to tell of a training, or of one that would be, as JSON: for `metrics.json` and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from ngm.estimators.base import NGMEstimator, followed_recipe
from ngm.io.run_folder import JSON
from ngm.workflow.options import SEPARATOR, TrainOptions, TrainRequest
from ngm.workflow.training_data import TrainingData
from ngm.workflow.training_plan import TrainingPlan
from ngm.workflow.training_runs import TrainingRuns, metric_of, metric_value_of

_FILES = ("config.json", "history.jsonl", "metrics.json", "model.json", "weights.safetensors", "features.json")
_FOLDERS = ("checkpoint/", "evidence/")


def data_summary(request: TrainRequest, data: TrainingData, model: NGMEstimator) -> dict[str, JSON]:
    """What was read, and what is to be trained on it."""
    return source_summary(request.options, data) | model_summary(model, data.graph is not None)


def model_summary(model: NGMEstimator, with_graph: bool) -> dict[str, JSON]:
    """What is to be trained."""
    recipe = followed_recipe(model, with_graph)
    return {"network": str(model.network), "recipe": model.recipe, "recipe_followed": recipe}


def source_summary(options: TrainOptions, data: TrainingData) -> dict[str, JSON]:
    """What was read."""
    target = data.target
    unlabeled = int(target.unlabeled.sum())
    graph: JSON = None
    if data.row_graph is not None:
        nodes, edges = data.row_graph.graph.num_nodes, data.row_graph.graph.num_edges
        graph = {"nodes": nodes, "edges": edges, "origin": data.row_graph.origin}
    node_inputs = data.features.nodes
    return {
        "source": options.source,
        "text": options.text,
        "columns": options.columns,
        "input": None if node_inputs is None else node_inputs.how,
        "features": data.description,
        "encoder": None if data.encoding is None else data.encoding.name,
        "label": data.label,
        "id": data.id_column,
        "task": target.task,
        **({"label_names": list(target.names)} if target.names else {}),
        **({"label_separator": options.label_separator} if options.label_separator not in (None, SEPARATOR) else {}),
        "rows": len(data),
        "labeled": len(data) - unlabeled,
        "unlabeled": unlabeled,
        "classes": cast(JSON, target.counts),
        "graph": graph,
    }


def training_summary(runs: TrainingRuns, seconds: float) -> dict[str, JSON]:
    """What was trained, and how well it does."""
    model = runs.model
    metric = metric_of(model)
    name, value = metric if metric is not None else (None, None)
    plain = metric_value_of(runs.without_graph[0]) if runs.without_graph else None
    is_accuracy = name == "accuracy"
    return {
        "weights": sum(p.numel() for p in model.network_.parameters()),
        "epochs": model.n_iter_,
        "best_epoch": model.history_.best_epoch,
        "validation_rows": model.num_validation_,
        "metric": name,
        "value": value,
        "value_without_graph": plain,
        "accuracy": value if is_accuracy else None,
        "accuracy_without_graph": plain if is_accuracy else None,
        "seconds": round(seconds, 3),
    }


def planned_files(request: TrainRequest, data: TrainingData) -> list[str]:
    """What a run folder would hold."""
    logs = {"csv": "log.csv", "tensorboard": "tensorboard/"}
    more = [logs[name] for name in dict.fromkeys(request.log)]
    more += ["features.safetensors"] if data.features.part.arrays() else []
    report = ["report.html"] if request.report else []
    names = (*_FILES, *_FOLDERS, *more, *report)
    return [str(request.output / name) + ("/" if name.endswith("/") else "") for name in names]


def plan_summary(plan: TrainingPlan, request: TrainRequest, data: TrainingData) -> dict[str, JSON]:
    """What would be trained, and how long it would take."""
    runs = 2 * (request.options.seeds or 1) if request.options.control else 1
    return {
        **cast("dict[str, JSON]", asdict(plan)),
        "seconds": round(plan.seconds * runs, 3),
        "runs": runs,
        "files": cast(JSON, planned_files(request, data)),
    }
