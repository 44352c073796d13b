"""Finished cells as one table, kept with the results: another machine goes on from it, and draws can be paired."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from battery_parts import cells as runs
from battery_parts.cells import Cell, Result
from battery_parts.methods import METHODS
from battery_parts.problems import DATASETS, Part
from ngm.io.files import file_written_whole

METRICS = ("accuracy", "micro_f1", "macro_f1")
COLUMNS = (
    *("part", "dataset", "labels", "draw", "row", "version"),
    *METRICS,
    *("processor_seconds", "wall_seconds", "code"),
)


def write_cells(results: Sequence[Result], file: Path) -> None:
    """Writes a line per result, in the order of the tables; metrics as they are, seconds to the millisecond."""
    rows = list(METHODS)
    ordered = sorted(
        results,
        key=lambda r: (r.cell.part, DATASETS.index(r.cell.dataset), r.cell.labels, rows.index(r.cell.row), r.cell.draw),
    )
    with file_written_whole(file) as part, part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for result in ordered:
            cell = result.cell
            writer.writerow(
                [
                    *(cell.part, cell.dataset, cell.labels, cell.draw, cell.row, cell.version),
                    *(repr(result.metrics[name]) if name in result.metrics else "" for name in METRICS),
                    *(f"{result.processor_seconds:.3f}", f"{result.wall_seconds:.3f}", result.code),
                ]
            )


def read_cells(file: Path) -> list[tuple[str, Result]]:
    """(version, result) of each line."""
    found = []
    with file.open(encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            cell = Cell(line["dataset"], int(line["labels"]), int(line["draw"]), line["row"], cast(Part, line["part"]))
            metrics = {name: float(line[name]) for name in METRICS if line[name]}
            seconds = float(line["processor_seconds"]), float(line["wall_seconds"])
            found.append((line["version"], Result(cell, metrics, *seconds, line["code"])))
    return found


def restore_cells(file: Path, work: Path) -> int:
    """Puts the kept cells into a work folder that lacks them; how many.

    Args:
        file: That `write_cells` wrote; there may be none.
        work: Where results are kept while the battery runs. Cells of other versions of a row or of rows that are no
            more are left out.
    """
    if not file.exists():
        return 0
    count = 0
    for version, result in read_cells(file):
        if result.cell.row in METHODS and version == result.cell.version and runs.read(result.cell, work) is None:
            runs.write(result, work)
            count += 1
    return count
