"""Section 4.4, low-supervision document classification: 20 labels a class, test nodes out of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngm.datasets import Dataset, Progress, load
from ngm.graph import Graph
from ngm.methods.classifier import NGMClassifier
from ngm.metrics import accuracy
from ngm.names import nearest
from ngm.reproduce.table import Row, Table, measured

ALPHA = 0.2  # the paper's, for every kind of edge
HIDDEN = (250, 100)


@dataclass(frozen=True)
class Method:
    """A row: its name, the paper's figure, and the estimator for a seed."""

    name: str
    paper: float | None
    estimator: Callable[[int], NGMClassifier]


def _ffnn(seed: int) -> NGMClassifier:
    """The network alone. An epoch is a single step on the 60 seeds, so it gets more of them."""
    return NGMClassifier(hidden=HIDDEN, alpha_ll=0, alpha_lu=0, alpha_uu=0, epochs=300, patience=100, seed=seed)


def _ngm(seed: int) -> NGMClassifier:
    """The same network with the graph term; an epoch is a pass over 39,806 edges in about 78 steps."""
    return NGMClassifier(
        hidden=HIDDEN,
        alpha_ll=ALPHA,
        alpha_lu=ALPHA,
        alpha_uu=ALPHA,
        distance="l2",
        layer="last_hidden",
        scaling="mean",
        epochs=60,
        patience=20,
        seed=seed,
    )


METHODS = {"ffnn": Method("FFNN", 0.709, _ffnn), "ngm": Method("NGM-FFNN", None, _ngm)}


def run(
    rows: Sequence[str] = tuple(METHODS),
    seeds: int = 10,
    quick: bool = False,
    progress: Progress | None = None,
    on_seed: Callable[[str], None] = lambda method: None,
) -> Table:
    """Runs rows of the PubMed table.

    Args:
        rows: Keys of `METHODS`.
        seeds: Seeds per row; the split is the public one, a seed sets initial weights and batches.
        quick: Two seeds.
        progress: Called while data is fetched.
        on_seed: Called with the row's name after each seed.

    Returns:
        Test accuracy, each seed at the epoch that is best on the 500 validation nodes.
    """
    for key in rows:
        if key not in METHODS:
            raise ValueError(f"unknown row {key!r}{nearest(key, METHODS)}; choose from {', '.join(METHODS)}")
    data = load("pubmed", progress)
    graph, y = inductive(data)
    done = [_row(METHODS[key], data, graph, y, 2 if quick else seeds, on_seed) for key in rows]
    return Table("pubmed", done, _notes(graph, y, data))


def inductive(data: Dataset) -> tuple[Graph, NDArray[np.int64]]:
    """The graph without the test nodes, and y with -1 for all but seeds and validation nodes."""
    if data.graph is None:
        raise ValueError(f"data set {data.name!r} has no graph")
    y = np.full(len(data.y), -1)
    for known in (data.train, data.validation):
        y[known] = data.y[known]
    return data.graph.without(data.test), y


def _row(
    method: Method, data: Dataset, graph: Graph, y: NDArray[np.int64], seeds: int, on_seed: Callable[[str], None]
) -> Row:
    def score(seed: int) -> float:
        estimator = method.estimator(seed).set_params(validation=data.validation)
        estimator.fit(data.x, y, graph=graph)
        return accuracy(data.y[data.test], estimator.predict(data.x[data.test]))

    return measured(
        score,
        seeds,
        method=method.name,
        setting="inductive",
        paper=method.paper,
        dataset=data.name,
        on_seed=lambda: on_seed(method.name),
    )


def _notes(graph: Graph, y: NDArray[np.int64], data: Dataset) -> list[str]:
    labeled = np.isin(np.arange(len(y)), data.train)
    kinds = np.bincount(2 - labeled[graph.edges.numpy()].sum(axis=1), minlength=3)
    return [
        f"test nodes are out of the graph, which leaves {kinds[0]:,} LL, {kinds[1]:,} LU and {kinds[2]:,} UU edges",
        f"NGM-FFNN: alpha_ll = alpha_lu = alpha_uu = {ALPHA}, l2 on the last hidden layer, scaling 'mean' (mean "
        "distance per kind of edge, mean cost per labelled node); no self-training, so the paper has no figure for it",
        "both rows: hidden layers 250 and 100, Adam, no weight decay, no dropout; the epoch is chosen on the 500 "
        "validation nodes, the test nodes are scored once; FFNN stops after 100 steps without improvement (1,560 steps "
        "changed nothing in a trial), NGM-FFNN after 20 epochs of 78 steps",
    ]
