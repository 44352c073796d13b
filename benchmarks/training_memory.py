"""Memory while training: bytes an edge, in memory and memory-mapped, and seconds an epoch.

    python benchmarks/training_memory.py [--nodes 200000] [--degree 9] [--width 64] [--batch 2048] [--max-steps 2000]
        [--json] [--keep] [--fresh]

A generated graph of about 9 edges a node and 64 numbers a row. Each size runs in two processes of its own, which open
the graph folder and train an FFNN 250-100 by a loop over `EdgeLoader`: with rows that are read into memory, and with
rows as a memory map. Bytes an edge are the most memory that belongs to the process alone (pages of mapped files can be
given back at any time and do not count), without what importing takes, compiled loops included, and without the rows
where these are in memory, divided by the number of edges. The largest resident size is kept as well. An epoch of more
than `--max-steps` batches is cut there: all that is set up for a whole epoch is there by then. 2 million nodes
(`--nodes 2000000`) are 18 million edges. With `--keep` sizes that are there are not run again (`--fresh`: they are).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import bench
import numpy as np
import torch
from generated_graph import PeakMemory, compile_cuts, few_labels, memory, write_graph, write_rows

NAME, CLASSES = "training-memory", 10
TARGET = 32.0  # bytes an edge


def train(folder: Path, mapped: bool, options: argparse.Namespace) -> dict[str, Any]:
    """What the child does: one epoch, with the memory looked at from before the data is opened."""
    from ngm import EdgeLoader, NGMLoss, open_graph
    from ngm.networks import FFNNModule

    torch.manual_seed(0)
    network = FFNNModule(options.width, CLASSES, hidden=(250, 100))
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    loss = NGMLoss(alpha_ll=0.2, alpha_lu=0.2, alpha_uu=0.2)
    compile_cuts()
    before = memory()["anonymous"]
    with PeakMemory() as peak:
        graph = open_graph(folder / "graph").graph
        x = np.load(folder / "x.npy", mmap_mode="r" if mapped else None)
        y = few_labels(graph.num_nodes, CLASSES, 0.001)
        started = time.perf_counter()
        loader = EdgeLoader(x, y, graph, batch_size=options.batch)
        steps = 0
        first = 0.0
        for batch in islice(loader, options.max_steps):
            if not steps:
                first = time.perf_counter() - started
            optimizer.zero_grad()
            loss(network, batch).total.backward()
            optimizer.step()
            steps += 1
        seconds = time.perf_counter() - started
    rows = 0 if mapped else x.nbytes
    return {
        "edges": graph.num_edges,
        "nodes": graph.num_nodes,
        "bytes_an_edge": (peak.anonymous - before - rows) / graph.num_edges,
        "anonymous_gib": peak.anonymous / 2**30,
        "resident_gib": peak.peak / 2**30,
        "rows_gib": x.nbytes / 2**30,
        "seconds_before_first_batch": first,
        "seconds_an_epoch": first + (seconds - first) * len(loader) / max(steps, 1),
        "steps": steps,
        "batches": len(loader),
    }


def measure(nodes: int, options: argparse.Namespace) -> dict[str, Any]:
    """One size, in two processes."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_graph(folder / "graph", nodes, options.degree, CLASSES)
        write_rows(folder / "x.npy", nodes, options.width, CLASSES)
        for kind in ("in memory", "memory-mapped"):
            shutil.rmtree(folder / "graph" / "batches", ignore_errors=True)  # so that each cuts the edges itself
            job = json.dumps([str(folder), kind == "memory-mapped"])
            done = subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--job", job], stdout=subprocess.PIPE, text=True, check=True
            )
            found[kind] = json.loads(done.stdout.splitlines()[-1])
            print(f"{nodes:,} nodes, {kind}: {found[kind]}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[200_000])
    parser.add_argument("--degree", type=int, default=9)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=2_048)
    parser.add_argument("--max-steps", type=int, default=2_000)
    parser.add_argument("--folder", type=Path, help="for the files, some 450 bytes a node; else a temporary one")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        folder, mapped = json.loads(options.job)
        print(json.dumps(train(Path(folder), mapped, options)))
        return
    rows: dict[str, Any] = ((bench.kept(NAME) or {}).get("rows", {})) if options.keep else {}

    def show(last: bool) -> None:
        ratios = {f"{n} nodes, {k}, bytes an edge": r["bytes_an_edge"] for n, by in rows.items() for k, r in by.items()}
        seconds = {f"{n} nodes, {k}, an epoch": r["seconds_an_epoch"] for n, by in rows.items() for k, r in by.items()}
        bench.report(NAME, ratios, seconds, options, last, rows=rows, target=TARGET)

    bench.measure_missing(
        rows, [str(n) for n in options.nodes], options.fresh, lambda n: measure(int(n), options), show
    )


if __name__ == "__main__":
    main()
