"""What `ngm train` is told: of the data, which `config.json` keeps, and of this one call."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, cast, get_args

import typer

from ngm._spelling import nearest
from ngm.choices import EncoderName, How

if TYPE_CHECKING:
    from ngm.io.run_folder import JSON

Task: TypeAlias = Literal["class", "number", "labels"]
Log: TypeAlias = Literal["csv", "tensorboard"]
HOW: tuple[str, ...] = get_args(How)
ENCODERS: tuple[str, ...] = get_args(EncoderName)
K, SEPARATOR, SHARE = 5, ";", 0.1
FEW_LABELS = 30  # a class, below which none are held out unless the user says so
_DATA, _GRAPH, _TRAINING, _OUTPUT = "Data", "Graph", "Training", "Output"


@dataclass(frozen=True)
class Told:
    """What is kept in `config.json` as `command`, so that a run can be repeated; None where not given."""

    source: Annotated[
        str | None,
        typer.Argument(
            help="A table (CSV, TSV, Parquet, JSON lines, a DuckDB query), or a graph folder from ngm build or ingest.",
            show_default=False,
        ),
    ] = None
    text: Annotated[str | None, typer.Option(help="Column of texts; several as title,body.", rich_help_panel=_DATA)] = (
        None
    )
    encoder: Annotated[
        str | None,
        typer.Option(
            help=f"What makes vectors of texts: {', '.join(ENCODERS)}; tfidf: none, the words as they are.",
            show_default="minilm where it can be had",
            rich_help_panel=_DATA,
        ),
    ] = None
    columns: Annotated[
        str | None, typer.Option(help="Columns of numbers, or of lists of numbers: age,vector.", rich_help_panel=_DATA)
    ] = None
    input: Annotated[
        str | None,
        typer.Option(help=f"Learn from the graph itself, as: {', '.join(HOW)}.", rich_help_panel=_DATA),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            help="Column of what is to be learned; a row without a value is unlabelled.",
            show_default="that of the graph folder",
            rich_help_panel=_DATA,
        ),
    ] = None
    task: Annotated[
        str | None,
        typer.Option(help="class, number, or labels (several a row).", show_default="found out", rich_help_panel=_DATA),
    ] = None
    label_separator: Annotated[
        str | None,
        typer.Option(
            help="What stands between the labels of a row.",
            show_default=f"{SEPARATOR} with --task labels",
            rich_help_panel=_DATA,
        ),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(
            help="Column of ids: rows go to the nodes of --graph by them, and the report names rows by them.",
            show_default="that of the graph folder, or id",
            rich_help_panel=_DATA,
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line has names; else found out.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(help="What separates the fields; else found out.", rich_help_panel=_DATA)
    ] = None
    validation_column: Annotated[
        str | None,
        typer.Option(
            help="Column that marks rows as 'train', 'validation' or 'test', or validation rows as true.",
            rich_help_panel=_DATA,
        ),
    ] = None
    graph: Annotated[
        str | None,
        typer.Option(
            help="Graph folder over the rows of the table, from ngm build; else one is made.", rich_help_panel=_GRAPH
        ),
    ] = None
    no_graph: Annotated[
        bool | None,
        typer.Option(
            "--no-graph", help="Train on the labelled rows alone.", show_default=False, rich_help_panel=_GRAPH
        ),
    ] = None
    k: Annotated[
        int | None,
        typer.Option(
            "-k", help="Neighbours of a row in the graph that is made.", show_default=str(K), rich_help_panel=_GRAPH
        ),
    ] = None
    vectors: Annotated[
        str | None,
        typer.Option(
            help="Word vectors (GloVe, word2vec, .npz): for the graph that is made, for lstm, for teachers of charcnn.",
            rich_help_panel=_GRAPH,
        ),
    ] = None
    control: Annotated[
        bool | None,
        typer.Option(
            "--control/--no-control",
            help="Train again without the graph, and show both.",
            show_default="no",
            rich_help_panel=_TRAINING,
        ),
    ] = None
    seeds: Annotated[
        int | None,
        typer.Option(
            help="With --control: repeat both with so many seeds; the first run is kept.",
            show_default="1",
            rich_help_panel=_TRAINING,
        ),
    ] = None

    def as_json(self) -> dict[str, JSON]:
        """What was given, for `config.json`."""
        return {name: value for name, value in cast("dict[str, JSON]", asdict(self)).items() if value is not None}

    @property
    def noun(self) -> str:
        """What a row is called."""
        return "texts" if self.text is not None else "nodes" if self.input is not None else "rows"


@dataclass(frozen=True)
class Call:
    """What holds for one call only, or is kept elsewhere: alphas are settings."""

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


def check_words(told: Told, call: Call) -> None:
    """Refuses words that are none of those to choose from."""
    chosen = [("--task", told.task, get_args(Task)), ("--input", told.input, HOW)]
    chosen += [("--encoder", told.encoder, ENCODERS)]
    chosen += [("--log", log, get_args(Log)) for log in call.log or []]
    for option, value, known in chosen:
        if value is not None and value not in known:
            raise ValueError(f"{option} is {value!r}{nearest(value, known)}; choose from {', '.join(known)}")
    if told.seeds is not None and told.seeds < 1:
        raise ValueError(f"--seeds is {told.seeds}; give a whole number of at least 1")
    if told.label_separator == "":
        raise ValueError("--label-separator is empty; give what stands between labels, such as ;")
