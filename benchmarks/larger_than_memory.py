"""Training, propagation, check and prediction on a graph and rows that stay on disk, in little memory.

    python benchmarks/larger_than_memory.py [--nodes 10000000] [--edges 100000000] [--width 64] [--limit-gib 4]
        [--steps train propagate check predict compare] [--compare-nodes 1000000] [--max-steps 2000] [--folder FOLDER]
        [--json] [--keep] [--fresh]

A generated graph and its rows are written to a folder piece by piece, and opened as memory maps. Each step runs in a
process of its own that is held to `--limit-gib`: by a control group where one can be made, in which pages of files
count as well (they are given back before), else by `RLIMIT_DATA`. `train` cuts the edges into batches and runs an FFNN
250-100 by a loop over `EdgeLoader` (an epoch of more than `--max-steps` batches is cut there); `train again` does so
with the cut that is in the graph folder by then; `propagate` is `LabelPropagation`, `check` is `diagnose`, `predict`
gives the classes of all rows. `compare` trains at `--compare-nodes` with as many edges a node, with graph and rows as
memory maps under the limit and with both in memory without one: the ratio of edges a second is the throughput. `peak`
is that of the group, pages of files included; `anonymous` is what belonged to the process alone. A step that needs more
than the limit is kept as failed. With `--keep` steps that are there are not run again (`--fresh`: they are);
`--folder` keeps the files.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import bench
import numpy as np
import torch
from generated_graph import PeakMemory, few_labels, write_graph, write_rows
from memory_limit import forget_pages, run_limited

NAME, CLASSES, LABELED = "larger-than-memory", 10, 0.001
STEPS = ("train", "train again", "propagate", "check", "predict", "compare")
INSIDE = 0.97  # of the edges that are drawn, about so many are left


def train(folder: Path, options: argparse.Namespace, mapped: bool = True) -> dict[str, Any]:
    """An epoch, or as many batches of it as are asked for."""
    from ngm import EdgeLoader, Graph, NGMLoss, open_graph
    from ngm.networks import FFNNModule

    torch.manual_seed(0)
    network = FFNNModule(options.width, CLASSES, hidden=(250, 100))
    optimizer = torch.optim.Adam(network.parameters(), fused=True)
    loss = NGMLoss(alpha_ll=0.2, alpha_lu=0.2, alpha_uu=0.2)
    graph, x = open_graph(folder / "graph").graph, np.load(folder / "x.npy", mmap_mode="r" if mapped else None)
    if not mapped:
        graph = Graph(graph.num_nodes, graph.edges.clone(), graph.weight.clone())
    started = time.perf_counter()
    loader = EdgeLoader(x, few_labels(graph.num_nodes, CLASSES, LABELED), graph, batch_size=options.batch)
    first, edges, steps = 0.0, 0, 0
    for batch in islice(loader, options.max_steps):
        if not steps:
            first = time.perf_counter()
        optimizer.zero_grad()
        loss(network, batch).total.backward()
        optimizer.step()
        steps, edges = steps + 1, edges + len(batch.ends)
    seconds = time.perf_counter() - first
    return {
        "edges": graph.num_edges,
        "seconds_before_first_batch": first - started,
        "edges_a_second": edges / seconds,
        "seconds_an_epoch": graph.num_edges * seconds / edges,
        "batches": len(loader),
        "steps": steps,
    }


def propagate(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from ngm import LabelPropagation, open_graph

    graph = open_graph(folder / "graph").graph
    model = LabelPropagation(tolerance=1e-3).fit(None, few_labels(len(graph), CLASSES, LABELED), graph=graph)
    right = np.asarray(model.transduction_) == np.arange(len(graph)) % CLASSES
    return {"edges": graph.num_edges, "steps": model.n_iter_, "accuracy": float(right.mean())}


def check(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from ngm import diagnose, open_graph

    graph = open_graph(folder / "graph").graph
    found = diagnose(graph, few_labels(len(graph), CLASSES, LABELED))
    return {"edges": graph.num_edges, "verdict": found.verdict, "kinds": [found.ll, found.lu, found.uu]}


def predict(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from ngm import NGMClassifier

    x = np.load(folder / "x.npy", mmap_mode="r")
    few = np.arange(min(2_000, len(x)))
    model = NGMClassifier(epochs=3, recipe="paper").fit(np.asarray(x[few]), few % CLASSES)
    right = model.predict(x) == np.arange(len(x)) % CLASSES
    return {"rows": len(x), "accuracy": float(right.mean())}


JOBS: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    "train": train,
    "train again": train,
    "propagate": propagate,
    "check": check,
    "predict": predict,
    "compare in memory": lambda folder, options: train(folder, options, mapped=False),
    "compare memory-mapped": train,
}


def child(job: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What a child does: its job, with the memory looked at."""
    started = time.perf_counter()
    with PeakMemory() as peak:
        found = JOBS[job](folder, options)
    return found | {"anonymous_gib": peak.anonymous / 2**30, "seconds": time.perf_counter() - started}


