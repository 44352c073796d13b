"""What `fit` refuses: each error word for word, in one line, and nothing written or lost in the run folder."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import nn

from ngm import Graph, NGMClassifier, NGMRegressor
from ngm.estimators.base import NGMEstimator

SMALL = {"hidden": (4,), "epochs": 1, "recipe": "paper"}
N = 10
X = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
Y = [0, 1, 0, 1, 0, 1, -1, -1, -1, -1]
NUMBERS = np.where(np.array(Y) < 0, np.nan, np.arange(N))
GRAPH = Graph.from_edges([[0, 1], [1, 6], [6, 7]], num_nodes=N)


def files(folder: Path) -> dict[str, bytes]:
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def refused(estimator: NGMEstimator, text: str, tmp_path: Path, x: object = X, **fit: object) -> None:
    """Fit fails with this text; a new folder is not made, and the run in an old one stays as it was."""
    fit = {"y": Y if isinstance(estimator, NGMClassifier) else NUMBERS, "graph": GRAPH} | fit
    old = tmp_path / "old"
    NGMClassifier(**SMALL, folder=old).fit(X, Y)
    before = files(old)
    for folder in (tmp_path / "new", old):
        estimator.folder, estimator.overwrite = folder, not estimator.resume
        with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
            estimator.fit(x, **fit)
    assert not (tmp_path / "new").exists()
    assert files(old) == before


def spoiled(row: int, column: int, value: float) -> NDArray[np.float32]:
    x = X.copy()
    x[row, column] = value
    return x


SETTINGS = [
    ({"alpha_uu": -0.5}, "alpha_uu is -0.5; it must be a finite number of at least 0"),
    ({"alpha_ll": float("nan")}, "alpha_ll is nan; it must be a finite number of at least 0"),
    ({"alpha_lu": [0.1, 0.2]}, "alpha_lu has 2 entries for 1 graphs; give one number, or one per graph"),
    (
        {"layer": "hiden.0"},
        "network has no layer 'hiden.0' (did you mean 'hidden.0'?); its layers are output, last_hidden, scale, hidden, "
        "hidden.0, hidden.0.dropout, hidden.0.linear, dropout",
    ),
    (
        {"layer": "h", "alpha_ll": 0, "alpha_lu": 0, "alpha_uu": 0},
        "network has no layer 'h'; its layers are output, last_hidden, scale, hidden, hidden.0, hidden.0.dropout, "
        "hidden.0.linear, dropout",
    ),
    (
        {"distance": "squared_l3"},
        "distance is 'squared_l3' (did you mean 'squared_l2'?); choose from l1, l2, squared_l2, cosine, "
        "cross_entropy, kl, js, or give a function (k, d), (k, d) -> (k,)",
    ),
    (
        {"network": "fnn"},
        "network is 'fnn' (did you mean 'ffnn'?); choose from ffnn, charcnn, charcnn-small, charcnn-large, "
        "lstm, or give a function (in_features, out_features) -> nn.Module",
    ),
    ({"network": lambda a, b: None}, "network(in_features, out_features) returned a NoneType; return an nn.Module"),
    (
        {"network": nn.Linear(3, 2)},
        "network is a Linear that is made already; give a function (in_features, out_features) -> nn.Module, so that "
        "every fit starts afresh",
    ),
    ({"optimizer": "adma"}, "optimizer is 'adma' (did you mean 'adam'?); choose from adam, adamw, sgd"),
    ({"optimizer": "lion"}, "optimizer is 'lion'; choose from adam, adamw, sgd"),
    ({"scaling": "max"}, "scaling is 'max'; choose from sum, mean"),
    ({"sampling": "random"}, "sampling is 'random'; choose from plain, balanced"),
    (
        {"sampling": "balanced", "labels": "edges"},
        "labels is 'edges', but sampling is 'balanced', which draws labelled rows by class; leave labels out, or set "
        "sampling='plain'",
    ),
    ({"labels": "all"}, "labels is 'all'; choose from edges, every_batch"),
    ({"influence": "left"}, "influence is 'left'; choose from both, source, target"),
    (
        {"influence": "source"},
        "influence is 'source', but graph 0 is undirected: its edges have no source; make the graph with "
        "directed=True, or leave influence at 'both'",
    ),
    ({"dtype": "float16"}, "dtype is 'float16' (did you mean 'float64'?); choose from float32, float64"),
    (
        {"dtype": "float64", "bfloat16": True},
        "bfloat16 is True, but float64 is never shortened to it; set dtype='float32'",
    ),
    ({"patience": 3}, "patience is 3, but nothing is validated on; patience needs validation="),
    ({"patience": 0, "validation": 0.5}, "patience is 0; it must be a whole number greater than 0"),
    ({"epochs": 0}, "epochs is 0; it must be a whole number greater than 0"),
    ({"epochs": 2.5}, "epochs is 2.5; it must be a whole number greater than 0"),
    ({"batch_size": -1}, "batch_size is -1; it must be a whole number greater than 0"),
    ({"learning_rate": 0}, "learning_rate is 0; it must be a finite number greater than 0"),
    ({"learning_rate": "fast"}, "learning_rate is 'fast'; it must be a finite number greater than 0"),
    ({"clip": -1.0}, "clip is -1.0; it must be a finite number greater than 0"),
    ({"weight_decay": -0.1}, "weight_decay is -0.1; it must be a finite number of at least 0"),
    ({"device": "nowhere"}, "device is 'nowhere', which cannot be used here; 'cpu' always can"),
    ({"seed": -1}, "seed is -1; it must be a whole number of at least 0"),
    ({"seed": None}, "seed is None; it must be a whole number of at least 0"),
    ({"dropout": 1.0}, "dropout is 1.0; it must be a number of at least 0 and below 1"),
    ({"hidden": 8}, "hidden is 8; give the width of every hidden layer, such as (250, 100)"),
    ({"hidden": (8, 0)}, "hidden is (8, 0); every width is a whole number of at least 1"),
    ({"validation": [0, 7]}, "validation row 7 has no label; give rows whose y is known"),
]


@pytest.mark.parametrize(("settings", "text"), SETTINGS, ids=[text[:40] for _, text in SETTINGS])
@pytest.mark.parametrize("kind", [NGMClassifier, NGMRegressor])
def test_a_setting_that_cannot_be_is_refused(
    kind: type[NGMEstimator], settings: dict, text: str, tmp_path: Path
) -> None:
    refused(kind(**SMALL | settings), text, tmp_path)


def test_resume_without_a_folder_is_refused() -> None:
    text = "resume is True, but no folder is given to resume from; set folder="
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        NGMClassifier(resume=True).fit(X, Y)


INPUTS = [
    (X[:8], "x has 8 rows, y has 10; give a target per row, -1 or NaN where unlabelled"),
    (spoiled(2, 1, np.nan), "x[2, 1] is NaN; fill in or drop such values before fit and predict"),
    (spoiled(3, 0, np.inf), "x[3, 0] is infinity (inf); fill in or drop such values before fit and predict"),
    (
        np.vstack([spoiled(3, 0, np.inf)[:5], spoiled(6, 0, -np.inf)[5:]]),
        "x[3, 0] is infinity (inf); fill in or drop such values before fit and predict",
    ),
    (torch.from_numpy(spoiled(2, 1, np.nan)), "x[2, 1] is NaN; fill in or drop such values before fit and predict"),
    (sp.csr_array(spoiled(2, 1, np.nan)), "x[2, 1] is NaN; fill in or drop such values before fit and predict"),
    (sp.csr_array(spoiled(4, 0, np.nan)), "x[4, 0] is NaN; fill in or drop such values before fit and predict"),
    (
        sp.csc_matrix(np.vstack([np.zeros((4, 3)), spoiled(9, 2, np.inf)[4:]])),
        "x[9, 2] is infinity (inf); fill in or drop such values before fit and predict",
    ),
]


@pytest.mark.parametrize(
    ("x", "text"), INPUTS, ids=["rows", "nan", "inf", "infs", "tensor", "csr", "first in csr", "csc"]
)
@pytest.mark.parametrize("kind", [NGMClassifier, NGMRegressor])
def test_inputs_that_cannot_be_are_refused(kind: type[NGMEstimator], x: object, text: str, tmp_path: Path) -> None:
    refused(kind(**SMALL), text, tmp_path, x=x)


def test_predict_refuses_nan_as_well() -> None:
    model = NGMClassifier(**SMALL).fit(X, Y)
    with pytest.raises(ValueError, match=r"\Ax\[2, 1\] is NaN; fill in or drop such values before fit and predict\Z"):
        model.predict(spoiled(2, 1, np.nan))


def test_a_nan_far_down_is_found_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ngm._input_checks._ROWS_AT_ONCE", 4)
    text = "x[9, 1] is NaN; fill in or drop such values before fit and predict"
    refused(NGMClassifier(**SMALL), text, tmp_path, x=spoiled(9, 1, np.nan))


def test_numbers_so_large_that_their_sum_overflows_are_no_infinity() -> None:
    huge = np.full((4, 1), 1e308)
    huge[2:] *= -1
    model = NGMClassifier(hidden=(), epochs=1, network=lambda a, b: nn.Sequential(nn.Tanh(), nn.Linear(a, b)))
    assert model.fit(huge, [0, 0, 1, 1]).n_iter_ == 1


@pytest.mark.parametrize("nested", [False, True])
def test_nan_in_a_part_of_a_mapping_is_refused(nested: bool, tmp_path: Path) -> None:
    class Part(nn.Linear):
        def forward(self, x: dict) -> torch.Tensor:
            return super().forward(x["a"])

    part: object = spoiled(2, 1, np.nan)
    model = NGMClassifier(network=lambda a, b: Part(3, b), layer="output", epochs=1)
    x = {"a": X, "b": {"c": part} if nested else part}
    refused(model, "x[2, 1] is NaN; fill in or drop such values before fit and predict", tmp_path, x=x)


def test_parts_of_different_lengths_are_refused(tmp_path: Path) -> None:
    model = NGMClassifier(network=lambda a, b: nn.Linear(3, b), epochs=1)
    text = "x has parts of different lengths {'a': 10, 'b': 9}; give a row per node in each"
    refused(model, text, tmp_path, x={"a": X, "b": X[:9]})


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (Y[:7], "x has 10 rows, y has 7; give a target per row, -1 or NaN where unlabelled"),
        (None, "fit requires y to be passed, but the target y is None; mark unlabelled rows with -1"),
        ([-1] * N, "none of the 10 rows has a label (-1, None and NaN mean unlabelled); label some rows"),
        ([3, -1] * 5, "y holds one class only (3); a classifier needs labelled rows of at least two"),
        (
            [[0.5, 0.6]] * N,
            "y[0] is [0.5, 0.6], neither zeros and ones (several labels) nor shares that add up to 1 (soft labels); "
            "a row of -1 is unlabelled",
        ),
        ([[0.3, 0.7], [1.0, 1.0]] * 5, "y[1] is [1.0, 1.0], neither zeros and ones (several labels) nor shares that "
         "add up to 1 (soft labels); a row of -1 is unlabelled"),
    ],
    ids=["length", "none", "unlabelled", "one class", "shares", "mixed"],
)  # fmt: skip
def test_classes_that_cannot_be_learned_are_refused(y: object, text: str, tmp_path: Path) -> None:
    refused(NGMClassifier(**SMALL), text, tmp_path, y=y)


@pytest.mark.parametrize(
    ("y", "text"),
    [
        (NUMBERS[:7], "x has 10 rows, y has 7; give a target per row, -1 or NaN where unlabelled"),
        ([np.nan] * N, "none of the 10 rows has a number (Input y contains NaN only); give some"),
        ([0.0, np.inf] * 5, "y[1] is infinity (Input y contains infinity); give finite numbers or NaN"),
        ([[0.0, -np.inf]] * N, "y[0, 1] is infinity (Input y contains infinity); give finite numbers or NaN"),
    ],
    ids=["length", "nan", "inf", "inf in a column"],
)
def test_numbers_that_cannot_be_learned_are_refused(y: object, text: str, tmp_path: Path) -> None:
    refused(NGMRegressor(**SMALL), text, tmp_path, y=y)


NOT_GRAPHS = [
    (Graph.from_edges([[0, 1]], num_nodes=9), "graph has 9 nodes, x has 10 rows; a node is a row of x"),
    ([GRAPH, Graph.from_edges([[0, 11]])], "graph 1 has 12 nodes, x has 10 rows; a node is a row of x"),
    (
        sp.eye(N),
        "graph is a dia_matrix; make a Graph of it with Graph.from_edges, from_scipy, from_networkx or from_pyg",
    ),
    (
        np.array([[0, 1]]),
        "graph is a ndarray; make a Graph of it with Graph.from_edges, from_scipy, from_networkx or from_pyg",
    ),
    ([[0, 1]], "graph is a list; make a Graph of it with Graph.from_edges, from_scipy, from_networkx or from_pyg"),
]


@pytest.mark.parametrize(("graph", "text"), NOT_GRAPHS, ids=["small", "second", "scipy", "numpy", "list"])
@pytest.mark.parametrize("kind", [NGMClassifier, NGMRegressor])
def test_graphs_that_do_not_fit_are_refused(kind: type[NGMEstimator], graph: object, text: str, tmp_path: Path) -> None:
    refused(kind(**SMALL), text, tmp_path, graph=graph)


WEIGHTS = [
    (np.ones(9), "sample_weight has shape (9,) and smallest value 1.0; give 10 numbers of at least 0"),
    (np.ones((N, 1)), "sample_weight has shape (10, 1) and smallest value 1.0; give 10 numbers of at least 0"),
    ([1.0] * 9 + [-0.5], "sample_weight has shape (10,) and smallest value -0.5; give 10 numbers of at least 0"),
    ([np.nan] * N, "sample_weight has shape (10,) and smallest value nan; give 10 numbers of at least 0"),
    (
        [1.0] * 5 + [np.inf] * 5,
        "sample_weight[5] is inf; weights and their sum must be finite in float32; scale them down",
    ),
    (np.zeros(N), "sample_weight is zero for every labelled row; give at least one a weight above 0"),
    ([0] * 6 + [1] * 4, "sample_weight is zero for every labelled row; give at least one a weight above 0"),
]


@pytest.mark.parametrize(
    ("weight", "text"), WEIGHTS, ids=["short", "column", "negative", "nan", "inf", "zero", "unlabelled"]
)
@pytest.mark.parametrize("kind", [NGMClassifier, NGMRegressor])
def test_weights_that_cannot_be_are_refused(
    kind: type[NGMEstimator], weight: object, text: str, tmp_path: Path
) -> None:
    refused(kind(**SMALL), text, tmp_path, sample_weight=weight)


@pytest.mark.parametrize(
    ("graph", "alphas", "text"),
    [
        (
            Graph.from_edges([], num_nodes=N),
            {},
            "the graph does nothing: alpha is above 0 for LL, LU, UU edges, and of its 0 edges none is of such a "
            "kind; set another alpha, or check which nodes are labelled",
        ),
        (
            Graph.from_edges([[0, 1], [1, 6]], num_nodes=N),
            {"alpha_ll": 0, "alpha_lu": 0},
            "the graph does nothing: alpha is above 0 for UU edges, and of its 2 edges none is of such a kind; set "
            "another alpha, or check which nodes are labelled",
        ),
    ],
    ids=["no edge", "no edge of the kind"],
)
def test_a_graph_that_does_nothing_is_warned_of(graph: Graph, alphas: dict, text: str) -> None:
    with pytest.warns(UserWarning, match=rf"\A{re.escape(text)}\Z") as caught:
        idle = NGMClassifier(**SMALL, **alphas, input_scaling="none").fit(X, Y, graph=graph)
    assert len(caught) == 1
    plain = NGMClassifier(**SMALL, input_scaling="none").fit(X, Y)
    np.testing.assert_array_equal(idle.predict_proba(X), plain.predict_proba(X))


def test_a_graph_with_all_alphas_0_is_not_warned_of() -> None:
    NGMClassifier(**SMALL, alpha_ll=0, alpha_lu=0, alpha_uu=0).fit(X, Y, graph=GRAPH)  # a warning would fail here


class Wide(nn.Module):
    """Gives three outputs, whatever is asked for."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.layer = nn.Linear(in_features, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


