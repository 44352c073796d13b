"""Rows of a reproduced table: scores over seeds beside the published figure, in the form that `--json` prints."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from ngm.experiments.scores import Score
from ngm.io.run_folder import JSON


@dataclass(frozen=True)
class Row:
    """One method's result.

    Args:
        method: Its name as the table prints it.
        setting: "inductive", "transductive" or "train=20%".
        metric: "accuracy", "macro_f1", "micro_f1", "recall" or "mrr".
        mean: Mean over the seeds, between 0 and 1.
        std: Standard deviation over the seeds, with n - 1.
        seeds: Number of seeds.
        paper: The published figure, if there is one.
        seconds: Mean time of one seed.
        dataset: Where a table has several.
        protocol: "independent" or "top_k", where a row may have several labels.
        threshold: "fixed" or "chosen", likewise.
        labels: Number of labelled examples, where a table varies it.
    """

    method: str
    setting: str
    metric: str
    mean: float
    std: float
    seeds: int
    paper: float | None
    seconds: float
    dataset: str | None = None
    protocol: str | None = None
    threshold: str | None = None
    labels: int | None = None

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return self.std / math.sqrt(self.seeds)


@dataclass(frozen=True)
class ResultTable:
    """A reproduced table: its rows, and what a reader must know to compare them."""

    name: str
    rows: Sequence[Row]
    notes: Sequence[str] = field(default=())

    def as_json(self) -> dict[str, JSON]:
        """`{"table": ..., "rows": [...], "notes": [...]}`."""
        rows: list[JSON] = [asdict(row) for row in self.rows]
        return {"table": self.name, "rows": rows, "notes": list(self.notes)}


def summary(
    scores: Sequence[Score],
    *,
    method: str,
    setting: str,
    metric: str = "accuracy",
    paper: float | None = None,
    dataset: str | None = None,
    labels: int | None = None,
) -> Row:
    """A row from the scores of its seeds.

    Args:
        scores: One per seed.
        method: See `Row`, as for the others.
        setting: See `Row`.
        metric: See `Row`.
        paper: See `Row`.
        dataset: See `Row`.
        labels: See `Row`.
    """
    values = [score.value for score in scores]
    return Row(
        method=method,
        setting=setting,
        metric=metric,
        mean=statistics.fmean(values),
        std=statistics.stdev(values) if len(values) > 1 else 0.0,
        seeds=len(values),
        paper=paper,
        seconds=statistics.fmean(score.seconds for score in scores),
        dataset=dataset,
        labels=labels,
    )


def measured(
    scores_of: Callable[[int], float],
    seeds: int,
    *,
    method: str,
    setting: str,
    paper: float | None = None,
    dataset: str | None = None,
    on_seed: Callable[[], None] = lambda: None,
) -> Row:
    """Runs a method once per seed.

    Args:
        scores_of: Seed -> score.
        seeds: How many; they are 0, 1, 2, ...
        method: See `Row`, as for the next three.
        setting: See `Row`.
        paper: See `Row`.
        dataset: See `Row`.
        on_seed: Called after each seed.
    """
    scores = []
    for seed in range(seeds):
        started = time.perf_counter()
        value = scores_of(seed)
        scores.append(Score(value, time.perf_counter() - started))
        on_seed()
    return summary(scores, method=method, setting=setting, paper=paper, dataset=dataset)
