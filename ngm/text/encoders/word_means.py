"""Means of GloVe vectors, each word weighed by how few of the training texts have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ngm.io.fetch import DamagedFileError, DatasetUnavailableError, Progress
from ngm.text.encoders.encoder import Arrays, Content, EncoderUnavailableError, OnTexts, unit_rows
from ngm.text.glove import glove
from ngm.text.word_vectors import WordVectors, document_vectors

_TEXTS_AT_ONCE = 8192


@dataclass(frozen=True, eq=False)
class WordMeans:
    """Texts as means of word vectors.

    Args:
        vectors: Of all available words.
        words: U words of the training texts.
        idf: (U,) 1 + log((1 + n) / (1 + texts with the word)).
        unseen: Weight of a word that no training text has.
    """

    vectors: WordVectors
    words: list[str]
    idf: NDArray[np.float32]
    unseen: float
    name: str = "glove"

    @classmethod
    def fit(cls, texts: Sequence[str], progress: Progress | None = None) -> WordMeans:
        """Weighs words by how few of the n texts have them."""
        vectors = _glove(progress)
        idf = document_vectors(texts, vectors, idf=True).idf
        weight = np.zeros(0, dtype=np.float32) if idf is None else idf
        unseen = float(1 + np.log(1 + len(texts)))
        seen = np.flatnonzero(weight < unseen - 1e-4)
        return cls(vectors, [vectors.words[i] for i in seen.tolist()], weight[seen], unseen)

    @classmethod
    def open(cls, content: Content, arrays: Arrays, progress: Progress | None = None) -> WordMeans:
        """Takes back what `as_json` and `arrays` gave."""
        words, idf = cast("list[str]", content["words"]), arrays["idf"].astype(np.float32)
        if len(words) != len(idf):
            raise ValueError(f"{len(words)} words and {len(idf)} weights")
        return cls(_glove(progress), words, idf, float(cast(float, content["unseen"])))

    @property
    def width(self) -> int:
        """Numbers per text."""
        return self.vectors.width

    @cached_property
    def _weight(self) -> NDArray[np.float32]:
        weight = np.full(len(self.vectors.words), self.unseen, dtype=np.float32)
        for word, value in zip(self.words, self.idf.tolist(), strict=True):
            if word in self.vectors.index:
                weight[self.vectors.index[word]] = value
        return weight

    def encode(self, texts: Sequence[str], progress: OnTexts | None = None) -> NDArray[np.float32]:
        """(n, d) of length 1; zeros where a text has no known word."""
        out = np.zeros((len(texts), self.width), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            some = texts[start : start + _TEXTS_AT_ONCE]
            out[start : start + len(some)] = unit_rows(document_vectors(some, self.vectors, self._weight).vectors)
            if progress:
                progress(start + len(some), len(texts))
        return out

    def as_json(self) -> dict[str, object]:
        """Its name and the words that have a weight of their own."""
        return {"encoder": self.name, "words": self.words, "unseen": self.unseen}

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The weights."""
        return {"idf": self.idf}


def _glove(progress: Progress | None) -> WordVectors:
    try:
        return WordVectors.read(glove(progress=progress))
    except (DatasetUnavailableError, DamagedFileError) as error:
        raise EncoderUnavailableError(str(error)) from error
