"""What `fit` and `predict` check beside what `sentences_of_fit.py` has, and graphs that would do nothing."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn

from ngm import Graph, NGMClassifier
from ngm.networks import FFNN
from tests.sentences_of_fit import GRAPH, SMALL, N, X, Y, spoiled


def test_resume_without_a_folder_is_refused() -> None:
    text = "resume is True, but no folder is given to resume from; set folder="
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        NGMClassifier().fit(X, Y, resume=True)


def test_predict_refuses_nan_as_well() -> None:
    model = NGMClassifier(**SMALL).fit(X, Y)
    with pytest.raises(ValueError, match=r"\Ax\[2, 1\] is NaN; fill in or drop such values before fit and predict\Z"):
        model.predict(spoiled(2, 1, np.nan))


def test_a_nan_far_down_is_found_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngm._input_checks._ROWS_AT_ONCE", 4)
    with pytest.raises(ValueError, match=r"^x\[9, 1\] is NaN;"):
        NGMClassifier(**SMALL).fit(spoiled(9, 1, np.nan), Y)


def test_numbers_so_large_that_their_sum_overflows_are_no_infinity() -> None:
    huge = np.full((4, 1), 1e308)
    huge[2:] *= -1
    model = NGMClassifier(hidden=(), epochs=1, network=lambda a, b: nn.Sequential(nn.Tanh(), nn.Linear(a, b)))
    assert model.fit(huge, [0, 0, 1, 1]).n_iter_ == 1


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
        idle = NGMClassifier(**SMALL, **alphas, network=FFNN(input_scaling="none")).fit(X, Y, graph=graph)
    assert len(caught) == 1
    plain = NGMClassifier(**SMALL, network=FFNN(input_scaling="none")).fit(X, Y)
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
