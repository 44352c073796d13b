"""What does the graph know about the labels? Hide some, spread the rest (Eq. 2), and see whether the hidden are told.

Edges between labelled nodes are not needed for that, so it works with a few seeds far apart. The spread values of each
class are divided by their mean over the nodes: without this, on a graph without clear parts, the class with the
best-placed seeds wins everywhere. With x, a linear model is asked the same, alone and as the prior of Eq. 2: whether
the two together beat x alone is what a user of the graph wants to know.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ngm.diagnosis.agreement import agreement
from ngm.diagnosis.intervals import Floats, Ids, paired_gain, wilson
from ngm.diagnosis.records import Estimate, HeldOut, WithX
from ngm.diagnosis.similarity import SAMPLED, Table, unit_rows
from ngm.graph import Graph
from ngm.propagation.kernel import pull, solve
from ngm.propagation.seeds import Seeds, read_seeds, system
from ngm.recipes.folds import label_folds

MU1, MU2, MU3 = 1.0, 0.5, 0.01  # those of LabelPropagation
MU3_WITH_X = 1.0  # as in CoTraining: the word of x counts like an edge
MOST_CLASSES, MOST_VALUES = 100, 8_000_000  # spread at once: classes, and classes times nodes
_SHOWN = 2_000  # labelled rows that a linear model learns from, at most
_PENALTY = 10.0  # C of the linear model
_TOLERANCE = 1e-4
_ROWS_AT_ONCE = 50_000


def held_out(
    graph: Graph, seeds: Seeds, component: Ids, table: Table | None, rng: np.random.Generator, seed: int
) -> HeldOut | None:
    """Hides a fold of the seeds at a time and asks for them; the folds are those of the default recipe.

    Args:
        graph: The graph.
        seeds: Labels of all nodes, as zeros and ones.
        component: (n,) component of each node.
        table: (n, d) inputs, or None.
        rng: Draws labelled rows and edges where there are many.
        seed: Deals seeds to folds.

    Returns:
        None where no class has two seeds.
    """
    seeds, counted = _common(seeds)
    label = None
    if seeds.task != "labels":
        label = np.zeros(len(counted), dtype=np.int64)
        label[counted] = seeds.values[np.flatnonzero(counted)].indices  # one a row
    fold = label_folds(label, counted, seed)  # (n,) -1 where never hidden
    folds = int(fold.max(initial=-1)) + 1
    if not folds:
        return None
    spreader = _Spreader(graph, component)
    said = [_one_fold(spreader, seeds, fold == i, table, rng) for i in range(folds)]
    truth = seeds.values[np.concatenate([np.flatnonzero(fold == i) for i in range(folds)])]
    reached = np.concatenate([one.reached for one in said])
    if not reached.any():
        return None
    right, chance = _scored(np.concatenate([one.by_graph for one in said])[reached], truth[np.flatnonzero(reached)])
    share = wilson(float(right.mean()), len(right))
    with_x = None if table is None else _with_x(said, truth, graph, rng)
    unreached = int((~reached).sum())
    return HeldOut(folds, len(right), unreached, len(seeds.classes), share, chance, _beyond(share, chance), with_x)


def _with_x(said: list[_Said], truth: sp.csr_array, graph: Graph, rng: np.random.Generator) -> WithX:
    """Scores of x alone and of both, and whether what x says agrees across edges."""
    told_alone, chance = _scored(np.concatenate([one.by_x for one in said]), truth)
    told_both, _ = _scored(np.concatenate([one.by_both for one in said]), truth)
    alone, both = (wilson(float(told.mean()), len(told)) for told in (told_alone, told_both))
    ends = graph.edges.numpy()
    some = ends if len(ends) <= SAMPLED else ends[rng.choice(len(ends), SAMPLED, replace=False, shuffle=False)]
    predicted = said[0].everywhere
    agreed = agreement(some, read_seeds(predicted, len(predicted)), rng) if len(np.unique(predicted)) > 1 else None
    across = None if agreed is None else agreed.adjusted
    return WithX(alone, both, paired_gain(told_alone, told_both), _beyond(alone, chance), across)


def _common(seeds: Seeds) -> tuple[Seeds, NDArray[np.bool_]]:
    """The seeds of the most common classes, and (n,) which of them have a class with two seeds."""
    counts = np.asarray(seeds.values.sum(axis=0)).ravel()
    most = max(min(MOST_CLASSES, MOST_VALUES // max(len(seeds.labeled), 1)), 10)
    kept = np.sort(np.argsort(-counts, kind="stable")[:most])
    kept = kept[counts[kept] > 0]
    values = seeds.values[:, kept].tocsr()
    labeled = seeds.labeled if seeds.task == "labels" else np.diff(values.indptr) > 0
    pair = counts[kept] > 1
    counted = labeled & (np.asarray(values @ pair.astype(np.float32)).ravel() > 0)
    return replace(seeds, values=values, labeled=labeled, classes=seeds.classes[kept]), counted


class _Spreader:
    """Label propagation on one graph from several sets of seeds; the adjacency is made once."""

    def __init__(self, graph: Graph, component: Ids) -> None:
        self.component, self.weight = component, pull(graph)
        self.weight.data = self.weight.data * np.float32(2 * MU2)  # as if undirected: directions are ignored

    def reached(self, labeled: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(n,) mask of the nodes in components with a seed."""
        there = np.bincount(self.component, weights=labeled) > 0
        mask: NDArray[np.bool_] = there[self.component]
        return mask

    def spread(
        self, values: sp.csr_array, labeled: NDArray[np.bool_], prior: NDArray[np.float32], mu3: float
    ) -> NDArray[np.float32]:
        """(n, C) of Eq. 2; `prior` is (C,) or (n, C)."""
        equation = system(self.weight, labeled, self.reached(labeled), MU1, mu3)
        own = equation.label_share[:, None] * values.toarray() + equation.prior_share[:, None] * prior
        start = np.broadcast_to(prior, own.shape).copy()
        start[equation.fixed] = own[equation.fixed]
        done = solve(
            equation.shares,
            torch.from_numpy(own),
            torch.from_numpy(start),
            solver="conjugate_gradient",
            tolerance=_TOLERANCE,
        )
        found: NDArray[np.float32] = done.values.clamp_(0, 1).numpy()
        return found


