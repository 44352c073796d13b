"""Texts rewritten with synonyms: the augmentation of Zhang et al. (2015)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngm._arguments import real_number, short_repr
from ngm.text import mythes
from ngm.text.words import checked_texts

_WORD = re.compile(r"(?<![\w&])[^\W\d_]+(?:['’-][^\W\d_]+)*(?!\w)")  # not the lt of &lt;, nor the rd of 3rd

# Words that hold a sentence together. A thesaurus knows only their other meanings: inch for in, testament for will.
_FUNCTION_WORDS = """
a about above after against all along also although am among an and any are around as at be because been before
behind being below beneath beside between beyond both but by can cannot could did do does doing done down during
each either else every few for from had has have having he hence her here hers herself him himself his how however
if in into is it its itself just less many may me might mine more most much must my myself near neither no nor not
of off on once one only onto or other others ought our ours ourselves out over own per quite rather shall she should
since so some such than that the their theirs them themselves then there these they this those though through
throughout thus till to too toward towards under until up upon us very was we were what when where whereas whether
which while who whom whose why will with within without would yet you your yours yourself yourselves
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, eq=False)
class Replaceable:
    """Where the words with synonyms stand in some texts, c of them in all.

    Args:
        texts: n texts.
        offsets: (n + 1,) which of the c words are those of each text.
        start: (c,) place of the first letter of each word in its text.
        end: (c,) place after its last letter.
        word: (c,) its row in the thesaurus.
    """

    texts: list[str]
    offsets: NDArray[np.int64]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    word: NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Thesaurus:
    """Synonyms of words, nearest first, and how many of them a text gets.

    Of the m words of a text that have synonyms, r are replaced, P[r] ∝ p^r for r = 0..m; which ones, is drawn evenly.
    A word with k synonyms gets number s, P[s] ∝ q^s for s = 0..k-1. Both are geometric distributions, cut off
    where there is nothing left to choose.

    Args:
        synonyms: Of each word, in lower case: those of its most frequent meaning first. They may be several words.
        p: The larger, the more words are replaced; Zhang et al. have .5, which leaves half of the texts alone.
        q: The larger, the farther the synonyms; .5 as well.

    >>> thesaurus = Thesaurus({"big": ["large"], "cat": ["true cat", "kitty"]})
    >>> thesaurus.rewrite("A big Cat.", np.random.default_rng(5))
    'A big True cat.'
    """

    synonyms: Mapping[str, Sequence[str]]
    p: float = 0.5
    q: float = 0.5

    def __post_init__(self) -> None:
        for name, value in (("p", self.p), ("q", self.q)):
            share = real_number(name, value, lambda share: 0 < share < 1, "lie between 0 and 1")
            object.__setattr__(self, name, share)
        if not isinstance(self.synonyms, Mapping):
            raise ValueError(
                f"synonyms is {short_repr(self.synonyms)}; give a dict of words, each with a list of synonyms"
            )
        if not self.synonyms:
            raise ValueError("the thesaurus has no words; give at least one word with a synonym")
        for word, terms in self.synonyms.items():
            if not isinstance(word, str) or word != word.lower() or not _WORD.fullmatch(word):
                raise ValueError(f"{word!r} cannot be found in a text; give single words in lower case")
            if not isinstance(terms, list | tuple) or not terms:
                raise ValueError(f"the synonyms of {word!r} are {terms!r}; give a list of at least one")
            if not all(isinstance(term, str) and term.strip() for term in terms):
                raise ValueError(f"the synonyms of {word!r} are {terms!r}; give words")

    def __repr__(self) -> str:
        """`Thesaurus(50,000 words)`."""
        return f"Thesaurus({len(self.synonyms):,} words)"

    @classmethod
    def read(
        cls,
        file: str | Path | None = None,
        p: float = 0.5,
        q: float = 0.5,
        leave: frozenset[str] = FUNCTION_WORDS,
    ) -> Thesaurus:
        """Reads a thesaurus in MyThes form; see `ngm.text.mythes`.

        Args:
            file: Such as th_en_US_v2.dat, perhaps `.gz`; the one that is installed (Debian: mythes-en-us) where
                not given.
            p: See the class.
            q: See the class.
            leave: Words, in lower case, that stay as they are. Those of one letter always do.
        """
        source = mythes.installed() if file is None else Path(file)
        found = mythes.read(source, lambda word: len(word) > 1 and word not in leave and bool(_WORD.fullmatch(word)))
        if not found:
            raise ValueError(f"{source} has no word with a synonym; give lines such as 'good|1' and '(adj)|fine|nice'")
        return cls(found, p, q)

    def rewrite(self, text: str, rng: np.random.Generator) -> str:
        """The text with some of its words replaced by synonyms, which take over the capitals of these words."""
        _, changed = self.replace(self.find([text]), rng)
        return changed[0] if changed else text

    def find(self, texts: Sequence[str]) -> Replaceable:
        """Finds the words that have synonyms; once is enough, however often the texts are rewritten."""
        texts, lookup = checked_texts(texts), _SynonymIndex(self.synonyms)
        start, end, word, offsets = [], [], [], [0]
        for text in texts:
            for match in _WORD.finditer(text):
                row = lookup[match[0]]
                if row >= 0:
                    start.append(match.start())
                    end.append(match.end())
                    word.append(row)
            offsets.append(len(word))
        places = (np.array(numbers, dtype=np.int32) for numbers in (start, end, word))
        return Replaceable(texts, np.array(offsets), *places)

    def replace(self, found: Replaceable, rng: np.random.Generator) -> tuple[NDArray[np.int64], list[str]]:
        """Draws synonyms for some of the words found.

        Returns:
            ((c,) which texts have changed, ascending; these texts as they are now).
        """
        number = truncated_geometric(self.p, found.offsets[1:] - found.offsets[:-1], rng)  # (n,) words to replace
        changed = np.flatnonzero(number)
        chosen = _choose(found.offsets, changed, number[changed], rng)  # ascending
        rank = truncated_geometric(self.q, self._counts[found.word[chosen]] - 1, rng)
        starts, ends, words = (part[chosen].tolist() for part in (found.start, found.end, found.word))
        texts, ranks, at = [], rank.tolist(), 0
        for row, count in zip(changed.tolist(), number[changed].tolist(), strict=True):
            text, parts, here = found.texts[row], [], 0
            for i in range(at, at + count):
                old, new = text[starts[i] : ends[i]], self._terms[words[i]][ranks[i]]
                parts += [text[here : starts[i]], _with_capitals_of(old, new)]
                here = ends[i]
            texts.append("".join([*parts, text[here:]]))
            at += count
        return changed, texts

    @cached_property
    def _terms(self) -> list[Sequence[str]]:
        return list(self.synonyms.values())

    @cached_property
    def _counts(self) -> NDArray[np.int64]:
        return np.array([len(terms) for terms in self._terms])


