"""How long `ngm.diagnose` takes on large graphs: ten classes, one label in a hundred, one thread.

    python benchmarks/diagnose.py [--json] [--keep] [--edges 1000000,10000000] [--width 64] [--draws 10]

Graphs have a node for every five edges, and edges join nodes of one class half of the time. Each size is timed without
inputs and with dense ones; label propagation over the same graph with the same labels, once, is what to compare with: a
diagnosis spreads the labels of five folds. The graph's arrays are fresh, so that nothing is left from an earlier look.

With --draws, verdicts are counted as well: on PubMed, Cora, Citeseer and a kNN graph of digits, where the graph is
known to help (benchmarks/results/defaults.json), and on the same graphs with nodes renamed at random, which know
nothing; labels are drawn anew each time.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections import Counter

import numpy as np
import torch
from bench import report
from numpy.typing import NDArray

from ngm import Graph, LabelPropagation, knn_graph
from ngm.datasets import few_labels, load
from ngm.diagnosis import diagnose

CLASSES, LABELED, ALIKE = 10, 0.01, 0.5


def planted(edges: int, seed: int = 0) -> tuple[Graph, NDArray[np.int64], NDArray[np.int64]]:
    """(graph, y, truth)."""
    rng = np.random.default_rng(seed)
    nodes = edges // 5
    truth = rng.integers(CLASSES, size=nodes)
    members = np.argsort(truth, kind="stable")
    start, count = np.searchsorted(truth[members], np.arange(CLASSES)), np.bincount(truth, minlength=CLASSES)
    u, v = rng.integers(nodes, size=edges), rng.integers(nodes, size=edges)
    alike = rng.random(edges) < ALIKE
    v[alike] = members[start[truth[u]] + (rng.random(edges) * count[truth[u]]).astype(np.int64)][alike]
    y = np.where(rng.random(nodes) < LABELED, truth, -1)
    return Graph.from_edges(np.stack([u, v], axis=1), num_nodes=nodes), y, truth


def timed(edges: int, width: int, repeats: int) -> dict[str, float]:
    """Best seconds of a diagnosis without x, with x, and of one label propagation."""
    graph, y, truth = planted(edges)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(graph.num_nodes, width)).astype(np.float32)
    x[np.arange(len(truth)), truth] += 1.0
    found = {"without x": float("inf"), "with x": float("inf"), "one label propagation": float("inf")}
    for _ in range(repeats):
        fresh = Graph(graph.num_nodes, graph.edges, graph.weight)
        for name in found:
            started = time.perf_counter()
            if name == "one label propagation":
                LabelPropagation().fit(None, y, graph=fresh)
            else:
                diagnose(fresh, y, x if name == "with x" else None)
            found[name] = min(found[name], time.perf_counter() - started)
    return found


def verdicts(draws: int) -> dict[str, dict[str, int]]:
    """How often each verdict is given, by data set, labels a class, with x or not, as it is or renamed."""
    found: dict[str, Counter[str]] = {}
    for name in ("pubmed", "cora", "citeseer", "digits"):
        data = load(name)
        known = np.flatnonzero(data.y >= 0)
        graph = (knn_graph(data.x, k=5) if data.graph is None else data.graph).subgraph(known)
        for labels in (2, 5, 20):
            for draw in range(draws):
                y = few_labels(data.y[known], labels, seed=draw)
                new = np.random.default_rng(draw).permutation(len(known))
                renamed = Graph.from_edges(new[graph.edges.numpy()], graph.weight, len(known))
                for title, one in (("", graph), (", renamed", renamed)):
                    for with_x, x in ((", with x", data.x[known]), ("", None)):
                        verdict = diagnose(one, y, x, seed=draw).verdict
                        found.setdefault(f"{name}, {labels} a class{with_x}{title}", Counter())[verdict] += 1
    return {key: {word: count[word] for word in ("helps", "unclear", "hurts")} for key, count in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--keep", action="store_true", help="write the JSON to benchmarks/results as well")
    parser.add_argument("--repeats", type=int, default=2, help="the best of so many is taken")
    parser.add_argument("--edges", default="1000000,10000000", help="sizes, with commas between them")
    parser.add_argument("--width", type=int, default=64, help="columns of x")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--draws", type=int, default=0, help="count verdicts over so many draws of labels")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(options.threads)
    seconds: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for edges in map(int, filter(None, options.edges.split(","))):
        found = timed(edges, options.width, options.repeats)
        seconds |= {f"{edges:,} edges, {name}": value for name, value in found.items()}
        once = found.pop("one label propagation")
        ratios |= {f"{edges:,} edges, {name}, to one propagation": value / once for name, value in found.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    graph = {"classes": CLASSES, "labelled": LABELED, "alike": ALIKE, "edges a node": 5, "width of x": options.width}
    counted = verdicts(options.draws) if options.draws else {}
    report("diagnose", ratios, seconds, options, graph=graph, peak_gib=round(peak, 2), verdicts=counted)


if __name__ == "__main__":
    main()
