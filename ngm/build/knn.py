"""Graphs that join each row to the rows most like it."""

from __future__ import annotations

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ngm.build.neighbor_lists import Step
from ngm.build.neighbors import Neighbors, nearest_neighbors
from ngm.build.weights import FLOOR, Join, check_edge_options, edge_weights, limit_degree, mutual
from ngm.choices import Metric, Search, Weight
from ngm.graph import Graph

__all__ = ["FLOOR", "Metric", "knn_graph", "neighbor_graph"]


def knn_graph(
    x: ArrayLike | Tensor,
    k: int = 5,
    metric: Metric = "cosine",
    *,
    join: Join = "union",
    weight: Weight = "similarity",
    max_degree: int | None = None,
    search: Search = "auto",
    recall: float = 0.98,
    seed: int = 0,
    on_step: Step | None = None,
) -> Graph:
    """Joins each row to its `k` most similar rows, and so to every row that chose it.

    Args:
        x: (n, d) vectors of any real type, in memory or mapped from a file; for "cosine" they need not be normalized.
        k: Neighbors chosen per node; a node may get more when others choose it.
        metric: "cosine", "euclidean" or "inner_product".
        join: "union" keeps an edge that either end chose, "mutual" one that both chose; a node that nobody chose back
            keeps its best neighbor.
        weight: "similarity" weighs an edge by it, for "euclidean" by 1 / (1 + distance). "self_tuned" weighs by
            exp(-d_uv^2 / (s_u s_v)) with s the distance of an end to its k-th neighbor, so that dense and sparse
            regions weigh alike; cosine counts as the distance between the vectors at length one. "binary" weighs 1.
        max_degree: No node has more edges; the strongest are kept, even if other nodes lose all edges.
        search: "exact", "approximate", or "auto": exact up to 50,000 rows.
        recall: Share of the true neighbors at which an approximate search stops; `nearest_neighbors` tells what was
            reached.
        seed: Of the approximate search.
        on_step: Called with (rows done, rows in all) as the search goes on.

    Returns:
        Undirected graph on n nodes. Pairs at or below zero similarity are left out, except that every node keeps its
        best neighbor, at a weight of at least `FLOOR`: no node is left alone, unless `max_degree` forbids it.

    >>> knn_graph(torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), k=1).edges.tolist()
    [[0, 1], [1, 2]]
    """
    check_edge_options(metric, join, weight, max_degree)
    neighbors = nearest_neighbors(x, k, metric, search=search, recall=recall, seed=seed, on_step=on_step)
    return neighbor_graph(neighbors, join=join, weight=weight, max_degree=max_degree)


def neighbor_graph(
    neighbors: Neighbors, *, join: Join = "union", weight: Weight = "similarity", max_degree: int | None = None
) -> Graph:
    """`knn_graph` from precomputed neighbors; `nearest_neighbors` also returns the recall.

    Args:
        neighbors: Result of `nearest_neighbors`.
        join: See `knn_graph`.
        weight: See `knn_graph`.
        max_degree: See `knn_graph`.
    """
    check_edge_options(neighbors.metric, join, weight, max_degree)
    n, k = neighbors.neighbor.shape
    value = edge_weights(neighbors.similarity, neighbors.neighbor, neighbors.metric, weight)
    selected = value > 0
    if join == "mutual":
        selected &= mutual(neighbors.neighbor)
        selected[:, 0] |= ~selected.any(dim=1)
    edges = torch.stack([torch.arange(n)[:, None].expand(-1, k)[selected], neighbors.neighbor[selected]], dim=1)
    graph = Graph.from_edges(edges, value[selected], num_nodes=n)
    if max_degree is None:
        return graph
    strength = (
        edge_weights(neighbors.similarity, neighbors.neighbor, neighbors.metric, "similarity")
        if weight == "binary"
        else value
    )
    strongest = limit_degree(Graph.from_edges(edges, strength[selected], num_nodes=n), max_degree)
    return Graph(n, graph.edges[strongest], graph.weight[strongest])
