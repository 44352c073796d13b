"""Figures that take a look at every edge, a part of the edges at a time: a memory map is never in memory whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngm.diagnosis.intervals import Ids
from ngm.graph import Graph

EDGES_AT_ONCE = 1 << 20
MAX_LABELED_EDGES = 1 << 20  # that classes are compared across
_HALF = 16  # bits of a weight that are looked at together


def edge_parts(graph: Graph) -> Iterator[Ids]:
    """(b, 2) ends of all edges, a part at a time."""
    edges = graph.edges.numpy()
    for at in range(0, len(edges), EDGES_AT_ONCE):
        yield edges[at : at + EDGES_AT_ONCE]


def count_kinds(graph: Graph, labeled: NDArray[np.bool_]) -> Ids:
    """(3,) edges with no, one and two labelled ends: UU, LU, LL."""
    kinds = np.zeros(3, dtype=np.int64)
    for ends in edge_parts(graph):
        kinds += np.bincount(labeled[ends].sum(axis=1), minlength=3)
    return kinds


def num_compared(own: int, total: int) -> int:
    """How many of its labelled edges a process compares: all, or its share of `MAX_LABELED_EDGES`.

    Args:
        own: Labelled edges of this process.
        total: Of all processes.
    """
    return own if total <= MAX_LABELED_EDGES else own * MAX_LABELED_EDGES // total


def labeled_edges(graph: Graph, labeled: NDArray[np.bool_], num_labeled: int, count: int, seed: int) -> Ids:
    """(k, 2) ends of the edges between labelled nodes, `count` of them at random where there are more.

    Args:
        graph: The graph.
        labeled: (n,) mask.
        num_labeled: How many such edges there are.
        count: How many are wanted, at most.
        seed: Draws them.
    """
    chosen = None
    if num_labeled > count:
        rng = np.random.default_rng([seed, 0xED6E])
        chosen = np.sort(rng.choice(num_labeled, count, replace=False, shuffle=False))
    found, before = [np.zeros((0, 2), dtype=np.int64)], 0
    for ends in edge_parts(graph):
        rows = np.flatnonzero(labeled[ends].all(axis=1))
        number = len(rows)
        if chosen is not None:
            low, high = np.searchsorted(chosen, [before, before + number])
            rows = rows[chosen[low:high] - before]
        found.append(ends[rows])
        before += number
    return np.concatenate(found)


def within_hops(graph: Graph, labeled: NDArray[np.bool_], hops: int) -> tuple[float, ...]:
    """Share of the unlabelled nodes within 1, 2, ... hops of a seed; 0 where every node is labelled."""
    reached, fractions = labeled.copy(), []
    unlabeled = max(int((~labeled).sum()), 1)
    for _ in range(hops):
        previous = reached.copy()
        for ends in edge_parts(graph):
            near = previous[ends]
            reached[ends[near[:, 0], 1]] = True
            reached[ends[near[:, 1], 0]] = True
        fractions.append(float((reached & ~labeled).sum() / unlabeled))
    return tuple(fractions)


def share_at(graph: Graph, nodes: NDArray[np.bool_]) -> float:
    """Share of the edges with an end among some nodes (a mask); 0 without edges."""
    count = sum(int(nodes[ends].any(axis=1).sum()) for ends in edge_parts(graph))
    return count / max(graph.num_edges, 1)


def ordered_weight(weight: NDArray[np.float32], rank: int) -> float:
    """The weight that is at `rank` (from 0) when weights ascend, without sorting them.

    Numbers of 32 bits that are not below 0 ascend as the whole numbers of the same bits do: one pass counts the upper
    half of the bits, another one the lower half of those that are alike.

    >>> ordered_weight(np.array([0.5, 3.0, 0.25, 3.0], dtype=np.float32), 2)
    3.0
    """
    prefix = 0
    for shift in (_HALF, 0):
        counts = np.zeros(1 << _HALF, dtype=np.int64)
        for at in range(0, len(weight), EDGES_AT_ONCE):
            bits = np.abs(weight[at : at + EDGES_AT_ONCE]).view(np.uint32)  # -0 is 0
            if not shift:
                bits = bits[bits >> _HALF == prefix] & ((1 << _HALF) - 1)
            counts += np.bincount(bits >> shift, minlength=1 << _HALF)
        upto = np.cumsum(counts)
        half = int(np.searchsorted(upto, rank, side="right"))
        rank -= int(upto[half] - counts[half])
        prefix = (prefix << _HALF) | half
    return float(np.array([prefix], dtype=np.uint32).view(np.float32)[0])


def sum_above(weight: NDArray[np.float32], limit: float) -> tuple[int, float]:
    """How many weights are above a limit, and their sum."""
    count, total = 0, 0.0
    for at in range(0, len(weight), EDGES_AT_ONCE):
        part = weight[at : at + EDGES_AT_ONCE]
        part = part[part > limit]
        count, total = count + len(part), total + float(part.sum(dtype=np.float64))
    return count, total
