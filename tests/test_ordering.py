"""Edge orders in which a batch is a neighbourhood."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ngm import ordering
from ngm.ordering import Ids, edge_order


@pytest.fixture(params=["expanded", "depth-first"], autouse=True)
def _arrangement(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs on both arrangements; 0 makes any graph too large for the first."""
    if request.param == "depth-first":
        monkeypatch.setattr(ordering, "EXPANDED_UP_TO", 0)


def grid(side: int) -> Ids:
    node = np.arange(side * side).reshape(side, side)
    across = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()], axis=1)
    down = np.stack([node[:-1].ravel(), node[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def ring_of_cliques(cliques: int, size: int) -> Ids:
    inside = [(c * size + a, c * size + b) for c in range(cliques) for a, b in combinations(range(size), 2)]
    between = [(c * size, (c + 1) % cliques * size + 1) for c in range(cliques)]
    return np.array(inside + between)


def distinct_ends(edges: Ids, order: Ids, block: int) -> int:
    """Nodes that the network is run on in an epoch: distinct ends, summed over blocks."""
    return sum(len(np.unique(edges[order[i : i + block]])) for i in range(0, len(order), block))


def random_edges(seed: int) -> tuple[Ids, int]:
    """Sparse to dense, with isolated nodes, several components and pairs that come more than once, either way round."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    edges = rng.integers(0, n, (int(rng.integers(1, 4 * n)), 2))
    edges = np.concatenate([edges, edges[: len(edges) // 3, ::-1], edges[: len(edges) // 4]])
    return edges[edges[:, 0] != edges[:, 1]], n + 3


@pytest.mark.parametrize("block", [1, 2, 7, 32, 10_000])
def test_an_order_is_a_permutation_of_the_edges(block: int) -> None:
    for seed in range(60):
        edges, num_nodes = random_edges(seed)
        order = edge_order(edges, num_nodes, seed, block)
        assert sorted(order.tolist()) == list(range(len(edges)))


def test_no_edges_have_an_empty_order() -> None:
    for num_nodes in (0, 5):
        assert edge_order(np.zeros((0, 2), dtype=np.int64), num_nodes, seed=0, block=4).tolist() == []


def test_repeated_pairs_stand_next_to_each_other() -> None:
    edges, num_nodes = random_edges(3)
    ends = np.sort(edges[edge_order(edges, num_nodes, 0, 8)], axis=1)
    runs = 1 + int((ends[1:] != ends[:-1]).any(axis=1).sum())
    assert runs == len(np.unique(ends, axis=0)) < len(edges)


def test_the_same_seed_gives_the_same_order_and_another_seed_another() -> None:
    edges = grid(12)
    one, again, other = (edge_order(edges, 144, seed, 32) for seed in (1, 1, 2))
    assert one.tolist() == again.tolist()
    assert one.tolist() != other.tolist()


def test_the_global_random_state_is_left_alone() -> None:
    edges = grid(6)
    state = np.random.get_state()[1].tolist()
    edge_order(edges, 36, 0, 8)
    assert np.random.get_state()[1].tolist() == state


def test_the_direction_of_the_edges_changes_nothing() -> None:
    edges = ring_of_cliques(10, 5)
    assert edge_order(edges, 50, 0, 16).tolist() == edge_order(edges[:, ::-1], 50, 0, 16).tolist()


@pytest.mark.parametrize(
    ("edges", "factor"), [(grid(40), 2.3), (ring_of_cliques(100, 8), 4.5)], ids=["grid", "ring-of-cliques"]
)
def test_blocks_have_far_fewer_distinct_ends_than_at_random(edges: Ids, factor: float) -> None:
    num_nodes, block = int(edges.max()) + 1, 64
    shuffled = np.random.default_rng(0).permutation(len(edges))
    edges = edges[shuffled]  # the order they came in is no help
    random = distinct_ends(edges, np.arange(len(edges)), block)
    for seed in range(3):
        assert distinct_ends(edges, edge_order(edges, num_nodes, seed, block), block) * factor < random


def test_expansion_is_better_than_depth_first_where_there_is_time_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    edges, count = grid(40), {}
    for up_to in (0, len(edges)):
        monkeypatch.setattr(ordering, "EXPANDED_UP_TO", up_to)
        count[up_to] = distinct_ends(edges, edge_order(edges, 1600, 0, 64), 64)
    assert count[len(edges)] < 0.95 * count[0]


def test_blocks_within_a_clique_are_nearly_cliques_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "EXPANDED_UP_TO", 10_000)
    edges = ring_of_cliques(20, 30)
    least = 10 * len(edges) / 40  # 40 edges have at least 10 distinct ends, since 9 have only 36 pairs
    for seed in range(3):
        assert distinct_ends(edges, edge_order(edges, 600, seed, 40), 40) < 1.45 * least
