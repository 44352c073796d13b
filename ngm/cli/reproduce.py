"""`ngm reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as Shown

from ngm.cli.terminal import AsJson, Debug, app, bar, download, out, print_json, spread
from ngm.names import nearest
from ngm.reproduce import TABLES, Row, Table, blogcatalog, pubmed
from ngm.reproduce.plot import check_plot, draw
from ngm.reproduce.scores import Scores

_TITLES = {"inductive": "test nodes out", "transductive": "test nodes in"}
_OPTIONS = {"pubmed": ("--dataset", "--setting", "--curve", "--plot"), "blogcatalog": ("--train",)}


@app.command("reproduce")
def reproduce_command(
    table: Annotated[str, typer.Argument(help=f"One of: {', '.join(TABLES)}.")],
    rows: Annotated[str | None, typer.Option(help="Rows to run, by key: ffnn,ngm. All where not given.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds per row, 10 if not given; on blogcatalog, random splits.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two seeds, to see that it runs.")] = False,
    dataset: Annotated[str, typer.Option(help=f"pubmed: one of {', '.join(pubmed.DATASETS)}.")] = "pubmed",
    setting: Annotated[str, typer.Option(help="pubmed: inductive, transductive, or both.")] = "both",
    curve: Annotated[bool, typer.Option("--curve", help="pubmed: accuracy against the number of labels.")] = False,
    plot: Annotated[Path | None, typer.Option(help="With --curve: draw it into this file (.svg, .png, .pdf).")] = None,
    train: Annotated[
        str | None, typer.Option(help="blogcatalog: percent of the nodes to train on; 20,50,80, or 50 with --quick.")
    ] = None,
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
    given = {
        "--dataset": dataset != "pubmed",
        "--setting": setting != "both",
        "--curve": curve,
        "--plot": plot is not None,
        "--train": train is not None,
    }
    for option, is_given in given.items():
        if is_given and option not in _OPTIONS[table]:
            raise ValueError(f"{option} is not for {table}, which has {', '.join(_OPTIONS[table])}; leave it out")
    if quick and seeds is not None:
        raise ValueError(f"--seeds is {seeds} and --quick means 2; leave out one of them")
    wanted = None if rows is None else [key.strip() for key in rows.split(",")]
    if table == "blogcatalog":
        _blogcatalog(wanted, seeds or 10, quick, train, keep, as_json)
    else:
        _citations(wanted, seeds or 10, quick, dataset, setting, curve, plot, keep, as_json)


def _blogcatalog(
    rows: list[str] | None, seeds: int, quick: bool, train: str | None, keep: Path | None, as_json: bool
) -> None:
    try:
        shares = None if train is None else [int(share) for share in train.split(",")]
    except ValueError:
        raise ValueError(f"--train is {train!r}; give whole numbers between 1 and 99, such as 20,50,80") from None
    keys = rows or list(blogcatalog.METHODS)
    blogcatalog.check(keys, shares or ())
    total = blogcatalog.count(keys, seeds, quick, shares)
    with download(quiet=as_json) as progress, bar(total, quiet=as_json) as step:
        result = blogcatalog.run(keys, seeds, quick, progress, step, Scores(keep), shares)
    if as_json:
        print_json(result.as_json())
    else:
        _show_labels(result)


def _citations(
    rows: list[str] | None,
    seeds: int,
    quick: bool,
    dataset: str,
    setting: str,
    curve: bool,
    plot: Path | None,
    keep: Path | None,
    as_json: bool,
) -> None:
    if setting not in (*pubmed.SETTINGS, "both"):
        raise ValueError(f"setting is {setting!r}; choose from {', '.join(pubmed.SETTINGS)}, both")
    if plot is not None and not curve:
        raise ValueError(f"--plot {plot} has nothing to draw; give --curve as well")
    if plot is not None:
        check_plot(plot)
    if curve and setting == "transductive":
        raise ValueError("--curve is of the inductive setting; leave out --setting transductive")
    keys = rows or list(pubmed.CURVE if curve else pubmed.METHODS)
    pubmed.check(keys, dataset)
    settings = [s for s in pubmed.SETTINGS if setting in (s, "both")]
    if not curve and not list(pubmed.cells(keys, settings)):
        raise ValueError(f"none of the rows {', '.join(keys)} can be run in the {setting} setting; choose another")
    total = pubmed.count(keys, seeds, quick, settings, curve)
    with download(quiet=as_json) as progress, bar(total, quiet=as_json) as step:
        scores = Scores(keep)
        if curve:
            result = pubmed.curve(keys, seeds, quick, progress, step, dataset, scores)
        else:
            result = pubmed.run(keys, seeds, quick, progress, step, dataset, scores, settings)
    if plot is not None:
        draw(result, plot)
    if as_json:
        print_json(result.as_json())
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
            line.append("n/a" if row is None else spread(row))
            if column[1] is None:
                line.append("" if row is None or row.paper is None else f"{row.paper:.3f}")
        seconds = sum(row.seconds for row in mine.values()) / len(mine)
        shown.add_row(*line, str(max(row.seeds for row in mine.values())), f"{seconds:.1f}")
    out.print(shown)
    _show_notes(table)


def _show_labels(table: Table) -> None:
    """A table for each protocol, threshold and score that people ask for; a column per training share."""
    wanted = (
        (
            "Macro-F1, independent decisions, threshold fixed at one half (the paper's)",
            "independent",
            "fixed",
            "macro_f1",
        ),
        ("Macro-F1, independent decisions, thresholds chosen on validation", "independent", "chosen", "macro_f1"),
        ("Macro-F1, top k: number of labels given away (not comparable)", "top_k", None, "macro_f1"),
        ("Micro-F1, top k", "top_k", None, "micro_f1"),
    )
    for title, protocol, threshold, metric in wanted:
        key = (protocol, threshold, metric)
        out.print(_by_share(title, [r for r in table.rows if (r.protocol, r.threshold, r.metric) == key]))
    out.print("Micro-F1 and recall of independent decisions are in --json.", highlight=False)
    _show_notes(table)


def _by_share(title: str, rows: Sequence[Row]) -> Shown:
    shown = Shown(title=title, title_justify="left")
    shown.add_column("method")
    published = any(row.paper is not None for row in rows)
    for share in dict.fromkeys(row.setting for row in rows):
        shown.add_column(share.replace("=", " ").replace("%", " %"), justify="right")
        if published:
            shown.add_column("paper", justify="right")
    for column in ("splits", "seconds a split"):
        shown.add_column(column, justify="right")
    for method in dict.fromkeys(row.method for row in rows):
        mine = [row for row in rows if row.method == method]
        line = [method]
        for row in mine:
            line.append(spread(row))
            if published:
                line.append("" if row.paper is None else f"{row.paper:.3f}")
        seconds = sum(row.seconds for row in mine) / len(mine)
        shown.add_row(*line, str(mine[0].seeds), f"{seconds:.1f}")
    return shown


def _show_notes(table: Table) -> None:
    for note in table.notes:
        out.print(f"- {note}", highlight=False)
