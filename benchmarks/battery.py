"""The battery: simple methods, the paper and the default on many graphs and texts with 1 to 20 labels a class.

    python benchmarks/battery.py [--datasets acm trec ...] [--labels 1 2 5 20] [--draws 10] [--rows default plain ...]
        [--part test] [--workers 2] [--keep] [--page] [--json] [--summary] [--stale] [--fresh] [--work FOLDER]

Every cell (data set, number of labels, draw, row) is kept in the work folder as soon as it is done and is not run
again, so a run that was stopped goes on where it was; `--summary` only sums up what is there. Rows are scored on
validation nodes unless `--part test` is given: settings are chosen on the former, the report is of the latter.
`--stale` runs those rows of this library again whose code has changed, `--fresh` everything.

`--keep` writes benchmarks/results/battery.json from all cells that were asked for, and each of these cells into
battery-cells.csv beside it, from which a new work folder starts; `--page` makes the tables and the picture of
docs/battery.md and the table of the README from the former and runs nothing. `recipe="strong"` runs only where `--rows`
names it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # for tests

from battery_parts import cells as runs
from battery_parts.kept_cells import restore_cells, write_cells
from battery_parts.methods import METHODS
from battery_parts.problems import DATASETS, LABELS_PER_CLASS, SHARES
from battery_parts.summary import summarize
from battery_parts.tables import markdown, readme_block, show, with_block
from rich.console import Console

from ngm._spelling import nearest
from ngm.io.files import file_written_whole

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "battery.json"
CELLS = RESULTS.with_name("battery-cells.csv")
README = ROOT / "README.md"
PAGE, PICTURE = ROOT / "docs" / "battery.md", ROOT / "docs" / "images" / "battery.svg"


def kept() -> dict[str, Any] | None:
    """What benchmarks/results/battery.json has."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else None


def machine() -> dict[str, object]:
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": metadata.version("torch"),
        "scikit-learn": metadata.version("scikit-learn"),
    }


def write_page() -> None:
    """Makes the tables and the picture of the page, and the table of the README, from the kept results."""
    summary = kept()
    for page, block in ((PAGE, markdown(summary)), (README, readme_block(summary))):
        with file_written_whole(page) as part:
            part.write_text(with_block(page.read_text(encoding="utf-8"), block), encoding="utf-8")
    if summary is not None:
        from battery_parts.picture import draw

        draw(summary, PICTURE)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    by_default = [row for row, method in METHODS.items() if method.by_default]
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), metavar="NAME", help=", ".join(DATASETS))
    parser.add_argument("--labels", nargs="+", type=int, default=list(LABELS_PER_CLASS), help="labels a class")
    parser.add_argument("--shares", nargs="+", type=int, default=list(SHARES), help="of BlogCatalog, in percent")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--rows", nargs="+", default=by_default, metavar="ROW", help=", ".join(METHODS))
    parser.add_argument("--part", choices=("validation", "test"), default="validation", help="nodes to score")
    parser.add_argument("--workers", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--work", type=Path, default=Path("runs/battery"), help="for finished cells and vectors")
    parser.add_argument("--fresh", action="store_true", help="run again what is done")
    parser.add_argument("--stale", action="store_true", help="run again what other code of this library made")
    parser.add_argument("--summary", action="store_true", help="run nothing, sum up what is done")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/battery.json")
    parser.add_argument("--page", action="store_true", help="make docs/battery.md and the README's table; run nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    options = parser.parse_args(given)
    for name, values, known in (("data set", options.datasets, DATASETS), ("row", options.rows, tuple(METHODS))):
        for value in values:
            if value not in known:
                parser.error(f"there is no {name} {value!r}{nearest(value, known)}; choose from {', '.join(known)}")
    for name in ("draws", "workers"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}; give 1 or more")
    if min(*options.labels, *options.shares) < 1 or max(options.shares) > 80:
        parser.error(f"--labels {options.labels} --shares {options.shares}; give 1 or more, and shares up to 80 %")
    return options


def main() -> None:
    options = arguments()
    if options.page:
        write_page()
        return
    wanted = runs.cells(options.datasets, options.labels, options.shares, options.draws, options.rows, options.part)
    failed: list[str] = []
    restore_cells(CELLS, options.work)
    if not options.summary:
        left = runs.unfinished(wanted, options.work, options.fresh, options.stale)
        print(f"{len(left)} of {len(wanted)} cells to run", file=sys.stderr, flush=True)
        failed = runs.run_all(left, options.work, options.workers)
    results = runs.read_all(wanted, options.work)
    if not results:
        raise SystemExit("no cell is done; run without --summary first")
    about = {"name": "battery", "part": options.part, "cells": len(results), "failed": failed}
    command = " ".join(["python", "benchmarks/battery.py", *sys.argv[1:]])
    summary = {**about, **summarize(results), "machine": machine(), "command": command}
    if options.keep:
        with file_written_whole(RESULTS) as part:
            part.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        write_cells(results, CELLS)
    if options.json:
        print(json.dumps(summary))
    else:
        show(summary, Console())
    if failed:
        raise SystemExit("\n".join([f"{len(failed)} cells failed:", *failed]))


if __name__ == "__main__":
    main()
