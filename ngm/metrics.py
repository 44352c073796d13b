"""Scores of predictions: accuracy, F1 and recall over many labels, mean reciprocal rank.

Where a node may have several labels there are two protocols, and their figures do not compare.
*Independent*: each label is decided alone, by its own threshold on its score. *Top k*: the number of true
labels of each node is given away, and that many of its best-scored labels are predicted, as the DeepWalk line
of papers does.

Arrays may be numpy's or torch's; results are floats.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import f1_score, recall_score
from torch import Tensor

Array: TypeAlias = ArrayLike | Tensor
Average = Literal["macro", "micro"]
Protocol = Literal["independent", "top_k"]

_THRESHOLD = 0.5


def accuracy(y_true: Array, y_pred: Array) -> float:
    """Share of nodes whose class is right.

    Args:
        y_true: (n,) classes, as numbers or words; none of them -1, which means unlabeled.
        y_pred: (n,) predicted classes.

    >>> accuracy([0, 1, 2, 2], [0, 1, 1, 2])
    0.75
    """
    true, predicted = _numpy(y_true), _numpy(y_pred)
    if true.ndim != 1 or true.shape != predicted.shape:
        raise ValueError(f"y_true has shape {true.shape}, y_pred {predicted.shape}; give one class per node in each")
    _refuse_empty(true)
    _refuse_unlabeled(true)
    return float((true == predicted).mean())


def f1(
    y_true: Array,
    scores: Array,
    average: Average = "macro",
    protocol: Protocol = "independent",
    threshold: float | Array | None = None,
) -> float:
    """F1 over labels: the harmonic mean of precision and recall.

    Args:
        y_true: (n, L) zeros and ones.
        scores: (n, L) scores, higher for likelier; ready zeros and ones are scores too.
        average: "macro" is the mean of each label's F1, 0 for a label that is neither true nor predicted
            anywhere; "micro" is the F1 of all n * L decisions taken together.
        protocol: "independent" predicts a label where its score reaches its threshold; "top_k" gives each
            node as many labels as it truly has, best scores first, the earlier label among equals.
        threshold: For "independent" only: one number or (L,) a number per label; 0.5 where not given.

    >>> f1([[1, 0], [1, 1]], [[0.9, 0.2], [0.3, 0.8]], average="micro")
    0.8
    """
    true, predicted = _decide(y_true, scores, protocol, threshold)
    return float(f1_score(true, predicted, average=_average(average, true.shape[1]), zero_division=0))


def recall(
    y_true: Array,
    scores: Array,
    average: Average = "macro",
    protocol: Protocol = "independent",
    threshold: float | Array | None = None,
) -> float:
    """Share of the true labels that are predicted; arguments as in `f1`.

    Args:
        y_true: (n, L) zeros and ones.
        scores: (n, L) scores, higher for likelier.
        average: "macro" is the mean of each label's recall, 0 for a label that no node has; "micro" takes
            all labels together.
        protocol: How labels are decided: "independent" or "top_k".
        threshold: For "independent" only: one number or (L,) a number per label; 0.5 where not given.

    >>> recall([[1, 0], [1, 1]], [[0.9, 0.2], [0.3, 0.8]])
    0.75
    """
    true, predicted = _decide(y_true, scores, protocol, threshold)
    return float(recall_score(true, predicted, average=_average(average, true.shape[1]), zero_division=0))


def best_thresholds(y_true: Array, scores: Array) -> NDArray[np.float64]:
    """The threshold of each label at which its F1 is largest: on validation nodes, what to decide test nodes by.

    Args:
        y_true: (n, L) zeros and ones.
        scores: (n, L) scores, higher for likelier.

    Returns:
        (L,) thresholds, each midway between two scores, the highest among equals; the lowest score where it is best to
        take all, infinity for a label that no node has.

    >>> best_thresholds([[1], [1], [0], [0]], [[0.9], [0.4], [0.2], [0.1]]).round(6).tolist()
    [0.3]
    """
    score = _scores(scores)
    true = _zeros_and_ones(y_true, score.shape)
    order = np.argsort(-score, axis=0, kind="stable")
    ranked = np.take_along_axis(score, order, axis=0)  # (n, L) falling
    hits = np.cumsum(np.take_along_axis(true, order, axis=0), axis=0)
    f1s = 2 * hits / (np.arange(1, len(true) + 1)[:, None] + true.sum(axis=0))  # where the first 1, 2, ... are taken
    next_score = np.concatenate([ranked[1:], np.full((1, score.shape[1]), -np.inf)])
    f1s[ranked == next_score] = -1  # equal scores fall on the same side
    last = f1s.argmax(axis=0)[None]
    upper, lower = np.take_along_axis(ranked, last, axis=0)[0], np.take_along_axis(next_score, last, axis=0)[0]
    middle = np.where(np.isinf(lower), upper, (upper + lower) / 2)
    middle = np.where(middle > lower, middle, upper)  # of neighbouring floats the middle is one of them
    return np.where(true.any(axis=0), middle, np.inf)


def mean_reciprocal_rank(y_true: Array, scores: Array) -> float:
    """Mean over nodes of 1 / rank of the true class when classes are sorted by falling score.

    Only the order of a node's scores counts, so logits, log-probabilities and probabilities give the same.
    Classes with equal scores share the average of the ranks they take up. So no order of the classes and no
    luck decides, and equal scores for all of C classes earn 2 / (C + 1), less than guessing an order would.

    Args:
        y_true: (n,) true class numbers, 0 to C - 1.
        scores: (n, C) scores, higher for likelier; they may be negative or infinite, but not NaN.

    >>> mean_reciprocal_rank([0, 2], [[-1.0, -2.0, -3.0], [0.5, 0.2, 0.3]])
    0.75
    """
    true, score = _numpy(y_true), _scores(scores)
    if true.ndim != 1 or score.ndim != 2 or len(true) != len(score):
        raise ValueError(f"y_true has shape {true.shape}, scores {score.shape}; give a class and C scores per node")
    _refuse_empty(true)
    _refuse_unlabeled(true)
    outside = ~np.isin(true, np.arange(score.shape[1]))
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(
            f"y_true[{row}] is {true[row]}; with {score.shape[1]} scores classes run from 0 up to {score.shape[1] - 1}"
        )
    true_score = np.take_along_axis(score, true.astype(np.int64)[:, None], axis=1)  # (n, 1)
    num_better = (score > true_score).sum(axis=1)
    tied = (score == true_score).sum(axis=1) - 1  # besides the true class itself
    return float((1 / (1 + num_better + tied / 2)).mean())


def _decide(
    y_true: Array, scores: Array, protocol: Protocol, threshold: float | Array | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(true, predicted), both (n, L) zeros and ones."""
    score = _scores(scores)
    true = _zeros_and_ones(y_true, score.shape)
    if protocol == "top_k":
        if threshold is not None:
            raise ValueError(f"threshold is {threshold} but protocol 'top_k' has none; leave threshold out")
        return true, _top_k(score, true.sum(axis=1))
    if protocol != "independent":
        raise ValueError(f"protocol is {protocol!r}; choose 'independent' or 'top_k'")
    limit = _numpy(_THRESHOLD if threshold is None else threshold).astype(np.float64)
    if limit.shape not in ((), (true.shape[1],)):
        raise ValueError(f"threshold has shape {limit.shape}; give one number, or ({true.shape[1]},) one per label")
    return true, (score >= limit).astype(np.int64)


