"""Blocks of edges that are neighbourhoods."""

from __future__ import annotations

import itertools
from itertools import combinations

import numpy as np
import pytest

from ngm.ordering import EdgeBlocks, blocks, edge_blocks, num_blocks
from ngm.ordering.blocks import Ids


def grid(side: int) -> Ids:
    node = np.arange(side * side).reshape(side, side)
    across = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()], axis=1)
    down = np.stack([node[:-1].ravel(), node[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def ring_of_cliques(cliques: int, size: int) -> Ids:
    inside = [(c * size + a, c * size + b) for c in range(cliques) for a, b in combinations(range(size), 2)]
    between = [(c * size, (c + 1) % cliques * size + 1) for c in range(cliques)]
    return np.array(inside + between)


def distinct_ends(edges: Ids, cut: EdgeBlocks) -> int:
    """Nodes that the network is run on in an epoch: distinct ends, summed over blocks."""
    return sum(len(np.unique(edges[cut[i]])) for i in range(len(cut)))


def random_edges(seed: int) -> tuple[Ids, int]:
    """Sparse to dense, with isolated nodes, several components and pairs that come more than once, either way round."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    edges = rng.integers(0, n, (int(rng.integers(1, 4 * n)), 2))
    edges = np.concatenate([edges, edges[: len(edges) // 3, ::-1], edges[: len(edges) // 4]])
    return edges[edges[:, 0] != edges[:, 1]], n + 3


def least_ends(edges: Ids, count: int, block: int) -> int:
    """The fewest distinct ends of any cut into `count` blocks, by trying all."""
    best = 2 * len(edges)
    for block_of in itertools.product(range(count), repeat=len(edges)):
        members = [[e for e, b in enumerate(block_of) if b == which] for which in range(count)]
        if max(map(len, members)) <= block:
            best = min(best, sum(len(np.unique(edges[own])) for own in members))
    return best


@pytest.mark.parametrize("dense", [blocks.DENSE, 0.0], ids=["grown", "expanded"])
@pytest.mark.parametrize("block", [1, 2, 7, 32, 10_000])
def test_every_edge_is_in_one_block_and_no_block_is_too_large_or_empty(
    block: int, dense: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "DENSE", dense)
    for seed in range(60):
        edges, num_nodes = random_edges(seed)
        cut = edge_blocks(edges, num_nodes, seed, block)
        assert len(cut) == num_blocks(len(edges), block)
        sizes = [len(cut[i]) for i in range(len(cut))]
        assert min(sizes) >= 1
        assert max(sizes) <= block
        assert sorted(e for i in range(len(cut)) for e in cut[i].tolist()) == list(range(len(edges)))


def test_blocks_are_at_most_a_few_percent_more_than_needed() -> None:
    for m, block in itertools.product((1, 10, 999, 44_324, 10**9), (1, 7, 512)):
        assert m <= num_blocks(m, block) * block
        assert num_blocks(m, block) <= 1.02 * -(-m // block)


def test_as_many_blocks_as_asked_for_are_made() -> None:
    edges = grid(6)
    cut = edge_blocks(edges, 36, seed=0, block=4, count=40)
    assert len(cut) == 40
    assert min(len(cut[i]) for i in range(40)) >= 1
    few = edge_blocks(edges[:3], 36, seed=0, block=1, count=5)
    assert sorted(len(few[i]) for i in range(5)) == [0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="2 blocks of 10 edges have no room for 60 edges"):
        edge_blocks(edges, 36, seed=0, block=10, count=2)


def test_no_edges_have_no_blocks() -> None:
    for num_nodes in (0, 5):
        cut = edge_blocks(np.zeros((0, 2), dtype=np.int64), num_nodes, seed=0, block=4)
        assert (len(cut), len(cut.order)) == (0, 0)


def test_small_graphs_are_cut_as_well_as_can_be() -> None:
    for edges, count, block in [
        (np.array([[0, 1], [2, 3], [0, 4], [2, 5]]), 2, 2),  # two paths
        (np.array([[0, 1], [1, 2], [0, 2], [2, 3], [3, 4], [4, 5], [3, 5]]), 2, 4),  # two triangles and a bridge
        (np.array([[0, i] for i in range(1, 9)]), 2, 4),  # a star
    ]:
        for seed in range(5):
            cut = edge_blocks(edges, int(edges.max()) + 1, seed, block, count)
            assert distinct_ends(edges, cut) == least_ends(edges, count, block)


def test_a_self_loop_is_refused_with_its_place() -> None:
    with pytest.raises(ValueError, match=r"edge 1 is \[2, 2\], a self loop"):
        edge_blocks(np.array([[0, 1], [2, 2], [1, 2]]), 3, seed=0, block=2)


def test_the_same_seed_gives_the_same_blocks_and_another_seed_others() -> None:
    edges = grid(12)
    one, again, other = (edge_blocks(edges, 144, seed, 32) for seed in (1, 1, 2))
    assert one.order.tolist() == again.order.tolist()
    assert one.start.tolist() == again.start.tolist()
    assert one.order.tolist() != other.order.tolist()


def test_the_global_random_state_is_left_alone() -> None:
    edges = grid(6)
    state = np.random.get_state()[1].tolist()
    edge_blocks(edges, 36, 0, 8)
    assert np.random.get_state()[1].tolist() == state


def test_the_direction_of_the_edges_changes_nothing() -> None:
    edges = ring_of_cliques(10, 5)
    assert edge_blocks(edges, 50, 0, 16).order.tolist() == edge_blocks(edges[:, ::-1], 50, 0, 16).order.tolist()


def test_node_ids_beyond_32_bits_are_renumbered() -> None:
    edges = grid(12)
    far = edges * 10**12 + 7
    assert edge_blocks(far, 10**15, 0, 32).order.tolist() == edge_blocks(edges, 144, 0, 32).order.tolist()


@pytest.mark.parametrize(
    ("edges", "factor"), [(grid(40), 2.6), (ring_of_cliques(100, 8), 5.1)], ids=["grid", "ring-of-cliques"]
)
def test_blocks_have_far_fewer_distinct_ends_than_at_random(edges: Ids, factor: float) -> None:
    num_nodes, block = int(edges.max()) + 1, 64
    shuffled = np.random.default_rng(0).permutation(len(edges))
    edges = edges[shuffled]  # the order they came in is no help
    chunks = np.append(np.arange(0, len(edges), block), len(edges))
    random = distinct_ends(edges, EdgeBlocks(np.arange(len(edges)), chunks))
    for seed in range(3):
        assert distinct_ends(edges, edge_blocks(edges, num_nodes, seed, block)) * factor < random


def test_annealing_improves_what_was_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    edges, count = np.unique(np.sort(rng.integers(0, 400, (1200, 2)), axis=1), axis=0), {}
    edges = edges[edges[:, 0] != edges[:, 1]]
    for rounds in (1, 100):
        monkeypatch.setattr(blocks, "MAX_ROUNDS", rounds)
        count[rounds] = distinct_ends(edges, edge_blocks(edges, 400, 0, 64))
    assert count[100] < 0.93 * count[1]


def test_blocks_within_a_clique_are_nearly_cliques_themselves() -> None:
    edges = ring_of_cliques(20, 30)
    least = 10 * len(edges) / 40  # 40 edges have at least 10 distinct ends, since 9 have only 36 pairs
    for seed in range(3):
        assert distinct_ends(edges, edge_blocks(edges, 600, seed, 40)) < 1.45 * least
