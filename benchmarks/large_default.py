"""The default recipe on large graphs: wall seconds and peak memory of `fit`, and the exponent of time over edges.

    python benchmarks/large_default.py [--json] [--keep] [--nodes 500000 2000000] [--fresh] [--profile]

A generated graph: nine edges a node, four fifths of them within a class, 64 features that are class means under noise,
ten classes, 2,000 labels. The data is made in a process of its own and opened from files, and every size is measured
in a process of its own, so that its peak (`ru_maxrss`) is that of opening the data and of `fit`. With `--keep` each
size is written to benchmarks/results as soon as it is done, and sizes that are there are not run again (`--fresh`: they
are). `cpu_seconds` tell what it takes where other programs keep the machine busy. `--profile` looks ten times a second
at which function is running and how much memory there is.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import bench
import numpy as np
import psutil

from ngm import Graph, NGMClassifier, open_graph, save_graph

NAME = "large-default"
EDGES, WITHIN = 9, 0.8  # edges a node, and the part of them within a class
FEATURES, CLASSES, LABELS, NEW = 64, 10, 2_000, 10_000
SIGNAL = 0.25  # deviation of class means, where that of the noise is 1
TARGET = {"nodes": 2_000_000, "seconds": 600, "gib": 6}
_EVERY = 0.1  # seconds between two looks
_ROWS = 100_000  # made at once


def make(folder: Path, num_nodes: int) -> None:
    """Writes graph, rows and labels of `num_nodes` nodes, and rows and labels of nodes that are not in the graph."""
    rng = np.random.default_rng(num_nodes)
    label = rng.integers(CLASSES, size=num_nodes + NEW).astype(np.int16)
    means = (SIGNAL * rng.standard_normal((CLASSES, FEATURES))).astype(np.float32)
    x = np.lib.format.open_memmap(folder / "x.npy", "w+", np.float32, (num_nodes + NEW, FEATURES))
    for start in range(0, len(x), _ROWS):
        part = means[label[start : start + _ROWS]]
        x[start : start + _ROWS] = part + rng.standard_normal(part.shape, dtype=np.float32)
    x.flush()
    np.save(folder / "label.npy", label)
    inside = label[:num_nodes]
    order = np.argsort(inside, kind="stable")  # nodes of a class stand together
    begin, size = np.searchsorted(inside[order], np.arange(CLASSES)), np.bincount(inside, minlength=CLASSES)
    source = rng.integers(num_nodes, size=EDGES * num_nodes)
    target = rng.integers(num_nodes, size=len(source))
    alike = rng.random(len(source)) < WITHIN
    of = inside[source[alike]]
    target[alike] = order[begin[of] + (rng.random(len(of)) * size[of]).astype(np.int64)]
    different = source != target
    edges = np.stack([source[different], target[different]], axis=1)
    save_graph(folder / "graph", Graph.from_edges(edges, num_nodes=num_nodes))


def fit(folder: Path, num_nodes: int, profile: bool) -> dict[str, object]:
    """Seconds and peak memory of the default on what `make` wrote."""
    graph, x, label = open_graph(folder / "graph").graph, np.load(folder / "x.npy"), np.load(folder / "label.npy")
    labeled = np.random.default_rng(0).permutation(num_nodes)[:LABELS]
    y = np.full(num_nodes, -1)
    y[labeled] = label[labeled]
    before = psutil.Process().memory_info().rss
    model = NGMClassifier(recipe="auto")
    looks = Looks(threading.get_ident())
    if profile:
        looks.start()
    started, worked = time.perf_counter(), time.process_time()
    model.fit(x[:num_nodes], y, graph=graph)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    accuracy = float((model.predict(x[num_nodes:]) == label[num_nodes:]).mean())
    assert model.teachers_ is not None
    return {
        "nodes": num_nodes,
        "edges": graph.num_edges,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "gib_before": round(before / 2**30, 2),
        "gib_peak": round(peak / 2**30, 2),
        "accuracy_new_nodes": round(accuracy, 4),
        "teachers_held_out": round(model.teachers_.score, 4),
        "epochs": model.n_iter_,
        **({"profile": looks.stop()} if profile else {}),
    }


class Looks(threading.Thread):
    """Looks now and then at which function of ngm a thread is in, and at the memory of the process."""

    def __init__(self, thread: int) -> None:
        super().__init__(daemon=True)
        self.thread, self.over = thread, threading.Event()
        self.seconds: dict[str, float] = defaultdict(float)
        self.memory: dict[str, float] = defaultdict(float)

    def run(self) -> None:
        """Looks until `stop` is called."""
        process, last = psutil.Process(), time.perf_counter()
        while not self.over.wait(_EVERY):
            where, now = self._where(), time.perf_counter()
            self.seconds[where] += now - last
            self.memory[where] = max(self.memory[where], process.memory_info().rss / 2**30)
            last = now

    def _where(self) -> str:
        """The innermost functions of ngm, outermost first."""
        frame, names = sys._current_frames().get(self.thread), []
        while frame is not None:
            file = frame.f_code.co_filename
            if "/ngm/" in file and not frame.f_code.co_name.startswith("<"):
                names.append(f"{Path(file).stem}.{frame.f_code.co_name}:{frame.f_lineno}")
            frame = frame.f_back
        return " > ".join(reversed(names[:3]))

    def stop(self) -> list[dict[str, object]]:
        """Where the time went and how much memory there was, longest first."""
        self.over.set()
        self.join()
        ranked = sorted(self.seconds.items(), key=lambda item: -item[1])
        return [{"at": k, "seconds": round(v, 1), "gib": round(self.memory[k], 2)} for k, v in ranked[:40]]


def measure(num_nodes: int, profile: bool) -> dict[str, Any]:
    """One size, in processes of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for step in ("make", "fit"):
            command = [sys.executable, __file__, "--step", step, "--folder", folder, "--nodes", str(num_nodes)]
            done = subprocess.run(command + (["--profile"] if profile else []), stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def exponents(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Of time over edges: 1 if it grows as they do; none with fewer than two sizes."""
    if len(rows) < 2:
        return {}
    edges = [math.log(row["edges"]) for row in rows]
    found = {key: np.polyfit(edges, [math.log(row[key]) for row in rows], 1)[0] for key in ("seconds", "cpu_seconds")}
    return {f"exponent_of_{key}": round(float(slope), 3) for key, slope in found.items()}


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--nodes", nargs="+", type=int, default=[500_000, 2_000_000], help="sizes to measure")
    parser.add_argument("--fresh", action="store_true", help="run sizes that are kept again, too")
    parser.add_argument("--profile", action="store_true", help="tell where time and memory go")
    parser.add_argument("--step", choices=("make", "fit"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step == "make":
        make(options.folder, options.nodes[0])
    elif options.step == "fit":
        print(json.dumps(fit(options.folder, options.nodes[0], options.profile)))
    else:
        _measure_all(options)


def _measure_all(options: argparse.Namespace) -> None:
    kept = bench.kept(NAME) if options.keep else None
    rows = {int(row["nodes"]): row for row in (kept or {}).get("sizes", [])}
    bench.measure_missing(
        rows,
        options.nodes,
        options.fresh,
        lambda num_nodes: measure(num_nodes, options.profile),
        lambda last: _report(rows, options, last),
    )


def _report(rows: dict[int, dict[str, Any]], options: argparse.Namespace, last: bool) -> None:
    sizes = [rows[size] for size in sorted(rows)]
    seconds = {f"{row['nodes']}_nodes": row["seconds"] for row in sizes}
    bench.report(NAME, exponents(sizes), seconds, options, last, sizes=sizes, target=TARGET)


if __name__ == "__main__":
    main()
