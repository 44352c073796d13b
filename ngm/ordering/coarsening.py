"""Clusters of neighbouring nodes, and the graph among them; compiled.

Nodes join the neighbouring cluster that they have most edges with, up to a size. Parts that are grown of clusters come
out better than parts grown of nodes: the level at which a graph falls into pieces is seen at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ngm._compiled import compiled
from ngm.ordering.adjacency import Ids, Nodes


class WeightedGraph(NamedTuple):
    """Neighbours in compressed rows.

    Args:
        start: (n + 1,) where the row of each node begins, and the end of the last.
        neighbor: (2m,) the other ends.
        weight: (2m,) how many edges each entry stands for.
        size: (n,) ends of edges that each node stands for.
    """

    start: Ids
    neighbor: Nodes
    weight: Nodes
    size: Ids


@compiled
def graph_of(low: Nodes, high: Nodes, start: Ids) -> WeightedGraph:
    """The graph of (m,) edges, each of weight 1; a node is as large as its number of edges."""
    at = start[:-1].copy()
    neighbor = np.empty(2 * len(low), dtype=np.int32)
    for e in range(len(low)):
        neighbor[at[low[e]]] = high[e]
        at[low[e]] += 1
        neighbor[at[high[e]]] = low[e]
        at[high[e]] += 1
    return WeightedGraph(start, neighbor, np.ones(len(neighbor), dtype=np.int32), np.diff(start))


@compiled
def clusters(graph: WeightedGraph, capacity: int, rounds: int) -> tuple[Nodes, int]:
    """((n,) the cluster of each node, number of clusters).

    Args:
        graph: The nodes.
        capacity: Ends of edges that a cluster may have; a node that has more is one by itself.
        rounds: How often every node is looked at.
    """
    start, neighbor, weight, size = graph
    n = len(size)
    label, total, links = np.arange(n).astype(np.int32), size.copy(), np.zeros(n, dtype=np.int32)
    near = np.empty(n, dtype=np.int32)
    for _ in range(rounds):
        moved = 0
        for node in range(n):
            own, count = label[node], 0
            for at in range(start[node], start[node + 1]):
                there = label[neighbor[at]]
                if links[there] == 0:
                    near[count] = there
                    count += 1
                links[there] += weight[at]
            best, most = own, links[own]
            for i in range(count):
                there = near[i]
                if links[there] > most and total[there] + size[node] <= capacity:
                    best, most = there, links[there]
                links[there] = 0
            if best != own:
                total[own] -= size[node]
                total[best] += size[node]
                label[node] = best
                moved += 1
        if 50 * moved < n:
            break
    number, found = np.full(n, -1, dtype=np.int32), 0
    for node in range(n):
        if number[label[node]] < 0:
            number[label[node]] = found
            found += 1
        label[node] = number[label[node]]
    return label, found


@compiled
def contract(graph: WeightedGraph, label: Nodes, count: int) -> WeightedGraph:
    """The graph whose nodes are the clusters; edges within one are gone.

    Args:
        graph: The nodes.
        label: (n,) cluster of each node.
        count: Number of clusters.
    """
    first = np.zeros(count + 1, dtype=np.int64)
    for node in range(len(label)):
        first[label[node] + 1] += 1
    for c in range(count):
        first[c + 1] += first[c]
    at, member = first[:-1].copy(), np.empty(len(label), dtype=np.int32)
    for node in range(len(label)):
        member[at[label[node]]] = node
        at[label[node]] += 1
    start, size = np.zeros(count + 1, dtype=np.int64), np.zeros(count, dtype=np.int64)
    neighbor, weight = np.empty_like(graph.neighbor), np.empty_like(graph.weight)
    place, end = np.full(count, -1, dtype=np.int64), 0  # where the entry of a cluster is in the row at hand
    for c in range(count):
        row = end
        for i in range(first[c], first[c + 1]):
            node = member[i]
            size[c] += graph.size[node]
            for j in range(graph.start[node], graph.start[node + 1]):
                other = label[graph.neighbor[j]]
                if other == c:
                    continue
                if place[other] < row:
                    place[other], neighbor[end], weight[end] = end, other, 0
                    end += 1
                weight[place[other]] += graph.weight[j]
        start[c + 1] = end
    return WeightedGraph(start, neighbor[:end].copy(), weight[:end].copy(), size)
