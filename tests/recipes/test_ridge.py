"""Ridge regression beside scikit-learn's, and leave-one-out predictions beside fits without each row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from ngm.recipes import ridge as module
from ngm.recipes.ridge import kernel_ridge, ridge

RNG = np.random.default_rng(0)
IDS = np.arange(20)
Y = RNG.normal(size=(20, 2))
WEIGHT = np.linspace(0.5, 1.5, 20)


def one_penalty(monkeypatch: pytest.MonkeyPatch, rows: np.ndarray, penalty: float) -> None:
    """Leaves only the penalty that is `penalty` in scikit-learn's terms."""
    monkeypatch.setattr(module, "PENALTIES", np.array([1.0]))
    centered = rows - np.average(rows, axis=0, weights=WEIGHT)
    scale = (WEIGHT[:, None] * centered**2).sum() / len(rows)
    monkeypatch.setattr(module, "PENALTIES", np.array([penalty / scale]))


@pytest.mark.parametrize("columns", [5, 30])
@pytest.mark.parametrize("sparse", [False, True])
def test_predictions_are_scikit_learns(monkeypatch: pytest.MonkeyPatch, columns: int, sparse: bool) -> None:
    rows = RNG.normal(size=(25, columns)).astype(np.float32)
    one_penalty(monkeypatch, rows[IDS].astype(np.float64), 0.7)
    expected = Ridge(alpha=0.7).fit(rows[IDS], Y, sample_weight=WEIGHT).predict(rows)
    given = sp.csr_array(rows) if sparse else rows
    found = ridge(given, given[IDS], Y, WEIGHT)
    np.testing.assert_allclose(found.values, expected, atol=1e-4)


def test_the_penalty_has_the_smallest_leave_one_out_error() -> None:
    rows = RNG.normal(size=(25, 30)).astype(np.float32)
    noise = ridge(rows, rows[IDS], Y, np.ones(20))
    expected = [
        Ridge(alpha=alpha).fit(rows[IDS], Y).predict(rows)
        for alpha in module.PENALTIES * np.square(rows[IDS] - rows[IDS].mean(axis=0)).sum() / 20
    ]
    errors = []
    for alpha in module.PENALTIES * np.square(rows[IDS] - rows[IDS].mean(axis=0)).sum() / 20:
        left_out = [
            Ridge(alpha=alpha).fit(rows[np.delete(IDS, i)], Y[np.delete(IDS, i)]).predict(rows[i : i + 1])[0]
            for i in IDS
        ]
        errors.append(np.square(np.array(left_out) - Y).sum())
    best = int(np.argmin(errors))
    assert best > 5  # y is noise
    np.testing.assert_allclose(noise.values, expected[best], atol=1e-4)


def test_a_kernel_fits_what_no_line_can() -> None:
    rows = np.linspace(-1, 1, 60, dtype=np.float32)[:, None]
    y = np.cos(4 * rows.astype(np.float64))
    ids = np.arange(0, 60, 2)
    found = kernel_ridge(rows, ids, y[ids], np.ones(30))
    line = ridge(rows, rows[ids], y[ids], np.ones(30))
    assert np.square(found.values - y).mean() < 0.01 * np.square(line.values - y).mean()


def test_a_kernel_regression_is_scikit_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RNG.normal(size=(25, 3)).astype(np.float32)
    monkeypatch.setattr(module, "PENALTIES", np.array([0.3]))  # the kernel is 1 on its diagonal
    monkeypatch.setattr(module, "WIDTHS", (1.0,))
    apart = np.square(rows[IDS, None] - rows[IDS]).sum(axis=2)[~np.eye(20, dtype=bool)]
    model = KernelRidge(alpha=0.3, kernel="rbf", gamma=1 / (2 * float(np.median(apart))))
    expected = Y.mean(axis=0) + model.fit(rows[IDS], Y - Y.mean(axis=0)).predict(rows)
    np.testing.assert_allclose(kernel_ridge(rows, IDS, Y, np.ones(20)).values, expected, atol=1e-4)


def test_what_is_left_out_is_predicted_by_a_fit_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RNG.normal(size=(20, 3)).astype(np.float32)
    monkeypatch.setattr(module, "PENALTIES", np.array([0.3]))
    monkeypatch.setattr(module, "WIDTHS", (1.0,))
    y = Y - Y.mean(axis=0)
    apart = np.square(rows[:, None] - rows).sum(axis=2)[~np.eye(20, dtype=bool)]
    gamma = 1 / (2 * float(np.median(apart)))
    found = kernel_ridge(rows, IDS, y, np.ones(20)).left_out
    for i in range(3):  # the mean is that of all labels, as if it were known
        rest = np.delete(IDS, i)
        model = KernelRidge(alpha=0.3, kernel="rbf", gamma=gamma).fit(rows[rest], y[rest])
        np.testing.assert_allclose(found[i], model.predict(rows[i : i + 1])[0], atol=1e-4)
