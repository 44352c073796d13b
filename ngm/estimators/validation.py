"""Validation: labelled rows held out of training, and cross-validation that scores labelled rows only."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from torch import Tensor

from ngm.distributed import sum_over_ranks
from ngm.recipes.parameters import Validation
from ngm.recipes.problem import HeldOut
from ngm.rows import Inputs, num_rows, select_rows
from ngm.targets import as_array, unlabeled_rows, without_missing
from ngm.task import Task
from ngm.text.readers import Given

SHARE = 0.1
MIN_LABELS = 30  # per class, below which "auto" holds none out
MIN_NUMBERS = 300  # likewise, where numbers are to be predicted


def hold_out(
    validation: Validation,
    x: Inputs,
    y: Tensor,
    labeled: Tensor,
    task: Task,
    read: Callable[[Given], Inputs],
    seed: int,
    dtype: torch.dtype,
    required: bool = False,
) -> HeldOut:
    """Hides the labels of the validation rows from training; the rows stay in the graph as unlabelled ones.

    Args:
        validation: "auto", or which rows: a share of the labelled ones, ids, a mask, or a pair (x, y).
        x: Inputs of all rows.
        y: Encoded targets of all rows.
        labeled: (n,) mask.
        task: Encodes the y of a pair.
        read: Checks the x of a pair.
        seed: Draws a share.
        dtype: Of rows that are taken out.
        required: Whether "auto" holds out rows however few labels there are.
    """
    if isinstance(validation, str):
        validation = automatic_share(labeled, task.out_features, task.name == "numbers", required)
    if validation is None:
        return HeldOut(x, y[:0], labeled, any=False)
    if is_pair(validation):
        pair = cast("tuple[Given, ArrayLike]", validation)
        own = read(pair[0])
        return HeldOut(own, task.encode_validation(pair[1], num_rows(own)), labeled)
    ids = chosen_rows(cast("float | Sequence[int]", validation), y, labeled, seed)
    rest = labeled.clone()
    rest[ids] = False
    if not rest.any():
        raise ValueError(f"validation takes all {int(labeled.sum())} labelled rows; leave some for training")
    return HeldOut(select_rows(x, ids, dtype), y[ids], rest)


def automatic_share(labeled: Tensor, classes: int, numbers: bool, required: bool) -> float | None:
    """The share of the labelled rows that `validation="auto"` holds out; None where labels are too few to spare any.

    Args:
        labeled: (n,) mask.
        classes: Number of classes or labels.
        numbers: Whether numbers are to be predicted.
        required: Whether there must be validation rows.
    """
    enough = MIN_NUMBERS if numbers else MIN_LABELS * classes
    return SHARE if required or int(labeled.sum()) >= enough else None


def is_pair(validation: object) -> bool:
    """Whether it is (x, y), and not the ids of two rows."""
    return isinstance(validation, tuple) and len(validation) == 2 and not isinstance(validation[0], int | np.integer)


def chosen_rows(wanted: float | Sequence[int], y: Tensor, labeled: Tensor, seed: int) -> Tensor:
    """(v,) ids of the labelled rows to validate on: a share of them drawn by class, or those that are named."""
    if isinstance(wanted, float | np.floating):
        return _share(float(wanted), y, labeled, seed)
    return _named(wanted, labeled)


def _share(share: float, y: Tensor, labeled: Tensor, seed: int) -> Tensor:
    """A share of the labelled rows, the same share of each class where there are enough of it."""
    if not 0 < share < 1:
        raise ValueError(f"validation is {share}; a share must be between 0 and 1")
    ids = labeled.nonzero()[:, 0].numpy()
    strata = y[labeled].numpy() if y.ndim == 1 and not y.is_floating_point() else None
    try:
        _, chosen = train_test_split(ids, test_size=share, random_state=seed, stratify=strata)
    except ValueError:  # a class with a single row, or fewer rows than classes
        try:
            _, chosen = train_test_split(ids, test_size=share, random_state=seed)
        except ValueError:
            raise ValueError(
                f"validation is {share} of {len(ids)} labelled rows, which leaves none on one side; give node ids"
            ) from None
    if strata is not None:
        chosen = _sparing(ids, chosen, strata, share)
    return torch.from_numpy(np.sort(chosen))


def _sparing(
    ids: NDArray[np.int64], chosen: NDArray[np.int64], strata: NDArray[np.int64], share: float
) -> NDArray[np.int64]:
    """The chosen rows without one of each class that would have no label left to learn from."""
    taken = np.isin(ids, chosen)
    left = np.bincount(strata[~taken], minlength=int(strata.max()) + 1)
    classes, first = np.unique(np.where(taken, strata, -1), return_index=True)
    taken[first[(classes >= 0) & (left[classes] == 0)]] = False
    spared = ids[taken]
    if not len(spared):
        raise ValueError(
            f"validation is {share} of {len(ids)} labelled rows, which would take all labels of a class; label more "
            "rows, or train without validation (on the command line: --validation 0)"
        )
    return spared


def _named(ids: Sequence[int], labeled: Tensor) -> Tensor:
    named = np.asarray(ids)
    if named.ndim != 1 or named.dtype.kind not in "iub" or (named.dtype.kind == "b" and len(named) != len(labeled)):
        raise ValueError(
            f"validation is {reprlib.repr(ids)}; give a share of the labelled rows (0.2, say), ids of labelled rows, "
            f"a mask of {len(labeled)} rows, or a pair (x, y)"
        )
    chosen = torch.from_numpy(np.flatnonzero(named) if named.dtype.kind == "b" else named.astype(np.int64))
    if not len(chosen):
        raise ValueError("validation is a mask without any row; give rows whose y is known")
    outside = chosen[(chosen < 0) | (chosen >= len(labeled))]
    if len(outside):
        raise ValueError(f"validation names row {int(outside[0])}; give ids between 0 and {len(labeled) - 1}")
    distinct, times = np.unique(chosen.numpy(), return_counts=True)
    if (times > 1).any():
        row, count = int(distinct[times > 1][0]), int(times[times > 1][0])
        raise ValueError(f"validation names row {row} {count} times, which would count as often; name each row once")
    missing = chosen[~labeled[chosen]]
    if len(missing):
        raise ValueError(f"validation row {int(missing[0])} has no label; give rows whose y is known")
    return chosen


def validation_metrics(
    task: Task, cost: Callable[[Tensor, Tensor], Tensor], logits: Tensor, truth: Tensor, shared: bool
) -> dict[str, float]:
    """Metrics of the validation rows, the one to raise first, and their mean cost; the cost alone if it is not finite.

    Args:
        task: Has the metric.
        cost: (v, c) logits and targets -> (v,).
        logits: (v, c) of this rank's rows.
        truth: (v, ...) their targets, scaled.
        shared: Whether each rank has some of the rows, so that counts and costs are summed over ranks.
    """
    if not shared:
        costs = {"cost": float(cost(logits, truth).mean())}
        return task.metrics(logits, truth) | costs if torch.isfinite(logits).all() else costs
    names, sums = task.metric_sums(logits, truth)
    own = torch.cat([sums.double(), cost(logits, truth).double().sum()[None], torch.tensor([float(len(truth))])])
    *parts, total, count = sum_over_ranks(own).tolist()
    costs = {"cost": total / max(count, 1)}
    return {names: task.metric_of_sums(parts)} | costs if np.isfinite(total) else costs


class LabeledKFold:
    """Cross-validation for few labels: only labelled rows are scored, all unlabelled ones help to train.

    Args:
        n_splits: Number of folds.
        seed: Same seed, same folds.
        stratify: The same share of each class in every fold. False for regression: then only NaN is unlabelled.

    >>> folds = LabeledKFold(2).split([[0.0]] * 6, [0, 1, 0, 1, -1, -1])
    >>> max(len(train) for train, test in folds)
    4
    """

    def __init__(self, n_splits: int = 5, seed: int = 0, stratify: bool = True) -> None:
        self.n_splits, self.seed, self.stratify = n_splits, seed, stratify

    def get_n_splits(self, x: object = None, y: object = None, groups: object = None) -> int:
        """Number of folds."""
        return self.n_splits

    def split(
        self, x: object, y: ArrayLike, groups: object = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Pairs of (rows to train on, labelled rows to score), stratified by class."""
        targets = as_array(y)
        known = np.flatnonzero(~unlabeled_rows(targets))
        fractions = targets.dtype.kind == "f" and bool(np.any(targets[known] % 1))
        continuous = not self.stratify or targets.ndim > 1 or fractions
        if continuous and (targets.ndim == 1 or not self.stratify):  # among numbers, -1 is one
            known = _rows_with_numbers(targets, known)
        kind = KFold if continuous else StratifiedKFold
        folds = kind(self.n_splits, shuffle=True, random_state=self.seed)
        for _, scored in folds.split(known, None if continuous else targets[known].astype(str)):
            test = known[scored]
            yield np.setdiff1d(np.arange(len(targets)), test), test


def _rows_with_numbers(y: NDArray[np.generic], labeled: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ids of the rows without a NaN; the labelled rows where y holds words."""
    try:
        numbers = without_missing(y).astype(np.float64).reshape(len(y), -1)
    except ValueError:
        return labeled
    return np.flatnonzero(~np.isnan(numbers).any(axis=1))
