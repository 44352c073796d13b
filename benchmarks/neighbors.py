"""Which library finds nearest neighbors fastest at equal recall: faiss, usearch, hnswlib, pynndescent, and this one.

    python benchmarks/neighbors.py [--vectors FILE] [--rows 50000 500000] [--recall 0.98] [--minutes 15] [--json]

Every row's five nearest by cosine, k = 5. Each library has a few settings, from quick to thorough; the first that finds
the share of the true neighbors that is asked for, on 1,000 sampled rows, is reported: its time from normalised vectors
to neighbors (index and search; for this library from the raw vectors), and the largest memory of its process. Each
library runs in a process of its own; pynndescent is compiled before it is timed. At a larger size a library begins one
setting before the one that sufficed at a smaller size. Results go to a file of JSON lines as
they come, and a run that is started again goes on where it stopped. More rows than the file of vectors has are made by
repeating them with noise, half as strong as the vectors.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
from bench import report
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
K = 5
SAMPLE = 1_000
Line = dict[str, str | float]
Run = Callable[[Floats, int], Ids]  # (normalised vectors, threads) -> (n, K + 1) neighbors, the row itself among them


def vectors_of(path: Path | None, rows: int, seed: int = 0) -> Floats:
    """(rows, d) word vectors, or 100 random directions mixed at random where no file is given."""
    rng = np.random.default_rng(seed)
    if path is None:
        whole = (rng.normal(size=(min(rows, 50_000), 20)) @ rng.normal(size=(20, 100))).astype(np.float32)
        whole += rng.normal(size=whole.shape).astype(np.float32)
    else:
        with np.load(path) as file:
            whole = file["vectors"][:50_000].astype(np.float32)
    if rows <= len(whole):
        return whole[:rows]
    spread = whole.std() / 2
    parts = [whole[: rows - start] for start in range(0, rows, len(whole))]
    return np.concatenate([p + rng.normal(scale=spread, size=p.shape).astype(np.float32) for p in parts])


def recall_of(x: Floats, found: Ids, seed: int = 1) -> float:
    """Share of the true neighbors of sampled rows, by plain products, that are among the first K found."""
    sample = np.random.default_rng(seed).choice(len(x), min(SAMPLE, len(x)), replace=False)
    hits = 0
    for rows in np.array_split(sample, -(-len(sample) * len(x) // 50_000_000)):
        similarity = torch.from_numpy(x[rows]) @ torch.from_numpy(x).t()
        similarity[torch.arange(len(rows)), torch.from_numpy(rows)] = -2
        for row, true in zip(rows, similarity.topk(K, dim=1).indices.tolist(), strict=True):
            others = [v for v in found[row].tolist() if v != row][:K]
            hits += len(set(others) & set(true))
    return hits / (len(sample) * K)


def faiss_flat() -> Iterator[tuple[str, Run]]:
    import faiss

    def run(x: Floats, threads: int) -> Ids:
        faiss.omp_set_num_threads(threads)
        index = faiss.IndexFlatIP(x.shape[1])
        index.add(x)
        return np.asarray(index.search(x, K + 1)[1])

    yield "IndexFlatIP", run


def faiss_hnsw() -> Iterator[tuple[str, Run]]:
    import faiss

    for m, build, search in ((16, 40, 32), (16, 80, 64), (24, 100, 96), (32, 160, 160)):

        def run(x: Floats, threads: int, m: int = m, build: int = build, search: int = search) -> Ids:
            faiss.omp_set_num_threads(threads)
            index = faiss.IndexHNSWFlat(x.shape[1], m, faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction, index.hnsw.efSearch = build, search
            index.add(x)
            return np.asarray(index.search(x, K + 1)[1])

        yield f"M={m} efConstruction={build} efSearch={search}", run


def faiss_ivf() -> Iterator[tuple[str, Run]]:
    import faiss

    for share in (0.05, 0.1, 0.15, 0.25):

        def run(x: Floats, threads: int, share: float = share) -> Ids:
            faiss.omp_set_num_threads(threads)
            cells = int(len(x) ** 0.5)
            coarse = faiss.IndexFlatIP(x.shape[1])
            index = faiss.IndexIVFFlat(coarse, x.shape[1], cells, faiss.METRIC_INNER_PRODUCT)
            index.train(x[:: max(1, len(x) // (cells * 40))])
            index.add(x)
            index.nprobe = max(1, int(share * cells))
            return np.asarray(index.search(x, K + 1)[1])

        yield f"nlist=sqrt(n) nprobe={share:.0%}", run


def usearch() -> Iterator[tuple[str, Run]]:
    from usearch.index import Index

    for m, build, search in ((16, 64, 32), (16, 128, 64), (24, 128, 96), (32, 160, 160)):

        def run(x: Floats, threads: int, m: int = m, build: int = build, search: int = search) -> Ids:
            index = Index(ndim=x.shape[1], metric="ip", connectivity=m, expansion_add=build, expansion_search=search)
            index.add(np.arange(len(x)), x, threads=threads)
            return np.asarray(index.search(x, K + 1, threads=threads).keys).astype(np.int64)

        yield f"connectivity={m} expansion={build}/{search}", run


def hnswlib() -> Iterator[tuple[str, Run]]:
    import hnswlib as library

    for m, build, search in ((12, 60, 30), (12, 80, 48), (16, 100, 64), (24, 150, 120)):

        def run(x: Floats, threads: int, m: int = m, build: int = build, search: int = search) -> Ids:
            index = library.Index("ip", x.shape[1])
            index.init_index(len(x), ef_construction=build, M=m)
            index.add_items(x, num_threads=threads)
            index.set_ef(search)
            return np.asarray(index.knn_query(x, K + 1, num_threads=threads)[0], dtype=np.int64)

        yield f"M={m} ef={build}/{search}", run


def pynndescent() -> Iterator[tuple[str, Run]]:
    from pynndescent import NNDescent

    def search(x: Floats, threads: int, k: int) -> Ids:
        index = NNDescent(x, metric="cosine", n_neighbors=k, random_state=0, n_jobs=threads)
        return np.asarray(index.neighbor_graph[0], dtype=np.int64)

    search(np.random.default_rng(0).normal(size=(5_000, 100)).astype(np.float32), 1, 20)  # compiles
    for k in (10, 15, 20, 25, 30, 40):
        yield f"n_neighbors={k}", partial(search, k=k)


def ngm_exact() -> Iterator[tuple[str, Run]]:
    from ngm.build import nearest_neighbors

    def run(x: Floats, threads: int) -> Ids:
        return nearest_neighbors(x, K, search="exact").neighbor.numpy()

    yield "search='exact'", run


def ngm_approximate() -> Iterator[tuple[str, Run]]:
    from ngm.build import nearest_neighbors

    for recall in (0.98, 0.985, 0.99, 0.995):

        def run(x: Floats, threads: int, recall: float = recall) -> Ids:
            return nearest_neighbors(x, K, search="approximate", recall=recall).neighbor.numpy()

        yield f"search='approximate' recall={recall}", run


def ngm_graph() -> Iterator[tuple[str, Run]]:
    from ngm.build import nearest_neighbors, neighbor_graph

    def run(x: Floats, threads: int) -> Ids:
        found = nearest_neighbors(x, K)
        neighbor_graph(found)  # what knn_graph does, with the neighbors kept to be checked
        return found.neighbor.numpy()

    yield "knn_graph(x)", run


LIBRARIES: dict[str, Callable[[], Iterator[tuple[str, Run]]]] = {
    "ngm knn_graph": ngm_graph,
    "ngm exact": ngm_exact,
    "ngm approximate": ngm_approximate,
    "pynndescent": pynndescent,
    "faiss IVF": faiss_ivf,
    "hnswlib": hnswlib,
    "faiss HNSW": faiss_hnsw,
    "usearch": usearch,
    "faiss flat": faiss_flat,
}
EXACT_AT_MOST = 100_000  # rows beyond which the two exact searches would take all the time there is


def child(job: Line) -> None:
    """Tries one library's settings in turn until one reaches the recall; prints a line of JSON for each."""
    path = Path(str(job["vectors"])) if job["vectors"] else None
    x = vectors_of(path, int(str(job["rows"])))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    threads = int(str(job["threads"]))
    torch.set_num_threads(threads)
    every = list(LIBRARIES[str(job["library"])]())
    for settings, run in every[int(str(job["skip"])) :]:
        seconds = float("inf")
        for _ in range(int(str(job["repeats"]))):
            started = time.perf_counter()
            found = run(x, threads)
            seconds = min(seconds, time.perf_counter() - started)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        recall = recall_of(x, found)
        line = {"settings": settings, "seconds": seconds, "recall": recall, "peak_mib": peak}
        print(json.dumps({"library": job["library"], "rows": job["rows"], **line}), flush=True)
        if recall >= float(str(job["recall"])):
            return


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--keep", action="store_true", help="write the JSON to benchmarks/results as well")
    parser.add_argument("--vectors", type=Path, help="a .npz with `vectors` (n, d), such as pruned GloVe")
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 500_000])
    parser.add_argument("--recall", type=float, default=0.98)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1, help="the best of so many is taken")
    parser.add_argument("--minutes", type=float, default=15, help="no library is started after so long")
    parser.add_argument("--limit", type=float, default=200, help="seconds that one library may take at one size")
    parser.add_argument("--lines", type=Path, default=Path("neighbors.jsonl"), help="where results go as they come")
    parser.add_argument("--only", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def lines_of(path: Path) -> list[Line]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def run_all(options: argparse.Namespace) -> None:
    """Runs what is not yet in the file of lines."""
    started = time.monotonic()
    for rows in options.rows:
        for library in options.only:
            done = {(line["library"], line["rows"]) for line in lines_of(options.lines)}
            late = time.monotonic() - started > 60 * options.minutes
            if (
                (library, rows) in done
                or late
                or (rows > EXACT_AT_MOST and library in ("ngm exact", "ngm knn_graph", "faiss flat"))
            ):
                continue
            print(f"{library}, {rows:,} rows", file=sys.stderr, flush=True)
            job = {name: getattr(options, name) for name in ("recall", "threads", "repeats")}
            tried = [line for line in lines_of(options.lines) if line["library"] == library]
            skip = max(0, len(tried) - 2) if tried and tried[-1]["recall"] >= options.recall else 0
            job |= {"library": library, "rows": rows, "vectors": str(options.vectors or ""), "skip": skip}
            with options.lines.open("a", encoding="utf-8") as lines:
                try:
                    command = [sys.executable, __file__, "--child", json.dumps(job)]
                    subprocess.run(command, stdout=lines, timeout=options.limit, check=True)
                except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
                    line = {"library": library, "rows": rows, "settings": type(error).__name__, "recall": 0.0}
                    lines.write(json.dumps(line) + "\n")


def main() -> None:
    options = arguments()
    if options.child:
        child(json.loads(options.child))
        return
    run_all(options)
    lines = lines_of(options.lines)
    reached: dict[str, Line] = {}
    for line in lines:
        if float(str(line["recall"])) >= options.recall and "seconds" in line:
            reached[f"{line['library']}, {line['rows']} rows"] = line
    seconds = {name: float(str(line["seconds"])) for name, line in reached.items()}
    ratios = {}
    for rows in options.rows:
        ours = min((s for n, s in seconds.items() if n.startswith("ngm") and n.endswith(f" {rows} rows")), default=0.0)
        for name, value in seconds.items():
            if ours and name.endswith(f" {rows} rows") and not name.startswith("ngm"):
                ratios[name] = value / ours
    report("neighbors", ratios, seconds, options, recall=options.recall, reached=reached, lines=lines)


if __name__ == "__main__":
    main()
