from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ngm.datasets import Dataset
from ngm.experiments.intents import protocol as intents
from ngm.experiments.intents.methods import (
    METHODS,
    IntentMethod,
    IntentScores,
    LSTMRanker,
    Messages,
    PropagatedTargets,
    Scorer,
    TfidfRegression,
    by_frequency,
    random_order,
)
from ngm.experiments.scores import Scores
from ngm.graph import Graph
from ngm.metrics import mean_reciprocal_rank
from ngm.text.word_vectors import WordVectors
from tests.conftest import needs

_ASKS = ["what is it", "what was that", "who is it", "who was that", "what is that", "who is that"]
_THANKS = ["thanks a lot", "many thanks", "thanks so much", "thanks for that", "thanks again", "so many thanks"]
_BYES = ["bye now", "bye bye", "so bye", "bye again", "bye then", "now bye"]


@pytest.fixture
def few() -> Messages:
    """Three intents; of each 4 messages to train on and one each to choose by and to score."""
    texts = [t for k in range(4) for t in (_ASKS[k], _THANKS[k], _BYES[k])]
    texts += [_ASKS[4], _THANKS[4], _BYES[4], _ASKS[5], _THANKS[5], _BYES[5]]
    ids = np.arange(18)
    data = Dataset("swda20", texts, ids % 3, None, ids[:12], ids[12:15], ids[15:], ("asks", "thanks", "bye"), "a note")
    return with_vectors(Messages(data))


def with_vectors(messages: Messages) -> Messages:
    """Word vectors of its own: asking, thanking and leaving words along axes of their own."""
    axis = {"what": 0, "who": 0, "thanks": 1, "many": 1, "bye": 2, "now": 2}
    words = sorted({word for text in messages.data.texts for word in text.split()})
    rows = np.stack([np.eye(4)[axis.get(word, 3)] + 0.01 * i for i, word in enumerate(words)])
    messages.__dict__["words"] = (WordVectors(words, rows), WordVectors(words, rows[:, ::-1].copy()))
    return messages


QUICK = LSTMRanker(passes=20, batch_size=16, dropout=0.0, learning_rate=0.02, average=0.9)


@pytest.fixture(autouse=True)
def small_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngm.experiments.intents.methods.NEIGHBORS", 2)


def test_the_graph_joins_training_messages_and_no_others(few: Messages) -> None:
    assert few.graph.num_nodes == len(few.data.train) == 12
    assert few.graph.num_edges >= 12
    same = few.data.y[few.data.train][few.graph.edges.numpy()]
    assert np.mean(same[:, 0] == same[:, 1]) > 0.6


def test_a_shuffled_graph_has_the_same_weights_and_degrees_between_other_messages(few: Messages) -> None:
    shuffled, again = (few.edges_of("words", "shuffled", seed) for seed in (0, 1))
    assert few.edges_of("words", "neighbors", 0) is few.graph
    torch.testing.assert_close(shuffled.weight.sort().values, few.graph.weight.sort().values)
    degrees = [torch.bincount(g.edges.reshape(-1), minlength=12).sort().values for g in (few.graph, shuffled)]
    assert torch.equal(*degrees)
    pairs = [{tuple(sorted(e)) for e in g.edges.tolist()} for g in (few.graph, shuffled, again)]
    assert pairs[0] != pairs[1] != pairs[2]