class _SynonymIndex(dict[str, int]):
    """Row of a word in any capitals, or -1; remembers what it has been asked."""

    def __init__(self, words: Mapping[str, object]) -> None:
        super().__init__()
        self.rows = {word: row for row, word in enumerate(words)}

    def __missing__(self, word: str) -> int:
        self[word] = row = self.rows.get(word.lower(), -1)
        return row


def truncated_geometric(ratio: float, most: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draws whole numbers r from 0 to `most` with P[r] = ratio^r (1 - ratio) / (1 - ratio^(most + 1)).

    Args:
        ratio: How much less likely each number is than the one before.
        most: (n,) the largest number that each draw may give.
        rng: Chance.

    Returns:
        (n,) numbers.
    """
    above = 1 - rng.random(len(most)) * (1 - ratio ** (most + 1.0))  # in (ratio^(most + 1), 1], even
    drawn: NDArray[np.int64] = np.minimum((np.log(above) / np.log(ratio)).astype(np.int64), most)
    return drawn


def _choose(
    offsets: NDArray[np.int64], rows: NDArray[np.int64], number: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Takes `number` of the words of each of these texts, any set as likely as any other; ascending."""
    first, length = offsets[rows], offsets[rows + 1] - offsets[rows]
    which = np.repeat(np.arange(len(rows)), length)
    begin = np.repeat(np.cumsum(length) - length, length)
    inside = np.arange(len(which)) - begin
    shuffled = np.argsort(which + rng.random(len(which)))  # text by text, each in random order
    kept = shuffled[inside < number[which]]
    kept.sort()
    taken: NDArray[np.int64] = first[which[kept]] + inside[kept]
    return taken


def _with_capitals_of(old: str, new: str) -> str:
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[0].isupper() else new
