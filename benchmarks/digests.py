"""Digests of predictions of small fits and commands: a renovation must not change a bit of them.

    OMP_NUM_THREADS=1 python benchmarks/digests.py --write     keep what this commit predicts
    OMP_NUM_THREADS=1 python benchmarks/digests.py             compare with what was kept; exit 1 on a difference

The bits are those of one machine and one version of torch: run both on the same one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import ngm
from ngm import datasets
from ngm.inputs import netmf

KEPT = Path(__file__).parent / "results" / "digests.json"


def digest(*arrays: NDArray[np.generic]) -> str:
    """Sixteen digits that change with any bit of the arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def digits() -> tuple[NDArray[np.float32], NDArray[np.int64], ngm.Graph]:
    """400 digits, 5 labels a class, a graph of their nearest neighbours."""
    data = datasets.load("digits")
    x = np.asarray(data.x, dtype=np.float32)[:400]
    truth = np.asarray(data.y)[:400]
    y = np.full(400, -1)
    for c in range(10):
        y[np.flatnonzero(truth == c)[:5]] = c
    return x, y, ngm.knn_graph(torch.from_numpy(x), k=5)


def texts() -> tuple[list[str], NDArray[np.generic], ngm.Graph]:
    """120 made-up messages in two classes, 10 labels each."""
    rng = np.random.default_rng(0)
    words = (["meet", "lunch", "report", "tomorrow", "thanks"], ["win", "prize", "cash", "click", "free"])
    kind = rng.integers(2, size=120)
    strings = [" ".join(rng.choice(words[k], 6)) for k in kind]
    y = np.array(["ham", "spam"], dtype=object)[kind]
    y[20:] = None
    return strings, y, ngm.text_graph(strings, k=4)


def fits() -> dict[str, Callable[[], str]]:
    """A name and a function that fits and digests, for each kind of fit."""
    x, y, graph = digits()
    strings, topics, text_graph = texts()
    numbers = np.where(np.arange(400) % 3 == 0, x[:, 20] + x[:, 30], np.nan)
    several = np.full((400, 3), -1)
    several[:60] = np.stack([y[:60] % 2 == 0, y[:60] > 4, y[:60] < 3], axis=1)
    classifier = partial(ngm.NGMClassifier, recipe="paper")

    def proba(model: ngm.NGMClassifier, *data: object, inputs: object = x) -> str:
        return digest(model.fit(*data).predict_proba(inputs))  # type: ignore[arg-type]

    return {
        "plain": lambda: proba(classifier(epochs=20), x, y),
        "paper": lambda: proba(classifier(epochs=5), x, y, graph),
        "paper, sums, edges, cosine": lambda: proba(
            classifier(epochs=5, scaling="sum", sampling="edges", distance="cosine", alpha_ll=0.01, graph_screen=False),
            x,
            y,
            graph,
        ),
        "validation, patience, sgd": lambda: proba(
            classifier(epochs=20, validation=0.2, patience=3, optimizer="sgd", learning_rate=0.01), x, y, graph
        ),
        "strong": lambda: proba(classifier(recipe="strong", epochs=5), x, y, graph),
        "two graphs": lambda: proba(
            classifier(epochs=3, alpha_uu=[0.1, 0.0], graph_screen=False),
            x,
            y,
            [graph, ngm.knn_graph(torch.from_numpy(x[:, :32]), k=3)],
        ),
        "several labels, balanced": lambda: proba(classifier(epochs=5, sampling="balanced"), x, several, graph),
        "regression": lambda: digest(ngm.NGMRegressor(epochs=5).fit(x, numbers, graph).transform(x)),
        "charcnn": lambda: proba(classifier(network="charcnn", epochs=2), strings, topics, text_graph, inputs=strings),
        "lstm": lambda: proba(classifier(network="lstm", epochs=2), strings, topics, text_graph, inputs=strings),
        "charcnn, strong": lambda: proba(
            classifier(network="charcnn", recipe="strong", epochs=2), strings, topics, text_graph, inputs=strings
        ),
        "auto": lambda: proba(ngm.NGMClassifier(epochs=5), x, y, graph),
        "auto, several labels": lambda: proba(ngm.NGMClassifier(epochs=5), x, several, graph),
        "auto, charcnn": lambda: proba(
            ngm.NGMClassifier(network="charcnn", epochs=2), strings, topics, text_graph, inputs=strings
        ),
        "auto, weights, validation": lambda: digest(
            ngm.NGMClassifier(epochs=5, validation=0.2).fit(x, y, graph, np.linspace(1, 2, 400)).predict_proba(x)
        ),
        "regression, validation": lambda: digest(
            ngm.NGMRegressor(epochs=5, validation=0.2, alpha_ll=0.1, graph_screen=False)
            .fit(x, numbers, graph)
            .predict(x)
        ),
        "self-training": lambda: digest(ngm.SelfTraining(classifier(epochs=3)).fit(x, y, graph=graph).predict_proba(x)),
        "co-training": lambda: digest(ngm.CoTraining(classifier(epochs=3)).fit(x, y, graph=graph).predict_proba(x)),
        "label propagation": lambda: digest(ngm.LabelPropagation().fit(x, y, graph=graph).distributions()),
        "netmf": lambda: digest(netmf(graph, 16)),
        "diagnosis": lambda: digest(np.array([figures(ngm.diagnose(graph, y, x))])),
        "graph": lambda: digest(graph.edges.numpy(), graph.weight.numpy(), text_graph.edges.numpy()),
    }


