"""Weights of teachers, before and after labels are held out."""

from __future__ import annotations

import numpy as np
import pytest

from ngm import Graph
from ngm.recipes import teacher_weights
from ngm.recipes.assortativity import prediction_assortativity
from ngm.recipes.teacher_weights import prior_weights, simplex_weights
from ngm.recipes.teachers import Prediction
from tests.three_classes import CLASS, EDGES, GRAPH, N

RNG = np.random.default_rng(0)


def test_weights_solve_the_likelihood_with_the_prior() -> None:
    """At the maximum the gradient in each used weight is the same (Lagrange)."""
    likelihoods = [RNG.random(50), RNG.random(50), RNG.random(50)]
    prior = np.array([0.2, 0.3, 0.5])
    weights = simplex_weights(likelihoods, prior)
    right = np.stack(likelihoods, axis=1)
    gradient = (right / (right @ weights)[:, None]).sum(axis=0) + teacher_weights.PRIOR_LABELS * prior / weights
    np.testing.assert_allclose(gradient, gradient.mean(), rtol=1e-4)
    assert weights.sum() == pytest.approx(1)


def test_without_held_out_labels_the_prior_stands() -> None:
    prior = np.array([0.7, 0.3])
    np.testing.assert_array_equal(simplex_weights([np.empty(0), np.empty(0)], prior), prior)


def test_a_teacher_that_knows_the_held_out_labels_gets_the_weight() -> None:
    weights = simplex_weights([np.full(100, 0.9), np.full(100, 0.1)], np.array([0.5, 0.5]))
    assert weights[0] > 0.9


def predictions(*uses_graph: bool, prior: tuple[float, ...] = ()) -> list[Prediction]:
    proba = np.full((1, 2), 0.5, np.float32)
    priors = prior or (1.0,) * len(uses_graph)
    return [Prediction(str(i), "", proba, 0 if used else None, priors[i]) for i, used in enumerate(uses_graph)]


def test_prior_weights_are_the_teachers_own_with_an_informative_graph_and_on_x_with_another() -> None:
    teachers = predictions(False, True, True, True, prior=(1, 1, 2, 4))
    np.testing.assert_allclose(prior_weights(teachers, teacher_weights.INFORMATIVE), [1 / 8, 1 / 8, 2 / 8, 4 / 8])
    weights = prior_weights(teachers, 0.0)
    assert weights[0] == pytest.approx(1 - teacher_weights.MIN_TRUST)
    np.testing.assert_allclose(weights[1:], teacher_weights.MIN_TRUST * np.array([1, 2, 4]) / 7)
    halfway = prior_weights(teachers, (teacher_weights.UNINFORMATIVE + teacher_weights.INFORMATIVE) / 2)
    np.testing.assert_allclose(halfway, (weights + np.array([1, 1, 2, 4]) / 8) / 2)
    np.testing.assert_allclose(prior_weights(predictions(True, True), 0.0), 0.5)  # nothing but the graph


def test_teachers_without_a_graph_count_half_beside_one_that_evidently_knows_the_classes() -> None:
    teachers = predictions(False, True, True, prior=(2, 2, 4))
    for assortativity in (teacher_weights.EVIDENT, 1.0):
        np.testing.assert_allclose(prior_weights(teachers, assortativity), [1 / 7, 2 / 7, 4 / 7])
    between = (teacher_weights.INFORMATIVE + teacher_weights.EVIDENT) / 2
    np.testing.assert_allclose(prior_weights(teachers, between), np.array([1.5, 2, 4]) / 7.5)


def test_assortativity_is_the_correlation_of_both_ends() -> None:
    values = RNG.random((N, 1))
    proba = np.hstack([values, 1 - values]).astype(np.float32)
    both = np.vstack([EDGES, EDGES[:, ::-1]])
    expected = np.corrcoef(values[both[:, 0], 0], values[both[:, 1], 0])[0, 1]
    assert prediction_assortativity(GRAPH, proba) == pytest.approx(expected, abs=1e-5)
    assert prediction_assortativity(GRAPH, np.eye(3, dtype=np.float32)[CLASS]) == pytest.approx(1)
    assert prediction_assortativity(GRAPH, np.full((N, 2), 0.5, np.float32)) == 1
    assert prediction_assortativity(Graph.from_edges(np.empty((0, 2), int), num_nodes=N), proba) == 0
