"""What estimators that train in rounds do once they are fitted: the kept network answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ngm.methods.readers import Given
from ngm.methods.rounds import save_rounds
from ngm.methods.targets import labeled_accuracy


class InRounds(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts by `estimator_`, the network of `best_round_`; `history_` and `stopped_` tell of the rounds."""

    def predict(self, x: Given) -> NDArray[np.generic]:
        """Classes (n,), by the network alone."""
        check_is_fitted(self)
        predicted: NDArray[np.generic] = self.estimator_.predict(x)
        return predicted

    def predict_proba(self, x: Given) -> NDArray[np.floating]:
        """(n, C) shares that add up to 1."""
        check_is_fitted(self)
        shares: NDArray[np.floating] = self.estimator_.predict_proba(x)
        return shares

    def score(self, x: Given, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy over the labelled rows."""
        return labeled_accuracy(self.predict(x), y, sample_weight)

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Writes the kept estimator's run folder, with the rounds in `rounds.json`; `ngm.load` reads it back.

        Args:
            folder: A new or an empty one.
            overwrite: Whether a run that is in it may be replaced.
        """
        check_is_fitted(self)
        return save_rounds(self.estimator_, folder, self.history_, self.best_round_, self.stopped_, overwrite)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
