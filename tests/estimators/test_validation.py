"""Rows held out for validation, and folds of labelled rows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, log_loss

from ngm import Graph, LabeledKFold, NGMClassifier, NGMRegressor
from ngm.estimators.validation import hold_out
from ngm.recipes.problem import HeldOut
from ngm.rows import Inputs
from ngm.task import ClassTask
from ngm.training import Epoch

SMALL = {"hidden": (8,), "epochs": 4, "batch_size": 16, "learning_rate": 0.01, "recipe": "paper"}
TERMS = ("supervised", "ll", "lu", "uu", "repulsion", "total", "h_norm", "h_spread")


@pytest.fixture
def data() -> tuple[NDArray[np.float32], NDArray[np.int64], Graph]:
    """40 rows, 30 of them labelled: 20 of class 0 and 10 of class 1."""
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 1] * 10 + [-1] * 10)
    x = rng.normal(size=(40, 4)).astype(np.float32)
    return x, y, Graph.from_edges(rng.integers(40, size=(80, 2)), num_nodes=40)


def held(validation: object, x: NDArray[np.float32], y: NDArray[np.int64], seed: int = 0) -> HeldOut:
    return held_in(validation, x, y, torch.float32, seed)


def held_in(validation: object, x: Inputs, y: NDArray[np.int64], dtype: torch.dtype, seed: int = 0) -> HeldOut:
    targets, task = torch.from_numpy(y), ClassTask(np.arange(2))
    return hold_out(validation, x, targets, targets >= 0, task, lambda given: given, seed, dtype)


def test_a_share_takes_the_same_share_of_every_class(data) -> None:
    x, y, _ = data
    for seed in range(5):
        out = held(0.2, x, y, seed)
        assert np.bincount(out.y.numpy()).tolist() == [4, 2]
        assert np.bincount(y[out.labeled.numpy()]).tolist() == [16, 8]
    assert not torch.equal(held(0.2, x, y, 0).labeled, held(0.2, x, y, 1).labeled)
    assert torch.equal(held(0.25, x, y).labeled, held(np.float32(0.25), x, y).labeled)


def test_a_share_works_where_a_class_has_a_single_row(data) -> None:
    x, y, _ = data
    y = np.where(np.arange(40) == 0, 5, y)
    out = held(0.2, x, y)
    assert (len(out.y), int(out.labeled.sum())) == (6, 24)


def test_ids_and_mask_take_the_rows_they_name(data) -> None:
    x, y, _ = data
    ids = [7, 2, 5]
    for way in (ids, np.array(ids), tuple(ids), torch.tensor(ids), pd.Series(ids)):
        out = held(way, x, y)
        assert out.y.tolist() == [y[7], y[2], y[5]]
        np.testing.assert_array_equal(out.x, x[ids])
        assert (~out.labeled).nonzero()[:, 0].tolist() == [2, 5, 7, *range(30, 40)]
    mask = np.isin(np.arange(40), ids)
    for way in (mask, mask.tolist(), torch.from_numpy(mask)):
        assert held(way, x, y).y.tolist() == [y[2], y[5], y[7]]


def test_two_ids_are_not_taken_for_a_pair(data) -> None:
    x, y, _ = data
    assert held((4, 5), x, y).y.tolist() == [y[4], y[5]]


def test_rows_are_taken_of_every_kind_of_input(data) -> None:
    x, y, _ = data
    sparse = held([3, 1], sp.csr_array(x), y).x
    np.testing.assert_array_equal(sparse.toarray(), x[[3, 1]])
    parts = held([3, 1], {"a": x, "b": x[:, :1]}, y).x
    np.testing.assert_array_equal(parts["a"], x[[3, 1]])
    np.testing.assert_array_equal(parts["b"], x[[3, 1], :1])


def test_rows_are_taken_in_the_precision_that_is_trained_in(data) -> None:
    x, y, _ = data
    exact = x.astype(np.float64) + 1e-12
    for dtype, expected in ((torch.float64, exact), (torch.float32, exact.astype(np.float32))):
        out = held_in([3, 1], {"a": exact}, y, dtype).x
        np.testing.assert_array_equal(out["a"], expected[[3, 1]], strict=True)


def test_a_pair_is_validated_on_as_it_is_and_hides_nothing(data) -> None:
    x, y, graph = data
    model = NGMClassifier(**SMALL, validation=(x[:7].tolist(), y[:7].tolist())).fit(x, y, graph=graph)
    plain = NGMClassifier(**SMALL).fit(x, y, graph=graph)
    assert [[e[t] for t in TERMS] for e in model.history_.epochs] == [
        [e[t] for t in TERMS] for e in plain.history_.epochs
    ]
    best = model.history_.epochs[model.history_.best_epoch]
    assert best["validation_cost"] == pytest.approx(log_loss(y[:7], model.predict_proba(x[:7])), rel=1e-5)
    assert best["validation_accuracy"] == accuracy_score(y[:7], model.predict(x[:7]))


def terms(history: list[Epoch]) -> list[list[float]]:
    return [[epoch[name] for name in TERMS] for epoch in history]


def test_labels_of_validation_rows_are_hidden_from_training(data) -> None:
    x, y, graph = data
    ids = [0, 1, 2, 3, 4, 5]
    changed = y.copy()
    changed[ids] = 1 - y[ids]
    one, other = (NGMClassifier(**SMALL, validation=ids).fit(x, t, graph=graph) for t in (y, changed))
    assert terms(one.history_.epochs) == terms(other.history_.epochs)
    costs = [[e["validation_cost"] for e in m.history_.epochs] for m in (one, other)]
    assert costs[0] != costs[1]
    unlabeled = np.where(np.isin(np.arange(40), ids), -1, y)
    assert terms(NGMClassifier(**SMALL).fit(x, unlabeled, graph=graph).history_.epochs) == terms(one.history_.epochs)
    assert one.num_labeled_ == 24


def test_numbers_of_validation_rows_are_hidden_from_training_and_its_scale(data) -> None:
    x, _, graph = data
    y = x[:, 0].astype(np.float64)
    changed = np.where(np.arange(40) < 6, 1000.0, y)
    one, other = (NGMRegressor(**SMALL, validation=range(6)).fit(x, t, graph=graph) for t in (y, changed))
    assert terms(one.history_.epochs) == terms(other.history_.epochs)
    assert one.mean_ == other.mean_ == pytest.approx(y[6:].mean())
    assert one.history_.epochs[0]["validation_cost"] < other.history_.epochs[0]["validation_cost"]


def test_several_labels_are_validated_by_micro_f1(data) -> None:
    x, _, graph = data
    y = (x[:, :3] > 0).astype(int)
    model = NGMClassifier(**SMALL, validation=list(range(12))).fit(x, y, graph=graph)
    best = model.history_.epochs[model.history_.best_epoch]
    assert best["validation_micro_f1"] == pytest.approx(f1_score(y[:12], model.predict(x[:12]), average="micro"))


def test_soft_labels_are_validated_by_their_largest_share(data) -> None:
    x, y, graph = data
    soft = np.where((y == 1)[:, None], [0.3, 0.7], [0.9, 0.1])
    soft[30:] = -1
    certain = (x[:12], np.eye(2)[y[:12]])  # all shares 0 or 1
    for validation in (list(range(12)), certain):
        model = NGMClassifier(**SMALL, validation=validation).fit(x, soft, graph=graph)
        best = model.history_.epochs[model.history_.best_epoch]
        assert best["validation_accuracy"] == accuracy_score(y[:12], model.predict(x[:12]))


def test_regression_is_validated_by_the_squared_error_of_scaled_targets(data) -> None:
    x, _, graph = data
    y = 100 * x[:, 0].astype(np.float64) + 5
    model = NGMRegressor(**SMALL, validation=list(range(12))).fit(x, y, graph=graph)
    best = model.history_.epochs[model.history_.best_epoch]
    error = float(np.mean(((model.predict(x[:12]) - y[:12]) / model.scale_) ** 2))
    assert best["validation_negative_squared_error"] == pytest.approx(-error, rel=1e-4)


KINDS = "give a share of the labelled rows (0.2, say), ids of labelled rows, a mask of 40 rows, or a pair (x, y)"


@pytest.mark.parametrize(
    ("validation", "text"),
    [
        (1.5, "validation is 1.5; a share must be between 0 and 1"),
        (0.0, "validation is 0.0; a share must be between 0 and 1"),
        (0.99, "validation is 0.99 of 30 labelled rows, which leaves none on one side; give node ids"),
        (3, f"validation is 3; {KINDS}"),
        (True, f"validation is True; {KINDS}"),
        ("0.2", "validation is '0.2'; give 'auto', a share, ids, a mask, or a pair (x, y)"),
        ([], f"validation is []; {KINDS}"),
        ([0.5], f"validation is [0.5]; {KINDS}"),
        ([True, False], f"validation is [True, False]; {KINDS}"),
        ([False] * 40, "validation is a mask without any row; give rows whose y is known"),
        ([3, 40], "validation names row 40; give ids between 0 and 39"),
        ([3, -1], "validation names row -1; give ids between 0 and 39"),
        ([3, 35], "validation row 35 has no label; give rows whose y is known"),
        ([4, 3, 3, 3], "validation names row 3 3 times, which would count as often; name each row once"),
        (list(range(30)), "validation takes all 30 labelled rows; leave some for training"),
        (([[0.0] * 4] * 2, [0]), "x has 2 rows, y has 1; give a target per row, -1 or NaN where unlabelled"),
        (([[0.0] * 4] * 2, [0, -1]), "row 1 of the y of validation has no label; leave such rows out"),
        (
            ([[0.0] * 4], [[0, 1]]),
            "the y of validation is read as labels (2), the y of fit as classes (2); give both in the same form",
        ),
    ],
)
def test_validation_that_cannot_be_is_refused(data, validation: object, text: str) -> None:
    x, y, graph = data
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        NGMClassifier(**SMALL, validation=validation).fit(x, y, graph=graph)


@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([1.0, np.nan], "row 1 of the y of validation is NaN; leave such rows out"),
        ([[1.0, 2.0], [3.0, 4.0]], "the y of validation has 2 columns, the y of fit 1; give as many"),
    ],
)
def test_numbers_that_cannot_validate_are_refused(data, y: list, text: str) -> None:
    x, _, _ = data
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        NGMRegressor(**SMALL, validation=(x[:2], y)).fit(x, x[:, 0])


# Folds


def test_folds_score_every_labelled_row_once_and_train_on_the_rest(data) -> None:
    x, y, _ = data
    folds = list(LabeledKFold(5).split(x, y))
    assert len(folds) == LabeledKFold(5).get_n_splits() == 5
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(30))
    for train, test in folds:
        assert np.bincount(y[test]).tolist() == [4, 2]
        assert sorted([*train, *test]) == list(range(40))
        assert set(range(30, 40)) <= set(train.tolist())


def test_folds_depend_on_the_seed_alone(data) -> None:
    x, y, _ = data
    one, same, other = ([t.tolist() for _, t in LabeledKFold(3, seed=s).split(x, y)] for s in (1, 1, 2))
    assert one == same != other


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b", np.nan, "a", "b", np.nan],
        np.array([0.0, 1.0, np.nan, 0.0, 1.0, -1.0]),
        [[1, 0], [0, 1], [-1, -1], [1, 1], [0, 0], [-1, -1]],
        [0.5, 0.1, np.nan, 0.3, -1.0, np.nan],  # among numbers, -1 is one
    ],
    ids=["words", "whole floats", "several labels", "numbers"],
)
def test_folds_know_what_is_unlabelled_in_every_kind_of_target(y: list) -> None:
    folds = list(LabeledKFold(2).split(np.zeros((6, 1)), y))
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == [0, 1, 3, 4]


def test_folds_of_whole_numbers_are_not_stratified_where_told_so() -> None:
    y = np.array([-1.0, 0.0, 1.0, np.nan, 2.0, 3.0])
    scored = [test.tolist() for _, test in LabeledKFold(5, stratify=False).split(np.zeros((6, 1)), y)]
    assert sorted(row for rows in scored for row in rows) == [0, 1, 2, 4, 5]


def test_folds_of_numbers_know_none_as_unlabelled() -> None:
    y = np.array([-1.0, 0.0, 1.0, None, 2.0, 3.0], dtype=object)
    scored = [test.tolist() for _, test in LabeledKFold(5, stratify=False).split(np.zeros((6, 1)), y)]
    assert sorted(row for rows in scored for row in rows) == [0, 1, 2, 4, 5]


def test_folds_of_words_need_not_be_stratified() -> None:
    y = np.array(["a", "b", "a", None, "b"], dtype=object)
    scored = [test.tolist() for _, test in LabeledKFold(4, stratify=False).split(np.zeros((5, 1)), y)]
    assert sorted(row for rows in scored for row in rows) == [0, 1, 2, 4]


def test_validation_never_takes_the_last_label_of_a_class() -> None:
    x = np.zeros((8, 1), dtype=np.float32)
    for seed in range(5):
        model = NGMClassifier(epochs=1, validation=0.5, seed=seed).fit(x, [0, 0, 0, 1, 2, -1, -1, -1])
        assert 1 <= model.num_validation_ <= 3
        assert model.num_labeled_ == 5 - model.num_validation_
        assert len(model.classes_) == 3


def test_validation_that_could_only_take_last_labels_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"0\.4 of 2 labelled rows, which would take all labels of a class; label more rows"
    ):
        NGMClassifier(validation=0.4).fit(np.zeros((4, 1)), [0, 1, -1, -1])
