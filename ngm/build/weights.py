"""Edges from neighbors: selection, weights and maximum degree."""

from __future__ import annotations

from numbers import Integral
from typing import Literal

import torch
from torch import Tensor

from ngm.choices import Metric, Weight
from ngm.graph import Graph

Join = Literal["union", "mutual"]
FLOOR = 1e-6  # weight of a node's best edge where its similarity is not above 0
_CHUNK_EDGES = 65_536  # edges that are Python numbers at a time


def check_edge_options(metric: str, join: str, weight: str, max_degree: int | None) -> None:
    """Checks the options of `neighbor_graph`; called before the search, which may take long."""
    if join not in ("union", "mutual"):
        raise ValueError(f"join is {join!r}; choose 'union' or 'mutual'")
    if weight not in ("similarity", "self_tuned", "binary"):
        raise ValueError(f"weight is {weight!r}; choose 'similarity', 'self_tuned' or 'binary'")
    if weight == "self_tuned" and metric == "inner_product":
        raise ValueError("weight='self_tuned' needs distances; use metric='cosine' or 'euclidean'")
    if max_degree is not None and not (isinstance(max_degree, Integral) and max_degree >= 1):
        raise ValueError(f"max_degree is {max_degree!r}; it must be a whole number of at least 1")


def edge_weights(similarity: Tensor, neighbor: Tensor, metric: Metric, weight: Weight) -> Tensor:
    """Weights of the chosen neighbors; 0 where there should be no edge.

    Args:
        similarity: (n, k) best first; minus the distance for "euclidean".
        neighbor: (n, k) whom each row chose.
        metric: What the similarity is.
        weight: "similarity" weighs by it, for "euclidean" by 1 / (1 + distance). "self_tuned" weighs by
            exp(-d_uv^2 / (s_u s_v)) with s the distance to the k-th neighbor; a cosine counts as the distance between
            the vectors at length one. "binary" weighs 1.

    Returns:
        (n, k) float32 weights. Pairs at or below zero similarity get 0, except that each node's best neighbor gets at
        least `FLOOR`.
    """
    positive = similarity > (-torch.inf if metric == "euclidean" else 0)
    if weight == "binary":
        value = torch.ones_like(similarity)
    elif weight == "self_tuned":
        value = _self_tuned(
            -similarity if metric == "euclidean" else (2 - 2 * similarity).clamp(min=0).sqrt(), neighbor
        )
    else:
        value = 1 / (1 - similarity) if metric == "euclidean" else similarity
    positive[:, 0] = True
    return value.clamp(min=FLOOR) * positive


def _self_tuned(distance: Tensor, neighbor: Tensor) -> Tensor:
    """exp(-d_uv^2 / (s_u s_v)); 1 where both ends coincide with their k-th neighbors."""
    scale = distance[:, -1]
    scale_product = scale[:, None] * scale[neighbor]  # (n, k)
    ratio = torch.where(
        distance > 0, distance.square() / scale_product, torch.zeros(())
    )  # d > 0 and s = 0: infinitely far
    return (-ratio).exp()


def mutual(neighbor: Tensor) -> Tensor:
    """(n, k) whether the neighbor that a row chose chose it as well."""
    n = len(neighbor)
    rows = torch.arange(n)[:, None].expand_as(neighbor)
    forward, backward = rows * n + neighbor, neighbor * n + rows
    exists = forward.reshape(-1).sort().values
    position = torch.searchsorted(exists, backward).clamp(max=len(exists) - 1)
    return exists[position] == backward


def limit_degree(graph: Graph, max_degree: int) -> Tensor:
    """Chooses the strongest edges such that no node has more than `max_degree`.

    Edges are taken from the strongest down, of equals the earlier one first, and one is kept if both its ends still
    have room. What is kept depends on all that was kept before, so this is a plain loop, about as quick as rounds of
    array operations where those are few, and they may be as many as nodes.

    Returns:
        (kept,) int64 ids of the edges, ascending.

    >>> limit_degree(Graph.from_edges([[0, 1], [0, 2], [1, 2]], [3.0, 2.0, 1.0]), 1).tolist()
    [0]
    """
    remaining = [max_degree] * graph.num_nodes
    selected = []
    for edges in torch.split(torch.sort(graph.weight, descending=True, stable=True).indices, _CHUNK_EDGES):
        ends = graph.edges[edges].tolist()
        for edge, (u, v) in zip(edges.tolist(), ends, strict=True):
            if remaining[u] and remaining[v]:
                remaining[u] -= 1
                remaining[v] -= 1
                selected.append(edge)
    return torch.tensor(selected, dtype=torch.int64).sort().values
