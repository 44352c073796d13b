"""Parts of about equal size with few edges between them."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from ngm.graph import Graph
from ngm.ordering import streaming
from ngm.partition.assignment import assign_nodes


def blocks(count: int = 4, size: int = 30, seed: int = 0) -> Graph:
    """Groups of nodes with many edges inside and few between."""
    rng = np.random.default_rng(seed)
    inside = rng.integers(size, size=(count, 6 * size, 2)) + size * np.arange(count)[:, None, None]
    between = rng.integers(count * size, size=(count, 2))
    order = rng.permutation(count * size)
    return Graph.from_edges(order[np.concatenate([inside.reshape(-1, 2), between])], num_nodes=count * size)


def test_groups_of_nodes_stay_together() -> None:
    found = assign_nodes(blocks(), 4)
    assert found.cut < 0.1  # at random three quarters are cut
    assert found.node_balance < 1.25
    assert found.edge_balance < 1.25


def test_same_seed_gives_same_parts_and_another_seed_others() -> None:
    graph = Graph.from_edges(np.random.default_rng(0).integers(200, size=(800, 2)), num_nodes=200)
    first, again, other = (assign_nodes(graph, 4, seed=seed).part for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_compiled_loop_gives_what_the_plain_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = blocks()
    compiled = assign_nodes(graph, 3).part
    plain = streaming.stream_nodes.py_func  # type: ignore[attr-defined]
    monkeypatch.setattr(streaming, "stream_nodes", plain)
    np.testing.assert_array_equal(assign_nodes(graph, 3).part, compiled)


def test_no_part_is_empty_even_without_edges() -> None:
    alone = Graph.from_edges(np.zeros((0, 2), dtype=np.int64), num_nodes=5)
    assert np.bincount(assign_nodes(alone, 5).part).tolist() == [1] * 5
    star = Graph.from_edges([[0, i] for i in range(1, 9)])
    assert np.bincount(assign_nodes(star, 4).part, minlength=4).min() >= 1


@pytest.mark.skipif(importlib.util.find_spec("pymetis") is None, reason="pymetis is not installed")
def test_metis_keeps_groups_together() -> None:
    assert assign_nodes(blocks(), 4, "metis").cut < 0.1


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="parts is 121 for 120 nodes"):
        assign_nodes(blocks(), 121)
    with pytest.raises(ValueError, match="did you mean 'metis'"):
        assign_nodes(blocks(), 2, "meti")  # type: ignore[arg-type]