def test_a_graph_of_sentence_vectors_joins_training_messages_by_these(
    few: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Encoder:
        def encode(self, texts: list[str]) -> np.ndarray:
            turn = np.linspace(0, np.pi / 2, len(texts))  # a path: each is most like the next
            return np.stack([np.cos(turn), np.sin(turn)], axis=1).astype(np.float32)

    monkeypatch.setattr("ngm.experiments.intents.methods.fit_encoder", lambda name, texts: Encoder())
    graph = few.edges_of("sentences", "neighbors", 0)
    assert graph.num_nodes == 12
    assert {abs(u - v) for u, v in graph.edges.tolist()} <= {1, 2}
    teacher = METHODS["sentences"].candidates[""].teacher  # type: ignore[attr-defined]
    assert set(teacher.mu2) > set(PropagatedTargets().mu2)


def test_few_labels_are_drawn_per_intent_and_anew_by_every_seed(few: Messages) -> None:
    shown = [replace(few, per_class=2).training_labels(seed) for seed in range(3)]
    for y in shown:
        assert np.bincount(y[y >= 0]).tolist() == [2, 2, 2]
    assert not (np.array_equal(shown[0], shown[1]) and np.array_equal(shown[1], shown[2]))
    assert (few.training_labels(0) == few.data.y[:12]).all()


def test_the_frequency_ranking_is_that_of_the_training_labels(few: Messages) -> None:
    y = few.data.y.copy()
    y[:12] = [0] * 2 + [1] * 3 + [2] * 7
    scored = by_frequency(replace(few, data=replace(few.data, y=y)), 0)
    np.testing.assert_allclose(scored.test, np.tile([2 / 12, 3 / 12, 7 / 12], (3, 1)))
    # ranks 3, 2, 1 of classes 0, 1, 2
    assert mean_reciprocal_rank([0, 1, 2], scored.test) == pytest.approx((1 / 3 + 1 / 2 + 1) / 3)


def test_a_random_ranking_earns_the_mean_of_all_reciprocal_ranks(few: Messages) -> None:
    test = np.zeros(3000, dtype=np.int64)
    wide = replace(few, data=replace(few.data, test=test, classes=tuple("abcdefghijklmnopqrst")))
    earned = mean_reciprocal_rank(few.data.y[test], random_order(wide, 0).test)
    assert earned == pytest.approx(sum(1 / rank for rank in range(1, 21)) / 20, abs=0.015)


def test_runs_of_tokens_keep_their_order_and_marks() -> None:
    assert TfidfRegression(2, 1.0)._runs("Is it?") == ["is", "it", "?", "is it", "it ?"]


def test_smoothed_labels_keep_their_share_and_hidden_ones_stay_hidden(few: Messages) -> None:
    y = LSTMRanker(smoothing=0.3)._smoothed(AlwaysTheSame(few.data), 0)
    torch.testing.assert_close(y[1], torch.tensor([0.1, 0.8, 0.1]))
    assert (y[6:] == -1).all()


def test_every_row_may_take_as_many_steps_as_show_each_message_so_many_times(few: Messages) -> None:
    assert LSTMRanker(passes=5, batch_size=32).steps(few) == 10  # 12 messages are two batches of 8


def test_few_labels_may_have_candidates_of_their_own(few: Messages) -> None:
    method = IntentMethod("two", {"many": constant(0.9)}, few_label_candidates={"few": constant(0.9)})
    assert intents.IntentCell(method, few).score(0)[1] == "many"
    assert intents.IntentCell(method, replace(few, per_class=2)).score(0)[1] == "few"


@pytest.mark.parametrize(
    "scorer",
    [
        TfidfRegression(2, 10.0),
        QUICK,
        replace(QUICK, alpha=0.01),
        replace(QUICK, teacher=PropagatedTargets(folds=2)),
    ],
)
def test_every_learner_learns_three_plain_intents(few: Messages, scorer: Scorer) -> None:
    assert scorer(few, 0).test.argmax(axis=1).tolist() == [0, 1, 2]


class AlwaysTheSame(Messages):
    """Shows labels 0 to 5, whatever the others are."""

    def training_labels(self, seed: int) -> NDArray[np.int64]:
        return np.where(np.arange(12) < 6, self.data.y[:12], -1)


@pytest.mark.parametrize(
    "scorer",
    [
        by_frequency,
        TfidfRegression(2, 1.0),
        LSTMRanker(0.01, passes=1, batch_size=16),
        LSTMRanker(teacher=PropagatedTargets(folds=2), passes=2),
    ],
)
def test_no_method_looks_at_labels_that_are_hidden_or_to_be_scored(few: Messages, scorer: Scorer) -> None:
    found = []
    for turn in (0, 1):
        y = few.data.y.copy()
        hidden = np.r_[6:12, 15:18]
        y[hidden] = (y[hidden] + turn) % 3
        found.append(scorer(with_vectors(AlwaysTheSame(replace(few.data, y=y))), 0))
    np.testing.assert_array_equal(found[0].test, found[1].test)
    np.testing.assert_array_equal(found[0].validation, found[1].validation)


def test_a_labelled_message_is_judged_by_models_that_did_not_see_its_label(few: Messages) -> None:
    taught = PropagatedTargets(folds=4)
    judged = taught.held_out(few, few.training_labels(0))
    y = few.training_labels(0)
    x, _ = taught.prior.rows(few)
    for i in range(12):
        y_turned = np.where(np.arange(18) == i, (few.data.y + 1) % 3, few.data.y)
        turned = with_vectors(Messages(replace(few.data, y=y_turned)))
        seen = taught.prior.fitted(x, turned.training_labels(0)).predict_proba(x[[i]])[0]
        assert judged[i, y[i]] < taught.prior.fitted(x, y).predict_proba(x[[i]])[0, y[i]]
        assert seen.argmax() == y_turned[i]  # a model that saw it would believe it
    np.testing.assert_allclose(judged.sum(axis=1), 1, rtol=1e-5)


def test_targets_are_equation_2_of_label_neighbours_and_linear_model(few: Messages) -> None:
    taught = PropagatedTargets(mu1=2.0, mu2=(0.25,), mu3=3.0, folds=2)
    told = taught.targets(few, few.graph, 0).numpy()
    label, prior = np.eye(3)[few.training_labels(0)], taught.held_out(few, few.training_labels(0))
    weight = np.zeros((12, 12))
    for (u, v), w in zip(few.graph.edges.tolist(), few.graph.weight.tolist(), strict=True):
        weight[u, v] = weight[v, u] = 2 * 0.25 * w  # an edge counts from both its ends
    left = np.diag(2.0 + 3.0 + weight.sum(axis=1)) - weight
    np.testing.assert_allclose(told, np.linalg.solve(left, 2.0 * label + 3.0 * prior), atol=5e-3)


def test_neighbours_count_as_much_as_they_foretell_labels_that_are_held_out(few: Messages) -> None:
    taught, y = PropagatedTargets(mu2=(0.0, 0.5), folds=2), few.training_labels(0)
    prior = np.full((12, 3), 1 / 3, dtype=np.float32)
    few.priors[taught, y.tobytes()] = prior
    within = Graph.from_edges([[u, v] for u in range(12) for v in range(u) if y[u] == y[v]])
    across = Graph.from_edges([[u, v] for u in range(12) for v in range(u) if y[u] != y[v]])
    for graph, mu2 in ((within, 0.5), (across, 0.0)):
        expected = taught.propagated(graph, y, prior, mu2)
        np.testing.assert_array_equal(taught.targets(few, graph, 0).numpy(), expected)
    assert taught._held_out_rank(within, y, prior, 0.0) == pytest.approx(0.5)  # three that tie share rank 2
    assert taught._held_out_rank(within, y, prior, 0.5) == 1.0


def test_without_neighbours_a_target_is_the_mean_of_label_and_linear_model(few: Messages) -> None:
    prior = np.tile(np.float32([0.5, 0.3, 0.2]), (12, 1))
    told = PropagatedTargets(mu1=3.0, mu3=1.0).propagated(few.graph, np.r_[1, np.full(11, -1)], prior, 0.0)
    np.testing.assert_allclose(told[0], [0.125, 0.825, 0.05], rtol=1e-6)
    np.testing.assert_allclose(told[1:], prior[1:], rtol=1e-6)


def constant(value: float, on_test: float | None = None) -> Scorer:
    """Says 0.5 of every intent but the true one, which gets `value`; on test messages `on_test`, where given."""

    def scores(messages: Messages, seed: int) -> IntentScores:
        data, values = messages.data, (value, value if on_test is None else on_test)
        parts = zip(values, (data.validation, data.test), strict=True)
        return IntentScores(*(0.5 + (said - 0.5) * np.eye(3)[data.y[ids]] for said, ids in parts))

    return scores


def test_development_messages_choose_and_test_messages_score(few: Messages) -> None:
    method = IntentMethod("two", {"wrong": constant(0.1), "right": constant(0.9)})
    found, chosen = intents.IntentCell(method, few).score(0)
    assert chosen == "right"
    assert found == {"mrr": 1.0, "accuracy": 1.0, "validation_mrr": 1.0}
    method = IntentMethod(
        "luck on the test messages", {"right": constant(0.9, on_test=0.1), "lucky": constant(0.1, on_test=0.9)}
    )
    assert intents.IntentCell(method, few).score(0) == (
        {"mrr": pytest.approx(1 / 3), "accuracy": 0.0, "validation_mrr": 1.0},
        "right",
    )
    found, _ = intents.IntentCell(IntentMethod("wrong", {"": constant(0.1)}), few).score(0)
    assert found == {"mrr": pytest.approx(1 / 3), "accuracy": 0.0, "validation_mrr": pytest.approx(1 / 3)}


def test_the_table_is_resumed_and_has_both_metrics_and_the_papers_figure(
    few: Messages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def noted(messages: Messages, seed: int) -> IntentScores:
        asked.append(seed)
        return constant(0.9 if seed else 0.1)(messages, seed)

    monkeypatch.setattr(intents, "_messages", lambda dataset, progress: few)
    monkeypatch.setitem(METHODS, "lstm", IntentMethod("LSTM", {"": noted}, published=0.276))
    called: list[str] = []
    for _ in range(2):
        table = intents.run(
            ["lstm"], quick=True, on_seed=called.append, scores=Scores(tmp_path / "kept.jsonl"), datasets=["swda20"]
        )
    assert asked == [0, 1]
    assert called == ["LSTM, swda20"] * 4
    first, second = table.rows
    assert (first.metric, first.paper, first.labels) == ("mrr", 0.276, None)
    assert first.mean == pytest.approx(2 / 3)
    assert (second.metric, second.mean, second.paper) == ("accuracy", 0.5, None)
    assert first.standard_error == pytest.approx(1 / 3)  # (1 - 1/3) / sqrt(2) / sqrt(2)
    assert any("12 / 3 / 3 messages" in note for note in table.notes)


def test_rows_without_chance_run_once_unless_labels_are_drawn() -> None:
    assert intents.count(["frequency", "lstm"], 5, False, ["swda20"]) == 1 + 5
    assert intents.count(["frequency", "lstm"], 5, False, ["clinc20-few"]) == 5 + 5
    assert intents.count(["frequency", "lstm"], 5, True, ["clinc20-few", "clinc20"]) == 2 + 2 + 1 + 2


@pytest.mark.parametrize(
    ("rows", "datasets", "text"),
    [
        (["nmg"], ["swda20"], r"unknown row 'nmg' \(did you mean 'ngm'\?\); choose from random, frequency, tfidf"),
        (["ngm", "ngm"], ["swda20"], "row 'ngm' is given twice; name each once"),
        (["ngm"], ["swda"], r"unknown data set 'swda' \(did you mean 'swda20'\?\); choose from swda20, clinc20"),
    ],
)
def test_rows_and_data_sets_that_are_not_there_are_refused(rows: list[str], datasets: list[str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        intents.check(rows, datasets)


@needs("swda20")
def test_the_messages_are_as_many_as_in_the_paper_and_the_graph_leaves_new_ones_out() -> None:
    messages = intents._messages("swda20", None)
    assert [len(ids) for ids in (messages.data.train, messages.data.validation, messages.data.test)] == [
        3832,
        560,
        1091,
    ]
    assert len(messages.data.classes) == 20
