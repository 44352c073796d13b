"""What k does on digits, the table of docs/which-k.md: edges within a class, label propagation, the trained network."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict

import bench
import numpy as np

from ngm import LabelPropagation, NGMClassifier, knn_graph
from ngm.build import summarize
from ngm.datasets import Dataset, few_labels, load
from ngm.experiments.table import Row, measured
from ngm.graph import Graph
from ngm.metrics import accuracy

NEIGHBORS = (1, 2, 3, 5, 10, 20, 50, 100)
LABELS_PER_CLASS = (2, 10)
SEEDS = 5
STEPS = 270  # of the network, the same for every k: 30 passes over the edges of k = 5


def same_class(graph: Graph, data: Dataset) -> float:
    """Share of the edges that join two digits of one class."""
    u, v = graph.edges.T.numpy()
    truth = data.y[data.train]
    return float(np.mean(truth[u] == truth[v]))


def spread_labels(graph: Graph, data: Dataset, labels: int) -> Row:
    """Accuracy of label propagation on the unlabelled nodes of the graph."""
    truth = data.y[data.train]

    def score(seed: int) -> float:
        y = few_labels(truth, labels, seed)
        found = LabelPropagation().fit(None, y, graph=graph)
        return float((found.transduction_ == truth)[y == -1].mean())

    return measured(score, SEEDS, method="label propagation", setting="transductive", dataset="digits")


def trained(graph: Graph | None, data: Dataset, labels: int) -> Row:
    """Accuracy of the network on digits that no graph knows, after as many steps whatever k is."""
    batches = 1 if graph is None else -(-graph.num_edges // 512)

    def score(seed: int) -> float:
        model = NGMClassifier(recipe="paper", epochs=max(round(STEPS / batches), 1), seed=seed)
        model.fit(data.x[data.train], few_labels(data.y[data.train], labels, seed), graph=graph)
        return accuracy(data.y[data.test], model.predict(data.x[data.test]))

    return measured(score, SEEDS, method="FFNN" if graph is None else "NGM-FFNN", setting="inductive", dataset="digits")


def main() -> None:
    options = bench.arguments(__doc__)
    warnings.simplefilter("ignore", UserWarning)  # label propagation says when a component has no label
    data = load("digits")
    seconds: dict[str, float] = {}
    graphs: dict[str, dict[str, object]] = {}
    for k in NEIGHBORS:
        started = time.perf_counter()
        graph = knn_graph(data.x[data.train], k=k)
        shape = summarize(graph)
        graphs[str(k)] = {
            "edges": shape.edges,
            "components": shape.components,
            "within_a_class": round(same_class(graph, data), 4),
            "rows": [
                asdict(row) | {"labels": labels}
                for labels in LABELS_PER_CLASS
                for row in (spread_labels(graph, data, labels), trained(graph, data, labels))
            ],
        }
        seconds[f"k = {k}"] = time.perf_counter() - started
    plain = [asdict(trained(None, data, labels)) | {"labels": labels} for labels in LABELS_PER_CLASS]
    bench.report("which-k", {}, seconds, options, graphs=graphs, without_graph=plain)


if __name__ == "__main__":
    main()
