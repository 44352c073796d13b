"""Bad input by the thousand: every case ends in success or in an error of ours.

    python benchmarks/fuzz.py --count 10000 [--seed 0] [--area readers] [--only 17] [--json FILE]

Cases are made by seed (see `fuzzing/`), number i of an area is the same whatever the count, and `--only` runs one again
with its whole traceback. They run in a process of their own, so that a crash is a finding like any other: the
case that was running gets it, and the next ones run in a new process.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import IO

sys.path.insert(0, str(Path(__file__).parent))  # for the process of the cases, and for tests

from fuzzing import SHARES, maker

_SILENCE = 60  # seconds without a word after which a process is stuck, in a loop that no alarm reaches
_MEMORY = 6 << 30  # bytes of addresses beyond those of the libraries


@dataclass
class Counts:
    """What became of the cases of an area."""

    cases: int = 0
    accepted: int = 0
    refused: int = 0
    findings: int = 0
    seconds: float = 0.0
    found: list[str] = field(default_factory=list)  # "number: what happened"


def run(
    count: int,
    seed: int = 0,
    areas: Sequence[str] = tuple(SHARES),
    on_case: Callable[[str, int], object] | None = None,
) -> dict[str, Counts]:
    """Runs so many cases, spread over the areas by their shares.

    Args:
        count: Cases in all; exact.
        seed: Same seed, same cases.
        areas: Which of `fuzzing.SHARES`.
        on_case: Called with (area, number) as each case begins.

    Returns:
        Counts by area.
    """
    unknown = sorted(set(areas) - set(SHARES))
    if unknown:
        raise ValueError(f"unknown area {unknown[0]!r}; choose from {', '.join(SHARES)}")
    counts = {area: Counts() for area in areas}
    for area, cases in _shared_out(count, areas).items():
        started, number = time.perf_counter(), 0
        while number < cases:
            number = _run_process(area, seed, number, cases, counts[area], on_case)
        counts[area].seconds = round(time.perf_counter() - started, 1)
    return counts


def _shared_out(count: int, areas: Sequence[str]) -> dict[str, int]:
    total, left, out = sum(SHARES[area] for area in areas), count, {}
    for area in areas:
        out[area] = left * SHARES[area] // total
        left, total = left - out[area], total - SHARES[area]
    return out


def _run_process(
    area: str, seed: int, first: int, end: int, counts: Counts, on_case: Callable[[str, int], object] | None
) -> int:
    """Runs cases in a process until all are done or it dies; returns the number of the next case."""
    command = [sys.executable, __file__, "--work", area, str(seed), str(first), str(end)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    number = first
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, bufsize=0, stdout=subprocess.PIPE, stderr=errors, env=environment) as process,
    ):
        try:
            while line := _line(process.stdout):
                word, number, what, text = json.loads(line)
                if word == "fault":
                    raise RuntimeError(f"case {number} of {area} with seed {seed} cannot be made: {text}")
                if word == "begin" and on_case is not None:
                    on_case(area, number)
                if word == "end":
                    _count(counts, number, what, text)
                    number += 1
        except BaseException:
            process.kill()
            raise
        if line is None:
            process.kill()
        code = process.wait()
        if number < end:
            errors.seek(0)
            last = errors.read()[-400:].decode(errors="replace").strip().splitlines()[-1:]
            how = "the process was stuck" if line is None else f"the process ended with {code}"
            _count(counts, number, "finding", f"{how}: {last}")
            number += 1
    return number


def _line(stream: IO[bytes] | None) -> bytes | None:
    """The next line; empty at the end, None after a long silence."""
    assert stream is not None
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        if not selector.select(timeout=_SILENCE):
            return None
    return stream.readline()


def _count(counts: Counts, number: int, what: str, text: str) -> None:
    counts.cases += 1
    if what == "finding":
        counts.findings += 1
        counts.found.append(f"{number}: {text}")
    elif what == "accepted":
        counts.accepted += 1
    else:
        counts.refused += 1


# In the process of the cases


def work(area: str, seed: int, first: int, end: int) -> None:
    """Runs cases one by one and prints what becomes of each, as lines of JSON."""
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a case prints
    make = maker(area)
    _limit_memory()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        for number in range(first, end):
            print(json.dumps(["begin", number, "", ""]), file=said, flush=True)
            try:
                what, text = case(area, make, seed, number, Path(place))
            except Exception as error:  # of the harness: those of the case are judged
                print(json.dumps(["fault", number, "", repr(error)]), file=said, flush=True)
                raise
            print(json.dumps(["end", number, what, text]), file=said, flush=True)


def case(area: str, make: object, seed: int, number: int, place: Path, show: bool = False) -> tuple[str, str]:
    """Makes and judges one case in a folder of its own; see `fuzzing.judge.judge`."""
    from fuzzing.judge import judge

    folder, temporary = place / "case", place / "temporary"
    for made in (folder, temporary):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
    tempfile.tempdir = str(temporary)
    os.chdir(folder)
    call = make(Random(f"{seed}/{area}/{number}"), folder)  # type: ignore[operator]
    if show:
        call()
        return "accepted", ""
    try:
        return judge(call, folder, temporary)
    finally:
        os.chdir(place)


def _limit_memory() -> None:
    """A case that asks for all memory gets an error, not the machine."""
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) if Path("/proc").exists() else 0
    limit = pages * resource.getpagesize() + _MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def show(area: str, seed: int, number: int) -> None:
    """Runs one case again, with its whole traceback."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        print(*case(area, maker(area), seed, number, Path(place)), sep=": ", flush=True)
        case(area, maker(area), seed, number, Path(place), show=True)


def findings(counts: dict[str, Counts]) -> list[str]:
    """A line for each finding: its area, its number, what happened."""
    return [f"{area} {text}" for area, count in counts.items() for text in count.found]


def table(counts: dict[str, Counts]) -> str:
    """Cases, accepted, refused and findings by area, and their sum."""
    rows = [(area, c.cases, c.accepted, c.refused, c.findings, c.seconds) for area, c in counts.items()]
    sums = [sum(row[i] for row in rows) for i in (1, 2, 3, 4, 5)]  # type: ignore[misc]
    head = f"{'area':<12}{'cases':>8}{'accepted':>10}{'refused':>10}{'findings':>10}{'seconds':>9}"
    lines = [
        f"{r[0]:<12}{r[1]:>8.0f}{r[2]:>10.0f}{r[3]:>10.0f}{r[4]:>10.0f}{r[5]:>9.1f}" for r in [*rows, ("all", *sums)]
    ]
    return "\n".join([head, *lines])


def as_json(counts: dict[str, Counts]) -> dict[str, object]:
    """For a results file."""
    return {area: asdict(count) for area, count in counts.items()}


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], *map(int, sys.argv[3:6]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", action="append", choices=list(SHARES))
    parser.add_argument("--only", type=int, help="number of one case of the area")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    areas = given.area or list(SHARES)
    if given.only is not None:
        show(areas[0], given.seed, given.only)
        return
    counts = run(given.count, given.seed, areas)
    print(*findings(counts), table(counts), sep="\n")
    if given.json:
        given.json.write_text(json.dumps(as_json(counts), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
