"""Teachers of numbers weighed by labels that they have not seen: the folds of `stacking`, and squared errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.metrics import r2_score

from ngm._blas_threads import one_blas_thread
from ngm.recipes.folds import fold_masks, label_folds
from ngm.recipes.label_matrix import Mask
from ngm.recipes.node_set import NodeSet
from ngm.recipes.node_views import Floats, NodeViews
from ngm.recipes.number_teachers import NumberTargets, predict_numbers
from ngm.recipes.stacking import Stack, out_of_fold, teacher_report
from ngm.recipes.teacher_weights import graph_assortativity, mixed, prior_weights

PULL = 3.0  # held-out labels that the prior weights count for
CALIBRATION_LABELS = 10.0  # held-out labels that a factor of 1 counts for
_RESAMPLED = 1_000  # times that held-out labels are drawn again for the interval
_SUM_TO_ONE = 1e4  # weight of the row that makes weights add up to 1


@one_blas_thread()
def stack_number_teachers(views: NodeViews, numbers: NumberTargets, labeled: Mask, seed: int) -> Stack:
    """Gives all nodes numbers by teachers, each as much as it predicts labels that it has not seen.

    The number of a labelled node is its own in part, see `label_share`.

    Args:
        views: Of the nodes.
        numbers: Labels.
        labeled: (n,) mask of those that may be learned from.
        seed: Deals the labels to folds.
    """
    nodes = views.nodes
    fold = _dealt_folds(labeled, seed, nodes)
    held_out, num_folds = fold >= 0, nodes.largest(int(fold.max(initial=-1))) + 1
    masks = fold_masks(labeled, fold, num_folds)
    predictions, unseen = out_of_fold(lambda seen: predict_numbers(views, numbers, seen), masks, fold)
    unseen = [nodes.gather(found, held_out) for found in unseen]
    targets = numbers.gathered(held_out, nodes)
    known, weight = targets.values, targets.relative_weight
    center = numbers.gathered(labeled, nodes).mean.astype(np.float32)
    for i, prediction in enumerate(predictions):
        factor = calibration_factor(known - center, unseen[i] - center, weight)
        predictions[i] = replace(prediction, values=center + np.float32(factor) * (prediction.values - center))
        unseen[i] = center + np.float32(factor) * (unseen[i] - center)
    varied = predictions[1:]  # without the mean, which is the same at both ends of any edge
    assortativity = [graph_assortativity(varied, operators) for operators in views.operators]
    prior = prior_weights(predictions, max(assortativity, default=0.0))
    weights = least_squares_weights(unseen, known, weight, prior)
    values = mixed([prediction.values for prediction in predictions], weights)
    blend = mixed(unseen, weights)
    score = r_squared(known, blend)
    share = np.float32(label_share(score))
    values[labeled] = share * numbers.values[labeled] + (1 - share) * values[labeled]
    scores = [r_squared(known, found) for found in unseen]
    report = teacher_report(predictions, prior, weights, scores, score, len(known))
    interval = r_squared_interval(known, blend, seed)
    return Stack(values, replace(report, assortativity=assortativity, bounds=interval))


def _dealt_folds(labeled: Mask, seed: int, nodes: NodeSet) -> NDArray[np.int64]:
    """(n,) fold in which each label is held out, -1 where never; dealt to the labels of all processes together."""
    count = len(nodes.gather(np.flatnonzero(labeled), labeled))
    fold = np.full(len(labeled), -1)
    dealt = label_folds(None, np.ones(count, dtype=bool), seed, num_nodes=nodes.count)
    fold[labeled] = nodes.scatter(dealt, labeled)
    return fold


def label_share(score: float) -> float:
    """How much a labelled node's target is its own label, the rest being what teachers fitted to all labels say.

    Numbers are noisier than classes, and a network learns the noise of each by heart. What teachers cannot predict of
    labels that they have not seen is taken for noise as far as it is large.

    Args:
        score: R squared of the teachers on held-out labels; NaN where there were none.
    """
    return 0.0 if np.isnan(score) else min(max(score, 0.0), 1.0) ** 2


def calibration_factor(known: Floats, unseen: Floats, weight: NDArray[np.float64]) -> float:
    """The factor of a teacher's differences from the mean that fits held-out labels best, pulled towards 1.

    Args:
        known: (k, T) labels held out, without their mean.
        unseen: (k, T) of a teacher that has not seen them, without the same mean.
        weight: (k,) how much each label counts.
    """
    square = float((weight[:, None] * np.square(unseen, dtype=np.float64)).sum())
    if square <= 1e-12:
        return 1.0
    product = float((weight[:, None] * unseen.astype(np.float64) * known).sum())
    pull = CALIBRATION_LABELS * square / len(known)
    return max((product + pull) / (square + pull), 0.0)


def least_squares_weights(
    unseen: Sequence[Floats], known: Floats, weight: NDArray[np.float64], prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(t,) weights on the simplex with the smallest squared error on held-out labels, pulled towards `prior`.

    Args:
        unseen: Of each teacher, (k, T) predictions of the labels held out.
        known: (k, T) these.
        weight: (k,) how much each counts.
        prior: (t,) weights that stand where there are none; they count for `PULL` labels.
    """
    if not len(known):
        return prior
    root = np.sqrt(weight / known.shape[1])[:, None]
    rows = np.stack([(root * found).ravel() for found in unseen], axis=1).astype(np.float64)  # (k T, t)
    pull = np.sqrt(PULL)
    matrix = np.vstack([rows, pull * np.eye(len(prior)), np.full((1, len(prior)), _SUM_TO_ONE)])
    wanted = np.concatenate([(root * known).ravel(), pull * prior, [_SUM_TO_ONE]])
    found, _ = nnls(matrix, wanted)
    return np.asarray(found / found.sum())


def r_squared(known: Floats, found: Floats) -> float:
    """R squared, the mean over the columns; NaN for fewer than two labels."""
    return float(r2_score(known, found)) if len(known) > 1 else float("nan")


def r_squared_interval(known: Floats, found: Floats, seed: int) -> tuple[float, float]:
    """95 % interval of `r_squared` by drawing the labels again (bootstrap).

    Args:
        known: (k, T) labels held out.
        found: (k, T) predictions of them.
        seed: Same seed, same interval.
    """
    if len(known) < 2:
        return float("-inf"), 1.0
    rng = np.random.default_rng([seed, 0xB007])
    drawn = rng.integers(len(known), size=(_RESAMPLED, len(known)))
    error, sample = np.square(known - found, dtype=np.float64)[drawn], known.astype(np.float64)[drawn]
    spread = np.square(sample - sample.mean(axis=1, keepdims=True)).sum(axis=1)
    scores = (1 - error.sum(axis=1) / np.maximum(spread, 1e-12)).mean(axis=1)
    low, high = np.quantile(scores, (0.025, 0.975))
    return float(low), float(high)
