"""Section 4.1, several labels a node and a graph instead of features: BlogCatalog, 10 random splits.

Two protocols that do not compare are kept apart. *Independent*, as in the paper: each label is decided by itself, at
one half ("fixed") or at the threshold that was best for it on nodes held out of the training nodes ("chosen").
*Top k*, as in the DeepWalk line of papers: the number of labels of each test node is given away.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ngm._spelling import nearest
from ngm.datasets import Progress, load
from ngm.datasets.blogcatalog import split
from ngm.experiments.blogcatalog.methods import METHODS, BlogCatalogMethod, Bloggers, Floats, Ids, Scorer
from ngm.experiments.code_digest import code_digest
from ngm.experiments.experiment import Choices, Plan
from ngm.experiments.scores import Score, Scores
from ngm.experiments.table import ResultTable, Row, summary
from ngm.metrics import Average, Protocol, best_thresholds, f1, recall

__all__ = ["METHODS", "SHARES", "check", "count", "plan", "run"]
SHARES = (20, 50, 80)
_HELD_OUT = 5  # one of so many parts, where there is one fold only
_COLUMNS: tuple[tuple[Protocol, str | None], ...] = (
    ("independent", "fixed"),
    ("independent", "chosen"),
    ("top_k", None),
)
_METRICS: tuple[tuple[str, Callable[..., float], Average], ...] = (
    ("macro_f1", f1, "macro"),
    ("micro_f1", f1, "micro"),
    ("recall", recall, "macro"),
)


def run(
    rows: Sequence[str] = tuple(METHODS),
    seeds: int = 10,
    quick: bool = False,
    progress: Progress | None = None,
    on_seed: Callable[[str], None] = lambda method: None,
    scores: Scores | None = None,
    shares: Sequence[int] | None = None,
) -> ResultTable:
    """Runs rows of the table.

    Args:
        rows: Keys of `METHODS`.
        seeds: Random splits per row; a seed also sets initial weights and batches. Node vectors are learned once.
        quick: Two splits, and half of the nodes to train on unless `shares` says otherwise.
        progress: Called while data is fetched.
        on_seed: Called with the row's name after each split.
        scores: Where finished splits are kept.
        shares: Percent of the nodes to train on; those of the paper where not given.

    Returns:
        Macro-F1, Micro-F1 and macro recall on the test nodes, by protocol and threshold.
    """
    columns = shares or percent(quick)
    check(rows, columns)
    bloggers, cache, notes = Bloggers(load("blogcatalog", progress)), scores or Scores(), list(_NOTES)
    table_rows: list[Row] = []
    for key in rows:
        method = METHODS[key]
        if method.package and importlib.util.find_spec(method.package) is None:
            notes.append(f"{method.name} is left out: it needs {method.package} (pip install {method.package})")
            continue
        for share in columns:
            cell, cell_scores = BlogCatalogCell(method, bloggers, share), []
            for seed in range(2 if quick else seeds):
                cell_scores.append(cache.get(_cache_key(key, share, seed), cell, seed))
                on_seed(f"{method.name}, {share} %")
            table_rows += _rows(method, share, cell_scores)
            if len(method.candidates) > 1:
                notes.append(
                    f"{method.name}, {share} %: validation chose {_count_candidates(s.chosen for s in cell_scores)}"
                )
    return ResultTable("blogcatalog", table_rows, notes)


def plan(choices: Choices) -> Plan:
    """Checks choices of rows, seeds and shares."""
    rows, seeds, quick, shares = choices.rows or list(METHODS), choices.seeds, choices.quick, choices.shares
    check(rows, shares or ())
    return Plan(
        count(rows, seeds, quick, shares),
        lambda progress, on_seed, scores: run(rows, seeds, quick, progress, on_seed, scores, shares),
    )


def check(rows: Sequence[str], shares: Sequence[int] = SHARES) -> None:
    """Refuses rows and shares that are not there."""
    for key in rows:
        if key not in METHODS:
            raise ValueError(f"unknown row {key!r}{nearest(key, METHODS)}; choose from {', '.join(METHODS)}")
    for name, choices in (("row", rows), ("training share", shares)):
        for i, value in enumerate(choices):
            if value in choices[:i]:
                raise ValueError(f"{name} {value!r} is given twice; name each once")
    for share in shares:
        if not 1 <= share <= 99:
            raise ValueError(f"training share is {share} %; give whole numbers between 1 and 99, such as 20,50,80")


def percent(quick: bool) -> tuple[int, ...]:
    """The shares to train on where none are named."""
    return (50,) if quick else SHARES


def count(rows: Sequence[str], seeds: int, quick: bool, shares: Sequence[int] | None = None) -> int:
    """How many times `on_seed` will be called."""
    return len(rows) * len(shares or percent(quick)) * (2 if quick else seeds)


@dataclass(frozen=True, eq=False)
class BlogCatalogCell:
    """One method with a share of the nodes labelled.

    Args:
        method: Which.
        bloggers: The data.
        share: Percent of the nodes to train on.
    """

    method: BlogCatalogMethod
    bloggers: Bloggers
    share: int

    def prepare(self) -> None:
        """Makes the inputs, which are the same for all splits."""
        getattr(self.bloggers, self.method.needs)

    def score(self, seed: int) -> tuple[Mapping[str, float], str]:
        """(test scores by name, settings in words)."""
        y = self.bloggers.data.y
        labeled, test = split(len(y), self.share / 100, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # labels without a positive among the training nodes and the like
            ids, held_out_logits = self._held_out(labeled, seed)
            best_candidate = max(held_out_logits, key=lambda candidate: _best_f1(y[ids], held_out_logits[candidate]))
            logits = self.method.candidates[best_candidate](self.bloggers, labeled, seed)[test]
        thresholds = {
            "fixed": np.zeros(y.shape[1]),
            "chosen": best_thresholds(y[ids], held_out_logits[best_candidate]),
            None: None,
        }
        metrics = {
            _name(metric, protocol, threshold): function(y[test], logits, average, protocol, thresholds[threshold])
            for protocol, threshold in _COLUMNS
            for metric, function, average in _METRICS
        }
        return metrics, best_candidate

    def _held_out(self, labeled: Ids, seed: int) -> tuple[Ids, dict[str, Floats]]:
        """Nodes held out of the training nodes, and every candidate's scores of them."""
        folds = self.method.folds
        order = np.random.default_rng([seed, 1]).permutation(labeled)
        parts = np.array_split(order, _HELD_OUT if folds == 1 else folds)[:folds]
        fold_scores = {
            candidate: [self._fold(c, labeled, p, seed) for p in parts]
            for candidate, c in self.method.candidates.items()
        }
        return np.concatenate(parts), {
            candidate: np.concatenate(candidate_scores) for candidate, candidate_scores in fold_scores.items()
        }

    def _fold(self, candidate: Scorer, labeled: Ids, part: Ids, seed: int) -> Floats:
        return candidate(self.bloggers, np.setdiff1d(labeled, part), seed)[part]


