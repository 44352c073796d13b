"""Numbers from few labels: the default regressor beside ridge regression, the plain network and the paper's objective.

    python benchmarks/default_regression.py [--json] [--keep] [--part test] [--problems diabetes ...]
        [--labels 20 100 500] [--draws 3] [--rows default ridge ...] [--fresh]

Scored is R squared on new rows, which are out of the graph (validation rows, or test rows with `--part test`); settings
are chosen on the former. In the problem "smooth" x knows nothing, so nodes of the graph without a label are scored
instead. "pubmed-shuffled" has the edges of "pubmed" between nodes renamed at random. Every problem has at least 20
labels; where it has fewer rows than labels are asked for, all but the scored rows are labelled. With `--keep` each
problem is written to benchmarks/results as soon as it is done, and is not run again (`--fresh`: it is).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeAlias

import bench
import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler, normalize

from ngm import Graph, NGMRegressor, knn_graph
from ngm.datasets import load
from ngm.networks.input_scaling import choose_input_scaling

NAME = "default-regression"
LABELS = (20, 100, 500)
NEIGHBORS = 10
MAX_SCORED = 1_000
Rows: TypeAlias = "NDArray[np.float32] | sp.csr_matrix"
Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Data:
    """What a problem is made of.

    Attributes:
        x: (n, d).
        y: (n,) true numbers.
        graph: Over all rows; None where it is made of the nearest rows of those that are there while training.
        inside: Whether unlabelled nodes of the graph are scored, not new rows.
    """

    x: Rows
    y: Values
    graph: Graph | None
    inside: bool = False


def _diabetes() -> Data:
    """How far the illness went after a year, by ten measurements of 442 people."""
    x, y = load_diabetes(return_X_y=True)
    return Data(x.astype(np.float32), y, None)


def _digits() -> Data:
    """The ink in the right half of a digit by the pixels of its left half."""
    pixels = np.asarray(load("digits").x, dtype=np.float32).reshape(-1, 8, 8)
    return Data(pixels[:, :, :4].reshape(len(pixels), -1), pixels[:, :, 4:].sum(axis=(1, 2)).astype(np.float64), None)


def _words(name: str) -> Data:
    """The first component of one half of a paper's words by the other half, and citations."""
    data = load(name)
    rows = normalize(sp.csr_matrix(data.rows, dtype=np.float64))
    half = np.random.default_rng(0).permutation(rows.shape[1])
    seen, hidden = half[: len(half) // 2], half[len(half) // 2 :]
    y = TruncatedSVD(2, random_state=0).fit_transform(rows[:, hidden])[:, 1]
    return Data(sp.csr_matrix(data.rows[:, seen], dtype=np.float32), y, data.graph)


def _degree(name: str) -> Data:
    """The logarithm of a node's degree by its row; the graph's edges do not say it to a mean over neighbours."""
    data = load(name)
    if data.graph is None:
        raise ValueError(f"{name} has no graph")
    return Data(
        sp.csr_matrix(data.rows, dtype=np.float32), np.log1p(data.graph.degree.numpy().astype(float)), data.graph
    )


def _traffic() -> Data:
    """How often a page is read, in five steps, by its words and links."""
    data = load("squirrel_filtered")
    return Data(sp.csr_matrix(data.rows, dtype=np.float32), data.y.astype(np.float64), data.graph)


def _smooth() -> Data:
    """A wave over places in the plane; the graph joins near places, x is noise."""
    rng = np.random.default_rng(0)
    place = rng.random((2_000, 2)).astype(np.float32)
    wave = np.sin(5 * place[:, 0]) + np.cos(4 * place[:, 1] + place[:, 0]) + 0.2 * rng.normal(size=2_000)
    on_sphere = np.hstack([place - 0.5, np.ones((2_000, 1), dtype=np.float32)])  # so that cosine finds near places
    graph = knn_graph(on_sphere, k=NEIGHBORS)
    return Data(rng.normal(size=(2_000, 20)).astype(np.float32), wave, graph, inside=True)


def _shuffled(data: Data) -> Data:
    if data.graph is None:
        raise ValueError("only a given graph can be shuffled")
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(data.y)))
    return Data(data.x, data.y, Graph.from_edges(order[data.graph.edges], data.graph.weight, len(data.y)))


