"""One self-contained page from a run folder: `write_report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ngm.io.files import check_writable, write_text
from ngm.report.contents import page_of
from ngm.report.page import Figure, Page, ReportTable, Section, Space
from ngm.report.render import render

__all__ = ["Figure", "Page", "ReportTable", "Section", "Space", "page_of", "write_report"]


def write_report(folder: str | Path, others: Sequence[str | Path] = (), output: str | Path | None = None) -> Path:
    """Writes one HTML page about a run: did the graph help, what was learned, what to do next.

    Args:
        folder: Run folder.
        others: Further run folders to compare it with.
        output: File to write, whole or not at all; report.html in the run folder where not given.

    Returns:
        The file.
    """
    file = Path(folder) / "report.html" if output is None else Path(output)
    check_output(file)
    write_text(file, render(page_of([folder, *others])))
    return file


def check_output(file: Path) -> None:
    """Raises if the page cannot be written to `file`."""
    if file.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{file} does not end in .html; name the page, such as report.html")
    if file.is_dir():
        raise FileExistsError(f"{file} is a folder; name a file, such as {file / 'report.html'}")
    check_writable(file)
