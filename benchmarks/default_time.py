"""Seconds of the default recipe against 200 epochs of a graph convolution (PyTorch Geometric) in the same run.

    python benchmarks/default_time.py [--json] [--keep] [--repeats 3] [--datasets cora pubmed amazon_cs] [--fresh]

Both learn from 20 labels a class; all nodes but 1,000 are in the graph. The GCN has two layers of 16 or 64 hidden
units, dropout .5, Adam with a step of .01 and a weight decay of 5e-4, full batches, dense rows of sum 1 and a
normalised adjacency that is made once. `fit` is timed with x sparse and with x dense: one should not have to know which
is faster. Jobs take turns and the best of several is taken; the accuracy on the 1,000 nodes is told for both, the GCN's
with the edges of these nodes, which the default does without. With `--keep` each data set is written to
benchmarks/results as soon as it is done, and those that are there are not run again (`--fresh`: they are).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import bench
import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch.nn import functional as F
from torch_geometric.nn import GCN

from ngm import Graph, NGMClassifier
from ngm.datasets import few_label_split, load

NAME = "default-time"
DATASETS = ("cora", "pubmed", "amazon_cs")
LABELS, TEST = 20, 1_000
WIDTHS = (16, 64)
EPOCHS = 200
TARGET = 3.0  # times the GCN, at most


@dataclass(frozen=True, eq=False)
class Problem:
    """A data set whose test nodes are out of the graph while training.

    Args:
        x: (n, d) of all nodes.
        y: (n,) of all nodes.
        graph: Of all nodes.
        kept: Ids of those that are there while training.
        train: Ids of the labelled ones.
        test: Ids of those to predict.
    """

    x: sp.csr_matrix
    y: NDArray[np.int64]
    graph: Graph
    kept: NDArray[np.int64]
    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @classmethod
    def load(cls, name: str) -> Problem:
        """One draw of labels and test nodes."""
        data = load(name)
        assert data.graph is not None
        train, _, test = few_label_split(data.y, LABELS, 0, validation=0, test=TEST)
        kept = np.setdiff1d(np.arange(len(data.y)), test)
        return cls(sp.csr_matrix(data.rows, dtype=np.float32), data.y, data.graph, kept, train, test)


class _Default:
    """`NGMClassifier(recipe="auto")`, with x sparse or dense."""

    def __init__(self, problem: Problem, sparse: bool) -> None:
        self.problem = problem
        x = problem.x[problem.kept]
        self.x, self.x_new = (rows if sparse else rows.toarray() for rows in (x, problem.x[problem.test]))
        y = np.full(len(problem.y), -1)
        y[problem.train] = problem.y[problem.train]
        self.y, self.graph = y[problem.kept], problem.graph.subgraph(torch.from_numpy(problem.kept))

    def __call__(self) -> None:
        self.model = NGMClassifier(recipe="auto").fit(self.x, self.y, graph=self.graph)

    def score(self) -> float:
        """Accuracy on the test nodes, from their rows alone."""
        return float((self.model.predict(self.x_new) == self.problem.y[self.problem.test]).mean())


class _Convolution:
    """A two-layer GCN, trained for 200 epochs on the graph without the test nodes."""

    def __init__(self, problem: Problem, width: int) -> None:
        self.problem, self.width = problem, width
        rows = problem.x.toarray()
        self.all_x = torch.from_numpy(rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-12))
        kept = torch.from_numpy(problem.kept)
        self.x, self.edges = self.all_x[kept], _both_ways(problem.graph.subgraph(kept))
        self.labeled = torch.from_numpy(np.searchsorted(problem.kept, problem.train))
        self.y = torch.from_numpy(problem.y[problem.train])

    def __call__(self) -> None:
        torch.manual_seed(0)
        num_classes = int(self.problem.y.max()) + 1
        self.model = GCN(self.x.shape[1], self.width, 2, num_classes, dropout=0.5, cached=True)
        optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01, weight_decay=5e-4)
        self.model.train()
        for _ in range(EPOCHS):
            optimizer.zero_grad()
            F.cross_entropy(self.model(self.x, self.edges)[self.labeled], self.y).backward()
            optimizer.step()

    def score(self) -> float:
        """Accuracy on the test nodes, with their edges."""
        model = self.model.eval()
        for layer in model.convs:
            layer._cached_edge_index = None  # of the smaller graph
        with torch.no_grad():
            said = model(self.all_x, _both_ways(self.problem.graph)).argmax(dim=1).numpy()
        return float((said == self.problem.y)[self.problem.test].mean())


def _both_ways(graph: Graph) -> torch.Tensor:
    """(2, 2m) edges in both directions."""
    return torch.cat([graph.edges.T, graph.edges.T.flip(0)], dim=1).contiguous()


def measure(name: str, repeats: int) -> dict[str, Any]:
    """Seconds, ratios and accuracies on one data set."""
    problem = Problem.load(name)
    jobs: dict[str, _Default | _Convolution] = {
        "default_sparse": _Default(problem, sparse=True),
        "default_dense": _Default(problem, sparse=False),
        **{f"gcn_{width}": _Convolution(problem, width) for width in WIDTHS},
    }
    calls: list[Callable[[], object]] = list(jobs.values())
    seconds = dict(zip(jobs, bench.best_of(repeats, *calls), strict=True))
    density = problem.x.nnz / np.prod(problem.x.shape)
    return {
        "nodes": len(problem.kept),
        "edges": jobs["default_sparse"].graph.num_edges,  # type: ignore[union-attr]
        "columns": problem.x.shape[1],
        "density": round(float(density), 4),
        "seconds": {job: round(value, 3) for job, value in seconds.items()},
        "ratios": {
            f"{form}_over_gcn_{width}": round(seconds[f"default_{form}"] / seconds[f"gcn_{width}"], 3)
            for form in ("sparse", "dense")
            for width in WIDTHS
        }
        | {"sparse_over_dense": round(seconds["default_sparse"] / seconds["default_dense"], 3)},
        "accuracy": {job: round(jobs[job].score(), 4) for job in jobs},
    }


def main() -> None:
    parser = bench.parser(__doc__)
    parser.set_defaults(repeats=3)
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS), help="which to measure")
    parser.add_argument("--fresh", action="store_true", help="run data sets that are kept again, too")
    options = parser.parse_args()
    kept = bench.kept(NAME) if options.keep else None
    rows: dict[str, dict[str, Any]] = dict((kept or {}).get("datasets", {}))
    bench.measure_missing(
        rows,
        options.datasets,
        options.fresh,
        lambda name: measure(name, options.repeats),
        lambda last: _report(rows, options, last),
    )


def _report(rows: dict[str, dict[str, Any]], options: argparse.Namespace, last: bool) -> None:
    ratios, seconds = (
        {f"{name}_{key}": value for name, row in rows.items() for key, value in row[kind].items()}
        for kind in ("ratios", "seconds")
    )
    versions = {package: metadata.version(package) for package in ("torch_geometric", "scikit-learn", "scipy")}
    bench.report(NAME, ratios, seconds, options, last, target=TARGET, versions=versions, datasets=rows)


if __name__ == "__main__":
    main()
