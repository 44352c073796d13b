"""`fit` and `predict` of every estimator: odd x, y, graphs and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from random import Random

import numpy as np

import ngm
from fuzzing import values
from fuzzing.values import odd
from ngm.estimators.base import NGMEstimator
from ngm.networks import FFNN, LSTM, CharCNN
from ngm.parameters import PARAMETERS

N = values.COUNT
_SMALL = (
    "epochs",
    "rounds",
    "max_steps",
    "per_round",
    "steps",
    "patience",
    "k",
)  # where a large number is work that was asked for
GOOD: dict[str, list[object]] = {
    "hidden": [(4,), (4, 3), (), [2]],
    "alpha_ll": [0, 0.2, 1e30, [0.1, 0.2]],
    "alpha_lu": [0, 0.2, None],
    "alpha_uu": [0, 0.2, None],
    "distance": ["l1", "l2", "squared_l2", "cosine", "cross_entropy", "kl", "js"],
    "layer": ["output", "last_hidden", "hidden.0", "nothing"],
    "influence": ["both", "source", "target"],
    "negatives": [0, 1, 2.5, None],
    "margin": [None, 1.0, 1e30],
    "scaling": ["mean", "sum"],
    "recipe": ["auto", "paper", "strong"],
    "dropout": [0, 0.5, None],
    "input_dropout": [0, 0.5, None],
    "input_scaling": ["unit_rows", "standardize", "none", None],
    "epochs": [1, 2],
    "batch_size": [1, 4, 512],
    "sampling": ["plain", "edges", "balanced"],
    "graph_screen": [True, False],
    "optimizer": ["adam", "adamw", "sgd"],
    "learning_rate": [1e-3, 1e30, 1e-30],
    "weight_decay": [0, 0.1, 1e10],
    "ema_decay": [None, 0.9],
    "clip": [None, 1.0],
    "dtype": [None, "float32", "float64", "bfloat16"],
    "validation": [
        "auto",
        None,
        0.5,
        0.1,
        [0, 1],
        [0, 0],
        (np.ones((3, 3)), [0, 1, 0]),
        (np.ones((3, 3)), [0, 1, 5]),
        ([["a"]], ["b"]),
        [99],
        [-1],
        (),
    ],
    "patience": [None, 1],
    "seed": [0, 1],
    "device": ["cpu", "cuda", "mps", "meta", "nowhere"],
    "max_words": [20000, 3],
    "thesaurus": [None, "none.dat"],
    "vectors": [None, "none.txt"],
    "crop": [None, 0.3],
}
FOLDER: dict[str, list[object]] = {"folder": [None, "out", "a/b"], "resume": [False, True], "overwrite": [False, True]}
ROUNDS: dict[str, list[object]] = {"rounds": [1, 2], "confidence": [0.0, 0.5, 1.0], "patience": [None, 1]}
SELF: dict[str, list[object]] = {
    **ROUNDS,
    "candidates": ["neighbors", "all"],
    "teacher": ["network", "propagation"],
    "per_round": [None, 1],
    "balance": ["none", "even", "prior"],
    "soft": [True, False],
    "relabel": [True, False],
}


def make(rng: Random, folder: Path) -> Callable[[], object]:
    """One case."""
    kind = rng.choice([_network, _network, _network, _texts, _in_rounds])
    return kind(rng)


def drawn(rng: Random, good: dict[str, list[object]], chance: float) -> dict[str, object]:
    """Some settings; numbers that would ask for hours of work are made small."""
    out = {}
    for name, choices in good.items():
        if rng.random() < chance:
            value = odd(rng, choices, 0.3)
            large = isinstance(value, int | float | np.number) and abs(value) > 3
            out[name] = choices[0] if large and name in _SMALL else value
    return out


def estimator(rng: Random, numbers: bool = False, texts: bool = False) -> NGMEstimator:
    """A small classifier or regressor with some odd settings."""
    base: dict[str, object] = {"epochs": 1} if texts else {"epochs": 1, "hidden": (4,)}
    given = {**base, **drawn(rng, GOOD, rng.choice([0, 0.05, 0.1]))}
    if texts:
        given["network"] = "lstm" if rng.random() < 0.8 else rng.choice(["charcnn", "charcnn-tiny", "word", None])
    elif rng.random() < 0.03:
        given["network"] = rng.choice(["ffn", None, 3, "lstm", lambda i, o: None])
    return (ngm.NGMRegressor if numbers else ngm.NGMClassifier)(**_nested(given))


def _nested(given: dict[str, object]) -> dict[str, object]:
    """Settings by flat names with those of the network and the optimizer in their places; others are left out."""
    known = {of: {n: v for n, v in given.items() if PARAMETERS[n].of == of} for of in ("network", "optimizer")}
    own: dict[str, object] = {n: v for n, v in given.items() if PARAMETERS[n].of == "estimator"}
    if known["network"]:
        kinds: dict[str, type] = {"lstm": LSTM, "charcnn": CharCNN}
        kind = kinds.get(str(own.get("network")), FFNN)
        has = {f.name for f in fields(kind)}
        own["network"] = kind(**{n: v for n, v in known["network"].items() if n in has})
    if known["optimizer"]:
        own["optimizer"] = ngm.Optimizer(own.get("optimizer", "adam"), **known["optimizer"])
    return own


def _data(rng: Random, numbers: bool = False) -> tuple[object, object, object]:
    """(x, y, graph), most often two of them in order."""
    x: object = values.numpy_rng(rng).normal(size=(N, 3)).astype(np.float32)
    y: object = values.numpy_rng(rng).normal(size=N) if numbers else [0, 1, 0, 1, -1, -1] * 2
    graph: object = values.good_graph(rng)
    spoiled = rng.random()
    if spoiled < 0.4 or spoiled > 0.9:
        x = values.inputs(rng)
    if 0.35 < spoiled < 0.7 or spoiled > 0.9:
        y = values.targets(rng, numbers=numbers)
    if 0.65 < spoiled < 0.8 or spoiled > 0.9:
        graph = values.graph(rng)
    return x, y, graph


def _network(rng: Random) -> Callable[[], object]:
    numbers = rng.random() < 0.3
    made = estimator(rng, numbers)
    x, y, graph = _data(rng, numbers)
    weight = rng.choice(
        [None] * 30 + [np.ones(N), np.zeros(N), [1] * 3, -np.ones(N), [np.inf] * N, "x", [None] * N, np.full(N, 1e-44)]
    )
    again = rng.random() < 0.8
    new, scored = x if again else values.inputs(rng, 3), rng.random() < 0.3
    into = drawn(rng, FOLDER, rng.choice([0, 0.05, 0.1]))

    def call() -> object:
        made.fit(x, y, graph, weight, **into)
        answers = [made.predict(new), made.transform(new)]
        if not numbers:
            answers.append(made.predict_proba(new))
        if scored:
            answers.append(made.score(x, y))
        return ngm.load(made.save("saved")).predict(new), answers

    return call


def _texts(rng: Random) -> Callable[[], object]:
    made = estimator(rng, rng.random() < 0.2, texts=True)
    _, y, graph = _data(rng)
    x = values.texts(rng) if rng.random() < 0.95 else values.inputs(rng)
    new = x if rng.random() < 0.4 else values.texts(rng, 3)

    def call() -> object:
        made.fit(x, y, graph)
        return made.predict(new), made.transform(new)

    return call


def _in_rounds(rng: Random) -> Callable[[], object]:
    inner: object = (
        estimator(rng)
        if rng.random() < 0.9
        else rng.choice([None, 3, ngm.NGMRegressor(), ngm.LabelPropagation(), ngm.NGMClassifier])
    )
    made: object
    if rng.random() < 0.6:
        made = ngm.SelfTraining(inner, **{"rounds": 1, **drawn(rng, SELF, 0.15)})
    else:
        good = {**ROUNDS, "temperature": [0.0, 0.5], "propagation": [None, ngm.LabelPropagation(max_steps=5)]}
        made = ngm.CoTraining(inner, **{"rounds": 1, **drawn(rng, good, 0.15)})
    x, y, graph = _data(rng)
    truth = rng.choice([None, None, None, y, values.targets(rng)])
    new = x if rng.random() < 0.5 else values.inputs(rng, 3)
    into = drawn(rng, FOLDER, rng.choice([0, 0.05, 0.1]))
    return lambda: made.fit(x, y, graph, truth, **into).predict(new)
