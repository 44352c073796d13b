"""Run folders of estimators: settings as JSON, weights as safetensors, never a pickle."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import nn

from ngm._arguments import as_path
from ngm.estimators.data_digests import check_same_data, data_digests, part_digests
from ngm.estimators.network_factory import make_network
from ngm.estimators.trained_model import TrainedModel
from ngm.io.files import remove_all_leftovers
from ngm.io.locks import folder_lock
from ngm.io.run_folder import JSON, Run, RunTarget, TrainedRun
from ngm.io.run_writer import RunWriter
from ngm.parameters import PARAMETERS, renamed_settings
from ngm.recipes.parameters import Parameters, flat_settings, network_specification, parameters_from_flat
from ngm.recipes.problem import Problem
from ngm.recipes.settings import Settings, resolve
from ngm.recipes.stacking import TeacherReport
from ngm.task import Task
from ngm.text.readers import Reader
from ngm.training import History, load_into

_WIDEST = 2**31  # columns, classes; more is damage
_NOT_KEPT, _IN_MEMORY = ("vectors", "thesaurus"), "in memory: "
_COUNTS = {"labeled": "num_labeled", "labeled_given": "num_given", "validation_rows": "num_validation"}
_MAY_CHANGE = ("epochs", "patience", "device")  # between an interrupted run and its resumption


def check_folder(
    estimator: str, parameters: Parameters, target: RunTarget, data: Mapping[str, JSON] | None = None
) -> dict[str, JSON] | None:
    """Refuses a folder with a run in it that may be neither replaced nor gone on with; nothing is written.

    Args:
        estimator: Name of the class that is to train.
        parameters: Its settings.
        target: The folder, and what may become of a run in it.
        data: Digests of what it is to be trained on, to compare with those of the run to go on with; None: not yet.

    Returns:
        `config.json` of the run to go on with; None for a new run.
    """
    folder = as_path("folder", target.folder)
    if not target.resume or not (folder / "config.json").exists():
        Run.check(folder, target.overwrite, resumable=True)
        return None
    run = Run.open(folder)
    config = run.read("config.json", ("estimator", "settings"))
    before = {"estimator": config["estimator"], **renamed_settings(cast("dict[str, JSON]", config["settings"]))}
    _check_same(before, {"estimator": estimator, **settings_as_json(parameters)}, folder)
    if run.is_trained and not run.checkpoint.exists():
        raise ValueError(
            f"{folder} has weights but no checkpoint, so there is nothing to go on from (save writes none); set "
            "overwrite=True (--overwrite) instead of resume to replace it, or name another folder"
        )
    if data is not None:
        check_same_data(config.get("data"), data, folder)
    return config


def lock(folder: str | Path | None, rank: int, create: bool = False) -> AbstractContextManager[None]:
    """Keeps other trainings out of a folder, where there is one and this process writes it."""
    return nullcontext() if folder is None or rank else folder_lock(folder, create)


def checked_digests(
    estimator: str, parameters: Parameters, target: RunTarget, problem: Problem, recomputed: Collection[str] = ()
) -> dict[str, JSON]:
    """What tells the data from other data; refuses it if the folder is of other data, or not to be replaced.

    Args:
        estimator: Name of the class that is to train.
        parameters: Its settings.
        target: The folder, and what may become of a run in it.
        problem: What it is to be trained on.
        recomputed: Parts of the data that the caller made from others; see `data_digests`.
    """
    check_folder(estimator, parameters, target)  # before anything is read
    data = _digests(parameters, problem, recomputed)
    check_folder(estimator, parameters, target, data)
    return data


def _digests(parameters: Parameters, problem: Problem, recomputed: Collection[str]) -> dict[str, JSON]:
    if problem.part is not None and problem.validation_nodes is not None:
        return part_digests(problem.part, problem.validation_nodes)
    return data_digests(
        problem.inputs,
        (problem.targets[problem.known], problem.known, getattr(problem.task, "classes", None)),
        problem.held_out,
        problem.sample_weight,
        problem.graphs,
        getattr(network_specification(parameters), "thesaurus", None),
        recomputed,
        problem.views,
    )


def begin(
    estimator: str, parameters: Parameters, target: RunTarget, data: Mapping[str, JSON], writer: RunWriter | None
) -> Run:
    """Opens the run folder: a new run, or the one to resume, whose settings and data must be the same.

    Args:
        estimator: Name of the class that is to train.
        parameters: Its settings.
        target: The folder to open, and what may become of a run in it.
        data: Digests of what it is to be trained on.
        writer: Owns the folder; None in processes that do not write.
    """
    run = Run(as_path("folder", target.folder))
    if writer is None:
        return run
    config = check_folder(estimator, parameters, target, data)
    if config is None:
        Run.create(run.folder, target.overwrite, resumable=True)
    remove_all_leftovers(run.folder)
    writer.begin(run, estimator, settings_as_json(parameters), data, earlier=config)
    return run


def trained_run(model: TrainedModel) -> TrainedRun:
    """What a trained model leaves in a run folder."""
    history = model.history
    best = history.epochs[history.best_epoch] if history.epochs else {}
    counts = {key: getattr(model, name) for key, name in _COUNTS.items()}
    return TrainedRun(
        metrics={
            "stopped": history.stopped,
            "epochs": len(history.epochs),
            "best_epoch": history.best_epoch,
            "seconds": sum(epoch["seconds"] for epoch in history.epochs),
            "validation": {k.removeprefix("validation_"): v for k, v in best.items() if k.startswith("validation_")},
            **{key: count for key, count in counts.items() if count is not None},
            "edges": cast(JSON, dict(model.edges_by_kind)),
            "graphs_used": cast(JSON, list(model.graphs_used)),
            **({"teachers": teachers_as_json(model.teachers)} if model.teachers else {}),
        },
        model=_model_as_json(model),
        weights=model.network.state_dict(),
        history=cast("list[dict[str, JSON]]", history.epochs),
    )


def save(model: TrainedModel, folder: Path, overwrite: bool = False) -> Path:
    """Writes a run folder from a trained model."""
    Run.check(folder, overwrite)
    with folder_lock(folder, create=True):
        run = Run.create(folder, overwrite)
        run.write_config(model.estimator, settings_as_json(model.parameters))
        run.write_trained(trained_run(model))
    return folder


def read_model(
    run: Run, estimator: str, parameters: Parameters, read_task: Callable[[Mapping[str, JSON]], Task]
) -> TrainedModel:
    """Reads what `finish` wrote.

    Args:
        run: Has been trained.
        estimator: Name of the class that trained it.
        parameters: From `parameters_from_json`.
        read_task: Takes back what the task wrote into `model.json`.
    """
    content = run.read("model.json", ("dtype", "in_features", "out_features"))
    metrics = run.read("metrics.json", ("best_epoch", "stopped", "labeled", "edges"))
    task, reader, settings = _parts_from_json(parameters, content, read_task, run.folder / "model.json")
    dtype = torch.float64 if content["dtype"] == "float64" else torch.float32
    widths = cast(int, content["in_features"]), cast(int, content["out_features"])
    for name, width in zip(("in_features", "out_features"), widths, strict=True):
        if not 1 <= width <= _WIDEST:
            raise ValueError(f"{run.folder / 'model.json'} is damaged ({name} is {width}); train again")
    network = make_network(parameters, settings, widths, dtype, reader)
    load_into(network, run.load_weights(), f"the weights in {run.folder} do not fit the network")
    epochs = cast("list[dict[str, float]]", run.read_history())
    names = content.get("feature_names")
    return TrainedModel(
        estimator=estimator,
        parameters=parameters,
        settings=settings,
        task=task,
        network=network.eval(),
        widths=widths,
        dtype=dtype,
        reader=reader,
        is_table=bool(content.get("is_table", True)),
        feature_names=None if names is None else np.array(names, dtype=object),
        history=History(epochs, cast(int, metrics["best_epoch"]), metrics["stopped"]),  # type: ignore[arg-type]
        **{
            name: cast(int, metrics.get(key)) for key, name in _COUNTS.items()
        },  # folders of before have the first alone
        edges_by_kind=cast("dict[str, int]", metrics["edges"]),
        graphs_used=cast("list[bool]", metrics.get("graphs_used", [])),
        teachers=teachers_from_json(metrics.get("teachers")),
    )


def _parts_from_json(
    parameters: Parameters, content: Mapping[str, JSON], read_task: Callable[[Mapping[str, JSON]], Task], file: Path
) -> tuple[Task, Reader | None, Settings]:
    """Takes back what `_model_as_json` wrote of task, texts and settings."""
    try:
        task = read_task(content)
        network = network_specification(parameters)
        of_words = network.reads == "words"
        reader = Reader.from_json(network.name, content["text"], of_words) if network.reads_texts else None
        used = cast("dict[str, JSON] | None", content.get("settings"))  # as they were, whatever the recipe says now
        resolved = resolve(parameters, "numbers" if task.name == "numbers" else "classes")
        settings = {"recipe": resolved.recipe, **_renamed_in_model(used or {})}  # older folders have no recipe there
        return task, reader, resolved if used is None else Settings(**settings)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is damaged ({error} is wrong or not there); train again") from None


def teachers_as_json(report: TeacherReport) -> dict[str, JSON]:
    """What `metrics.json` keeps of the teachers; a score without held-out labels is null."""
    return {
        "descriptions": cast(JSON, dict(report.descriptions)),
        "graphs": cast(JSON, dict(report.graphs)),
        "prior": cast(JSON, dict(report.prior)),
        "weights": cast(JSON, dict(report.weights)),
        "scores": {name: _score(score) for name, score in report.scores.items()},
        "score": _score(report.score),
        "interval": _finite(report.interval),
        **({} if report.bounds is None else {"bounds": _finite(report.bounds)}),
        "held_out": report.num_held_out,
        "scored": report.scored,
        "assortativity": cast(JSON, list(report.assortativity)),
    }


def teachers_from_json(content: JSON) -> TeacherReport | None:
    """Takes back what `teachers_as_json` gave."""
    if not isinstance(content, dict):
        return None
    scores = cast("dict[str, float | None]", content["scores"])
    return TeacherReport(
        cast("dict[str, str]", content["descriptions"]),
        cast("dict[str, int]", content["graphs"]),
        cast("dict[str, float]", content["prior"]),
        cast("dict[str, float]", content["weights"]),
        {name: _known(score) for name, score in scores.items()},
        _known(cast("float | None", content["score"])),
        cast(int, content["held_out"]),
        cast("list[float]", content["assortativity"]),
        _bounds(content.get("bounds")),
        content.get("scored") is not False,  # older folders have teachers of recipe "auto" alone
    )


def _finite(interval: tuple[float, float]) -> list[JSON]:
    """The ends of an interval; null where there is none."""
    return [bound if np.isfinite(bound) else None for bound in interval]


def _bounds(interval: JSON) -> tuple[float, float] | None:
    """The interval of the score; None where it is Wilson's."""
    if not isinstance(interval, list):
        return None
    low, high = cast("list[float | None]", interval)
    return float("-inf") if low is None else low, cast(float, high)


