"""Tensors in the memory order of others: torch's fused optimizers read weights, gradients and moments side by side."""

from __future__ import annotations

import torch
from torch import Tensor


def ordered_like(tensor: Tensor, like: Tensor) -> Tensor:
    """The tensor in the memory order of another one of its shape; of another shape, as it is."""
    if tensor.shape != like.shape or tensor.stride() == like.stride():
        return tensor
    return torch.empty_like(like, dtype=tensor.dtype).copy_(tensor)
