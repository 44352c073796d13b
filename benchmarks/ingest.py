"""A table of edges with text for ids into sorted arrays: `ngm.read_graph` against pandas, time and peak memory.

    python benchmarks/ingest.py [--edges 50_000_000] [--memory-limit 4GB] [--json] [--keep]

Both read the same CSV file (ids such as `user-000123456`, a tenth as many nodes as edges, drawn at random), number the
sorted ids, drop self loops, merge each undirected edge to its largest weight, and write edges, weights and ids to disk;
the arrays must be the same in the end. The pandas version is the fastest that we could write: one `factorize` for both
columns, one 64-bit key for each pair. Each runs in a process of its own. Time is that of the job, without imports; peak
memory is that of the process, with everything. pandas may take nine tenths of the machine's memory; where that is too
little, it says so in place of a time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

GIB = 2**30
SHARE_FOR_PANDAS = 0.9


@dataclass(frozen=True)
class Outcome:
    """How a job ended: seconds, or None where memory did not suffice, and peak memory in GiB."""

    seconds: float | None
    peak: float


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--keep", action="store_true", help="write the JSON to benchmarks/results as well")
    parser.add_argument("--edges", type=int, default=50_000_000, help="rows of the table")
    parser.add_argument("--memory-limit", default="4GB", help="what DuckDB may use in ours")
    parser.add_argument("--folder", type=Path, help="for the files, some 60 bytes a row; a temporary one if not given")
    parser.add_argument("--job", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    return parser.parse_args()


def make_table(file: Path, edges: int) -> None:
    """Writes the table; an edge in a hundred is one that was there already."""
    import duckdb

    nodes, fresh = max(edges // 10, 2), max(edges * 99 // 100, 1)
    drawn = f"SELECT i % {fresh} AS i FROM range({edges}) t(i)"
    user = "'user-' || lpad((hash(i + {offset}) % {nodes})::VARCHAR, 9, '0')".format
    duckdb.execute(
        f"COPY (SELECT {user(offset=0, nodes=nodes)} AS src, {user(offset=edges, nodes=nodes)} AS dst, "
        f"(hash(i + {2 * edges}) % 1000) / 1000 AS w FROM ({drawn})) TO '{file}' (HEADER true)"
    )


def ours(file: Path, folder: Path, memory_limit: str) -> float:
    from ngm.io.graph_data import read_graph

    started = time.perf_counter()
    read_graph(file, source="src", target="dst", weight="w", folder=folder, memory_limit=memory_limit)
    return time.perf_counter() - started


def with_pandas(file: Path, folder: Path) -> float:
    import pandas as pd

    folder.mkdir()
    started = time.perf_counter()
    table = pd.read_csv(file, dtype={"src": str, "dst": str, "w": np.float32})
    rows, weight = len(table), table["w"].to_numpy()
    code, ids = pd.factorize(pd.concat([table.pop("src"), table.pop("dst")], ignore_index=True), sort=True)
    u, v = np.minimum(code[:rows], code[rows:]), np.maximum(code[:rows], code[rows:])
    proper = u != v
    merged = pd.Series(weight[proper]).groupby(u[proper] * len(ids) + v[proper]).max()
    key = merged.index.to_numpy()
    np.save(folder / "edges.npy", np.stack([key // len(ids), key % len(ids)], axis=1))
    np.save(folder / "weight.npy", merged.to_numpy())
    pd.Series(ids).to_csv(folder / "ids.csv", index=False)
    return time.perf_counter() - started


def in_child(name: str, file: Path, given: argparse.Namespace) -> Outcome:
    """Runs one job in a process of its own."""
    command = [sys.executable, __file__, "--job", name, str(file), "--memory-limit", given.memory_limit]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode and name == "ours":
        raise RuntimeError(f"the job {name} ended with exit code {child.returncode}")
    return Outcome(float(said) if not child.returncode else None, used.ru_maxrss * 1024 / GIB)


def run_job(name: str, file: Path, memory_limit: str) -> None:
    """What the child does: the job, then its seconds on standard output."""
    if name == "ours":
        seconds = ours(file, file.parent / name, memory_limit)
    else:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        resource.setrlimit(resource.RLIMIT_AS, (int(total * SHARE_FOR_PANDAS), resource.RLIM_INFINITY))
        try:
            seconds = with_pandas(file, file.parent / name)
        except MemoryError:
            raise SystemExit(3) from None
    print(seconds)


def same(folder: Path) -> bool:
    """Whether both made the same arrays."""
    arrays = [
        [np.load(folder / name / file, mmap_mode="r") for file in ("edges.npy", "weight.npy")]
        for name in ("ours", "pandas")
    ]
    return all(np.array_equal(a, b) for a, b in zip(*arrays, strict=True))


def compare(folder: Path, given: argparse.Namespace) -> None:
    """Makes the table, runs both jobs and prints what they took."""
    from bench import report

    file = folder / f"edges-{given.edges}.csv"
    if not file.exists():
        make_table(file, given.edges)
    found = {name: in_child(name, file, given) for name in ("ours", "pandas")}
    mine, peer = found["ours"], found["pandas"]
    ratios = {"memory, pandas / ours": peer.peak / mine.peak}
    if peer.seconds is not None and mine.seconds is not None:
        ratios["time, pandas / ours"] = peer.seconds / mine.seconds
        if not same(folder):
            raise RuntimeError("both jobs should make the same arrays and do not")
    report(
        "ingest",
        ratios,
        {name: outcome.seconds for name, outcome in found.items() if outcome.seconds is not None},
        given,
        peak_gib={name: round(outcome.peak, 3) for name, outcome in found.items()},
        pandas="out of memory" if peer.seconds is None else "the same arrays as ours",
        edges=given.edges,
        file_gib=round(file.stat().st_size / GIB, 3),
        memory_limit=given.memory_limit,
    )


def main() -> None:
    given = options()
    if given.job:
        run_job(given.job[0], Path(given.job[1]), given.memory_limit)
        return
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
        compare(given.folder, given)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), given)


if __name__ == "__main__":
    main()
