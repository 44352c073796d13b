"""What an encoder is: texts in, rows of numbers out, and a description from which a run can have it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Arrays: TypeAlias = Mapping[str, NDArray[np.generic]]
Content: TypeAlias = Mapping[str, object]
OnTexts: TypeAlias = Callable[[int, int], None]
"""Called with (texts done, texts in all)."""


class EncoderUnavailableError(RuntimeError):
    """An encoder lacks its files or a package."""


class MissingPackageError(EncoderUnavailableError):
    """An encoder lacks a package."""


class Encoder(Protocol):
    """Makes a vector of every text."""

    @property
    def name(self) -> str:
        """One of `ENCODERS`, or the name of an object that the user gave."""

    @property
    def width(self) -> int:
        """Numbers per text."""

    def encode(self, texts: Sequence[str], progress: OnTexts | None = None) -> NDArray[np.float32]:
        """(n, d) rows of length 1; zeros where nothing of a text is known.

        Args:
            texts: n texts of any length and language; an empty one is a text too.
            progress: Called after each batch.
        """

    def as_json(self) -> dict[str, object]:
        """What a run folder keeps, to be opened by `open_encoder`; `encoder` is the name."""

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The numbers that go with it."""


def unit_rows(x: NDArray[np.floating]) -> NDArray[np.float32]:
    """(n, d) the same rows with length 1; zeros stay zeros.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    length = np.linalg.norm(x, axis=1, keepdims=True)
    scaled: NDArray[np.float32] = (x / np.where(length > 0, length, 1)).astype(np.float32)
    return scaled


def readable(text: str) -> str:
    """The text without halves of characters, which broken files have and tokenizers refuse.

    >>> readable("a" + chr(0xD800))
    'a?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
