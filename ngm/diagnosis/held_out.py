"""Accuracy of label propagation (Eq. 2) on held-out labels: hide a fold, spread the rest, score the hidden ones.

Edges between labelled nodes are not needed for that, so it works with a few seeds far apart. The spread values of each
class are divided by their mean over the nodes: without this, on a graph without clear parts, the class with the
best-placed seeds wins everywhere. With x, a linear model is scored as well, alone and as the prior of Eq. 2: whether
the two together beat x alone is what matters to a user of the graph.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ngm.diagnosis.agreement import agreement
from ngm.diagnosis.intervals import Floats, Ids, paired_gain, wilson
from ngm.diagnosis.records import Estimate, HeldOutScores, WithX
from ngm.diagnosis.similarity import MAX_SAMPLED, Inputs, unit_rows
from ngm.graph import Graph
from ngm.propagation.coupling import couple
from ngm.propagation.kernel import solve
from ngm.propagation.seeds import Seeds, read_seeds
from ngm.recipes.folds import label_folds

MU1, MU2, MU3 = 1.0, 0.5, 0.01  # those of LabelPropagation
MU3_WITH_X = 1.0  # as in CoTraining: the prediction from x counts like an edge
MAX_CLASSES, MAX_VALUES = 100, 8_000_000  # spread at once: classes, and classes times nodes
_MAX_TRAINING_ROWS = 2_000  # labelled rows that a linear model learns from, at most
_PENALTY = 10.0  # C of the linear model
_TOLERANCE = 1e-4
_CHUNK_ROWS = 50_000


def held_out(
    graph: Graph, seeds: Seeds, component: Ids, x: Inputs | None, rng: np.random.Generator, seed: int
) -> HeldOutScores | None:
    """Scores each fold of the seeds with the others as labels; the folds are those of the default recipe.

    Args:
        graph: The graph.
        seeds: Labels of all nodes, as zeros and ones.
        component: (n,) component of each node.
        x: (n, d) inputs, or None.
        rng: Draws labelled rows and edges where there are many.
        seed: Deals seeds to folds.

    Returns:
        None where no class has two seeds.
    """
    seeds, scored = _common_classes(seeds)
    label = None
    if seeds.task != "labels":
        label = np.zeros(len(scored), dtype=np.int64)
        label[scored] = seeds.values[np.flatnonzero(scored)].indices  # one a row
    fold = label_folds(label, scored, seed)  # (n,) -1 where never hidden
    folds = int(fold.max(initial=-1)) + 1
    if not folds:
        return None
    spreader = _Spreader(graph, component)
    fold_predictions = [_predict_fold(spreader, seeds, fold == i, x, rng) for i in range(folds)]
    y_true = seeds.values[np.concatenate([np.flatnonzero(fold == i) for i in range(folds)])]
    reached = np.concatenate([fold_prediction.reached for fold_prediction in fold_predictions])
    if not reached.any():
        return None
    correct, chance = _score(
        np.concatenate([fold_prediction.by_graph for fold_prediction in fold_predictions])[reached],
        y_true[np.flatnonzero(reached)],
    )
    accuracy = wilson(float(correct.mean()), len(correct))
    with_x = None if x is None else _with_x(fold_predictions, y_true, graph, rng)
    unreached = int((~reached).sum())
    return HeldOutScores(
        folds, len(correct), unreached, len(seeds.classes), accuracy, chance, _beyond_chance(accuracy, chance), with_x
    )


def _with_x(
    fold_predictions: list[_FoldPrediction], y_true: sp.csr_array, graph: Graph, rng: np.random.Generator
) -> WithX:
    """Accuracy of x alone and with the graph, and agreement of its predictions across edges."""
    correct_alone, chance = _score(
        np.concatenate([fold_prediction.by_x for fold_prediction in fold_predictions]), y_true
    )
    correct_both, _ = _score(np.concatenate([fold_prediction.by_both for fold_prediction in fold_predictions]), y_true)
    alone, both = (wilson(float(correct.mean()), len(correct)) for correct in (correct_alone, correct_both))
    ends = graph.edges.numpy()
    sampled = (
        ends if len(ends) <= MAX_SAMPLED else ends[rng.choice(len(ends), MAX_SAMPLED, replace=False, shuffle=False)]
    )
    predicted = fold_predictions[0].everywhere
    across_edges = (
        agreement(sampled, read_seeds(predicted, len(predicted)), rng) if len(np.unique(predicted)) > 1 else None
    )
    adjusted = None if across_edges is None else across_edges.adjusted
    return WithX(alone, both, paired_gain(correct_alone, correct_both), _beyond_chance(alone, chance), adjusted)


def _common_classes(seeds: Seeds) -> tuple[Seeds, NDArray[np.bool_]]:
    """The seeds of the most common classes, and (n,) which of them have a class with two seeds."""
    counts = np.asarray(seeds.values.sum(axis=0)).ravel()
    max_classes = max(min(MAX_CLASSES, MAX_VALUES // max(len(seeds.labeled), 1)), 10)
    classes = np.sort(np.argsort(-counts, kind="stable")[:max_classes])
    classes = classes[counts[classes] > 0]
    values = seeds.values[:, classes].tocsr()
    labeled = seeds.labeled if seeds.task == "labels" else np.diff(values.indptr) > 0
    has_pair = counts[classes] > 1
    scored = labeled & (np.asarray(values @ has_pair.astype(np.float32)).ravel() > 0)
    return replace(seeds, values=values, labeled=labeled, classes=seeds.classes[classes]), scored


class _Spreader:
    """Label propagation on one graph from several sets of seeds; the adjacency is made once."""

    def __init__(self, graph: Graph, component: Ids) -> None:
        self.component, self.coupling = component, couple(graph, factor=2 * MU2)  # directions are ignored

    def reached(self, labeled: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(n,) mask of the nodes in components with a seed."""
        has_seed = np.bincount(self.component, weights=labeled) > 0
        mask: NDArray[np.bool_] = has_seed[self.component]
        return mask

    def spread(
        self, values: sp.csr_array, labeled: NDArray[np.bool_], prior: NDArray[np.float32], mu3: float
    ) -> NDArray[np.float32]:
        """(n, C) of Eq. 2; `prior` is (C,) or (n, C)."""
        equation = self.coupling.system(labeled, self.reached(labeled), MU1, mu3)
        anchor, start = equation.anchor_and_start(values, prior)
        solution = solve(
            equation.shares, anchor, start, solver="conjugate_gradient", tolerance=_TOLERANCE, overwrite=True
        )
        result: NDArray[np.float32] = solution.values.clamp_(0, 1).numpy()
        return result


