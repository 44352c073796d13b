"""Word vectors read from a file, and texts as means of the vectors of their words."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm._arguments import as_array, as_path, short_repr
from ngm.text import word_vector_files
from ngm.text.words import checked_texts, words_of


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Words and a vector for each.

    Args:
        words: V distinct words.
        vectors: (V, d) float, finite.
    """

    words: list[str]
    vectors: NDArray[np.floating]

    def __post_init__(self) -> None:
        if not isinstance(self.words, list | tuple) or not all(isinstance(word, str) for word in self.words):
            raise ValueError(f"words is {short_repr(self.words)}; give a list of strings")
        if not isinstance(self.vectors, np.ndarray) or self.vectors.dtype.kind not in "iufb":
            dtype = getattr(self.vectors, "dtype", type(self.vectors).__name__)
            raise ValueError(f"vectors is of type {dtype}; give a numpy array of numbers, a row per word")
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.words):
            raise ValueError(
                f"there are {len(self.words)} words and vectors of shape {self.vectors.shape}; give a row per word"
            )
        if len(self.index) != len(self.words):
            raise ValueError(f"{len(self.words) - len(self.index)} words occur twice; give each word once")
        finite = np.isfinite(self.vectors).all(axis=1)
        if not finite.all():
            word = self.words[int(np.flatnonzero(~finite)[0])]
            raise ValueError(f"the vector of {word!r} holds NaN or infinity; leave that word out")

    def __repr__(self) -> str:
        """`WordVectors(400,000 words, 50 wide)`."""
        return f"WordVectors({len(self.words):,} words, {self.width} wide)"

    @property
    def width(self) -> int:
        """Numbers per word."""
        return int(self.vectors.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @classmethod
    def read(cls, file: str | Path, keep: Iterable[str] | None = None) -> WordVectors:
        """Reads GloVe or word2vec text, word2vec binary (`.bin`) or `.npz`; all but the last also as `.gz`.

        Args:
            file: Text has a word and its numbers per line, perhaps after a line with the number of words and the
                width; `.npz` has the arrays `words` and `vectors`. Of a word that is there twice the first counts.
            keep: Read only these words, as spelled or in lower case; memory is then that of the words kept, however
                large the file is. All where not given.
        """
        path = as_path("the file of word vectors", file)
        words = None if keep is None else checked_texts(keep)
        selected = None if words is None else {spelling for word in words for spelling in (word, word.lower())}
        return cls(*word_vector_files.read(path, selected))


@dataclass(frozen=True, eq=False)
class DocumentVectors:
    """Texts as means of word vectors.

    Args:
        vectors: (n, d) float32; zeros where a text has no known word.
        coverage: Share of all words, repeats counted, that have a vector.
        known: (n,) how many words of each text have a vector.
        idf: (V,) weight of each word in the means; None where all count the same.
    """

    vectors: NDArray[np.float32]
    coverage: float
    known: NDArray[np.int64]
    idf: NDArray[np.float32] | None

    @property
    def unknown(self) -> NDArray[np.int64]:
        """(u,) rows of the texts without a known word."""
        return np.flatnonzero(self.known == 0)


def document_vectors(
    texts: Iterable[object], words: WordVectors, idf: bool | NDArray[np.floating] = False
) -> DocumentVectors:
    """Represents each text by the mean of the vectors of its words.

    A word is looked up as it is spelled, then in lower case, so that both cased and uncased vectors find theirs.

    Args:
        texts: n texts; None and NaN are texts without words.
        words: The vectors.
        idf: Whether a word in d of n texts weighs 1 + log((1 + n) / (1 + d)) in the mean; or (V,) weights of one's
            own, such as `idf` of an earlier result, so that new texts are weighed as the old ones were.

    >>> words = WordVectors(["red", "blue"], np.eye(2))
    >>> document_vectors(["Red, red and blue"], words).vectors.round(2).tolist()
    [[0.6700000166893005, 0.33000001311302185]]
    """
    counts, num_words = _counts(checked_texts(texts), words)
    num_known = np.asarray(counts.sum(axis=1)).astype(np.int64)
    weight = _idf(counts) if idf is True else None if idf is False else _checked_weight(idf, len(words.words))
    if weight is not None:
        counts.data *= weight[counts.indices]
    total = np.asarray(counts.sum(axis=1))
    mean = counts @ words.vectors.astype(np.float32) / np.maximum(total, np.finfo(np.float32).tiny)[:, None]
    return DocumentVectors(mean.astype(np.float32), int(num_known.sum()) / max(num_words, 1), num_known, weight)


def _counts(texts: list[str], words: WordVectors) -> tuple[sp.csr_array, int]:
    """((n, V) float32 how often each text has each known word, number of words in all texts)."""
    lookup = _WordIndex(words.index)
    rows, offsets, num_words = array("i"), array("q", [0]), 0
    for text in texts:
        text_words = words_of(text)
        num_words += len(text_words)
        rows.extend([row for row in map(lookup.__getitem__, text_words) if row >= 0])
        offsets.append(len(rows))
    shape = (len(texts), len(words.words))
    indices = np.frombuffer(rows, dtype=np.int32) if rows else np.zeros(0, dtype=np.int32)
    counts = sp.csr_array((np.ones(len(rows), dtype=np.float32), indices, np.asarray(offsets)), shape=shape)
    counts.sum_duplicates()
    return counts, num_words


class _WordIndex(dict[str, int]):
    """Row of a word, or of its lower case, or -1; remembers what it has been asked."""

    def __init__(self, index: dict[str, int]) -> None:
        super().__init__()
        self.index = index

    def __missing__(self, word: str) -> int:
        row = self.index.get(word)
        self[word] = row = self.index.get(word.lower(), -1) if row is None else row
        return row


def _idf(counts: sp.csr_array) -> NDArray[np.float32]:
    n, width = counts.shape
    texts_with = np.bincount(counts.indices, minlength=width)
    weight: NDArray[np.float32] = (1 + np.log((1 + n) / (1 + texts_with))).astype(np.float32)
    return weight


def _checked_weight(weight: NDArray[np.floating], count: int) -> NDArray[np.float32]:
    array = as_array("idf", weight, f"give True, False, or one weight for each of the {count} words")
    if array.shape != (count,):
        raise ValueError(f"idf has shape {array.shape}; give one weight for each of the {count} words")
    if array.dtype.kind not in "iuf":
        raise ValueError(f"idf holds {array.dtype}; give one weight for each of the {count} words")
    return array.astype(np.float32)
