"""Runs a trained network over many rows, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ngm.rows import Batched, Inputs, move_rows, num_rows, row_batches, slice_rows, take_rows

PREDICTED_AT_ONCE = 8192  # rows


def in_batches(
    inputs: Inputs,
    read: Callable[..., Tensor],
    dtype: torch.dtype,
    device: str,
    only: Tensor | None = None,
    shared: bool = False,
) -> Tensor:
    """What is read off the network for all rows, or for some of them by number; no gradients.

    Args:
        inputs: A row per node.
        read: Takes a batch of rows, as the network does.
        dtype: Of the rows.
        device: Where the network is.
        only: (b,) numbers of the rows wanted; all of them where None.
        shared: Whether the network may read all rows where they are; one that could write to its input gets copies.
    """
    count = num_rows(inputs)
    if shared and only is None and count and not isinstance(inputs, Batched):  # in their order, nothing to gather
        with torch.inference_mode():
            starts = range(0, count, PREDICTED_AT_ONCE)
            slices = (slice_rows(inputs, start, start + PREDICTED_AT_ONCE, dtype) for start in starts)
            return torch.cat([read(move_rows(rows, device)).cpu() for rows in slices])
    nodes = torch.arange(count) if only is None else only
    batches = row_batches(inputs, nodes, PREDICTED_AT_ONCE)
    with torch.inference_mode():
        parts = [read(move_rows(take_rows(inputs, nodes[batch], dtype), device)).cpu() for batch in batches]
    return torch.cat(parts)[torch.argsort(torch.cat(batches))]
