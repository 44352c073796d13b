"""Lists of the best rows, brought up to date by compiled loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ngm.build.list_loops import add_block, add_rows, best_columns, group_by_cell, merge, reverse_lists
from ngm.build.neighbor_lists import empty_lists

Floats = NDArray[np.float64]


def sorted_lists(products: Floats, length: int) -> tuple[Floats, NDArray[np.int64]]:
    """The best of each row, the lower column first of equal ones."""
    order = np.argsort(-products, axis=1, kind="stable")[:, :length]
    return np.take_along_axis(products, order, axis=1), order


def test_blocks_of_products_in_any_order_give_the_best_of_each_row() -> None:
    rng = np.random.default_rng(0)
    half = rng.integers(30, size=(200, 200)).astype(np.float32)  # many are equal
    products = half + half.T
    expected = sorted_lists(np.where(np.eye(200, dtype=bool), -np.inf, products), 7)
    starts = [(i, j) for i in range(0, 200, 70) for j in range(i, 200, 70)]
    for _ in range(3):
        lists, limits = empty_lists(200, 7), np.full(200, -np.inf, dtype=np.float32)
        for i, j in rng.permutation(starts):
            add_block(products[i : i + 70, j : j + 70].copy(), i, j, lists, limits)
        np.testing.assert_array_equal(lists.similarity, expected[0])
        np.testing.assert_array_equal(lists.neighbor, expected[1])
        np.testing.assert_array_equal(limits, lists.similarity[:, -1])


def test_products_of_some_rows_go_to_their_lists_once() -> None:
    rng = np.random.default_rng(0)
    products = rng.integers(50, size=(20, 300)).astype(np.float32)
    rows = rng.permutation(300)[:20].astype(np.int32)
    lists = empty_lists(300, 9)
    for start in (0, 100, 200, 100):  # one of them again
        add_rows(products[:, start : start + 100].copy(), rows, start, lists)
    products[np.arange(20), rows] = -np.inf
    expected = sorted_lists(products, 9)
    np.testing.assert_array_equal(lists.similarity[rows], expected[0])
    np.testing.assert_array_equal(lists.neighbor[rows], expected[1])
    assert (np.delete(lists.neighbor, rows, axis=0) == -1).all()


def test_merged_lists_are_the_best_of_both() -> None:
    products = np.random.default_rng(0).integers(20, size=(10, 60)).astype(np.float32)
    rows, whole = np.arange(100, 110, dtype=np.int32), empty_lists(110, 5)
    add_rows(products, rows, 0, whole)
    parts = [empty_lists(110, 5), empty_lists(110, 5)]
    for lists, start in zip(parts, (30, 0), strict=True):
        add_rows(products[:, start : start + 30].copy(), rows, start, lists)
    merge(*parts)
    np.testing.assert_array_equal(parts[0].neighbor, whole.neighbor)
    np.testing.assert_array_equal(parts[0].similarity, whole.similarity)


def test_the_best_columns_are_those_of_a_full_sort() -> None:
    products = np.random.default_rng(0).normal(size=(20, 50)).astype(np.float32)
    for skipped, count in ((0, 1), (0, 7), (3, 7), (6, 7), (0, 49), (0, 50), (20, 50)):
        found = np.sort(best_columns(products, skipped, count), axis=1)
        np.testing.assert_array_equal(found, np.sort(np.argsort(-products, axis=1)[:, skipped:count], axis=1))


def test_rows_are_grouped_by_the_cells_that_they_look_into() -> None:
    chosen = np.array([[2, 0], [2, 3], [0, 2]], dtype=np.int32)
    offsets, rows = group_by_cell(chosen, 10, 4)
    assert [rows[a:b].tolist() for a, b in pairwise(offsets)] == [
        [10, 12],
        [],
        [10, 11, 12],
        [11],
    ]


def test_those_that_chose_a_row_agree_with_a_plain_loop() -> None:
    neighbor = np.array([[1, 2], [2, 0], [1, 3], [2, 1]], dtype=np.int32)
    expected = []
    for row in range(4):
        by_rank = [(rank, u) for u, chosen in enumerate(neighbor.tolist()) for rank, v in enumerate(chosen) if v == row]
        expected.append([u for _, u in sorted(by_rank)])
    assert expected == [[1], [0, 2, 3], [1, 3, 0], [2]]
    assert reverse_lists(neighbor, 2).tolist() == [[1, -1], [0, 2], [1, 3], [2, -1]]