def run(job: str, folder: Path, limit: float | None) -> dict[str, Any]:
    """One job in a process of its own; what it found, or that it failed."""
    command = [sys.executable, __file__, *sys.argv[1:], "--job", json.dumps([job, str(folder)])]
    forget_pages(folder)
    try:
        output, used = run_limited(command, None if limit is None else int(limit * 2**30))
    except SystemExit as failed:
        print(f"{job}: {failed}", file=sys.stderr, flush=True)
        return {"failed": str(failed).rpartition(" ended with ")[2]}
    found: dict[str, Any] = json.loads(output.splitlines()[-1]) | used
    print(f"{job}: {found}", file=sys.stderr, flush=True)
    return found


def write_files(folder: Path, nodes: int, options: argparse.Namespace) -> Path:
    """The graph and its rows, written if they are not there."""
    degree = -int(-options.edges // (INSIDE * options.nodes))
    place = folder / f"{nodes}-{degree}-{options.width}"
    if not (place / "x.npy").exists():
        write_graph(place / "graph", nodes, degree, CLASSES)
        write_rows(place / "part.npy", nodes, options.width, CLASSES)
        (place / "part.npy").rename(place / "x.npy")
    return place


def measure(step: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    if step != "compare":
        return run(step, write_files(folder, options.nodes, options), options.limit_gib)
    place = write_files(folder, min(options.compare_nodes, options.nodes), options)
    mapped = run("compare memory-mapped", place, options.limit_gib)
    return {"memory-mapped": mapped, "in memory": run("compare in memory", place, None)}


def ratios(rows: dict[str, Any]) -> dict[str, float]:
    """Peaks over the limit, and throughput over that in memory."""
    found = {}
    for key, row in rows.items():
        size, _, step = key.partition(", ")
        if step == "compare" and "failed" not in row["memory-mapped"] | row["in memory"]:
            found[f"{size}, memory-mapped / in memory, throughput"] = (
                row["memory-mapped"]["edges_a_second"] / row["in memory"]["edges_a_second"]
            )
        elif row.get("peak_gib"):
            found[f"{key}, anonymous memory / limit"] = row["anonymous_gib"] / row["limit_gib"]
    return found


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=2_048)
    parser.add_argument("--limit-gib", type=float, default=4.0)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=STEPS)
    parser.add_argument("--compare-nodes", type=int, default=1_000_000)
    parser.add_argument("--max-steps", type=int, default=2_000)
    parser.add_argument(
        "--folder", type=Path, help="for the files, 20 bytes an edge and the rows; else a temporary one"
    )
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job, place = json.loads(options.job)
        print(json.dumps(child(job, Path(place), options)))
        return
    rows: dict[str, Any] = ((bench.kept(NAME) or {}).get("rows", {})) if options.keep else {}
    size = f"{options.nodes:,} nodes, {options.limit_gib:g} GiB"

    def show(last: bool) -> None:
        seconds = {key: row["seconds"] for key, row in rows.items() if "seconds" in row}
        bench.report(NAME, ratios(rows), seconds, options, last, rows=rows)

    with tempfile.TemporaryDirectory() as temporary:
        folder, keys = (
            options.folder or Path(temporary),
            {f"{size.replace(', ', ' in ')}, {s}": s for s in options.steps},
        )
        bench.measure_missing(rows, list(keys), options.fresh, lambda key: measure(keys[key], folder, options), show)


if __name__ == "__main__":
    main()
