"""Settings of a small fit, and what two fits are compared by."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from ngm import NGMClassifier
from ngm.training import Epoch, History

SMALL = {"hidden": (8,), "epochs": 6, "batch_size": 16, "learning_rate": 0.01, "recipe": "paper"}


def weights(model: NGMClassifier | nn.Module) -> dict[str, torch.Tensor]:
    network = model.network_ if isinstance(model, NGMClassifier) else model
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


def same_bits(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def timeless(history: History) -> list[Epoch]:
    return [{name: value for name, value in epoch.items() if name != "seconds"} for epoch in history.epochs]


def stop_after(epoch: int, error: BaseException) -> Callable[[Epoch], None]:
    def stop(record: Epoch) -> None:
        if record["epoch"] == epoch:
            raise error

    return stop
