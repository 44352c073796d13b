"""What every data set of the experiments looks like once it is loaded, and before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.graph import Graph

_SPLIT_STREAM = 8_675


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples, all their true labels, perhaps a graph over them, and the split of the literature.

    Attributes:
        name: What `ngm.datasets.load` knows it by.
        x: (n, d) float32 inputs, a row per node; sparse rows where most entries are 0. Adjacency rows where the data
            has no features. A list of n strings where the examples are texts. See `rows` and `texts`.
        y: (n,) int64 true class of every node, for training and for scoring; -1 where unknown. Where a node
            may have several labels, (n, L) zeros and ones.
        graph: Graph on the n nodes, or None where the data has none of its own.
        train: (t,) int64 ids of the nodes whose labels may be shown to a learner.
        validation: (v,) int64 ids of the nodes to choose settings on; may be empty.
        test: (s,) int64 ids of the nodes to score; each has a label.
        classes: Name of each class, in the order of the numbers in `y`.
        note: What has to be said beside results on it, such as how much of the official data is available; or "".
    """

    name: str
    x: sp.csr_matrix | sp.csr_array | NDArray[np.float32] | list[str]
    y: NDArray[np.int64]
    graph: Graph | None
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    classes: tuple[str, ...]
    note: str = ""

    @property
    def rows(self) -> sp.csr_matrix | sp.csr_array | NDArray[np.float32]:
        """`x` where it is numbers; an error where it is texts."""
        if isinstance(self.x, list):
            raise ValueError(f"data set {self.name!r} has texts and no rows of numbers; take its texts")
        return self.x

    @property
    def texts(self) -> list[str]:
        """`x` where it is texts; an error where it is numbers."""
        if not isinstance(self.x, list):
            raise ValueError(f"data set {self.name!r} has rows of numbers and no texts; take its rows")
        return self.x


@dataclass(frozen=True)
class Record:
    """What is known of a data set without loading it: a line of `ngm datasets`.

    Attributes:
        name: What `ngm.datasets.load` knows it by.
        num_nodes: Number of examples.
        num_edges: Number of undirected edges; 0 where it has no graph of its own.
        num_features: Width of `x`; 0 where the examples are texts.
        num_classes: Number of classes.
        license: Terms of use as its origin states them.
        origin: Where it comes from.
        where: "embedded", "found in $NGM_DATA", "cached at ..." or "not fetched".
    """

    name: str
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    license: str
    origin: str
    where: str = "not fetched"


def few_labels(y: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """(n,) y with all but `count` random labels of each class replaced by -1.

    >>> few_labels(np.array([0, 0, 1, 1, 1]), 1, seed=0).tolist()
    [-1, 0, -1, 1, -1]
    """
    rng = np.random.default_rng(seed)
    y_visible = np.full(len(y), -1)
    for label in np.unique(y):
        rows = rng.choice(np.flatnonzero(y == label), size=count, replace=False)
        y_visible[rows] = label
    return y_visible


def few_label_split(
    y: NDArray[np.int64], labels_per_class: int, seed: int, validation: int = 500, test: int = 1_000
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Draws labelled, validation and test nodes at random: (train, validation, test) ids, each ascending.

    Same seed, same validation and test nodes whatever `labels_per_class` is, and more labels hold those of fewer: a
    curve over the number of labels is scored on the same nodes.

    Args:
        y: (n,) classes; nodes of class -1 are never drawn.
        labels_per_class: Labelled nodes of each class; the remaining ones are in none of the three parts.
        seed: Same seed, same parts.
        validation: Number of validation nodes, of all classes as they come.
        test: Number of test nodes, likewise.

    >>> [part.tolist() for part in few_label_split(np.array([0, 1, 0, 1, 0, 1]), 1, seed=0, validation=1, test=1)]
    [[1, 2], [5], [3]]
    """
    # A stream of its own: minesweeper's mines are the first fifth of default_rng(0).permutation(10_000).
    order = np.random.default_rng([seed, _SPLIT_STREAM]).permutation(np.flatnonzero(y >= 0))
    pool = order[test + validation :]
    rows_by_class = {label: pool[y[pool] == label][:labels_per_class] for label in np.unique(y[y >= 0]).tolist()}
    for label, ids in rows_by_class.items():
        if len(ids) < labels_per_class:
            raise ValueError(
                f"class {label} has {len(ids)} nodes beside {test:,} test and {validation:,} validation nodes, "
                f"labels_per_class is {labels_per_class}; draw fewer of one of the three"
            )
    return (
        np.sort(np.concatenate(list(rows_by_class.values()))),
        np.sort(order[test : test + validation]),
        np.sort(order[:test]),
    )