def _best_f1(y: Ids, logits: Floats) -> float:
    """Macro-F1 at the best thresholds: what candidates are compared by."""
    return f1(y, logits, threshold=best_thresholds(y, logits))


def _name(metric: str, protocol: str, threshold: str | None) -> str:
    return " ".join(part for part in (metric, protocol, threshold) if part)


def _cache_key(method: str, share: int, seed: int) -> dict[str, str | int]:
    """What tells a score from others."""
    return {"table": "blogcatalog", "method": method, "share": share, "seed": seed, "code": code_digest(__name__)}


def _rows(method: BlogCatalogMethod, share: int, cell_scores: Sequence[Score]) -> Iterator[Row]:
    for protocol, threshold in _COLUMNS:
        for metric, _, _ in _METRICS:
            values = [replace(score, value=score.metrics[_name(metric, protocol, threshold)]) for score in cell_scores]
            as_in_paper = (metric, protocol, threshold) == ("macro_f1", "independent", "fixed")
            row = summary(
                values,
                method=method.name,
                setting=f"train={share}%",
                metric=metric,
                paper=method.published.get(share) if as_in_paper else None,
            )
            yield replace(row, protocol=protocol, threshold=threshold)


def _count_candidates(candidates: Iterator[str]) -> str:
    """`alpha = 0.1 (7), alpha = 0.01 (3)`."""
    names = list(candidates)
    return ", ".join(
        f"{candidate} ({names.count(candidate)})"
        for candidate in sorted(dict.fromkeys(names), key=names.count, reverse=True)
    )


_NOTES = (
    "independent: each label is decided by itself, at one half (fixed) or at the threshold that was best on nodes held "
    "out of the training nodes (chosen); top k: each test node's number of labels is given away. Their figures do not "
    "compare",
    "all nodes and friendships are there while training, as in the paper: only labels of test nodes are hidden",
    "the paper gives Macro-F1 of independent decisions for NGM-FFNN and node2vec, and no figure for alpha = 0",
    "node vectors are learned once, without labels; splits differ in labels, batches and initial weights",
)
