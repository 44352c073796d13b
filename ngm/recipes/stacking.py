"""Soft labels from the predictions of teachers: the one function by which all recipes and rounds combine them.

A `TeacherPreset` says which teachers there are, and whether labels are held out to weigh and calibrate them or each has
the weight of its prior.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngm._blas_threads import one_blas_thread
from ngm.recipes.calibration import SAMPLED, class_factors, confidence_power, powered, rescaled, teacher_power
from ngm.recipes.folds import fold_masks, label_folds
from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.node_set import NodeSet
from ngm.recipes.node_views import Floats, NodeViews
from ngm.recipes.teacher_weights import graph_assortativity, mixed, prior_weights, simplex_weights
from ngm.recipes.teachers import Prediction, TeacherSet, predict_all, relearn

RELEARNED = 0.5  # weight of the models that learn from the predictions of all teachers
SHARPNESS = 1.5  # power that soft labels are raised to: a mean over teachers is less sure than it could be


@dataclass(frozen=True, eq=False)
class TeacherPreset:
    """A set of teachers, and how their predictions become soft labels.

    Args:
        teachers: What they say of all nodes, given some labels.
        scored: Whether labels are held out, by which the teachers are weighed and calibrated, and whether the soft
            labels are then sharpened. Else each teacher has the weight of its prior, and probabilities stay as they
            are.
        clamped: Whether labelled nodes have their own label; else what teachers say of them, too.
        unscored: Predictions of models that have learned from all labels, and so cannot be scored by any: each has the
            weight that its prior has among those of all.
        relearned: Whether linear models then learn from what all of these are surest of, and have a share of
            `RELEARNED` in the soft labels; not of label sets.
    """

    teachers: TeacherSet
    scored: bool = True
    clamped: bool = True
    unscored: Sequence[Prediction] = ()
    relearned: bool = False


AUTO = TeacherPreset(predict_all, relearned=True)


@dataclass(frozen=True)
class TeacherReport:
    """What each teacher was worth.

    Args:
        descriptions: What each teacher does, by its name.
        graphs: Number of the graph that a teacher uses; those that use none are left out.
        prior: Weight of each teacher before any label was held out.
        weights: Of each teacher, adding up to 1.
        scores: Of each teacher on held-out labels; NaN where none was held out from it. See `Targets.score`.
        score: The same for all of them together, by their weights.
        num_held_out: How many labels were held out, each once.
        assortativity: Of each graph, how much more alike predictions are across its edges than by chance, 1 at most.
        bounds: 95 % interval of `score` where it is known otherwise than by Wilson's formula.
        scored: Whether the preset holds labels out; else the weights are those of the prior, however many labels.
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
    scored: bool = True

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


@one_blas_thread()
def stack_teachers(
    views: NodeViews,
    targets: Targets,
    labeled: Mask,
    seed: int,
    preset: TeacherPreset = AUTO,
    grown: Mask | None = None,
) -> Stack:
    """Labels all nodes softly by teachers, each as much as it predicts labels that it has not seen.

    Args:
        views: Of the nodes.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.
        seed: Deals the labels to folds.
        preset: Which teachers, and how they are combined.
        grown: (n,) mask of labels that are predictions themselves: teachers learn from them, but are scored by true
            labels alone, as teachers that have learned from nothing but true labels.
    """
    nodes, true = views.nodes, labeled if grown is None else labeled & ~grown
    fold = _dealt_folds(targets, true, seed, nodes) if preset.scored else np.full(len(labeled), -1)
    held_out = fold >= 0
    num_folds = nodes.largest(int(fold.max(initial=-1))) + 1
    masks = fold_masks(labeled, fold, num_folds, true)
    with views.masks.expecting(masks):
        predictions, unseen = out_of_fold(lambda seen: preset.teachers(views, targets, seen), masks, fold)
    assortativity = [graph_assortativity(predictions, operators) for operators in views.operators]
    prior = prior_weights(predictions, max(assortativity, default=0.0))
    known = targets.take(np.flatnonzero(held_out))
    known = replace(known, values=nodes.gather(known.values, held_out), weight=None)
    unseen = [nodes.gather(proba, held_out) for proba in unseen]
    if preset.scored:
        _calibrate(predictions, unseen, known, nodes)
    weights = simplex_weights([known.likelihood(proba) for proba in unseen], prior)
    unseen_blend = mixed(unseen, weights)
    found = _with_unscored(_Weighted(predictions, prior, weights), preset, targets.multilabel, nodes)
    if preset.relearned and views.whole and views.features and not targets.multilabel:
        found = _with_relearned(found, views, targets, labeled)
    blend = found.blend()
    if targets.class_prior is not None:
        factors = class_factors(nodes.sample(blend, SAMPLED), targets.class_prior)
        blend, unseen_blend = rescaled(blend, factors), rescaled(unseen_blend, factors)
    soft_labels = powered(blend, SHARPNESS, targets.multilabel) if preset.scored else blend
    if preset.clamped:
        soft_labels[true] = targets.values[true]
    scores = [known.score(proba) for proba in unseen]
    score = known.score(unseen_blend)
    report = teacher_report(found.predictions, found.prior, found.weights, scores, score, len(known.values))
    return Stack(soft_labels, replace(report, assortativity=assortativity, scored=preset.scored))


