"""24 rows with zeros among their numbers, 14 of them labelled, on a random graph."""

from __future__ import annotations

import numpy as np
import torch

from ngm import Graph, NGMClassifier

SMALL = {"hidden": (8,), "epochs": 4, "batch_size": 16, "learning_rate": 0.01, "recipe": "paper"}
N = 24
RNG = np.random.default_rng(0)
X = (RNG.normal(size=(N, 5)) * (RNG.random((N, 5)) < 0.6)).astype(np.float32)  # with zeros, for sparse matrices
Y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
FEW = np.where(np.arange(N) < 14, Y, -1)
GRAPH = Graph.from_edges(RNG.integers(N, size=(50, 2)), RNG.random(50), num_nodes=N)


def same(one: NGMClassifier, other: NGMClassifier) -> bool:
    pairs = zip(one.network_.parameters(), other.network_.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)
