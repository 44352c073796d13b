"""Cells: one method on one draw of one data set. Each is run once, and kept as JSON as soon as it is done."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

import torch

from battery_parts.methods import METHODS
from battery_parts.problems import MULTI_LABEL, PROTOCOL, TEXTS, Part, columns, prepare, problem
from battery_parts.texts import INPUTS
from ngm.experiments.code_digest import code_digest
from ngm.io.files import file_written_whole
from ngm.metrics import accuracy, f1


@dataclass(frozen=True)
class Cell:
    """What tells a score from others.

    Attributes:
        dataset: One of `DATASETS`.
        labels: Labels a class, or percent of the nodes.
        draw: Seed of labels, scored nodes, initial weights and batches.
        row: Key of `METHODS`.
        part: Nodes that were scored.
    """

    dataset: str
    labels: int
    draw: int
    row: str
    part: Part

    @property
    def version(self) -> str:
        """Of the protocol, of the row's settings and, for texts, of the inputs."""
        inputs = f"-{INPUTS}" if self.dataset in TEXTS else ""
        return f"{PROTOCOL}.{METHODS[self.row].version}{inputs}"

    def file(self, work: Path) -> Path:
        """Where its result is kept."""
        name = f"{self.row}-v{self.version}-{self.labels}-{self.draw}.json"
        return work / "cells" / self.part / self.dataset / name


@dataclass(frozen=True)
class Result:
    """What a cell came to.

    Attributes:
        cell: Which.
        metrics: "accuracy", or "micro_f1" and "macro_f1" where a node may have several labels.
        processor_seconds: Of training and predicting, without loading data and making the graph.
        wall_seconds: Likewise.
        code: Digest of the library that made it.
    """

    cell: Cell
    metrics: dict[str, float]
    processor_seconds: float
    wall_seconds: float
    code: str


def cells(
    datasets: Sequence[str], labels: Sequence[int], shares: Sequence[int], draws: int, rows: Sequence[str], part: Part
) -> list[Cell]:
    """All cells of a run, those on the same draw of a data set together."""
    return [
        Cell(dataset, count, draw, row, part)
        for dataset in datasets
        for draw in range(draws)
        for count in columns(dataset, list(labels), list(shares))
        for row in rows
        if (dataset not in MULTI_LABEL or METHODS[row].multi_label)
        and (dataset in TEXTS or not METHODS[row].only_texts)
    ]


def read(cell: Cell, work: Path) -> Result | None:
    """The kept result of a cell, if there is one."""
    file = cell.file(work)
    if not file.exists():
        return None
    kept = json.loads(file.read_text(encoding="utf-8"))
    return Result(**{**kept, "cell": Cell(**kept["cell"])})


def read_all(wanted: Iterable[Cell], work: Path) -> list[Result]:
    """Those results that are there."""
    return [result for cell in wanted if (result := read(cell, work)) is not None]


def unfinished(wanted: Iterable[Cell], work: Path, fresh: bool = False, stale: bool = False) -> list[Cell]:
    """Cells to run.

    Args:
        wanted: All cells.
        work: Where results are kept.
        fresh: Run all of them again.
        stale: Run those again that other code of this library made.
    """
    code, left = code_digest(), []
    for cell in wanted:
        result = None if fresh else read(cell, work)
        if result is None or (stale and METHODS[cell.row].ours and result.code != code):
            left.append(cell)
    return left


def run(cell: Cell, work: Path) -> Result:
    """Runs a cell and keeps its result."""
    drawn = problem(cell.dataset, cell.labels, cell.draw, cell.part, work)
    processor, wall = time.process_time(), time.perf_counter()
    scores = METHODS[cell.row].run(drawn, cell.draw)
    seconds = (time.process_time() - processor, time.perf_counter() - wall)
    if drawn.y.ndim == 2:
        metrics = {f"{kind}_f1": f1(drawn.y_new, scores, kind, "top_k") for kind in ("micro", "macro")}
    else:
        metrics = {"accuracy": accuracy(drawn.y_new, scores.argmax(axis=1))}
    result = Result(cell, metrics, *seconds, code_digest())
    write(result, work)
    return result


def write(result: Result, work: Path) -> None:
    """Keeps a result in the work folder."""
    with file_written_whole(result.cell.file(work)) as written:
        written.write_text(json.dumps(asdict(result), indent=1) + "\n", encoding="utf-8")


def run_all(left: Sequence[Cell], work: Path, workers: int) -> list[str]:
    """Runs cells in processes of one thread each, a line on standard error for each; what failed, in words."""
    torch.set_num_threads(os.cpu_count() or 1)
    for dataset in dict.fromkeys(cell.dataset for cell in left):
        prepare(dataset, work)
    groups = [list(group) for _, group in groupby(left, key=lambda cell: (cell.dataset, cell.draw))]
    if workers == 1:
        return [line for group in groups for line in _run_group(group, work)]
    failed: list[str] = []
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(partial(_run_group, group, work)) for group in groups]):
            failed += done.result()
    return failed


def _run_group(group: Sequence[Cell], work: Path) -> list[str]:
    torch.set_num_threads(1)
    return list(_failures(group, work))


def _failures(group: Sequence[Cell], work: Path) -> Iterator[str]:
    for cell in group:
        title = f"{cell.dataset} {cell.labels} labels draw {cell.draw} {cell.row}"
        try:
            result = run(cell, work)
        except Exception as error:  # the other cells go on
            traceback.print_exc()
            yield f"{title}: {type(error).__name__}: {error}"
        else:
            scores = " ".join(f"{value:.3f}" for value in result.metrics.values())
            print(f"{title}: {scores} in {result.processor_seconds:.1f} s", file=sys.stderr, flush=True)