@dataclass(frozen=True, eq=False)
class _Said:
    """What is said of the hidden nodes of one fold, and by x of all nodes."""

    by_graph: Ids
    reached: NDArray[np.bool_]
    by_x: Ids
    by_both: Ids
    everywhere: Ids


def _one_fold(
    spreader: _Spreader, seeds: Seeds, hidden: NDArray[np.bool_], table: Table | None, rng: np.random.Generator
) -> _Said:
    shown = seeds.labeled & ~hidden
    values = _only(seeds.values, shown)
    reached = spreader.reached(shown)
    classes = values.shape[1]
    prior = np.full(classes, 1 / classes, dtype=np.float32)
    if seeds.task == "labels":
        prior = np.asarray(values.sum(axis=0), dtype=np.float32).ravel() / np.float32(shown.sum())
    by_graph = _strongest(spreader.spread(values, shown, prior, MU3), reached, hidden)
    if table is None:
        none = by_graph[:0]
        return _Said(by_graph, reached[hidden], none, none, none)
    word = _linear_word(table, values, shown, rng)
    both = spreader.spread(values, shown, word, MU3_WITH_X)
    every = np.ones(len(hidden), dtype=bool)
    by_x = _strongest(word, every, every)
    return _Said(by_graph, reached[hidden], by_x[hidden], _strongest(both, every, hidden), by_x)


def _only(values: sp.csr_array, rows: NDArray[np.bool_]) -> sp.csr_array:
    """The matrix with all other rows emptied."""
    return (sp.diags_array(rows.astype(np.float32)) @ values).tocsr()


def _strongest(values: Floats, counted: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Ids:
    """The strongest class of the nodes asked for, each class measured by its mean over the nodes that count."""
    mean = values[counted].mean(axis=0)
    answer: Ids = (values[asked] / np.maximum(mean, 1e-12)).argmax(axis=1)
    return answer


def _linear_word(
    table: Table, values: sp.csr_array, shown: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.float32]:
    """(n, C) class shares of every node by a linear model of its row."""
    nodes = np.flatnonzero(shown & (np.diff(values.indptr) > 0))
    if len(nodes) > _SHOWN:
        nodes = np.sort(rng.choice(nodes, _SHOWN, replace=False))
    own = values[nodes]
    label = own.indices[own.indptr[:-1] + rng.integers(np.diff(own.indptr))]  # of several labels, any one
    classes = values.shape[1]
    word = np.full((len(shown), classes), 1 / classes, dtype=np.float32)
    if len(np.unique(label)) < 2:
        return word
    scale = 1.0 if sp.issparse(table) else float(np.linalg.norm(table[nodes], axis=1).mean()) or 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that has not fully converged serves as well
        model = LogisticRegression(C=_PENALTY, max_iter=100).fit(_rows(table, nodes, scale), label)
    word[:] = 0
    for start in range(0, len(shown), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        word[part, model.classes_] = model.predict_proba(_rows(table, part, scale))
    return word


def _rows(table: Table, rows: Ids | slice, scale: float) -> Table:
    """Sparse rows (counts of words, say) at length 1; dense ones at length 1 in the mean, so that size counts too."""
    if sp.issparse(table):
        return unit_rows(table, rows)
    scaled: Table = table[rows].astype(np.float32) / np.float32(scale)
    return scaled


def _scored(answers: Ids, truth: sp.csr_array) -> tuple[NDArray[np.bool_], float]:
    """(k,) which answers are right, and the share that would be if they were dealt out at random."""
    right = np.asarray(truth[np.arange(len(answers)), answers]).ravel() > 0
    frequency = np.asarray(truth.mean(axis=0)).ravel()
    return right, float(frequency[answers].mean())


def _beyond(share: Estimate, chance: float) -> Estimate:
    scale = max(1 - chance, 1e-12)
    return Estimate((share.value - chance) / scale, (share.low - chance) / scale, (share.high - chance) / scale)
