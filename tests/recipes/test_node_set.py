"""Nodes in any order and place are asked as nodes that are all here, in their order."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ngm.recipes.node_set import AllNodes, OwnNodes

N = 30
ORDER = np.random.default_rng(1).permutation(N)  # how a process may hold them
ROWS = np.random.default_rng(2).random((N, 4)).astype(np.float32)
MASK = np.arange(N) % 3 != 0
HERE, MOVED = AllNodes(N), OwnNodes(ORDER, N, np.ones(N, dtype=bool))


def test_gathered_rows_are_in_the_order_of_the_nodes() -> None:
    mask = MASK[ORDER]
    np.testing.assert_array_equal(MOVED.gather(ROWS[ORDER][mask], mask), HERE.gather(ROWS[MASK], MASK))
    sparse = sp.csr_array(np.where(ROWS > 0.7, ROWS, 0))
    found = MOVED.gather(sparse[ORDER][np.flatnonzero(mask)], mask)
    np.testing.assert_array_equal(found.toarray(), sparse.toarray()[MASK])


def test_scattering_gives_back_what_was_gathered() -> None:
    mask, values = MASK[ORDER], np.arange(N)
    gathered = MOVED.gather(values[ORDER][mask], mask)
    np.testing.assert_array_equal(MOVED.scatter(gathered, mask), values[ORDER][mask])


def test_the_same_nodes_are_drawn_and_sampled() -> None:
    for most in (7, N):
        drawn = np.flatnonzero(HERE.draw(MASK, most))
        assert sorted(ORDER[MOVED.draw(MASK[ORDER], most)].tolist()) == drawn.tolist()
        assert len(drawn) == min(most, MASK.sum())
        sampled = [
            {tuple(row) for row in nodes.sample(rows, most).tolist()}
            for nodes, rows in ((HERE, ROWS), (MOVED, ROWS[ORDER]))
        ]
        assert sampled[0] == sampled[1]
        assert len(sampled[0]) == most


def test_nodes_that_take_no_part_are_not_sampled() -> None:
    some = OwnNodes(ORDER, N, MASK[ORDER])
    np.testing.assert_array_equal(some.sample(ROWS[ORDER], N), ROWS[MASK])


def test_sums_are_over_all_nodes() -> None:
    np.testing.assert_allclose(MOVED.sum(ROWS[ORDER]), HERE.sum(ROWS), rtol=1e-6)
    some = OwnNodes(ORDER, N, MASK[ORDER])
    np.testing.assert_allclose(some.mean(ROWS[ORDER]), HERE.mean(ROWS[MASK]), rtol=1e-6)
    assert MOVED.largest(3) == HERE.largest(3) == 3
