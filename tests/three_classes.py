"""120 nodes of three classes on edges within a class, 12 of them labelled: for tests of the default recipe."""

from __future__ import annotations

import numpy as np

from ngm import Graph
from ngm.recipes.label_matrix import Targets
from ngm.recipes.node_views import NodeViews, scaled_features

N = 120
CLASS = np.arange(N) % 3
X = (np.eye(3)[CLASS] + np.random.default_rng(0).normal(0, 1.0, (N, 3))).astype(np.float32)
EDGES = np.array([[i, j] for i in range(N) for j in (i + 3, i + 9) if j < N])  # within a class
GRAPH = Graph.from_edges(EDGES, num_nodes=N)
FEW = np.where(np.arange(N) < 12, CLASS, -1)
TARGETS = Targets(np.eye(3, dtype=np.float32)[CLASS])
LABELED = FEW >= 0


def views(graph: Graph = GRAPH) -> NodeViews:
    """The rows and their graph, as teachers see them."""
    return NodeViews({"features": scaled_features(X)}, [graph])
