"""40 rows in three classes on a random graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm import Graph

Data = tuple[NDArray[np.float64], NDArray[np.int64], Graph]


def three_classes(width: int = 5, labeled: int = 15) -> Data:
    """40 rows in three classes of different sizes, some of them labelled, on a random weighted graph."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [20, 12, 8])[rng.permutation(40)]
    x = rng.normal(size=(40, width)) + np.eye(3, width)[y] * 1.5
    y[rng.permutation(40)[labeled:]] = -1
    return x, y, Graph.from_edges(rng.integers(40, size=(90, 2)), rng.random(90) + 0.1, num_nodes=40)
