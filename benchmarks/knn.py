"""Graphs of nearest neighbours, k = 5: this library against faiss, usearch, hnswlib and pynndescent.

    python benchmarks/knn.py [--vectors FILE] [--rows 50000 500000 2000000] [--recall 0.98] [--limit 6] [--minutes 18]
        [--only LIBRARY ...] [--threads 2] [--repeats 3] [--quick] [--json] [--keep] [--fresh]

Each library searches its own settings, from quick to thorough, for the fastest that finds the share of the true
neighbours that is asked for (of 1,000 sampled rows, by plain products). Seconds are those of building and searching an
index, from normalised vectors to neighbours; for this library from vectors to a finished graph. Every library has a
process of its own, in an environment that is made when needed; pynndescent and this library are compiled before the
clock starts. Up to 100,000 rows all settings are tried, the libraries then take turns with their best, and the best of
several runs counts. Above, a library's first setting that suffices counts, and it runs once. One that does not suffice
within `--limit` minutes is reported so. More rows than the file of vectors has are made by repeating them with noise,
half as strong as the vectors. With `--keep` every library's result is written as soon as it is there and not measured
again (`--fresh`: it is); no library is started after `--minutes`, so that a run which is started again goes on where it
stopped. The exact searches run up to 100,000 rows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import bench
import numpy as np
import torch
from environments import Worker, WorkerError, spread, versions_of
from numpy.typing import NDArray

NAME = "knn"
OURS = ("ngm knn_graph", "ngm exact")
PEERS = ("pynndescent", "faiss IVF", "hnswlib", "faiss HNSW", "usearch", "faiss flat")
K, SAMPLE, SMALL = 5, 1_000, 100_000
EXACT = ("ngm exact", "faiss flat")
Floats = NDArray[np.float32]
Row = dict[str, Any]


def vectors_of(path: Path | None, rows: int, seed: int = 0) -> Floats:
    """(rows, d) word vectors of length 1, or 20 random directions in 100 dimensions where no file is given."""
    rng = np.random.default_rng(seed)
    if path is None:
        whole = (rng.normal(size=(min(rows, 50_000), 20)) @ rng.normal(size=(20, 100))).astype(np.float32)
        whole += rng.normal(size=whole.shape).astype(np.float32)
    else:
        with np.load(path) as file:
            whole = file["vectors"][:50_000].astype(np.float32)
    x = whole[:rows].copy()
    if rows > len(whole):
        scale, x = whole.std() / 2, np.empty((rows, whole.shape[1]), dtype=np.float32)
        for start in range(0, rows, len(whole)):
            part = whole[: rows - start]
            x[start : start + len(part)] = part + scale * rng.standard_normal(part.shape, dtype=np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x


def true_neighbors(x: Floats, sample: NDArray[np.int64]) -> list[set[int]]:
    """The K nearest rows of sampled rows by plain products, without the row itself."""
    found: list[set[int]] = []
    for rows in np.array_split(sample, max(1, -(-len(sample) * len(x) // 50_000_000))):
        similarity = torch.from_numpy(x[rows]) @ torch.from_numpy(x).t()
        similarity[torch.arange(len(rows)), torch.from_numpy(rows)] = -2
        found += [set(row) for row in similarity.topk(K, dim=1).indices.tolist()]
    return found


def recall_of(found: list[list[int]], true: list[set[int]], sample: list[int]) -> float:
    """Share of the true neighbours that are among the first K found; a row itself does not count.

    >>> recall_of([[0, 1, 2], [2, 1, 9]], [{1, 2}, {2, 3}], [0, 1])
    0.75
    """
    lists = [[v for v in row if v != own][:K] for row, own in zip(found, sample, strict=True)]
    hits = [len(set(row) & near) for row, near in zip(lists, true, strict=True)]
    return sum(hits) / sum(len(near) for near in true)


class Contest:
    """The libraries at one number of rows."""

    def __init__(self, folder: Path, rows: int, options: argparse.Namespace) -> None:
        self.file, self.rows, self.options = folder / f"vectors-{rows}.npy", rows, options
        x = vectors_of(options.vectors, rows)
        np.save(self.file, x)
        chosen = np.random.default_rng(1).choice(rows, min(SAMPLE, rows), replace=False)
        self.sample, self.true = chosen.tolist(), true_neighbors(x, chosen)

    def worker(self, library: str) -> Worker:
        """A process for one library."""
        ours, threads = library in OURS, self.options.threads
        environment, script = ("ngm", "ours_neighbors.py") if ours else ("neighbors", "neighbor_libraries.py")
        return Worker(environment, script, self.file, library, threads, threads=threads)

    def run(self, worker: Worker, build: object, search: object, seconds: float) -> Row:
        """Builds an index, searches it, and compares."""
        built = worker.ask("build", seconds, settings=build)["seconds"]
        return self.searched(worker, build, built, search, seconds)

    def searched(self, worker: Worker, build: object, built: float, search: object, seconds: float) -> Row:
        """Searches an index that is there."""
        answer = worker.ask("search", seconds, settings=search, sample=self.sample)
        recall = recall_of(answer["found"], self.true, self.sample)
        line = {"seconds": built + answer["seconds"], "recall": recall, "peak_mib": answer["peak_mib"]}
        return {"build": build, "search": search, **line}

    def choose(self, library: str) -> Row:
        """The fastest setting that suffices; the first that does where there are many rows."""
        ends = time.monotonic() + 60 * self.options.limit
        tried: list[Row] = []
        try:
            with self.worker(library) as worker:
                for build, searches in worker.ask("settings", 600)["settings"]:
                    best = min((t["seconds"] for t in tried if self.suffices(t)), default=float("inf"))
                    built = worker.ask("build", max(ends - time.monotonic(), 1), settings=build)["seconds"]
                    if built >= best:
                        break
                    for search in searches:
                        left = max(ends - time.monotonic(), 1)
                        tried.append(self.searched(worker, build, built, search, left))
                        self.tell(library, tried[-1])
                        if self.suffices(tried[-1]):
                            break
                    if self.rows > SMALL and tried and self.suffices(tried[-1]):
                        break
        except WorkerError as error:
            print(f"  {error}", file=sys.stderr, flush=True)
        enough = [t for t in tried if self.suffices(t)]
        if not enough:
            return {"library": library, "rows": self.rows, "failed": f"not within {self.options.limit:g} minutes"}
        return {"library": library, "rows": self.rows, **min(enough, key=lambda t: float(t["seconds"]))}

    def suffices(self, line: Row) -> bool:
        """Whether enough neighbours were found."""
        return bool(line["recall"] >= self.options.recall)

    def tell(self, library: str, line: Row) -> None:
        """Progress."""
        settings = {f"build {k}": v for k, v in line["build"].items()} | line["search"]
        text = f"  {library}, {self.rows:,} rows, {settings}: {line['seconds']:.2f} s, recall {line['recall']:.4f}"
        print(text, file=sys.stderr, flush=True)

    def repeat(self, lines: list[Row]) -> None:
        """Runs the chosen settings in turns and puts the best of several into each line."""
        workers = {line["library"]: self.worker(line["library"]) for line in lines}
        every: dict[str, list[Row]] = {name: [] for name in workers}
        try:
            for _ in range(self.options.repeats):
                for line in lines:
                    name = line["library"]
                    every[name].append(self.run(workers[name], line["build"], line["search"], 600))
                    self.tell(name, every[name][-1])
        finally:
            for worker in workers.values():
                worker.close()
        for line in lines:
            seconds = [found["seconds"] for found in every[line["library"]]]
            line |= {"seconds": min(seconds), "spread": spread(seconds), "repeats": len(seconds)}


def arguments() -> argparse.Namespace:
    parser = bench.parser(__doc__)
    parser.set_defaults(repeats=3)
    parser.add_argument("--vectors", type=Path, help="a .npz with `vectors` (n, d), such as pruned GloVe")
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 500_000, 2_000_000])
    parser.add_argument("--only", nargs="+", choices=(*OURS, *PEERS), default=[*OURS, *PEERS])
    parser.add_argument("--recall", type=float, default=0.98)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=float, default=6, help="minutes that one library may take at one size")
    parser.add_argument("--minutes", type=float, default=18, help="no library is started after so long")
    parser.add_argument("--quick", action="store_true", help="10,000 rows, one run; not with --keep")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept of these libraries and rows")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeats = [10_000], 1
        if options.keep:
            parser.error("--quick measures 10,000 rows; leave out --keep")
    return options


def summary(lines: list[Row]) -> tuple[dict[str, float], dict[str, float]]:
    """Ratios and seconds of the lines that have a time."""
    seconds = {(line["rows"], line["library"]): line["seconds"] for line in lines if "seconds" in line}
    ratios: dict[str, float] = {}
    for rows in sorted({rows for rows, _ in seconds}):
        ours = seconds.get((rows, "ngm knn_graph"))
        peers = {name: s for (r, name), s in seconds.items() if r == rows and name not in OURS}
        if ours and peers:
            ratios[f"{rows:,} rows, fastest peer / knn_graph"] = min(peers.values()) / ours
            ratios |= {f"{rows:,} rows, {name} / knn_graph": s / ours for name, s in peers.items()}
        if (rows, "ngm exact") in seconds and "faiss flat" in peers:
            ratios[f"{rows:,} rows, exact / faiss flat"] = seconds[rows, "ngm exact"] / peers["faiss flat"]
    return ratios, {f"{rows:,} rows, {name}": s for (rows, name), s in seconds.items()}


def main() -> None:
    options, started = arguments(), time.monotonic()
    lines: list[Row] = (bench.kept(NAME) or {}).get("lines", []) if options.keep else []
    if options.fresh:
        lines = [line for line in lines if line["rows"] not in options.rows or line["library"] not in options.only]
    versions = versions_of("ngm", "neighbors")

    def show(last: bool) -> None:
        ratios, seconds = summary(lines)
        bench.report(NAME, ratios, seconds, options, last, recall=options.recall, lines=lines, versions=versions)

    with tempfile.TemporaryDirectory() as folder:
        for rows in options.rows:
            done = {line["library"] for line in lines if line["rows"] == rows}
            wanted = [n for n in options.only if n not in done and (rows <= SMALL or n not in EXACT)]
            if not wanted or time.monotonic() - started > 60 * options.minutes:
                continue
            contest = Contest(Path(folder), rows, options)
            for library in wanted:
                if time.monotonic() - started > 60 * options.minutes:
                    print(f"{options.minutes:g} minutes are over; start again to go on", file=sys.stderr)
                    break
                lines.append(contest.choose(library))
                show(False)
            fresh = [line for line in lines if line["rows"] == rows and "build" in line and "spread" not in line]
            if rows <= SMALL and fresh:
                contest.repeat([line for line in lines if line["rows"] == rows and "build" in line])
                show(False)
            contest.file.unlink()
    show(True)


if __name__ == "__main__":
    main()
