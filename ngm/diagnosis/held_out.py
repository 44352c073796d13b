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
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from ngm._blas_threads import one_blas_thread
from ngm.diagnosis.agreement import agreement
from ngm.diagnosis.checked_graph import MU3, CheckedGraph, Mask
from ngm.diagnosis.intervals import Floats, Ids, paired_gain, wilson
from ngm.diagnosis.records import Estimate, HeldOutScores, WithX
from ngm.diagnosis.similarity import MAX_SAMPLED, Inputs, unit_rows
from ngm.propagation.seeds import Seeds, encoded_seeds
from ngm.recipes.folds import label_folds
from ngm.recipes.node_set import NodeSet

MU3_WITH_X = 1.0  # as in CoTraining: the prediction from x counts like an edge
MAX_CLASSES, MAX_VALUES = 100, 8_000_000  # spread at once: classes, and classes times nodes
_MAX_TRAINING_ROWS = 2_000  # labelled rows that a linear model learns from, at most
_PENALTY = 10.0  # C of the linear model
_CHUNK_ROWS = 50_000


def held_out(
    graph: CheckedGraph, seeds: Seeds, x: Inputs | None, rng: np.random.Generator, seed: int
) -> HeldOutScores | None:
    """Scores each fold of the seeds with the others as labels; the folds are those of the default recipe.

    Args:
        graph: The graph.
        seeds: Labels of its n nodes, as zeros and ones.
        x: (n, d) inputs, or None.
        rng: Draws labelled rows and edges where there are many.
        seed: Deals seeds to folds.

    Returns:
        None where no class has two seeds.
    """
    seeds, scored = _common_classes(graph, seeds)
    fold = _dealt_folds(graph.nodes, seeds, scored, seed)  # (n,) -1 where never hidden
    folds = graph.nodes.largest(int(fold.max(initial=-1))) + 1
    if not folds:
        return None
    fold_predictions = [_predict_fold(graph, seeds, fold == i, x, rng) for i in range(folds)]
    y_true = sp.vstack([graph.nodes.gather(seeds.values[fold == i], fold == i) for i in range(folds)], format="csr")
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
    fold_predictions: list[_FoldPrediction], y_true: sp.csr_array, graph: CheckedGraph, rng: np.random.Generator
) -> WithX:
    """Accuracy of x alone and with the graph, and agreement of its predictions across edges."""
    correct_alone, chance = _score(
        np.concatenate([fold_prediction.by_x for fold_prediction in fold_predictions]), y_true
    )
    correct_both, _ = _score(np.concatenate([fold_prediction.by_both for fold_prediction in fold_predictions]), y_true)
    alone, both = (wilson(float(correct.mean()), len(correct)) for correct in (correct_alone, correct_both))
    ends = graph.sampled_ends()
    sampled = (
        ends if len(ends) <= MAX_SAMPLED else ends[rng.choice(len(ends), MAX_SAMPLED, replace=False, shuffle=False)]
    )
    predicted = _predicted_seeds(fold_predictions[0].everywhere, y_true.shape[1], graph)
    across_edges = None if predicted is None else agreement(sampled, predicted, rng)
    adjusted = None if across_edges is None else across_edges.adjusted
    return WithX(alone, both, paired_gain(correct_alone, correct_both), _beyond_chance(alone, chance), adjusted)


def _predicted_seeds(label: Ids, num_classes: int, graph: CheckedGraph) -> Seeds | None:
    """Predictions at the sampled edges as labels; None where all nodes have the same.

    Args:
        label: (n,) predicted classes.
        num_classes: How many there are.
        graph: Over the nodes.
    """
    if (graph.edges.total(np.bincount(label, minlength=num_classes)) > 0).sum() < 2:
        return None
    sampled = torch.from_numpy(graph.sampled_rows(label))
    return encoded_seeds(sampled, torch.ones(len(sampled), dtype=torch.bool), "classes", np.arange(num_classes))


