"""Runs a trained network over many rows, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
    with torch.inference_mode():
        if shared and only is None and count and not isinstance(inputs, Batched):  # in their order, nothing to gather
            places = [slice(start, start + PREDICTED_AT_ONCE) for start in range(0, count, PREDICTED_AT_ONCE)]
            slices = (slice_rows(inputs, place.start, place.stop, dtype) for place in places)
            return _joined(
                ((place, read(move_rows(rows, device))) for place, rows in zip(places, slices, strict=True)), count
            )
        nodes = torch.arange(count) if only is None else only
        batches = row_batches(inputs, nodes, PREDICTED_AT_ONCE)
        rows_of = (move_rows(take_rows(inputs, nodes[batch], dtype), device) for batch in batches)
        return _joined(((batch, read(rows)) for batch, rows in zip(batches, rows_of, strict=True)), len(nodes))


def _joined(parts: Iterator[tuple[slice | Tensor, Tensor]], count: int) -> Tensor:
    """Parts put to their places as they come.

    If they were kept and joined at the end, they would lie between pieces of memory that are used and given back in
    each batch, and leave holes several times as large as they are.

    Args:
        parts: (places, what is there) of each, at least one.
        count: How many places there are.
    """
    place, part = next(parts)
    whole = torch.empty((count, *part.shape[1:]), dtype=part.dtype)
    whole[place] = part.cpu()
    for place, part in parts:
        whole[place] = part.cpu()
    return whole
