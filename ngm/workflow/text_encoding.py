"""Vectors of the texts of a training: which encoder makes them, why, and what teachers and the graph see of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngm.build.text import TextRows
from ngm.io.fetch import Progress
from ngm.text.encoders import Choice, choose_encoder, fit_encoder
from ngm.text.words import words_of


@dataclass(frozen=True, eq=False)
class TextEncoding:
    """Vectors of all texts.

    Args:
        name: Of the encoder.
        reason: Why this one.
        vectors: (n, d) of length 1; zeros where nothing of a text is known.
    """

    name: str
    reason: str
    vectors: NDArray[np.float32]

    def rows(self, texts: Sequence[str]) -> TextRows:
        """What a graph joins: texts without a word, or without a known one, are left out."""
        silent = np.array([not words_of(text) for text in texts], dtype=bool)
        zero = ~self.vectors.any(axis=1)
        return TextRows(self.vectors, np.flatnonzero(silent), np.flatnonzero(zero & ~silent))


def choose(name: str | None, texts: Sequence[str], progress: Progress) -> Choice:
    """The encoder that was named, or the best that can be had; one that lacks its files is an error if named."""
    if name is None:
        return choose_encoder(texts, progress=progress)
    return Choice(fit_encoder(name, texts, progress=progress), "as --encoder says")


def reading_description(chosen: Choice | None) -> str:
    """What is being done, in words."""
    return "reading texts" if chosen is None else f"reading texts with {chosen.encoder.name}"
