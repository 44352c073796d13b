"""Linear models as teachers, beside scikit-learn's own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from ngm.recipes.linear_models import MAX_SPANNING, linear_proba, row_space, self_trained
from ngm.recipes.node_views import scaled_features
from tests.three_classes import CLASS, LABELED, TARGETS, N, X

RNG = np.random.default_rng(0)


def test_self_training_learns_from_labels_and_the_surer_half_of_each_class() -> None:
    rows, proba = scaled_features(X), linear_proba(scaled_features(X), TARGETS, LABELED)
    label, sureness = proba.argmax(axis=1), proba.max(axis=1)
    chosen = LABELED.copy()
    for one in range(3):
        mine = [i for i in range(N) if label[i] == one and not LABELED[i]]
        chosen[sorted(mine, key=lambda i: -sureness[i])[: (len(mine) + 1) // 2]] = True
    y, weight = np.where(LABELED, CLASS, label), np.where(LABELED, 1, sureness**2)
    model = LogisticRegression(C=10.0, max_iter=200).fit(rows[chosen], y[chosen], sample_weight=weight[chosen])
    np.testing.assert_allclose(self_trained(rows, proba, TARGETS, LABELED), model.predict_proba(rows), atol=1e-4)


def test_a_linear_teacher_is_scikit_learns() -> None:
    rows = scaled_features(X)
    model = LogisticRegression(C=100.0, max_iter=200).fit(rows[LABELED], CLASS[LABELED])
    np.testing.assert_allclose(linear_proba(rows, TARGETS, LABELED), model.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_linear_teacher_of_fewer_labels_than_columns_is_scikit_learns(sparse: bool) -> None:
    rows = normalize(RNG.normal(size=(N, 40)).astype(np.float32) * (RNG.random((N, 40)) < 0.4))
    rows[1] = rows[0]  # rows that span less than there are of them
    given = sp.csr_array(rows) if sparse else rows
    model = LogisticRegression(C=100.0, max_iter=200).fit(rows[LABELED], CLASS[LABELED])
    np.testing.assert_allclose(linear_proba(given, TARGETS, LABELED), model.predict_proba(rows), atol=1e-4)


def test_the_axes_of_rows_are_orthogonal_and_give_the_rows_back() -> None:
    rows = RNG.normal(size=(6, 11)).astype(np.float32)
    rows[5] = rows[4] + rows[3]
    coordinates, axes = row_space(rows)
    assert axes is not None
    assert axes.shape == (5, 11)
    np.testing.assert_allclose(axes @ axes.T, np.eye(5), atol=1e-5)
    np.testing.assert_allclose(coordinates @ axes, rows, atol=1e-5)


@pytest.mark.parametrize("shape", [(6, 6), (MAX_SPANNING, 600)])
def test_rows_as_many_as_columns_or_many_are_left_as_they_are(shape: tuple[int, int]) -> None:
    rows = RNG.normal(size=shape).astype(np.float32)
    coordinates, axes = row_space(rows)
    assert coordinates is rows
    assert axes is None


@pytest.mark.parametrize("sparse", [False, True])
def test_labelled_rows_of_zeros_leave_all_classes_alike(sparse: bool) -> None:
    rows = normalize(RNG.normal(size=(N, 40)).astype(np.float32))
    rows[LABELED] = 0
    found = linear_proba(sp.csr_array(rows) if sparse else rows, TARGETS, LABELED)
    np.testing.assert_allclose(found, 1 / 3, atol=1e-3)  # four labels of each of three classes
