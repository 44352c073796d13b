"""From cells to what is reported: means, mean ranks, distances to the best row, and the default against simple rows."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from scipy.stats import rankdata

from battery_parts.cells import Result
from battery_parts.methods import METHODS, SIMPLE
from battery_parts.problems import DATASETS, MULTI_LABEL

UNRANKED = ("ceiling", "minilm", "default-attraction", "default-shares")  # not everywhere, or know more than others


@dataclass(frozen=True)
class Score:
    """A row on a data set at a number of labels.

    Attributes:
        dataset: Which.
        labels: Labels a class, or percent of the nodes.
        row: Key of `METHODS`.
        metric: "accuracy", "micro_f1" or "macro_f1".
        mean: Over draws.
        std: Sample standard deviation over draws (n - 1); 0 for one draw.
        draws: How many.
        processor_seconds: Median over draws, of training and predicting.
        wall_seconds: Likewise.
    """

    dataset: str
    labels: int
    row: str
    metric: str
    mean: float
    std: float
    draws: int
    processor_seconds: float
    wall_seconds: float


@dataclass(frozen=True)
class Gap:
    """How far a row is from the best of others, in points: below 0 where it is behind.

    Attributes:
        dataset: Where.
        labels: Labels a class, or percent of the nodes.
        metric: Of both.
        points: 100 (mean of the row - mean of the best other row).
        best: Key of the best other row.
    """

    dataset: str
    labels: int
    metric: str
    points: float
    best: str


def scores_of(results: Iterable[Result]) -> list[Score]:
    """One score per data set, number of labels, row and metric, in the order of the tables."""
    groups: dict[tuple[str, int, str, str], list[Result]] = {}
    for result in results:
        for metric in result.metrics:
            groups.setdefault((result.cell.dataset, result.cell.labels, result.cell.row, metric), []).append(result)
    rows = list(METHODS)
    ordered = sorted(groups, key=lambda key: (DATASETS.index(key[0]), key[1], key[3], rows.index(key[2])))
    return [_score(*key, groups[key]) for key in ordered]


def _score(dataset: str, labels: int, row: str, metric: str, results: Sequence[Result]) -> Score:
    values = [result.metrics[metric] for result in results]
    return Score(
        dataset=dataset,
        labels=labels,
        row=row,
        metric=metric,
        mean=statistics.fmean(values),
        std=statistics.stdev(values) if len(values) > 1 else 0.0,
        draws=len(values),
        processor_seconds=statistics.median(result.processor_seconds for result in results),
        wall_seconds=statistics.median(result.wall_seconds for result in results),
    )


Means = Mapping[tuple[str, int, str], dict[str, float]]
"""Mean of each row by (data set, labels, metric)."""


def means_of(scores: Iterable[Score]) -> Means:
    """Means of the rows that compete."""
    found: dict[tuple[str, int, str], dict[str, float]] = {}
    for score in scores:
        if score.row not in UNRANKED:
            found.setdefault((score.dataset, score.labels, score.metric), {})[score.row] = score.mean
    return found


def mean_ranks(means: Means) -> dict[int, dict[str, float]]:
    """Mean rank of each row at each number of labels, 1 is best; equal means share a rank.

    Only data sets with one label a node count, and of these only those that have all rows that are anywhere at this
    number of labels: a row must not gain by being left out where it is slow.
    """
    out = {}
    for labels in sorted({labels for dataset, labels, _ in means if dataset not in MULTI_LABEL}):
        tables = [rows for (dataset, count, _), rows in means.items() if count == labels and dataset not in MULTI_LABEL]
        rows = [row for row in METHODS if any(row in table for table in tables)]
        whole = [table for table in tables if all(row in table for row in rows)]
        if whole:
            ranks = [rankdata([-table[row] for row in rows]) for table in whole]
            out[labels] = {row: float(statistics.fmean(rank[i] for rank in ranks)) for i, row in enumerate(rows)}
    return out


def gaps(means: Means, row: str, others: Sequence[str] = tuple(METHODS)) -> list[Gap]:
    """A row against the best of others, wherever both are."""
    found = []
    for (dataset, labels, metric), table in means.items():
        against = {other: table[other] for other in others if other in table and other != row}
        if row in table and against:
            best = max(against, key=lambda other: against[other])
            found.append(Gap(dataset, labels, metric, 100 * (table[row] - against[best]), best))
    return found


def worst(means: Means) -> dict[int, dict[str, Gap]]:
    """For each number of labels and row, where it is furthest behind the best row, or least ahead."""
    out: dict[int, dict[str, Gap]] = {}
    for row in METHODS:
        for gap in gaps(means, row):
            if gap.dataset not in MULTI_LABEL:
                held = out.setdefault(gap.labels, {}).get(row)
                if held is None or gap.points < held.points:
                    out[gap.labels][row] = gap
    return {labels: out[labels] for labels in sorted(out)}


def summarize(results: Sequence[Result]) -> dict[str, object]:
    """All of it as JSON."""
    scores = scores_of(results)
    means = means_of(scores)
    return {
        "scores": [asdict(score) for score in scores],
        "mean_ranks": {str(labels): ranks for labels, ranks in mean_ranks(means).items()},
        "worst": {
            str(labels): {row: asdict(gap) for row, gap in table.items()} for labels, table in worst(means).items()
        },
        "default_against_simple": [asdict(gap) for gap in gaps(means, "default", SIMPLE)],
    }
