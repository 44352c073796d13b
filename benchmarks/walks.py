"""Random walks: steps per second against pecanpy, fastnode2vec and PyG, of first and second order.

    python benchmarks/walks.py [--repeats 3] [--length 80] [--walks 2] [--nodes 200000] [--edges 2000000] [--graphs ...]
        [--json] [--keep] [--fresh]

Ours are timed whole, with what comes before the first step; the peers are not (see walks_peers.py). A step is the same
for all: one draw from the law of node2vec. pecanpy, PyG and ours use all threads, fastnode2vec makes one walk at a
time. PyG's walks are those of torch-cluster, built from source; they know no weights. Numba has compiled everything
before the clock starts; "numpy" is what ours does where numba is not installed. The peers live in environments of their
own, which are made when needed. Ours are timed before and after the peers and the best counts. With `--keep` a graph is
written as soon as it is done, and graphs that are there are not run again (`--fresh`: they are).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import bench
import numpy as np
import torch
from environments import python_of, versions_of

from ngm import Graph, datasets
from ngm.inputs import random_walks, walk_steps

NAME, TARGET = "walks", 3.0
GRAPHS = ("power law", "power law, weighted", "BlogCatalog", "BlogCatalog, weighted")
PEERS = {"walks": ("pecanpy", "fastnode2vec"), "pyg": ("PyG",)}
BIASES = [(1.0, 1.0), (0.25, 4.0), (1.0, 0.5)]


def options_of(description: str | None) -> argparse.Namespace:
    parser = bench.parser(description)
    parser.set_defaults(repeats=3)
    parser.add_argument("--length", type=int, default=80, help="steps in a walk")
    parser.add_argument("--walks", type=int, default=2, help="walks from each node")
    parser.add_argument("--nodes", type=int, default=200_000, help="nodes of the power-law graph")
    parser.add_argument("--edges", type=int, default=2_000_000, help="edges of the power-law graph, at most")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    return parser.parse_args()


def power_law(nodes: int, edges: int) -> Graph:
    """A graph whose degrees fall off as a power: one end of an edge is anybody, the other often a hub."""
    rng = np.random.default_rng(0)
    hubs = (nodes * rng.random(edges) ** 3).astype(np.int64)
    return Graph.from_edges(np.stack([rng.integers(nodes, size=edges), hubs], axis=1), num_nodes=nodes)


def graph_of(name: str, options: argparse.Namespace) -> Graph:
    """A graph by its name."""
    plain = name.removesuffix(", weighted")
    graph = power_law(options.nodes, options.edges) if plain == "power law" else datasets.load("blogcatalog").graph
    assert graph is not None
    if plain == name:
        return graph
    weight = torch.rand(graph.num_edges, generator=torch.Generator().manual_seed(0)) + 0.1
    return Graph(graph.num_nodes, graph.edges, weight, graph.directed)


def our_rate(graph: Graph, p: float, q: float, options: argparse.Namespace, walks: int) -> float:
    random_walks(graph, 2, 1, seed=0, p=p, q=q)  # compiled
    best = float("inf")
    for repeat in range(options.repeats):
        started = time.perf_counter()
        random_walks(graph, options.length, walks, seed=repeat, p=p, q=q)
        best = min(best, time.perf_counter() - started)
    return float(graph.num_nodes * walks * options.length / best)


def numpy_rate(graph: Graph, p: float, q: float, options: argparse.Namespace) -> float:
    kernels, walk_steps._kernels = walk_steps._kernels, lambda: None
    try:
        return our_rate(graph, p, q, options, walks=1)
    finally:
        walk_steps._kernels = kernels


def peer_rates(graph: Graph, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Steps per second by peer and setting; a peer that has no such walks is not there."""
    offsets, neighbors, edge = (part.numpy() for part in graph.csr)
    rates: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.npz"
        np.savez(
            job,
            offsets=offsets,
            neighbors=neighbors,
            weight=graph.weight.numpy()[edge],
            biases=np.array(BIASES),
            sizes=np.array([options.length, options.walks, options.repeats]),
        )
        script = str(Path(__file__).with_name("walks_peers.py"))
        for environment, peers in PEERS.items():
            command = [str(python_of(environment)), script, str(job), *peers]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            rates |= json.loads(done.stdout.splitlines()[-1])
    return rates


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One graph."""
    print(name, file=sys.stderr, flush=True)
    graph = graph_of(name, options)
    before = {bias: our_rate(graph, *bias, options, options.walks) for bias in BIASES}
    peers = peer_rates(graph, options)
    rates: dict[str, dict[str, float]] = {}
    for p, q in BIASES:
        setting = f"p = {p:g}, q = {q:g}"
        ours = max(before[p, q], our_rate(graph, p, q, options, options.walks))
        rates[setting] = {"ngm": ours, "ngm, numpy": numpy_rate(graph, p, q, options)}
        rates[setting] |= {peer: found[f"{p:g},{q:g}"] for peer, found in peers.items()}
        rates[setting] = {who: round(rate) for who, rate in rates[setting].items()}
        print(f"  {setting}: {rates[setting]}", file=sys.stderr, flush=True)
    return {"nodes": graph.num_nodes, "edges": graph.num_edges, "steps_per_second": rates}


def main() -> None:
    options = options_of(__doc__)
    rows: dict[str, Any] = ((bench.kept(NAME) or {}).get("rows", {})) if options.keep else {}
    versions = versions_of("ngm", *PEERS)

    def show(last: bool) -> None:
        ratios: dict[str, float] = {}
        seconds: dict[str, float] = {}
        for name, row in rows.items():
            for setting, rates in row["steps_per_second"].items():
                peers = {who: rate for who, rate in rates.items() if not who.startswith("ngm")}
                ratios[f"{name}, {setting}: ngm / fastest peer"] = rates["ngm"] / max(peers.values())
                for who in (who for who in rates if who != "ngm"):
                    ratios[f"{name}, {setting}: ngm / {who}"] = rates["ngm"] / rates[who]
                seconds |= {f"{name}, {setting}, {who}, a million steps": 1e6 / rate for who, rate in rates.items()}
        bench.report(NAME, ratios, seconds, options, last, rows=rows, target=TARGET, versions=versions)

    bench.measure_missing(rows, options.graphs, options.fresh, lambda name: measure(name, options), show)


if __name__ == "__main__":
    main()
