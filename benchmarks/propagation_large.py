"""Label propagation on graphs larger than comfortable: seconds, steps and peak memory beside the graph.

    python benchmarks/propagation_large.py [--nodes 10000000] [--degree 18] [--labels 20] [--tolerance 0.001] [--json]
        [--keep] [--fresh]

A generated graph, written to disk in pieces and opened as a memory map: 10 million nodes with 18 edges each, of which
some 175 million are left; a user of Spark's GraphFrames reported 12 hours on ten workers for 170 million. One node in a
hundred is labelled, four edges in five join nodes of a class. `LabelPropagation` runs in a process of its own; `beside
the graph` is the most memory that belongs to that process alone, without what importing takes: neither the pages of the
mapped graph nor those of libraries. The accuracy is that of the nodes without a label. With `--keep` sizes that are
there are not run again (`--fresh`: they are).
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
from generated_graph import PeakMemory, few_labels, memory, write_graph

NAME = "propagation-large"
TARGET = {"gib_beside_graph": 4.0, "minutes": 60.0}


def propagate(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What the child does."""
    from ngm import LabelPropagation, open_graph

    torch.set_num_threads(options.threads)
    before = memory()["anonymous"]
    with PeakMemory() as peak:
        started = time.perf_counter()
        graph = open_graph(folder).graph
        y = few_labels(graph.num_nodes, options.labels, 0.01)
        model = LabelPropagation(tolerance=options.tolerance).fit(None, y, graph=graph)
        seconds = time.perf_counter() - started
    told = model.transduction_ if hasattr(model, "transduction_") else None
    accuracy = None
    if told is not None:
        hidden = np.flatnonzero(y < 0)
        accuracy = float((np.asarray(told)[hidden] == hidden % options.labels).mean())
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "labels": options.labels,
        "tolerance": options.tolerance,
        "seconds": seconds,
        "steps": model.n_iter_,
        "gib_beside_graph": (peak.anonymous - before) / 2**30,
        "resident_gib": peak.peak / 2**30,
        "graph_gib": graph.num_edges * 20 / 2**30,
        "accuracy": accuracy,
    }


def measure(nodes: int, options: argparse.Namespace) -> dict[str, Any]:
    """One size, in a process of its own."""
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        started = time.perf_counter()
        edges = write_graph(Path(name) / "graph", nodes, options.degree, options.labels)
        print(f"{edges:,} edges written in {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, *sys.argv[1:], "--job", str(Path(name) / "graph")]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"{nodes:,} nodes: {found}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--degree", type=int, default=18)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="for the graph, 20 bytes an edge; else a temporary one")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(propagate(Path(options.job), options)))
        return
    rows: dict[str, Any] = ((bench.kept(NAME) or {}).get("rows", {})) if options.keep else {}

    def show(last: bool) -> None:
        ratios = {f"{n} nodes, GiB beside the graph": row["gib_beside_graph"] for n, row in rows.items()}
        seconds = {f"{n} nodes": row["seconds"] for n, row in rows.items()}
        bench.report(NAME, ratios, seconds, options, last, rows=rows, target=TARGET)

    bench.measure_missing(
        rows, [str(n) for n in options.nodes], options.fresh, lambda n: measure(int(n), options), show
    )


if __name__ == "__main__":
    main()