def figures(record: ngm.Diagnosis) -> str:
    """What was measured of a graph; wording and names of classes do not count."""
    return repr({name: value for name, value in asdict(record).items() if name not in ("advice", "reasons")})


def command(*words: str, cwd: Path) -> None:
    """Runs `ngm` in a folder, or says what it said."""
    code = "import sys; from ngm.cli import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ngm {' '.join(words)}: {done.stderr}")


def commands() -> dict[str, str]:
    """Digests of what commands predict: texts by the default, texts by columns of a graph folder, a regression."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        strings, topics, _ = texts()
        rows = [
            f"{i},{text},{'' if topic is None else topic}"
            for i, (text, topic) in enumerate(zip(strings, topics, strict=True))
        ]
        (folder / "t.csv").write_text("\n".join(["id,body,topic", *rows]) + "\n", encoding="utf-8")
        x, y, _ = digits()
        head = ",".join(["id", *(f"p{i}" for i in range(64)), "digit", "ink"])
        lines = [
            ",".join([str(i), *map(str, row), "" if label < 0 else str(label), str(sum(row))])
            for i, (row, label) in enumerate(zip(x.tolist(), y.tolist(), strict=True))
        ]
        (folder / "d.csv").write_text(
            "\n".join([head, *(line.replace("[", "") for line in lines)]) + "\n", encoding="utf-8"
        )
        numbers = ",".join(f"p{i}" for i in range(64))
        paper = ("d.csv", "--columns", numbers, "--label", "digit", "--recipe", "paper")
        runs = {
            "train, texts": ("t.csv", "--text", "body", "--label", "topic", "--epochs", "2"),
            "train, tf-idf": ("t.csv", "--text", "body", "--label", "topic", "--encoder", "tfidf", "--epochs", "5"),
            "train, columns": (*paper, "--epochs", "3"),
            "train, no graph": (*paper, "--epochs", "5", "--no-graph"),
        }
        for i, (name, options) in enumerate(runs.items()):
            command("train", *options, "-o", f"run{i}", "--no-report", cwd=folder)
            out = f"out{i}.csv"
            columns = ("--text", "body") if "--text" in options else ()
            command("predict", f"run{i}", options[0], *columns, "--all", "-o", out, cwd=folder)
            found[name] = hashlib.sha256((folder / out).read_bytes()).hexdigest()[:16]
        command("build", "t.csv", "--text", "body", "-o", "g", cwd=folder)
        found["build"] = digest(np.load(folder / "g" / "edges.npy"), np.load(folder / "g" / "weight.npy"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the digests instead of comparing with them")
    parser.add_argument("--skip-commands", action="store_true", help="fits alone")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    found = {name: fit() for name, fit in fits().items()}
    if not options.skip_commands:
        found |= commands()
    if options.write:
        content = {"torch": torch.__version__, "digests": found}
        KEPT.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        print(f"{len(found)} digests kept")
        return 0
    before = json.loads(KEPT.read_text(encoding="utf-8"))["digests"]
    other = [name for name, value in found.items() if before.get(name) != value]
    for name in other:
        print(f"{name}: {before.get(name)} before, {found[name]} now")
    print(f"{len(found) - len(other)} of {len(found)} digests are the same")
    return bool(other)


if __name__ == "__main__":
    sys.exit(main())
