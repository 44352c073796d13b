"""`NGMRegressor`: the same objective with a squared l2 cost on numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import column_or_1d
from torch import Tensor

from ngm._arguments import short_repr
from ngm._node_targets import node_weights
from ngm.estimators.base import NGMEstimator
from ngm.io.run_folder import JSON
from ngm.parameters import with_settings
from ngm.targets import check_length, without_missing
from ngm.text.readers import Given

_DIGITS = 6  # significant ones in which numbers are written, where their mean is not far from 0


class PartlyLabeledWarning(UserWarning):
    """Rows with a number in some columns of y only count as unlabelled."""


@with_settings
@dataclass(eq=False, repr=False)
class NGMRegressor(RegressorMixin, NGMEstimator):  # type: ignore[misc]
    """Trains a network on rows with and without numbers, joined by a graph; predicts without the graph.

    y is (n,) or (n, T) numbers; NaN (or None, NA), and only that, marks unlabelled rows. A row with NaN in some of its
    columns is unlabelled too, with a `PartlyLabeledWarning`. Targets are brought to mean 0 and standard deviation 1 for
    training, so that an alpha means the same on any scale.

    Teachers are for classes, so here the default recipe "auto" does what "paper" does: labels and edges by Eq. 3, after
    a look at whether the graph tells anything. `settings_.recipe` says so.

    Args:
        {settings}

    >>> x = np.linspace(0, 1, 20, dtype=np.float32)[:, None]
    >>> NGMRegressor(epochs=200).fit(x, 3 * x[:, 0] + 1).predict(x[:2]).round().tolist()
    [1.0, 1.0]
    """

    def predict(self, x: Given) -> NDArray[np.floating]:
        """(n,) or (n, T) float64 numbers: far from 0, as times in seconds are, float32 cannot tell them apart."""
        raw = self._run(x, lambda rows: self.network_(rows))
        output: NDArray[np.floating] = raw.astype(np.float64) * self.scale_ + self.mean_
        return output if self.many_ else output[:, 0]

    def score(self, x: Given, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R squared over the labelled rows."""
        predicted = self.predict(x)
        truth, _ = _numbers(y, len(predicted))
        known = _complete(truth)
        if not known.any():
            raise ValueError(f"none of the {len(truth)} rows has a number; score needs some")
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(truth[known], predicted[known].reshape(-1, truth.shape[1]), sample_weight=weight))

    def _encode(self, y: ArrayLike, rows: int) -> tuple[Tensor, Tensor]:
        if self.sampling == "balanced":
            raise ValueError("sampling is 'balanced', which is for classes; NGMRegressor takes sampling='plain'")
        numbers, self.many_ = _numbers(y, rows)
        labeled = _complete(numbers)
        if not labeled.any():
            raise ValueError(f"none of the {rows} rows has a number (Input y contains NaN only); give some")
        return torch.from_numpy(numbers), torch.from_numpy(labeled)

    def _encode_known(self, y: ArrayLike, rows: int, columns: int) -> Tensor:
        numbers, _ = _numbers(y, rows)
        if numbers.shape[1] != columns:
            raise ValueError(
                f"the y of validation has {numbers.shape[1]} columns, the y of fit {columns}; give as many"
            )
        missing = np.flatnonzero(np.isnan(numbers).any(axis=1))
        if len(missing):
            raise ValueError(f"row {missing[0]} of the y of validation is NaN; leave such rows out")
        return torch.from_numpy(numbers)

    def _measure(self, targets: Tensor, labeled: Tensor, sample_weight: ArrayLike | None) -> None:
        known, weight = targets[labeled].numpy(), node_weights(labeled, sample_weight)[labeled].numpy()
        with np.errstate(all="ignore"):
            self.mean_ = np.average(known, axis=0, weights=weight)
            spread = np.sqrt(np.average((known - self.mean_) ** 2, axis=0, weights=weight))
        if not (np.isfinite(self.mean_) & np.isfinite(spread)).all():
            raise ValueError(f"y holds {np.abs(known).max():.3g}, whose square is beyond float64; scale y down")
        self.scale_ = np.where(spread > 0, spread, 1)

    def _scaled(self, targets: Tensor) -> Tensor:
        return (targets - torch.from_numpy(self.mean_)) / torch.from_numpy(self.scale_)

    def _out_features(self, targets: Tensor) -> int:
        return targets.shape[1]

    def _cost(self) -> str:
        return "squared_l2"

    def _metrics(self, logits: Tensor, targets: Tensor) -> dict[str, float]:
        return {"negative_squared_error": -float((logits - targets).square().mean())}

    def _say(self, outputs: Tensor) -> NDArray[np.object_]:
        return self._say_targets(torch.from_numpy(outputs.double().numpy() * self.scale_ + self.mean_))

    def _say_targets(self, targets: Tensor) -> NDArray[np.object_]:
        form = f".{self.digits_}g"
        return np.array(["; ".join(f"{value:{form}}" for value in row) for row in targets.tolist()], dtype=object)

    @property
    def digits_(self) -> int:
        """Significant digits that tell numbers of the training targets apart: 6, and more where their mean is large."""
        away = float(np.max(np.abs(self.mean_) / self.scale_))
        return min(_DIGITS + int(math.log10(max(away, 1.0))), 17)

    def _describe(self) -> dict[str, JSON]:
        return {"mean": self.mean_.tolist(), "scale": self.scale_.tolist(), "many": self.many_}

    def _recall(self, model: Mapping[str, JSON]) -> None:
        self.mean_ = np.array(model["mean"], dtype=np.float64)
        self.scale_ = np.array(model["scale"], dtype=np.float64)
        self.many_ = cast(bool, model["many"])
        for name in ("mean", "scale"):
            found = getattr(self, f"{name}_")
            if found.shape != (model["out_features"],) or not np.isfinite(found).all():
                raise ValueError(f"{name}, {short_repr(found.tolist())},")


def _numbers(y: ArrayLike, rows: int) -> tuple[NDArray[np.float64], bool]:
    """Y as (n, T), and whether the user gave several columns."""
    array = check_length(y, rows)
    many = array.ndim == 2 and array.shape[1] > 1
    try:
        numbers = without_missing(array if many else column_or_1d(array, warn=True)).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"y holds {_not_a_number(array)!r}; give numbers, NaN where unlabelled") from None
    infinite = np.argwhere(np.isinf(numbers))
    if len(infinite):
        raise ValueError(f"y{infinite[0].tolist()} is infinity (Input y contains infinity); give finite numbers or NaN")
    return numbers.reshape(rows, -1), many


def _not_a_number(y: NDArray[np.generic]) -> object:
    for value in y.ravel().tolist():
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return y.dtype.name


def _complete(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n,) mask of the rows without a NaN; says how many have both NaN and numbers."""
    missing = np.isnan(numbers)
    partly = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
    if len(partly):
        columns = numbers.shape[1]
        warnings.warn(
            f"{len(partly):,} of {len(numbers):,} rows of y have a number in some of their {columns} columns only (row "
            f"{partly[0]} is the first) and count as unlabelled; fill in the others, or fit a regressor per column",
            PartlyLabeledWarning,
            stacklevel=3,
        )
    return np.asarray(~missing.any(axis=1))
