"""Self-training, worked out by hand with stubs for the network, and compared with plain networks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ngm import Graph, SelfTraining
from ngm.estimators.round_records import Round
from tests.stub_classifier import Labels, Stub, always, fitted, halves, network, nodes, path, planted, right_when

SEVEN = [0, -1, -1, -1, -1, -1, 1]
GROWTH = [
    [0, -1, -1, -1, -1, -1, 1],
    [0, 0, -1, -1, -1, 1, 1],
    [0, 0, 0, -1, 1, 1, 1],
    [0, 0, 0, 0, 1, 1, 1],
]


def test_labels_grow_by_one_hop_a_round_until_no_node_is_left() -> None:
    model, told, _ = fitted(halves, SEVEN, path(7))
    assert told == GROWTH
    assert [(r.round, r.labeled, r.added) for r in model.history_] == [(0, 2, 0), (1, 4, 2), (2, 6, 2), (3, 7, 1)]
    assert model.stopped_ == "no node is left to label"
    assert model.labels_.tolist() == GROWTH[-1]
    assert model.best_round_ == 3


def test_it_ends_after_so_many_rounds() -> None:
    model, told, _ = fitted(halves, SEVEN, path(7), rounds=2)
    assert told == GROWTH[:3]
    assert model.stopped_ == "all rounds done"
    assert model.labels_.tolist() == GROWTH[2]


def test_all_nodes_may_be_candidates_without_a_graph() -> None:
    _, told, _ = fitted(halves, SEVEN, None, candidates="all")
    assert told == [GROWTH[0], GROWTH[-1]]


def test_edges_of_no_weight_do_not_carry_labels() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2]], [1.0, 0.0])
    _, told, _ = fitted(halves, [0, -1, -1, 1], Graph(4, graph.edges, graph.weight))
    assert told[-1] == [0, 0, -1, 1]


@pytest.mark.parametrize("soft", [False, True])
def test_seeds_keep_their_labels_whatever_the_network_says(soft: bool) -> None:
    _, told, _ = fitted(always([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]), [1, -1, 0], path(3), soft=soft)
    assert told[0] == [1, -1, 0]
    expected = [[0, 1], [0.2, 0.8], [1, 0]] if soft else [1, 1, 0]
    np.testing.assert_allclose(told[1], expected, rtol=1e-6)


@pytest.mark.parametrize(("relabel", "second"), [(True, 1), (False, 0)])
def test_relabel_says_whether_grown_nodes_are_predicted_anew(relabel: bool, second: int) -> None:
    def says(ids: Labels, told: Labels) -> NDArray[np.floating]:  # of node 1, class 1 as soon as it has a label
        return np.where(((ids == 1) & (told[1] >= 0))[:, None], [0.2, 0.8], [0.9, 0.1])

    _, told, _ = fitted(says, [0, -1, -1, -1, 1], path(5), relabel=relabel, rounds=2)
    assert [row[1] for row in told] == [-1, 0, second]


def test_it_stops_when_no_candidate_is_sure_enough() -> None:
    table = always([[1, 0], [0.85, 0.15], [0.4, 0.6], [0.5, 0.5], [0, 1]])
    model, told, _ = fitted(table, [0, -1, -1, -1, 1], path(5), confidence=0.8)
    assert told == [[0, -1, -1, -1, 1], [0, 0, -1, -1, 1]]
    assert model.stopped_ == "none of 2 candidates is surer than 0.60, confidence asks for more"


def test_the_surest_are_labelled_first() -> None:
    sure = [1, 0.6, 0.9, 0.8, 0.7]
    graph = Graph.from_edges([[0, i] for i in range(1, 5)] + [[0, 5]])
    table = always([[s, 1 - s] for s in sure] + [[0, 1]])
    _, told, _ = fitted(table, [0, -1, -1, -1, -1, 1], graph, per_round=2)
    assert [[i for i in range(6) if row[i] >= 0] for row in told] == [[0, 5], [0, 2, 3, 5], [0, 1, 2, 3, 4, 5]]


SURE = {3: 0.9, 4: 0.8, 5: 0.7, 6: 0.6}  # of class 0; of class 1 are 7 and 8
SIX = always([[1, 0]] * 2 + [[0, 1]] + [[s, 1 - s] for s in SURE.values()] + [[0.05, 0.95], [0.45, 0.55]])


@pytest.mark.parametrize(
    ("settings", "added"),
    [
        ({"balance": "none"}, [3, 4, 5, 6, 7, 8]),
        ({"balance": "none", "per_round": 3}, [3, 4, 7]),
        ({"balance": "equal"}, [3, 4, 7, 8]),  # two of class 1, so two of each
        ({"balance": "equal", "per_round": 3}, [3, 7]),  # 1.5 of each
        ({"balance": "seeds"}, [3, 4, 5, 6, 7, 8]),  # seeds are 2 to 1, and so are candidates
        ({"balance": "seeds", "per_round": 3}, [3, 4, 7]),
        ({"balance": "seeds", "per_round": 5}, [3, 4, 5, 7]),  # 3.3 and 1.7
        ({"balance": "equal", "confidence": 0.75}, [3, 7]),  # one of class 1 is sure enough
        ({"balance": "equal", "confidence": 0.96}, []),
    ],
)
def test_balance_limits_what_each_class_gets(settings: dict, added: list[int]) -> None:
    _, told, _ = fitted(SIX, [0, 0, 1, *[-1] * 6], path(9), candidates="all", rounds=1, **settings)
    assert [i for i in range(3, 9) if told[-1][i] >= 0] == added


def test_a_class_without_candidates_does_not_keep_others_waiting_for_ever() -> None:
    only = always([[1, 0], [0, 1], [0.9, 0.1], [0.8, 0.2]])
    _, told, _ = fitted(only, [0, 1, -1, -1], None, candidates="all", balance="equal")
    assert told == [[0, 1, -1, -1], [0, 1, 0, -1], [0, 1, 0, 0]]


@pytest.mark.parametrize("soft", [False, True])
def test_propagation_teaches_with_the_predictions_of_the_network_as_prior(soft: bool) -> None:
    graph = Graph.from_edges([[0, 2], [1, 2], [2, 3]], [3.0, 1.0, 2.0], num_nodes=5)
    table = [[0.1, 0.9], [0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]]
    settings = {"candidates": "all", "teacher": "propagation", "soft": soft, "rounds": 1}
    _, told, _ = fitted(always(table), [0, 1, -1, -1, -1], graph, **settings)
    # clamped seeds, 2 mu2 = mu3 = 1: 7 z2 = 3 [1, 0] + 1 [0, 1] + 2 z3 + [.2, .8] and 3 z3 = 2 z2 + [.3, .7]
    z2 = 3.4 / (17 / 3)
    z3 = (2 * z2 + 0.3) / 3
    expected = [[1, 0], [0, 1], [z2, 1 - z2], [z3, 1 - z3], [0.4, 0.6]]
    assert told[0] == [0, 1, -1, -1, -1]  # shares that are all certain are told as classes
    np.testing.assert_allclose(told[1], expected if soft else [0, 1, 0, 0, 1], atol=1e-4)


def test_propagation_labels_the_neighbours_of_labelled_nodes_only() -> None:
    _, told, _ = fitted(halves, SEVEN, path(7), teacher="propagation")
    assert [[label >= 0 for label in row] for row in told] == [[label >= 0 for label in row] for row in GROWTH]


def test_the_history_has_the_right_share_of_what_was_added_and_of_all() -> None:
    model, _, _ = fitted(halves, SEVEN, path(7), truth=[0, 0, 1, 0, 0, 1, 1])  # halves errs at 2 and 4
    assert [r.right for r in model.history_] == [None, 1.0, 0.0, 1.0]
    assert [r.right_in_all for r in model.history_] == [None, 1.0, 0.5, 0.6]
    partly, _, _ = fitted(halves, SEVEN, path(7), truth=[-1, 0, -1, -1, 0, -1, -1])
    assert [r.right for r in partly.history_] == [None, 1.0, 0.0, None]
    without, _, _ = fitted(halves, SEVEN, path(7))
    assert {(r.right, r.right_in_all, r.validation) for r in without.history_} == {(None, None, None)}


def test_truth_and_reports_change_nothing_and_every_round_is_reported() -> None:
    seen: list[Round] = []
    model = SelfTraining(Stub(halves)).fit(nodes(7), SEVEN, graph=path(7), on_round=seen.append)
    assert seen == model.history_
    _, told, _ = fitted(halves, SEVEN, path(7), truth=[1] * 7)
    assert told == GROWTH


EIGHT = [0, 0, 0, -1, -1, 1, 1, 1]


@pytest.mark.parametrize("how", ["share", "ids", "pair"])
def test_validation_rows_are_the_same_in_every_round_and_never_taught_their_label(how: str) -> None:
    wanted = {"share": 0.33, "ids": [1, 6], "pair": (nodes(8)[[3, 4]], [0, 1])}[how]

    def wrong(ids: Labels, told: Labels) -> NDArray[np.floating]:
        return np.where((ids < 4)[:, None], [0.2, 0.8], [0.9, 0.1])

    model, told, given = fitted(wrong, EIGHT, path(8), validation=wanted)
    assert len(told) > 1
    rows = [(x[:, 0].tolist(), y.tolist()) for x, y in given]
    assert all(row == rows[0] for row in rows)
    held = [int(i) for i in rows[0][0]]
    assert rows[0][1] == [int(i >= 4) for i in held]
    assert sum(label >= 0 for label in told[0]) == (6 if how == "pair" else 4)
    assert all(row[i] != int(i >= 4) for row in told for i in held)
    assert [r.validation for r in model.history_] == [0.0] * len(told)


@pytest.mark.parametrize(
    ("counts", "patience", "best", "trainings", "stopped"),
    [
        ({6}, None, 2, 4, "no node is left to label"),
        ({4, 6}, None, 1, 4, "no node is left to label"),  # the earliest of equals
        ({4}, 1, 1, 3, "validation has not improved for 1 rounds"),
        ({4}, 2, 1, 4, "validation has not improved for 2 rounds"),
        ({6}, 1, 0, 2, "validation has not improved for 1 rounds"),
    ],
)
def test_the_best_round_is_kept_and_patience_ends(
    counts: set[int], patience: int | None, best: int, trainings: int, stopped: str
) -> None:
    pair = nodes(7)[[1, 5]], [0, 1]
    model, told, _ = fitted(right_when(counts), SEVEN, path(7), validation=pair, patience=patience)
    assert (model.best_round_, len(told), model.stopped_) == (best, trainings, stopped)
    assert model.estimator_.told_.tolist() == told[best]


def test_growing_labels_along_edges_is_better_than_a_plain_network() -> None:
    plain, grown = [], []
    for seed in range(3):
        x, truth, y, graph = planted(seed)
        plain.append(network(seed, 0, 40).fit(x, y).score(x, truth))
        model = SelfTraining(network(seed, 0.02, 8), rounds=2, teacher="propagation").fit(
            x, y, graph=graph, truth=truth
        )
        grown.append(model.score(x, truth))
        assert model.history_[-1].labeled > 100
    assert np.mean(grown) > np.mean(plain) + 0.05
    assert all(g >= p for g, p in zip(grown, plain, strict=True))
