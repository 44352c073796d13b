"""scikit-learn's own checks of its contract, one test each."""

from __future__ import annotations

from collections.abc import Callable

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from ngm import LabelPropagation, NGMClassifier, NGMRegressor


def _expected(estimator: BaseEstimator) -> dict[str, str]:
    if isinstance(estimator, NGMClassifier):
        return {"check_classifiers_classes": "-1 is a class there and means unlabelled here"}
    return {}


@parametrize_with_checks([NGMClassifier(), NGMRegressor(), LabelPropagation()], expected_failed_checks=_expected)
def test_scikit_learn_finds_its_contract_kept(estimator: BaseEstimator, check: Callable[[BaseEstimator], None]) -> None:
    check(estimator)
