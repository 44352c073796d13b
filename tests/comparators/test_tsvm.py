"""The transductive SVM: its objective against a plain loop, its limits, its balance."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import check_grad

from ngm.comparators.linear import squared_hinge_svm
from ngm.comparators.tsvm import BalancedTSVM, TransductiveSVM
from tests.forty_rows import three_classes

Floats = NDArray[np.float64]


def one_class() -> tuple[BalancedTSVM, Floats, Floats, Floats]:
    """(objective, labelled rows, their signs, unlabelled rows)."""
    x, y, _ = three_classes()
    known, others, signs = x[y >= 0], x[y < 0], np.where(y[y >= 0] == 0, 1.0, -1.0)
    return BalancedTSVM(known, signs, others, c=2.0), known, signs, others


def test_the_objective_is_that_of_a_plain_loop() -> None:
    objective, known, signs, others = one_class()
    w = np.random.default_rng(0).normal(size=5) * 0.4
    b = sum(signs) / len(signs) - sum(w @ row for row in others) / len(others)
    labeled = sum(max(0.0, 1 - s * (w @ row + b)) ** 2 for row, s in zip(known, signs, strict=True))
    unlabeled = sum(math.exp(-3 * (w @ row + b) ** 2) for row in others) * len(known) / len(others)
    assert objective(w, 0.7)[0] == pytest.approx(sum(v * v for v in w) / 2 + 2.0 * (labeled + 0.7 * unlabeled))
    assert objective.bias(w) == pytest.approx(b)


def test_the_gradient_is_that_of_the_objective() -> None:
    objective, *_ = one_class()
    w = np.random.default_rng(0).normal(size=5) * 0.4
    assert check_grad(lambda v: objective(v, 0.7)[0], lambda v: objective(v, 0.7)[1], w) < 1e-4


def test_f_averages_over_unlabelled_rows_to_the_mean_label() -> None:
    x, y, _ = three_classes()
    scores = TransductiveSVM(unit_rows=False).fit(x, y).decision_function(x)
    for k in range(3):
        assert scores[y < 0, k].mean() == pytest.approx(np.where(y[y >= 0] == k, 1, -1).mean(), abs=1e-9)


@pytest.mark.parametrize("c_unlabeled", [0.0, 1.0])
def test_without_unlabelled_rows_or_their_weight_it_is_a_plain_svm(c_unlabeled: float) -> None:
    x, y, _ = three_classes()
    rows = y >= 0 if c_unlabeled else np.full(40, True)
    model = TransductiveSVM(c=0.5, c_unlabeled=c_unlabeled, unit_rows=False).fit(x[rows], y[rows])
    for k in range(3):
        w, b = squared_hinge_svm(x[y >= 0], np.where(y[y >= 0] == k, 1.0, -1.0), 0.5)
        np.testing.assert_allclose(model.coef_[k], w, atol=1e-6)
        assert model.intercept_[k] == pytest.approx(b, abs=1e-6)


def test_it_keeps_clusters_whole_where_a_plain_svm_cuts_them() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 100)
    x = np.column_stack([rng.uniform(-1, 1, 200), truth - 0.5 + rng.normal(size=200) * 0.1])
    x[[0, 100], 0] = -0.4, 0.4  # so that the labels alone suggest that the first column matters, too
    y = np.where(np.isin(np.arange(200), [0, 100]), truth, -1)
    wrong = [
        (TransductiveSVM(c=5.0, c_unlabeled=weight, unit_rows=False).fit(x, y).transduction_ != truth).sum()
        for weight in (0.0, 1.0)
    ]
    assert wrong[0] > 10
    assert wrong[1] == 0


def test_unlabelled_rows_given_twice_change_nothing() -> None:
    x, y, _ = three_classes()
    twice, labels = np.vstack([x, x[y < 0]]), np.append(y, y[y < 0])
    once = TransductiveSVM().fit(x, y)
    np.testing.assert_allclose(TransductiveSVM().fit(twice, labels).coef_, once.coef_, atol=1e-4)


def test_sparse_rows_new_rows_and_words_are_taken_and_the_graph_is_not_used() -> None:
    x, y, graph = three_classes()
    dense = TransductiveSVM().fit(x, y)
    sparse = TransductiveSVM().fit(sp.csr_matrix(x), np.array(["a", "b", "c", None], dtype=object)[y], graph)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_array_equal(sparse.predict(x[::-1]), np.array(["a", "b", "c"])[dense.transduction_[::-1]])


def test_settings_out_of_range_are_refused() -> None:
    x, y, _ = three_classes()
    with pytest.raises(ValueError, match="c_unlabeled is -1; give a finite number of at least 0"):
        TransductiveSVM(c_unlabeled=-1).fit(x, y)
    with pytest.raises(ValueError, match="anneal is 0; give a whole number above 0"):
        TransductiveSVM(anneal=0).fit(x, y)
