"""`ngm predict`."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from ngm.cli.terminal import AsJson, Debug, Delimiter, Header, Step, app, bar, err, out, print_json

if TYPE_CHECKING:
    from ngm.workflow.prediction_result import PredictResult

_LINE_INTERVAL = 10.0  # seconds between lines where there is no terminal


@app.command("predict")
def predict_command(
    folder: Annotated[Path, typer.Argument(help="Run folder, from ngm train or NGMClassifier.save.")],
    source: Annotated[
        str,
        typer.Argument(
            help="A table: CSV, TSV, Parquet, JSON lines, a DuckDB query; a graph folder; or parts from ngm partition."
        ),
    ],
    text: Annotated[
        str | None, typer.Option(help="Column of texts; several as title,body.", show_default="as in ngm train")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File for the predictions: .csv, .parquet or .jsonl.")
    ] = Path("predictions.csv"),
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="Column of ids to keep.", show_default="as in ngm train"),
    ] = None,
    all_classes: Annotated[bool, typer.Option("--all", help="A column with the probability of each class.")] = False,
    top: Annotated[int, typer.Option(help="Number of most probable classes to write.")] = 1,
    label: Annotated[str | None, typer.Option(help="Column of true labels, to compute the accuracy.")] = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe", help="CSV only: put ' before texts that a spreadsheet would run as formulas."
        ),
    ] = False,
    header: Header = None,
    delimiter: Delimiter = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Predicts the class of each row of a table with its probability, or a number.

    Rows are read as they were in training, piece by piece: a table may be larger
    than memory. The network predicts without the graph. A run whose only input
    is the graph takes a table of links: a new node and a node of the
    training graph in each row. On a graph in parts, each of several processes
    predicts the nodes of its own parts, and the first one writes the file.

    Example:  ngm predict run/ new.csv -o classes.csv

    Example:  ngm predict run/ new.parquet --id key --all -o classes.parquet
    """
    from ngm.distributed import process_group
    from ngm.workflow.prediction import predict_with  # load torch; help and mistakes do without
    from ngm.workflow.prediction_result import PredictOptions

    options = PredictOptions(text, id_column, label, header, delimiter, all_classes, top, spreadsheet_safe)
    with process_group() as (rank, _):
        with _RowProgress(quiet=as_json or rank > 0) as progress:
            result = predict_with(folder, source, output, options, progress)
        if rank == 0:
            print_json(dict(result.summary)) if as_json else _show(result)


def _show(result: PredictResult) -> None:
    """Prints what was predicted, and where it is."""
    line = f"{result.count:,} {result.noun}: {result.description}"
    out.print(escape(line), highlight=False, soft_wrap=True)
    if result.score is not None:
        labeled = f"{result.num_labeled:,} labelled {result.noun}"
        out.print(f"{result.metric} {result.score:.3f} on {labeled}", highlight=False)
    for note in result.notes:
        err.print(f"[yellow]note:[/] {escape(note)}", highlight=False, soft_wrap=True)
    out.print(f"Predictions: {escape(str(result.output))}", highlight=False, soft_wrap=True)


class _RowProgress:
    """Shows how many rows are done: a bar on a terminal, else a line every ten seconds."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.bar = quiet, ExitStack()
        self.step: Step | None = None
        self.start = self.printed = time.monotonic()

    def __enter__(self) -> _RowProgress:
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()

    def __call__(self, done: int, total: int | None, noun: str) -> None:
        """So many are done."""
        now = time.monotonic()
        if self.step is None:
            self.step = self.bar.enter_context(bar(total or 0, self.quiet))
            self.start = self.printed = now
        elif not self.quiet and err.is_terminal:
            self.step.bar.update(self.step.task, completed=done, total=total or done, description="predicting")
        elif not self.quiet and now - self.printed >= _LINE_INTERVAL:
            self.printed = now
            time_left = "" if total is None else f", {(now - self.start) / done * (total - done):.0f} s left"
            total_text = "" if total is None else f" of {total:,}"
            err.print(f"{done:,}{total_text} {noun} predicted{time_left}", highlight=False, soft_wrap=True)
