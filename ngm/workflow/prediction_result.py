"""What `ngm predict` was asked for, what it has done so far, and what came of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ngm._spelling import first_of
from ngm.estimators.base import NGMEstimator
from ngm.features import RowIssue
from ngm.features.feature_rows import NO_INPUT, format_issue
from ngm.io.run_folder import JSON
from ngm.text.readers import UnreadTextsWarning
from ngm.workflow.prediction_items import Batch
from ngm.workflow.predictions import Predicted

OnRows: TypeAlias = Callable[[int, "int | None", str], None]
"""Called with (how many are done, how many there are if that is known, what they are called)."""


@dataclass(frozen=True)
class PredictOptions:
    """How the source is read and what is written of it.

    Args:
        text: Columns of texts; None where they are as in training, like the next four.
        id: Column of ids.
        label: Column of true labels, to compare with.
        header: Whether the first line of a text file has names.
        delimiter: Separates the fields of a text file.
        all_classes: Whether each class has a column with its probability.
        top: So many of the most probable classes.
        spreadsheet_safe: Of .csv: whether texts that look like formulas are marked.
    """

    text: str | None = None
    id: str | None = None
    label: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    all_classes: bool = False
    top: int = 1
    spreadsheet_safe: bool = False


@dataclass(frozen=True)
class PredictResult:
    """Predictions that are written.

    Args:
        output: The file.
        count: How many rows or nodes were predicted.
        noun: What they are called: texts, rows or nodes.
        description: What was predicted, in words.
        metric: Name of the score.
        score: Its value on rows with a true label; None where there are none.
        num_labeled: Rows with a true label.
        notes: Rows that say nothing to the network, lines that were left out, labels that are unknown.
        summary: What `ngm predict --json` prints.
    """

    output: Path
    count: int
    noun: str
    description: str
    metric: str
    score: float | None
    num_labeled: int
    notes: Sequence[str]
    summary: Mapping[str, JSON]


@dataclass
class PredictionProgress:
    """What was predicted so far.

    Args:
        things: What is predicted: texts, rows or nodes.
        predictions: Makes columns of what the network says, and counts.
        label: Column of true labels, if there is one.
        count: So many rows.
        issues: (condition, consequence) -> how many rows have it, and which ones first.
    """

    things: str
    predictions: Predicted
    label: str | None
    count: int = 0
    issues: dict[tuple[str, str], tuple[int, list[object]]] = field(default_factory=dict)

    def predict(self, model: NGMEstimator, batch: Batch) -> list[Sequence[object]]:
        """Columns of the output for some more rows."""
        made = batch.made
        some = list(made.issues)
        if isinstance(made.x, list):
            silent = model.reader_.unread(model.reader_.read(made.x))
            some += [RowIssue(silent + self.count, f"have no {model.reader_.knows}", NO_INPUT)] if len(silent) else []
        for issue in some:
            self._add(issue, batch)
        with warnings.catch_warnings():  # noted at the end, with the numbers that the rows have in the table
            warnings.simplefilter("ignore", UnreadTextsWarning)
            return self.take(self.predictions.outputs(made.x), batch.truth)

    def take(self, outputs: NDArray[np.floating], truth: Sequence[object] | None = None) -> list[Sequence[object]]:
        """The same where the network has run.

        Args:
            outputs: (b, c) what `Predicted.outputs` gave.
            truth: (b,) true labels, if there are any.
        """
        self.count += len(outputs)
        return self.predictions.take(outputs, truth)

    def _add(self, issue: RowIssue, batch: Batch) -> None:
        count, first = self.issues.get((issue.condition, issue.consequence), (0, []))
        rows = issue.rows[: 3 - len(first)].tolist()
        examples = [batch.ids[row] for row in rows] if self.things == "nodes" else rows
        self.issues[issue.condition, issue.consequence] = (count + len(issue.rows), [*first, *examples])

    def result(self, output: Path, seconds: float, source_notes: Sequence[str] = ()) -> PredictResult:
        """All that was predicted.

        Args:
            output: The file.
            seconds: How long it took.
            source_notes: What there is to say of the source.
        """
        name, score, known = self.predictions.score()
        scored: dict[str, JSON] = {} if self.label is None else {_json_name(name): score, "labeled": known}
        counts: dict[str, JSON] = {self.things: self.count, **self.predictions.as_json(), **scored}
        notes = [*self._notes(), *source_notes]
        summary = {"predictions": str(output), **counts, "seconds": round(seconds, 3), "notes": cast(JSON, list(notes))}
        return PredictResult(
            output=output,
            count=self.count,
            noun=self.things,
            description=self.predictions.summary(),
            metric=name,
            score=None if self.label is None else score,
            num_labeled=known,
            notes=notes,
            summary=summary,
        )

    def _notes(self) -> list[str]:
        """Which rows tell nothing, lines that did not fit, labels that are none."""
        things = self.things
        notes = [format_issue(n, self.count, first, things, *why) for why, (n, first) in self.issues.items()]
        if self.predictions.strange:
            names = first_of([repr(name) for name in self.predictions.strange])
            notes.append(f"the run knows no such labels as {names} of column {self.label!r}; they count as wrong")
        if self.label is not None and not self.predictions.score()[2]:
            notes.append(f"column {self.label!r} has no label in any row, so nothing can be compared")
        return notes


def _json_name(score: str) -> str:
    return score.lower().replace("-", "_")
