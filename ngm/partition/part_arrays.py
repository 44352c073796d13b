"""The edges, nodes and border of each part, as arrays of local ids."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngm._pair_keys import unique_pairs
from ngm.graph import Graph
from ngm.partition.assignment import Assignment

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PartArrays:
    """One part; its nodes are its own, ascending by global id, then those of the border, ascending.

    Args:
        nodes: (n,) global ids.
        num_own: How many of them the part owns.
        border_part: (b,) which part owns each border node.
        border_place: (b,) its place among the nodes of that part.
        edges: (m, 2) local ids of the ends of the edges that the part carries, sorted as in `Graph.from_edges`.
        edge_ids: (m,) places of these edges in the whole graph.
        other_edges: (k, 2) local ids of edges between nodes of this part that other parts carry.
    """

    nodes: Ids
    num_own: int
    border_part: NDArray[np.int32]
    border_place: Ids
    edges: Ids
    edge_ids: Ids
    other_edges: Ids


def part_arrays(graph: Graph, assignment: Assignment) -> Iterator[PartArrays]:
    """The parts, one after the other.

    Args:
        graph: The whole graph.
        assignment: Which part each node and edge goes to.
    """
    n, parts, part = graph.num_nodes, assignment.num_parts, assignment.part
    ends = graph.edges.numpy()
    own_order, own_start = _by_part(part, parts)
    place = np.empty(n, dtype=np.int64)  # of each node among those of its part
    place[own_order] = np.arange(n) - np.repeat(own_start[:-1], np.diff(own_start))
    edge_order, edge_start = _by_part(assignment.carrier, parts)
    borders = _borders(ends, assignment)
    others = _other_edges(ends, assignment, borders)
    for p in range(parts):
        own, border = own_order[own_start[p] : own_start[p + 1]], borders[p]
        mine = edge_order[edge_start[p] : edge_start[p + 1]]

        def local(nodes: Ids, p: int = p, own: Ids = own, border: Ids = border) -> Ids:
            return np.where(part[nodes] == p, place[nodes], len(own) + np.searchsorted(border, nodes))

        edges = local(ends[mine])
        order = _ascending_order(edges, graph.directed)
        yield PartArrays(
            nodes=np.concatenate([own, border]),
            num_own=len(own),
            border_part=part[border],
            border_place=place[border],
            edges=edges[order],
            edge_ids=mine[order],
            other_edges=local(ends[others[p]]),
        )


def _ascending_order(edges: Ids, directed: bool) -> Ids:
    """(m,) the order of edges by their ends; where undirected, the smaller end of each is put first, in place."""
    if not directed:
        edges.sort(axis=1)
    return np.lexsort((edges[:, 1], edges[:, 0]))


def _by_part(of: NDArray[np.int32], parts: int) -> tuple[Ids, Ids]:
    """((n,) things in order of their parts, (p + 1,) where each part begins)."""
    order = np.argsort(of, kind="stable").astype(np.int64)
    return order, np.concatenate([[0], np.cumsum(np.bincount(of, minlength=parts))])


def _borders(ends: Ids, assignment: Assignment) -> list[Ids]:
    """For each part, the nodes of other parts that its edges have, ascending."""
    carrier, part, parts = assignment.carrier, assignment.part, assignment.num_parts
    there, nodes = [], []
    for end in ends.T:
        away = part[end] != carrier
        there.append(carrier[away].astype(np.int64))
        nodes.append(end[away])
    of, node, _ = unique_pairs(np.concatenate(there), np.concatenate(nodes), max(len(part), 1))
    starts = np.searchsorted(of, np.arange(parts + 1))
    return [node[a:b] for a, b in itertools.pairwise(starts)]


def _other_edges(ends: Ids, assignment: Assignment, borders: list[Ids]) -> list[Ids]:
    """For each part, the edges (by their places) between nodes that it has, and that others carry."""
    carrier, part, parts = assignment.carrier, assignment.part, assignment.num_parts
    of_border = [border * parts + p for p, border in enumerate(borders)]
    copies = np.sort(np.concatenate([np.arange(len(part)) * parts + part, *of_border]))  # (node, part) as one number
    starts = np.searchsorted(copies, np.arange(len(part) + 1) * parts)
    u, v = ends[:, 0], ends[:, 1]
    count = np.minimum(np.diff(starts)[u], np.diff(starts)[v])
    able = np.flatnonzero((count > 1) | (part[u] != part[v]))  # else there is no part but the carrier that has both
    fewer = np.where(np.diff(starts)[u[able]] <= np.diff(starts)[v[able]], 0, 1)
    one, other = ends[able, fewer], ends[able, 1 - fewer]
    times = np.diff(starts)[one]
    edge = np.repeat(np.arange(len(able)), times)
    at = np.arange(len(edge)) - np.repeat(np.cumsum(times) - times, times) + starts[one][edge]
    there = copies[at] % parts  # a part that has the one end
    wanted = other[edge] * parts + there
    has = copies[np.searchsorted(copies, wanted).clip(max=len(copies) - 1)] == wanted
    has &= there != carrier[able][edge]
    edge, there = able[edge[has]], there[has]
    order, start = _by_part(there.astype(np.int32), parts)
    return [np.sort(edge[order[a:b]]) for a, b in itertools.pairwise(start)]
