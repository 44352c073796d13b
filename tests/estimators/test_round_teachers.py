"""What labels nodes between two rounds, held to teachers called by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ngm import CoTraining, Graph, LabelPropagation, NGMClassifier, SelfTraining
from ngm.estimators.round_teachers import NETWORK_PRIOR, round_labels
from ngm.estimators.training_rounds import Known, known_classes
from ngm.recipes.auto import connected_nodes, soft_targets
from ngm.recipes.label_matrix import Targets
from ngm.recipes.stacking import TeacherPreset
from ngm.recipes.teachers import Prediction, predict_all
from tests.stub_classifier import Stub
from tests.three_classes import CLASS, GRAPH, LABELED, N, X

SEEDS = np.where(LABELED, CLASS, -1)
PROBA = np.random.default_rng(3).dirichlet(np.ones(3), size=N).astype(np.float32)
NETWORK = NGMClassifier(hidden=(4,), recipe="paper", epochs=1)


def known() -> Known:
    return known_classes(Stub(lambda ids, told: PROBA), X, SEEDS, None)


def by_hand(
    labels: NDArray[np.int64], proba: NDArray[np.float32] | None
) -> tuple[NDArray[np.float32], dict[str, float]]:
    """(soft labels, weights) of the teachers of "auto" on these labels, with the network as one more."""
    labeled = labels >= 0
    nodes = connected_nodes({"features": X}, [GRAPH], LABELED, 3)
    unscored = [] if proba is None else [Prediction("network", "", proba[nodes.included], None, prior=NETWORK_PRIOR)]
    targets = Targets(np.eye(3, dtype=np.float32)[labels] * labeled[:, None])
    preset = TeacherPreset(predict_all, unscored=unscored, relearned=True)
    soft, report = soft_targets(nodes, targets, labeled, 0, preset, labeled & ~LABELED)
    return soft, dict(report.weights)


def test_the_network_alone_says_what_it_predicts() -> None:
    found = round_labels("network", known(), SEEDS, GRAPH, PROBA, seed=0)
    np.testing.assert_array_equal(found.values, PROBA)
    assert found.report.weights == {"network": 1.0}


def test_propagation_is_that_of_the_seeds_with_the_network_as_prior() -> None:
    grown = np.where(np.arange(N) < N // 2, CLASS, SEEDS)  # which it does not start from
    found = round_labels("propagation", known(), grown, GRAPH, PROBA, seed=0)
    expected = LabelPropagation(mu1=float("inf"), mu3=1.0, prior=PROBA).fit(None, SEEDS, graph=GRAPH)
    np.testing.assert_allclose(found.values, expected.label_distributions_, atol=1e-6)
    assert found.report.weights == {"propagation": 1.0}


def test_nodes_that_no_seed_reaches_are_marked_before_there_is_a_network() -> None:
    few = known_classes(Stub(lambda ids, told: PROBA), np.zeros((5, 1)), [0, -1, -1, 1, -1], None)
    lonely = Graph.from_edges([[0, 1], [2, 4]], num_nodes=5)
    found = round_labels("propagation", few, few.labels, lonely, None, seed=0)
    assert found.reached.tolist() == [True, True, False, True, False]
    np.testing.assert_allclose(found.values[2], 0.5)


@pytest.mark.parametrize("proba", [None, PROBA])
def test_a_stack_is_the_teachers_of_auto_on_the_grown_labels_with_the_network_as_one_more(
    proba: NDArray[np.float32] | None,
) -> None:
    grown = SEEDS.copy()
    grown[np.flatnonzero(~LABELED)[:9]] = CLASS[~LABELED][:9]
    found = round_labels("stack", known(), grown, GRAPH, proba, seed=0)
    expected, weights = by_hand(grown, proba)
    np.testing.assert_array_equal(found.values, expected)
    assert found.report.weights == weights
    assert ("network" in weights) == (proba is not None)
    assert found.report.num_held_out == LABELED.sum()  # grown labels score no one


def test_a_node_without_edges_is_as_the_network_says() -> None:
    lonely = GRAPH.without([int(np.flatnonzero(~LABELED)[0])])
    found = round_labels("stack", known(), SEEDS, lonely, PROBA, seed=0)
    node = int(np.flatnonzero(~LABELED)[0])
    np.testing.assert_array_equal(found.values[node], PROBA[node])
    assert not np.allclose(found.values[~LABELED][1:], PROBA[~LABELED][1:])


def told_in_rounds(kind: type[SelfTraining] | type[CoTraining], **settings: object) -> tuple[object, list[object]]:
    """(the fitted one, what each training was told)."""
    told: list[object] = []

    model = kind(Stub(lambda ids, told: PROBA, lambda y, validation: told.append(np.array(y))), **settings)
    return model.fit(X, SEEDS, graph=GRAPH), told


def test_self_training_labels_neighbours_by_the_stack_and_keeps_its_weights() -> None:
    model, told = told_in_rounds(SelfTraining, teacher="stack", rounds=2)
    first, weights = by_hand(SEEDS, PROBA)
    added = (told[1] >= 0) & ~LABELED
    assert added.any()
    np.testing.assert_array_equal(told[1][added], first.argmax(axis=1)[added])
    second, _ = by_hand(told[1], PROBA)
    np.testing.assert_array_equal(told[2][~LABELED & (told[2] >= 0)], second.argmax(axis=1)[~LABELED & (told[2] >= 0)])
    assert model.history_[0].teachers is None
    assert model.history_[1].teachers.weights == weights
    assert 0 <= model.history_[1].teachers.score <= 1


def test_the_first_targets_of_stacked_co_training_are_the_soft_labels_of_auto() -> None:
    model, told = told_in_rounds(CoTraining, stack=True, rounds=2, temperature=1.0)
    np.testing.assert_allclose(told[0], by_hand(SEEDS, None)[0], rtol=1e-6)
    np.testing.assert_allclose(told[1], by_hand(SEEDS, PROBA)[0], rtol=1e-6)
    assert "network" not in model.history_[0].teachers.weights
    assert model.history_[1].teachers.weights == by_hand(SEEDS, PROBA)[1]


def test_the_record_of_a_round_comes_back_with_its_teachers(tmp_path: Path) -> None:
    settings = {"rounds": 1, "teacher": "stack"}
    whole = SelfTraining(NETWORK, **settings).fit(X, SEEDS, graph=GRAPH, folder=tmp_path / "run")
    again = SelfTraining(NETWORK, **settings).fit(X, SEEDS, graph=GRAPH, folder=tmp_path / "run", resume=True)
    assert again.history_ == whole.history_
    rounds = json.loads((tmp_path / "run" / "rounds.json").read_text(encoding="utf-8"))["rounds"]
    assert rounds[0]["teachers"] is None
    assert rounds[1]["teachers"]["weights"] == whole.history_[1].teachers.weights


def test_a_stack_needs_a_graph_and_has_no_propagation() -> None:
    with pytest.raises(ValueError, match=r"give graph=, or set candidates='all' and teacher='network'$"):
        SelfTraining(NETWORK, teacher="stack", candidates="all").fit(X, SEEDS)
    with pytest.raises(ValueError, match=r"^propagation is set, but with stack=True nothing is propagated; drop one"):
        CoTraining(NETWORK, LabelPropagation(), stack=True).fit(X, SEEDS, graph=GRAPH)
