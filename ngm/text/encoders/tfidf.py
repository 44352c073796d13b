"""TF-IDF rows reduced by a singular value decomposition: needs nothing but the texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.extmath import randomized_svd

from ngm.text.encoders.encoder import Arrays, Content, OnTexts, unit_rows
from ngm.text.words import tfidf_vectorizer, words_of

WIDTH = 200
MAX_WORDS = 20_000
_TEXTS_AT_ONCE = 8192


@dataclass(frozen=True, eq=False)
class TfidfSVD:
    """Latent semantic analysis of the training texts.

    Args:
        vocabulary: V words in lower case.
        idf: (V,) 1 + log((1 + n) / (1 + texts with the word)).
        components: (V, d) directions.
    """

    vocabulary: list[str]
    idf: NDArray[np.float32]
    components: NDArray[np.float32]
    name: str = "tfidf"

    @classmethod
    def fit(cls, texts: Sequence[str], width: int = WIDTH, seed: int = 0) -> TfidfSVD:
        """Takes the most frequent words of all texts, and the directions in which the texts differ most.

        Args:
            texts: n texts, labelled or not; at least one with a letter or digit.
            width: Numbers per text; fewer where there are fewer texts or words.
            seed: Of the decomposition, which begins with random directions.
        """
        if not any(words_of(text) for text in texts):
            raise ValueError(f"none of the {len(texts):,} texts has a letter or digit; give texts with words in them")
        vectorizer = tfidf_vectorizer(max_words=MAX_WORDS)
        rows = sp.csr_array(vectorizer.fit_transform(texts))
        vocabulary = vectorizer.get_feature_names_out().tolist()
        rank = max(1, min(width, *rows.shape))
        _, _, directions = randomized_svd(sp.csr_matrix(rows), rank, random_state=seed)  # (d, V)
        return cls(vocabulary, np.asarray(vectorizer.idf_, dtype=np.float32), directions.T.astype(np.float32))

    @classmethod
    def open(cls, content: Content, arrays: Arrays) -> TfidfSVD:
        """Takes back what `as_json` and `arrays` gave."""
        vocabulary = cast("list[str]", content["vocabulary"])
        idf, components = arrays["idf"].astype(np.float32), arrays["components"].astype(np.float32)
        if not len(vocabulary) == len(idf) == len(components):
            raise ValueError(f"{len(vocabulary)} words, {len(idf)} weights and {len(components)} directions")
        return cls(vocabulary, idf, components)

    @property
    def width(self) -> int:
        """Numbers per text."""
        return int(self.components.shape[1])

    @cached_property
    def _fitted(self) -> TfidfVectorizer:
        vectorizer = tfidf_vectorizer(self.vocabulary)
        vectorizer.idf_ = self.idf
        return vectorizer

    def encode(self, texts: Sequence[str], progress: OnTexts | None = None) -> NDArray[np.float32]:
        """(n, d) of length 1; zeros where a text has no known word."""
        out = np.zeros((len(texts), self.width), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            some = texts[start : start + _TEXTS_AT_ONCE]
            rows = self._fitted.transform(some)  # (b, V)
            out[start : start + len(some)] = unit_rows(np.asarray(rows @ self.components))
            if progress:
                progress(start + len(some), len(texts))
        return out

    def as_json(self) -> dict[str, object]:
        """Its name and words."""
        return {"encoder": self.name, "vocabulary": self.vocabulary}

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Weights and directions."""
        return {"idf": self.idf, "components": self.components}
