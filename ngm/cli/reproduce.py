"""`ngm reproduce`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from ngm._spelling import nearest
from ngm.cli.terminal import AsJson, Debug, app, bar, download, out, print_json
from ngm.experiments.experiment import Choices
from ngm.experiments.registry import EXPERIMENTS


@app.command("reproduce")
def reproduce_command(
    table: Annotated[str, typer.Argument(help=f"One of: {', '.join(EXPERIMENTS)}.")],
    rows: Annotated[str | None, typer.Option(help="Rows to run, by key: ffnn,ngm; by default all.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds per row (ag-news 3, intents 5, others 10); blogcatalog: splits.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two seeds, for a quick test.")] = False,
    dataset: Annotated[
        str | None,
        typer.Option(
            help=f"pubmed: {', '.join(EXPERIMENTS['pubmed'].datasets)}; "
            f"intents: {', '.join(EXPERIMENTS['intents'].datasets)}, or all."
        ),
    ] = None,
    setting: Annotated[str, typer.Option(help="pubmed: inductive, transductive, or both.")] = "both",
    curve: Annotated[bool, typer.Option("--curve", help="pubmed, ag-news: accuracy against labels.")] = False,
    plot: Annotated[Path | None, typer.Option(help="With --curve: file for the plot (.svg, .png, .pdf).")] = None,
    train: Annotated[
        str | None, typer.Option(help="blogcatalog: percent of the nodes to train on; 20,50,80, or 50 with --quick.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="ag-news: steps for each seed, at most; by default those of the row.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="File for finished seeds; the same command then continues where it stopped.")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Reproduces a table of the paper, with the published figures beside ours.

    Example:  ngm reproduce pubmed --rows ffnn,ngm,ours --seeds 10
    """
    if table not in EXPERIMENTS:
        raise ValueError(f"unknown table {table!r}{nearest(table, EXPERIMENTS)}; choose from {', '.join(EXPERIMENTS)}")
    experiment = EXPERIMENTS[table]
    options = {
        "--dataset": dataset is not None,
        "--setting": setting != "both",
        "--curve": curve,
        "--plot": plot is not None,
        "--train": train is not None,
        "--steps": steps is not None,
    }
    for option, is_given in options.items():
        if is_given and option not in experiment.options:
            raise ValueError(f"{option} is not for {table}, which has {', '.join(experiment.options)}; leave it out")
    if quick and seeds is not None:
        raise ValueError(f"--seeds is {seeds} and --quick means 2; leave out one of them")
    if quick and steps is not None:
        raise ValueError(f"--steps is {steps} and --quick has its own; leave out one of them")
    row_keys = None if rows is None else [key.strip() for key in rows.split(",")]
    if plot is not None and not curve:
        raise ValueError(f"--plot {plot} has nothing to draw; give --curve as well")
    if plot is not None:
        from ngm.experiments.plot import check_plot

        check_plot(plot)
    choices = Choices(seeds or experiment.seeds, row_keys, quick, dataset, setting, curve, _shares(train), steps)
    _run(table, choices, plot, keep, as_json)


def _run(name: str, choices: Choices, plot: Path | None, keep: Path | None, as_json: bool) -> None:
    """Runs an experiment, draws its curve if `plot` is given, and prints its table or JSON."""
    from ngm.cli.experiment_tables import show
    from ngm.experiments.plot import draw
    from ngm.experiments.scores import Scores

    plan = EXPERIMENTS[name].plan(choices)
    with download(quiet=as_json) as progress, bar(plan.total, quiet=as_json) as step:
        table = plan.run(progress, step, Scores(keep))
    drawn = plot is not None and bool(table.rows)
    if plot is not None and drawn:
        draw(replace(table, rows=[row for row in table.rows if row.metric == "accuracy"]), plot)
    if as_json:
        print_json(table.as_json())
        return
    show(name, table, choices.dataset)
    if drawn:
        out.print(f"Drawn in {escape(str(plot))}", highlight=False)


def _shares(train: str | None) -> list[int] | None:
    """Percents as numbers."""
    try:
        return None if train is None else [int(share) for share in train.split(",")]
    except ValueError:
        raise ValueError(f"--train is {train!r}; give whole numbers between 1 and 99, such as 20,50,80") from None
