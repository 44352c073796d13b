"""Estimators to run folders and back: settings as JSON, weights as safetensors, never a pickle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ngm._arguments import as_path
from ngm.estimators.data_digests import check_same_data, data_digests
from ngm.graph import Graph
from ngm.io.files import remove_all_leftovers
from ngm.io.locks import folder_lock
from ngm.io.run_folder import JSON, Run, TrainedRun
from ngm.io.run_writer import RunWriter
from ngm.networks.input_scaling import Table
from ngm.recipes.settings import Settings, resolve
from ngm.recipes.stacking import TeacherReport
from ngm.rows import Inputs
from ngm.text.readers import Reader, reads_texts
from ngm.training import History, load_into

if TYPE_CHECKING:
    from ngm.estimators.base import NGMEstimator
    from ngm.estimators.validation import HeldOut

_WIDEST = 2**31  # columns, classes; more is damage
_NOT_KEPT, _IN_MEMORY = ("word_vectors", "thesaurus"), "in memory: "
_COUNTS = {"labeled": "num_labeled_", "labeled_given": "num_given_", "validation_rows": "num_validation_"}
_MAY_CHANGE = ("epochs", "patience", "folder", "resume", "device")  # between an interrupted run and its resumption
_OF_ONE_CALL = ("overwrite",)  # no part of a run: who loads it has not been allowed anything


def check_folder(estimator: NGMEstimator, data: Mapping[str, JSON] | None = None) -> dict[str, JSON] | None:
    """Refuses a folder with a run in it that may be neither replaced nor gone on with; nothing is written.

    Args:
        estimator: Its `folder`, `resume` and `overwrite` say what is wanted.
        data: Digests of what it is to be trained on, to compare with those of the run to go on with; None: not yet.

    Returns:
        `config.json` of the run to go on with; None for a new run.
    """
    folder = as_path("folder", estimator.folder)
    if not estimator.resume or not (folder / "config.json").exists():
        Run.check(folder, estimator.overwrite, resumable=True)
        return None
    run = Run.open(folder)
    config = run.read("config.json", ("estimator", "settings"))
    before = {"estimator": config["estimator"], **cast("dict[str, JSON]", config["settings"])}
    _check_same(before, {"estimator": type(estimator).__name__, **settings_as_json(estimator)}, folder)
    if run.is_trained and not run.checkpoint.exists():
        raise ValueError(
            f"{folder} has weights but no checkpoint, so there is nothing to go on from (save writes none); set "
            "overwrite=True (--overwrite) instead of resume to replace it, or name another folder"
        )
    if data is not None:
        check_same_data(config.get("data"), data, folder)
    return config


def lock(estimator: NGMEstimator, rank: int, create: bool = False) -> AbstractContextManager[None]:
    """Keeps other trainings out of the estimator's folder, where this process writes one."""
    return nullcontext() if estimator.folder is None or rank else folder_lock(estimator.folder, create)


def checked_digests(
    estimator: NGMEstimator,
    inputs: Inputs,
    y: tuple[Tensor, Tensor, object],
    held_out: HeldOut,
    sample_weight: ArrayLike | None,
    graphs: Sequence[Graph],
    views: Mapping[str, Table],
) -> dict[str, JSON]:
    """What tells the data from other data; refuses it if the folder is of other data, or not to be replaced.

    Args:
        estimator: Has the folder.
        inputs: A row per node.
        y: Targets of the labelled rows, (n,) mask of these, and the classes.
        held_out: Validation rows.
        sample_weight: (n,) or None.
        graphs: Over the rows.
        views: Further tables, a row per node in each.
    """
    check_folder(estimator)  # before anything is read
    recomputed = run_writer(estimator).recomputed
    data = data_digests(inputs, y, held_out, sample_weight, graphs, estimator.thesaurus, recomputed, views)
    check_folder(estimator, data)
    return data


def begin(estimator: NGMEstimator, data: Mapping[str, JSON], leads: bool = True) -> Run:
    """Opens the estimator's folder: a new run, or the one to resume, whose settings and data must be the same.

    Args:
        estimator: Its `folder`, `resume` and `overwrite` say what to open.
        data: Digests of what it is to be trained on.
        leads: Whether this process is the one that writes.
    """
    run = Run(as_path("folder", estimator.folder))
    if not leads:
        return run
    config = check_folder(estimator, data)
    if config is None:
        Run.create(run.folder, estimator.overwrite, resumable=True)
    remove_all_leftovers(run.folder)
    run_writer(estimator).begin(run, type(estimator).__name__, settings_as_json(estimator), data, earlier=config)
    return run