def _common_classes(graph: CheckedGraph, seeds: Seeds) -> tuple[Seeds, Mask]:
    """The seeds of the most common classes, and (n,) which of them have a class with two seeds."""
    counts = graph.edges.total(np.asarray(seeds.values.sum(axis=0)).ravel())
    max_classes = max(min(MAX_CLASSES, MAX_VALUES // max(graph.nodes.count, 1)), 10)
    classes = np.sort(np.argsort(-counts, kind="stable")[:max_classes])
    classes = classes[counts[classes] > 0]
    values = seeds.values[:, classes].tocsr()
    labeled = seeds.labeled if seeds.task == "labels" else np.diff(values.indptr) > 0
    has_pair = counts[classes] > 1
    scored = labeled & (np.asarray(values @ has_pair.astype(np.float32)).ravel() > 0)
    return replace(seeds, values=values, labeled=labeled, classes=seeds.classes[classes]), scored


def _dealt_folds(nodes: NodeSet, seeds: Seeds, scored: Mask, seed: int) -> Ids:
    """(n,) fold in which each label is hidden, -1 where never; dealt to the labels of all processes together."""
    label = None if seeds.task == "labels" else nodes.gather(seeds.values[scored].indices.astype(np.int64), scored)
    count = len(nodes.gather(np.flatnonzero(scored), scored)) if label is None else len(label)
    dealt = label_folds(label, np.ones(count, dtype=bool), seed, num_nodes=nodes.count)
    fold = np.full(len(scored), -1)
    fold[scored] = nodes.scatter(dealt, scored)
    return fold


@dataclass(frozen=True, eq=False)
class _FoldPrediction:
    """Predictions of the hidden nodes of one fold, of all processes.

    `everywhere` holds those of x for the nodes of this process.
    """

    by_graph: Ids
    reached: Mask
    by_x: Ids
    by_both: Ids
    everywhere: Ids


@one_blas_thread()
def _predict_fold(
    graph: CheckedGraph, seeds: Seeds, hidden: Mask, x: Inputs | None, rng: np.random.Generator
) -> _FoldPrediction:
    nodes, labeled = graph.nodes, seeds.labeled & ~hidden
    values = _keep_rows(seeds.values, labeled)
    reached = graph.reached(labeled)
    classes = values.shape[1]
    prior = np.full(classes, 1 / classes, dtype=np.float32)
    if seeds.task == "labels":
        counts = graph.edges.total(np.asarray(values.sum(axis=0), dtype=np.float32).ravel())
        prior = counts / np.float32(_count(nodes, labeled))
    by_graph = _strongest(graph.spread(values, labeled, prior, MU3), reached, nodes)[hidden]
    scores = nodes.gather(by_graph, hidden), nodes.gather(reached[hidden], hidden)
    if x is None:
        empty = by_graph[:0]
        return _FoldPrediction(*scores, empty, empty, empty)
    proba = _linear_proba(x, values, labeled, rng, nodes)
    combined = graph.spread(values, labeled, proba, MU3_WITH_X)
    all_nodes = np.ones(len(hidden), dtype=bool)
    by_x, by_both = (_strongest(found, all_nodes, nodes) for found in (proba, combined))
    return _FoldPrediction(*scores, nodes.gather(by_x[hidden], hidden), nodes.gather(by_both[hidden], hidden), by_x)


def _keep_rows(values: sp.csr_array, rows: Mask) -> sp.csr_array:
    """The matrix with all other rows emptied."""
    return (sp.diags_array(rows.astype(np.float32)) @ values).tocsr()


def _count(nodes: NodeSet, mask: Mask) -> int:
    """Nodes of all processes in a mask."""
    return int(nodes.sum(mask.astype(np.float64)))


def _strongest(values: Floats, normalizing: Mask, nodes: NodeSet) -> Ids:
    """(n,) the strongest class of each node, after division by the class means over the normalizing nodes."""
    mean = nodes.sum(values[normalizing]) / values.dtype.type(max(_count(nodes, normalizing), 1))
    result: Ids = (values / np.maximum(mean, 1e-12)).argmax(axis=1)
    return result


def _linear_proba(
    x: Inputs, values: sp.csr_array, labeled: Mask, rng: np.random.Generator, nodes: NodeSet
) -> NDArray[np.float32]:
    """(n, C) class probabilities of every node by a linear model of its row."""
    known = _drawn(labeled & (np.diff(values.indptr) > 0), rng, nodes)
    label_rows, rows = nodes.gather(values[known], known), nodes.gather(x[known], known)
    label = label_rows.indices[
        label_rows.indptr[:-1] + rng.integers(np.diff(label_rows.indptr))
    ]  # of several labels, any one
    classes = values.shape[1]
    proba = np.full((len(labeled), classes), 1 / classes, dtype=np.float32)
    if len(np.unique(label)) < 2:
        return proba
    scale = 1.0 if sp.issparse(x) else float(np.linalg.norm(rows, axis=1).mean()) or 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that has not fully converged serves as well
        model = LogisticRegression(C=_PENALTY, max_iter=100).fit(_scaled_rows(rows, slice(None), scale), label)
    proba[:] = 0
    for start in range(0, len(labeled), _CHUNK_ROWS):
        chunk = slice(start, start + _CHUNK_ROWS)
        proba[chunk, model.classes_] = model.predict_proba(_scaled_rows(x, chunk, scale))
    return proba


def _drawn(known: Mask, rng: np.random.Generator, nodes: NodeSet) -> Mask:
    """(n,) mask of at most `_MAX_TRAINING_ROWS` of the nodes in a mask, over all processes."""
    count = _count(nodes, known)
    if count <= _MAX_TRAINING_ROWS:
        return known
    chosen = np.zeros(count, dtype=np.int64)
    chosen[rng.choice(count, _MAX_TRAINING_ROWS, replace=False)] = 1
    drawn = known.copy()
    drawn[known] = nodes.scatter(chosen, known) > 0
    return drawn


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
