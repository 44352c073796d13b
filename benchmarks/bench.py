"""What the benchmarks share: timing, the machine's description, and the JSON that they print."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from ngm.io.files import file_written_whole


def arguments(description: str | None) -> argparse.Namespace:
    """What `parser` finds on the command line."""
    return parser(description).parse_args()


def parser(description: str | None) -> argparse.ArgumentParser:
    """`--json` prints one JSON object and nothing else; `--keep` also writes it to benchmarks/results."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--keep", action="store_true", help="write the JSON to benchmarks/results as well")
    parser.add_argument("--repeats", type=int, default=5, help="the best of so many is taken")
    return parser


def best_of(repeats: int, *jobs: Callable[[], object]) -> list[float]:
    """Seconds of each job, the best of several; jobs take turns, so that a slow moment hits all of them."""
    seconds = [float("inf")] * len(jobs)
    for job in jobs:
        job()  # warm up
    for _ in range(repeats):
        for i, job in enumerate(jobs):
            started = time.perf_counter()
            job()
            seconds[i] = min(seconds[i], time.perf_counter() - started)
    return seconds


def kept(name: str) -> dict[str, Any] | None:
    """What an earlier run left in benchmarks/results; None where there is none."""
    file = Path(__file__).with_name("results") / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def measure_missing(
    rows: dict[Any, dict[str, Any]],
    keys: Iterable[Any],
    fresh: bool,
    measure: Callable[[Any], dict[str, Any]],
    show: Callable[[bool], None],
) -> None:
    """Measures the rows that are missing, or with `fresh` all of them; shows after each, and at the end with True."""
    for key in keys:
        if fresh or key not in rows:
            rows[key] = measure(key)
            show(False)
    show(True)


def processor() -> str:
    """The model of the processor, as Linux names it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def report(
    name: str,
    ratios: dict[str, float],
    seconds: dict[str, float],
    options: argparse.Namespace,
    last: bool = True,
    **more: object,
) -> None:
    """Keeps the result where that is wanted, and prints it, for machines or for people.

    Args:
        name: Of the benchmark.
        ratios: What to compare between machines.
        seconds: What they were made of.
        options: From `parser`.
        last: False where more is to come: then nothing is printed.
        more: Further entries of the JSON.
    """
    result = {
        "name": name,
        "ratios": ratios,
        "seconds": seconds,
        **more,
        "machine": {
            "processor": processor(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
            "torch": metadata.version("torch"),
        },
        "command": " ".join(["python", *sys.argv]),
    }
    if options.keep:
        with file_written_whole(Path(__file__).with_name("results") / f"{name}.json") as part:
            part.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if not last:
        return
    if options.json:
        print(json.dumps(result))
        return
    print(name)
    for title, values in (("seconds", seconds), ("ratios", ratios)):
        for key, value in values.items():
            print(f"  {title:8} {key:40} {value:10.4f}")
    for key, extra in more.items():
        print(f"  {key}: {extra}")
