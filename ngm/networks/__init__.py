"""Networks that the paper uses, by name; any other `nn.Module` works as well."""

from collections.abc import Callable

from torch import nn

from ngm.networks.ffnn import FFNN

NETWORKS: dict[str, Callable[..., nn.Module]] = {"ffnn": FFNN}
__all__ = ["FFNN", "NETWORKS"]
