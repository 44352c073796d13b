"""Edges cut into blocks with memory for few of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ngm.ordering import EdgeBlocks, edge_blocks, num_blocks, out_of_core
from ngm.ordering.out_of_core import edge_blocks_out_of_core, epoch_order
from tests.edge_sources import ArraySource, Ids, communities


def distinct_ends(edges: Ids, cut: EdgeBlocks) -> int:
    return sum(len(np.unique(edges[cut[i]])) for i in range(len(cut)))


def check(edges: Ids, cut: EdgeBlocks, block: int, count: int) -> None:
    assert sorted(cut.order.tolist()) == list(range(len(edges)))
    sizes = np.diff(cut.start)
    assert len(sizes) == count
    assert sizes.max() <= block
    assert sizes.min() >= (1 if len(edges) >= count else 0)


@pytest.mark.parametrize("in_files", [False, True], ids=["in memory", "in files"])
@pytest.mark.parametrize("block", [3, 10, 64])
def test_every_edge_is_in_one_block_and_no_block_is_too_large_or_empty(
    block: int, in_files: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(out_of_core, "PART_EDGES", 40)
    monkeypatch.setattr(out_of_core, "WINDOW", 50)
    for seed in range(8):
        edges = communities(3 + 5 * seed, 6, seed)
        for count in (num_blocks(len(edges), block), -(-len(edges) // block)):  # with blocks to spare, and with none
            scratch = tmp_path if in_files else None
            check(
                edges,
                edge_blocks_out_of_core(ArraySource(edges), 6 * len(edges), block, count, None, scratch),
                block,
                count,
            )
    assert not list(tmp_path.iterdir())


def test_parts_change_neither_with_how_edges_are_read_nor_with_where_they_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    edges = communities(30, 6, seed=0)
    monkeypatch.setattr(out_of_core, "PART_EDGES", 40)
    first = edge_blocks_out_of_core(ArraySource(edges), 180, 16, 40)
    monkeypatch.setattr(out_of_core, "WINDOW", 37)
    order = np.memmap(tmp_path / "order", dtype=np.uint32, mode="w+", shape=(len(edges),))
    second = edge_blocks_out_of_core(ArraySource(edges), 180, 16, 40, order, tmp_path)
    assert first.order.tolist() == second.order.tolist() == order.tolist()
    assert first.start.tolist() == second.start.tolist()


def test_cliques_with_mixed_numbers_cost_little_more_than_when_they_are_cut_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edges = communities(200, 8, seed=0)
    count = num_blocks(len(edges), 64)
    whole = distinct_ends(edges, edge_blocks(edges, 1600, 0, 64))
    monkeypatch.setattr(out_of_core, "PART_EDGES", 2000)
    parts = distinct_ends(edges, edge_blocks_out_of_core(ArraySource(edges), 1600, 64, count))
    by_number = distinct_ends(edges, EdgeBlocks(np.arange(len(edges)), np.arange(count + 1) * len(edges) // count))
    assert parts < 1.25 * whole < by_number / 2


def test_too_few_blocks_are_refused_with_the_numbers() -> None:
    with pytest.raises(ValueError, match="2 blocks of 10 edges have no room for 32 edges"):
        edge_blocks_out_of_core(ArraySource(communities(2, 6, 0)), 12, 10, 2)


@pytest.mark.parametrize("count", [1, 3, 10, 11, 99, 1000])
def test_an_epoch_has_every_block_once_and_those_of_a_part_together(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out_of_core, "PART_EDGES", 1_000)
    order = epoch_order(np.random.default_rng(0), 100, count)  # parts of ten blocks or a few more, four at a time
    assert sorted(order.tolist()) == list(range(count))
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    for part in np.array_split(place, max(count // 10, 1)):
        assert np.ptp(part) < 4 * 19


def test_epochs_differ_and_parts_are_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out_of_core, "PART_EDGES", 1_000)
    first, again, other = (epoch_order(np.random.default_rng(seed), 100, 1000) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(set(first[:10] // 10)) > 2  # of four parts
    assert len(set(first // 10 // 4)) == 25
