"""scikit-learn's own checks of its contract, one test each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from ngm import LabelPropagation, NGMClassifier, NGMRegressor

_WEIGHT_CHECKS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
# The contract does not depend on how long a network learns; that it learns something is checked with the defaults, too.
_SHORT = [NGMClassifier(epochs=3), NGMRegressor(epochs=20, learning_rate=0.01), LabelPropagation()]
_DEFAULTS = [
    (NGMClassifier, "check_classifiers_train"),
    (NGMClassifier, "check_fit_idempotent"),
    (NGMClassifier, "check_estimators_dtypes"),
    (NGMRegressor, "check_regressors_train"),
    (NGMRegressor, "check_fit_idempotent"),
]


def _expected(estimator: BaseEstimator) -> dict[str, str]:
    if isinstance(estimator, NGMClassifier):
        draws = "dropout draws other units for a row that is repeated than for a row of weight 2"
        weights = dict.fromkeys(_WEIGHT_CHECKS, draws) if estimator.recipe != "paper" else {}
        return {"check_classifiers_classes": "-1 is a class there and means unlabelled here"} | weights
    return {}


@parametrize_with_checks(_SHORT, expected_failed_checks=_expected)
def test_scikit_learn_finds_its_contract_kept(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)


@pytest.mark.parametrize(("kind", "name"), _DEFAULTS)
def test_the_defaults_keep_the_contract_as_few_epochs_do(kind: type[BaseEstimator], name: str) -> None:
    getattr(estimator_checks, name)(kind.__name__, kind())


@pytest.mark.parametrize("name", _WEIGHT_CHECKS)
def test_without_dropout_a_weight_of_two_is_a_row_twice(name: str) -> None:
    getattr(estimator_checks, name)("NGMClassifier", NGMClassifier(recipe="paper"))
