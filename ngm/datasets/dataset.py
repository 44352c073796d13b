"""What every data set of the experiments looks like once it is loaded, and before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.graph import Graph


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples, all their true labels, perhaps a graph over them, and the split of the literature.

    Attributes:
        name: What `ngm.datasets.load` knows it by.
        x: (n, d) float32 inputs, a row per node; sparse rows where most entries are 0. Adjacency rows where the data
            has no features. A list of n strings where the examples are texts. See `rows` and `texts`.
        y: (n,) int64 true class of every node, for training and for scoring; -1 where nobody knows it. Where a node
            may have several labels, (n, L) zeros and ones.
        graph: Graph on the n nodes, or None where the data has none of its own.
        train: (t,) int64 ids of the nodes whose labels may be shown to a learner.
        validation: (v,) int64 ids of the nodes to choose settings on; may be empty.
        test: (s,) int64 ids of the nodes to score; each has a label.
        classes: Name of each class, in the order of the numbers in `y`.
        note: What has to be said beside results on it, such as how much of the official data was at hand; or "".
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
        where: "embedded", "found in $NGM_DATA", "cached at ..." or "not here yet".
    """

    name: str
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    license: str
    origin: str
    where: str = "not here yet"


def few_labels(y: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """(n,) y with all but `count` random labels of each class replaced by -1.

    >>> few_labels(np.array([0, 0, 1, 1, 1]), 1, seed=0).tolist()
    [-1, 0, -1, 1, -1]
    """
    rng = np.random.default_rng(seed)
    shown = np.full(len(y), -1)
    for label in np.unique(y):
        chosen = rng.choice(np.flatnonzero(y == label), size=count, replace=False)
        shown[chosen] = label
    return shown
