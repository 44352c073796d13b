"""Words of a text, and texts as TF-IDF rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ngm._arguments import short_repr

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Splits a text into its words, spelled as they are: unbroken runs of letters and digits of any script.

    Everything else parts words and is dropped, the apostrophe and the underscore too.

    Args:
        text: Any text.

    >>> words_of("Don't panic: 42 towels, naïve_user!")
    ['Don', 't', 'panic', '42', 'towels', 'naïve', 'user']
    """
    return _WORD.findall(text)


def tfidf_rows(texts: Sequence[str]) -> sp.csr_array:
    """Weighs each word of a text by how often it is there and how few texts have it.

    A word that is in a text c times and in d of n texts has weight (1 + log c)(1 + log((1 + n) / (1 + d))), with words
    in lower case. Rows have length 1; a text without words is a row of zeros.

    Args:
        texts: n texts.

    Returns:
        (n, distinct words) float32.
    """
    if not any(map(_WORD.search, texts)):
        return sp.csr_array((len(texts), 0), dtype=np.float32)
    return sp.csr_array(tfidf_vectorizer().fit_transform(texts))


def tfidf_vectorizer(vocabulary: list[str] | None = None, max_words: int | None = None) -> TfidfVectorizer:
    """The vectorizer that weighs words as `tfidf_rows` says.

    Args:
        vocabulary: The words, in lower case; those of the texts that it is fitted to where not given.
        max_words: Of these texts, the most frequent; all where not given.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # half of what loading torch costs

    return TfidfVectorizer(
        analyzer=_lower_words, sublinear_tf=True, dtype=np.float32, vocabulary=vocabulary, max_features=max_words
    )


def checked_texts(texts: Iterable[object]) -> list[str]:
    """The texts as a list, missing ones (None, NaN) as empty; anything else that is no text is an error.

    >>> checked_texts(["a", None, float("nan")])
    ['a', '', '']
    """
    if isinstance(texts, str):
        raise ValueError(f"texts is one text, {_short(texts)}; give a list of texts, one per node")
    if not isinstance(texts, Iterable) or isinstance(texts, Mapping):
        raise ValueError(f"texts is a {type(texts).__name__}; give a list of texts, one per node")
    strings = ["" if _is_missing(text) else text for text in texts]
    for row, text in enumerate(strings):
        if not isinstance(text, str):
            raise ValueError(f"text {row} is {short_repr(text)}, of type {type(text).__name__}; give strings")
    return [str(text) for text in strings]


def _is_missing(text: object) -> bool:
    """None, NaN or pandas' NA."""
    return text is None or type(text).__name__ == "NAType" or (isinstance(text, float | np.floating) and text != text)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _lower_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
