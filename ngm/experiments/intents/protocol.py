"""Section 4.3, intents of short messages: 20 dialogue acts or small-talk intents in place of the private messages.

The graph is over training messages alone: development and test messages are not in it, and every method sees them as
new ones. Settings and passes are chosen on the development messages; the test messages are scored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ngm._spelling import nearest
from ngm.datasets import Progress, load
from ngm.experiments.code_digest import code_digest
from ngm.experiments.experiment import Choices, Plan
from ngm.experiments.intents import DATASETS
from ngm.experiments.intents.methods import METHODS, IntentMethod, IntentScores, LSTMRanker, Messages
from ngm.experiments.scores import Score, Scores
from ngm.experiments.table import ResultTable, Row, summary
from ngm.io.run_folder import JSON
from ngm.metrics import accuracy, mean_reciprocal_rank

__all__ = ["DATASETS", "METHODS", "check", "count", "plan", "run"]
LABELS_PER_CLASS = 10  # shown in "clinc20-few"
_FEW = "-few"
_METRICS = ("mrr", "accuracy")


def run(
    rows: Sequence[str] = tuple(METHODS),
    seeds: int = 5,
    quick: bool = False,
    progress: Progress | None = None,
    on_seed: Callable[[str], None] = lambda method: None,
    scores: Scores | None = None,
    datasets: Sequence[str] = DATASETS,
) -> ResultTable:
    """Runs rows of the table.

    Args:
        rows: Keys of `METHODS`.
        seeds: Seeds per row: initial weights, batches, shuffled graphs, and which labels are shown where they are few.
        quick: Two seeds.
        progress: Called while data is fetched.
        on_seed: Called with the row's name after each seed.
        scores: Where finished seeds are kept.
        datasets: Which of `DATASETS`.

    Returns:
        MRR and accuracy on the test messages.
    """
    check(rows, datasets)
    cache, notes = scores or Scores(), list(_NOTES)
    table_rows: list[Row] = []
    for dataset in datasets:
        messages = _messages(dataset, progress)
        notes.append(_about(dataset, messages))
        for key in rows:
            method, seed_scores = METHODS[key], []
            cell = IntentCell(method, messages)
            for seed in _seeds(method, dataset, seeds, quick):
                seed_scores.append(cache.get(_cache_key(key, dataset, seed), cell, seed))
                on_seed(f"{method.name}, {dataset}")
            table_rows += _rows(method, messages, seed_scores)
            if any(score.chosen for score in seed_scores):
                notes.append(
                    f"{dataset}, {method.name}: {_count_chosen(seed_scores)}, chosen on the development messages"
                )
    return ResultTable("intents", table_rows, notes)


def plan(choices: Choices) -> Plan:
    """Checks choices of rows, seeds and data sets."""
    rows, seeds, quick = choices.rows or list(METHODS), choices.seeds, choices.quick
    datasets = list(DATASETS) if choices.dataset in (None, "all") else [str(choices.dataset)]
    check(rows, datasets)
    return Plan(
        count(rows, seeds, quick, datasets),
        lambda progress, on_seed, scores: run(rows, seeds, quick, progress, on_seed, scores, datasets),
    )


def check(rows: Sequence[str], datasets: Sequence[str] = DATASETS) -> None:
    """Refuses rows and data sets that are not there."""
    for name, choices, options in (("row", rows, list(METHODS)), ("data set", datasets, list(DATASETS))):
        for i, value in enumerate(choices):
            if value not in options:
                raise ValueError(f"unknown {name} {value!r}{nearest(value, options)}; choose from {', '.join(options)}")
            if value in choices[:i]:
                raise ValueError(f"{name} {value!r} is given twice; name each once")


def count(rows: Sequence[str], seeds: int, quick: bool, datasets: Sequence[str] = DATASETS) -> int:
    """How many times `on_seed` will be called."""
    return sum(len(_seeds(METHODS[key], dataset, seeds, quick)) for key in rows for dataset in datasets)


@dataclass(frozen=True, eq=False)
class IntentCell:
    """One method on one data set.

    Args:
        method: Which.
        messages: The data.
    """

    method: IntentMethod
    messages: Messages

    def prepare(self) -> None:
        """Makes the graph and the table of word vectors, which are the same for all seeds."""
        _ = self.messages.graph, self.messages.table

    def score(self, seed: int) -> tuple[Mapping[str, float], str]:
        """(test scores by name, settings in words)."""
        data = self.messages.data
        results = {
            settings: candidate(self.messages, seed)
            for settings, candidate in self.method.candidates_for(self.messages).items()
        }
        y_validation = data.y[data.validation]
        best_settings = max(
            results, key=lambda settings: mean_reciprocal_rank(y_validation, results[settings].validation)
        )
        return {
            **_measure(results[best_settings], data.y[data.test]),
            **self._validation(results[best_settings]),
        }, best_settings

    def _validation(self, scores: IntentScores) -> dict[str, float]:
        data = self.messages.data
        return {"validation_mrr": mean_reciprocal_rank(data.y[data.validation], scores.validation)}


def _measure(scores: IntentScores, y_true: np.ndarray[tuple[int], np.dtype[np.int64]]) -> dict[str, float]:
    accuracy_ = accuracy(y_true, scores.test.argmax(axis=1))
    return {"mrr": mean_reciprocal_rank(y_true, scores.test), "accuracy": accuracy_}


def _messages(dataset: str, progress: Progress | None) -> Messages:
    is_few = dataset.endswith(_FEW)
    return Messages(load(dataset.removesuffix(_FEW), progress), LABELS_PER_CLASS if is_few else None)


def _seeds(method: IntentMethod, dataset: str, seeds: int, quick: bool) -> range:
    """Seeds to run; one where chance plays no part. Few labels are drawn anew by every seed."""
    fixed = not method.chance and not dataset.endswith(_FEW)
    return range(1 if fixed else 2 if quick else seeds)


def _cache_key(method: str, dataset: str, seed: int) -> dict[str, JSON]:
    """What tells a score from others."""
    return {"table": "intents", "dataset": dataset, "method": method, "seed": seed, "code": code_digest(__name__)}


def _rows(method: IntentMethod, messages: Messages, seed_scores: Sequence[Score]) -> Iterator[Row]:
    labels = None if messages.per_class is None else messages.per_class * len(messages.data.classes)
    main = messages.data.name == DATASETS[0]
    for metric in _METRICS:
        yield summary(
            [replace(score, value=score.metrics[metric]) for score in seed_scores],
            method=method.name,
            setting="inductive",
            metric=metric,
            paper=method.published if main and metric == "mrr" else None,
            dataset=messages.data.name,
            labels=labels,
        )


def _about(dataset: str, messages: Messages) -> str:
    data, graph = messages.data, messages.graph
    ends = data.y[data.train][graph.edges.numpy()]  # (m, 2)
    same_intent = np.mean(ends[:, 0] == ends[:, 1])
    sizes = " / ".join(f"{len(ids):,}" for ids in (data.train, data.validation, data.test))
    hidden = "" if messages.per_class is None else f", {messages.per_class} labels an intent shown and the rest hidden"
    return (
        f"{dataset}: {data.note}; {sizes} messages{hidden}; graph of {graph.num_edges:,} edges between training "
        f"messages, {same_intent:.0%} of them within an intent; a training takes at most "
        f"{LSTMRanker().steps(messages)} steps"
    )


def _count_chosen(seed_scores: Sequence[Score]) -> str:
    """`C = 3.0 (4), C = 10.0 (1)`."""
    chosen = [score.chosen for score in seed_scores]
    return ", ".join(
        f"{settings} ({chosen.count(settings)})" for settings in sorted(set(chosen), key=chosen.count, reverse=True)
    )


_NOTES = (
    "the paper's figures are of private messages and are printed for their order alone: they do not compare",
    "the graph is over training messages; development and test messages are new ones to every method. Settings and the "
    "pass to keep are chosen on the development messages, in the row LSTM as in the others",
    "all networks are 2 layers of 100, h at the last token, and start from the same GloVe vectors; a step has 128 "
    "labelled messages, and with attraction 512 edges",
    "rows without chance in them have one seed where all labels are shown",
)