def _known(score: float | None) -> float:
    return math.nan if score is None else score


def _score(value: float) -> float | None:
    return None if np.isnan(value) else value


def settings_as_json(parameters: Parameters) -> dict[str, JSON]:
    """The settings as given, those of network and optimizer among them; a function is noted by its name.

    Word vectors and a thesaurus are noted by their files, those in memory by their sizes: prediction needs neither.
    """
    flat = flat_settings(parameters)
    settings = {name: _as_json(value) for name, value in flat.items()}
    for name in _NOT_KEPT:
        value = flat.get(name)
        if value is not None and not isinstance(value, str | Path):
            settings[name] = f"{_IN_MEMORY}{value}"
    return settings


def _as_json(value: object) -> JSON:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if callable(value):
        return f"function {getattr(value, '__name__', type(value).__name__)}"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.ndarray | np.generic):
        return cast(JSON, value.tolist())
    if isinstance(value, list | tuple) and all(isinstance(v, int | float | np.generic) for v in value):
        return [_as_json(v) for v in value]
    if isinstance(value, Mapping) and all(isinstance(v, int | float | np.generic) for v in value.values()):
        return {str(name): _as_json(v) for name, v in value.items()}
    return f"given as {type(value).__name__}"


def _renamed_in_model(settings: Mapping[str, JSON]) -> dict[str, JSON]:
    """Settings of `model.json` likewise."""
    known = {field.name for field in fields(Settings)}
    return {name: value for name, value in renamed_settings(settings).items() if name in known}