def set_run_writer(estimator: NGMEstimator, writer: RunWriter) -> None:
    """Makes `fit` leave its run folder to a writer of the caller's, which knows more of the run than `fit` does."""
    estimator._run_writer = writer


def run_writer(estimator: NGMEstimator) -> RunWriter:
    """The writer that was set, or one that adds nothing."""
    return estimator._run_writer or RunWriter()


def trained_run(estimator: NGMEstimator) -> TrainedRun:
    """What a trained estimator leaves in a run folder."""
    history = estimator.history_
    best = history.epochs[history.best_epoch] if history.epochs else {}
    return TrainedRun(
        metrics={
            "stopped": history.stopped,
            "epochs": len(history.epochs),
            "best_epoch": history.best_epoch,
            "seconds": sum(epoch["seconds"] for epoch in history.epochs),
            "validation": {k.removeprefix("validation_"): v for k, v in best.items() if k.startswith("validation_")},
            **{key: getattr(estimator, name) for key, name in _COUNTS.items() if hasattr(estimator, name)},
            "edges": cast(JSON, dict(estimator.edges_by_kind_)),
            "graphs_used": cast(JSON, list(estimator.graphs_used_)),
            **({"teachers": teachers_as_json(estimator.teachers_)} if estimator.teachers_ else {}),
        },
        model=_model(estimator),
        weights=estimator.network_.state_dict(),
        history=cast("list[dict[str, JSON]]", history.epochs),
    )


def save(estimator: NGMEstimator, folder: Path, overwrite: bool = False) -> Path:
    """Writes a run folder from a fitted estimator."""
    Run.check(folder, overwrite)
    with folder_lock(folder, create=True):
        run = Run.create(folder, overwrite)
        run.write_config(type(estimator).__name__, settings_as_json(estimator))
        run.write_trained(trained_run(estimator))
    return folder


def load(
    folder: str | Path, network: Callable[[int, int], nn.Module] | None = None, device: str | None = None
) -> NGMEstimator:
    """Reads an estimator back from a run folder, ready to predict.

    Args:
        folder: Written by `save`, or by `fit` with `folder=`.
        network: The function that made the network, if it was a function of one's own.
        device: Where to predict; where it was trained, if not given.
    """
    from ngm.estimators.classifier import NGMClassifier
    from ngm.estimators.regressor import NGMRegressor

    run = Run.open(folder)
    config = run.read("config.json", ("estimator", "settings"))
    model = run.read("model.json", ("dtype", "in_features", "out_features"))
    metrics = run.read("metrics.json", ("best_epoch", "stopped", "labeled", "edges"))
    kinds: dict[str, type[NGMEstimator]] = {"NGMClassifier": NGMClassifier, "NGMRegressor": NGMRegressor}
    if config["estimator"] not in kinds:
        raise ValueError(f"{folder} holds a {config['estimator']!r}; this release loads {', '.join(kinds)}")
    settings = cast("dict[str, JSON]", config["settings"])
    estimator = _made(kinds[str(config["estimator"])], settings, network, folder)
    estimator.device = device or estimator.device
    _recall(estimator, model, run.folder / "model.json")
    estimator.network_ = estimator._make_network(*estimator._widths)
    load_into(estimator.network_, run.load_weights(), f"the weights in {folder} do not fit the network")
    estimator.network_.eval()
    epochs = cast("list[dict[str, float]]", run.read_history())
    estimator.history_ = History(epochs, cast(int, metrics["best_epoch"]), metrics["stopped"])  # type: ignore[arg-type]
    estimator.n_iter_ = len(epochs)
    for key in _COUNTS.keys() & metrics.keys():  # folders of before have the first alone
        setattr(estimator, _COUNTS[key], metrics[key])
    estimator.edges_by_kind_ = cast("dict[str, int]", metrics["edges"])
    estimator.graphs_used_ = cast("list[bool]", metrics.get("graphs_used", []))
    estimator.teachers_ = teachers_from_json(metrics.get("teachers"))
    return estimator


