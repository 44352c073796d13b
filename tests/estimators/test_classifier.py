"""`NGMClassifier`: every kind of x and y, several graphs, networks of one's own, and that the graph helps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from torch import Tensor, nn
from torch.nn import functional as F

from ngm import EdgeLoader, Graph, NGMClassifier
from ngm.estimators import batch_prediction as forward
from ngm.networks import FFNN
from ngm.rows import Inputs
from tests.small_classifier import FEW, GRAPH, SMALL, N, X, Y, same

# Targets

WAYS_TO_WRITE_FEW = {
    "list": FEW.tolist(),
    "floats with NaN": np.where(FEW < 0, np.nan, FEW),
    "objects with None": np.array([None if v < 0 else int(v) for v in FEW], dtype=object),
    "series": pd.Series(FEW, index=np.arange(N)[::-1]),
    "tensor": torch.from_numpy(FEW),
    "column": FEW[:, None],
}


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("y", WAYS_TO_WRITE_FEW.values(), ids=WAYS_TO_WRITE_FEW)
def test_every_way_to_write_the_same_classes_trains_the_same_network(y: object) -> None:
    model = NGMClassifier(**SMALL).fit(X, y, graph=GRAPH)
    plain = NGMClassifier(**SMALL).fit(X, FEW, graph=GRAPH)
    assert same(model, plain)
    assert model.classes_.tolist() == [0, 1]
    assert model.score(X, y) == plain.score(X, FEW)


WORDS = np.array(["no", "yes"])
WAYS_TO_WRITE_WORDS = {
    "objects with None": np.array([None if v < 0 else str(WORDS[v]) for v in FEW], dtype=object),
    "list with NaN": [np.nan if v < 0 else str(WORDS[v]) for v in FEW],
    "series": pd.Series([None if v < 0 else str(WORDS[v]) for v in FEW]),
    "categories": pd.Series([None if v < 0 else str(WORDS[v]) for v in FEW], dtype="category"),
}


@pytest.mark.parametrize("y", WAYS_TO_WRITE_WORDS.values(), ids=WAYS_TO_WRITE_WORDS)
def test_words_train_the_same_network_and_are_predicted_as_words(y: object) -> None:
    model = NGMClassifier(**SMALL).fit(X, y, graph=GRAPH)
    plain = NGMClassifier(**SMALL).fit(X, FEW, graph=GRAPH)
    assert same(model, plain)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict(X).tolist() == WORDS[plain.predict(X)].tolist()
    assert model.score(X, y) == plain.score(X, FEW)


def test_unlabelled_rows_without_edges_take_no_part() -> None:
    lonely = GRAPH.without(range(20, N))
    changed = X.copy()
    changed[20:] = 100
    one, other = (NGMClassifier(**SMALL).fit(x, FEW, graph=lonely) for x in (X, changed))
    assert same(one, other)


def test_score_is_the_accuracy_over_labelled_rows() -> None:
    model = NGMClassifier(**SMALL).fit(X, FEW, graph=GRAPH)
    assert model.score(X, FEW) == accuracy_score(Y[:14], model.predict(X[:14]))
    wrong = np.where(FEW < 0, -1, 1 - FEW)
    assert model.score(X, wrong) == pytest.approx(1 - model.score(X, FEW))
    weight = np.arange(N)
    expected = np.average(model.predict(X[:14]) == Y[:14], weights=weight[:14])
    assert model.score(X, FEW, sample_weight=weight) == pytest.approx(expected)


def test_score_without_any_labelled_row_is_refused() -> None:
    model = NGMClassifier(**SMALL).fit(X, FEW)
    with pytest.raises(ValueError, match=r"^none of the 24 rows has a label; score needs some$"):
        model.score(X, [-1] * N)


def test_several_labels_are_predicted_each_by_itself() -> None:
    y = (X[:, :3] > 0).astype(int)
    y[14:] = -1
    model = NGMClassifier(**SMALL).fit(X, y, graph=GRAPH)
    with torch.no_grad():
        logits = model.network_(torch.from_numpy(X))
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-logits.numpy())), rtol=1e-5)
    np.testing.assert_array_equal(model.predict(X), (logits > 0).int())
    assert (model.task_, model.classes_.tolist(), model.num_labeled_) == ("labels", [0, 1, 2], 14)
    assert model.score(X, y) == np.mean((model.predict(X) == y).all(axis=1)[:14])


def test_the_cost_of_several_labels_is_summed_over_labels_and_averaged_over_rows() -> None:
    y = (X[:, :3] > 0).astype(int)
    y[14:] = -1
    longer, shorter = (
        NGMClassifier(**SMALL | {"epochs": n, "batch_size": 1000}).fit(X, y, graph=GRAPH) for n in (5, 4)
    )
    with torch.no_grad():
        logits = shorter.network_(torch.from_numpy(X))  # where the fifth epoch starts
    cost = F.binary_cross_entropy_with_logits(logits[:14], torch.from_numpy(y[:14]).float(), reduction="none")
    assert longer.history_.epochs[4]["supervised"] == pytest.approx(cost.sum(dim=1).mean().item(), rel=1e-5)


def test_certain_soft_labels_train_as_classes_do() -> None:
    nearly = np.eye(2)[Y] * 0.99999 + 0.000005
    soft = NGMClassifier(**SMALL).fit(X, nearly, graph=GRAPH)
    hard = NGMClassifier(**SMALL).fit(X, Y, graph=GRAPH)
    assert soft.task_ == "soft"
    np.testing.assert_allclose(soft.predict_proba(X), hard.predict_proba(X), atol=1e-3)
    assert soft.score(X, nearly) == hard.score(X, Y)


def test_soft_labels_that_know_little_are_followed_to_more_even_shares() -> None:
    unsure = np.eye(2)[Y] * 0.2 + 0.4  # 0.6 and 0.4
    settings = SMALL | {"epochs": 40}
    far = [np.abs(NGMClassifier(**settings).fit(X, y).predict_proba(X) - 0.5).mean() for y in (unsure, Y)]
    assert far[0] < far[1]


# Weights of rows


@pytest.mark.parametrize("scaling", ["mean", "sum"])
def test_a_sample_weight_of_k_equals_a_row_that_is_there_k_times(scaling: str) -> None:
    weight = np.array([3, 1, 2, 0] * 6)
    settings = SMALL | {
        "batch_size": 1000,
        "scaling": scaling,
        "dtype": "float64",
        "network": FFNN(input_scaling="none"),
    }
    weighted = NGMClassifier(**settings).fit(X, Y, sample_weight=weight)
    repeated = NGMClassifier(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5)
    plain = NGMClassifier(**settings).fit(X, Y)
    assert not np.allclose(weighted.predict_proba(X), plain.predict_proba(X), rtol=1e-3)


def test_all_weights_doubled_change_nothing_under_mean_scaling() -> None:
    one, two = (
        NGMClassifier(**SMALL).fit(X, FEW, graph=GRAPH, sample_weight=np.full(N, w)).predict_proba(X) for w in (1, 2)
    )
    np.testing.assert_allclose(one, two, rtol=1e-4)


# Inputs

FORMS: dict[str, Callable[[NDArray[np.float32]], Inputs]] = {
    "list": lambda x: x.tolist(),
    "tensor": torch.from_numpy,
    "tensor with gradient": lambda x: torch.from_numpy(x).requires_grad_(),
    "fortran": np.asfortranarray,
    "csr matrix": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "table": lambda x: pd.DataFrame(x, columns=list("abcde")),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_x_gives_the_same_predictions(form: Callable[[NDArray[np.float32]], Inputs]) -> None:
    settings = SMALL | {"dtype": "float32"}
    plain = NGMClassifier(**settings).fit(X, FEW, graph=GRAPH)
    model = NGMClassifier(**settings).fit(form(X), FEW, graph=GRAPH)
    np.testing.assert_allclose(model.predict_proba(form(X)), plain.predict_proba(X), rtol=1e-4)
    np.testing.assert_allclose(model.transform(form(X)), plain.transform(X), atol=1e-5)
    assert model.n_features_in_ == 5


def test_bfloat16_tensors_are_read() -> None:
    rounded = torch.from_numpy(X).bfloat16()
    one = NGMClassifier(**SMALL).fit(rounded, FEW).predict_proba(rounded)
    other = NGMClassifier(**SMALL).fit(rounded.float(), FEW).predict_proba(rounded.float())
    np.testing.assert_array_equal(one, other)


def test_sparse_rows_stay_sparse_until_the_network(loaders: list[EdgeLoader]) -> None:
    seen: list[bool] = []

    class Watched(nn.Linear):
        def forward(self, rows: Tensor) -> Tensor:
            seen.append(rows.is_sparse_csr)
            return super().forward(rows.to_dense())

    NGMClassifier(**SMALL, network=Watched, layer="output").fit(sp.csc_array(X), FEW, graph=GRAPH)
    assert sp.issparse(loaders[0].x)
    assert all(seen)


def test_a_memory_map_is_read_in_place(loaders: list[EdgeLoader], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = NGMClassifier(**SMALL).fit(mapped, FEW, graph=GRAPH)
    assert np.shares_memory(loaders[0].x, mapped)
    assert same(model, NGMClassifier(**SMALL).fit(X, FEW, graph=GRAPH))
    np.testing.assert_array_equal(model.predict_proba(mapped), model.predict_proba(X))


def test_predictions_are_made_without_dropout_whatever_mode_the_network_is_in() -> None:
    model = NGMClassifier(**SMALL, network=FFNN(dropout=0.5)).fit(X, FEW, graph=GRAPH)
    expected = model.predict_proba(X)
    model.network_.train()
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_the_seed_decides_initial_weights_and_batches(loaders: list[EdgeLoader]) -> None:
    still = SMALL | {"epochs": 1, "learning_rate": 1e-30}  # so small that no weight moves
    one, same_again, other = (NGMClassifier(**still, seed=seed).fit(X, FEW, graph=GRAPH) for seed in (1, 1, 2))
    assert same(one, same_again)
    assert not same(one, other)
    for loader in loaders:
        loader.set_epoch(0)
    nodes = [[batch.nodes.tolist() for batch in loader] for loader in loaders]
    assert nodes[0] == nodes[1] != nodes[2]


def test_names_of_columns_are_remembered_and_checked() -> None:
    table = pd.DataFrame(X, columns=list("abcde"))
    model = NGMClassifier(**SMALL).fit(table, FEW)
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
        model.predict(table[list("bacde")])


def test_predictions_do_not_depend_on_how_many_rows_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model = NGMClassifier(**SMALL).fit(X, FEW, graph=GRAPH)
    at_once = model.predict_proba(X)
    monkeypatch.setattr(forward, "PREDICTED_AT_ONCE", 5)
    np.testing.assert_allclose(model.predict_proba(X), at_once, rtol=1e-6)
    np.testing.assert_allclose(
        np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(N)]), at_once, rtol=1e-5
    )


# What comes out


def test_probabilities_are_the_softmax_of_the_network() -> None:
    model = NGMClassifier(**SMALL, network=FFNN(dropout=0.5)).fit(
        X, np.where(FEW < 0, -1, np.arange(N) % 3), graph=GRAPH
    )
    shares = model.predict_proba(X)
    assert shares.shape == (N, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    logits = model.network_(torch.from_numpy(X)).detach().numpy()
    np.testing.assert_allclose(shares, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), rtol=1e-5)
    assert model.predict(X).tolist() == logits.argmax(axis=1).tolist()


def test_transform_gives_the_last_hidden_layer() -> None:
    model = NGMClassifier(recipe="paper", hidden=(6, 4), epochs=2, network=FFNN(input_scaling="none")).fit(
        X, FEW, graph=GRAPH
    )
    first, second = (block.linear for block in model.network_.hidden)
    with torch.no_grad():
        h = torch.relu(torch.relu(torch.from_numpy(X) @ first.weight.T + first.bias) @ second.weight.T + second.bias)
    np.testing.assert_allclose(model.transform(X), h.numpy(), rtol=1e-5, atol=1e-6)
    names = model.get_feature_names_out().tolist()
    assert names == [f"ngmclassifier{i}" for i in range(4)]


def test_transform_gives_the_layer_that_was_asked_for() -> None:
    model = NGMClassifier(
        recipe="paper", hidden=(6, 4), epochs=2, layer="hidden.0", network=FFNN(input_scaling="none")
    ).fit(X, FEW, graph=GRAPH)
    first = model.network_.hidden[0].linear
    with torch.no_grad():
        h = torch.relu(torch.from_numpy(X) @ first.weight.T + first.bias)
    np.testing.assert_allclose(model.transform(X), h.numpy(), rtol=1e-5, atol=1e-6)


def test_edges_are_counted_by_kind() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 4]])
    y = [0, 1, -1, -1, -1]
    model = NGMClassifier(**SMALL).fit(X[:5], y, graph=graph)
    assert (model.edges_by_kind_, model.num_labeled_, model.n_iter_) == ({"ll": 1, "lu": 1, "uu": 2}, 2, 4)
    model = NGMClassifier(**SMALL, alpha_uu=0).fit(X[:5], y, graph=graph)
    assert model.edges_by_kind_ == {"ll": 1, "lu": 1, "uu": 0}


# Fitted again


def test_a_second_fit_forgets_the_first() -> None:
    model = NGMClassifier(**SMALL).fit(X, FEW, graph=GRAPH)
    three = np.array(["a", "b", "c"])[np.arange(N) % 3]
    model.fit(X[:, :3], three)
    fresh = NGMClassifier(**SMALL).fit(X[:, :3], three)
    assert same(model, fresh)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.n_features_in_, model.edges_by_kind_) == (3, {"ll": 0, "lu": 0, "uu": 0})
    model.fit(X, (X[:, :4] > 0).astype(int))
    assert (model.task_, model.predict(X).shape) == ("labels", (N, 4))


def test_a_fit_that_fails_leaves_the_estimator_unfitted() -> None:
    model = NGMClassifier(**SMALL).fit(X, FEW)
    with pytest.raises(ValueError, match="y has 3"):
        model.fit(X, [0, 1, 0])
    with pytest.raises(ValueError, match="This NGMClassifier instance is not fitted yet"):
        model.predict(X)
