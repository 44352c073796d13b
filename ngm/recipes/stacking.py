"""Teachers weighed by labels that they have not seen: folds, weights on the simplex, soft labels.

With very few labels held-out ones say little, so weights start from a prior that needs no label at all: if neighbours
are alike in what a linear model predicts from their own rows, the graph knows the classes, and all teachers start
alike; if not, nearly all of the weight starts with the teachers that do without it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngm.graph import Graph
from ngm.recipes.targets import Mask, Targets
from ngm.recipes.teachers import predict_all
from ngm.recipes.views import Floats, NodeViews

FOLDS = 5
PRIOR_LABELS = 5.0  # held-out labels that the prior weights count for
INFORMATIVE = 0.1  # assortativity of predictions from which on a graph is trusted as much as x
MIN_TRUST = 0.05  # prior weight of all teachers with a graph that seems to know nothing
SHARPNESS = 1.5  # power that soft labels are raised to: a mean over teachers is less sure than it could be
POWERS = (0.05, 0.08, 0.125, 0.2, 0.33, 0.5, 0.67, 1.0, 1.4, 2.0)  # that calibrate a teacher's probabilities
_STEPS = 200


@dataclass(frozen=True)
class TeacherReport:
    """What each teacher was worth.

    Args:
        weights: Of each teacher, adding up to 1.
        scores: Of each teacher on held-out labels; NaN where none could be held out. See `Targets.score`.
        score: The same for all of them together, by their weights.
        num_held_out: How many labels were held out, each once.
        assortativity: Of each graph, how much more alike predictions are across its edges than by chance, 1 at most.
    """

    weights: Mapping[str, float]
    scores: Mapping[str, float]
    score: float
    num_held_out: int
    assortativity: Sequence[float]

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
    proba = predict_all(views, targets, labeled)
    fold = label_folds(targets, labeled, seed)
    held_out = fold >= 0
    unseen = {name: np.zeros_like(targets.values) for name in proba}
    for i in range(int(fold.max(initial=-1)) + 1):
        for name, found in predict_all(views, targets, labeled & (fold != i)).items():
            unseen[name][fold == i] = found[fold == i]
    assortativity = [_assortativity(views, proba, operators.graph) for operators in views.operators]
    prior = prior_weights(list(proba), views.features, max(assortativity, default=0.0))
    if held_out.any():
        for name in proba:
            power = calibration_power(targets, unseen[name], held_out)
            proba[name], unseen[name] = (powered(p[name], power, targets.multilabel) for p in (proba, unseen))
    weights = simplex_weights([targets.likelihood(p, held_out) for p in unseen.values()], prior)
    soft_labels = powered(mixed(proba, weights), SHARPNESS, targets.multilabel)
    soft_labels[labeled] = targets.values[labeled]
    report = TeacherReport(
        dict(zip(proba, weights.tolist(), strict=True)),
        {name: targets.score(p, held_out) for name, p in unseen.items()},
        targets.score(mixed(unseen, weights), held_out),
        int(held_out.sum()),
        assortativity,
    )
    return Stack(soft_labels, report)


def label_folds(targets: Targets, labeled: Mask, seed: int) -> NDArray[np.int64]:
    """(n,) fold in which each label is held out, -1 where never: each fold takes as many of every class as it can.

    The only label of a class is never held out.
    """
    rng = np.random.default_rng([seed, 0xF01D])
    fold = np.full(len(labeled), -1)
    ids = np.flatnonzero(labeled)
    if targets.multilabel:
        if len(ids) > 1:
            fold[rng.permutation(ids)] = np.arange(len(ids)) % min(FOLDS, len(ids))
        return fold
    label = targets.values[ids].argmax(axis=1)
    for one in np.unique(label):
        mine = rng.permutation(ids[label == one])
        if len(mine) > 1:
            fold[mine] = np.arange(len(mine)) % min(FOLDS, len(mine))
    return fold


def prior_weights(names: Sequence[str], without_graph: Collection[str], assortativity: float) -> NDArray[np.float64]:
    """(t,) weights before any label is held out.

    Args:
        names: Of the teachers.
        without_graph: Those of them that use no graph.
        assortativity: From `INFORMATIVE` on all weigh alike; at 0 those with a graph have `MIN_TRUST` together.
    """
    alone = np.array([name in without_graph for name in names])
    if alone.all() or not alone.any():
        return np.full(len(names), 1 / len(names))
    alike = float((~alone).mean())
    trust = min(max(alike * assortativity / INFORMATIVE, MIN_TRUST), alike)
    return np.asarray(np.where(alone, (1 - trust) / alone.sum(), trust / (~alone).sum()))


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
    together = float(weight @ np.einsum("ec,ec->e", centered[u], centered[v])) / (total / 2)
    return float(together / variance)


def _assortativity(views: NodeViews, proba: Mapping[str, Floats], graph: Graph) -> float:
    """The largest over all views; 1 where there is none, and so nothing but the graph to learn from."""
    return max((prediction_assortativity(graph, proba[view]) for view in views.features), default=1.0)


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


def mixed(proba: Mapping[str, Floats], weights: NDArray[np.float64]) -> Floats:
    """(n, C) weighted mean of the teachers' probabilities."""
    total = np.zeros_like(next(iter(proba.values())))
    for p, weight in zip(proba.values(), weights, strict=True):
        total += np.float32(weight) * p
    return total


def calibration_power(targets: Targets, proba: Floats, held_out: Mask) -> float:
    """The power of `POWERS` that makes held-out labels likeliest; those far from 1 need more labels that say so.

    Args:
        targets: Labels.
        proba: (n, C) of a teacher that has not seen the labels held out.
        held_out: (n,) mask of these.
    """

    def gain(power: float) -> float:
        likelihood = targets.likelihood(powered(proba, power, targets.multilabel), held_out)
        return float(np.log(likelihood.clip(1e-6)).sum() - PRIOR_LABELS / 2 * np.log(power) ** 2)

    return max(POWERS, key=gain)


def powered(proba: Floats, power: float, multilabel: bool) -> Floats:
    """Probabilities raised to a power, which makes them surer above 1, and brought back to add up to 1."""
    clipped = np.clip(proba, 1e-6, 1 - 1e-6 if multilabel else 1)
    raised = clipped**power
    total = raised + (1 - clipped) ** power if multilabel else raised.sum(axis=1, keepdims=True)
    return np.asarray(raised / total, dtype=np.float32)
