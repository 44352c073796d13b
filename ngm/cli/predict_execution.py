"""`ngm predict` once its options are read: rows in, predictions out, what there is to tell of them."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from rich.markup import escape

from ngm._spelling import first_of
from ngm.cli.terminal import Step, bar, err, out, print_json
from ngm.estimators.base import NGMEstimator
from ngm.estimators.persistence import load
from ngm.features import Features, RowIssue
from ngm.features.feature_rows import NO_INPUT, format_issue
from ngm.features.features import Strings
from ngm.io.files import is_graph_folder, temporary_path
from ngm.io.run_folder import JSON, Run
from ngm.io.tables.stream import Stream
from ngm.text.readers import UnreadTextsWarning, reads_texts
from ngm.workflow.prediction_files import check_output, written
from ngm.workflow.prediction_items import Asked, Batch, Items, items_of, opened
from ngm.workflow.predictions import Predicted, predicted

_AT_ONCE = 4096  # rows
_EVERY = 10.0  # seconds between lines where there is no terminal


@dataclass(frozen=True)
class Reading:
    """How the table is read; None where it is as in training.

    Args:
        text: Columns of texts.
        id_column: Column of ids.
        label: Column of true labels.
        header: Whether the first line has names.
        delimiter: What separates fields.
    """

    text: str | None
    id_column: str | None
    label: str | None
    header: bool | None
    delimiter: str | None


@dataclass(frozen=True)
class Writing:
    """What is written.

    Args:
        output: File of the predictions.
        every: Whether each class has a column with its probability.
        top: So many of the most probable classes.
        spreadsheet_safe: Whether texts that look like formulas are marked.
        as_json: Whether JSON is printed, and nothing else.
    """

    output: Path
    every: bool
    top: int
    spreadsheet_safe: bool
    as_json: bool


def execute(folder: Path, source: str, reading: Reading, writing: Writing) -> None:
    """Predicts the rows of a table or the nodes of a graph folder piece by piece, and prints what was predicted.

    Args:
        folder: Run folder.
        source: The table or graph folder.
        reading: How it is read.
        writing: Where predictions go.
    """
    start, output = time.perf_counter(), writing.output
    check_output(output, source, writing.spreadsheet_safe)
    model, data = load(folder), _data_of(folder)
    names, separator = cast("list[str] | None", data.get("label_names")), str(data.get("label_separator") or ";")
    found = predicted(model, writing.every, writing.top, names, separator)
    with _spill(output) as spill:
        asked = Asked(
            reading.id_column,
            reading.label,
            cast("str | None", data.get("id")),
            reading.delimiter,
            reading.header,
            spill,
        )
        items = _items(folder, source, model, reading.text or cast("str | None", data.get("text")), reading.text, asked)
        told = _Told(items, found, reading.label)
        _check_key(items, found, reading.id_column)
        with (
            _Rows(items, quiet=writing.as_json) as moved,
            written(output, [items.key, *found.columns], writing.spreadsheet_safe) as write,
        ):
            for batch in items.batches(_AT_ONCE):
                write([batch.ids, *told.take(model, batch)])
                moved(told.count)
    if writing.as_json:
        print_json({"predictions": str(output), **told.as_json(time.perf_counter() - start)})
        return
    _show(told, output)


@contextmanager
def _spill(output: Path) -> Iterator[Path]:
    """A place beside the output for what does not fit into memory."""
    spill = temporary_path(output, "spill")
    try:
        yield spill
    finally:
        shutil.rmtree(spill, ignore_errors=True)


# What is read


def _data_of(folder: Path) -> dict[str, JSON]:
    """What `ngm train` was told of the data; nothing where a run was trained in Python."""
    run = Run.open(folder)
    data = run.read("metrics.json").get("data")
    if data is None and "command" in run.read("config.json"):
        raise ValueError(
            f"{folder} has no account of its data: ngm train was killed before it was done; run the same command again "
            "with --resume"
        )
    return data if isinstance(data, dict) else {}


def _items(folder: Path, source: str, model: NGMEstimator, text: str | None, said: str | None, asked: Asked) -> Items:
    features = Features.open(Run.open(folder))
    if features is not None and features.nodes is not None and is_graph_folder(source):
        _refuse_text(folder, features, said)
        return items_of(source, None, features, asked)
    if features is None and not reads_texts(model.network):
        raise ValueError(
            f"{folder} was trained in Python, and nothing in it says how x is made from a table; use "
            f"ngm.load({str(folder)!r}).predict(x)"
        )
    stream = opened(source, asked)
    if features is None:
        if text is None:
            raise ValueError(f"give --text; the columns of {stream.name} are {', '.join(stream.query.columns)}")
        features = Features("text", Strings(_names(text, stream)))
    elif said is not None:
        _refuse_text(folder, features, said)
        features = replace(features, part=replace(features.part, names=_names(said, stream)))  # type: ignore[type-var]
    _check_width(folder, features, model)
    return items_of(source, stream, features, asked)


def _names(given: str, stream: Stream) -> tuple[str, ...]:
    """The columns that a user named, several of them with commas between."""
    return (given,) if given in stream.query.columns else tuple(name.strip() for name in given.split(","))


def _refuse_text(folder: Path, features: Features, said: str | None) -> None:
    if said is not None and features.kind not in ("text", "words", "vectors"):
        reads = "the graph" if features.kind == "graph" else f"the columns {', '.join(features.names)}"
        raise ValueError(f"--text is {said!r}, but {folder} reads {reads}; leave it out")


def _check_width(folder: Path, features: Features, model: NGMEstimator) -> None:
    width = getattr(model, "n_features_in_", None)
    if features.width is not None and width is not None and features.width != width:
        raise ValueError(
            f"{folder}/features.json makes rows of {features.width:,} numbers, the network takes {width:,}; train again"
        )


def _check_key(items: Items, found: Predicted, id_column: str | None) -> None:
    key = items.key.name
    if key in [column.name for column in found.columns]:
        said = f"--id is {key!r}" if id_column else f"ids are in column {key!r}"
        raise ValueError(f"{said}, which is what a column of the output is called; give another column as --id")


# What is told


@dataclass
class _Told:
    """What was predicted so far, and what there is to say of it."""

    items: Items
    found: Predicted
    label: str | None
    count: int = 0
    odd: dict[tuple[str, str], tuple[int, list[object]]] = field(default_factory=dict)

    def take(self, model: NGMEstimator, batch: Batch) -> list[Sequence[object]]:
        """Columns of the output for some more rows."""
        made = batch.made
        some = list(made.issues)
        if isinstance(made.x, list):
            silent = model.reader_.unread(model.reader_.read(made.x))
            some += [RowIssue(silent + self.count, f"have no {model.reader_.knows}", NO_INPUT)] if len(silent) else []
        for odd in some:
            self._note(odd, batch)
        self.count += len(batch.ids)
        with warnings.catch_warnings():  # told at the end, with the numbers that the rows have in the table
            warnings.simplefilter("ignore", UnreadTextsWarning)
            return self.found.take(made.x, batch.truth)

    def _note(self, odd: RowIssue, batch: Batch) -> None:
        count, first = self.odd.get((odd.condition, odd.consequence), (0, []))
        rows = odd.rows[: 3 - len(first)].tolist()
        shown = [batch.ids[row] for row in rows] if self.items.things == "nodes" else rows
        self.odd[odd.condition, odd.consequence] = (count + len(odd.rows), [*first, *shown])

    def notes(self) -> list[str]:
        """Which rows tell nothing, lines that did not fit, labels that are none."""
        things = self.items.things
        found = [format_issue(n, self.count, first, things, *why) for why, (n, first) in self.odd.items()]
        if self.found.strange:
            shown = first_of([repr(name) for name in self.found.strange])
            found.append(f"the run knows no such labels as {shown} of column {self.label!r}; they count as wrong")
        if self.label is not None and not self.found.score()[2]:
            found.append(f"column {self.label!r} has no label in any row, so nothing can be compared")
        return found + self.items.notes()

    def as_json(self, seconds: float) -> dict[str, JSON]:
        """Counts, the score and the notes."""
        name, score, known = self.found.score()
        scored: dict[str, JSON] = {} if self.label is None else {_json_name(name): score, "labeled": known}
        said: dict[str, JSON] = {self.items.things: self.count, **self.found.as_json(), **scored}
        return {**said, "seconds": round(seconds, 3), "notes": list(self.notes())}


def _json_name(score: str) -> str:
    return score.lower().replace("-", "_")


def _show(told: _Told, output: Path) -> None:
    said = f"{told.count:,} {told.items.things}: {told.found.summary()}"
    out.print(escape(said), highlight=False, soft_wrap=True)
    name, score, known = told.found.score()
    if told.label is not None and score is not None:
        out.print(f"{name} {score:.3f} on {known:,} labelled {told.items.things}", highlight=False)
    for note in told.notes():
        err.print(f"[yellow]note:[/] {escape(note)}", highlight=False, soft_wrap=True)
    out.print(f"Predictions: {escape(str(output))}", highlight=False, soft_wrap=True)


class _Rows:
    """Shows how many rows are done: a bar on a terminal, else a line now and then."""

    def __init__(self, items: Items, quiet: bool) -> None:
        self.items, self.quiet = items, quiet
        self.start = self.said = time.monotonic()

    def __enter__(self) -> _Rows:
        self.bar = bar(self.items.total or 0, self.quiet)
        self.step: Step = self.bar.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.__exit__(None, None, None)

    def __call__(self, done: int) -> None:
        """So many are done."""
        total, now = self.items.total, time.monotonic()
        if not self.quiet and err.is_terminal:
            self.step.bar.update(self.step.task, completed=done, total=total or done, description="predicting")
        elif not self.quiet and now - self.said >= _EVERY:
            self.said = now
            left = "" if total is None else f", {(now - self.start) / done * (total - done):.0f} s left"
            of = "" if total is None else f" of {total:,}"
            err.print(f"{done:,}{of} {self.items.things} predicted{left}", highlight=False, soft_wrap=True)
