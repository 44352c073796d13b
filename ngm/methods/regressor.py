"""`NGMRegressor`: the same objective with a squared l2 cost on numbers."""

from __future__ import annotations

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

from ngm.methods.estimator import NGMEstimator
from ngm.methods.targets import check_length
from ngm.rows import Inputs
from ngm.run import JSON


@dataclass(eq=False, repr=False)
class NGMRegressor(RegressorMixin, NGMEstimator):  # type: ignore[misc]
    """Trains a network on rows with and without numbers, joined by a graph; predicts without the graph.

    y is (n,) or (n, T) numbers; NaN, and only NaN, marks unlabelled rows. Targets are brought to mean 0 and standard
    deviation 1 for training, so that an alpha means the same on any scale. The settings are those of
    `NGMClassifier`.

    >>> x = np.linspace(0, 1, 20, dtype=np.float32)[:, None]
    >>> NGMRegressor(epochs=200).fit(x, 3 * x[:, 0] + 1).predict(x[:2]).round().tolist()
    [1.0, 1.0]
    """

    def predict(self, x: Inputs) -> NDArray[np.floating]:
        """(n,) or (n, T) numbers."""
        raw = self._run(x, lambda rows: self.network_(rows))
        output = (raw * self.scale_ + self.mean_).astype(raw.dtype)
        return output if self.many_ else output[:, 0]

    def score(self, x: Inputs, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R squared over the labelled rows."""
        predicted = self.predict(x)
        truth = check_length(y, len(predicted)).astype(np.float64)
        known = ~np.isnan(truth.reshape(len(truth), -1)).any(axis=1)
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(truth[known], predicted[known], sample_weight=weight))

    def _encode(self, y: ArrayLike, rows: int, sample_weight: ArrayLike | None) -> tuple[Tensor, Tensor]:
        numbers, self.many_ = _numbers(y, rows)
        labeled = ~np.isnan(numbers).any(axis=1)
        if not labeled.any():
            raise ValueError(f"none of the {rows} rows has a number (Input y contains NaN only); give some")
        weight = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if weight.shape != (rows,) or not weight[labeled].any():
            raise ValueError(
                f"sample_weight has shape {weight.shape} or is zero for every labelled row; give {rows} numbers of at "
                "least 0, one of them above 0"
            )
        self.mean_ = np.average(numbers[labeled], axis=0, weights=weight[labeled])
        spread = np.sqrt(np.average((numbers[labeled] - self.mean_) ** 2, axis=0, weights=weight[labeled]))
        self.scale_ = np.where(spread > 0, spread, 1)
        return self._scaled(numbers), torch.from_numpy(labeled)

    def _encode_known(self, y: ArrayLike, rows: int) -> Tensor:
        numbers, _ = _numbers(y, rows)
        if np.isnan(numbers).any():
            raise ValueError("the y of validation holds NaN; give a number for every validation row")
        return self._scaled(numbers)

    def _scaled(self, numbers: NDArray[np.float64]) -> Tensor:
        return torch.from_numpy((numbers - self.mean_) / self.scale_)

    def _out_features(self, targets: Tensor) -> int:
        return targets.shape[1]

    def _cost(self) -> str:
        return "squared_l2"

    def _metrics(self, logits: Tensor, targets: Tensor) -> dict[str, float]:
        return {"negative_squared_error": -float((logits - targets).square().mean())}

    def _describe(self) -> dict[str, JSON]:
        return {"mean": self.mean_.tolist(), "scale": self.scale_.tolist(), "many": self.many_}

    def _recall(self, model: Mapping[str, JSON]) -> None:
        self.mean_ = np.array(model["mean"], dtype=np.float64)
        self.scale_ = np.array(model["scale"], dtype=np.float64)
        self.many_ = cast(bool, model["many"])


def _numbers(y: ArrayLike, rows: int) -> tuple[NDArray[np.float64], bool]:
    """Y as (n, T), and whether the user gave several columns."""
    array = check_length(y, rows)
    many = array.ndim == 2 and array.shape[1] > 1
    numbers = (array if many else column_or_1d(array, warn=True)).astype(np.float64)
    infinite = np.argwhere(np.isinf(numbers))
    if len(infinite):
        raise ValueError(f"y{infinite[0].tolist()} is infinity (Input y contains infinity); give finite numbers or NaN")
    return numbers.reshape(rows, -1), many
