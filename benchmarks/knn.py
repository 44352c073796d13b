"""A graph of 50,000 x 100 word vectors, k = 5: this library against faiss, usearch, hnswlib and pynndescent.

    python benchmarks/knn.py [--vectors FILE] [--rows 50000] [--quick] [--json] [--keep]

Seconds are the best of several runs, each library in a process of its own with the same threads: for this library from
vectors to a finished graph, and by exact search alone; for the others from normalised vectors to neighbors. Each has a
few settings (see neighbors.py), and the first that finds .99 of the true neighbors counts. `--quick` takes 10,000 rows,
once.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import report
from neighbors import LIBRARIES, lines_of, run_all

RECALL = 0.99
OURS = ("ngm knn_graph", "ngm exact")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--keep", action="store_true", help="write the JSON to benchmarks/results as well")
    parser.add_argument("--vectors", type=Path, help="a .npz with `vectors` (n, d), such as pruned GloVe")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--quick", action="store_true", help="10,000 rows, one run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="the best of so many is taken")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeats = min(options.rows, 10_000), 1
    return options


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.jsonl"
        only = [name for name in LIBRARIES if name != "ngm approximate"]
        run_all(
            argparse.Namespace(
                rows=[options.rows],
                only=only,
                lines=lines,
                vectors=options.vectors,
                recall=RECALL,
                threads=options.threads,
                repeats=options.repeats,
                minutes=15.0,
                limit=240.0,
            )
        )
        every = lines_of(lines)
    reached = {str(line["library"]): line for line in every if float(str(line["recall"])) >= RECALL}
    seconds = {name: float(str(line["seconds"])) for name, line in reached.items()}
    peers = {name: value for name, value in seconds.items() if name not in OURS}
    fastest = min(peers, key=lambda name: peers[name])
    ratios = {
        "knn_graph / fastest peer": seconds["ngm knn_graph"] / peers[fastest],
        "exact / faiss flat": seconds["ngm exact"] / peers["faiss flat"],
    }
    ratios |= {f"{name} / knn_graph": value / seconds["ngm knn_graph"] for name, value in peers.items()}
    report(
        "knn",
        ratios,
        seconds,
        options,
        rows=options.rows,
        recall={name: line["recall"] for name, line in reached.items()},
        peak_mib={name: line["peak_mib"] for name, line in reached.items()},
        fastest_peer=fastest,
        lines=every,
    )


if __name__ == "__main__":
    main()
