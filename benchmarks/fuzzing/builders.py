"""Graphs from data, `diagnose`, and label propagation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import scipy.sparse as sp

import ngm
from fuzzing import values
from fuzzing.values import ODD_NUMBERS, odd

N = values.COUNT
SEARCH = {
    "k": [1, 3, 5, 100],
    "join": ["union", "mutual"],
    "weight": ["similarity", "self_tuned", "binary"],
    "max_degree": [None, 1, 3],
    "metric": ["cosine", "euclidean", "inner_product"],
    "search": ["auto", "exact", "approximate"],
    "recall": [0.5, 0.98],
    "seed": [0, 1],
}


def make(rng: Random, folder: Path) -> Callable[[], object]:
    """One case."""
    return rng.choice([_knn, _sparse, _texts, _knowledge, _diagnose, _propagation])(rng, folder)


def settings(rng: Random, good: dict[str, list[object]], chance: float = 0.25) -> dict[str, object]:
    """Some of the settings, some of them odd."""
    return {name: odd(rng, choices, 0.3) for name, choices in good.items() if rng.random() < chance}


def _knn(rng: Random, folder: Path) -> Callable[[], object]:
    x, given = values.inputs(rng), settings(rng, SEARCH)
    return lambda: ngm.knn_graph(x, **given)


def _sparse(rng: Random, folder: Path) -> Callable[[], object]:
    x = values.sparse(rng) if rng.random() < 0.7 else values.inputs(rng)
    given = settings(rng, {name: SEARCH[name] for name in ("k", "join", "weight", "max_degree")})
    return lambda: ngm.sparse_graph(x, **given)


def _texts(rng: Random, folder: Path) -> Callable[[], object]:
    texts, given = values.texts(rng), settings(rng, SEARCH | {"idf": [True, False]}, 0.15)
    if rng.random() < 0.4:
        (folder / "v.txt").write_text("alpha 1 0\nbeta 0 1\ngamma 1 1\n", encoding="utf-8")
        given["vectors"] = odd(rng, ["v.txt", folder / "v.txt"], 0.2)
    return lambda: ngm.text_graph(texts, **given)


def _knowledge(rng: Random, folder: Path) -> Callable[[], object]:
    names: list[object] = ["a", "b", "c", 1, 2]
    if rng.random() < 0.3:
        names += [None, float("nan"), [], (1, 2), 2**70, b"x", "", pd.NA, np.nan, {}, True]
    rows = [[rng.choice(names), rng.choice(["r", "s"]), rng.choice(names)] for _ in range(rng.choice([0, 1, 8, 8]))]
    held = np.empty((len(rows), 3), dtype=object)
    for i, row in enumerate(rows):
        for j in range(3):
            held[i, j] = row[j]
    forms: list[object] = [
        rows,
        rows,
        rows,
        held,
        [tuple(row) for row in rows],
        iter(rows),
        [*rows, [1, 2]],
        [*rows, "abc"],
        [*rows, 3],
        {"h": ["a"], "r": ["r"], "t": ["b"]},
        pd.DataFrame([["a", "r", "b"]]),
        pd.DataFrame([["a", "r"]]),
        None,
        3,
        "word",
        np.eye(3),
        np.zeros((2, 3)),
        np.zeros(3),
        [],
    ]
    triples = rng.choice(forms)
    given = settings(
        rng,
        {
            "relation_weights": [
                "equal",
                "inverse_frequency",
                {"r": 2},
                {"r": 0, "s": 0},
                {"q": 1},
                {"r": "x"},
                {"r": None},
                {"r": -1},
            ],
            "hub_damping": [0, 0.5, 1],
        },
    )
    if rng.random() < 0.4:
        given |= settings(rng, {"k": [1, 5, 100], "max_shared": [2, 1000]})
        return lambda: ngm.shared_graph(triples, **given)
    given |= settings(rng, {"directed": [True, False], "inverse": [None, {"s": "r"}, {"q": "r"}, {}]})
    return lambda: ngm.knowledge_graph(triples, **given)


def _diagnose(rng: Random, folder: Path) -> Callable[[], object]:
    graph = values.good_graph(rng) if rng.random() < 0.8 else values.graph(rng)
    y = values.targets(rng)
    x = rng.choice([None, values.inputs(rng)])
    given = settings(rng, {"seed": [0, 1]})

    def call() -> object:
        found = ngm.diagnose(graph, y, x, **given)
        return repr(found), str(found)

    return call


def _propagation(rng: Random, folder: Path) -> Callable[[], object]:
    x = values.inputs(rng) if rng.random() < 0.5 else None
    graph = values.graph(rng)
    y = values.targets(rng)
    prior = rng.choice(
        [
            None,
            None,
            [0.5, 0.5],
            np.full((N, 2), 0.5),
            np.full((N, 3), 1 / 3),
            [1],
            "x",
            sp.eye_array(N),
            np.zeros((N, 2)),
            -np.ones(2),
        ]
    )
    good: dict[str, list[object]] = {
        "mu1": [1, 0.5, 0],
        "mu2": [0.5, 0, 1e30],
        "mu3": [0.01, 0, 1e-30],
        "keep": [None, 1, 2],
        "k": [1, 5],
        "influence": ["both", "source", "target"],
        "solver": ["conjugate_gradient", "jacobi"],
        "tolerance": [1e-4, 1e-12],
        "max_steps": [1, 10, 100],
    }
    given = {**settings(rng, good, 0.15), "prior": prior}
    if isinstance(given.get("max_steps"), int) and given["max_steps"] > 10_000:
        given["max_steps"] = 10
    new = values.inputs(rng, 3)

    def call() -> object:
        method = ngm.LabelPropagation(**given).fit(x, y, graph=graph)
        return method.predict(x if rng_choice else new)

    rng_choice = rng.random() < 0.5
    return call


__all__ = ["ODD_NUMBERS", "make", "settings"]
