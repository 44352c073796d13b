"""Probabilities of teachers: one confidence, held-out labels, known shares of the classes."""

from __future__ import annotations

import numpy as np
import pytest

from ngm import NGMClassifier
from ngm.recipes.calibration import (
    CONFIDENCE,
    calibration_power,
    class_factors,
    confidence_power,
    powered,
    rescaled,
)
from ngm.recipes.label_matrix import Targets, check_class_prior
from tests.three_classes import FEW, GRAPH, X

RNG = np.random.default_rng(0)


def test_calibration_flattens_a_teacher_that_is_too_sure_and_leaves_a_good_one() -> None:
    right = RNG.random(400) < 0.6
    sure = np.where(right[:, None], [[0.999, 0.001]], [[0.001, 0.999]]).astype(np.float32)
    targets = Targets(np.tile(np.float32([1, 0]), (400, 1)))
    power = calibration_power(targets, sure)
    assert powered(sure, power, False).max() < 0.75
    honest = np.where(right[:, None], [[0.6, 0.4]], [[0.6, 0.4]]).astype(np.float32)
    assert calibration_power(targets, honest) >= 1


def test_teachers_are_brought_to_one_confidence() -> None:
    sharp, flat = (powered(RNG.dirichlet(np.ones(4), 500).astype(np.float32), power, False) for power in (9, 0.1))
    wanted = 1 / 4 + 3 / 4 * CONFIDENCE
    for proba in (sharp, flat):
        assert powered(proba, confidence_power(proba), False).max(axis=1).mean() == pytest.approx(wanted, abs=1e-3)


def test_nearly_uniform_probabilities_survive_a_large_power() -> None:
    flat = np.full((2, 9), 1 / 9, np.float32)
    flat[0, 3] += 1e-4
    raised = powered(flat, 50.0, False)
    np.testing.assert_allclose(raised.sum(axis=1), 1, rtol=1e-6)
    assert raised[0].argmax() == 3
    np.testing.assert_allclose(powered(flat, 1.0, False), flat / flat.sum(axis=1, keepdims=True), rtol=1e-5)


# Known shares of the classes


def test_probabilities_are_brought_to_the_known_shares() -> None:
    proba = RNG.dirichlet([1, 1, 1], 2_000).astype(np.float32)
    prior = np.float32([0.7, 0.2, 0.1])
    found = rescaled(proba, class_factors(proba, prior))
    np.testing.assert_allclose(found.mean(axis=0), prior, atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    log_ratio = np.log(found / proba)
    np.testing.assert_allclose(log_ratio[:, 0] - log_ratio[:, 1], (log_ratio[:, 0] - log_ratio[:, 1])[0], atol=1e-3)


def test_class_prior_moves_predictions_towards_the_shares() -> None:
    def share(prior: dict[int, float] | None) -> float:
        model = NGMClassifier(hidden=(8,), class_prior=prior).fit(X, FEW, graph=GRAPH)
        return float(model.predict_proba(X)[:, 0].mean())

    assert share({0: 0.6, 1: 0.2, 2: 0.2}) > share(None) + 0.05 > share({0: 0.1, 1: 0.45, 2: 0.45}) + 0.1


def test_class_prior_is_read_by_name_or_in_order() -> None:
    names = np.array(["ham", "spam"])
    np.testing.assert_allclose(check_class_prior({"spam": 0.1, "ham": 0.9}, names), [0.9, 0.1])
    np.testing.assert_allclose(check_class_prior([0.9, 0.1], names), [0.9, 0.1])
    np.testing.assert_allclose(check_class_prior({1: 0.4, 0: 0.6}, np.array([0, 1])), [0.6, 0.4])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ham": 1.0}, r"class_prior has the classes \['ham'\], y has \['ham', 'spam'\]"),
        ([0.5, 0.6], r"class_prior is \[0.5, 0.6\]; give 2 numbers above 0 that add up to 1"),
        ([1.0, 0.0], "numbers above 0"),
        ([1.0], "give 2 numbers"),
        (["a", "b"], "give 2 numbers"),
        ("ham", "class_prior is 'ham'; give {ham: share, spam: share}"),
    ],
)
def test_class_prior_that_is_no_distribution_is_refused(given: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_class_prior(given, np.array(["ham", "spam"]))


def test_class_prior_is_refused_where_no_teacher_would_use_it() -> None:
    shares = [0.4, 0.3, 0.3]
    with pytest.raises(ValueError, match="class_prior is for the teachers of recipe 'auto', and without a graph"):
        NGMClassifier(class_prior=shares).fit(X, FEW)
    with pytest.raises(ValueError, match="class_prior is for the teachers of recipe 'auto', and recipe 'paper'"):
        NGMClassifier(class_prior=shares, recipe="paper").fit(X, FEW, graph=GRAPH)
    several = np.where(FEW[:, None] >= 0, np.eye(3, dtype=int)[FEW], -1)
    several[0] = 1
    with pytest.raises(ValueError, match="class_prior is for one class per row"):
        NGMClassifier(class_prior=shares).fit(X, several, graph=GRAPH)
