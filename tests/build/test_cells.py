"""Rows in cells of one size, near ones together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from ngm.build import approximate, cells
from ngm.build.space import make_space
from ngm.choices import Metric
from tests.clustered_rows import METRICS, Floats, clustered


def cells_of(x: Floats, metric: Metric = "cosine", seed: int = 0) -> cells.Cells:
    space = make_space(x, 1, metric)
    return cells.make_cells(space, *cells.cell_order(space, torch.Generator().manual_seed(seed)))


@pytest.mark.parametrize("metric", METRICS)
def test_the_cells_hold_every_row_once_and_are_of_one_size(metric: Metric) -> None:
    x = clustered(3001)
    made, space = cells_of(x, metric), make_space(x, 1, metric)
    assert sorted(made.order.tolist()) == list(range(3001))
    sizes = np.diff(made.starts)
    assert sizes.max() <= cells.CELL_SIZE
    assert sizes.max() - sizes.min() <= 1
    np.testing.assert_array_equal(made.query, space.query.numpy()[made.order])
    np.testing.assert_array_equal(made.key, space.key.numpy()[made.order])
    for cell in range(len(made)):
        rows = made.order[made.starts[cell] : made.starts[cell + 1]]
        center = space.vectors.numpy()[rows].mean(axis=0)
        if metric == "cosine":
            center /= np.linalg.norm(center)
        np.testing.assert_allclose(made.center[cell, : len(center)], center, atol=1e-5)


def test_cells_are_of_rows_that_are_near_each_other() -> None:
    x = clustered(3000)
    made = cells_of(x, "euclidean")
    within = [x[made.order[a:b]].var(axis=0).sum() for a, b in pairwise(made.starts)]
    assert np.mean(within) < 0.7 * x.var(axis=0).sum()


@pytest.mark.parametrize("kept", [10, 156, 399])
def test_the_cells_that_a_row_looks_into_hold_more_rows_than_are_kept(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "CELL_SIZE", 16)
    made = cells_of(clustered(400))  # 32, of 12 or 13 rows
    rows = np.arange(400)
    [probes] = approximate.num_probes(made, rows, rows[:, None], [0.5], kept)  # each row is in its own cell
    assert probes * 12 > kept or probes == len(made)
    assert probes <= kept // 12 + 1
