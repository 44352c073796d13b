"""Networks that the paper uses, by name; any other `nn.Module` works as well."""

from collections.abc import Callable
from functools import partial

from torch import nn

import ngm.rows  # noqa: F401  keeps torch from saying that sparse rows are in beta
from ngm.choices import TEXT_NETWORKS, WORD_NETWORKS
from ngm.networks.charcnn import CharCNN
from ngm.networks.ffnn import FFNN
from ngm.networks.lstm import LSTM

NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "ffnn": FFNN,
    "charcnn": partial(CharCNN, size="tiny"),
    "charcnn-small": partial(CharCNN, size="small"),
    "charcnn-large": partial(CharCNN, size="large"),
    "lstm": LSTM,
}
__all__ = ["FFNN", "LSTM", "NETWORKS", "TEXT_NETWORKS", "WORD_NETWORKS", "CharCNN"]