@dataclass(frozen=True, eq=False)
class _FoldPrediction:
    """Predictions of the hidden nodes of one fold; `everywhere` holds those of x for all nodes."""

    by_graph: Ids
    reached: NDArray[np.bool_]
    by_x: Ids
    by_both: Ids
    everywhere: Ids


def _predict_fold(
    spreader: _Spreader, seeds: Seeds, hidden: NDArray[np.bool_], x: Inputs | None, rng: np.random.Generator
) -> _FoldPrediction:
    labeled = seeds.labeled & ~hidden
    values = _keep_rows(seeds.values, labeled)
    reached = spreader.reached(labeled)
    classes = values.shape[1]
    prior = np.full(classes, 1 / classes, dtype=np.float32)
    if seeds.task == "labels":
        prior = np.asarray(values.sum(axis=0), dtype=np.float32).ravel() / np.float32(labeled.sum())
    by_graph = _strongest(spreader.spread(values, labeled, prior, MU3), reached, hidden)
    if x is None:
        empty = by_graph[:0]
        return _FoldPrediction(by_graph, reached[hidden], empty, empty, empty)
    proba = _linear_proba(x, values, labeled, rng)
    combined = spreader.spread(values, labeled, proba, MU3_WITH_X)
    all_nodes = np.ones(len(hidden), dtype=bool)
    by_x = _strongest(proba, all_nodes, all_nodes)
    return _FoldPrediction(by_graph, reached[hidden], by_x[hidden], _strongest(combined, all_nodes, hidden), by_x)


def _keep_rows(values: sp.csr_array, rows: NDArray[np.bool_]) -> sp.csr_array:
    """The matrix with all other rows emptied."""
    return (sp.diags_array(rows.astype(np.float32)) @ values).tocsr()


def _strongest(values: Floats, normalizing: NDArray[np.bool_], queried: NDArray[np.bool_]) -> Ids:
    """The strongest class of the queried nodes, after division by the class means over the normalizing nodes."""
    mean = values[normalizing].mean(axis=0)
    result: Ids = (values[queried] / np.maximum(mean, 1e-12)).argmax(axis=1)
    return result


def _linear_proba(
    x: Inputs, values: sp.csr_array, labeled: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.float32]:
    """(n, C) class probabilities of every node by a linear model of its row."""
    nodes = np.flatnonzero(labeled & (np.diff(values.indptr) > 0))
    if len(nodes) > _MAX_TRAINING_ROWS:
        nodes = np.sort(rng.choice(nodes, _MAX_TRAINING_ROWS, replace=False))
    label_rows = values[nodes]
    label = label_rows.indices[
        label_rows.indptr[:-1] + rng.integers(np.diff(label_rows.indptr))
    ]  # of several labels, any one
    classes = values.shape[1]
    proba = np.full((len(labeled), classes), 1 / classes, dtype=np.float32)
    if len(np.unique(label)) < 2:
        return proba
    scale = 1.0 if sp.issparse(x) else float(np.linalg.norm(x[nodes], axis=1).mean()) or 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that has not fully converged serves as well
        model = LogisticRegression(C=_PENALTY, max_iter=100).fit(_scaled_rows(x, nodes, scale), label)
    proba[:] = 0
    for start in range(0, len(labeled), _CHUNK_ROWS):
        chunk = slice(start, start + _CHUNK_ROWS)
        proba[chunk, model.classes_] = model.predict_proba(_scaled_rows(x, chunk, scale))
    return proba


def _scaled_rows(x: Inputs, rows: Ids | slice, scale: float) -> Inputs:
    """Sparse rows (counts of words, say) at length 1; dense ones at length 1 in the mean, so that size counts too."""
    if sp.issparse(x):
        return unit_rows(x, rows)
    scaled: Inputs = x[rows].astype(np.float32) / np.float32(scale)
    return scaled


def _score(predicted: Ids, y_true: sp.csr_array) -> tuple[NDArray[np.bool_], float]:
    """(k,) which predictions are correct, and the expected share if they were shuffled."""
    correct = np.asarray(y_true[np.arange(len(predicted)), predicted]).ravel() > 0
    frequency = np.asarray(y_true.mean(axis=0)).ravel()
    return correct, float(frequency[predicted].mean())


def _beyond_chance(accuracy: Estimate, chance: float) -> Estimate:
    scale = max(1 - chance, 1e-12)
    return Estimate(
        (accuracy.value - chance) / scale, (accuracy.low - chance) / scale, (accuracy.high - chance) / scale
    )
