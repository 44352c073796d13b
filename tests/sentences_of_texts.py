"""What estimators refuse of texts, word for word; `test_sentences.py` hands it over."""

from __future__ import annotations

import numpy as np
import pandas as pd
from torch import nn

from ngm import NGMClassifier
from ngm.networks import LSTM, CharCNN
from tests.sentences_of_fit import RefusedFit
from tests.texts import QUICK, TEXTS, VECTORS, Y

CNN: dict[str, object] = {"network": "charcnn", **QUICK}
WORDS: dict[str, object] = {"network": "lstm", **QUICK}
WRONG_X: list[tuple[dict[str, object], object, str]] = [
    (
        {},
        TEXTS,
        "x holds texts, and network 'ffnn' takes numbers; set network='charcnn' or 'lstm', or give "
        "x=document_vectors(texts, words).vectors or tfidf_rows(texts) of ngm.text",
    ),
    (
        {"network": lambda a, b: nn.Linear(a, b)},
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
SETTINGS: list[tuple[dict[str, object], str]] = [
    (
        {"network": "charcnn-tiny"},
        "network is 'charcnn-tiny' (did you mean 'charcnn'?); choose from ffnn, charcnn, "
        "charcnn-small, charcnn-large, lstm, or give a network of `ngm.networks` with its settings, or a function "
        "(in_features, out_features) -> nn.Module",
    ),
    (
        {"network": "charcnn", "hidden": (8,)},
        "hidden is set, but it is for network 'ffnn'; leave it out with network 'charcnn'",
    ),
    ({"network": LSTM(max_words=0)}, "max_words is 0; it must be a whole number of at least 1"),
    (
        {"network": CharCNN(vectors=VECTORS), "recipe": "paper"},
        "vectors is set, but network 'charcnn' reads characters; use network LSTM, or recipe='auto', whose teachers "
        "read them",
    ),
    (
        {"network": CharCNN(vectors=VECTORS)},
        "vectors is set, but network 'charcnn' reads characters, and without a graph there are no teachers to read "
        "them; give graph=, or use network LSTM",
    ),
    ({"network": LSTM(vectors={"cat": [1.0]})}, "vectors is a dict; give a file or a WordVectors"),
    ({"network": LSTM(dropout=1.0)}, "dropout is 1.0; it must be a number of at least 0 and below 1"),
    (
        {"network": "lstm", "recipe": "strong"},
        "recipe is 'strong', which learns from a graph; give graph=, or set recipe='paper'",
    ),
]
ONE_CLASS = "y holds one class only ('pets'); a classifier needs labelled rows of at least two"
_WITHOUT_GRAPH = {"graph": None, "y": Y}
_ONLY = (NGMClassifier,)
FITS = [
    *(RefusedFit(text, settings, x, _WITHOUT_GRAPH, _ONLY) for settings, x, text in WRONG_X),
    *(RefusedFit(text, settings, TEXTS, _WITHOUT_GRAPH, _ONLY) for settings, text in SETTINGS),
    RefusedFit(ONE_CLASS, CNN, TEXTS[:3], {"graph": None, "y": ["pets"] * 3}, _ONLY),
]
