"""Texts that are new in every epoch: the same ones, each time without another piece of their beginning or end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ngm.text.ragged import Ragged, row_numbers
from ngm.text.synonym_augmentation import SynonymTexts


class CroppedTexts:
    """Leaves out a piece at one end of every text, another in each epoch; an `Indexable`, so a loader takes it as x.

    A character network depends on positions. With pieces left out, the rest of a text moves, and the
    network learns words rather than places. Same seed and epoch, same pieces.

    Args:
        rows: n rows of numbers, one per text.
        share: Part of a text to leave out, at most; how much is drawn evenly between none and this.
        seed: Same seed, same pieces.

    >>> rows = Ragged(torch.arange(1, 9, dtype=torch.uint8), torch.tensor([0, 8]))
    >>> CroppedTexts(rows, share=0.5, seed=0)[[0]].tolist()
    [[2, 3, 4, 5, 6, 7, 8]]
    """

    def __init__(self, rows: Ragged | SynonymTexts, share: float = 0.3, seed: int = 0) -> None:
        if not 0 <= share < 1:
            raise ValueError(f"share is {share}; it must be at least 0 and below 1")
        self.rows, self.share, self.seed = rows, share, seed
        self.set_epoch(0)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, nodes: Tensor | slice | Sequence[int]) -> Tensor:
        """(b, longest of these rows as cut) padded with blanks at the end."""
        ids = row_numbers(nodes, len(self))
        codes, start, length = self.rows[ids], self._start[ids], self._length[ids]
        positions = torch.arange(max(int(length.max()) if len(ids) else 0, 1))
        moved = codes.gather(1, (start[:, None] + positions).clamp_(max=codes.shape[1] - 1))
        return moved.mul_(positions < length[:, None])

    @property
    def lengths(self) -> Tensor:
        """(n,) int64, those of this epoch's rows."""
        return self._length

    def set_epoch(self, epoch: int) -> None:
        """Goes to an epoch; the first is 0."""
        if isinstance(self.rows, SynonymTexts):
            self.rows.set_epoch(epoch)
        rng = np.random.default_rng([self.seed, epoch, 1])
        lengths = self.rows.lengths
        num_dropped = (torch.from_numpy(rng.random(len(self))) * self.share * lengths).long()
        first = torch.from_numpy(rng.random(len(self)) < 0.5)
        self._start, self._length = torch.where(first, num_dropped, 0), lengths - num_dropped
