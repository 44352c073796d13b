"""What estimators check of texts beside what `sentences_of_texts.py` has, and what they warn of."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ngm import NGMClassifier
from ngm.networks import LSTM
from ngm.text.tokens import Vocabulary
from ngm.text.word_vectors import WordVectors
from tests.texts import QUICK, TEXTS, VECTORS, Y


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("cat 1 2\ndog 1 2 3\n", "{}, line 2, has 3 numbers and line 1 has 2; all words need the same width"),
        (
            "chat 1 2\n",
            "none of the {} words of the texts is in WordVectors(0 words, 2 wide); give vectors of this language",
        ),
    ],
)
def test_word_vectors_that_do_not_fit_are_refused(lines: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text(lines, encoding="utf-8")
    count = file if "line 2" in text else len(Vocabulary.of(TEXTS).words)
    with pytest.raises(ValueError, match=rf"\A{re.escape(text.format(count))}\Z"):
        NGMClassifier(network=LSTM(vectors=file)).fit(TEXTS, Y)


def test_vectors_of_another_width_do_not_fit_a_run_that_is_resumed(tmp_path: Path) -> None:
    NGMClassifier(**QUICK, network=LSTM(vectors=VECTORS)).fit(TEXTS, Y, folder=tmp_path)
    wide = WordVectors(["cat"], np.ones((1, 4)))
    model = NGMClassifier(**QUICK | {"epochs": 3}, network=LSTM(vectors=wide))
    now = r"now it is 'in memory: WordVectors\(1 words, 4 wide\)'; resume with the same settings"
    with pytest.raises(ValueError, match=now):
        model.fit(TEXTS, Y, folder=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("network", "x", "text"),
    [
        (
            "charcnn",
            [*TEXTS[:20], "", " ", None, ""],
            "4 texts are empty (rows 20, 21, 22, ...); to the network such texts are blank",
        ),
        (
            "charcnn",
            [*TEXTS[:23], "日本"],
            "1 text is without a character of its alphabet (row 23); to the network such texts are blank",
        ),
    ],
)
def test_unlabelled_texts_with_nothing_in_them_are_warned_of(network: str, x: list, text: str) -> None:
    with pytest.warns(UserWarning, match=rf"\A{re.escape(text)}\Z"):
        NGMClassifier(network=network, **QUICK).fit(x, Y)


@pytest.mark.parametrize(
    ("network", "text"),
    [
        (
            "charcnn",
            "3 of 5 texts have no character of its alphabet (rows 1, 3, 4); what is predicted for them "
            "rests on nothing",
        ),
        (
            "lstm",
            "4 of 5 texts have no word of its vocabulary (rows 1, 2, 3, ...); what is predicted for them "
            "rests on nothing",
        ),
    ],
)
def test_new_texts_that_say_nothing_to_the_network_are_warned_of(network: str, text: str) -> None:
    model = NGMClassifier(network=network, **QUICK).fit(TEXTS, Y)
    with pytest.warns(UserWarning, match=rf"\A{re.escape(text)}\Z"):
        shares = model.predict_proba(["a cat", "日本", "unheard", "", None])
    np.testing.assert_allclose(shares[3], shares[4])


def test_predict_refuses_what_fit_refuses() -> None:
    model = NGMClassifier(network="charcnn", **QUICK).fit(TEXTS, Y)
    for x in (np.eye(3), "one", [], ["a", 3]):
        with pytest.raises(ValueError, match=r"reads texts|text 1 is 3, of type int; give strings"):
            model.predict(x)
