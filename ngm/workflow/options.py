"""Options of a training from tables, as plain records: what is read, how it is trained on, where the run goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from ngm._spelling import nearest
from ngm.choices import EncoderName, How

if TYPE_CHECKING:
    from ngm.io.run_folder import JSON

Task: TypeAlias = Literal["class", "number", "labels"]
Log: TypeAlias = Literal["csv", "tensorboard"]
HOW: tuple[str, ...] = get_args(How)
ENCODERS: tuple[str, ...] = get_args(EncoderName)
ALPHAS = ("alpha_ll", "alpha_lu", "alpha_uu")
OF_EDGES = ("distance", "influence", "negatives", "margin", "scaling")  # which edges with an alpha above 0 have
K, SEPARATOR = 5, ";"


@dataclass(frozen=True)
class TrainOptions:
    """What to read and what to learn; `config.json` keeps it as `command`. None where not given.

    Args:
        source: A table (CSV, TSV, Parquet, JSON lines, a DuckDB query), or a graph folder.
        text: Column of texts; several as `title,body`.
        encoder: What makes vectors of texts: one of `ENCODERS`; by default the best that is available.
        columns: Columns of numbers, or of lists of numbers, separated by commas.
        input: Learn from the graph itself: one of `HOW`.
        label: Column to learn; a row without a value is unlabelled.
        task: "class", "number" or "labels" (several per row); detected by default.
        label_separator: Separates the labels of a row.
        id: Column of ids.
        header: Whether the first line of a text file has names; detected by default.
        delimiter: Separates the fields of a text file; detected by default.
        validation_column: Column that marks rows as 'train', 'validation' or 'test'.
        graph: Graph folder over the rows of the table; by default each row is joined to the rows most like it.
        no_graph: Train on the labelled rows alone.
        k: Neighbours per row in the graph that is made.
        vectors: File of word vectors.
        control: Train again without the graph, for comparison.
        seeds: Repeat both trainings of the comparison with this many seeds.
    """

    source: str | None = None
    text: str | None = None
    encoder: str | None = None
    columns: str | None = None
    input: str | None = None
    label: str | None = None
    task: str | None = None
    label_separator: str | None = None
    id: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    validation_column: str | None = None
    graph: str | None = None
    no_graph: bool | None = None
    k: int | None = None
    vectors: str | None = None
    control: bool | None = None
    seeds: int | None = None

    def as_json(self) -> dict[str, JSON]:
        """The options that were given, for `config.json`."""
        return {name: value for name, value in cast("dict[str, JSON]", asdict(self)).items() if value is not None}

    @property
    def noun(self) -> str:
        """What a row is called."""
        return "texts" if self.text is not None else "nodes" if self.input is not None else "rows"


@dataclass(frozen=True)
class TrainRequest:
    """A training with all its options.

    Args:
        options: What to read and what to learn.
        settings: Fields of the estimator that are not to have their default.
        output: Run folder.
        resume: Go on with the run in that folder, if there is one.
        overwrite: Replace the run in that folder.
        dry_run: Whether the request is for `dry_run`, which writes nothing.
        log: Further logs of every epoch in the run folder: "csv", "tensorboard".
        report: Write `report.html`.
        trusted: Whether the user named the source; that of a file may be somebody else's. See `ngm.read_table`.
    """

    options: TrainOptions
    settings: Mapping[str, object] = field(default_factory=dict)
    output: Path = Path("run")
    resume: bool = False
    overwrite: bool = False
    dry_run: bool = False
    log: Sequence[str] = ()
    report: bool = True
    trusted: bool = True


def check_choices(request: TrainRequest) -> None:
    """Refuses words that are none of those to choose from."""
    options = request.options
    chosen = [("--task", options.task, get_args(Task)), ("--input", options.input, HOW)]
    chosen += [("--encoder", options.encoder, ENCODERS)]
    chosen += [("--log", log, get_args(Log)) for log in request.log]
    for option, value, known in chosen:
        if value is not None and value not in known:
            raise ValueError(f"{option} is {value!r}{nearest(value, known)}; choose from {', '.join(known)}")
    if options.seeds is not None and options.seeds < 1:
        raise ValueError(f"--seeds is {options.seeds}; give a whole number of at least 1")
    if options.label_separator == "":
        raise ValueError("--label-separator is empty; give what stands between labels, such as ;")
