"""Rows in other coordinates, each beside a second derivation."""

from __future__ import annotations

import numpy as np
import pytest

from ngm.recipes import row_components
from ngm.recipes.row_components import LANDMARKS, with_kernel

RNG = np.random.default_rng(0)


def test_products_of_kernel_columns_are_the_gaussian_kernel() -> None:
    rows = RNG.standard_normal((LANDMARKS - 20, 3)).astype(np.float32)  # each is a landmark
    beside = with_kernel(rows, rows)
    np.testing.assert_array_equal(beside[:, :3], rows)
    distance = np.square(rows[:, None] - rows[None]).sum(axis=2)
    expected = np.exp(-2 * distance / rows.var(axis=0).sum())
    np.testing.assert_allclose(beside[:, 3:] @ beside[:, 3:].T, expected, atol=1e-3)


def test_kernel_columns_do_not_depend_on_the_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RNG.standard_normal((500, 2)).astype(np.float32)
    at_once = with_kernel(rows, rows)
    assert at_once.shape == (500, 2 + LANDMARKS)
    monkeypatch.setattr(row_components, "_ROWS_AT_ONCE", 64)
    np.testing.assert_allclose(with_kernel(rows, rows), at_once, atol=1e-5)


def test_rows_that_are_all_the_same_have_a_kernel() -> None:
    same = np.ones((5, 2), dtype=np.float32)
    assert np.isfinite(with_kernel(same, same)).all()
