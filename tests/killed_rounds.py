"""Trains in rounds in processes that are killed: `python -m tests.killed_rounds METHOD FOLDER STEP`.

It prints how many were killed, and which did not go on to the bits of a training that was left alone. The
processes are forked, so that what they import is imported once. STEP is 1 to kill at every change to a file.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ngm import CoTraining, Graph, NGMClassifier, SelfTraining
from ngm.networks import FFNN

METHODS = {"SelfTraining": SelfTraining, "CoTraining": CoTraining}
WRITES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree")
KILLED = -signal.SIGKILL


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray, Graph]:
    """(x, y, truth, graph): 30 rows of two classes, 16 labelled."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 5)).astype(np.float32)
    truth = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
    y = np.where(np.arange(30) < 16, truth, -1)
    return x, y, truth, Graph.from_edges(rng.integers(30, size=(60, 2)), rng.random(60), num_nodes=30)


def trained(method: str, folder: Path | None) -> SelfTraining | CoTraining:
    """Trains, or goes on with what is in the folder."""
    x, y, truth, graph = problem()
    estimator = NGMClassifier(
        recipe="paper",
        hidden=(4,),
        epochs=3,
        batch_size=16,
        validation=0.25,
        network=FFNN(dropout=0.3),
    )
    settings = {"per_round": 4, "soft": True} if method == "SelfTraining" else {"temperature": 0.5}
    return METHODS[method](estimator, rounds=3, **settings).fit(
        x, y, graph=graph, truth=truth, folder=folder, resume=folder is not None
    )


def fit(method: str, folder: Path) -> str:
    """Everything that a training gives, as one line of text to compare."""
    model, x = trained(method, folder), problem()[0]
    taught = model.labels_ if method == "SelfTraining" else model.targets_
    return repr(
        [
            model.predict_proba(x).tobytes().hex(),
            model.history_,
            model.best_round_,
            model.stopped_,
            taught.tobytes().hex(),
            (folder / "weights.safetensors").read_bytes().hex(),
            (folder / "rounds.json").read_text(encoding="utf-8"),
        ]
    )


def forked(work: Callable[[], object]) -> int:
    """Starts a process that does this."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def ended(child: int) -> int:
    """How a process ended: 0, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def outcome(method: str, folder: Path) -> str:
    """Trains to the end in a process of its own."""
    file = folder.with_suffix(".txt")
    assert ended(forked(lambda: file.write_text(fit(method, folder), encoding="utf-8"))) == 0
    return file.read_text(encoding="utf-8")


def killed_at_write(method: str, folder: Path, number: int) -> int:
    """Kills a training at so many changes to files in its folder; gives how it ended."""
    left = [number]

    def count(event: str, args: tuple[object, ...]) -> None:
        if event in WRITES and str(folder) in str(args[0]):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        sys.addaudithook(count)
        fit(method, folder)

    return ended(forked(work))


def killed_after(method: str, folder: Path, seconds: float) -> int:
    """Kills a training after a time; gives how it ended."""
    child = forked(lambda: fit(method, folder))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return ended(child)


def main() -> None:
    """Kills at changes to files, each time in a folder of its own; then at random moments in one folder."""
    method, root, step = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    importlib.import_module("torch._dynamo")  # as optimizers do when they are first used
    started = time.perf_counter()
    whole = outcome(method, root / "whole")
    seconds = time.perf_counter() - started
    kills, other = 0, []
    number = 1
    while killed_at_write(method, root / f"write{number}", number) == KILLED:
        kills += 1
        if outcome(method, root / f"write{number}") != whole:
            other.append(f"write {number}")
        number += step
    rng = random.Random(0)
    for _ in range(4):
        kills += killed_after(method, root / "times", rng.random() * seconds / 2) == KILLED
    if outcome(method, root / "times") != whole:
        other.append("times")
    left = sorted({str(p.relative_to(p.parents[0])) for p in root.glob("*/**/.*")})
    folders = {tuple(sorted(p.name for p in f.iterdir())) for f in root.iterdir() if f.is_dir()}
    print(json.dumps({"kills": kills, "other": other, "left": left, "folders": sorted(folders)}))


if __name__ == "__main__":
    main()
