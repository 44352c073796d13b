"""Graph embedding in two stages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ngm.comparators.two_stage import TwoStage
from ngm.inputs.walks import deepwalk
from tests.graphs import NEEDS_GENSIM, cliques

X = np.zeros((13, 1), dtype=np.float32)
Y = np.array([3, -1, -1, -1, -1, -1, 8, -1, -1, -1, -1, -1, -1])
SMALL = {"dimensions": 8, "length": 20, "walks_per_node": 20, "window": 3, "epochs": 5}


def test_a_label_per_clique_classifies_both_cliques() -> None:
    pytest.importorskip("gensim", reason=NEEDS_GENSIM)
    model = TwoStage(**SMALL).fit(X, Y, graph=cliques())
    assert model.classes_.tolist() == [3, 8]
    assert model.transduction_[:12].tolist() == [3] * 6 + [8] * 6


def test_it_is_logistic_regression_on_deepwalk_vectors() -> None:
    pytest.importorskip("gensim", reason=NEEDS_GENSIM)
    model = TwoStage(**SMALL, c=0.5, seed=2).fit(X, Y, graph=cliques())
    vectors = deepwalk(cliques(), **SMALL, seed=2)
    np.testing.assert_array_equal(model.vectors_, vectors)
    plain = LogisticRegression(C=0.5).fit(vectors[[0, 6]], [3, 8])
    np.testing.assert_array_equal(model.transduction_, plain.predict(vectors))


def test_x_makes_no_difference() -> None:
    pytest.importorskip("gensim", reason=NEEDS_GENSIM)
    other = np.random.default_rng(0).normal(size=(13, 4))
    first, second = (TwoStage(**SMALL).fit(x, Y, graph=cliques()).vectors_ for x in (X, other))
    np.testing.assert_array_equal(first, second)


def test_new_rows_are_refused() -> None:
    with pytest.raises(ValueError, match=r"cannot classify rows that were not in the graph; read transduction_"):
        TwoStage().predict(X)


def test_a_missing_or_unfit_graph_is_named() -> None:
    with pytest.raises(ValueError, match="x has 13 rows and there is no graph; give graph="):
        TwoStage().fit(X, Y)
    with pytest.raises(ValueError, match="x has 13 rows and there is a graph of 3 nodes"):
        TwoStage().fit(X, Y, graph=cliques().subgraph([0, 1, 2]))
    with pytest.raises(ValueError, match="y has several columns; TwoStage takes one class per row"):
        TwoStage().fit(X, np.eye(13)[:, :2], graph=cliques())
    with pytest.raises(ValueError, match="c is 0; it must be greater than 0"):
        TwoStage(c=0).fit(X, Y, graph=cliques())
