"""Tokens, vocabularies, and texts as rows of a vocabulary."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch

from ngm.text.ragged import Ragged
from ngm.text.tokens import Vocabulary, tokens_of, unknown_rows
from ngm.text.word_vectors import WordVectors
from ngm.text.words import words_of

ODD = "Où est-il?! It's\t$5.00\n(naïve_user)… 日本 🙂 \x00"
TEXTS = ["b a b", "c a", "B d!", "", "a ?"]  # a: 3, b: 3, then once each ! ? c d


def chance_texts(count: int) -> list[str]:
    rng = np.random.default_rng(0)
    parts = ["red", "Blue", "green", "?", "!", "it's", "grey-ish", " ", "\n"]
    return [" ".join(rng.choice(parts, size=rng.integers(0, 9))) for _ in range(count)]


def test_tokens_are_words_in_lower_case_and_each_mark_alone() -> None:
    assert tokens_of("What?! It's U.S. policy...") == (
        ["what", "?", "!", "it", "'", "s", "u", ".", "s", ".", "policy", ".", ".", "."]
    )
    assert tokens_of("été_2 日本。") == ["été", "_", "2", "日本", "。"]
    assert tokens_of("") == tokens_of(" \t\n\u00a0") == []


@pytest.mark.parametrize("text", [ODD, *chance_texts(20)])
def test_tokens_lose_nothing_but_spaces_and_capitals(text: str) -> None:
    assert "".join(tokens_of(text)) == re.sub(r"\s", "", text.lower())
    assert [token for token in tokens_of(text) if token.isalnum()] == words_of(text.lower())


def test_the_most_frequent_words_come_first_and_ties_in_order_of_their_characters() -> None:
    assert Vocabulary.of(TEXTS).words == ["a", "b", "!", "?", "c", "d"]
    assert Vocabulary.of(TEXTS, least=2).words == ["a", "b"]
    assert Vocabulary.of(TEXTS, least=3).words == ["a", "b"]
    assert [len(Vocabulary.of(TEXTS, most=most).words) for most in (1, 3, 6, 7)] == [1, 3, 6, 6]
    assert Vocabulary.of(TEXTS, most=3).words == ["a", "b", "!"]


def test_the_order_of_the_texts_does_not_matter() -> None:
    texts = chance_texts(60)
    assert Vocabulary.of(texts) == Vocabulary.of(reversed(texts))


def test_words_start_at_row_two_after_padding_and_the_unknown() -> None:
    vocabulary = Vocabulary.of(TEXTS, most=3)
    assert (len(vocabulary), repr(vocabulary)) == (5, "Vocabulary(3 words)")
    rows = vocabulary.read(["B!", None, "c a c", float("nan"), "é"])
    assert rows.values.dtype == torch.int32
    assert rows.values.tolist() == [3, 4, 1, 1, 2, 1, 1, 1]
    assert rows.offsets.tolist() == [0, 2, 3, 6, 7, 8]
    assert rows[[0, 2]].tolist() == [[3, 4, 0], [1, 2, 1]]


def test_reading_agrees_with_a_plain_loop() -> None:
    texts = chance_texts(80)
    vocabulary = Vocabulary.of(texts[:40], most=4)
    rows = vocabulary.read(texts)
    for i, text in enumerate(texts):
        expected = [vocabulary.words.index(t) + 2 if t in vocabulary.words else 1 for t in tokens_of(text)] or [1]
        assert rows[[i]].tolist() == [expected]


def test_no_texts_are_no_rows() -> None:
    rows = Vocabulary(["a"]).read([])
    assert (len(rows), rows.values.dtype, rows.offsets.tolist()) == (0, torch.int32, [0])
    assert unknown_rows(rows).tolist() == []


def test_coverage_is_the_share_of_tokens_repeats_counted() -> None:
    vocabulary = Vocabulary(["a", "?"])
    assert vocabulary.coverage(["A a b?", "", None, "c"]) == 3 / 5
    assert vocabulary.coverage(["", None]) == vocabulary.coverage([]) == 0
    assert Vocabulary.of(TEXTS).coverage(TEXTS) == 1


def test_rows_without_a_known_word_are_named() -> None:
    rows = Vocabulary(["red", "!"]).read(["blue", "red", "", "so blue", "blue red", "!", "?"])
    assert unknown_rows(rows).tolist() == [0, 2, 3, 6]
    none = Ragged(torch.tensor([2, 1], dtype=torch.int32), torch.tensor([0, 0, 1, 1, 2, 2]))  # some rows have nothing
    assert unknown_rows(none).tolist() == [0, 2, 3, 4]


CASED = WordVectors(["Red", "red", "BLUE", "Blue"], np.array([[9.0, 9.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))


def test_each_word_gets_its_vector_or_the_first_that_differs_in_capitals_only() -> None:
    table, found = Vocabulary(["red", "grey", "blue"]).vectors(CASED, width=2)
    assert (table.shape, table.dtype, found) == ((5, 2), torch.float32, 2)
    assert table[[0, 2, 4]].tolist() == [[0, 0], [1, 2], [3, 4]]


def test_vectors_that_are_not_found_are_drawn_small_from_the_seed() -> None:
    rng = np.random.default_rng(0)
    words = WordVectors([f"w{i}" for i in range(200)], 3 * rng.normal(size=(200, 50)))
    vocabulary = Vocabulary([f"w{i}" for i in range(400)])
    table, found = vocabulary.vectors(words, seed=1)
    assert found == 200
    drawn = torch.cat([table[1:2], table[202:]])  # the unknown token is among them
    assert float(drawn.std()) == pytest.approx(0.3, rel=0.03)  # a tenth of 3; 10,050 draws
    assert float(drawn.mean()) == pytest.approx(0, abs=0.012)
    assert torch.equal(vocabulary.vectors(words, seed=1)[0], table)
    assert not torch.equal(vocabulary.vectors(words, seed=2)[0][1], table[1])


def test_vectors_in_half_precision_draw_finite_ones() -> None:
    halves = WordVectors(["red", "blue"], np.full((2, 3), 300, dtype=np.float16))  # whose squares are beyond its range
    table, _ = Vocabulary(["red", "grey"]).vectors(halves)
    assert table[2].tolist() == [300.0] * 3
    assert bool(torch.isfinite(table).all())


def test_global_random_state_is_left_alone() -> None:
    torch.manual_seed(0)
    before = torch.random.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[index]
    Vocabulary(["red", "grey"]).vectors(CASED)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Vocabulary.of([]), "there are no texts to take words from; give at least one"),
        (lambda: Vocabulary.of(["", None]), "none of the 2 texts has a word; give texts with words"),
        (lambda: Vocabulary.of(TEXTS, most=0), "most is 0; give 1 or more"),
        (lambda: Vocabulary.of(TEXTS, least=-1), "least is -1; give 1 or more"),
        (
            lambda: Vocabulary.of(TEXTS, least=4),
            "least is 4, and the most frequent word, 'a', occurs 3 times; lower it",
        ),
        (lambda: Vocabulary.of("a b"), "texts is one text, 'a b'; give a list of texts, one per node"),
        (lambda: Vocabulary(["a"]).read(["a", 7]), "text 1 is 7, of type int; give strings"),
        (lambda: Vocabulary(["a"]).coverage(["a", 7]), "text 1 is 7, of type int; give strings"),
        (lambda: Vocabulary(["a", "b", "a"]), "1 words occur twice; give each word once"),
        (
            lambda: Vocabulary(["a", "New York"]),
            "no text has the token 'New York': it is read as ['new', 'york']; give words in that form",
        ),
        (lambda: Vocabulary(["a", ""]), "no text has the token '': it is read as []; give words in that form"),
        (
            lambda: Vocabulary(["red"]).vectors(CASED, width=50),
            "the word vectors are 2 wide, not 50; give vectors 50 wide",
        ),
        (
            lambda: Vocabulary(["rouge", "?"]).vectors(CASED),
            "none of the 2 words of the texts is in WordVectors(4 words, 2 wide); give vectors of this language",
        ),
    ],
)
def test_what_cannot_be_is_said_in_one_line(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


def test_of_a_text_that_is_too_long_the_end_is_read() -> None:
    vocabulary = Vocabulary(["a", "b"])
    assert vocabulary.read(["a b a b b"], length=2)[[0]].tolist() == [[3, 3]]
    assert vocabulary.read(["a " * 2000 + "b"]).lengths.tolist() == [1024]
