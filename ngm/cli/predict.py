"""`ngm predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngm.cli.terminal import AsJson, Debug, Delimiter, Header, app


@app.command("predict")
def predict_command(
    folder: Annotated[Path, typer.Argument(help="Run folder, from ngm train or NGMClassifier.save.")],
    source: Annotated[
        str, typer.Argument(help="A table: CSV, TSV, Parquet, JSON lines, a DuckDB query; or a graph folder.")
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
    every: Annotated[bool, typer.Option("--all", help="A column with the probability of each class.")] = False,
    top: Annotated[int, typer.Option(help="So many of the most probable classes.")] = 1,
    label: Annotated[str | None, typer.Option(help="Column of true labels, to tell the accuracy.")] = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option("--spreadsheet-safe", help="Of .csv: put ' before texts that a spreadsheet takes for formulas."),
    ] = False,
    header: Header = None,
    delimiter: Delimiter = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Gives each row of a table its class and how probable it is, or its number.

    Rows are read as they were in training, piece by piece: a table may be larger
    than memory. The network predicts alone, without the graph. A run that reads
    nothing but the graph takes a table of links: a new node and a node of the
    training graph in each row.

    Example:  ngm predict run/ new.csv -o classes.csv

    Example:  ngm predict run/ new.parquet --id key --all -o classes.parquet
    """
    from ngm.cli.predict_execution import Reading, Writing, execute

    execute(
        folder,
        source,
        Reading(text, id_column, label, header, delimiter),
        Writing(output, every, top, spreadsheet_safe, as_json),
    )
