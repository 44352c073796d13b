"""Texts as TF-IDF rows over the words of the training texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import Tensor

from ngm.features.feature_rows import NO_INPUT, FeatureRows, RowIssue, empty_rows
from ngm.io.run_folder import JSON
from ngm.io.table_columns import column_texts
from ngm.io.tables import Table
from ngm.io.tables.stream import Holds
from ngm.text.words import tfidf_vectorizer, words_of

MAX_WORDS = 50_000


@dataclass(frozen=True, eq=False)
class TfidfColumns:
    """Weighs words as `ngm.text.tfidf_rows` does, new texts by how rare a word was in the training texts.

    Args:
        names: Columns of texts, joined by a blank.
        vocabulary: (d,) the words, in lower case, in order.
        idf: (d,) 1 + log((1 + n) / (1 + texts with the word)).
    """

    names: tuple[str, ...]
    vocabulary: list[str]
    idf: NDArray[np.float32]

    @classmethod
    def fit(cls, table: Table, names: Sequence[str]) -> TfidfColumns:
        """Takes the words of all texts, of more than `MAX_WORDS` the most frequent."""
        texts = column_texts(table, names)
        if not any(words_of(text) for text in texts):
            raise ValueError(f"none of the {len(texts):,} texts has a letter or digit; give texts with words in them")
        vectorizer = tfidf_vectorizer(max_words=MAX_WORDS).fit(texts)
        return cls(tuple(names), vectorizer.get_feature_names_out().tolist(), np.asarray(vectorizer.idf_))

    @property
    def width(self) -> int:
        """Number of words."""
        return len(self.vocabulary)

    @property
    def holds(self) -> dict[str, Holds]:
        """What each column must hold."""
        return dict.fromkeys(self.names, "text")

    @cached_property
    def _fitted(self) -> TfidfVectorizer:
        vectorizer = tfidf_vectorizer(self.vocabulary)
        vectorizer.idf_ = self.idf
        return vectorizer

    def read(self, table: Table, first: int = 0) -> FeatureRows:
        """(n, d) sparse rows of length 1; zeros where a text has no known word."""
        x = sp.csr_array(self._fitted.transform(column_texts(table, self.names)))
        empty = empty_rows(x)
        issues = [RowIssue(empty + first, "have no word of the vocabulary", NO_INPUT)] if len(empty) else []
        return FeatureRows(x, issues)

    def as_json(self) -> dict[str, JSON]:
        """For `features.json`."""
        return {"text": list(self.names), "vocabulary": cast("list[JSON]", self.vocabulary)}

    def arrays(self) -> dict[str, Tensor]:
        """For `features.safetensors`."""
        return {"idf": torch.from_numpy(self.idf)}

    @classmethod
    def from_json(cls, content: Mapping[str, JSON], arrays: Mapping[str, Tensor]) -> TfidfColumns:
        """Takes back what was kept."""
        vocabulary, idf = cast("list[str]", content["vocabulary"]), arrays["idf"].numpy()
        if len(vocabulary) != len(idf):
            raise ValueError(f"{len(vocabulary)} words and {len(idf)} weights")
        return cls(tuple(cast("list[str]", content["text"])), vocabulary, idf)
