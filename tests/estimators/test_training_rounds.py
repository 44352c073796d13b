"""What self-training and co-training share, with real networks: classes, saving, chance, and what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

import ngm
from ngm import CoTraining, Graph, NGMClassifier, SelfTraining
from ngm.estimators.round_records import Round, best_round
from ngm.estimators.training_rounds import as_targets, named
from tests.stub_classifier import Labels, Stub, always, fitted, halves, nodes, path

SMALL = {"hidden": (4,), "epochs": 2, "recipe": "paper"}
METHODS = [SelfTraining, CoTraining]
each = pytest.mark.parametrize("method", METHODS)
Data = tuple[NDArray[np.float32], Labels, Graph]
SEVEN = [0, -1, -1, -1, -1, -1, 1]


def test_the_best_round_is_the_earliest_of_equals_or_the_last_without_validation() -> None:
    def rounds(*scores: float | None) -> list[Round]:
        return [Round(i, 0, 0, None, None, score) for i, score in enumerate(scores)]

    assert best_round(rounds(0.1, 0.7, 0.7, 0.3)) == 1
    assert best_round(rounds(None, None, None)) == 2


def test_certain_shares_become_classes_and_others_stay() -> None:
    certain = np.array([[1, 0], [-1, -1], [0, 1]], dtype=np.float32)
    assert as_targets(certain).tolist() == [0, -1, 1]
    unsure = np.array([[0.5, 0.5], [-1, -1], [0, 1]], dtype=np.float32)
    assert as_targets(unsure) is unsure


def test_class_names_stand_for_numbers_and_unlabelled_stays_so() -> None:
    numbers = np.array([1, -1, 0])
    assert named(numbers, np.array([5, 7])).tolist() == [7, -1, 5]
    assert named(numbers, np.array(["a", "b"], dtype=object)).tolist() == ["b", None, "a"]


@each
def test_words_come_back_as_words_and_numbers_as_numbers(method: type, data: Data) -> None:
    x, y, graph = data
    words = np.array(["no", "yes", None], dtype=object)[y]
    for given, classes in ((words, ["no", "yes"]), (np.where(y < 0, -1, y * 3 + 2), [2, 5])):
        model = method(NGMClassifier(**SMALL), rounds=2).fit(x, given, graph=graph)
        assert model.classes_.tolist() == model.estimator_.classes_.tolist() == classes
        assert set(model.predict(x).tolist()) <= set(classes)
        chosen = model.classes_[model.predict_proba(x).argmax(axis=1)]
        np.testing.assert_array_equal(model.predict(x), chosen)
        if method is SelfTraining:
            seeds = y >= 0
            np.testing.assert_array_equal(model.labels_[seeds], np.asarray(given)[seeds])


@each
def test_what_is_saved_predicts_the_same_and_has_the_rounds_beside_it(method: type, data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    words = np.array(["no", "yes", None], dtype=object)[y]
    model = method(NGMClassifier(**SMALL, validation=0.3), rounds=2).fit(x, words, graph=graph)
    folder = model.save(tmp_path / "run")
    loaded = ngm.load(folder)
    np.testing.assert_array_equal(loaded.predict(x), model.predict(x))
    np.testing.assert_array_equal(loaded.predict_proba(x), model.predict_proba(x))
    rounds = json.loads((folder / "rounds.json").read_text(encoding="utf-8"))
    assert rounds["rounds"] == [asdict(record) for record in model.history_]
    assert (rounds["best_round"], rounds["stopped"]) == (model.best_round_, model.stopped_)


@each
def test_the_same_seed_gives_the_same_bits_and_another_does_not(method: type, data: Data) -> None:
    x, y, graph = data
    one, same, other = (
        method(NGMClassifier(**SMALL, seed=seed, validation=0.3), rounds=2).fit(x, y, graph=graph).predict_proba(x)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@each
def test_sparse_inputs_are_trained_on_as_dense_ones_are(method: type, data: Data) -> None:
    x, y, graph = data
    dense, sparse = (
        method(NGMClassifier(**SMALL, validation=[0, 1, 2]), rounds=1).fit(rows, y, graph=graph)
        for rows in (x, sp.csr_matrix(x))
    )
    np.testing.assert_allclose(sparse.predict_proba(x), dense.predict_proba(x), atol=1e-6)
    assert sparse.history_ == dense.history_


@each
def test_the_estimator_that_was_given_is_left_as_it_was(method: type, data: Data) -> None:
    x, y, graph = data
    given = NGMClassifier(**SMALL, validation=0.3)
    method(given, rounds=1).fit(x, y, graph=graph)
    assert given.validation == 0.3
    assert not hasattr(given, "network_")


REFUSED = [
    ({"rounds": 0}, "rounds is 0; it must be a whole number of at least 1"),
    ({"per_round": 2.5}, "per_round is 2.5; it must be a whole number of at least 1"),
    ({"patience": 0}, "patience is 0; it must be a whole number of at least 1"),
    ({"patience": 2}, "patience is 2, but the estimator has no validation to improve on"),
    ({"confidence": -0.1}, "confidence is -0.1; it must be a number of at least 0 and at most 1"),
    ({"candidates": "some"}, "candidates is 'some'; choose from neighbors, all"),
    ({"teacher": "me"}, "teacher is 'me'; choose from network, propagation, stack"),
    ({"balance": "even"}, "balance is 'even'; choose from none, equal, seeds"),
]


@pytest.mark.parametrize(("settings", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_a_setting_of_self_training_that_cannot_be_is_refused(settings: dict, text: str) -> None:
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        fitted(halves, SEVEN, path(7), **settings)


@pytest.mark.parametrize("settings", [{}, {"candidates": "all", "teacher": "propagation"}])
def test_self_training_needs_a_graph_unless_nothing_asks_for_neighbours(settings: dict) -> None:
    text = "self-training labels neighbours in a graph; give graph=, or set candidates='all' and teacher='network'"
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        fitted(halves, SEVEN, None, **settings)


@each
def test_several_labels_a_row_and_validation_on_all_seeds_are_refused(method: type) -> None:
    text = "y has shape (7, 2); training in rounds takes one class per row, (n,)"
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        method(Stub(halves)).fit(nodes(7), np.full((7, 2), 0.5), graph=path(7))
    with pytest.raises(ValueError, match=r"\Avalidation takes all 2 labelled rows; leave some for training\Z"):
        method(Stub(halves, validation=[0, 6])).fit(nodes(7), SEVEN, graph=path(7))
    with pytest.raises(ValueError, match=r"\Atruth has 2 entries for 7 rows; give a class per row, -1 where unknown\Z"):
        method(Stub(halves)).fit(nodes(7), SEVEN, graph=path(7), truth=[0, 1])


@each
def test_one_row_is_enough_for_validation(method: type, data: Data) -> None:  # labels[tensor of one id] is a scalar
    x, y, graph = data
    model = method(NGMClassifier(**SMALL, validation=[0]), rounds=1).fit(x, y, graph=graph)
    assert model.history_[0].validation in (0.0, 1.0)


def test_soft_labels_of_grown_nodes_stay_without_relabel() -> None:  # all grown nodes get the new shares
    def says(ids: Labels, told: Labels) -> NDArray[np.floating]:  # surer each time
        count = int((told >= 0).sum()) if told.ndim == 1 else int((told[:, 0] >= 0).sum())
        return np.where((ids < 4)[:, None], [0.6, 0.4], [0.4, 0.6]) if count == 2 else halves(ids, told)

    _, told, _ = fitted(says, SEVEN, path(7), soft=True, relabel=False, rounds=2)
    np.testing.assert_allclose(told[1][1], [0.6, 0.4], rtol=1e-6)
    np.testing.assert_allclose(told[2][1], [0.6, 0.4], rtol=1e-6)


def test_labels_are_what_the_last_training_was_told() -> None:  # relabelled once more after it
    def says(ids: Labels, told: Labels) -> NDArray[np.floating]:  # changes its mind about node 1
        return np.where((told[1] >= 0) & (ids == 1)[:, None], [0.2, 0.8], [0.9, 0.1])

    model, told, _ = fitted(says, [0, -1, 1], path(3))
    assert model.stopped_ == "no node is left to label"
    assert model.labels_.tolist() == told[-1] == [0, 0, 1]


def test_balance_keeps_to_the_limit_of_a_round() -> None:  # one of each class, so two
    table = always([[1, 0], [0, 1], [0.9, 0.1], [0.2, 0.8]])
    model, _, _ = fitted(table, [0, 1, -1, -1], path(4), candidates="all", balance="equal", per_round=1)
    assert [r.added for r in model.history_] == [0, 1, 1]


def test_balance_by_seeds_takes_all_where_candidates_are_as_seeds_are() -> None:  # 9 / (9 / 14) is 13.99, made 13
    table = always(([[0.9, 0.1]] * 5 + [[0.1, 0.9]] * 9) * 2)
    y = [0] * 5 + [1] * 9 + [-1] * 14
    model, _, _ = fitted(table, y, None, candidates="all", balance="seeds", rounds=1)
    assert model.history_[1].added == 14


def test_a_run_folder_does_not_change_the_training(data: Data, tmp_path: Path) -> None:
    x, y, graph = data  # a round resumes the one before, which is done, and so is not trained at all
    plain = SelfTraining(NGMClassifier(**SMALL), rounds=2).fit(x, y, graph=graph)
    resumed = SelfTraining(NGMClassifier(**SMALL), rounds=2)
    resumed.fit(x, y, graph=graph, folder=tmp_path / "a", resume=True)
    np.testing.assert_array_equal(resumed.predict_proba(x), plain.predict_proba(x))


def test_a_run_folder_predicts_as_what_was_kept(data: Data, tmp_path: Path) -> None:
    x, y, graph = data  # it has class numbers, and the last round instead of the best
    words = np.array(["no", "yes", None], dtype=object)[y]
    model = SelfTraining(NGMClassifier(**SMALL), rounds=1).fit(x, words, graph=graph, folder=tmp_path / "a")
    np.testing.assert_array_equal(ngm.load(tmp_path / "a").predict(x), model.predict(x))


@each
def test_validation_on_all_seeds_of_a_class_is_refused_by_its_name(method: type, data: Data) -> None:
    x, y, graph = data  # co-training: "could not be broadcast"; self-training: "class 2", which no one called it
    words = np.array(["no", "yes", None], dtype=object)[y]
    words[:3] = "maybe", "yes", "no"
    words[3:5] = "unsure"
    with pytest.raises(ValueError, match="'unsure'"):
        method(NGMClassifier(**SMALL, validation=[3, 4]), rounds=1).fit(x, words, graph=graph)


@each
def test_validation_on_a_class_that_y_lacks_is_refused_by_its_name(method: type, data: Data) -> None:
    x, y, graph = data  # "row 1 of the y of validation has no label"
    with pytest.raises(ValueError, match="class 7 of the validation y is not among"):
        method(NGMClassifier(**SMALL, validation=(x[:2], [0, 7])), rounds=1).fit(x, y, graph=graph)


@each
def test_a_list_of_graphs_is_refused_in_words(method: type, data: Data) -> None:  # self-training: AttributeError
    x, y, graph = data
    with pytest.raises(ValueError, match="graph is a list"):
        method(NGMClassifier(**SMALL), rounds=1).fit(x, y, graph=[graph])


@each
def test_an_interrupted_later_round_leaves_a_model_that_knows_its_classes(method: type, data: Data) -> None:
    x, y, graph = data
    named = np.where(y >= 0, np.array([3, 7, -1])[y], -1)

    def stop(record: object) -> None:
        if record.round == 1:
            raise KeyboardInterrupt

    model = method(NGMClassifier(**SMALL), rounds=3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, named, graph=graph, on_round=stop)
    assert set(model.predict(x).tolist()) <= {3, 7}


@each
def test_only_labelled_rows_are_scored(method: type, data: Data) -> None:
    x, y, graph = data
    model = method(NGMClassifier(**SMALL), rounds=1).fit(x, y, graph=graph)
    known = y >= 0
    assert model.score(x, y) == pytest.approx((model.predict(x)[known] == y[known]).mean())


@each
def test_a_folder_of_other_files_is_refused_before_training(method: type, data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    rounds: list[object] = []
    model = method(NGMClassifier(**SMALL), rounds=1)
    with pytest.raises(FileExistsError, match="holds other files and no run"):
        model.fit(x, y, graph=graph, on_round=rounds.append, folder=tmp_path)
    assert rounds == []


def test_a_plain_run_in_the_folder_of_rounds_leaves_none_of_them(data: Data, tmp_path: Path) -> None:
    x, y, graph = data
    SelfTraining(NGMClassifier(**SMALL), rounds=1).fit(x, y, graph=graph).save(tmp_path / "run")
    assert (tmp_path / "run" / "rounds.json").exists()
    NGMClassifier(**SMALL).fit(x, y, graph=graph).save(tmp_path / "run", overwrite=True)
    assert not (tmp_path / "run" / "rounds.json").exists()


def forms(x: NDArray[np.float32]) -> dict[str, object]:
    """The same rows in every form that `NGMClassifier` takes."""
    columns = {f"c{i}": x[:, i] for i in range(x.shape[1])}
    return {
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "objects": x.astype(object),
        "lists": x.tolist(),
        "coo": sp.coo_matrix(x),
        "tensor": torch.from_numpy(x),
    }


@each
@pytest.mark.parametrize("validation", [[0, 1, 2], "pair"], ids=str)
@pytest.mark.parametrize("form", ["pandas", "polars", "objects", "lists", "coo", "tensor"])
def test_whatever_the_classifier_takes_is_trained_on_as_an_array_is(
    method: type, form: str, validation: object, data: Data
) -> None:
    x, y, graph = data
    given = forms(x)[form]
    NGMClassifier(**SMALL, validation=[0, 1, 2], dtype="float32").fit(given, y, graph=graph)

    def trained(rows: object, table: NDArray[np.float32] | object) -> object:
        wanted = (table, y[:3]) if validation == "pair" else validation
        estimator = NGMClassifier(**SMALL, validation=wanted, dtype="float32")
        return method(estimator, rounds=1).fit(rows, y, graph=graph)

    plain, other = trained(x, x[:3]), trained(given, forms(x[:3])[form])
    assert other.history_ == plain.history_
    np.testing.assert_allclose(other.predict_proba(given), plain.predict_proba(x), atol=1e-6)
    names = [f"c{i}" for i in range(5)] if form in ("pandas", "polars") else None
    assert getattr(other.estimator_, "feature_names_in_", np.array(None)).tolist() == names


@each
def test_texts_are_taken_from_lists_and_columns(method: type) -> None:
    texts = [f"{word} {i}" for i in range(5) for word in ("good fine", "bad poor")]
    y = np.where(np.arange(10) < 6, np.arange(10) % 2, -1)
    graph = Graph.from_edges([[i, i + 2] for i in range(8)])
    outcomes = []
    for given in (texts, pl.Series(texts), np.array(texts, dtype=object)):
        model = method(NGMClassifier(recipe="paper", network="lstm", epochs=1, validation=[0, 1]), rounds=1).fit(
            given, y, graph=graph
        )
        outcomes.append(model.predict_proba(texts))
        assert model.history_[0].validation is not None
    np.testing.assert_array_equal(outcomes[1], outcomes[0])
    np.testing.assert_array_equal(outcomes[2], outcomes[0])


@each
def test_a_true_class_that_no_seed_has_counts_as_wrong(method: type) -> None:  # it was left out of the share
    truth = ["a", "a", "new", "a", "b", None, "b"]
    seeds = ["a", *[None] * 5, "b"]
    model = method(Stub(halves), rounds=4).fit(nodes(7), seeds, graph=path(7), truth=truth)
    assert model.history_[-1].labeled == 7
    assert model.history_[-1].right_in_all == 3 / 4  # of 1 to 5, 2 is wrong and 5 unknown
