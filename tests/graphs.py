"""Small graphs, and what graphs are compared by."""

from __future__ import annotations

import numpy as np

from ngm import Graph

NEEDS_GENSIM = "gensim is not here: pip install 'neural-graph-machines[walks]'"
PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3]], [1.0, 2.0, 3.0])


def weights(graph: Graph) -> dict[tuple[int, int], float]:
    """{(u, v): weight}, the form in which graphs are compared here."""
    return {(u, v): w for (u, v), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True)}


def random_graph(seed: int, directed: bool = False, num_nodes: int = 30, num_edges: int = 45) -> Graph:
    """Distinct edges with distinct weights; some nodes have none."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, num_nodes, (num_edges, 2))
    return Graph.from_edges(edges, rng.random(num_edges) + 0.1, num_nodes + 3, directed)


def cliques() -> Graph:
    """Nodes 0 to 5 and 6 to 11 all joined, one edge between the two, and node 12 alone."""
    pairs = [(u, v) for start in (0, 6) for u in range(start, start + 6) for v in range(u + 1, start + 6)]
    return Graph.from_edges([*pairs, (5, 6)], num_nodes=13)
