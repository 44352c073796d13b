"""`ngm report`."""

from __future__ import annotations

import math
import webbrowser
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from ngm.cli.terminal import AsJson, Debug, app, err, out, print_json

if TYPE_CHECKING:
    from ngm.io.run_folder import JSON
    from ngm.report.page import Cell, Page, ReportTable, Section

_VERDICTS = {"good": "green", "bad": "red", "open": "yellow"}


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(help="Run folder, from ngm train or fit(folder=...).")],
    others: Annotated[list[Path] | None, typer.Argument(help="Further run folders, to compare the first with.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File of the report.", show_default="report.html in the run folder"),
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(help="Folder for the plots as files (needs Chromium or Chrome).")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="Format of the plots: png or svg.", show_default="png")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Writes a report of a run: whether the graph helped, which predictions are wrong, what to label next.

    The page is one HTML file and needs no network. With --json, all answers and tables are printed too.

    Example:  ngm report run/ --open

    Several runs side by side:  ngm report run/ other/ -o both.html

    Plots for a paper:  ngm report run/ --plots plots/ --format svg
    """
    from ngm.io.files import write_text
    from ngm.report import check_output
    from ngm.report.contents import page_of
    from ngm.report.images import check_images, write_images
    from ngm.report.render import render

    file = folder / "report.html" if output is None else output
    if output is not None or folder.is_dir():  # else it is no run folder, which is said below
        check_output(file)
    if form is not None and plots is None:
        raise ValueError("--format is for plots as files, and --plots is not given; give a folder, or leave it out")
    if plots is not None:
        check_images(plots, form or "png")
    with _status("reading the run", quiet=as_json):
        page = page_of([folder, *(others or [])])
        write_text(file, render(page))
    images: list[Path] = []
    if plots is not None:
        with _status("drawing the plots", quiet=as_json):
            images = write_images(page, plots, form or "png")
    if as_json:
        print_json({"report": str(file), "plots": [str(image) for image in images], **page_as_json(page)})
    else:
        _show(page, file, images)
    if open_ and not webbrowser.open(file.resolve().as_uri()):
        file_text = escape(str(file))
        err.print(f"[yellow]note:[/] no browser could be started; open {file_text}", highlight=False, soft_wrap=True)


def _status(words: str, quiet: bool) -> AbstractContextManager[object]:
    return nullcontext() if quiet or not err.is_terminal else err.status(words)


def page_as_json(page: Page) -> dict[str, JSON]:
    """The report for machines: answers, notes and whole tables; plots by what they show."""
    return {"title": page.title, "subtitle": page.subtitle, "sections": [_section(s) for s in page.sections]}


def _section(section: Section) -> JSON:
    return {
        "key": section.key,
        "title": section.title,
        "answer": section.answer,
        "verdict": section.verdict,
        "notes": list(section.notes),
        "tables": [_table(table) for table in section.tables],
        "plots": [{"key": figure.key, "title": figure.title, "shows": figure.alt} for figure in section.figures],
    }


def _table(table: ReportTable) -> JSON:
    rows: list[JSON] = [[_cell(cell) for cell in row] for row in (*table.rows, *table.more)]
    return {"key": table.key, "caption": table.caption, "columns": list(table.columns), "rows": rows}


def _cell(cell: Cell) -> JSON:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _show(page: Page, file: Path, images: list[Path]) -> None:
    out.print(f"[bold]{escape(page.title)}[/]: {escape(page.subtitle)}", highlight=False, soft_wrap=True)
    for section in page.sections:
        color = _VERDICTS.get(section.verdict or "")
        title = f"[bold {color}]" if color else "[bold]"
        out.print(f"{title}{escape(section.title)}[/] {escape(section.answer)}", highlight=False, soft_wrap=True)
    if images:
        out.print(f"Plots: {len(images)} files in {escape(str(images[0].parent))}", highlight=False, soft_wrap=True)
    size = file.stat().st_size / 1e6
    out.print(
        f"Report: {escape(str(file))} ({size:.1f} MB)   (next: open it in a browser)", highlight=False, soft_wrap=True
    )