PROBLEMS: dict[str, Callable[[], Data]] = {
    "diabetes": _diabetes,
    "digits": _digits,
    "cora": lambda: _words("cora"),
    "pubmed": lambda: _words("pubmed"),
    "pubmed-shuffled": lambda: _shuffled(_words("pubmed")),
    "squirrel": _traffic,
    "amazon-degree": lambda: _degree("amazon_cs"),
    "smooth": _smooth,
}


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw of labels and scored rows: x, y with NaN where unlabelled and graph of fit; rows to score."""

    x: Rows
    y: Values
    graph: Graph
    x_new: Rows
    y_new: Values


def drawn(data: Data, labels: int, draw: int, part: str) -> Draw:
    """Labels, and validation or test rows, by chance."""
    n = len(data.y)
    scored = min(MAX_SCORED, n // 4)
    order = np.random.default_rng([draw, 7]).permutation(n)
    validation, test, rest = order[:scored], order[scored : 2 * scored], order[2 * scored :]
    chosen = validation if part == "validation" else test
    there = np.arange(n) if data.inside else np.sort(rest)
    y = np.full(n, np.nan)
    y[rest[:labels]] = data.y[rest[:labels]]
    graph = knn_graph(data.x[there], k=NEIGHBORS) if data.graph is None else data.graph.subgraph(there)
    return Draw(data.x[there], y[there], graph, data.x[chosen], data.y[chosen])


def ridge(problem: Draw, seed: int) -> Values:
    """On rows scaled as the network scales its own, penalty by leave-one-out."""
    labeled = ~np.isnan(problem.y)
    if choose_input_scaling(problem.x) == "unit_rows":
        x, x_new = normalize(problem.x), normalize(problem.x_new)
    else:
        scaler = StandardScaler(with_mean=not sp.issparse(problem.x)).fit(problem.x)
        x, x_new = scaler.transform(problem.x), scaler.transform(problem.x_new)
    x, x_new = (rows.toarray() if sp.issparse(rows) else rows for rows in (x[labeled], x_new))
    return np.asarray(RidgeCV(np.logspace(-3, 4, 15)).fit(x, problem.y[labeled]).predict(x_new))


def plain(problem: Draw, seed: int) -> Values:
    """The network without the graph."""
    return np.asarray(NGMRegressor(recipe="paper", seed=seed).fit(problem.x, problem.y).predict(problem.x_new))


def paper(problem: Draw, seed: int) -> Values:
    """Eq. 3 on the labels and the edges."""
    model = NGMRegressor(recipe="paper", seed=seed).fit(problem.x, problem.y, graph=problem.graph)
    return np.asarray(model.predict(problem.x_new))


def default(problem: Draw, seed: int) -> Values:
    """Nothing set but the seed."""
    model = NGMRegressor(seed=seed).fit(problem.x, problem.y, graph=problem.graph)
    return np.asarray(model.predict(problem.x_new))


METHODS: dict[str, Callable[[Draw, int], Values]] = {
    "ridge": ridge,
    "plain": plain,
    "paper": paper,
    "default": default,
}


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """R squared and seconds of every row on one problem, by number of labels: mean and deviation over the draws."""
    data = PROBLEMS[name]()
    table: dict[str, Any] = {}
    for labels in options.labels:
        scores: dict[str, list[float]] = {row: [] for row in options.rows}
        seconds: dict[str, list[float]] = {row: [] for row in options.rows}
        for draw in range(options.draws):
            problem = drawn(data, labels, draw, options.part)
            for row in options.rows:
                started = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of graphs that are left out
                    found = METHODS[row](problem, draw)
                seconds[row].append(time.perf_counter() - started)
                scores[row].append(float(r2_score(problem.y_new, found)))
        table[str(labels)] = {
            row: {
                "r_squared": round(float(np.mean(scores[row])), 4),
                "deviation": round(float(np.std(scores[row])), 4),
                "draws": [round(score, 4) for score in scores[row]],
                "seconds": round(float(np.mean(seconds[row])), 2),
            }
            for row in options.rows
        }
        shown = ", ".join(f"{row} {cell['r_squared']:.3f}" for row, cell in table[str(labels)].items())
        if not options.json:
            print(f"{name}, {labels} labels: {shown}", flush=True)
    return table


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--problems", nargs="+", choices=tuple(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--labels", nargs="+", type=int, default=list(LABELS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--rows", nargs="+", choices=tuple(METHODS), default=list(METHODS))
    parser.add_argument("--part", choices=("validation", "test"), default="validation", help="rows to score")
    parser.add_argument("--fresh", action="store_true", help="run problems that are kept again, too")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept = bench.kept(NAME) if options.keep else None
    rows: dict[str, dict[str, Any]] = dict((kept or {}).get("problems", {}))

    def show(last: bool) -> None:
        seconds = {
            f"{name}, {labels} labels, {row}": cell["seconds"]
            for name, table in rows.items()
            for labels, cells in table.items()
            for row, cell in cells.items()
        }
        versions = {package: metadata.version(package) for package in ("scikit-learn", "scipy")}
        bench.report(NAME, {}, seconds, options, last, part=options.part, versions=versions, problems=rows)

    bench.measure_missing(rows, options.problems, options.fresh, lambda name: measure(name, options), show)


if __name__ == "__main__":
    main()
