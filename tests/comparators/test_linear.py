"""Logistic regression on the labelled rows, and the checks and the SVM that the linear methods share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import LinearSVC

from ngm.comparators.linear import LinearSoftmax, squared_hinge_svm
from tests.forty_rows import three_classes


def test_softmax_is_at_the_minimum_of_its_penalised_cost() -> None:
    x, y, _ = three_classes()
    model = LinearSoftmax(c=3.0, unit_rows=False).fit(x, y)
    known = y >= 0
    error = softmax(x[known] @ model.coef_.T + model.intercept_, axis=1) - np.eye(3)[y[known]]
    np.testing.assert_allclose(model.coef_ + 3.0 * error.T @ x[known], 0, atol=2e-3)
    np.testing.assert_allclose(error.sum(axis=0), 0, atol=2e-3)


def test_softmax_sees_neither_unlabelled_rows_nor_the_graph() -> None:
    x, y, graph = three_classes()
    other = np.where(y[:, None] >= 0, x, 7.0)
    np.testing.assert_array_equal(LinearSoftmax().fit(x, y, graph).coef_, LinearSoftmax().fit(other, y).coef_)


def test_with_unit_rows_the_length_of_a_row_does_not_matter() -> None:
    x, y, _ = three_classes()
    stretched = x * np.linspace(1, 9, len(x))[:, None]
    np.testing.assert_allclose(LinearSoftmax().fit(stretched, y).coef_, LinearSoftmax().fit(x, y).coef_, atol=1e-6)
    plain = LinearSoftmax(unit_rows=False)
    assert not np.allclose(clone(plain).fit(stretched, y).coef_, plain.fit(x, y).coef_, atol=1e-2)


def test_sparse_rows_give_what_dense_rows_give() -> None:
    x, y, _ = three_classes()
    dense, sparse = LinearSoftmax().fit(x, y), LinearSoftmax().fit(sp.csr_matrix(x), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)


def test_classes_may_be_words_and_new_rows_are_classified_as_in_fit() -> None:
    x, y, _ = three_classes()
    words = np.array(["a", "b", "c", None], dtype=object)[y]
    model = LinearSoftmax().fit(x, words)
    assert list(model.classes_) == ["a", "b", "c"]
    np.testing.assert_array_equal(model.transduction_, np.array(["a", "b", "c"])[LinearSoftmax().fit(x, y).predict(x)])
    np.testing.assert_array_equal(model.predict(x[::-1]), model.transduction_[::-1])


def test_of_two_classes_the_positive_side_is_the_second() -> None:
    x = np.array([[-1.0], [1.0], [-3.0], [2.0]])
    np.testing.assert_array_equal(LinearSoftmax(unit_rows=False).fit(x, [7, 9, -1, -1]).transduction_, [7, 9, 7, 9])


@pytest.mark.parametrize("c", [0.05, 2.0])
def test_squared_hinge_svm_equals_that_of_scikit_learn(c: float) -> None:
    x, y, _ = three_classes(labeled=40)
    signs = np.where(y == 0, 1.0, -1.0)
    w, b = squared_hinge_svm(x, signs, c)
    peer = LinearSVC(C=c, loss="squared_hinge", dual=False, intercept_scaling=100.0, tol=1e-10, max_iter=10_000)
    peer.fit(x, signs)  # its bias is penalised, by a ten thousandth
    np.testing.assert_allclose(w, peer.coef_[0], atol=1e-3)
    np.testing.assert_allclose(b, peer.intercept_[0], atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"c": 0}, "c is 0; give a finite number above 0"),
        ({"c": float("inf")}, "c is inf; give a finite number above 0"),
        ({"max_iter": 1.5}, "max_iter is 1.5; give a whole number above 0"),
        ({"seed": -1}, "seed is -1; give a whole number of at least 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], message: str) -> None:
    x, y, _ = three_classes()
    with pytest.raises(ValueError, match=f"^{message}$"):
        LinearSoftmax(**settings).fit(x, y)  # type: ignore[arg-type]


def test_what_does_not_belong_together_is_refused() -> None:
    x, y, graph = three_classes()
    model = LinearSoftmax()
    with pytest.raises(ValueError, match=r"y has 3 columns; LinearSoftmax takes \(n,\), one class per row"):
        model.fit(x, np.eye(3)[y])
    with pytest.raises(ValueError, match="graph has 40 nodes, x has 39 rows; give a row per node"):
        model.fit(x[1:], y[1:], graph)
    with pytest.raises(ValueError, match="graph is a csr_array; make a Graph of it"):
        model.fit(x, y, graph.to_scipy())
    with pytest.raises(NotFittedError):
        model.predict(x)
    with pytest.raises(ValueError, match="X has 4 features, but LinearSoftmax is expecting 5"):
        model.fit(x, y).predict(x[:, 1:])
