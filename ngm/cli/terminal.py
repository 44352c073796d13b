"""What all commands share: consoles, options, tables of numbers, progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import metadata
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from ngm.experiments.table import Row
    from ngm.io.fetch import Progress as OnBytes
    from ngm.io.run_folder import JSON

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
out, err = Console(), Console(stderr=True)


def _version(show: bool) -> None:
    if show:
        out.print(f"ngm {metadata.version('neural-graph-machines')}", highlight=False)
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Neural Graph Machines: train a network with few labels and a graph.

    Begin with ngm demo, then ngm datasets messages and ngm build --help.
    """


AsJson = Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line holds column names; detected by default."),
]
Delimiter = Annotated[str | None, typer.Option(help="Field delimiter; detected by default.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def mean_and_std(row: Row) -> str:
    """`0.714 ± 0.015`."""
    return f"{row.mean:.3f} ± {row.std:.3f}"


def print_json(content: dict[str, JSON]) -> None:
    """Writes JSON to standard output."""
    sys.stdout.write(json.dumps(content, indent=2) + "\n")


class Step:
    """Moves a bar on by one."""

    def __init__(self, bar: Progress, total: int) -> None:
        self.bar, self.task = bar, bar.add_task("starting", total=total)

    def __call__(self, description: str) -> None:
        """Advances by one step, which is described."""
        self.bar.update(self.task, advance=1, description=description)


@contextmanager
def bar(total: int, quiet: bool) -> Iterator[Step]:
    """A progress bar on standard error, if that is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal)
    with nullcontext() if bar.disable else bar:  # rich before 14.3 ends even a disabled one with an empty line
        yield Step(bar, total)


@contextmanager
def download(quiet: bool) -> Iterator[OnBytes]:
    """Reports downloads on standard error."""
    reported: set[str] = set()

    def report(name: str, done: int, total: int) -> None:
        if not quiet and name not in reported:
            reported.add(name)
            err.print(f"fetching {name} ({total / 1e6:.1f} MB)" if total else f"fetching {name}", highlight=False)

    yield report
