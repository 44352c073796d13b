"""Co-training, held to label propagation called by hand, with stubs for the network."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from ngm import CoTraining, Graph, LabelPropagation
from ngm.estimators.round_records import Round
from tests.stub_classifier import Labels, Stub, always, halves, network, nodes, path, planted, right_when

SEVEN = [0, -1, -1, -1, -1, -1, 1]
TWO_PATHS = Graph.from_edges([[0, 1], [1, 2], [2, 3], [4, 5]], num_nodes=6)  # no label reaches 4 and 5
SIX = [0, -1, -1, 1, -1, -1]
EVEN = always([[0.5, 0.5]] * 9)


def fitted(
    says: object, y: list[object], graph: Graph, validation: object = None, **settings: object
) -> tuple[CoTraining, list[NDArray[np.floating]], list[object]]:
    """(the fitted one, what each training was told, what each was given for validation)."""
    told: list[NDArray[np.floating]] = []
    validations: list[object] = []

    def note(y: list[object], validation: object) -> None:
        told.append(np.array(y))
        validations.append(validation)

    model = CoTraining(Stub(says, note, validation), **{"temperature": 1.0} | settings)
    return model.fit(nodes(len(y)), y, graph=graph), told, validations


def spread(y: list[object], graph: Graph, **settings: object) -> NDArray[np.floating]:
    """Eq. 2 as co-training is documented to solve it."""
    return (
        LabelPropagation(mu1=float("inf"), mu2=0.5, mu3=1.0, **settings).fit(None, y, graph=graph).label_distributions_
    )


def test_the_first_targets_are_those_of_label_propagation_where_a_label_reaches() -> None:
    model, told, _ = fitted(EVEN, SIX, TWO_PATHS, rounds=1)
    with pytest.warns(UserWarning, match="2 of 6 nodes"):
        expected = spread(SIX, TWO_PATHS)
    np.testing.assert_array_equal(told[0][:4], expected[:4].astype(np.float32))
    assert told[0][4:].tolist() == [[-1, -1], [-1, -1]]
    np.testing.assert_array_equal(model.targets_, told[0].astype(np.float32))


def test_the_second_targets_have_the_predictions_of_the_network_as_their_prior() -> None:
    table = [[0.1, 0.9], [0.6, 0.4], [0.3, 0.7], [0.8, 0.2], [0.25, 0.75], [1.0, 0.0]]
    model, told, _ = fitted(always(table), SIX, TWO_PATHS, rounds=2)
    with pytest.warns(UserWarning, match="2 of 6 nodes"):
        expected = spread(SIX, TWO_PATHS, prior=table)
    np.testing.assert_allclose(told[1], expected, atol=1e-6)  # nodes that no label reaches have a word from the network
    assert model.targets_[[0, 3]].tolist() == [[1, 0], [0, 1]]
    # 4 and 5 pull at each other with 2 mu2 = 1, their priors with mu3 = 1: z4 = (p4 + z5) / 2
    np.testing.assert_allclose(told[1][4], [2 / 3 * 0.25 + 1 / 3, 2 / 3 * 0.75], atol=1e-4)


def test_its_own_propagation_is_used_and_left_as_it_was() -> None:
    own = LabelPropagation(mu1=2.0, mu2=0.3, mu3=0.2)
    _, told, _ = fitted(halves, SEVEN, path(7), propagation=own, rounds=2)
    first = LabelPropagation(mu1=2.0, mu2=0.3, mu3=0.2).fit(None, SEVEN, graph=path(7)).label_distributions_
    prior = halves(np.arange(7), np.zeros(7))
    second = LabelPropagation(mu1=2.0, mu2=0.3, mu3=0.2, prior=prior).fit(None, SEVEN, graph=path(7))
    np.testing.assert_allclose(told[0][1:6], first[1:6], atol=1e-6)
    np.testing.assert_allclose(told[1][1:6], second.label_distributions_[1:6], atol=1e-6)
    assert own.prior is None
    assert not hasattr(own, "label_distributions_")


def test_seeds_are_told_as_they_are_even_where_propagation_does_not_clamp_them() -> None:
    _, told, _ = fitted(always([[0.1, 0.9]] * 7), SEVEN, path(7), propagation=LabelPropagation(mu1=0.1))
    for targets in told:
        assert targets[[0, 6]].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_targets_are_raised_to_one_over_the_temperature(temperature: float) -> None:
    graph = Graph.from_edges([[0, 1], [1, 2]], [3.0, 1.0])
    middle = np.array([3 + 0.5, 1 + 0.5]) / 5  # 3 and 1 from the clamped ends, mu3 = 1 from the uniform prior
    _, told, _ = fitted(EVEN, [0, -1, 1], graph, temperature=temperature, rounds=1)
    raised = middle ** {0.5: 2, 1.0: 1, 2.0: 0.5}[temperature]
    np.testing.assert_allclose(told[0], [[1, 0], raised / raised.sum(), [0, 1]], atol=1e-4)


def test_targets_below_the_confidence_are_not_told() -> None:
    model, told, _ = fitted(EVEN, SEVEN, path(7), confidence=0.6, rounds=1)
    expected = spread(SEVEN, path(7))
    sure = expected.max(axis=1) >= 0.6
    assert 2 < sure.sum() < 7
    np.testing.assert_array_equal(told[0][:, 0] >= 0, sure)
    assert model.history_[0].labeled == sure.sum()
    certain, told, _ = fitted(EVEN, SEVEN, path(7), confidence=1.0, rounds=1)
    assert told[0].tolist() == SEVEN  # zeros and ones would be read as several labels, so they are told as classes
    assert certain.targets_.tolist() == [[1, 0]] + [[-1, -1]] * 5 + [[0, 1]]


def test_the_history_counts_what_was_told_and_what_of_it_is_right() -> None:
    seen: list[Round] = []
    truth = [0, 0, 1, 1, 0, -1]
    model = CoTraining(Stub(always([[0.9, 0.1]] * 6)), rounds=2)
    model.fit(nodes(6), SIX, graph=TWO_PATHS, truth=truth, on_round=seen.append)
    assert seen == model.history_
    # Round 0 tells 1 and 2 by the nearer end; in round 1 the network's word is enough for all but seeds.
    assert [(r.labeled, r.added, r.right, r.right_in_all) for r in seen] == [(4, 2, 1.0, 1.0), (6, 2, 1.0, 2 / 3)]
    assert model.stopped_ == "all rounds done"
    assert model.best_round_ == 1


EIGHT = [0, 0, 0, -1, -1, 1, 1, 1]


@pytest.mark.parametrize("how", ["share", "ids", "pair"])
def test_validation_rows_are_the_same_in_every_round_and_no_seeds(how: str) -> None:
    wanted = {"share": 0.33, "ids": [1, 6], "pair": (nodes(8)[[3, 4]], [0, 1])}[how]

    def wrong(ids: Labels, told: Labels) -> NDArray[np.floating]:
        return np.where((ids < 4)[:, None], [0.2, 0.8], [0.9, 0.1])

    model, told, given = fitted(wrong, EIGHT, path(8), validation=wanted)
    rows = [(x[:, 0].tolist(), np.asarray(y).tolist()) for x, y in given]
    assert all(row == rows[0] for row in rows)
    held = [int(i) for i in rows[0][0]]
    assert rows[0][1] == [[int(i < 4), int(i >= 4)] for i in held]  # soft, as targets are
    assert all(targets[i].min() > 0 for targets in told for i in held)
    assert [r.validation for r in model.history_] == [0.0] * 3


def test_the_best_round_is_kept_and_patience_ends() -> None:
    pair = nodes(7)[[1, 5]], [0, 1]
    rounds = iter([False, True, True, False, False, False])

    def says(ids: Labels, told: Labels) -> NDArray[np.floating]:
        return right_when({1})(ids, np.array([0]) if right[0] else np.array([-1]))

    right = [False]

    def note(y: object, validation: object) -> None:
        right[0] = next(rounds)

    model = CoTraining(Stub(says, note, pair), rounds=6, patience=2)
    model.fit(nodes(7), SEVEN, graph=path(7))
    assert [r.validation for r in model.history_] == [0.0, 1.0, 1.0, 0.0]
    assert model.best_round_ == 1  # the earliest of equals
    assert model.stopped_ == "validation has not improved for 2 rounds"


REFUSED = [
    ({"rounds": 0}, "rounds is 0; it must be a whole number of at least 1"),
    ({"patience": 0}, "patience is 0; it must be a whole number of at least 1"),
    ({"patience": 2}, "patience is 2, but the estimator has no validation to improve on"),
    ({"temperature": -1}, "temperature is -1; it must be a finite number of at least 0"),
    ({"temperature": float("inf")}, "temperature is inf; it must be a finite number of at least 0"),
    ({"confidence": 1.1}, "confidence is 1.1; it must be a number of at least 0 and at most 1"),
]


@pytest.mark.parametrize(("settings", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_a_setting_that_cannot_be_is_refused(settings: dict, text: str) -> None:
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        fitted(EVEN, SEVEN, path(7), **settings)


def test_no_graph_and_several_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\Aco-training propagates labels over a graph; give graph=\Z"):
        CoTraining(Stub(EVEN)).fit(nodes(7), SEVEN)
    text = "y has shape (7, 2); training in rounds takes one class per row, (n,)"
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        CoTraining(Stub(EVEN)).fit(nodes(7), np.ones((7, 2)), graph=path(7))


def test_propagation_and_the_network_together_are_better_than_a_plain_network() -> None:
    plain, together = [], []
    for seed in range(3):
        x, truth, y, graph = planted(seed)
        plain.append(network(seed, 0, 40).fit(x, y).score(x, truth))
        together.append(CoTraining(network(seed, 0.02, 8), rounds=2).fit(x, y, graph=graph).score(x, truth))
    assert np.mean(together) > np.mean(plain) + 0.05
    assert all(t >= p for t, p in zip(together, plain, strict=True))


def test_at_temperature_0_the_most_likely_class_is_the_target() -> None:
    _, told, _ = fitted(EVEN, SEVEN, path(7), temperature=0, rounds=1)
    assert told[0].tolist()[1:3] == [0, 0]
    assert told[0].tolist()[4:6] == [1, 1]


def test_a_low_temperature_makes_targets_certain() -> None:  # 0.5 ** 1000 is 0 in float32: divided by 0, not told
    model, _, _ = fitted(EVEN, SEVEN, path(7), temperature=0.001, rounds=1)
    assert model.targets_.argmax(axis=1)[[1, 2, 4, 5]].tolist() == [0, 0, 1, 1]
    assert model.history_[0].labeled == 7


def test_propagation_may_keep_few_labels_where_some_nodes_are_not_reached() -> None:  # an empty row divided by 0
    model, _, _ = fitted(EVEN, SIX, TWO_PATHS, propagation=LabelPropagation(keep=1), rounds=1)
    assert model.targets_[4].tolist() == [-1, -1]


def test_a_propagation_with_a_prior_of_its_own_is_refused() -> None:  # the prior quietly does nothing
    with pytest.raises(ValueError, match="prior"):
        fitted(EVEN, SEVEN, path(7), propagation=LabelPropagation(prior=[0.9, 0.1]), rounds=1)


def test_propagation_that_has_not_converged_is_warned_of() -> None:  # hushed with the count of unreached nodes
    with pytest.warns(UserWarning, match="has not converged"):
        fitted(EVEN, SEVEN, path(7), propagation=LabelPropagation(mu3=0, max_steps=2), rounds=1)
