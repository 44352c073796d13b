"""`NGMRegressor`: the same objective with a squared l2 cost on numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from torch import Tensor

from ngm.estimators.base import NGMEstimator
from ngm.parameters import with_settings
from ngm.targets import TaskName
from ngm.task import NumberTask, Task, read_numbers
from ngm.text.readers import Given


@with_settings
@dataclass(eq=False, repr=False)
class NGMRegressor(RegressorMixin, NGMEstimator):  # type: ignore[misc]
    """Trains a network on rows with and without numbers, joined by a graph; predicts without the graph.

    y is (n,) or (n, T) numbers; NaN (or None, NA), and only that, marks unlabelled rows. A row with NaN in some of its
    columns is unlabelled too, with a `PartlyLabeledWarning`. Targets are brought to mean 0 and standard deviation 1 for
    training, so that an alpha means the same on any scale.

    By default (recipe "auto") teachers give every node of the graph a number, and the network learns these: ridge
    regressions on the rows and on the rows around each node, numbers spread over the edges, and the mean of all labels.
    Each teacher is weighted by its squared error on labels that were held out of its training. A labelled node's target
    is in part what the teachers say, the more so the less of the held-out labels they explain, since a network would
    learn the noise of each by heart. Without a graph there are no teachers: a plain network is trained on the labelled
    rows as recipe "paper" does, and `settings_.recipe` says so.

    Args:
        {settings}

    >>> x = np.linspace(0, 1, 20, dtype=np.float32)[:, None]
    >>> NGMRegressor(epochs=200).fit(x, 3 * x[:, 0] + 1).predict(x[:2]).round().tolist()
    [1.0, 1.0]
    """

    _any_task: ClassVar[TaskName] = "numbers"

    def predict(self, x: Given) -> NDArray[np.floating]:
        """(n,) or (n, T) float64 numbers: far from 0, as times in seconds are, float32 cannot tell them apart."""
        outputs = self._run(x, lambda rows: self.network_(rows))
        return cast("NDArray[np.floating]", self._task.decode(outputs))

    def score(self, x: Given, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R squared over the labelled rows."""
        return self._task.score(self.predict(x), y, sample_weight)

    @property
    def digits_(self) -> int:
        """Significant digits that tell numbers of the training targets apart: 6, and more where their mean is large."""
        return self._task.digits

    def _read_targets(self, y: ArrayLike, rows: int) -> tuple[Task, Tensor, Tensor]:
        if self.sampling == "balanced":
            raise ValueError("sampling is 'balanced', which is for classes; NGMRegressor takes sampling='plain'")
        return read_numbers(y, rows)

    @property
    def _task(self) -> NumberTask:
        return NumberTask(self.many_, self.mean_, self.scale_)

    def _set_task(self, task: Task) -> None:
        numbers = cast(NumberTask, task)
        self.many_, self.mean_, self.scale_ = numbers.many, numbers.mean, numbers.scale
