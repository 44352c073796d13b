"""Loops of the streaming partition."""

from __future__ import annotations

import numpy as np

from ngm._neighbor_rows import count_ends, fill_rows
from ngm.ordering import streaming
from tests.edge_sources import communities


def rows(edges: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    start = np.zeros(num_nodes + 1, dtype=np.int64)
    count_ends(edges, start)
    start, neighbor = np.cumsum(start), np.full(2 * len(edges), -1, dtype=np.int32)
    place = start.copy()
    for first, last in ((0, num_nodes // 2), (num_nodes // 2, num_nodes)):
        fill_rows(edges, first, last, place, neighbor)
    return start, neighbor


def test_rows_filled_window_by_window_are_the_neighbors_of_each_node() -> None:
    edges = communities(3, 4, seed=1)
    start, neighbor = rows(edges, 12)
    for node in range(12):
        plain = sorted([v for u, v in edges.tolist() if u == node] + [u for u, v in edges.tolist() if v == node])
        assert sorted(neighbor[start[node] : start[node + 1]].tolist()) == plain


def test_a_pass_gives_each_node_what_a_plain_loop_gives_it() -> None:
    edges = communities(6, 5, seed=2)
    start, neighbor = rows(edges, 30)
    part = np.random.default_rng(0).integers(4, size=30).astype(np.int32)
    load = np.bincount(part, weights=np.diff(start), minlength=4).astype(np.int64)
    plain, filled, capacity, penalty = part.copy(), load.copy(), 45, 2.0
    for node in range(30):
        size = start[node + 1] - start[node]
        filled[plain[node]] -= size
        joined = np.bincount(plain[neighbor[start[node] : start[node + 1]]], minlength=4)
        emptiest = int(filled.argmin())
        fits = {p for p in range(4) if joined[p] and filled[p] + size <= capacity} | {emptiest}
        plain[node] = max(fits, key=lambda p: (joined[p] - penalty * np.sqrt(filled[p] / capacity), p == emptiest, -p))
        filled[plain[node]] += size
    streaming.stream_nodes(start, neighbor, part, load, capacity, penalty)
    assert part.tolist() == plain.tolist()
    assert load.tolist() == filled.tolist()


def test_nodes_without_a_part_are_taken_in_the_order_given_and_count_by_more_than_their_edges() -> None:
    edges = communities(6, 5, seed=3)
    start, neighbor = rows(edges, 30)
    order, extra = np.random.default_rng(0).permutation(30), 2.5
    size = np.diff(start) + extra
    part, load = np.full(30, -1, dtype=np.int32), np.zeros(4)
    plain, filled, capacity, penalty = part.copy(), load.copy(), float(size.sum()) / 3, 2.0
    for node in order:
        near = plain[neighbor[start[node] : start[node + 1]]]
        joined = np.bincount(near[near >= 0], minlength=4)
        score = joined - penalty * np.sqrt(filled / capacity)
        plain[node] = np.where(filled + size[node] <= capacity, score, -np.inf).argmax()
        filled[plain[node]] += size[node]
    streaming.stream_nodes(start, neighbor, part, load, capacity, penalty, extra, order)
    assert part.tolist() == plain.tolist()
    np.testing.assert_allclose(load, filled)


def test_edges_are_sorted_by_the_part_of_the_end_with_fewer_edges() -> None:
    edges = np.array([[0, 1], [0, 2], [0, 3], [2, 3]])  # node 0 has three
    start = np.array([0, 3, 4, 6, 8])
    part, size, order = np.array([0, 1, 0, 1], dtype=np.int32), np.zeros(2, dtype=np.int64), np.empty(4, np.uint32)
    streaming.count_edges(edges, part, start, size)
    streaming.sort_edges(edges, 0, part, start, np.array([0, size[0]]), order)
    assert size.tolist() == [2, 2]
    assert order.tolist() == [1, 3, 0, 2]
