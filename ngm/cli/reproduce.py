"""`ngm reproduce`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.markup import escape

from ngm._spelling import nearest
from ngm.choices import Citations, Intents
from ngm.cli.experiment_tables import show_articles, show_blogcatalog, show_citations, show_intents
from ngm.cli.terminal import AsJson, Debug, app, bar, download, out, print_json

if TYPE_CHECKING:
    from ngm.experiments.table import Table

_OPTIONS = {
    "ag-news": ("--curve", "--plot"),
    "blogcatalog": ("--train",),
    "intents": ("--dataset",),
    "pubmed": ("--dataset", "--setting", "--curve", "--plot"),
}
_SEEDS = {"ag-news": 3, "blogcatalog": 10, "intents": 5, "pubmed": 10}


@app.command("reproduce")
def reproduce_command(
    table: Annotated[str, typer.Argument(help=f"One of: {', '.join(_OPTIONS)}.")],
    rows: Annotated[str | None, typer.Option(help="Rows to run, by key: ffnn,ngm. All where not given.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds per row (ag-news 3, intents 5, others 10); blogcatalog: splits.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two seeds, to see that it runs.")] = False,
    dataset: Annotated[
        str | None,
        typer.Option(
            help=f"pubmed: {', '.join(get_args(Citations))}; intents: {', '.join(get_args(Intents))}, or all."
        ),
    ] = None,
    setting: Annotated[str, typer.Option(help="pubmed: inductive, transductive, or both.")] = "both",
    curve: Annotated[bool, typer.Option("--curve", help="pubmed, ag-news: accuracy against labels.")] = False,
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
    if table not in _OPTIONS:
        raise ValueError(f"unknown table {table!r}{nearest(table, _OPTIONS)}; choose from {', '.join(_OPTIONS)}")
    given = {
        "--dataset": dataset is not None,
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
    count = seeds or _SEEDS[table]
    if plot is not None and not curve:
        raise ValueError(f"--plot {plot} has nothing to draw; give --curve as well")
    if plot is not None:
        from ngm.experiments.plot import check_plot

        check_plot(plot)
    if table == "blogcatalog":
        _blogcatalog(wanted, count, quick, train, keep, as_json)
    elif table == "ag-news":
        _articles(wanted, count, quick, curve, plot, keep, as_json)
    elif table == "intents":
        _intents(wanted, count, quick, dataset, keep, as_json)
    else:
        _citations(wanted, count, quick, dataset or "pubmed", setting, curve, plot, keep, as_json)


def _blogcatalog(
    rows: list[str] | None, seeds: int, quick: bool, train: str | None, keep: Path | None, as_json: bool
) -> None:
    from ngm.experiments.blogcatalog import protocol as blogcatalog
    from ngm.experiments.scores import Scores

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
        show_blogcatalog(result)


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
    from ngm.experiments.citations import protocol as pubmed
    from ngm.experiments.scores import Scores

    if setting not in (*pubmed.SETTINGS, "both"):
        raise ValueError(f"setting is {setting!r}; choose from {', '.join(pubmed.SETTINGS)}, both")
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
    _shown(result, lambda table: show_citations(table, dataset), plot, as_json)


def _articles(
    rows: list[str] | None, seeds: int, quick: bool, curve: bool, plot: Path | None, keep: Path | None, as_json: bool
) -> None:
    from ngm.experiments.ag_news import protocol as ag_news
    from ngm.experiments.scores import Scores

    ag_news.check(rows or ())
    total = ag_news.count(rows, seeds, quick, curve)
    with download(quiet=as_json) as progress, bar(total, quiet=as_json) as step:
        table = ag_news.curve if curve else ag_news.run
        result = table(rows, seeds, quick, progress, step, Scores(keep))
    _shown(result, show_articles, plot, as_json)


def _intents(
    rows: list[str] | None, seeds: int, quick: bool, dataset: str | None, keep: Path | None, as_json: bool
) -> None:
    from ngm.experiments.intents import protocol as intents
    from ngm.experiments.scores import Scores

    names = list(intents.DATASETS) if dataset in (None, "all") else [str(dataset)]
    keys = rows or list(intents.METHODS)
    intents.check(keys, names)
    total = intents.count(keys, seeds, quick, names)
    with download(quiet=as_json) as progress, bar(total, quiet=as_json) as step:
        result = intents.run(keys, seeds, quick, progress, step, Scores(keep), names)
    _shown(result, show_intents, None, as_json)


def _shown(table: Table, show: Callable[[Table], None], plot: Path | None, as_json: bool) -> None:
    """Draws the table if asked to, and prints it in one form or the other."""
    if plot is not None and table.rows:
        from ngm.experiments.plot import draw

        draw(replace(table, rows=[row for row in table.rows if row.metric == "accuracy"]), plot)
    if as_json:
        print_json(table.as_json())
        return
    show(table)
    if plot is not None and table.rows:
        out.print(f"Drawn in {escape(str(plot))}", highlight=False)
