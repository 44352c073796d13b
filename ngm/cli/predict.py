"""`ngm predict`."""

from __future__ import annotations

import csv
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import typer
from numpy.typing import NDArray
from rich.markup import escape

from ngm.build.reading import column_texts
from ngm.cli.terminal import AsJson, Debug, Delimiter, Header, app, bar, err, out, print_json
from ngm.cli.train import bad_lines, column_names, labels_of
from ngm.files import beside, file_written_whole
from ngm.methods.classifier import NGMClassifier
from ngm.methods.readers import reads_texts, row_list
from ngm.methods.saving import load
from ngm.methods.targets import unlabeled_rows
from ngm.run import JSON, Run
from ngm.tables import Table, read_table
from ngm.tables.ingest import copy_to
from ngm.tables.query import connect, escaped, quoted

_AT_ONCE = 4096  # texts
_Write = Callable[[Sequence[object], Sequence[object], Sequence[float]], None]
_PARQUET = (".parquet", ".pq")


@app.command("predict")
def predict_command(
    folder: Annotated[Path, typer.Argument(help="Run folder, from ngm train or NGMClassifier.save.")],
    source: Annotated[str, typer.Argument(help="A table of texts: CSV, TSV, Parquet, JSON lines, a DuckDB query.")],
    text: Annotated[
        str | None, typer.Option(help="Column of texts; several as title,body.", show_default="as in ngm train")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the classes: .csv or .parquet.")] = Path(
        "predictions.csv"
    ),
    id_column: Annotated[str | None, typer.Option("--id", help="Column of ids to keep; else rows by number.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of true labels, to tell the accuracy.")] = None,
    header: Header = None,
    delimiter: Delimiter = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Gives each text of a table its class and how probable it is, by a trained network alone.

    Example:  ngm predict run/ new.csv --text body --id id -o classes.csv
    """
    start = time.perf_counter()
    _check_output(output, source)
    model, names = _loaded(folder), text or _trained_on(folder)
    table = read_table(source, delimiter, header)
    if names is None:
        raise ValueError(f"give --text; the columns of {table.name} are {', '.join(table.columns)}")
    key = _key(table, id_column)
    found = _Found()
    with (
        bar(-(-len(table) // _AT_ONCE), quiet=as_json) as step,
        _written(output, key, _type(table, id_column), model) as write,
    ):
        for first in range(0, len(table), _AT_ONCE):
            step("reading texts")
            some = replace(table, sql=f"SELECT * FROM ({table.sql}) LIMIT {_AT_ONCE} OFFSET {first}")
            texts = column_texts(some, column_names(names, table))
            shares = found.take(model, texts, None if label is None else labels_of(some, label))
            ids = list(range(first, first + len(texts))) if id_column is None else some.column(id_column).tolist()
            write(ids, model.classes_[shares.argmax(axis=1)].tolist(), shares.max(axis=1).tolist())
    notes = found.notes(model) + bad_lines(table)
    if as_json:
        counts: JSON = {str(name): found.classes[name] for name in model.classes_.tolist()}
        said: dict[str, JSON] = {"predictions": str(output), "texts": len(table), "classes": counts}
        seconds = round(time.perf_counter() - start, 3)
        print_json({**said, "accuracy": found.accuracy(), "seconds": seconds, "notes": list(notes)})
        return
    shown = ", ".join(f"{name} {found.classes[name]:,}" for name in model.classes_.tolist())
    out.print(escape(f"{len(table):,} texts: {shown}"), highlight=False, soft_wrap=True)
    if label is not None:
        out.print(f"accuracy {found.accuracy() or 0:.3f} on {found.known:,} labelled texts", highlight=False)
    for note in notes:
        err.print(f"[yellow]note:[/] {escape(note)}", highlight=False, soft_wrap=True)
    out.print(f"Predictions: {escape(str(output))}", highlight=False, soft_wrap=True)


@dataclass
class _Found:
    """What was predicted so far: how often each class, how many right of those known, rows that say nothing."""

    classes: Counter[object] = field(default_factory=Counter)
    texts: int = 0
    known: int = 0
    right: int = 0
    unread: list[int] = field(default_factory=list)

    def take(self, model: NGMClassifier, texts: list[str], y: NDArray[np.generic] | None) -> NDArray[np.floating]:
        """(b, C) class shares of some more texts, which are counted."""
        silent = model.reader_.unread(model.reader_.read(texts))
        self.unread += (silent + self.texts).tolist()
        self.texts += len(texts)
        with warnings.catch_warnings():  # told at the end, with the numbers that the rows have in the table
            warnings.filterwarnings("ignore", ".* rests on nothing", UserWarning)
            shares = model.predict_proba(texts)
        chosen = model.classes_[shares.argmax(axis=1)].tolist()
        self.classes.update(chosen)
        if y is not None:
            known = ~unlabeled_rows(y)
            self.known += int(known.sum())
            pairs = zip(y[known].tolist(), np.array(chosen, dtype=object)[known].tolist(), strict=True)
            self.right += sum(mine == theirs or str(mine) == str(theirs) for mine, theirs in pairs)
        return shares

    def accuracy(self) -> float | None:
        """Share of the labelled texts that are right; None where there are none."""
        return self.right / self.known if self.known else None

    def notes(self, model: NGMClassifier) -> list[str]:
        """Which texts the network could make nothing of."""
        if not self.unread:
            return []
        rows = row_list(np.array(self.unread))
        return [
            f"{len(self.unread):,} of {self.texts:,} texts have no {model.reader_.knows} ({rows}); what is predicted "
            "for them rests on nothing"
        ]


def _check_output(output: Path, source: str) -> None:
    if output.suffix.lower() not in (".csv", *_PARQUET):
        raise ValueError(f"--output is {str(output)!r}; name a file that ends in .csv or .parquet")
    if output.is_dir():
        raise ValueError(f"--output is {str(output)!r}, which is a folder; name a file in it")
    if output.exists() and Path(source).exists() and output.samefile(source):
        raise ValueError(f"--output is {str(output)!r}, the table itself; name another file")


def _loaded(folder: Path) -> NGMClassifier:
    model = load(folder)
    if not reads_texts(model.network) or not isinstance(model, NGMClassifier) or model.task_ == "labels":
        kind = f"{type(model).__name__} with network {str(model.network)!r}"
        raise ValueError(f"{folder} holds an {kind}; ngm predict gives classes to texts, so use ngm.load for it")
    return model


def _trained_on(folder: Path) -> str | None:
    """The column of texts that `ngm train` was told, if it was that."""
    data = Run.open(folder).read("metrics.json").get("data")
    return cast("str | None", data.get("text")) if isinstance(data, dict) else None


def _key(table: Table, id_column: str | None) -> str:
    """Name of the first column of the output."""
    if id_column is None:
        return "row"
    table.column(id_column)
    if id_column in ("class", "probability"):
        raise ValueError(f"--id is {id_column!r}, which is what a column of the output is called; give another column")
    return id_column


@contextmanager
def _written(output: Path, key: str, kind: str, model: NGMClassifier) -> Iterator[_Write]:
    """Adds ids, classes and probabilities to the output, which is there in whole at the end or not at all."""
    with file_written_whole(output) as part:
        parquet = output.suffix.lower() in _PARQUET
        lines = beside(output, "csv") if parquet else part
        try:
            with lines.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow([key, "class", "probability"])

                def write(ids: Sequence[object], classes: Sequence[object], shares: Sequence[float]) -> None:
                    writer.writerows(zip(ids, classes, (f"{share:.6f}" for share in shares), strict=True))

                yield write
            if parquet:
                _to_parquet(lines, part, {key: kind, "class": _kind(model.classes_), "probability": "DOUBLE"})
        finally:
            if parquet:
                lines.unlink(missing_ok=True)


def _to_parquet(lines: Path, file: Path, types: dict[str, str]) -> None:
    columns = ", ".join(f"{quoted(name)}: '{kind}'" for name, kind in types.items())
    rows = f"FROM read_csv('{escaped(str(lines))}', header = true, delim = ',', quote = '\"', columns = {{{columns}}})"
    connect().execute(copy_to(rows, file))


def _type(table: Table, id_column: str | None) -> str:
    return "BIGINT" if id_column is None else _kind(table.column(id_column))


def _kind(values: NDArray[np.generic]) -> str:
    """What DuckDB calls values of this type."""
    whole = values.dtype.kind in "iu" or (
        values.dtype.kind == "O" and all(v is None or (isinstance(v, int) and not isinstance(v, bool)) for v in values)
    )
    return "BIGINT" if whole else "DOUBLE" if values.dtype.kind == "f" else "VARCHAR"
