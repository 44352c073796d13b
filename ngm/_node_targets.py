"""Targets and weights of nodes, as the loader takes them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._arguments import as_numbers, short_repr

Ids = NDArray[np.int64]


def as_targets(y: ArrayLike | Tensor) -> Tensor:
    """Y as a tensor: whole numbers as int64, fractions as float32, or float64 if they were that."""
    raw = as_numbers("y", y, "give numbers, one per row, -1 or NaN where unlabelled")
    if not raw.ndim:
        raise ValueError(f"y is {short_repr(y)}; give a number per row, -1 or NaN where unlabelled")
    if raw.is_floating_point():
        return raw if raw.dtype == torch.float64 else raw.float()
    return raw.long()


def node_weights(labeled: Tensor, sample_weight: ArrayLike | Tensor | None) -> Tensor:
    """(n,) float32 weight of each node's supervised cost: 0 where unlabelled, 1 where nothing else is asked for."""
    if sample_weight is None:
        return labeled.float()
    given = as_numbers("sample_weight", sample_weight, f"give {len(labeled)} numbers of at least 0").cpu().numpy()
    with np.errstate(over="ignore"):  # too large for float32: infinite, and refused
        weight = torch.from_numpy(np.array(given, dtype=np.float32))
    if weight.shape != labeled.shape or not bool((weight >= 0).all()):
        smallest = f" and smallest value {float(weight.min())}" if weight.numel() else ""
        raise ValueError(
            f"sample_weight has shape {tuple(weight.shape)}{smallest}; give {len(labeled)} numbers of at least 0"
        )
    if not np.isfinite(float(weight.sum())):
        row = int(weight.argmax())
        raise ValueError(
            f"sample_weight[{row}] is {given[row]}; weights and their sum must be finite in float32; scale them down"
        )
    if not bool((weight * labeled).any()):
        raise ValueError("sample_weight is zero for every labelled row; give at least one a weight above 0")
    return weight * labeled


def labeled_nodes(y: Tensor) -> Tensor:
    """(n,) mask: neither NaN nor, for classes and rows of labels, -1."""
    if y.ndim == 1:
        return ~torch.isnan(y) if y.is_floating_point() else y >= 0
    return (y.flatten(1) >= 0).all(dim=1)  # NaN compares false


def class_sides(y: Tensor, labeled: Tensor) -> list[Ids]:
    """The labelled members of each class and, of each label among several, its labelled non-members too."""
    if not bool(labeled.any()):
        raise ValueError("sampling is 'balanced', but no node is labelled; label some, or set sampling='plain'")
    ids, target = labeled.nonzero()[:, 0].numpy(), y[labeled].numpy()
    if y.is_floating_point() and (y.ndim == 1 or bool((target < 0).any() | (target > 1).any())):
        raise ValueError("sampling is 'balanced', which is for classes, and y holds numbers; set sampling='plain'")
    if y.ndim == 1:  # the members of the other classes are the negatives
        return [ids[target == c] for c in np.unique(target)]
    sides = [ids[(column > 0.5) == positive] for column in target.T for positive in (True, False)]
    return [side for side in sides if len(side)]
