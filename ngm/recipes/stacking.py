"""Teachers weighed by labels that they have not seen: folds, weights on the simplex, soft labels.

With very few labels held-out ones say little, so weights start from a prior that needs no label at all: if neighbours
are alike in what is predicted from their own rows, the graph knows the classes, and its teachers start with most of the
weight; if not, nearly all of it starts with the teachers that do without the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngm.graph import Graph
from ngm.recipes.targets import Mask, Targets
from ngm.recipes.teachers import Prediction, predict_all
from ngm.recipes.views import Floats, NodeViews

FOLDS = 5
FOLDS_OF_LARGE = 2  # with more than `LARGE` nodes, where there are labels enough
LARGE = 200_000  # nodes
PRIOR_LABELS = 10.0  # held-out labels that the prior weights count for
UNINFORMATIVE = 0.05  # assortativity of predictions up to which a graph is not trusted
INFORMATIVE = 0.08  # assortativity from which on it is
MIN_TRUST = 0.05  # prior weight of all teachers with a graph that seems to know nothing
CONFIDENCE = 0.6  # of a teacher's mean largest probability, between uniform ones (0) and sure ones (1)
CONFIDENCE_POWERS = (0.02, 50.0)  # between which the power is that gives a teacher this confidence
SHARPNESS = 1.5  # power that soft labels are raised to: a mean over teachers is less sure than it could be
POWERS = (0.05, 0.08, 0.125, 0.2, 0.33, 0.5, 0.67, 1.0, 1.4, 2.0)  # that calibrate a teacher's probabilities
_STEPS = 200
_EDGES_AT_ONCE = 1_000_000
_SAMPLED = 3_000  # nodes by which confidence is measured


@dataclass(frozen=True)
class TeacherReport:
    """What each teacher was worth.

    Args:
        descriptions: What each teacher does, by its name.
        graphs: Number of the graph that a teacher uses; those that use none are left out.
        prior: Weight of each teacher before any label was held out.
        weights: Of each teacher, adding up to 1.
        scores: Of each teacher on held-out labels; NaN where none could be held out. See `Targets.score`.
        score: The same for all of them together, by their weights.
        num_held_out: How many labels were held out, each once.
        assortativity: Of each graph, how much more alike predictions are across its edges than by chance, 1 at most.
    """

    descriptions: Mapping[str, str]
    graphs: Mapping[str, int]
    prior: Mapping[str, float]
    weights: Mapping[str, float]
    scores: Mapping[str, float]
    score: float
    num_held_out: int
    assortativity: Sequence[float]

    @property
    def weight_of_graphs(self) -> float:
        """Weight of all teachers that use a graph."""
        return sum(weight for name, weight in self.weights.items() if name in self.graphs)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of `score`, by Wilson's formula; (0, 1) without held-out labels."""
        n, z = self.num_held_out, 1.96
        if not n:
            return 0.0, 1.0
        middle = (self.score + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * np.sqrt(self.score * (1 - self.score) / n + z * z / (4 * n * n))
        return float(middle - half), float(middle + half)


@dataclass(frozen=True, eq=False)
class Stack:
    """Soft labels, and how they came about.

    Args:
        soft_labels: (n, C) of every node; labelled nodes have their own.
        report: What each teacher was worth.
    """

    soft_labels: Floats
    report: TeacherReport


def stack_teachers(views: NodeViews, targets: Targets, labeled: Mask, seed: int) -> Stack:
    """Labels all nodes softly by teachers, each as much as it predicts labels that it has not seen.

    Args:
        views: Of the nodes.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.
        seed: Deals the labels to folds.
    """
    predictions = list(predict_all(views, targets, labeled))
    fold = label_folds(targets, labeled, seed)
    held_out = fold >= 0
    unseen = [np.zeros_like(targets.values[held_out]) for _ in predictions]
    for i in range(int(fold.max(initial=-1)) + 1):
        for rows, found in zip(unseen, predict_all(views, targets, labeled & (fold != i)), strict=True):
            rows[fold[held_out] == i] = found.proba[fold == i]
    assortativity = [_assortativity(predictions, operators.graph) for operators in views.operators]
    prior = prior_weights(predictions, max(assortativity, default=0.0))
    known = targets.take(np.flatnonzero(held_out))
    for i, prediction in enumerate(predictions):
        power = _calibration(prediction.proba, unseen[i], known)
        predictions[i] = replace(prediction, proba=powered(prediction.proba, power, targets.multilabel))
        unseen[i] = powered(unseen[i], power, targets.multilabel)
    weights = simplex_weights([known.likelihood(proba) for proba in unseen], prior)
    soft_labels = powered(mixed([p.proba for p in predictions], weights), SHARPNESS, targets.multilabel)
    soft_labels[labeled] = targets.values[labeled]
    names = [prediction.name for prediction in predictions]
    report = TeacherReport(
        {prediction.name: prediction.description for prediction in predictions},
        {prediction.name: prediction.graph for prediction in predictions if prediction.graph is not None},
        dict(zip(names, prior.tolist(), strict=True)),
        dict(zip(names, weights.tolist(), strict=True)),
        {name: known.score(proba) for name, proba in zip(names, unseen, strict=True)},
        known.score(mixed(unseen, weights)),
        int(held_out.sum()),
        assortativity,
    )
    return Stack(soft_labels, report)


def _calibration(proba: Floats, unseen: Floats, known: Targets) -> float:
    """The power for a teacher's probabilities: one confidence for all, then as held-out labels say.

    Args:
        proba: (n, C) of the teacher.
        unseen: (k, C) of the teacher that has not seen the labels held out.
        known: These, of k nodes.
    """
    power = 1.0 if known.multilabel else confidence_power(proba)
    return power * calibration_power(known, powered(unseen, power, known.multilabel))


def label_folds(targets: Targets, labeled: Mask, seed: int) -> NDArray[np.int64]:
    """(n,) fold in which each label is held out, -1 where never: each fold takes as many of every class as it can.

    The only label of a class is never held out.
    """
    rng = np.random.default_rng([seed, 0xF01D])
    folds = FOLDS if len(labeled) <= LARGE else FOLDS_OF_LARGE
    fold = np.full(len(labeled), -1)
    ids = np.flatnonzero(labeled)
    if targets.multilabel:
        if len(ids) > 1:
            fold[rng.permutation(ids)] = np.arange(len(ids)) % min(folds, len(ids))
        return fold
    label = targets.values[ids].argmax(axis=1)
    for one in np.unique(label):
        mine = rng.permutation(ids[label == one])
        if len(mine) > 1:
            fold[mine] = np.arange(len(mine)) % min(folds, len(mine))
    return fold


def prior_weights(predictions: Sequence[Prediction], assortativity: float) -> NDArray[np.float64]:
    """(t,) weights before any label is held out.

    Args:
        predictions: Of the teachers.
        assortativity: From `INFORMATIVE` on the weights are as each teacher's `prior` says; up to `UNINFORMATIVE` those
            with a graph have `MIN_TRUST` together.
    """
    uses_graph = np.array([prediction.graph is not None for prediction in predictions])
    trusted = _normalized(np.array([prediction.prior for prediction in predictions]))
    if uses_graph.all():
        return trusted
    alone = _normalized(np.array([prediction.prior_alone for prediction in predictions]) * ~uses_graph)
    if not uses_graph.any():
        return alone
    untrusted = (1 - MIN_TRUST) * alone + MIN_TRUST * _normalized(trusted * uses_graph)
    trust = min(max((assortativity - UNINFORMATIVE) / (INFORMATIVE - UNINFORMATIVE), 0.0), 1.0)
    return np.asarray(trust * trusted + (1 - trust) * untrusted)


def _normalized(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(weights / weights.sum())


def prediction_assortativity(graph: Graph, proba: Floats) -> float:
    """Weighted correlation of the two ends' predictions over the edges: 1 if they are always alike, 0 if by chance.

    It is 1 where predictions do not differ at all, since they then say nothing about the graph.

    Args:
        graph: Over the n nodes.
        proba: (n, C) predictions from x alone.
    """
    u, v = graph.edges.numpy().T
    weight = graph.weight.numpy().astype(np.float64)
    degree = np.bincount(u, weight, graph.num_nodes) + np.bincount(v, weight, graph.num_nodes)
    total = degree.sum()
    if total == 0:
        return 0.0
    centered = proba - (degree @ proba) / total
    variance = float(degree @ np.square(centered).sum(axis=1)) / total
    if variance < 1e-9:
        return 1.0
    together = 0.0
    for start in range(0, len(u), _EDGES_AT_ONCE):  # rows of both ends of all edges would be many times the graph
        at = slice(start, start + _EDGES_AT_ONCE)
        together += float(weight[at] @ np.einsum("ec,ec->e", centered[u[at]], centered[v[at]])) / (total / 2)
    return float(together / variance)


def _assortativity(predictions: Sequence[Prediction], graph: Graph) -> float:
    """The largest over all teachers without a graph; 1 where there is none, and so nothing but the graph to use."""
    alone = (prediction.proba for prediction in predictions if prediction.graph is None)
    return max((prediction_assortativity(graph, proba) for proba in alone), default=1.0)


def simplex_weights(likelihoods: Sequence[NDArray[np.floating]], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """(t,) weights on the simplex that maximise the likelihood of held-out labels, pulled towards `prior`.

    Args:
        likelihoods: Of each teacher, (k,) probabilities that it gave to the labels held out.
        prior: (t,) weights that stand where there are none; they count for `PRIOR_LABELS` labels.
    """
    right = np.stack(likelihoods, axis=1).astype(np.float64).clip(1e-6)  # (k, t)
    weights = prior.copy()
    for _ in range(_STEPS if len(right) else 0):  # expectation maximisation
        share = right * weights
        share /= share.sum(axis=1, keepdims=True)
        weights = (share.sum(axis=0) + PRIOR_LABELS * prior) / (len(right) + PRIOR_LABELS)
    return weights


def mixed(proba: Sequence[Floats], weights: NDArray[np.float64]) -> Floats:
    """(n, C) weighted mean of the teachers' probabilities."""
    total = np.zeros_like(proba[0])
    for p, weight in zip(proba, weights, strict=True):
        total += np.float32(weight) * p
    return total


def confidence_power(proba: Floats) -> float:
    """The power that brings the mean largest probability to `CONFIDENCE`, so that no teacher drowns out others.

    Args:
        proba: (n, C).
    """
    count = len(proba)
    sample = proba if count <= _SAMPLED else proba[np.random.default_rng(0).choice(count, _SAMPLED, replace=False)]
    uniform = 1 / proba.shape[1]
    wanted = uniform + (1 - uniform) * CONFIDENCE
    low, high = np.log(CONFIDENCE_POWERS)
    for _ in range(20):
        middle = (low + high) / 2
        sure = float(powered(sample, float(np.exp(middle)), False).max(axis=1).mean()) >= wanted
        low, high = (low, middle) if sure else (middle, high)
    return float(np.exp((low + high) / 2))


def calibration_power(known: Targets, unseen: Floats) -> float:
    """The power of `POWERS` that makes held-out labels likeliest; those far from 1 need more labels that say so.

    Args:
        known: Labels held out, of k nodes.
        unseen: (k, C) of a teacher that has not seen them.
    """

    def gain(power: float) -> float:
        likelihood = known.likelihood(powered(unseen, power, known.multilabel))
        return float(np.log(likelihood.clip(1e-6)).sum() - PRIOR_LABELS / 4 * np.log(power) ** 2)

    return max(POWERS, key=gain)


def powered(proba: Floats, power: float, multilabel: bool) -> Floats:
    """Probabilities raised to a power, which makes them surer above 1, and brought back to add up to 1."""
    if multilabel:
        sure = np.clip(proba, 1e-6, 1 - 1e-6)
        raised = sure**power
        return np.asarray(raised / (raised + (1 - sure) ** power), dtype=np.float32)
    clipped = np.clip(proba, 1e-6, None)
    raised = (clipped / clipped.max(axis=1, keepdims=True)) ** power  # the largest stays 1, whatever the power
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=np.float32)
