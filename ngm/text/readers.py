"""Texts as x: how a network by name reads them, and which texts it can make nothing of."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm._arguments import short_repr
from ngm._spelling import first_of
from ngm.io.run_folder import JSON
from ngm.rows import Inputs
from ngm.text.characters import blank_rows, quantize
from ngm.text.ragged import Ragged
from ngm.text.tokens import Vocabulary, tokens_of, unknown_rows
from ngm.text.word_vectors import WordVectors
from ngm.text.words import checked_texts, words_of

Given: TypeAlias = Inputs | Sequence[str]
_POSITIONS = 65_536  # characters or words that go through a network at once, padding included


class UnreadTextsWarning(UserWarning):
    """Texts to predict have nothing in them that the network knows."""


@dataclass(frozen=True, eq=False)
class Reader:
    """Turns texts into what a network takes.

    Args:
        network: Name of the network.
        vocabulary: Words of the training texts; None where the network reads characters.
        width: Of the word vectors that the network has; None for its own.
    """

    network: str
    vocabulary: Vocabulary | None = None
    width: int | None = None

    def read(self, texts: list[str]) -> Ragged:
        """A row of numbers per text."""
        return quantize(texts) if self.vocabulary is None else self.vocabulary.read(texts)

    def unread(self, rows: Ragged) -> NDArray[np.int64]:
        """(u,) which of the rows that `read` gave hold nothing but blanks or unknown words."""
        return blank_rows(rows) if self.vocabulary is None else unknown_rows(rows).numpy()

    @property
    def knows(self) -> str:
        """What a text must have to be told from others, in words."""
        return "character of its alphabet" if self.vocabulary is None else "word of its vocabulary"

    def as_json(self, width: int | None) -> dict[str, JSON]:
        """For `model.json`; `width` is that of the trained network's word vectors."""
        words: JSON = None if self.vocabulary is None else list(self.vocabulary.words)
        return {"words": words, "width": width}

    @classmethod
    def from_json(cls, network: str, content: JSON, of_words: bool) -> Reader:
        """Takes back what `as_json` gave.

        Args:
            network: Name of the network.
            content: Of `model.json`.
            of_words: Whether the network reads words.
        """
        found = cast("Mapping[str, JSON]", content)
        words = cast("list[str] | None", found["words"])
        if (words is None) == of_words:
            raise ValueError("'words'")
        return cls(network, None if words is None else Vocabulary(words), cast("int | None", found["width"]))


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts and what a network reads of them; an `Indexable`, so that a loader takes it as x.

    Args:
        strings: n texts.
        rows: n rows of numbers.
        vectors: Word vectors that came with them, if any.
    """

    strings: list[str]
    rows: Ragged
    vectors: WordVectors | None = None

    def __len__(self) -> int:
        return len(self.strings)

    def __getitem__(self, nodes: Tensor) -> Tensor:
        """(b, longest of these rows) padded with 0 at the end."""
        return self.rows[nodes]

    @property
    def filled(self) -> Tensor:
        """(n,) mask of the texts with anything in them."""
        return torch.tensor([bool(text.strip()) for text in self.strings])

    def select(self, nodes: Tensor) -> Texts:
        """Some of them, in this order."""
        return Texts([self.strings[i] for i in nodes.tolist()], self.rows.take(nodes))

    def batches(self, nodes: Tensor) -> list[Tensor]:
        """Places in `nodes`, rows of like length together, in batches that fit into memory with their padding."""
        lengths = self.rows.lengths[nodes]
        order = torch.argsort(lengths, stable=True)
        longest = lengths[order].clamp(min=128).tolist()  # what a character network sees of any text
        batches, start = [], 0
        for end in range(1, len(order) + 1):
            if end == len(order) or (end + 1 - start) * longest[end] > _POSITIONS:
                batches.append(order[start:end])
                start = end
        return batches


def read_training_texts(
    network: str,
    x: Given,
    make_reader: Callable[[list[str]], Reader],
    vectors: str | Path | WordVectors | None,
) -> tuple[Texts, Reader]:
    """X as a network is trained on it, and the reader for new texts.

    Args:
        network: Name of a network that reads texts.
        x: List, tuple, series or array of n strings.
        make_reader: Makes the reader of the network from the training texts.
        vectors: Word vectors that go with the texts, or a file of them.
    """
    strings = as_texts(network, x)
    word_vectors = read_word_vectors(vectors, strings)
    reader = make_reader(strings)
    return Texts(strings, reader.read(strings), word_vectors), reader


def read_new_texts(reader: Reader, x: Given) -> Texts:
    """X as the reader of the training texts reads it; warns of texts without anything that the network knows."""
    strings = as_texts(reader.network, x)
    rows = reader.read(strings)
    _warn_of_unread(reader, rows)
    return Texts(strings, rows)


def as_texts(network: str, x: object) -> list[str]:
    """X as a list of strings, None and NaN as empty ones; or an error that says what it is instead."""
    remedy = "give a list of strings, or set network='ffnn' for a table of numbers"
    if isinstance(x, str):
        raise ValueError(f"network {network!r} reads texts, and x is one string; give a list of them")
    rows = listed(x)
    if rows is None:
        shape = f" of shape {tuple(x.shape)}" if hasattr(x, "shape") else ""
        raise ValueError(f"network {network!r} reads texts, and x is a {type(x).__name__}{shape}; {remedy}")
    if not rows:
        raise ValueError(f"network {network!r} reads texts, and x has none; give at least one")
    if not any(isinstance(text, str) for text in rows):
        raise ValueError(f"network {network!r} reads texts, and row 0 of x is {short_repr(rows[0])}; {remedy}")
    return checked_texts(None if type(text).__name__ == "NAType" else text for text in rows)


def refuse_texts(network: str, custom: bool, x: object) -> None:
    """Says what to do with texts beside a network that takes numbers.

    Args:
        network: Its name.
        custom: Whether it is the user's own.
        x: What was given.
    """
    rows = listed(x) or []
    if not isinstance(next((text for text in rows if text is not None), None), str):
        return
    if custom:
        raise ValueError(
            "x holds texts, and a network of your own takes numbers; give x=Vocabulary.of(texts).read(texts) or "
            "quantize(texts) of ngm.text, or a mapping of arrays, such as a tokenizer makes"
        )
    raise ValueError(
        f"x holds texts, and network {network!r} takes numbers; set network='charcnn' or 'lstm', or give "
        "x=document_vectors(texts, words).vectors or tfidf_rows(texts) of ngm.text"
    )


def check_texts(texts: Texts, labeled: Tensor, reader: Reader) -> None:
    """Looks for training texts without anything in them.

    Args:
        texts: n texts.
        labeled: (n,) mask.
        reader: Has read them.
    """
    empty = ~texts.filled.numpy()
    taught = np.flatnonzero(empty & labeled.numpy())
    if len(taught):
        raise ValueError(
            f"{_count(taught)} labelled and empty ({row_list(taught)}), which would teach the network what to say of "
            "texts of which it sees nothing; drop these rows, or their labels"
        )
    unread = reader.unread(texts.rows)
    if len(unread) == len(texts):
        raise ValueError(f"none of the {len(texts):,} texts has a {reader.knows}; are they of another script?")
    silent = np.setdiff1d(unread, np.flatnonzero(empty))
    for rows, why in ((np.flatnonzero(empty), "empty"), (silent, f"without a {reader.knows}")):
        if len(rows):
            warnings.warn(f"{_count(rows)} {why} ({row_list(rows)}); to the network such texts are blank", stacklevel=3)


def row_list(rows: NDArray[np.int64]) -> str:
    """Which rows, the first three by number.

    >>> row_list(np.array([4])), row_list(np.arange(5))
    ('row 4', 'rows 0, 1, 2, ...')
    """
    return f"row{'s' if len(rows) > 1 else ''} {first_of([str(row) for row in rows.tolist()])}"


def _count(rows: NDArray[np.int64]) -> str:
    return f"{len(rows):,} text{'s are' if len(rows) > 1 else ' is'}"


def _warn_of_unread(reader: Reader, rows: Ragged) -> None:
    unread = reader.unread(rows)
    if len(unread):
        warnings.warn(
            f"{len(unread):,} of {len(rows):,} texts have no {reader.knows} ({row_list(unread)}); what is predicted "
            "for them rests on nothing",
            UnreadTextsWarning,
            stacklevel=5,
        )


def read_word_vectors(given: str | Path | WordVectors | None, texts: list[str]) -> WordVectors | None:
    """Word vectors as given; of a file, those of the words that the texts have.

    Args:
        given: As the network has them.
        texts: n texts.
    """
    if given is None or isinstance(given, WordVectors):
        return given
    return WordVectors.read(given, keep={word for text in texts for word in (*words_of(text), *tokens_of(text))})


def listed(x: object) -> list[object] | None:
    """What x lists, one thing per row; None where it is no list."""
    if isinstance(x, list | tuple):
        return list(x)
    if hasattr(x, "to_list") and len(getattr(x, "shape", ())) == 1:  # a column of pandas or polars
        return list(x.to_list())
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "OUT":
        return list(x.tolist())
    return None