def parameters_from_json(
    settings: Mapping[str, JSON], network: Callable[[int, int], nn.Module] | None, folder: str | Path
) -> Parameters:
    """Takes back what `settings_as_json` gave.

    Args:
        settings: Of `config.json`.
        network: The function that made the network, if it was a function of one's own.
        folder: For messages.
    """
    settings = renamed_settings(settings)
    unknown = sorted(set(settings) - set(PARAMETERS))
    if unknown:
        raise ValueError(
            f"{folder}/config.json has unknown settings {', '.join(unknown)}; was it written by a newer release?"
        )
    gone = {name: None for name in _NOT_KEPT if str(settings.get(name)).startswith(_IN_MEMORY)}
    given: dict[str, object] = {**settings, **gone}
    if isinstance(settings.get("hidden"), list):
        given["hidden"] = tuple(cast("list[int]", settings["hidden"]))
    if network is not None:
        given["network"] = network
    elif str(settings.get("network")).startswith("function "):
        name = str(settings["network"]).removeprefix("function ")
        raise ValueError(f"{folder} was trained with a network of your own ({name}); call load(folder, network={name})")
    return parameters_from_flat(given)


def _model_as_json(model: TrainedModel) -> dict[str, JSON]:
    return {
        "dtype": str(model.dtype).removeprefix("torch."),
        "in_features": model.widths[0],
        "out_features": model.widths[1],
        "is_table": model.is_table,
        "feature_names": None if model.feature_names is None else model.feature_names.tolist(),
        "settings": {name: _as_json(value) for name, value in vars(model.settings).items()},
        **({"text": _text_as_json(model, model.reader)} if model.reader is not None else {}),
        **model.task.as_json(),
    }


def _text_as_json(model: TrainedModel, reader: Reader) -> dict[str, JSON]:
    """The vocabulary, the width of the word vectors, and what these were started from."""
    width = getattr(getattr(model.network, "words", None), "embedding_dim", None)
    given = {name: getattr(network_specification(model.parameters), name) for name in _NOT_KEPT}
    notes = {name: None if value is None else str(value) for name, value in given.items()}
    return {**reader.as_json(width), **notes}


def _check_same(before: Mapping[str, JSON], now: Mapping[str, JSON], folder: Path) -> None:
    for name, value in now.items():
        default = PARAMETERS[name].default if name in PARAMETERS else None  # of settings that older releases had not
        earlier = before.get(name, _as_json(default))
        if name not in _MAY_CHANGE and earlier != value:
            raise ValueError(
                f"{folder} was trained with {name}={earlier!r}, now it is {value!r}; resume with the same settings, or "
                "train into a new folder"
            )