def teacher_report(
    predictions: Sequence[Prediction],
    prior: NDArray[np.float64],
    weights: NDArray[np.float64],
    scores: Sequence[float],
    score: float,
    num_held_out: int,
) -> TeacherReport:
    """The report by the names of the teachers; those beyond `scores` have none.

    Args:
        predictions: Of the t teachers.
        prior: (t,).
        weights: (t,).
        scores: Of the first teachers.
        score: Of all that have one together.
        num_held_out: Labels that they rest on.
    """
    names = [prediction.name for prediction in predictions]
    return TeacherReport(
        {prediction.name: prediction.description for prediction in predictions},
        {prediction.name: prediction.graph for prediction in predictions if prediction.graph is not None},
        dict(zip(names, prior.tolist(), strict=True)),
        dict(zip(names, weights.tolist(), strict=True)),
        dict.fromkeys(names, math.nan)  # the one object of math, so that equal reports are equal
        | dict(zip(names, scores, strict=False)),
        score,
        num_held_out,
        [],
    )


def _calibrate(predictions: list[Prediction], unseen: list[Floats], known: Targets, nodes: NodeSet) -> None:
    """Brings both to one confidence for all teachers, then to what held-out labels say.

    Args:
        predictions: Of the teachers; replaced one by one, so that no second copy of all is held.
        unseen: Of each (k, C) for the labels held out; likewise.
        known: These.
        nodes: Some of which show how confident a teacher is.
    """
    for i, prediction in enumerate(predictions):
        power = teacher_power(nodes.sample(prediction.values, SAMPLED), unseen[i], known)
        predictions[i] = replace(prediction, values=powered(prediction.values, power, known.multilabel))
        unseen[i] = powered(unseen[i], power, known.multilabel)


@dataclass(frozen=True, eq=False)
class _Weighted:
    """Predictions of t teachers with their (t,) prior and weights."""

    predictions: list[Prediction]
    prior: NDArray[np.float64]
    weights: NDArray[np.float64]

    def blend(self) -> Floats:
        """(n, C) weighted mean."""
        return mixed([prediction.values for prediction in self.predictions], self.weights)

    def weight_by_graph(self, num_graphs: int) -> tuple[float, list[float]]:
        """(weight of the teachers that use no graph, weight of those of each graph)."""
        of_graph = [0.0] * num_graphs
        for prediction, weight in zip(self.predictions, self.weights.tolist(), strict=True):
            if prediction.graph is not None:
                of_graph[prediction.graph] += weight
        return 1 - sum(of_graph), of_graph

    def joined_by(self, further: Sequence[Prediction], share: float) -> _Weighted:
        """With further predictions, which have this share of the weight together, split by their priors."""
        own = np.array([prediction.prior for prediction in further])
        own = own / own.sum() * share
        prior, weights = (np.concatenate([(1 - share) * shares, own]) for shares in (self.prior, self.weights))
        return _Weighted([*self.predictions, *further], prior, weights)


def _with_unscored(found: _Weighted, preset: TeacherPreset, multilabel: bool, nodes: NodeSet) -> _Weighted:
    """The teachers with the unscored ones of the preset after them."""
    if not preset.unscored:
        return found
    further = list(preset.unscored)
    if preset.scored and not multilabel:
        further = [_of_one_confidence(prediction, nodes) for prediction in further]
    own = sum(prediction.prior for prediction in further)
    return found.joined_by(further, own / (own + sum(prediction.prior for prediction in found.predictions)))


def _with_relearned(found: _Weighted, views: NodeViews, targets: Targets, labeled: Mask) -> _Weighted:
    """The teachers with those after them that learn from what all teachers together are surest of."""
    blend = found.blend()
    sure = powered(blend, confidence_power(views.nodes.sample(blend, SAMPLED)), False)
    further = relearn(views, sure, targets, labeled, *found.weight_by_graph(len(views.operators)))
    return found.joined_by([_of_one_confidence(prediction, views.nodes) for prediction in further], RELEARNED)


def _of_one_confidence(prediction: Prediction, nodes: NodeSet) -> Prediction:
    power = confidence_power(nodes.sample(prediction.values, SAMPLED))
    return replace(prediction, values=powered(prediction.values, power, False))


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
    predict: Callable[[Mask], Iterable[Prediction]], masks: Sequence[Mask], fold: NDArray[np.int64]
) -> tuple[list[Prediction], list[Floats]]:
    """What teachers say when they have seen all labels, and of each label held out when they have not seen it.

    Args:
        predict: (n,) mask of labels -> what each teacher that learned from them says of all nodes.
        masks: See `fold_masks`.
        fold: (n,) fold in which each label is held out, -1 where never.

    Returns:
        (predictions of the teachers, of each (k, C) for the k labels held out, in the order of their nodes).
    """
    all_labels, *others = masks
    predictions, held_out = list(predict(all_labels)), fold >= 0
    unseen = [np.zeros_like(prediction.values[held_out]) for prediction in predictions]
    for i, seen in enumerate(others):
        for rows, found in zip(unseen, predict(seen), strict=True):
            rows[fold[held_out] == i] = found.values[fold == i]
    return predictions, unseen
