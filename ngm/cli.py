"""The command line: arguments to functions, results to tables or, with --json, to JSON on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table as Shown

from ngm import datasets
from ngm.names import nearest
from ngm.reproduce import TABLES, Table, demo, pubmed
from ngm.reproduce.plot import check_plot, draw
from ngm.reproduce.scores import Scores
from ngm.reproduce.table import Row
from ngm.run import JSON

app = typer.Typer(
    help="Neural Graph Machines: train a network with few labels and a graph.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
out, err = Console(), Console(stderr=True)
_TITLES = {"inductive": "test nodes out", "transductive": "test nodes in"}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output and nothing else there.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where in the code an error arose.")]


def main() -> None:
    """Runs a command; a user's mistake ends in one line on standard error and exit code 2."""
    try:
        app()
    except (ValueError, OSError, RuntimeError, ArithmeticError) as error:
        if "--debug" in sys.argv:
            raise
        message = " ".join(str(error).split())
        err.print(f"[bold red]error:[/] {escape(message)}", highlight=False, soft_wrap=True)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        err.print("stopped")
        raise SystemExit(130) from None


@app.command("demo")
def demo_command(
    seeds: Annotated[int, typer.Option(min=1, help="Draws of the labelled digits.")] = 5,
    folder: Annotated[Path, typer.Option(help="Where the run folder goes.")] = Path("runs/demo"),
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Trains on handwritten digits with and without the graph; needs no network.

    Example:  ngm demo --seeds 3
    """
    total = 2 * seeds * len(demo.LABELS_PER_CLASS)
    with _bar(total, quiet=as_json) as step:
        result = demo.run(folder, seeds, on_fit=lambda: step("training"))
    if as_json:
        rows = [row for c in result.comparisons for row in (c.without_graph, c.with_graph)]
        labels = [10 * c.labels_per_class for c in result.comparisons for _ in range(2)]
        _print_json(
            {
                "table": "demo",
                "rows": [asdict(row) | {"labels": count} for row, count in zip(rows, labels, strict=True)],
                "run": str(result.folder),
            }
        )
        return
    shown = Shown(
        title=f"Accuracy on 597 new digits, {seeds} {'seed' if seeds == 1 else 'seeds'}", title_justify="left"
    )
    for column in ("labels per class", "without graph", "with graph", "gain"):
        shown.add_column(column, justify="right")
    for c in result.comparisons:
        gain = f"{100 * c.gain:+.1f} points"
        shown.add_row(str(c.labels_per_class), _spread(c.without_graph), _spread(c.with_graph), gain)
    out.print(shown)
    nodes, edges = result.graph.num_nodes, result.graph.num_edges
    out.print(f"Graph: {nodes:,} digits, {edges:,} edges to the {demo.NEIGHBORS} nearest neighbours.", highlight=False)
    where = escape(f"Run folder: {result.folder}   (read it back: ngm.load({str(result.folder)!r}))")
    out.print(where, highlight=False)


@app.command("datasets")
def datasets_command(
    fetch: Annotated[str | None, typer.Option(help="Name of a data set to fetch into the cache.")] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Lists the data sets and where they are; --fetch NAME brings one here.

    Example:  ngm datasets --fetch pubmed
    """
    if fetch is not None:
        with _download(quiet=as_json) as progress:
            datasets.load(fetch, progress)
    records = datasets.available()
    if as_json:
        _print_json({"datasets": [asdict(record) for record in records]})
        return
    shown = Shown()
    for column in ("name", "nodes", "edges", "features", "classes", "licence", "where"):
        shown.add_column(column, justify="right" if column in ("nodes", "edges", "features", "classes") else "left")
    for r in records:
        counts = [f"{count:,}" for count in (r.num_nodes, r.num_edges, r.num_features, r.num_classes)]
        shown.add_row(r.name, *counts, r.license, r.where)
    out.print(shown)


@app.command("reproduce")
def reproduce_command(
    table: Annotated[str, typer.Argument(help=f"One of: {', '.join(TABLES)}.")],
    rows: Annotated[str | None, typer.Option(help="Rows to run, by key: ffnn,ngm. All where not given.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per row.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="Two seeds, to see that it runs.")] = False,
    dataset: Annotated[str, typer.Option(help=f"One of: {', '.join(pubmed.DATASETS)}.")] = "pubmed",
    setting: Annotated[str, typer.Option(help="inductive, transductive, or both.")] = "both",
    curve: Annotated[bool, typer.Option("--curve", help="Accuracy against the number of labels.")] = False,
    plot: Annotated[Path | None, typer.Option(help="With --curve: draw it into this file (.svg, .png, .pdf).")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="File for finished seeds; the same command then goes on where it stopped.")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Runs one of the paper's tables, ours beside theirs.

    Example:  ngm reproduce pubmed --rows ffnn,ngm,ours --seeds 10
    """
    if table not in TABLES:
        raise ValueError(f"unknown table {table!r}{nearest(table, TABLES)}; choose from {', '.join(TABLES)}")
    if setting not in (*pubmed.SETTINGS, "both"):
        raise ValueError(f"setting is {setting!r}; choose from {', '.join(pubmed.SETTINGS)}, both")
    if plot is not None and not curve:
        raise ValueError(f"--plot {plot} has nothing to draw; give --curve as well")
    if plot is not None:
        check_plot(plot)
    if curve and setting == "transductive":
        raise ValueError("--curve is of the inductive setting; leave out --setting transductive")
    wanted = None if rows is None else [key.strip() for key in rows.split(",")]
    keys = wanted or list(pubmed.CURVE if curve else pubmed.METHODS)
    pubmed.check(keys, dataset)
    settings = [s for s in pubmed.SETTINGS if setting in (s, "both")]
    if not curve and not list(pubmed.cells(keys, settings)):
        raise ValueError(f"none of the rows {', '.join(keys)} can be run in the {setting} setting; choose another")
    total = pubmed.count(keys, seeds, quick, settings, curve)
    with _download(quiet=as_json) as progress, _bar(total, quiet=as_json) as step:
        scores = Scores(keep)
        if curve:
            result = pubmed.curve(keys, seeds, quick, progress, step, dataset, scores)
        else:
            result = pubmed.run(keys, seeds, quick, progress, step, dataset, scores, settings)
    if plot is not None:
        draw(result, plot)
    if as_json:
        _print_json(result.as_json())
    else:
        _show(result, dataset)
        if plot is not None:
            out.print(f"Drawn in {escape(str(plot))}", highlight=False)


def _show(table: Table, dataset: str) -> None:
    """A line per method; a column per setting, or per number of labels, with the published figure beside it."""
    shown = Shown(title=f"{dataset}: test accuracy, ours beside the published", title_justify="left")
    columns = list(dict.fromkeys((row.setting, row.labels) for row in table.rows))
    shown.add_column("method")
    for setting, labels in columns:
        shown.add_column(_TITLES.get(setting, setting) if labels is None else f"{labels} labels", justify="right")
        if labels is None:
            shown.add_column("published", justify="right")
    for title in ("seeds", "seconds a seed"):
        shown.add_column(title, justify="right")
    for method in dict.fromkeys(row.method for row in table.rows):
        mine = {(row.setting, row.labels): row for row in table.rows if row.method == method}
        line = [method]
        for column in columns:
            row = mine.get(column)
            line.append("n/a" if row is None else _spread(row))
            if column[1] is None:
                line.append("" if row is None or row.paper is None else f"{row.paper:.3f}")
        seconds = sum(row.seconds for row in mine.values()) / len(mine)
        shown.add_row(*line, str(max(row.seeds for row in mine.values())), f"{seconds:.1f}")
    out.print(shown)
    for note in table.notes:
        out.print(f"- {note}", highlight=False)


def _spread(row: Row) -> str:
    return f"{row.mean:.3f} ± {row.std:.3f}"


def _print_json(content: dict[str, JSON]) -> None:
    sys.stdout.write(json.dumps(content, indent=2) + "\n")


class _Step:
    """Moves a bar on by one."""

    def __init__(self, bar: Progress, total: int) -> None:
        self.bar, self.task = bar, bar.add_task("starting", total=total)

    def __call__(self, what: str) -> None:
        self.bar.update(self.task, advance=1, description=what)


@contextmanager
def _bar(total: int, quiet: bool) -> Iterator[_Step]:
    """A progress bar on standard error, if that is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        yield _Step(bar, total)


@contextmanager
def _download(quiet: bool) -> Iterator[datasets.Progress]:
    """Tells on standard error how a download goes."""
    seen: set[str] = set()

    def report(name: str, done: int, total: int) -> None:
        if not quiet and name not in seen:
            seen.add(name)
            err.print(f"fetching {name} ({total / 1e6:.1f} MB)" if total else f"fetching {name}", highlight=False)

    yield report
