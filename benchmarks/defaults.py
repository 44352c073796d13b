"""Recipe "paper" as it comes against the plain network, on real graphs and on shuffled ones.

    python benchmarks/defaults.py [--json] [--keep] [--score test]

Nothing is given but the recipe, x, y and the graph. "Plain" is the same estimator with all alphas 0 and as many steps.
A shuffled graph has the same edges between nodes renamed at random, so it knows nothing: a method that is safe to try
must not lose much with it. Test nodes are out of the graph; without `--score test` the validation nodes are too, and
are scored.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ngm import Graph, NGMClassifier, knn_graph
from ngm.datasets import few_labels, load

SEEDS = 5


def problem(name: str, part: str, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64], Graph, object, object]:
    """(x, y, graph, x to score, y to score); scored nodes are absent from the first three."""
    data = load(name)
    if data.graph is None:  # digits: no validation part, so the last of the training digits stand for it
        kept, scored = (data.train[:-300], data.train[-300:]) if part == "validation" else (data.train, data.test)
        x = data.rows[kept]
        y = few_labels(data.y[kept], 5, seed)
        return x, y, knn_graph(x, k=5), data.rows[scored], data.y[scored]
    scored = data.validation if part == "validation" else data.test
    kept = np.setdiff1d(np.arange(len(data.y)), np.concatenate([scored, data.test]))
    y = np.full(len(data.y), -1)
    y[data.train] = data.y[data.train]
    return data.rows[kept], y[kept], data.graph.subgraph(kept), data.rows[scored], data.y[scored]


def shuffled(graph: Graph, seed: int) -> Graph:
    """The same edges between nodes renamed at random."""
    name = np.random.default_rng(seed).permutation(graph.num_nodes)
    return Graph.from_edges(name[graph.edges.numpy()], graph.weight, graph.num_nodes)


def compare(name: str, part: str, settings: dict[str, object]) -> dict[str, dict[str, float]]:
    """Mean and deviation of accuracy: plain, with the graph, with the shuffled graph."""
    found: dict[str, list[float]] = {"plain": [], "graph": [], "shuffled": []}
    for seed in range(SEEDS):
        x, y, graph, x_new, y_new = problem(name, part, seed)
        paper = NGMClassifier(recipe="paper", seed=seed)
        with_graph = clone(paper).set_params(**settings).fit(x, y, graph=graph)
        steps = with_graph.n_iter_ * math.ceil(graph.num_edges / with_graph.settings_.batch_size)
        models = {
            "plain": clone(paper).set_params(alpha_ll=0, alpha_lu=0, alpha_uu=0, epochs=steps).fit(x, y),
            "graph": with_graph,
            "shuffled": clone(paper).set_params(**settings).fit(x, y, graph=shuffled(graph, seed)),
        }
        for key, model in models.items():
            found[key].append(float(model.score(x_new, y_new)))
    return {
        key: {"mean": statistics.fmean(values), "std": statistics.stdev(values), "seeds": SEEDS}
        for key, values in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--keep", action="store_true", help="write the JSON to benchmarks/results as well")
    parser.add_argument("--score", choices=("validation", "test"), default="validation")
    parser.add_argument("--datasets", default="digits,cora,citeseer,pubmed")
    parser.add_argument("--settings", default="{}", help="JSON of settings other than the defaults")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for name in options.datasets.split(","):
        results[name] = compare(name, options.score, json.loads(options.settings))
        if not options.json:
            print(name, {key: f"{r['mean']:.3f} ± {r['std']:.3f}" for key, r in results[name].items()}, flush=True)
    content = {
        "name": "defaults",
        "scored": options.score,
        "results": results,
        "versions": {name: metadata.version(name) for name in ("neural-graph-machines", "torch")},
        "command": " ".join(["python", *sys.argv]),
    }
    if options.keep:
        file = Path(__file__).with_name("results") / "defaults.json"
        file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(content))


if __name__ == "__main__":
    main()
