"""Texts through the command, as a newcomer would: `ngm train texts.csv --text text --label label`, then `ngm predict`.

    python benchmarks/text_command.py [--json] [--keep] [--datasets trec subj ...] [--labels 25] [--draws 2] [--fresh]

A CSV of at most 5,000 training texts has 10 labels a class (banking77 and CLINC150: 5; others by `--labels`, which
are kept apart and not in the mean), all other texts none; the test texts, at most 2,000, are predicted from a CSV of
their own. Beside it a logistic regression on the MiniLM vectors of the labelled texts. `--time` measures 10,000 texts
of banking77 once, on all processors; else one thread is used, so that seconds of several runs compare. With `--keep`
every data set is written to benchmarks/results as soon as it is done, and those that are there are not run again
(`--fresh`: they are).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import bench
import numpy as np
import pandas as pd
from battery_parts.problems import TEXTS, text_parts
from battery_parts.texts import MINILM_WIDTH, vectors_of
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ngm.datasets import Dataset, load

NAME = "text-command"
LABELS, FEW = 10, {"banking77": 5, "clinc150": 5}
TIMED, TIMED_TEXTS = "banking77", 10_000
WORK = Path("runs") / "battery"  # vectors of the texts are shared with the battery
TARGET = {"mean_gain": 0.03, "seconds": 180}


def measure(name: str, labels: int, draws: int) -> dict[str, Any]:
    """Accuracies of the command and of the logistic regression, a number for every draw."""
    data = load(name)
    train, validation, test = text_parts(data)
    vectors = _minilm(name, data, train, validation, test)
    found: dict[str, list[float]] = {"command": [], "minilm_logistic": [], "seconds": []}
    for draw in range(draws):
        labeled = drawn(data.y[train], labels, draw, len(data.classes))
        accuracy, seconds = command(data, train, labeled, test, threads=1)
        found["command"].append(accuracy)
        found["seconds"].append(round(seconds, 1))
        linear = LogisticRegression(C=10, max_iter=1_000).fit(vectors[labeled], data.y[train][labeled])
        found["minilm_logistic"].append(float((linear.predict(vectors[-len(test) :]) == data.y[test]).mean()))
        print(f"{name}, draw {draw}: {accuracy:.3f}, {found['minilm_logistic'][-1]:.3f}", file=sys.stderr, flush=True)
    return {"labels": labels, "texts": len(train), **found}


def drawn(y: NDArray[np.int64], labels: int, draw: int, classes: int) -> NDArray[np.int64]:
    """Positions of the labelled texts, the same as the battery's."""
    order = np.random.default_rng([draw, 2]).permutation(len(y))
    return np.sort(np.concatenate([order[y[order] == label][:labels] for label in range(classes)]))


def command(
    data: Dataset, train: NDArray[np.int64], labeled: NDArray[np.int64], test: NDArray[np.int64], threads: int | None
) -> tuple[float, float]:
    """(accuracy on the test texts, seconds of training and predicting) of the two commands."""
    environment = dict(os.environ) | ({} if threads is None else {"OMP_NUM_THREADS": str(threads)})
    names = np.array([f"class {i}" for i in range(len(data.classes))], dtype=object)
    label = np.full(len(train), None, dtype=object)
    label[labeled] = names[data.y[train][labeled]]
    with tempfile.TemporaryDirectory() as folder:
        pd.DataFrame({"text": [data.texts[i] for i in train], "label": label}).to_csv(
            f"{folder}/texts.csv", index=False
        )
        pd.DataFrame({"text": [data.texts[i] for i in test]}).to_csv(f"{folder}/new.csv", index=False)
        started = time.perf_counter()
        for words in (
            ["train", "texts.csv", "--text", "text", "--label", "label", "-o", "run"],
            ["predict", "run", "new.csv", "-o", "predictions.csv"],
        ):
            ended = subprocess.run(
                [sys.executable, "-m", "ngm", *words], cwd=folder, env=environment, capture_output=True, text=True
            )
            if ended.returncode:
                raise RuntimeError(ended.stderr)
        seconds = time.perf_counter() - started
        predicted = pd.read_csv(f"{folder}/predictions.csv")["class"].to_numpy()
    return float((predicted == names[data.y[test]]).mean()), seconds


def timed() -> dict[str, Any]:
    """Seconds of the command for 10,000 short texts, on all processors."""
    data = load(TIMED)
    train = np.random.default_rng(0).permutation(data.train)
    train = np.sort(train[:TIMED_TEXTS])
    labeled = drawn(data.y[train], FEW[TIMED], 0, len(data.classes))
    accuracy, seconds = command(data, train, labeled, data.test[:2_000], threads=None)
    return {
        "dataset": TIMED,
        "texts": len(train),
        "new_texts": 2_000,
        "accuracy": accuracy,
        "seconds": round(seconds, 1),
    }


def _minilm(
    name: str, data: Dataset, train: NDArray[np.int64], validation: NDArray[np.int64], test: NDArray[np.int64]
) -> NDArray[np.float32]:
    texts = [data.texts[i] for i in np.concatenate([train, validation, test]).tolist()]
    return vectors_of(name, texts, len(train), 10, WORK)[0][:, :MINILM_WIDTH]


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--datasets", nargs="*", choices=TEXTS, default=list(TEXTS), help="which to measure")
    parser.add_argument("--labels", type=int, help="labels a class, instead of the usual")
    parser.add_argument("--draws", type=int, default=2, help="draws of the labels")
    parser.add_argument("--time", action="store_true", help="measure the seconds of 10,000 texts as well")
    parser.add_argument("--fresh", action="store_true", help="run what is kept again, too")
    options = parser.parse_args()
    before = (bench.kept(NAME) if options.keep else None) or {}
    rows: dict[str, Any] = dict(before.get("datasets", {}))
    clock: dict[str, Any] | None = before.get("timed")
    for name in options.datasets:
        key = name if options.labels is None else f"{name}_{options.labels}"
        if options.fresh or key not in rows:
            rows[key] = measure(name, options.labels or FEW.get(name, LABELS), options.draws)
            _report(rows, clock, options, last=False)
    if options.time and (clock is None or options.fresh):
        clock = timed()
    _report(rows, clock, options, last=True)


def _report(rows: dict[str, Any], clock: dict[str, Any] | None, options: argparse.Namespace, last: bool) -> None:
    gains = {name: float(np.mean(row["command"]) - np.mean(row["minilm_logistic"])) for name, row in rows.items()}
    ratios = {f"{name}_gain": round(gain, 4) for name, gain in gains.items()}
    usual = [gain for name, gain in gains.items() if name in TEXTS]
    if usual:
        ratios["mean_gain"] = round(float(np.mean(usual)), 4)
    seconds = {name: min(row["seconds"]) for name, row in rows.items()}
    bench.report(NAME, ratios, seconds, options, last, target=TARGET, timed=clock, datasets=rows)


if __name__ == "__main__":
    main()
