"""Graphs whose edges mostly join nodes of one class, and labels of some of their nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm import Graph

Ids = NDArray[np.int64]
RNG = np.random.default_rng


def planted(
    nodes: int = 1200, edges: int = 6000, classes: int = 4, alike: float = 0.8, seed: int = 0
) -> tuple[Graph, Ids]:
    """(graph, true classes): so many edges join one class, the others two different ones."""
    rng = RNG(seed)
    truth = rng.permutation(np.arange(nodes) % classes)
    members = np.argsort(truth, kind="stable").reshape(classes, -1)
    u = rng.integers(nodes, size=edges)
    apart = rng.integers(1, classes, size=edges) * (rng.random(edges) >= alike)
    v = members[(truth[u] + apart) % classes, rng.integers(nodes // classes, size=edges)]
    return Graph.from_edges(np.stack([u, v], axis=1), num_nodes=nodes), truth


def shown(truth: Ids, share: float, seed: int = 0) -> Ids:
    return np.where(RNG(seed).random(len(truth)) < share, truth, -1)


def renamed(graph: Graph, seed: int = 0) -> Graph:
    """The same edges between nodes renamed at random: it knows nothing of labels or inputs."""
    return Graph.from_edges(RNG(seed).permutation(len(graph))[graph.edges.numpy()], graph.weight, len(graph))