def _zeros_and_ones(y_true: Array, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """(n, L) true labels, checked to be zeros and ones of the scores' shape."""
    true = _numpy(y_true)
    if true.ndim != 2 or true.shape != shape:
        raise ValueError(f"y_true has shape {true.shape}, scores {shape}; both must be (nodes, labels)")
    _refuse_empty(true)
    unexpected = ~np.isin(true, (0, 1))
    if unexpected.any():
        row, label = np.argwhere(unexpected)[0]
        raise ValueError(
            f"y_true[{row}, {label}] is {true[row, label]}; it must be 0 or 1, so leave unlabeled nodes out"
        )
    return true.astype(np.int64)


def _top_k(scores: NDArray[np.float64], count: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n, L) zeros and ones: the `count` best labels of each row, the earlier one among equals."""
    order = np.argsort(-scores, axis=1, kind="stable")
    place = np.argsort(order, axis=1)  # (n, L) 0 for the best label
    return (place < count[:, None]).astype(np.int64)


def _average(average: Average, num_labels: int) -> str:
    if average not in ("macro", "micro"):
        raise ValueError(f"average is {average!r}; choose 'macro' or 'micro'")
    # scikit-learn takes one column for two classes, and would count the zeros as a label of their own
    return "binary" if num_labels == 1 else average


def _numpy(values: Array | float) -> NDArray[np.generic]:
    if isinstance(values, Tensor):
        # numpy has no bfloat16
        values = values.detach().cpu().double() if values.is_floating_point() else values.detach().cpu()
    return np.asarray(values)


def _scores(values: Array) -> NDArray[np.float64]:
    score = _numpy(values).astype(np.float64)
    if np.isnan(score).any():
        place = tuple(int(i) for i in np.argwhere(np.isnan(score))[0])
        raise ValueError(f"the score at {place} is NaN; every score must be a number")
    return score


def _refuse_empty(true: NDArray[np.generic]) -> None:
    if true.size == 0:
        raise ValueError(f"y_true has shape {true.shape}; there must be a node to score")


def _refuse_unlabeled(true: NDArray[np.generic]) -> None:
    if true.dtype.kind in "if" and (true == -1).any():
        row = int((true == -1).argmax())
        raise ValueError(f"y_true[{row}] is -1, which means unlabeled; leave such nodes out")
