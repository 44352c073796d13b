"""What estimators refuse of texts, each error word for word, and what they warn of."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from torch import nn

from ngm import NGMClassifier
from ngm.text.tokens import Vocabulary
from ngm.text.word_vectors import WordVectors
from tests.texts import QUICK, SYNONYMS, TEXTS, VECTORS, Y


def refused(text: str, model: NGMClassifier, x: object = TEXTS, y: object = Y) -> None:
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        model.fit(x, y)


CNN, WORDS = NGMClassifier(network="charcnn", **QUICK), NGMClassifier(network="lstm", **QUICK)
WRONG_X: list[tuple[NGMClassifier, object, str]] = [
    (
        NGMClassifier(),
        TEXTS,
        "x holds texts, and network 'ffnn' takes numbers; set network='charcnn' or 'lstm', or give "
        "x=document_vectors(texts, words).vectors or tfidf_rows(texts) of ngm.text",
    ),
    (
        NGMClassifier(network=lambda a, b: nn.Linear(a, b)),
        pd.Series(TEXTS),
        "x holds texts, and a network of your own takes numbers; give x=Vocabulary.of(texts).read(texts) or "
        "quantize(texts) of ngm.text, or a mapping of arrays, such as a tokenizer makes",
    ),
    (
        CNN,
        np.eye(24),
        "network 'charcnn' reads texts, and x is a ndarray of shape (24, 24); give a list of strings, or set "
        "network='ffnn' for a table of numbers",
    ),
    (
        WORDS,
        [[0.5, 1.0]] * 24,
        "network 'lstm' reads texts, and row 0 of x is [0.5, 1.0]; give a list of strings, or set network='ffnn' for a "
        "table of numbers",
    ),
    (CNN, "a text", "network 'charcnn' reads texts, and x is one string; give a list of them"),
    (CNN, [], "network 'charcnn' reads texts, and x has none; give at least one"),
    (CNN, [*TEXTS[:7], 7, *TEXTS[8:]], "text 7 is 7, of type int; give strings"),
    (CNN, TEXTS[:20], "x has 20 rows, y has 24; give a target per row, -1 or NaN where unlabelled"),
    (
        CNN,
        ["", *TEXTS[1:4], " \n", *TEXTS[5:]],
        "2 texts are labelled and empty (rows 0, 4), which would teach the network what to say of texts of which "
        "it sees nothing; drop these rows, or their labels",
    ),
    (
        WORDS,
        [*TEXTS[:3], None, *TEXTS[4:]],
        "1 text is labelled and empty (row 3), which would teach the network what to say of texts of which "
        "it sees nothing; drop these rows, or their labels",
    ),
    (CNN, ["日本語"] * 24, "none of the 24 texts has a character of its alphabet; are they of another script?"),
    (WORDS, [""] * 24, "none of the 24 texts has a word; give texts with words"),
]


@pytest.mark.parametrize(("model", "x", "text"), WRONG_X, ids=[text[:50] for _, _, text in WRONG_X])
def test_texts_that_cannot_be_are_refused(model: NGMClassifier, x: object, text: str) -> None:
    refused(text, model, x)


SETTINGS: list[tuple[dict[str, object], str]] = [
    (
        {"network": "charcnn-tiny"},
        "network is 'charcnn-tiny' (did you mean 'charcnn'?); choose from ffnn, charcnn, "
        "charcnn-small, charcnn-large, lstm, or give a function (in_features, out_features) -> nn.Module",
    ),
    (
        {"network": "charcnn", "hidden": (8,)},
        "hidden is set, but it is for network 'ffnn'; leave it out with network 'charcnn'",
    ),
    (
        {"network": "lstm", "input_scaling": "unit_rows"},
        "input_scaling is set, but it is for network 'ffnn'; leave it out with network 'lstm'",
    ),
    ({"network": "charcnn", "max_words": 9}, "max_words is 9, but it is for network 'lstm'; leave it out"),
    ({"network": "lstm", "max_words": 0}, "max_words is 0; it must be a whole number of at least 1"),
    (
        {"network": "charcnn", "word_vectors": VECTORS, "recipe": "paper"},
        "word_vectors is set, but network 'charcnn' reads characters; set "
        "network='lstm', or recipe='auto', whose teachers read them",
    ),
    (
        {"network": "charcnn", "word_vectors": VECTORS},
        "word_vectors is set, but network 'charcnn' reads characters, and without a graph there are no teachers to "
        "read them; give graph=, or set network='lstm'",
    ),
    ({"network": "lstm", "word_vectors": {"cat": [1.0]}}, "word_vectors is a dict; give a file or a WordVectors"),
    (
        {"network": "ffnn", "thesaurus": SYNONYMS},
        "thesaurus is set, but it is for networks that read texts: charcnn, charcnn-small, charcnn-large, lstm",
    ),
    ({"network": "lstm", "dropout": 1.0}, "dropout is 1.0; it must be a number of at least 0 and below 1"),
    (
        {"network": "lstm", "recipe": "strong"},
        "recipe is 'strong', which learns from a graph; give graph=, or set recipe='paper'",
    ),
]


@pytest.mark.parametrize(("settings", "text"), SETTINGS, ids=[text[:50] for _, text in SETTINGS])
def test_settings_that_would_do_nothing_are_refused(settings: dict, text: str) -> None:
    refused(text, NGMClassifier(**settings))


def test_one_class_is_refused() -> None:
    refused(
        "y holds one class only ('pets'); a classifier needs labelled rows of at least two",
        CNN,
        TEXTS[:3],
        ["pets"] * 3,
    )


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
    refused(text.format(count), NGMClassifier(network="lstm", word_vectors=file))


def test_vectors_of_another_width_do_not_fit_a_run_that_is_resumed(tmp_path: Path) -> None:
    NGMClassifier(network="lstm", **QUICK, word_vectors=VECTORS, folder=tmp_path).fit(TEXTS, Y)
    wide = WordVectors(["cat"], np.ones((1, 4)))
    model = NGMClassifier(network="lstm", **QUICK | {"epochs": 3}, word_vectors=wide, folder=tmp_path, resume=True)
    now = r"now it is 'in memory: WordVectors\(1 words, 4 wide\)'; resume with the same settings"
    with pytest.raises(ValueError, match=now):
        model.fit(TEXTS, Y)


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
