"""The options of `ngm train` for typer: help, panels and defaults as help shows them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from inspect import Parameter
from pathlib import Path
from typing import Annotated, get_type_hints

import typer
from typer.models import ParameterInfo

from ngm.workflow.options import ENCODERS, HOW, SEPARATOR, K, TrainOptions

_DATA, _GRAPH, _TRAINING, _OUTPUT = "Data", "Graph", "Training", "Output"
_OPTIONS: dict[str, ParameterInfo] = {
    "source": typer.Argument(
        help="A table (CSV, TSV, Parquet, JSON lines, a DuckDB query), or a graph folder from ngm build or ingest.",
        show_default=False,
    ),
    "text": typer.Option(help="Column of texts; several as title,body.", rich_help_panel=_DATA),
    "encoder": typer.Option(
        help=f"What makes vectors of texts: {', '.join(ENCODERS)}; tfidf: none, the words as they are.",
        show_default="minilm where it can be had",
        rich_help_panel=_DATA,
    ),
    "columns": typer.Option(help="Columns of numbers, or of lists of numbers: age,vector.", rich_help_panel=_DATA),
    "input": typer.Option(help=f"Learn from the graph itself, as: {', '.join(HOW)}.", rich_help_panel=_DATA),
    "label": typer.Option(
        help="Column of what is to be learned; a row without a value is unlabelled.",
        show_default="that of the graph folder",
        rich_help_panel=_DATA,
    ),
    "task": typer.Option(
        help="class, number, or labels (several a row).", show_default="detected", rich_help_panel=_DATA
    ),
    "label_separator": typer.Option(
        help="What stands between the labels of a row.",
        show_default=f"{SEPARATOR} with --task labels",
        rich_help_panel=_DATA,
    ),
    "id": typer.Option(
        help="Column of ids: rows go to the nodes of --graph by them, and the report names rows by them.",
        show_default="that of the graph folder, or id",
        rich_help_panel=_DATA,
    ),
    "header": typer.Option(
        "--header/--no-header",
        help="Whether the first line has names; detected by default.",
        show_default=False,
        rich_help_panel=_DATA,
    ),
    "delimiter": typer.Option(help="What separates the fields; detected by default.", rich_help_panel=_DATA),
    "validation_column": typer.Option(
        help="Column that marks rows as 'train', 'validation' or 'test', or validation rows as true.",
        rich_help_panel=_DATA,
    ),
    "graph": typer.Option(
        help="Graph folder over the rows of the table, from ngm build; else one is made.", rich_help_panel=_GRAPH
    ),
    "no_graph": typer.Option(
        "--no-graph", help="Train on the labelled rows alone.", show_default=False, rich_help_panel=_GRAPH
    ),
    "k": typer.Option(
        "-k", help="Neighbours of a row in the graph that is made.", show_default=str(K), rich_help_panel=_GRAPH
    ),
    "vectors": typer.Option(
        help="Word vectors (GloVe, word2vec, .npz): for the graph that is made, for lstm, for teachers of charcnn.",
        rich_help_panel=_GRAPH,
    ),
    "control": typer.Option(
        "--control/--no-control",
        help="Train again without the graph, and show both.",
        show_default="no",
        rich_help_panel=_TRAINING,
    ),
    "seeds": typer.Option(
        help="With --control: repeat both with so many seeds; the first run is kept.",
        show_default="1",
        rich_help_panel=_TRAINING,
    ),
}


@dataclass(frozen=True)
class CallOptions:
    """Options of one call, which `config.json` does not keep as `command`: alphas are settings."""

    alpha: Annotated[
        float | None,
        typer.Option(help="Weight of the graph, for all kinds of edges.", rich_help_panel=_GRAPH),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the run in the folder, if there is one.", rich_help_panel=_TRAINING),
    ] = False
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run in the folder.", rich_help_panel=_TRAINING)
    ] = False
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Read and check everything, say what would happen, write nothing.",
            rich_help_panel=_TRAINING,
        ),
    ] = False
    log: Annotated[
        list[str] | None,
        typer.Option(
            help="Log every epoch into the run folder as well: csv, tensorboard.",
            show_default=False,
            rich_help_panel=_TRAINING,
        ),
    ] = None
    config: Annotated[
        Path | None,
        typer.Option(
            help="A run folder or its config.json: train as it was, but for what else is given here.",
            rich_help_panel=_TRAINING,
        ),
    ] = None
    output: Annotated[Path, typer.Option("--output", "-o", help="Run folder.", rich_help_panel=_OUTPUT)] = Path("run")
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html.", rich_help_panel=_OUTPUT)
    ] = True
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON on standard output and nothing else there.", rich_help_panel=_OUTPUT),
    ] = False
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the code an error arose.", rich_help_panel=_OUTPUT)
    ] = False


def train_options() -> list[Parameter]:
    """An option for each field of `TrainOptions`, in their order."""
    hints = get_type_hints(TrainOptions)
    return [
        Parameter(
            f.name,
            Parameter.KEYWORD_ONLY,
            default=f.default,
            annotation=Annotated[hints[f.name], _OPTIONS[f.name]],
        )
        for f in fields(TrainOptions)
    ]
