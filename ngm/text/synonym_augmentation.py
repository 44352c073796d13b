"""Texts that are new in every epoch: the same ones, each time with other synonyms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from ngm.text.ragged import Ragged, row_numbers
from ngm.text.thesaurus import Thesaurus


class SynonymTexts:
    """Rewrites texts for each epoch and reads them as numbers; an `Indexable`, so a loader takes it as x.

    Same seed and epoch, same texts. The texts of an epoch are drawn when first asked for; those that stay as they are
    are read once for all epochs.

    Args:
        texts: n texts.
        thesaurus: The synonyms.
        read: From texts to rows of numbers: `quantize`, say, or the `read` of a `Vocabulary`.
        seed: Same seed, same texts.
    """

    def __init__(
        self, texts: Sequence[str], thesaurus: Thesaurus, read: Callable[[list[str]], Ragged], seed: int = 0
    ) -> None:
        self.thesaurus, self.read, self.seed, self.epoch = thesaurus, read, seed, 0
        self._found = thesaurus.find(texts)
        self.original = read(self._found.texts)
        if len(self.original) != len(self._found.texts):
            raise ValueError(
                f"read gave {len(self.original)} rows for {len(self._found.texts)} texts; it must give a row per text"
            )
        self._drawn = -1  # epoch of the rows at hand
        self._rows, self._place = self.original, torch.arange(len(self.original))

    def __len__(self) -> int:
        return len(self.original)

    def __getitem__(self, nodes: Tensor | slice | Sequence[int]) -> Tensor:
        """(b, longest of these rows) this epoch's rows, padded as `Ragged` pads."""
        rows = self._this_epoch()
        return rows[self._place[row_numbers(nodes, len(self))]]

    @property
    def lengths(self) -> Tensor:
        """(n,) int64, those of this epoch's rows."""
        return self._this_epoch().lengths[self._place]

    def set_epoch(self, epoch: int) -> None:
        """Goes to an epoch; the first is 0."""
        self.epoch = epoch

    def texts(self) -> list[str]:
        """This epoch's texts."""
        changed, new = self._draw()
        texts = list(self._found.texts)
        for row, text in zip(changed.tolist(), new, strict=True):
            texts[row] = text
        return texts

    def _draw(self) -> tuple[Tensor, list[str]]:
        changed, new = self.thesaurus.replace(self._found, np.random.default_rng([self.seed, self.epoch]))
        return torch.from_numpy(changed), new

    def _this_epoch(self) -> Ragged:
        """All original rows and, after them, the changed ones; `_place` says which of these each text has."""
        if self._drawn != self.epoch:
            changed, new = self._draw()
            self._rows, self._place = self.original, torch.arange(len(self))
            if new:
                rows, end = self.read(new), self.original.offsets[-1]
                offsets = torch.cat([self.original.offsets, rows.offsets[1:] + end])
                self._rows = Ragged(torch.cat([self.original.values, rows.values]), offsets)
                self._place[changed] = len(self) + torch.arange(len(new))
            self._drawn = self.epoch
        return self._rows
