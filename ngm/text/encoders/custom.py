"""Encoders of the user's own: a model with `encode`, or vectors that were made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngm._arguments import as_array, short_repr
from ngm.text.encoders.encoder import OnTexts, unit_rows

_TEXTS_AT_ONCE = 1024


class Model(Protocol):
    """Such as `sentence_transformers.SentenceTransformer`."""

    def encode(self, sentences: list[str]) -> ArrayLike:
        """(n, d) vectors of the texts."""


@dataclass(frozen=True, eq=False)
class GivenModel:
    """A model of the user's.

    Args:
        model: Any object with `encode(list of texts)` that returns (n, d) numbers.
        name: Under which a run folder asks for it again.
    """

    model: Model
    name: str

    @property
    def width(self) -> int:
        """Numbers per text."""
        return int(self.encode([""]).shape[1])

    def encode(self, texts: Sequence[str], progress: OnTexts | None = None) -> NDArray[np.float32]:
        """(n, d) what the model gives, with length 1."""
        vectors = []
        for start in range(0, max(len(texts), 1), _TEXTS_AT_ONCE):
            some = list(texts[start : start + _TEXTS_AT_ONCE])
            vectors.append(_checked(self.model.encode(some), len(some), f"encode of {self.name}"))
            if progress:
                progress(start + len(some), len(texts))
        return unit_rows(np.concatenate(vectors))

    def as_json(self) -> dict[str, object]:
        """Its name; the model has to be given again."""
        return {"encoder": "given", "name": self.name}

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Nothing."""
        return {}


@dataclass(frozen=True, eq=False)
class GivenVectors:
    """Vectors of known texts, looked up.

    Args:
        vectors: A vector for each text.
        name: Under which a run folder asks for it again.
    """

    vectors: Mapping[str, NDArray[np.float32]]
    name: str = "vectors"

    @classmethod
    def of(cls, texts: Sequence[str], vectors: ArrayLike, name: str = "vectors") -> GivenVectors:
        """Pairs n texts with (n, d) vectors; of a text that is there twice the first counts."""
        rows = unit_rows(_checked(vectors, len(texts), "vectors"))
        return cls({text: rows[i] for i, text in reversed(list(enumerate(texts)))}, name)

    @property
    def width(self) -> int:
        """Numbers per text."""
        return len(next(iter(self.vectors.values())))

    def encode(self, texts: Sequence[str], progress: OnTexts | None = None) -> NDArray[np.float32]:
        """(n, d) the vectors of these texts, with length 1."""
        for row, text in enumerate(texts):
            if text not in self.vectors:
                raise ValueError(f"text {row} is {short_repr(text)}, which has no vector; give one for each text")
        if progress:
            progress(len(texts), len(texts))
        rows = [self.vectors[text] for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.width), dtype=np.float32)

    def as_json(self) -> dict[str, object]:
        """Its name; vectors of new texts have to be given."""
        return {"encoder": "given", "name": self.name}

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Nothing."""
        return {}


def _checked(vectors: ArrayLike, count: int, name: str) -> NDArray[np.floating]:
    """(n, d) finite numbers."""
    array = as_array(name, vectors, "give (n, d) numbers, a row per text")
    if array.ndim != 2 or len(array) != count or array.dtype.kind not in "iuf":
        raise ValueError(
            f"{name} gave {array.dtype} of shape {array.shape} for {count} texts; give (n, d) numbers, a row per text"
        )
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ValueError(f"{name} holds NaN or infinity in row {row}; give finite numbers")
    return array.astype(np.float64)
