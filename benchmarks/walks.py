"""Random walks: steps per second against pecanpy and fastnode2vec, first and second order, with and without weights.

Ours are timed whole, with what comes before the first step; the peers are not (see walks_peers.py). A step is the same
for all: one draw from the law of node2vec. pecanpy and ours use all threads, fastnode2vec makes one walk at a time.
Numba has compiled everything before the clock starts; "numpy" is what ours does where numba is not installed. The peers
live in an environment of their own, because they need an older numpy: give its Python as --peers, or let the script
make one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from bench import report

from ngm import Graph, datasets
from ngm.inputs import random_walks, walk_steps

PEERS = ["pecanpy==2.0.9", "fastnode2vec==0.0.7"]
BIASES = [(1.0, 1.0), (0.25, 4.0), (1.0, 0.5)]


def options_of(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--keep", action="store_true", help="write the JSON to benchmarks/results as well")
    parser.add_argument("--repeats", type=int, default=3, help="the best of so many is taken")
    parser.add_argument("--peers", type=Path, help="Python of an environment that has pecanpy and fastnode2vec")
    parser.add_argument("--length", type=int, default=80, help="steps in a walk")
    parser.add_argument("--walks", type=int, default=2, help="walks from each node")
    parser.add_argument("--nodes", type=int, default=200_000, help="nodes of the power-law graph")
    parser.add_argument("--edges", type=int, default=2_000_000, help="edges of the power-law graph, at most")
    return parser.parse_args()


def power_law(nodes: int, edges: int) -> Graph:
    """A graph whose degrees fall off as a power: one end of an edge is anybody, the other often a hub."""
    rng = np.random.default_rng(0)
    hubs = (nodes * rng.random(edges) ** 3).astype(np.int64)
    return Graph.from_edges(np.stack([rng.integers(nodes, size=edges), hubs], axis=1), num_nodes=nodes)


def graphs(options: argparse.Namespace) -> Iterator[tuple[str, Graph]]:
    """Every graph without and with weights; BlogCatalog only where it is at hand."""
    plain = {"power law": power_law(options.nodes, options.edges)}
    if ("blogcatalog", "not fetched") not in {(record.name, record.where) for record in datasets.available()}:
        blogs = datasets.load("blogcatalog").graph
        if blogs is not None:
            plain["BlogCatalog"] = blogs
    for name, graph in plain.items():
        yield name, graph
        weight = torch.rand(graph.num_edges, generator=torch.Generator().manual_seed(0)) + 0.1
        yield f"{name}, weighted", Graph(graph.num_nodes, graph.edges, weight, graph.directed)


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


def peer_rates(graph: Graph, python: Path, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    offsets, neighbors, edge = (part.numpy() for part in graph.csr)
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
        done = subprocess.run([str(python), script, str(job)], stdout=subprocess.PIPE, text=True, check=True)
    rates: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return rates


def environment() -> Path:
    """Python of an environment with the peers, made once and kept among the temporary files."""
    folder = Path(tempfile.gettempdir()) / "ngm-walks-peers"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PEERS], check=True, stdout=sys.stderr)
    return python


def main() -> None:
    options = options_of(__doc__)
    python = options.peers or environment()
    ratios: dict[str, float] = {}
    rates: dict[str, dict[str, float]] = {}
    sizes: dict[str, list[int]] = {}
    for name, graph in graphs(options):
        sizes[name] = [graph.num_nodes, graph.num_edges]
        peers = peer_rates(graph, python, options)
        for p, q in BIASES:
            setting = f"{name}, p = {p:g}, q = {q:g}"
            rates[setting] = {"ngm": our_rate(graph, p, q, options, options.walks)}
            rates[setting]["ngm, numpy"] = numpy_rate(graph, p, q, options)
            rates[setting] |= {peer: found[f"{p:g},{q:g}"] for peer, found in peers.items()}
            for other in ("ngm, numpy", *peers):
                ratios[f"{setting}: ngm / {other}"] = rates[setting]["ngm"] / rates[setting][other]
    seconds = {f"{setting}, {who}, a million steps": 1e6 / r for setting, by in rates.items() for who, r in by.items()}
    rounded = {setting: {who: round(rate) for who, rate in by.items()} for setting, by in rates.items()}
    report("walks", ratios, seconds, options, steps_per_second=rounded, graphs=sizes, peers=PEERS)


if __name__ == "__main__":
    main()