def _recall(estimator: NGMEstimator, model: Mapping[str, JSON], file: Path) -> None:
    """Takes back what `_model` wrote."""
    try:
        estimator._recall(model)
        if reads_texts(estimator.network):
            estimator.reader_ = Reader.from_json(str(estimator.network), model["text"])
            if estimator.reader_.vocabulary is not None:
                estimator.vocabulary_ = estimator.reader_.vocabulary
        used = cast("dict[str, JSON] | None", model.get("settings"))  # as they were, whatever the recipe says now
        resolved = resolve(estimator)
        settings = {"recipe": resolved.recipe, **_renamed(used or {})}  # folders of before have no recipe there
        estimator.settings_ = resolved if used is None else Settings(**settings)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is damaged ({error} is wrong or not there); train again") from None
    estimator.dtype_ = torch.float64 if model["dtype"] == "float64" else torch.float32
    estimator._widths = cast(int, model["in_features"]), cast(int, model["out_features"])
    for name, width in zip(("in_features", "out_features"), estimator._widths, strict=True):
        if not 1 <= width <= _WIDEST:
            raise ValueError(f"{file} is damaged ({name} is {width}); train again")
    if model.get("is_table", True):
        estimator.n_features_in_ = model["in_features"]
    if model.get("feature_names") is not None:
        estimator.feature_names_in_ = np.array(model["feature_names"], dtype=object)


def teachers_as_json(report: TeacherReport) -> dict[str, JSON]:
    """What `metrics.json` keeps of the teachers; a score without held-out labels is null."""
    return {
        "descriptions": cast(JSON, dict(report.descriptions)),
        "graphs": cast(JSON, dict(report.graphs)),
        "prior": cast(JSON, dict(report.prior)),
        "weights": cast(JSON, dict(report.weights)),
        "scores": {name: _score(score) for name, score in report.scores.items()},
        "score": _score(report.score),
        "interval": cast(JSON, list(report.interval)),
        "held_out": report.num_held_out,
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
    )


def _known(score: float | None) -> float:
    return float("nan") if score is None else score


def _score(value: float) -> float | None:
    return None if np.isnan(value) else value


def settings_as_json(estimator: NGMEstimator) -> dict[str, JSON]:
    """The estimator's fields; a function is noted by its name, a validation pair by its sizes.

    Word vectors and a thesaurus are noted by their files, those in memory by their sizes: prediction needs neither.
    """
    settings = {f.name: _as_json(getattr(estimator, f.name)) for f in fields(estimator) if f.name not in _OF_ONE_CALL}
    for name in _NOT_KEPT:
        value = getattr(estimator, name)
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


def _renamed(settings: Mapping[str, JSON]) -> dict[str, JSON]:
    """Settings under their names of today: until 0.2, `unit_rows` was True or False."""
    renamed = {name: value for name, value in settings.items() if name != "unit_rows"}
    if "unit_rows" in settings:
        renamed["input_scaling"] = "unit_rows" if settings["unit_rows"] else "none"
    return renamed


def _made(
    kind: type[NGMEstimator],
    settings: Mapping[str, JSON],
    network: Callable[[int, int], nn.Module] | None,
    folder: str | Path,
) -> NGMEstimator:
    settings = _renamed(settings)
    known = {f.name for f in fields(kind)}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise ValueError(
            f"{folder}/config.json has unknown settings {', '.join(unknown)}; was it written by a newer release?"
        )
    gone = {name: None for name in _NOT_KEPT if str(settings.get(name)).startswith(_IN_MEMORY)}
    given = {**settings, **gone}
    estimator = kind(**{k: tuple(v) if k == "hidden" else v for k, v in given.items()})  # type: ignore[arg-type]
    if network is not None:
        estimator.network = network
    elif str(settings.get("network")).startswith("function "):
        name = str(settings["network"]).removeprefix("function ")
        raise ValueError(f"{folder} was trained with a network of your own ({name}); call load(folder, network={name})")
    return estimator


def _model(estimator: NGMEstimator) -> dict[str, JSON]:
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "dtype": str(estimator.dtype_).removeprefix("torch."),
        "in_features": estimator._widths[0],
        "out_features": estimator._widths[1],
        "is_table": hasattr(estimator, "n_features_in_"),
        "feature_names": None if names is None else names.tolist(),
        "settings": {name: _as_json(value) for name, value in vars(estimator.settings_).items()},
        **({"text": _text(estimator)} if hasattr(estimator, "reader_") else {}),
        **estimator._describe(),
    }


def _text(estimator: NGMEstimator) -> dict[str, JSON]:
    """The vocabulary, the width of the word vectors, and what these were started from."""
    width = getattr(getattr(estimator.network_, "words", None), "embedding_dim", None)
    given = {name: getattr(estimator, name) for name in ("word_vectors", "thesaurus")}
    notes = {name: None if value is None else str(value) for name, value in given.items()}
    return {**estimator.reader_.as_json(width), **notes}


def _check_same(before: Mapping[str, JSON], now: Mapping[str, JSON], folder: Path) -> None:
    for name, value in now.items():
        if name not in _MAY_CHANGE and before.get(name) != value:
            raise ValueError(
                f"{folder} was trained with {name}={before.get(name)!r}, now it is {value!r}; resume with the same "
                "settings, or train into a new folder"
            )
