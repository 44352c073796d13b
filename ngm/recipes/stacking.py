"""Teachers weighed by labels that they have not seen: folds, weights on the simplex, soft labels.

With very few labels held-out ones say little, so weights start from a prior that needs no label at all: if neighbours
are alike in what is predicted from their own rows, the graph knows the classes, and its teachers start with most of the
weight; if not, nearly all of it starts with the teachers that do without the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngm.recipes.calibration import SAMPLED, class_factors, powered, rescaled, teacher_power
from ngm.recipes.folds import label_folds
from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.node_set import NodeSet
from ngm.recipes.node_views import Floats, NodeViews, Operators
from ngm.recipes.teachers import Prediction, predict_all

PRIOR_LABELS = 10.0  # held-out labels that the prior weights count for
UNINFORMATIVE = 0.05  # assortativity of predictions up to which a graph is not trusted
INFORMATIVE = 0.08  # assortativity from which on it is
MIN_TRUST = 0.05  # prior weight of all teachers with a graph that seems to know nothing
SHARPNESS = 1.5  # power that soft labels are raised to: a mean over teachers is less sure than it could be
_STEPS = 200


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
        bounds: 95 % interval of `score` where it is known otherwise than by Wilson's formula.
    """

    descriptions: Mapping[str, str]
    graphs: Mapping[str, int]
    prior: Mapping[str, float]
    weights: Mapping[str, float]
    scores: Mapping[str, float]
    score: float
    num_held_out: int
    assortativity: Sequence[float]
    bounds: tuple[float, float] | None = None

    @property
    def weight_of_graphs(self) -> float:
        """Weight of all teachers that use a graph."""
        return sum(weight for name, weight in self.weights.items() if name in self.graphs)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of `score`: `bounds`, or by Wilson's formula; (0, 1) without held-out labels."""
        if self.bounds is not None:
            return self.bounds
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
    nodes = views.nodes
    fold = _dealt_folds(targets, labeled, seed, nodes)
    held_out = fold >= 0
    num_folds = nodes.largest(int(fold.max(initial=-1))) + 1
    predictions, unseen = out_of_fold(lambda seen: predict_all(views, targets, seen), labeled, fold, num_folds)
    assortativity = [graph_assortativity(predictions, operators) for operators in views.operators]
    prior = prior_weights(predictions, max(assortativity, default=0.0))
    known = targets.take(np.flatnonzero(held_out))
    known = replace(known, values=nodes.gather(known.values, held_out), weight=None)
    unseen = [nodes.gather(proba, held_out) for proba in unseen]
    for i, prediction in enumerate(predictions):
        power = teacher_power(nodes.sample(prediction.values, SAMPLED), unseen[i], known)
        predictions[i] = replace(prediction, values=powered(prediction.values, power, targets.multilabel))
        unseen[i] = powered(unseen[i], power, targets.multilabel)
    weights = simplex_weights([known.likelihood(proba) for proba in unseen], prior)
    blend, unseen_blend = mixed([p.values for p in predictions], weights), mixed(unseen, weights)
    if targets.class_prior is not None:
        factors = class_factors(nodes.sample(blend, SAMPLED), targets.class_prior)
        blend, unseen_blend = rescaled(blend, factors), rescaled(unseen_blend, factors)
    soft_labels = powered(blend, SHARPNESS, targets.multilabel)
    soft_labels[labeled] = targets.values[labeled]
    names = [prediction.name for prediction in predictions]
    report = TeacherReport(
        {prediction.name: prediction.description for prediction in predictions},
        {prediction.name: prediction.graph for prediction in predictions if prediction.graph is not None},
        dict(zip(names, prior.tolist(), strict=True)),
        dict(zip(names, weights.tolist(), strict=True)),
        {name: known.score(proba) for name, proba in zip(names, unseen, strict=True)},
        known.score(unseen_blend),
        len(known.values),
        assortativity,
    )
    return Stack(soft_labels, report)


def _dealt_folds(targets: Targets, labeled: Mask, seed: int, nodes: NodeSet) -> NDArray[np.int64]:
    """(n,) fold in which each label is held out, -1 where never; dealt to the labels of all processes together."""
    label = targets.values[labeled].argmax(axis=1)
    of_all = nodes.gather(label, labeled)
    dealt = label_folds(
        None if targets.multilabel else of_all, np.ones(len(of_all), dtype=bool), seed, num_nodes=nodes.count
    )
    fold = np.full(len(labeled), -1)
    fold[labeled] = nodes.scatter(dealt, labeled)
    return fold


def out_of_fold(
    predict: Callable[[Mask], Iterable[Prediction]], labeled: Mask, fold: NDArray[np.int64], num_folds: int
) -> tuple[list[Prediction], list[Floats]]:
    """What teachers say when they have seen all labels, and of each label held out when they have not seen it.

    Args:
        predict: (n,) mask of labels -> what each teacher that learned from them says of all nodes.
        labeled: (n,) mask of all labels.
        fold: (n,) fold in which each is held out, -1 where never.
        num_folds: How many there are.

    Returns:
        (predictions of the teachers, of each (k, C) for the k labels held out, in the order of their nodes).
    """
    predictions, held_out = list(predict(labeled)), fold >= 0
    unseen = [np.zeros_like(prediction.values[held_out]) for prediction in predictions]
    for i in range(num_folds):
        for rows, found in zip(unseen, predict(labeled & (fold != i)), strict=True):
            rows[fold[held_out] == i] = found.values[fold == i]
    return predictions, unseen


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


def graph_assortativity(predictions: Sequence[Prediction], graph: Operators) -> float:
    """The largest over all teachers without a graph; 1 where there is none, and so nothing but the graph to use."""
    alone = (prediction.values for prediction in predictions if prediction.graph is None)
    return max((graph.assortativity(proba) for proba in alone), default=1.0)


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
