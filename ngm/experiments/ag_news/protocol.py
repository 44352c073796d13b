"""Section 4.2, text classification by character networks: AG News, and accuracy against the number of labels.

The graph joins training and unlabelled articles only; validation and test articles are never in it, so all figures are
of the inductive setting. Epochs are chosen on validation articles, for every row alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ngm._spelling import nearest
from ngm.datasets import Progress, load
from ngm.experiments.ag_news.methods import BATCH, AgNewsMethod, Articles, scores
from ngm.experiments.code_digest import code_digest
from ngm.experiments.experiment import Choices, Plan
from ngm.experiments.scores import Score, Scores
from ngm.experiments.table import ResultTable, Row, summary
from ngm.text import mythes

__all__ = ["CURVE", "LABELS", "METHODS", "check", "count", "plan", "run"]
CUT = 0.3
METHODS: dict[str, AgNewsMethod] = {
    "small": AgNewsMethod("small CNN", "small", learning_rate=5e-4, steps=1500, published=0.8435),
    "small-thesaurus": AgNewsMethod(
        "small CNN + thesaurus", "small", thesaurus=True, learning_rate=5e-4, steps=1500, published=0.8520
    ),
    "tiny": AgNewsMethod("tiny CNN", published=0.8507),
    "tiny-thesaurus": AgNewsMethod("tiny CNN + thesaurus", thesaurus=True),
    "ngm": AgNewsMethod("tiny CNN with NGM", learn="edges", published=0.8690),
    "ngm-thesaurus": AgNewsMethod("tiny CNN with NGM + thesaurus", learn="edges", thesaurus=True),
    "ngm-shuffled": AgNewsMethod("tiny CNN with NGM, graph shuffled", learn="edges", shuffled=True),
    "cut": AgNewsMethod("tiny CNN + cuts", cut=CUT, steps=6000),
    "ours": AgNewsMethod("NGM (ours)", learn="soft labels", cut=CUT, steps=6000),
    "ours-thesaurus": AgNewsMethod("NGM (ours) + thesaurus", learn="soft labels", cut=CUT, steps=6000, thesaurus=True),
    "ours-shuffled": AgNewsMethod(
        "NGM (ours), graph shuffled", learn="soft labels", cut=CUT, steps=6000, shuffled=True
    ),
    "large": AgNewsMethod("large CNN", "large", learning_rate=5e-4, steps=1500, epoch_steps=100, published=0.8718),
    "large-thesaurus": AgNewsMethod(
        "large CNN + thesaurus",
        "large",
        thesaurus=True,
        learning_rate=5e-4,
        steps=1500,
        epoch_steps=100,
        published=0.8661,
    ),
}
CURVE = ("tiny", "cut", "ours")
QUICK = ("tiny", "ngm", "cut", "ours")
LABELS: tuple[int | None, ...] = (100, 400, 1000, 4000, 10_000, None)
QUICK_LABELS: tuple[int | None, ...] = (400, 4000)
CURVE_STEPS = 2000  # at most, for each point of the curve
_QUICK_STEPS = 1000  # likewise, with --quick
_NAMED_SIZE = "large"  # networks of this size take hours: run where they are named, and once, whatever the seeds


def run(
    rows: Sequence[str] | None = None,
    seeds: int = 3,
    quick: bool = False,
    progress: Progress | None = None,
    on_seed: Callable[[str], None] = lambda method: None,
    scores: Scores | None = None,
    curve: bool = False,
    steps: int | None = None,
) -> ResultTable:
    """Runs rows of the table.

    Args:
        rows: Keys of `METHODS`; where not given, those of `CURVE` for the curve, of `QUICK` with `quick`, else all but
            the large CNN.
        seeds: Per row; the large CNN is trained once.
        quick: Two seeds and few steps: to see that it runs.
        progress: Called while data is fetched.
        on_seed: Called with the row's name after each seed.
        scores: Where finished seeds are kept, and checkpoints of the one that is not.
        curve: Accuracy against labels: 100 to all labels, the other articles unlabelled; else all labels.
        steps: For each seed, at most; where not given, those of the method.

    Returns:
        Test accuracy; and under the metrics "validation", "seconds" and "steps" that on validation articles, and the
        training time and steps up to the weights that were kept.
    """
    keys = rows or default_rows(quick, curve)
    label_counts = (QUICK_LABELS if quick else LABELS) if curve else (None,)
    limit = _QUICK_STEPS if quick else CURVE_STEPS if curve else None
    budget = {key: steps or min(METHODS[key].steps, limit or METHODS[key].steps) for key in keys if key in METHODS}
    return _table(keys, label_counts, seeds, quick, budget, progress, on_seed, scores or Scores())


def default_rows(quick: bool, curve: bool = False) -> Sequence[str]:
    """The rows to run where none are named."""
    return CURVE if curve else QUICK if quick else tuple(k for k, m in METHODS.items() if m.size != _NAMED_SIZE)


def plan(choices: Choices) -> Plan:
    """Checks choices of rows, seeds and the curve."""
    rows, seeds, quick = choices.rows, choices.seeds, choices.quick
    check(rows or ())
    return Plan(
        count(rows, seeds, quick, choices.curve),
        lambda progress, on_seed, scores: run(
            rows, seeds, quick, progress, on_seed, scores, choices.curve, choices.steps
        ),
    )


def check(rows: Sequence[str]) -> None:
    """Refuses rows that are not there, or twice."""
    for i, key in enumerate(rows):
        if key not in METHODS:
            raise ValueError(f"unknown row {key!r}{nearest(key, METHODS)}; choose from {', '.join(METHODS)}")
        if key in rows[:i]:
            raise ValueError(f"row {key!r} is given twice; name each once")


def count(rows: Sequence[str] | None, seeds: int, quick: bool, points: bool = False) -> int:
    """How many times `on_seed` will be called, at most; `points` is for the curve."""
    keys = rows or default_rows(quick, points)
    seeds_per_point = sum(_seeds(METHODS[key], seeds, quick) for key in keys)
    return seeds_per_point * (len(QUICK_LABELS if quick else LABELS) if points else 1)


@dataclass(frozen=True, eq=False)
class AgNewsCell:
    """One method with some articles labelled.

    Args:
        method: Which.
        articles: The data.
        labels: How many; all where None.
        steps: At most.
        folder: For checkpoints.
    """

    method: AgNewsMethod
    articles: Articles
    labels: int | None
    steps: int
    folder: Path | None = None

    def prepare(self) -> None:
        """Reads texts and makes vectors and graph, which are the same for all seeds."""
        needed = ["codes"]
        if self.method.learn != "labels":
            needed.append("graph" if self.method.learn == "edges" else "near")
        if self.method.thesaurus:
            needed.append("thesaurus")
        for name in needed:
            getattr(self.articles, name)

    def score(self, seed: int) -> tuple[Mapping[str, float], str]:
        """(accuracy and what it took, no choice in words)."""
        return scores(self.articles, self.method, self.labels, seed, self.steps, self.folder), ""


def _table(
    rows: Sequence[str],
    label_counts: Sequence[int | None],
    seeds: int,
    quick: bool,
    budget: Mapping[str, int],
    progress: Progress | None,
    on_seed: Callable[[str], None],
    cache: Scores,
) -> ResultTable:
    check(rows)
    articles = Articles(load("ag_news", progress), progress)
    table_rows: list[Row] = []
    notes = [f"data: {articles.data.note}", *_notes(articles, rows, budget)]
    for key in rows:
        method = METHODS[key]
        reason = _missing(method)
        if reason:
            notes.append(f"{method.name} is left out: {reason}")
            continue
        for labels in label_counts:
            scores = []
            labels_text = f"{labels:,} labels" if labels else "all labels"
            for seed in range(_seeds(method, seeds, quick)):
                cache_key = _cache_key(articles.data.note, method, labels, seed, budget[key])
                cell = AgNewsCell(method, articles, labels, budget[key], cache.unfinished(cache_key))
                scores.append(cache.get(cache_key, cell, seed))
                on_seed(f"{method.name}, {labels_text}")
            table_rows += _rows(method, labels or int((articles.y >= 0).sum()), scores)
    return ResultTable("ag-news", table_rows, notes)


def _seeds(method: AgNewsMethod, seeds: int, quick: bool) -> int:
    return 1 if method.size == _NAMED_SIZE else 2 if quick else seeds


def _missing(method: AgNewsMethod) -> str:
    """What keeps a row from being run, in words."""
    if not method.thesaurus:
        return ""
    try:
        mythes.installed()
    except FileNotFoundError as error:
        return str(error)
    return ""


def _cache_key(data: str, method: AgNewsMethod, labels: int | None, seed: int, steps: int) -> dict[str, str | int]:
    """What tells a score from others."""
    return {
        "table": "ag-news",
        "data": data,
        "method": repr(method),
        "labels": labels or "all",
        "seed": seed,
        "steps": steps,
        "bfloat16": method.bfloat16,
        "code": code_digest(__name__),
    }


def _rows(method: AgNewsMethod, labels: int, scores: Sequence[Score]) -> Iterator[Row]:
    for metric in ("accuracy", "validation", "seconds", "steps"):
        values = [replace(score, value=score.metrics[metric]) for score in scores]
        yield summary(
            values,
            method=method.name,
            setting="inductive",
            metric=metric,
            paper=method.published if metric == "accuracy" else None,
            dataset="ag_news",
            labels=labels,
        )


def _notes(articles: Articles, rows: Sequence[str], budget: Mapping[str, int]) -> Iterator[str]:
    yield (
        f"{len(articles.validation):,} of the training articles choose the epoch; they are not learned from, and "
        "neither they nor the test articles are in the graph"
    )
    limits = ", ".join(f"{METHODS[key].name} {budget[key]:,}" for key in rows)
    yield (
        f"steps of {BATCH} articles at most, in whole epochs: {limits}; fewer where validation does not improve and "
        "texts are not cut"
    )
    yield "the paper's figures are with all 120,000 articles and 111,469 unlabelled ones: not comparable with a part"
    half = [METHODS[key].name for key in rows if METHODS[key].bfloat16]
    if half:
        yield f"products in bfloat16: {', '.join(half)}"
    if any(METHODS[key].size == _NAMED_SIZE for key in rows):
        yield "the large CNN is trained once; its published figures are those that the paper cites of Zhang et al."
    if any(METHODS[key].learn == "soft labels" for key in rows):
        yield (
            "NGM (ours): a linear model of document vectors and label propagation over the graph (Eq. 2) label all "
            f"articles softly, the tiny CNN learns that, up to {CUT:.0%} of a text cut off at one end at random; its "
            "control without a graph is tiny CNN + cuts"
        )
