"""What a method gets and is scored on: a data set, labels drawn by seed, and new rows that no graph knew.

Graphs: 500 validation and 1,000 test nodes are drawn and taken out of the graph; the labels are drawn from the rest.
Digits and small tables have fewer, and their graph is that of the nearest rows.
Texts: at most 5,000 training, 500 validation and 2,000 test texts are chosen once, the same for all draws, so that each
text is encoded once; the labels are drawn from the training texts, whose kNN graph is the graph. BlogCatalog is the
exception: many labels a node, a share of the nodes labelled, all nodes in the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from battery_parts.small_tables import TABLES, small_table
from battery_parts.texts import vectors_of
from ngm import Graph, inputs, knn_graph
from ngm.choices import Metric
from ngm.datasets import Dataset, few_label_split, load
from ngm.datasets.blogcatalog import split
from ngm.io.files import file_written_whole

Part = Literal["validation", "test"]
Rows: TypeAlias = sp.csr_matrix | sp.csr_array | NDArray[np.float32]
Ids = NDArray[np.int64]

GRAPHS = (
    *("acm", "amazon_cs", "coauthor_phy", "flickr", "minesweeper", "squirrel_filtered", "tolokers"),
    *("cora", "citeseer", "pubmed", "digits"),
)
TEXTS = ("trec", "subj", "mr", "banking77", "ag_news", "clinc150", "swda20")
MULTI_LABEL = ("blogcatalog",)
DATASETS = (*GRAPHS, *TABLES, *TEXTS, *MULTI_LABEL)
LABELS_PER_CLASS = (1, 2, 5, 20)
SHARES = (10, 50)  # percent of the nodes of BlogCatalog
NEIGHBORS = 10
PROTOCOL = 1  # of splits and draws; part of the version of every cell
_SCORED = {  # (validation, test) where 500 and 1,000 would leave too few
    "digits": (300, 500),
    "iris": (20, 50),
    "wine": (20, 60),
    "breast_cancer": (100, 200),
    "moons": (200, 300),
    "circles": (200, 300),
}
_TRAIN_TEXTS, _VALIDATION_TEXTS, _TEST_TEXTS = 5_000, 500, 2_000
_TEXTS_OF_A_CLASS = 25  # at least so many training texts of each class, where there are as many


@dataclass(frozen=True, eq=False)
class Problem:
    """One draw of a data set.

    Attributes:
        x: (n, d) inputs of the nodes that are there while training.
        y: (n,) their true classes, -1 where nobody knows; (n, L) zeros and ones where a node may have several labels.
        labeled: (k,) ids of the nodes whose labels a method may see.
        graph: Graph on the n nodes.
        x_new: (m, d) inputs of the nodes to score.
        y_new: (m,) or (m, L) their true labels.
        num_classes: Number of classes or labels.
    """

    x: Rows
    y: NDArray[np.int64]
    labeled: Ids
    graph: Graph
    x_new: Rows
    y_new: NDArray[np.int64]
    num_classes: int

    @property
    def y_seen(self) -> NDArray[np.int64]:
        """`y` with -1 wherever a method may not see it."""
        seen = np.full_like(self.y, -1)
        seen[self.labeled] = self.y[self.labeled]
        return seen


def columns(dataset: str, labels: list[int], shares: list[int]) -> list[int]:
    """The numbers of labels a class to run a data set with, or the percent of its nodes."""
    return shares if dataset in MULTI_LABEL else labels


def problem(dataset: str, labels: int, draw: int, part: Part, cache: Path) -> Problem:
    """Draws labels and scored nodes.

    Args:
        dataset: One of `DATASETS`.
        labels: Labels a class, or percent of the nodes for BlogCatalog.
        draw: Same number, same problem.
        part: Which nodes to score: those to choose settings on, or those of the report.
        cache: Folder in which vectors of texts and nodes are kept.
    """
    if dataset in MULTI_LABEL:
        return _multi_label(dataset, labels, draw, part, cache)
    return _texts(dataset, labels, draw, part, cache) if dataset in TEXTS else _nodes(dataset, labels, draw, part)


def prepare(dataset: str, cache: Path) -> None:
    """Makes and keeps the vectors of a data set, so that processes that run at once need not."""
    if dataset in TEXTS:
        _text_inputs(dataset, cache)
    elif dataset in MULTI_LABEL:
        _node_vectors(dataset, cache)


@lru_cache(maxsize=1)
def _loaded(name: str) -> Dataset:
    return small_table(name) if name in TABLES else load(name)


@lru_cache(maxsize=1)
def _without_scored(name: str, draw: int) -> tuple[Ids, Graph, Ids, Ids]:
    """(ids there while training, graph among them, validation ids, test ids)."""
    data = _loaded(name)
    validation_size, test_size = _SCORED.get(name, (500, 1_000))
    _, validation, test = few_label_split(data.y, 1, draw, validation_size, test_size)
    there = np.ones(len(data.y), dtype=bool)
    there[np.concatenate([validation, test])] = False
    ids = np.flatnonzero(there)
    metric: Metric = "euclidean" if name in TABLES else "cosine"
    graph = knn_graph(data.rows[ids], NEIGHBORS, metric) if data.graph is None else data.graph.subgraph(ids)
    return ids, graph, validation, test


def _nodes(name: str, labels: int, draw: int, part: Part) -> Problem:
    data = _loaded(name)
    ids, graph, validation, test = _without_scored(name, draw)
    drawn, *_ = few_label_split(data.y, labels, draw, len(validation), len(test))
    scored = validation if part == "validation" else test
    x, labeled = data.rows, np.searchsorted(ids, drawn)
    return Problem(x[ids], data.y[ids], labeled, graph, x[scored], data.y[scored], len(data.classes))


def _texts(name: str, labels: int, draw: int, part: Part, cache: Path) -> Problem:
    data = _loaded(name)
    train, validation, test = text_parts(data)
    x, graph = _text_inputs(name, cache)
    order = np.random.default_rng([draw, 2]).permutation(len(train))
    y = data.y[train]
    labeled = np.concatenate([order[y[order] == label][:labels] for label in range(len(data.classes))])
    scored = validation if part == "validation" else test
    start = len(train) + (0 if part == "validation" else len(validation))
    x_new = x[start : start + len(scored)]
    return Problem(x[: len(train)], y, np.sort(labeled), graph, x_new, data.y[scored], len(data.classes))


def text_parts(data: Dataset) -> tuple[Ids, Ids, Ids]:
    """(training, validation, test) ids of the texts that take part, the same for all draws.

    Training texts without a known class are left out: every method then has the same texts to learn from, and the
    ceiling has a label for each. Validation texts are the official ones, or drawn from the training texts.
    """
    rng = np.random.default_rng([0, 3])  # not the stream of 0 alone, by which somebody may have made the data
    order = rng.permutation(data.train[data.y[data.train] >= 0])
    validation = rng.permutation(data.validation)[:_VALIDATION_TEXTS]
    if not len(validation):
        validation, order = order[:_VALIDATION_TEXTS], order[_VALIDATION_TEXTS:]
    first = np.concatenate([order[data.y[order] == label][:_TEXTS_OF_A_CLASS] for label in range(len(data.classes))])
    rest = order[~np.isin(order, first)][: max(_TRAIN_TEXTS - len(first), 0)]
    test = rng.permutation(data.test)[:_TEST_TEXTS]
    return np.sort(np.concatenate([first, rest])), np.sort(validation), np.sort(test)


@lru_cache(maxsize=1)
def _text_inputs(name: str, cache: Path) -> tuple[Rows, Graph]:
    """(rows of training, validation and test texts in this order, kNN graph of the training texts)."""
    data = _loaded(name)
    train, validation, test = text_parts(data)
    texts = [data.texts[i] for i in np.concatenate([train, validation, test]).tolist()]
    return vectors_of(name, texts, len(train), NEIGHBORS, cache)


@lru_cache(maxsize=1)
def _node_vectors(name: str, cache: Path) -> NDArray[np.float32]:
    """(n, 128) NetMF vectors of the whole graph, computed once."""
    file = cache / "vectors" / f"{name}-netmf-128.npy"
    if not file.exists():
        graph = _loaded(name).graph
        if graph is None:
            raise ValueError(f"{name} has no graph; only graphs have NetMF vectors")
        with file_written_whole(file) as written, written.open("wb") as stream:
            np.save(stream, inputs.netmf(graph, 128))
    found: NDArray[np.float32] = np.load(file)
    return found


def _multi_label(name: str, share: int, draw: int, part: Part, cache: Path) -> Problem:
    """A tenth of the nodes is for validation, a share labelled; all others are scored. Every node is in the graph."""
    data, x = _loaded(name), _node_vectors(name, cache)
    if data.graph is None:
        raise ValueError(f"{name} has no graph")
    labeled, rest = split(len(data.y), share / 100, draw)
    order = np.random.default_rng([draw, 1]).permutation(rest)
    validation, test = np.split(order, [len(data.y) // 10])
    scored = np.sort(validation if part == "validation" else test)
    return Problem(x, data.y, labeled, data.graph, x[scored], data.y[scored], len(data.classes))
