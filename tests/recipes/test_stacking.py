"""Soft labels from the predictions of teachers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from ngm.recipes.calibration import confidence_power, powered
from ngm.recipes.label_matrix import Targets
from ngm.recipes.node_views import NodeViews
from ngm.recipes.stacking import AUTO, SHARPNESS, TeacherPreset, stack_teachers
from ngm.recipes.teachers import Prediction, predict_all, relearn
from tests.three_classes import CLASS, GRAPH, LABELED, TARGETS, N, views

RNG = np.random.default_rng(0)
ONE, OTHER = (RNG.dirichlet(np.ones(3), size=N).astype(np.float32) for _ in range(2))


def two_teachers(views: NodeViews, targets: Targets, labeled: np.ndarray) -> Iterator[Prediction]:
    yield Prediction("one", "", ONE, 0, prior=1)
    yield Prediction("other", "", OTHER, 0, prior=3)


def test_a_fold_is_predicted_by_teachers_that_have_not_seen_it() -> None:
    seen: list[np.ndarray] = []

    def noted(views: NodeViews, targets: Targets, labeled: np.ndarray) -> Iterator[Prediction]:
        seen.append(labeled.copy())
        memory = np.where(labeled[:, None], targets.values, 1 / 3).astype(np.float32)
        yield Prediction("memory", "", memory, None)

    report = stack_teachers(views(), TARGETS, LABELED, 0, TeacherPreset(noted)).report
    assert len(seen) == 1 + 4  # all labels, then four folds of four labels a class
    assert report.num_held_out == 12
    assert report.score == pytest.approx(1 / 3, abs=0.34)  # a memory of the labels would have 1


@pytest.mark.parametrize("clamped", [True, False])
def test_teachers_that_are_not_scored_are_averaged_by_their_priors(clamped: bool) -> None:
    preset = TeacherPreset(two_teachers, scored=False, clamped=clamped)
    stack = stack_teachers(views(), TARGETS, LABELED, 0, preset)
    expected = (ONE.astype(np.float64) + 3 * OTHER) / 4
    if clamped:
        expected[LABELED] = TARGETS.values[LABELED]
    np.testing.assert_allclose(stack.soft_labels, expected, atol=1e-6)
    assert stack.report.weights == {"one": 0.25, "other": 0.75}
    assert stack.report.num_held_out == 0
    assert not stack.report.scored
    assert np.isnan([stack.report.score, *stack.report.scores.values()]).all()


def test_a_model_that_has_seen_all_labels_has_the_weight_of_its_prior_and_no_score() -> None:
    plain = stack_teachers(views(), TARGETS, LABELED, 0, TeacherPreset(predict_all))
    alone = plain.report
    total = sum(prediction.prior for prediction in predict_all(views(), TARGETS, LABELED))
    network = Prediction("network", "", ONE, None, prior=total / 3)
    with_it = stack_teachers(views(), TARGETS, LABELED, 0, TeacherPreset(predict_all, unscored=[network]))
    report = with_it.report
    assert report.weights["network"] == pytest.approx(1 / 4)
    for name, weight in alone.weights.items():
        assert report.weights[name] == pytest.approx(3 / 4 * weight)
    assert np.isnan(report.scores.pop("network"))  # type: ignore[attr-defined]
    assert (report.scores, report.score) == (alone.scores, alone.score)
    # its own part of the mean is what it says at the confidence of all others
    third = powered(plain.soft_labels, 1 / SHARPNESS, False)  # about the mean
    mean = 3 / 4 * third + powered(ONE, confidence_power(ONE), False) / 4
    np.testing.assert_allclose(with_it.soft_labels[~LABELED], powered(mean, SHARPNESS, False)[~LABELED], atol=1e-4)


def test_teachers_learn_from_grown_labels_and_are_scored_by_true_ones_alone() -> None:
    seen: list[list[int]] = []

    def noted(views: NodeViews, targets: Targets, labeled: np.ndarray) -> Iterator[Prediction]:
        seen.append(np.flatnonzero(labeled).tolist())
        yield from two_teachers(views, targets, labeled)

    grown = np.zeros(N, dtype=bool)
    grown[np.flatnonzero(~LABELED)[:7]] = True
    wrong = np.where(grown, (CLASS + 1) % 3, CLASS)
    targets = Targets(np.eye(3, dtype=np.float32)[wrong])
    stack = stack_teachers(views(), targets, LABELED | grown, 0, TeacherPreset(noted), grown)
    assert seen[0] == np.flatnonzero(LABELED | grown).tolist()
    assert all(set(one) < set(np.flatnonzero(LABELED)) for one in seen[1:])
    assert stack.report.num_held_out == LABELED.sum()
    assert stack.report.scores["one"] == pytest.approx((ONE.argmax(axis=1) == CLASS)[LABELED].mean())
    np.testing.assert_array_equal(stack.soft_labels[LABELED], TARGETS.values[LABELED])
    assert not np.isin(stack.soft_labels[grown], (0, 1)).any()  # predicted anew


def test_models_that_learn_from_all_teachers_have_half_of_the_weight_and_no_score() -> None:
    nodes = views()
    plain = stack_teachers(nodes, TARGETS, LABELED, 0, TeacherPreset(predict_all))
    relearned = stack_teachers(nodes, TARGETS, LABELED, 0, TeacherPreset(predict_all, relearned=True))
    report = relearned.report
    for name, weight in plain.report.weights.items():
        assert report.weights[name] == pytest.approx(weight / 2)
    further = {name: weight for name, weight in report.weights.items() if name not in plain.report.weights}
    assert sum(further.values()) == pytest.approx(1 / 2)
    assert further["features relearned"] == pytest.approx((1 - plain.report.weight_of_graphs) / 2)
    assert report.weight_of_graphs == pytest.approx(plain.report.weight_of_graphs)
    assert np.isnan([report.scores[name] for name in further]).all()
    assert report.score == plain.report.score
    # soft labels are half of what teachers say, half of what models say that learned from it
    blend = powered(plain.soft_labels, 1 / SHARPNESS, False)
    blend[LABELED] = mixed_of_teachers(plain.report.weights)[LABELED]
    sure = powered(blend, confidence_power(blend), False)
    g = plain.report.weight_of_graphs
    models = {one.name: one.values for one in relearn(nodes, sure, TARGETS, LABELED, 1 - g, [g])}
    own = sum(further[name] * powered(values, confidence_power(values), False) for name, values in models.items())
    expected = powered(blend / 2 + own, SHARPNESS, False)
    np.testing.assert_allclose(relearned.soft_labels[~LABELED], expected[~LABELED], atol=0.02)


def mixed_of_teachers(weights: Mapping[str, float]) -> np.ndarray:
    """What teachers say together of all nodes, labelled ones among them, before it is calibrated."""
    return sum(weights[one.name] * one.values for one in predict_all(views(), TARGETS, LABELED))  # type: ignore[return-value]


def test_label_sets_and_nodes_without_rows_are_not_learned_again() -> None:
    several = Targets((np.random.default_rng(1).random((N, 4)) < 0.4).astype(np.float32), multilabel=True)
    for nodes, targets in ((views(), several), (NodeViews({}, [GRAPH]), TARGETS)):
        assert not any("relearned" in name for name in stack_teachers(nodes, targets, LABELED, 0).report.weights)


def test_the_default_preset_is_that_of_recipe_auto() -> None:
    assert AUTO.teachers is predict_all
    assert (AUTO.scored, AUTO.clamped, tuple(AUTO.unscored), AUTO.relearned) == (True, True, (), True)
