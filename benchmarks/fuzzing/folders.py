"""Run folders and graph folders with damaged, missing and exchanged files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

import ngm
from fuzzing.command import command
from fuzzing.files import damage_json, damaged
from ngm.estimators.base import NGMEstimator

N = 12
X = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
Y = [0, 1, 0, 1, 0, 1, 0, 1, -1, -1, -1, -1]
NUMBERS = np.where(np.array(Y) < 0, np.nan, np.arange(N))
TEXTS = [
    "alpha beta",
    "gamma delta",
    "alpha",
    "delta gamma",
    "beta alpha",
    "gamma",
    "beta",
    "delta",
    "alpha",
    "gamma",
    "beta",
    "delta",
]
GRAPH = ngm.Graph.from_edges([[0, 2], [1, 3], [4, 8], [5, 9], [6, 10], [7, 11]], num_nodes=N)
RUNS = ("classifier", "regressor", "texts", "trained")


def make(rng: Random, folder: Path) -> Callable[[], object]:
    """One case."""
    templates = folder.parent / "templates"
    if not templates.exists():
        _make_templates(templates)
    if rng.random() < 0.3:
        shutil.copytree(templates / "graph", folder / "graph")
        _damage(rng, folder / "graph")
        return rng.choice(
            [
                _open,
                _open,
                lambda: command("check", "graph"),
                lambda: command("build", "graph/nodes.parquet", "--columns", "a,b", "-o", "out"),
            ]
        )()
    kind = rng.choice(RUNS)
    shutil.copytree(templates / kind, folder / "run")
    _damage(rng, folder / "run")
    if rng.random() < 0.3:
        _damage(rng, folder / "run")
    uses = [_load, _load, _resume, lambda k: _report, lambda k: command("report", "run")]
    if kind == "trained":
        shutil.copy(templates / "table.csv", folder / "table.csv")
        uses += [_predict, _predict, _config, _again]
    return rng.choice(uses)(kind)


def _estimator(kind: str) -> NGMEstimator:
    if kind == "regressor":
        return ngm.NGMRegressor(hidden=(4,), epochs=2, validation=0.25)
    if kind == "texts":
        return ngm.NGMClassifier(network="lstm", epochs=2)
    return ngm.NGMClassifier(hidden=(4,), epochs=2, validation=0.25)


def _fit(kind: str, folder: object, resume: bool = False) -> NGMEstimator:
    x = TEXTS if kind == "texts" else X
    y = NUMBERS if kind == "regressor" else Y
    return _estimator(kind).fit(x, y, GRAPH, folder=folder, resume=resume)


def _make_templates(folder: Path) -> None:
    folder.mkdir()
    held = tempfile.tempdir
    tempfile.tempdir = None
    for kind in RUNS[:3]:
        _fit(kind, folder / kind)
    rows = [f"n{i},{X[i, 0]:.3f},{X[i, 1]:.3f},{'' if Y[i] < 0 else 'ab'[Y[i]]},{TEXTS[i]}" for i in range(N)]
    (folder / "table.csv").write_text("\n".join(["id,a,b,topic,body", *rows]) + "\n", encoding="utf-8")
    ngm.save_graph(folder / "graph", GRAPH, ngm.read_table(folder / "table.csv"), id="id", label="topic")
    words = ("--columns", "a,b", "--label", "topic", "--id", "id", "--hidden", "4", "--epochs", "2", "--no-report")
    command("train", folder / "table.csv", *words, "-o", folder / "trained")()
    tempfile.tempdir = held


def _damage(rng: Random, folder: Path) -> None:
    """Changes one file of the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        return
    file = rng.choice(files)
    kind = rng.random()
    if kind < 0.08:
        file.unlink()
    elif kind < 0.11:
        file.unlink()
        file.mkdir()
    elif kind < 0.18:
        shutil.copy(rng.choice(files), folder / "copied")
        (folder / "copied").replace(file)
    elif file.suffix in (".json", ".jsonl") and kind < 0.9:
        damage_json(rng, file)
    else:
        file.write_bytes(damaged(rng, file.read_bytes()))


def _open() -> Callable[[], object]:
    def call() -> object:
        data = ngm.open_graph("graph")
        return (
            repr(data),
            data.ids,
            data.y,
            data.graph.csr,
            [data.column(name) for name in data.columns],
            repr(ngm.Graph.open("graph")),
        )

    return call


def _load(kind: str) -> Callable[[], object]:
    def call() -> object:
        found = ngm.load("run")
        x = X[:, :2] if kind == "trained" else TEXTS if kind == "texts" else X
        return found.predict(x), found.transform(x), repr(found.history_)

    return call


def _resume(kind: str) -> Callable[[], object]:
    return lambda: _fit(kind, "run", resume=True)


def _report() -> object:
    return ngm.write_report("run")


def _predict(kind: str) -> Callable[[], object]:
    return command("predict", "run", "table.csv", "-o", "out.csv", "--all", output=Path("out.csv"))


def _config(kind: str) -> Callable[[], object]:
    return command("train", "--config", "run/config.json", "table.csv", "-o", "new", "--no-report")


def _again(kind: str) -> Callable[[], object]:
    words = ("--columns", "a,b", "--label", "topic", "--id", "id", "--hidden", "4", "--epochs", "2", "--no-report")
    return command("train", "table.csv", *words, "-o", "run", "--resume")
