"""Tokens of a text, the vocabulary of many texts, and texts as runs of its rows."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.text.ragged import Ragged
from ngm.text.word_vectors import WordVectors
from ngm.text.words import checked_texts

PADDING, UNKNOWN = 0, 1
LENGTH = 1024  # tokens that are read of a text, at most
_FIRST = 2  # row of the first word
_SMALL = 0.1  # size of drawn vectors, as a share of that of those found
_TOKEN = re.compile(r"[^\W_]+|\S")


def tokens_of(text: str) -> list[str]:
    """Splits a text into its words, in lower case, and its marks: `?` and `!` tell questions and orders apart.

    A word is an unbroken run of letters and digits of any script, as in `words_of`; every other character that is no
    space is a token of its own.

    Args:
        text: Any text.

    >>> tokens_of("Don't you?! OK...")
    ['don', "'", 't', 'you', '?', '!', 'ok', '.', '.', '.']
    """
    return _TOKEN.findall(text.lower())


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The tokens that are distinguished, a row for each: row 0 is padding, row 1 any other token, words from row 2.

    Args:
        words: V distinct tokens, spelled as `tokens_of` gives them.

    >>> Vocabulary(["is", "?"]).read(["Is it?", "?"])[[0, 1]].tolist()
    [[2, 1, 3], [3, 0, 0]]
    """

    words: list[str]

    def __post_init__(self) -> None:
        if len(self.index) != len(self.words):
            raise ValueError(f"{len(self.words) - len(self.index)} words occur twice; give each word once")
        for word in self.words:
            if tokens_of(word) != [word]:
                raise ValueError(
                    f"no text has the token {word!r}: it is read as {tokens_of(word)}; give words in that form"
                )

    def __len__(self) -> int:
        """Number of rows: V + 2."""
        return len(self.words) + _FIRST

    def __repr__(self) -> str:
        """`Vocabulary(20,000 words)`."""
        return f"Vocabulary({len(self.words):,} words)"

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of each word."""
        return {word: row for row, word in enumerate(self.words, _FIRST)}

    @classmethod
    def of(cls, texts: Iterable[object], most: int = 20_000, least: int = 1) -> Vocabulary:
        """The most frequent tokens of the texts, most frequent first; where they tie, in order of their characters.

        Args:
            texts: Texts; None and NaN are texts without tokens.
            most: Maximum number of words.
            least: Leave out words that all texts together have fewer times than this.

        >>> Vocabulary.of(["b a b", "c"], most=2).words
        ['b', 'a']
        """
        for name, value in (("most", most), ("least", least)):
            if value < 1:
                raise ValueError(f"{name} is {value}; give 1 or more")
        checked = checked_texts(texts)
        if not checked:
            raise ValueError("there are no texts to take words from; give at least one")
        counts = _counts(checked)
        if not counts:
            raise ValueError(f"none of the {len(checked):,} texts has a word; give texts with words")
        words = sorted((word for word, count in counts.items() if count >= least), key=lambda w: (-counts[w], w))
        if not words:
            word, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
            raise ValueError(f"least is {least}, and the most frequent word, {word!r}, occurs {count} times; lower it")
        return cls(words[:most])

    def read(self, texts: Iterable[object], length: int = LENGTH) -> Ragged:
        """Texts as rows of the vocabulary.

        Args:
            texts: n texts; None and NaN are texts without tokens.
            length: Tokens to read of a text, at most; of a longer one the end is read, as `quantize` does.

        Returns:
            n runs of int32, none shorter than 1: a text without tokens is one unknown token.
        """
        row_of, rows, offsets = _TokenIndex(self.index), array("i"), array("q", [0])
        for text in checked_texts(texts):
            rows.extend([row_of[token] for token in tokens_of(text)[-length:]] or [UNKNOWN])
            offsets.append(len(rows))
        return Ragged(torch.from_numpy(np.array(rows, dtype=np.int32)), torch.from_numpy(np.array(offsets)))

    def coverage(self, texts: Iterable[object]) -> float:
        """Share of all tokens of the texts, repeats counted, that are in the vocabulary; 0 where there are none."""
        counts = _counts(checked_texts(texts))
        return sum(count for token, count in counts.items() if token in self.index) / max(counts.total(), 1)

    def vectors(self, words: WordVectors, width: int | None = None, seed: int = 0) -> tuple[Tensor, int]:
        """A vector per row, to start a network's table of words with.

        Args:
            words: Vectors of width d. A word has the one that is spelled like it, in lower case, or else the first that
                differs in nothing but capitals.
            width: What d has to be; any width where not given.
            seed: Draws the vectors of words that have none.

        Returns:
            (table (V + 2, d) float32, number of words that have a vector). Padding is zeros; the unknown token and
            words without a vector are drawn from a normal, a tenth of the size of the vectors found.
        """
        if width is not None and words.width != width:
            raise ValueError(f"the word vectors are {words.width} wide, not {width}; give vectors {width} wide")
        rows = self._rows_in(words)
        known = rows >= 0
        if not known.any():
            raise ValueError(
                f"none of the {len(rows):,} words of the texts is in {words}; give vectors of this language"
            )
        known_vectors = words.vectors[rows[known]].astype(np.float32)
        size = _SMALL * float(np.sqrt(np.square(known_vectors).mean()))
        table = np.random.default_rng(seed).normal(scale=size, size=(len(self), words.width)).astype(np.float32)
        table[PADDING] = 0
        table[_FIRST:][known] = known_vectors
        return torch.from_numpy(table), int(known.sum())

    def _rows_in(self, words: WordVectors) -> NDArray[np.int64]:
        """(V,) where the vector of each word is, or -1."""
        capitals: dict[str, int] = {}
        for row, spelling in enumerate(words.words):
            if (word := spelling.lower()) in self.index:
                capitals.setdefault(word, row)
        return np.array([words.index.get(word, capitals.get(word, -1)) for word in self.words], dtype=np.int64)


def unknown_rows(tokens: Ragged) -> Tensor:
    """(u,) int64 which rows have no word of the vocabulary, in rising order.

    Args:
        tokens: What `Vocabulary.read` gave.

    >>> unknown_rows(Vocabulary(["red"]).read(["red", "blue", "", "a red hat"])).tolist()
    [1, 2]
    """
    known_counts = torch.cat([torch.zeros(1, dtype=torch.int64), (tokens.values > UNKNOWN).cumsum(0)])[tokens.offsets]
    return torch.nonzero(known_counts.diff() == 0).reshape(-1)


def _counts(texts: list[str]) -> Counter[str]:
    return Counter(chain.from_iterable(map(tokens_of, texts)))


class _TokenIndex(dict[str, int]):
    """Row of a token, or of the unknown one."""

    def __missing__(self, token: str) -> int:
        return UNKNOWN
