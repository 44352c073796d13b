"""A table of edges with text for ids into sorted arrays: `ngm.read_graph` against pandas, time and peak memory.

    python benchmarks/ingest.py [--edges 50_000_000 100_000_000] [--memory-limit 4GB] [--pandas-up-to 50_000_000]
        [--json] [--keep] [--fresh]

Both read the same CSV file (ids such as `user-000123456`, a tenth as many nodes as edges, drawn at random), number the
sorted ids, drop self loops, merge each undirected edge to its largest weight, and write edges, weights and ids to disk;
the arrays must be the same in the end. The pandas version is the fastest that we could write: one `factorize` for both
columns, one 64-bit key for each pair. Each runs in a process of its own. Time is that of the job, without imports; peak
memory is that of the process, with everything. pandas may take nine tenths of the machine's memory; where that is too
little, it says so in place of a time. Tables of more rows than `--pandas-up-to` are read by ours alone. From several
sizes follow seconds and memory of a billion edges, by a power of the size through the two largest. With `--keep` sizes
that are there are not run again (`--fresh`: they are).
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    parser.add_argument("--edges", type=int, nargs="+", default=[50_000_000], help="rows of the table")
    parser.add_argument("--pandas-up-to", type=int, default=50_000_000, help="rows beyond which pandas does not run")
    parser.add_argument("--fresh", action="store_true", help="measure again what is kept")
    parser.add_argument("--memory-limit", default="4GB", help="what DuckDB may use in ours")
    parser.add_argument("--folder", type=Path, help="for the files, some 100 bytes a row; else a temporary one")
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


def compare(folder: Path, edges: int, given: argparse.Namespace) -> dict[str, Any]:
    """Makes the table, runs both jobs and says what they took."""
    file = folder / f"edges-{edges}.csv"
    if not file.exists():
        make_table(file, edges)
    print(f"{edges:,} edges: the table is there", file=sys.stderr, flush=True)
    names = ("ours", "pandas") if edges <= given.pandas_up_to else ("ours",)
    row: dict[str, Any] = {"edges": edges, "file_gib": file.stat().st_size / GIB, "memory_limit": given.memory_limit}
    for name in names:
        shutil.rmtree(folder / name, ignore_errors=True)
        outcome = in_child(name, file, given)
        row[name] = {"seconds": outcome.seconds, "peak_gib": outcome.peak}
        print(f"{edges:,} edges, {name}: {row[name]}", file=sys.stderr, flush=True)
    if "pandas" in row and row["pandas"]["seconds"] is not None and not same(folder):
        raise RuntimeError("both jobs should make the same arrays and do not")
    for name in names:
        shutil.rmtree(folder / name, ignore_errors=True)
    file.unlink()
    return row


def extrapolated(rows: dict[str, dict[str, Any]], edges: int = 1_000_000_000) -> dict[str, float] | None:
    """Seconds and peak memory of ours at a size that was not run, from the two largest that were.

    >>> rows = {n: {"edges": int(n), "ours": {"seconds": float(n), "peak_gib": 2.0}} for n in ("10", "100")}
    >>> extrapolated(rows, 1000)
    {'edges': 1000, 'seconds': 1000.0, 'peak_gib': 2.0}
    """
    sizes = sorted((row["edges"], row["ours"]) for row in rows.values())[-2:]
    if len(sizes) < 2:
        return None
    (m1, first), (m2, second) = sizes
    powers = {k: math.log(second[k] / first[k]) / math.log(m2 / m1) for k in ("seconds", "peak_gib")}
    return {"edges": edges, **{k: round(second[k] * (edges / m2) ** power, 6) for k, power in powers.items()}}


def main() -> None:
    given = options()
    if given.job:
        run_job(given.job[0], Path(given.job[1]), given.memory_limit)
        return
    import bench

    rows: dict[str, Any] = (bench.kept("ingest") or {}).get("rows", {}) if given.keep else {}

    def show(last: bool) -> None:
        jobs = [(n, row, name) for n, row in rows.items() for name in ("ours", "pandas") if name in row]
        seconds = {f"{int(n):,} edges, {name}": row[name]["seconds"] for n, row, name in jobs if row[name]["seconds"]}
        ratios = {}
        for n, row in rows.items():
            for word, key in (("memory", "peak_gib"), ("time", "seconds")):
                if "pandas" in row and row["pandas"][key]:
                    ratios[f"{int(n):,} edges, {word}, pandas / ours"] = row["pandas"][key] / row["ours"][key]
        bench.report("ingest", ratios, seconds, given, last, rows=rows, billion=extrapolated(rows))

    def measure(edges: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            return compare(Path(folder), int(edges), given)

    bench.measure_missing(rows, [str(n) for n in given.edges], given.fresh, measure, show)


if __name__ == "__main__":
    main()
