"""Estimators read back from run folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from torch import nn

from ngm.estimators.base import NGMEstimator, fitted_estimator
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.persistence import parameters_from_json, read_model
from ngm.estimators.regressor import NGMRegressor
from ngm.io.run_folder import JSON, Run
from ngm.task import Task, class_task_from_json, number_task_from_json

_KINDS: dict[str, tuple[type[NGMEstimator], Callable[[Mapping[str, JSON]], Task]]] = {
    "NGMClassifier": (NGMClassifier, class_task_from_json),
    "NGMRegressor": (NGMRegressor, number_task_from_json),
}


def load(
    folder: str | Path, network: Callable[[int, int], nn.Module] | None = None, device: str | None = None
) -> NGMEstimator:
    """Reads an estimator back from a run folder, ready to predict.

    Args:
        folder: Written by `save`, or by `fit` with `folder=`.
        network: The function that made the network, if it was a function of one's own.
        device: Where to predict; where it was trained, if not given.
    """
    run = Run.open(folder)
    config = run.read("config.json", ("estimator", "settings"))
    name = str(config["estimator"])
    if name not in _KINDS:
        raise ValueError(f"{folder} holds a {name!r}; this release loads {', '.join(_KINDS)}")
    kind, read_task = _KINDS[name]
    parameters = parameters_from_json(cast("dict[str, JSON]", config["settings"]), network, folder)
    parameters.device = device or parameters.device
    return fitted_estimator(kind, read_model(run, name, parameters, read_task))
