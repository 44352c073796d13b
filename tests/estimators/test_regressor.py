"""`NGMRegressor`: numbers with and without NaN, their scale, several columns, and weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score

from ngm import Graph, LabeledKFold, NGMRegressor, load
from ngm.estimators.base import trained_model
from ngm.networks import FFNN
from ngm.targets import PartlyLabeledWarning

SMALL = {"hidden": (8,), "epochs": 4, "batch_size": 16, "learning_rate": 0.01}
N = 24
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3)).astype(np.float32)
Y = 50 + 10 * X[:, 0].astype(np.float64)
FEW = np.where(np.arange(N) < 14, Y, np.nan)
GRAPH = Graph.from_edges(RNG.integers(N, size=(50, 2)), RNG.random(50), num_nodes=N)


def test_predictions_are_the_network_output_on_the_scale_of_y() -> None:
    model = NGMRegressor(**SMALL).fit(X, FEW, graph=GRAPH)
    raw = model.network_(torch.from_numpy(X)).detach().numpy()[:, 0]
    np.testing.assert_allclose(model.predict(X), raw * Y[:14].std() + Y[:14].mean(), rtol=1e-6)
    assert model.predict(X).shape == (N,)


def test_another_unit_of_y_gives_the_same_predictions_in_that_unit() -> None:
    one = NGMRegressor(**SMALL).fit(X, FEW, graph=GRAPH)
    other = NGMRegressor(**SMALL).fit(X, FEW * 1000 - 7, graph=GRAPH)
    np.testing.assert_allclose(other.predict(X), one.predict(X) * 1000 - 7, rtol=1e-4)
    assert other.score(X, FEW * 1000 - 7) == pytest.approx(one.score(X, FEW), rel=1e-4)


def test_a_constant_target_is_moved_but_not_scaled() -> None:
    model = NGMRegressor(**SMALL).fit(X, np.full(N, 7.0))
    assert (model.mean_.tolist(), model.scale_.tolist()) == ([7.0], [1.0])
    raw = model.network_(torch.from_numpy(X)).detach().numpy()[:, 0]
    np.testing.assert_allclose(model.predict(X), raw + 7, rtol=1e-6)


@pytest.mark.parametrize(
    "y",
    [
        FEW.tolist(),
        [None if v != v else v for v in FEW],
        pd.Series(FEW),
        torch.from_numpy(FEW),
        np.array([pd.NA if v != v else v for v in FEW], dtype=object),
        np.ma.array(np.nan_to_num(FEW), mask=np.isnan(FEW)),
    ],
    ids=["list", "None", "series", "tensor", "NA", "masked"],
)
def test_every_way_to_write_the_same_numbers_gives_the_same_predictions(y: object) -> None:
    plain = NGMRegressor(**SMALL).fit(X, FEW, graph=GRAPH)
    np.testing.assert_array_equal(NGMRegressor(**SMALL).fit(X, y, graph=GRAPH).predict(X), plain.predict(X))
    assert plain.num_given_ == 14


def test_minus_one_is_a_number() -> None:
    y = np.where(np.arange(N) % 2, -1.0, 1.0)
    model = NGMRegressor(**SMALL).fit(X, y)
    assert (model.num_labeled_, model.mean_.tolist(), model.scale_.tolist()) == (N, [0.0], [1.0])


def test_several_columns_are_scaled_each_by_itself() -> None:
    y = np.stack([FEW, 1000 * X[:, 1]], axis=1)
    y[14:, 1] = np.nan
    model = NGMRegressor(**SMALL).fit(X, y, graph=GRAPH)
    assert model.num_given_ == 14
    np.testing.assert_allclose(model.mean_, y[:14].mean(axis=0))
    np.testing.assert_allclose(model.scale_, y[:14].std(axis=0))
    assert model.predict(X).shape == (N, 2)
    assert model.score(X, y) == pytest.approx(r2_score(y[:14], model.predict(X)[:14]))


def test_rows_with_a_number_in_some_columns_only_are_unlabelled_with_a_warning() -> None:
    y = np.stack([FEW, 1000 * X[:, 1]], axis=1)
    text = r"^10 of 24 rows of y have a number in some of their 2 columns only \(row 14 is the first\) and count as "
    with pytest.warns(PartlyLabeledWarning, match=text):
        model = NGMRegressor(**SMALL).fit(X, y, graph=GRAPH)
    assert model.num_given_ == 14
    with pytest.warns(PartlyLabeledWarning, match=text):
        assert model.score(X, y) == pytest.approx(r2_score(y[:14], model.predict(X[:14])))
    tests = [test for _, test in LabeledKFold(2, stratify=False).split(X, y)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(14))


def test_numbers_far_from_0_keep_their_differences(tmp_path: Path) -> None:
    seconds = 1.7e9 + 60 * X[:, 0].astype(np.float64)
    settings = SMALL | {"epochs": 300, "hidden": (32,), "network": FFNN(input_scaling="none")}
    model = NGMRegressor(**settings).fit(X, seconds, graph=GRAPH)
    near = NGMRegressor(**settings).fit(X, seconds - 1.7e9, graph=GRAPH)
    assert model.predict(X).dtype == np.float64
    assert model.score(X, seconds) > 0.98
    np.testing.assert_allclose(model.predict(X) - 1.7e9, near.predict(X), atol=0.5)
    again = load(model.save(tmp_path / "run"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert np.array(
        [float(v) for v in trained_model(model).task.target_names(torch.from_numpy(seconds)[:, None])]
    ) == pytest.approx(seconds, abs=1e-3 * seconds.std())


def test_the_number_of_digits_grows_with_the_mean_over_the_scale() -> None:
    for shift, digits in ((0.0, 6), (50.0, 6), (1.7e9, 14)):
        assert NGMRegressor(**SMALL | {"epochs": 1}).fit(X, shift + 10 * X[:, 0].astype(np.float64)).digits_ == digits


@pytest.mark.parametrize(("wrong", "shown"), [("much", "'much'"), (object, "<class 'object'>")])
def test_what_is_no_number_is_named(wrong: object, shown: str) -> None:
    y = np.array([*FEW[:-1].tolist(), wrong], dtype=object)
    with pytest.raises(ValueError, match=f"^y holds {shown}; give numbers, NaN where unlabelled$"):
        NGMRegressor(**SMALL).fit(X, y)


def test_score_is_r_squared_over_labelled_rows() -> None:
    model = NGMRegressor(**SMALL).fit(X, FEW, graph=GRAPH)
    weight = np.arange(1, N + 1)
    assert model.score(X, FEW) == pytest.approx(r2_score(Y[:14], model.predict(X[:14])))
    expected = r2_score(Y[:14], model.predict(X[:14]), sample_weight=weight[:14])
    assert model.score(X, FEW, sample_weight=weight) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"^none of the 24 rows has a number; score needs some$"):
        model.score(X, np.full(N, np.nan))


def test_the_cost_is_the_squared_error_of_scaled_numbers() -> None:
    longer, shorter = (
        NGMRegressor(**SMALL | {"epochs": n, "batch_size": 1000}, recipe="paper").fit(X, FEW, graph=GRAPH)
        for n in (5, 4)
    )
    error = np.mean(((shorter.predict(X)[:14] - Y[:14]) / Y[:14].std()) ** 2)
    assert longer.history_.epochs[4]["supervised"] == pytest.approx(error, rel=1e-4)


def test_a_sample_weight_of_k_equals_a_row_that_is_there_k_times() -> None:
    weight = np.array([3, 1, 2, 0] * 6)
    settings = SMALL | {"batch_size": 1000, "dtype": "float64", "network": FFNN(input_scaling="none")}
    weighted = NGMRegressor(**settings).fit(X, Y, sample_weight=weight)
    repeated = NGMRegressor(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-5)
    assert not np.allclose(weighted.predict(X), NGMRegressor(**settings).fit(X, Y).predict(X), rtol=1e-3)


def test_cross_validation_scores_labelled_rows() -> None:
    scores = cross_val_score(NGMRegressor(**SMALL), X, FEW, cv=LabeledKFold(2), params={"graph": GRAPH})
    by_hand = [
        NGMRegressor(**SMALL).fit(X[a], FEW[a], graph=GRAPH.subgraph(a)).score(X[b], Y[b])
        for a, b in LabeledKFold(2).split(X, FEW)
    ]
    assert scores.tolist() == by_hand


def test_numbers_have_no_classes_to_balance() -> None:
    with pytest.raises(
        ValueError, match=r"^sampling is 'balanced', which is for classes; NGMRegressor takes sampling='p"
    ):
        NGMRegressor(**SMALL, sampling="balanced").fit(X, FEW)
