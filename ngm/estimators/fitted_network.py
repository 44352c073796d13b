"""Reading x, and running the network of an estimator over its rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ngm.estimators.batch_prediction import in_batches
from ngm.estimators.checks import check_features
from ngm.networks.specifications import TextNetwork
from ngm.networks.tap import LAST_HIDDEN, tap
from ngm.recipes.parameters import Parameters, network_specification
from ngm.rows import Inputs, Rows
from ngm.text.readers import Given, Reader, Texts, read_new_texts, read_training_texts

_OF_INPUTS = ("n_features_in_", "feature_names_in_", "reader_", "vocabulary_")  # what reading x leaves behind


class FittedNetwork(Parameters):
    """The part of an estimator that reads x and runs the network."""

    network_: nn.Module
    dtype_: torch.dtype
    n_features_in_: int

    def transform(self, x: Given) -> NDArray[np.floating]:
        """Hidden vectors h (n, width): of `layer` if that is set, else of the last hidden layer."""
        return self._run(x, self._hidden)

    @property
    def _n_features_out(self) -> int:
        """Width of h, for `get_feature_names_out`."""
        if hasattr(self, "reader_"):
            return int(self._batched(Texts([""], self.reader_.read([""])), self._hidden).shape[1])
        return int(self.transform(np.zeros((1, self.n_features_in_), dtype=np.float32)).shape[1])

    def _read(self, x: Given, reset: bool) -> Inputs:
        """X as rows that can be taken by node id; in `fit` (`reset`), columns or words are remembered."""
        if reset:
            for name in _OF_INPUTS:  # of an earlier fit
                self.__dict__.pop(name, None)
        network = network_specification(self)
        if not isinstance(network, TextNetwork):
            return check_features(self, x, network, reset)
        if not reset:
            return read_new_texts(self.reader_, x)
        texts, reader = read_training_texts(network.name, x, network.reader, network.vectors)
        self.reader_: Reader = reader
        if reader.vocabulary is not None:
            self.vocabulary_ = reader.vocabulary
        return texts

    def _logits(self, x: Inputs) -> Tensor:
        return self._batched(x, lambda rows: self.network_(rows))

    def _hidden(self, rows: Rows) -> Tensor:
        layer = self.layer or LAST_HIDDEN
        return tap(self.network_, rows, [layer])[1][layer]

    def _run(self, x: Given, read: Callable[..., Tensor]) -> NDArray[np.floating]:
        """Checks x and reads something off the network for its rows."""
        check_is_fitted(self)
        out: NDArray[np.floating] = self._batched(self._read(x, reset=False), read).numpy()
        return out

    def _batched(self, inputs: Inputs, read: Callable[..., Tensor]) -> Tensor:
        """What is read off the network for all rows."""
        self.network_.eval()
        custom = network_specification(self).reads == "any"
        return in_batches(inputs, read, self.dtype_, self.device, shared=not custom)
