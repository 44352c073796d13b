"""Predictions for a table or a graph folder, written to a file: what `ngm predict` does, for Python."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

from ngm.estimators.base import NGMEstimator
from ngm.estimators.loading import load
from ngm.features import Features
from ngm.features.features import Strings
from ngm.io.files import is_graph_folder, temporary_path
from ngm.io.run_folder import JSON, Run
from ngm.io.tables.stream import Stream
from ngm.networks.specifications import network_of
from ngm.partition.part_folder import is_partition
from ngm.workflow.part_prediction import predict_parts
from ngm.workflow.prediction_files import check_output, written
from ngm.workflow.prediction_items import Items, SourceOptions, items_of, opened
from ngm.workflow.prediction_result import OnRows, PredictionProgress, PredictOptions, PredictResult
from ngm.workflow.predictions import Predicted, predicted

_BATCH_SIZE = 4096  # rows


def predict(
    run: str | Path,
    source: str | Path,
    output: str | Path = "predictions.csv",
    *,
    text: str | None = None,
    id: str | None = None,
    label: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    all_classes: bool = False,
    top: int = 1,
    spreadsheet_safe: bool = False,
    on_rows: OnRows | None = None,
) -> PredictResult:
    """Gives each row of a table its class and how probable it is, or its number, and writes a file of them.

    This is `ngm predict`: rows are read as they were in training, piece by piece, so a table may be larger than memory.
    The network predicts alone, without the graph. A run that reads nothing but the graph takes a table of links: a new
    node and a node of the training graph in each row.

    Args:
        run: Run folder, from `train` or `NGMClassifier.save`.
        source: A table of n rows (CSV, TSV, Parquet, JSON lines, a DuckDB query), or a graph folder with n nodes.
        output: File for the n predictions: .csv, .parquet or .jsonl.
        text: Columns of texts; as in training by default.
        id: Column of ids to keep; as in training by default.
        label: Column of true labels, to compare with.
        header: Whether the first line of a text file has names; detected by default.
        delimiter: Separates the fields of a text file; detected by default.
        all_classes: Add a column with the probability of each class.
        top: So many of the most probable classes.
        spreadsheet_safe: Of .csv: put ' before texts that a spreadsheet takes for formulas.
        on_rows: Called every few thousand rows.

    Returns:
        Where the predictions are, how many, and how good where that is known.
    """
    options = PredictOptions(text, id, label, header, delimiter, all_classes, top, spreadsheet_safe)
    return predict_with(Path(run), str(source), Path(output), options, on_rows)


def predict_with(
    folder: Path, source: str, output: Path, options: PredictOptions, on_rows: OnRows | None = None
) -> PredictResult:
    """Predicts as `predict` does, with the options in a record."""
    if is_partition(source):
        return predict_parts(folder, source, output, options, on_rows)
    started = time.perf_counter()
    check_output(output, source, options.spreadsheet_safe)
    model, data = load(folder), training_record(folder)
    names, separator = cast("list[str] | None", data.get("label_names")), str(data.get("label_separator") or ";")
    predictions = predicted(model, options.all_classes, options.top, names, separator)
    with _spill(output) as spill:
        trained_id = cast("str | None", data.get("id"))
        read = SourceOptions(options.id, options.label, trained_id, options.delimiter, options.header, spill)
        trained_text = cast("str | None", data.get("text"))
        items = _open_items(folder, source, model, options.text or trained_text, options.text, read)
        progress = PredictionProgress(items.things, predictions, options.label)
        _check_key(items, predictions, options.id)
        if on_rows is not None:
            on_rows(0, items.total, items.things)
        with written(output, [items.key, *predictions.columns], options.spreadsheet_safe) as write:
            for batch in items.batches(_BATCH_SIZE):
                write([batch.ids, *progress.predict(model, batch)])
                if on_rows is not None:
                    on_rows(progress.count, items.total, items.things)
    return progress.result(output, time.perf_counter() - started, items.notes())


@contextmanager
def _spill(output: Path) -> Iterator[Path]:
    """A place beside the output for what does not fit into memory."""
    spill = temporary_path(output, "spill")
    try:
        yield spill
    finally:
        shutil.rmtree(spill, ignore_errors=True)


# What is read


def training_record(folder: Path) -> dict[str, JSON]:
    """What `ngm train` knew of the data; nothing where a run was trained in Python."""
    run = Run.open(folder)
    data = run.read("metrics.json").get("data")
    if data is None and "command" in run.read("config.json"):
        raise ValueError(
            f"{folder} has no account of its data: ngm train was killed before it was done; run the same command again "
            "with --resume"
        )
    return data if isinstance(data, dict) else {}


def _open_items(
    folder: Path, source: str, model: NGMEstimator, text: str | None, given: str | None, read: SourceOptions
) -> Items:
    """What is predicted; `text` are the columns of texts to read, `given` those that the user named."""
    features = Features.open(Run.open(folder))
    if features is not None and features.nodes is not None and is_graph_folder(source):
        _refuse_text(folder, features, given)
        return items_of(source, None, features, read)
    if features is None and not network_of(model.network).reads_texts:
        raise ValueError(
            f"{folder} was trained in Python, and nothing in it says how x is made from a table; use "
            f"ngm.load({str(folder)!r}).predict(x)"
        )
    stream = opened(source, read)
    if features is None:
        if text is None:
            raise ValueError(f"give --text; the columns of {stream.name} are {', '.join(stream.query.columns)}")
        features = Features("text", Strings(_names(text, stream)))
    elif given is not None:
        _refuse_text(folder, features, given)
        features = replace(features, part=replace(features.part, names=_names(given, stream)))  # type: ignore[type-var]
    _check_width(folder, features, model)
    return items_of(source, stream, features, read)


def _names(given: str, stream: Stream) -> tuple[str, ...]:
    """The columns that a user named, several of them with commas between."""
    return (given,) if given in stream.query.columns else tuple(name.strip() for name in given.split(","))


def _refuse_text(folder: Path, features: Features, given: str | None) -> None:
    if given is not None and features.kind not in ("text", "words", "vectors"):
        reads = "the graph" if features.kind == "graph" else f"the columns {', '.join(features.names)}"
        raise ValueError(f"--text is {given!r}, but {folder} reads {reads}; leave it out")


def _check_width(folder: Path, features: Features, model: NGMEstimator) -> None:
    width = getattr(model, "n_features_in_", None)
    if features.width is not None and width is not None and features.width != width:
        raise ValueError(
            f"{folder}/features.json makes rows of {features.width:,} numbers, the network takes {width:,}; train again"
        )


def _check_key(items: Items, predictions: Predicted, id_column: str | None) -> None:
    key = items.key.name
    if key in [column.name for column in predictions.columns]:
        named = f"--id is {key!r}" if id_column else f"ids are in column {key!r}"
        raise ValueError(f"{named}, which is what a column of the output is called; give another column as --id")
