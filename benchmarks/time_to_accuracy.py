"""Seconds until a given validation accuracy, PubMed: this library, Neural Structured Learning, and PyG's GCN.

    python benchmarks/time_to_accuracy.py [--seeds 3] [--threads 2] [--only ...] [--quick] [--json] [--keep] [--fresh]

The public split: 20 labels a class, 500 validation papers, all papers in the graph. Time runs from data in memory, for
this library with all that `fit` does before the first epoch (teachers, for the default recipe) and with validation; for
the others without their evaluations. Imports do not count. Each library runs in an environment of its own; seeds take
turns, so that slow moments hit all. The first epoch that reaches an accuracy counts; of several seeds the median, and
none where half of them never reach it. With `--keep` each run is written as soon as it is done, and runs that are there
are not run again (`--fresh`: they are).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench
import scipy.sparse as sp
from environments import SCRIPTS, Worker, versions_of
from epoch_peers import pubmed

sys.path.insert(0, str(SCRIPTS))

from peer_data import write

NAME = "time-to-accuracy"
CONTENDERS = {
    "ngm, paper": ("ngm", "ours_curve.py", "paper"),
    "ngm, default": ("ngm", "ours_curve.py", "default"),
    "NSL": ("nsl", "nsl_curve.py", ""),
    "PyG GCN": ("pyg", "pyg_curve.py", ""),
}
ACCURACIES = (0.70, 0.72, 0.74, 0.76, 0.77, 0.78, 0.79, 0.80, 0.81)
Curve = list[list[float]]


def seconds_to(curve: Curve, accuracy: float) -> float | None:
    """When a curve first is at an accuracy or above; None where it never is.

    >>> seconds_to([[1.0, 0.5], [2.0, 0.7], [3.0, 0.6]], 0.6)
    2.0
    """
    return next((seconds for seconds, reached in curve if reached >= accuracy - 1e-9), None)


def median_to(curves: list[Curve], accuracy: float) -> float | None:
    """Median over seeds; None where half of them or more never reach it."""
    found = [seconds_to(curve, accuracy) for curve in curves]
    reached = sorted(seconds for seconds in found if seconds is not None)
    if 2 * len(reached) <= len(curves):
        return None
    return statistics.median_low([*reached, *[float("inf")] * (len(curves) - len(reached))])


def table(runs: dict[str, dict[str, Curve]]) -> dict[str, dict[str, float | None]]:
    """Seconds by contender and accuracy."""
    return {
        name: {f"{a:.2f}": median_to(list(by_seed.values()), a) for a in ACCURACIES}
        for name, by_seed in runs.items()
        if by_seed
    }


def ratios_of(found: dict[str, dict[str, float | None]]) -> dict[str, float]:
    """For each accuracy that a peer reaches, the fastest peer's seconds over ours; 0 where we do not reach it."""
    ratios = {}
    for accuracy in (f"{a:.2f}" for a in ACCURACIES):
        ours = [s for name, row in found.items() if name.startswith("ngm") and (s := row[accuracy]) is not None]
        peers = [s for name, row in found.items() if not name.startswith("ngm") and (s := row[accuracy]) is not None]
        if peers:
            ratios[f"{accuracy}, fastest peer / ours"] = min(peers) / min(ours) if ours else 0.0
    return ratios


def thinned(curve: Curve) -> Curve:
    """The points at which a curve reaches a new height, and its last: all that tables and plots need."""
    kept, best = [], -1.0
    for point in curve:
        if point[1] > best:
            kept.append(point)
            best = point[1]
    return kept if kept[-1] is curve[-1] else [*kept, curve[-1]]


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--fresh", action="store_true", help="run again what is kept")
    parser.add_argument("--quick", action="store_true", help="three epochs, to see that it runs; not with --keep")
    options = parser.parse_args()
    if options.quick and options.keep:
        parser.error("--quick trains for three epochs; leave out --keep")
    kept: dict[str, Any] = (bench.kept(NAME) or {}) if options.keep and not options.fresh else {}
    runs: dict[str, dict[str, Curve]] = {name: dict(kept.get("curves", {}).get(name, {})) for name in CONTENDERS}
    versions = versions_of("ngm", "nsl", "pyg")
    workers: dict[str, Worker] = {}

    def show(last: bool) -> None:
        found = table(runs)
        seconds = {f"{name}, {a}": s for name, row in found.items() for a, s in row.items() if s is not None}
        bench.report(NAME, ratios_of(found), seconds, options, last, curves=runs, versions=versions)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pubmed.npz"
        problem = pubmed(False)
        write(replace(problem, x=sp.csr_matrix(problem.x).toarray()), file)
        try:
            for seed in map(str, range(options.seeds)):
                for name in (n for n in options.only if seed not in runs[n]):
                    if name not in workers:
                        environment, script, argument = CONTENDERS[name]
                        workers[name] = Worker(
                            environment, script, file, options.threads, argument, threads=options.threads
                        )
                        workers[name].ask("run", seed=0, epochs=2)  # compiles, traces and reads from disk
                    answer = workers[name].ask("run", seed=int(seed), epochs=3 if options.quick else None)
                    runs[name][seed] = thinned(answer["curve"])
                    best = max(point[1] for point in answer["curve"])
                    print(f"{name}, seed {seed}: {answer['seconds']:.1f} s, {best:.3f}", file=sys.stderr, flush=True)
                    show(False)
        finally:
            for worker in workers.values():
                worker.close()
    show(True)


if __name__ == "__main__":
    main()
