from __future__ import annotations

import numpy as np
import pytest

from ngm import Graph, NGMClassifier
from ngm.methods.recipes import RECIPES, resolve


def test_what_the_estimator_leaves_open_is_as_the_recipe_says() -> None:
    assert resolve(NGMClassifier()) == RECIPES["paper"]
    assert resolve(NGMClassifier(recipe="strong")) == RECIPES["strong"]


def test_what_the_estimator_sets_stands_even_if_it_is_nothing() -> None:
    settings = resolve(NGMClassifier(recipe="strong", dropout=0.0, alpha_uu=[0.1, 0.2], epochs=3, input_scaling="none"))
    assert (settings.dropout, settings.alpha_uu, settings.epochs, settings.input_scaling) == (
        0.0,
        [0.1, 0.2],
        3,
        "none",
    )
    assert settings.weight_decay == RECIPES["strong"].weight_decay


def test_an_unknown_recipe_is_refused_with_a_guess(data) -> None:
    x, y, graph = data
    words = r"^unknown recipe 'strang' \(did you mean 'strong'\?\); choose from auto, paper, strong$"
    with pytest.raises(ValueError, match=words):
        NGMClassifier(recipe="strang").fit(x, y, graph=graph)


@pytest.mark.parametrize(("edges", "epochs"), [(30, 100), (200, 77)])
def test_by_default_epochs_make_a_thousand_steps_and_a_hundred_at_most(data, edges: int, epochs: int) -> None:
    x, y, _ = data
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(30, size=(2 * edges, 2)), num_nodes=30)
    graph = Graph(30, graph.edges[:edges], graph.weight[:edges])
    model = NGMClassifier(hidden=(4,), batch_size=16).fit(x, y, graph=graph)
    assert (model.n_iter_, model.settings_.epochs) == (epochs, epochs)
