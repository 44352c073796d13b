"""One table of all ratios with their targets, met or not, from benchmarks/results; and docs/speed.md from the same.

    python benchmarks/table.py [--page] [--json]

Nothing is measured here: each row names the command that measures and keeps it. Rows without a kept result say so.
`--page` writes the tables and the plots of docs/speed.md.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from speed_parts.goals import lines_of, read_results
from speed_parts.page import PICTURES, figure, markdown, pictured, with_block

from ngm.io.files import file_written_whole

DOCS = Path(__file__).parent.parent / "docs"
PAGE, IMAGES = DOCS / "speed.md", DOCS / "images"
_STYLES = {"met": "green", "not met": "bold red", "not measured": "dim"}


def write_page() -> None:
    """Makes the tables and the plots of the page from the kept results; plots without a result are removed."""
    results = read_results()
    with file_written_whole(PAGE) as part:
        part.write_text(with_block(PAGE.read_text(encoding="utf-8"), markdown(results)), encoding="utf-8")
    for name, (file, _) in PICTURES.items():
        if name in pictured(results):
            from speed_parts.pictures import draw

            draw(name, results[name], IMAGES / file)
        else:
            (IMAGES / file).unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write docs/speed.md and its plots")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    options = parser.parse_args()
    if options.page:
        write_page()
        return
    lines = lines_of(read_results())
    if options.json:
        print(json.dumps({"name": "table", "lines": [asdict(line) | {"outcome": line.outcome} for line in lines]}))
        return
    shown = Table(header_style="bold")
    for column in ("work", "measured", "target", ""):
        shown.add_column(column)
    for line in lines:
        shown.add_row(line.work, figure(line), line.target, line.outcome, style=_STYLES.get(line.outcome))
    console = Console()
    console.print(shown)
    missing = dict.fromkeys(line.command for line in lines if line.value is None)
    console.print(*(["not measured:"] if missing else []), *missing, sep="\n", soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main()