def test_a_network_with_the_wrong_number_of_outputs_is_refused() -> None:
    x = np.zeros((4, 2), dtype=np.float32)
    with pytest.raises(ValueError, match=r"^the network gives shape \(1, 3\) and type float32 for a row of x; return"):
        NGMClassifier(network=Wide).fit(x, [0, 1, 0, 1])


def test_a_network_that_cannot_take_the_inputs_is_refused_in_one_line() -> None:
    x = np.zeros((4, 2), dtype=np.int64)
    text = r"^the network cannot take a row of x, shape \(1, 2\) and type int64, \(.*\); give .* or x as float32$"
    with pytest.raises(ValueError, match=text):
        NGMClassifier(network=Wide).fit(x, [0, 1, 2, 1])


def test_each_graph_that_would_do_nothing_is_named() -> None:
    x, y = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32), [0, 1, -1, -1]
    useful, empty = Graph.from_edges([[0, 2]], num_nodes=4), Graph.from_edges([], num_nodes=4)
    with pytest.warns(UserWarning, match=r"^graph 1 does nothing: alpha is above 0 for LL, LU, UU edges, and of its 0"):
        NGMClassifier(hidden=(2,), epochs=1, recipe="paper").fit(x, y, graph=[useful, empty])
    weightless = Graph.from_edges([[0, 2]], [0.0], num_nodes=4)
    with pytest.warns(UserWarning, match=r"^the graph does nothing: all its edges have weight 0; give some of them"):
        NGMClassifier(hidden=(2,), epochs=1, recipe="paper").fit(x, y, graph=weightless)
