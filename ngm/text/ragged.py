"""Texts as runs of small whole numbers: stored end to end, read as padded batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths, one after the other in memory; an `Indexable`, so an estimator takes it as x.

    Args:
        values: (total,) whole numbers of any type; 0 means blank.
        offsets: (n + 1,) int64, where each row begins; the last is `total`.
    """

    values: Tensor
    offsets: Tensor

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, nodes: Tensor | slice | Sequence[int]) -> Tensor:
        """(b, longest of these rows, at least 1) padded with blanks at the end, of the type of `values`."""
        ids = row_numbers(nodes, len(self))
        start, length = self.offsets[ids], self.lengths[ids]
        width = max(int(length.max()) if len(ids) else 0, 1)
        column = torch.arange(width)
        inside = column < length[:, None]  # (b, width)
        if not len(self.values):
            return self.values.new_zeros(len(ids), width)
        padded = self.values[(start[:, None] + column).clamp_(max=len(self.values) - 1)]
        return padded.mul_(inside)

    @property
    def lengths(self) -> Tensor:
        """(n,) int64."""
        return self.offsets.diff()

    def take(self, nodes: Tensor | slice | Sequence[int]) -> Ragged:
        """These rows, in this order, as rows of their own."""
        nodes = row_numbers(nodes, len(self))
        length = self.lengths[nodes]
        offsets = torch.cat([length.new_zeros(1), length.cumsum(0)])
        inside = torch.arange(int(offsets[-1])) - offsets[:-1].repeat_interleave(length)
        return Ragged(self.values[self.offsets[nodes].repeat_interleave(length) + inside], offsets)


def row_numbers(nodes: Tensor | slice | Sequence[int], count: int) -> Tensor:
    """(b,) int64 rows from 0, given as a slice, a mask of `count` entries, or numbers that may count from the end.

    >>> row_numbers([-1, 0], 3).tolist(), row_numbers(torch.tensor([False, True, True]), 3).tolist()
    ([2, 0], [1, 2])
    """
    if not isinstance(nodes, slice):
        nodes = torch.as_tensor(nodes)
        nodes = nodes if nodes.dtype == torch.bool else nodes.long()
    return torch.arange(count)[nodes].reshape(-1)
