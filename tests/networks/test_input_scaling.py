"""Inputs on one scale: chosen by the kind of x, kept in the network, the same for dense and sparse rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.preprocessing import StandardScaler

from ngm import Graph, NGMClassifier, load
from ngm.networks import FFNN
from ngm.networks.ffnn import FFNNModule
from ngm.networks.input_scaling import Standardize, choose_input_scaling, column_scale

RNG = np.random.default_rng(0)
MEASURED = RNG.normal(5, [1, 10, 100, 0.1], size=(40, 4)).astype(np.float32)
COUNTS = RNG.poisson(0.05, size=(40, 100)).astype(np.float32)
Y = np.where(np.arange(40) < 20, np.arange(40) % 2, -1)
PATH = Graph.from_edges([[i, i + 1] for i in range(39)])


@pytest.mark.parametrize(
    ("x", "chosen"),
    [
        (MEASURED, "standardize"),
        (COUNTS, "unit_rows"),
        (sp.csr_matrix(COUNTS), "unit_rows"),
        (COUNTS - 0.5, "standardize"),
        (np.eye(10), "unit_rows"),
        (RNG.random((10, 100)), "standardize"),
        (sp.csr_matrix(RNG.random((10, 3))), "standardize"),
        (sp.csr_matrix(-COUNTS), "unit_rows"),
    ],
    ids=["numbers", "dense counts", "sparse counts", "negative", "one-hot", "filled", "sparse but filled", "sparse"],
)
def test_the_scale_is_chosen_by_the_kind_of_x(x: np.ndarray, chosen: str) -> None:
    assert choose_input_scaling(x) == chosen


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_columns_are_measured_as_scikit_learn_does(kind: type) -> None:
    mean, deviation = column_scale(kind(MEASURED))
    expected = StandardScaler().fit(MEASURED.astype(np.float64))
    np.testing.assert_allclose(mean, expected.mean_, rtol=1e-6)
    np.testing.assert_allclose(deviation, expected.scale_, rtol=1e-6)


def test_a_constant_column_is_only_shifted() -> None:
    mean, deviation = column_scale(np.full((9, 1), 0.1, dtype=np.float32))
    assert (mean.round(6), deviation) == (0.1, 1.0)


def test_a_sparse_row_is_standardised_to_the_same_as_a_dense_one() -> None:
    scale = Standardize(4)
    scale.set_scale(*column_scale(MEASURED))
    dense = torch.from_numpy(MEASURED)
    torch.testing.assert_close(scale(dense.to_sparse_csr()), scale(dense))
    torch.testing.assert_close(scale(dense).std(dim=0, correction=0), torch.ones(4), rtol=1e-3, atol=0)


@pytest.mark.parametrize("x", [MEASURED, COUNTS], ids=["numbers", "counts"])
def test_units_of_x_do_not_matter(x: np.ndarray) -> None:
    """Rows of counts ten times as long, columns of numbers in other units: the same network."""
    other = x * 10 if x is COUNTS else x * np.array([1, 8, 64, 512]) + 3
    first, second = (
        NGMClassifier(recipe="paper", hidden=(4,), epochs=3)
        .fit(a.astype(np.float64), Y, graph=PATH)
        .predict_proba(a.astype(np.float64))
        for a in (x, other)
    )
    np.testing.assert_allclose(first, second, rtol=1e-5)


def test_rows_that_take_no_part_do_not_change_the_scale() -> None:
    x = np.vstack([MEASURED, MEASURED[:5] * 1000])
    y = np.append(Y, np.full(5, -1))
    graph = Graph.from_edges(PATH.edges, num_nodes=45)
    scale = NGMClassifier(recipe="paper", hidden=(4,), epochs=1).fit(x, y, graph=graph).network_.scale
    np.testing.assert_allclose(scale.mean.numpy(), MEASURED.mean(axis=0), rtol=1e-5)


def test_the_scale_is_kept_with_the_run(tmp_path: Path) -> None:
    model = NGMClassifier(recipe="paper", hidden=(4,), epochs=2).fit(MEASURED, Y, graph=PATH)
    assert model.settings_.input_scaling == "standardize"
    model.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.settings_.input_scaling == "standardize"
    np.testing.assert_array_equal(again.predict_proba(MEASURED), model.predict_proba(MEASURED))


def test_it_can_be_switched_off_and_is_for_the_feed_forward_network() -> None:
    model = NGMClassifier(hidden=(4,), epochs=1, network=FFNN(input_scaling="none")).fit(MEASURED, Y)
    assert (model.settings_.input_scaling, model.network_.scale) == ("none", None)
    own = NGMClassifier(network=lambda d, c: torch.nn.Linear(d, c), layer="output", epochs=1).fit(MEASURED, Y)
    assert own.settings_.input_scaling == "none"
    with pytest.raises(ValueError, match="input_scaling is 'unit'; choose"):
        FFNNModule(3, 2, input_scaling="unit")  # type: ignore[arg-type]
