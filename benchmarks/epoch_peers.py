"""Edges per second of a training epoch: this library, Neural Structured Learning and PyTorch Geometric's link loader.

    python benchmarks/epoch_peers.py [--rows PubMed BlogCatalog] [--repeats 5] [--threads 2] [--quick] [--json] [--keep]

The same network, the same number of edges in a batch, Adam, every edge of the graph once an epoch, distances across
edges of all kinds: PubMed with 250-100 units and batches of 512 edges, BlogCatalog with adjacency rows as inputs, 50
units and batches of 8,192. Each library runs in a process of its own, in an environment that is made when needed;
epochs take turns, the best of several counts. Each peer first tries a few settings and keeps the fastest (see
peers/nsl_epoch.py and peers/pyg_epoch.py for what they are). NSL is there twice: by its own tools, and packed in its
favour as its users cannot. Of an epoch of NSL that takes long only a part is run. NSL compares logits by squared l2,
which is what it has; the others compare the last hidden layer by l2. With `--keep` a row is written as soon as it is
done, and rows that are there are not run again (`--fresh`: they are).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import bench
import numpy as np
import scipy.sparse as sp
from environments import SCRIPTS, Worker, WorkerError, spread, take_turns, versions_of

sys.path.insert(0, str(SCRIPTS))

from peer_data import Problem, write

NAME = "epoch-peers"
CONTENDERS = {
    "ngm": ("ngm", "ours_epoch.py", ("EdgeLoader",)),
    "NSL": ("nsl", "nsl_epoch.py", tuple(f"examples, K = {k}" for k in (3, 5, 10))),
    "NSL, packed in its favour": (
        "nsl",
        "nsl_epoch.py",
        tuple(f"{form}, K = {k}" for form in ("edges", "records", "sparse edges") for k in (3, 10)),
    ),
    "PyG": (
        "pyg",
        "pyg_epoch.py",
        tuple(f"{loader}, {form}" for loader in ("LinkLoader", "LinkNeighborLoader") for form in ("dense", "sparse")),
    ),
}
TARGETS = {"PubMed": {"NSL": 10.0, "PyG": 3.0}, "BlogCatalog": {"NSL": 50.0, "PyG": 3.0}}


def pubmed(quick: bool) -> Problem:
    """The public split; a tenth of the entries are other than 0, so that each library chooses how to store them."""
    from ngm.datasets import load

    data = load("pubmed")
    assert data.graph is not None
    y = np.full(len(data.y), -1, dtype=np.int64)
    y[data.train] = data.y[data.train]
    edges = data.graph.edges.numpy()
    return Problem(
        x=sp.csr_matrix(data.x, dtype=np.float32),
        y=y,
        labeled=y >= 0,
        edges=edges[::20] if quick else edges,
        hidden=(250, 100),
        batch=512,
        truth=data.y,
        validation=np.asarray(data.validation),
    )


def blogcatalog(quick: bool) -> Problem:
    """A fifth of the bloggers labelled; a row has a blogger's friends."""
    from ngm.datasets import load
    from ngm.inputs import adjacency_rows

    data = load("blogcatalog")
    assert data.graph is not None
    order = np.random.default_rng(0).permutation(len(data.y))
    chosen = order[: len(order) // 5]
    y = np.full(data.y.shape, -1, dtype=np.float32)
    y[chosen] = data.y[chosen]
    edges = data.graph.edges.numpy()
    return Problem(
        x=sp.csr_matrix(adjacency_rows(data.graph)),
        y=y,
        labeled=y[:, 0] >= 0,
        edges=edges[::50] if quick else edges,
        hidden=(50,),
        batch=8_192,
        truth=data.y,
        validation=order[len(chosen) : 2 * len(chosen)],
    )


ROWS = {"PubMed": pubmed, "BlogCatalog": blogcatalog}


def choose(worker: Worker, name: str, settings: tuple[str, ...]) -> tuple[str, dict[str, object]]:
    """The fastest setting, which the worker has ready afterwards, and edges/s of all or why there are none."""
    if len(settings) == 1:
        worker.ask("prepare", settings=settings[0])
        return settings[0], {}
    tried: dict[str, object] = {}
    for each in settings:
        try:
            answer = worker.ask("prepare", settings=each)
            tried[each] = round(answer["edges"] / answer["seconds"])
        except WorkerError as error:
            tried[each] = str(error).rpartition(": ")[2]
        print(f"  {name}, {each}: {tried[each]}", file=sys.stderr, flush=True)
    rates = {each: value for each, value in tried.items() if isinstance(value, int)}
    if not rates:
        raise WorkerError(f"{name}: none of its settings ran: {tried}")
    best = max(rates, key=lambda each: rates[each])
    worker.ask("prepare", settings=best)
    return best, tried


def measure(row: str, repeats: int, threads: int, quick: bool) -> dict[str, Any]:
    """One row: all contenders on one data set, in turns."""
    print(row, file=sys.stderr, flush=True)
    workers: dict[str, Worker] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        problem = ROWS[row](quick)
        write(problem, file)
        try:
            chosen = {}
            for name, (environment, script, settings) in CONTENDERS.items():
                workers[name] = Worker(environment, script, file, threads, threads=threads)
                possible = tuple(each for each in settings if problem.sparse or "sparse" not in each)
                chosen[name] = choose(workers[name], name, possible)
            answers = take_turns(workers, "epoch", repeats)
        finally:
            for worker in workers.values():
                worker.close()
    return {
        "edges": len(problem.edges),
        "batch": problem.batch,
        "repeats": repeats,
        "contenders": {name: _summary(found, *chosen[name]) for name, found in answers.items()},
    }


def _summary(answers: list[dict[str, Any]], settings: str, tried: dict[str, object]) -> dict[str, object]:
    seconds = [answer["seconds"] for answer in answers]
    best = answers[int(np.argmin(seconds))]
    return {
        "seconds": best["seconds"],
        "spread": spread(seconds),
        "edges_per_second": round(best["edges"] / best["seconds"]),
        "network_runs": best["runs"],
        "steps": best["steps"],
        "steps_timed": best.get("steps_timed", best["steps"]),
        "settings": settings,
        "tried": tried,
    }


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--quick", action="store_true", help="few edges, to see that it runs; not with --keep")
    options = parser.parse_args()
    if options.quick and options.keep:
        parser.error("--quick measures a small part of the edges; leave out --keep")
    rows = (bench.kept(NAME) or {}).get("rows", {}) if options.keep else {}
    versions = versions_of("ngm", "nsl", "pyg")

    def show(last: bool) -> None:
        ratios, seconds = {}, {}
        for row, found in rows.items():
            ours = found["contenders"]["ngm"]
            for name, other in found["contenders"].items():
                seconds[f"{row}, {name}"] = other["seconds"]
                if name != "ngm":
                    ratios[f"{row}, ngm / {name}"] = ours["edges_per_second"] / other["edges_per_second"]
        bench.report(NAME, ratios, seconds, options, last, rows=rows, targets=TARGETS, versions=versions)

    bench.measure_missing(
        rows,
        options.rows,
        options.fresh,
        lambda row: measure(row, options.repeats, options.threads, options.quick),
        show,
    )


if __name__ == "__main__":
    main()
