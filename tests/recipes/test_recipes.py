from __future__ import annotations

import re
from typing import get_args

import numpy as np
import pytest

from ngm import Graph, NGMClassifier, NGMRegressor
from ngm.cli.settings import settings
from ngm.networks import FFNN
from ngm.recipes.settings import RECIPES, resolve


def test_what_the_estimator_leaves_open_is_as_the_recipe_says() -> None:
    assert resolve(NGMClassifier(), "classes") == RECIPES["auto"]
    for name in RECIPES:
        assert resolve(NGMClassifier(recipe=name), "classes") == RECIPES[name]
        assert resolve(NGMClassifier(recipe=name), "classes").recipe == name


def test_auto_is_the_default_of_estimators_and_of_the_command_alike() -> None:
    assert NGMClassifier().recipe == NGMRegressor().recipe == settings()["recipe"].declared.default == "auto"
    option = get_args(settings()["recipe"].option().annotation)[1]
    assert option.show_default == "auto"


def test_numbers_without_a_graph_have_no_teachers_so_auto_is_paper_there(data) -> None:
    paper = resolve(NGMRegressor(recipe="paper"), "numbers")
    assert resolve(NGMRegressor(), "numbers", taught=False) == paper
    assert resolve(NGMRegressor(), "numbers").recipe == "auto"
    x, _, _ = data
    y = np.where(np.arange(30) < 12, x[:, 0], np.nan)
    found = [NGMRegressor(hidden=(4,), epochs=2, **given).fit(x, y) for given in ({}, {"recipe": "paper"})]
    np.testing.assert_array_equal(found[0].predict(x), found[1].predict(x))
    assert found[0].settings_.recipe == "paper"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"influence": "source"}, "influence is 'source', which is about edge terms, and recipe 'auto' has none"),
        ({"distance": "cosine"}, "distance is 'cosine', which"),
        ({"scaling": "sum"}, "scaling is 'sum', which"),
        ({"negatives": 1}, "negatives is 1, which"),
    ],
)
def test_settings_of_edge_terms_need_alphas_in_auto(data, change: dict[str, object], text: str) -> None:
    x, y, undirected = data
    graph = Graph.from_edges(undirected.edges, num_nodes=30, directed=True)
    model = NGMClassifier(hidden=(4,), epochs=1, **change)
    with pytest.raises(ValueError, match=f"^{re.escape(text)}.* recipe='paper'$"):
        model.fit(x, y, graph=graph)
    model.set_params(alpha_ll=0.1, alpha_lu=0.1, alpha_uu=0.1).fit(x, y, graph=graph)
    assert model.edges_by_kind_["ll"] > 0
    NGMClassifier(hidden=(4,), epochs=1, recipe="paper", **change).fit(x, y, graph=graph)
    NGMClassifier(hidden=(4,), epochs=1, **change).fit(x, y)  # without a graph there are no edges to speak of


def test_an_alpha_of_edges_that_teachers_leave_none_of_is_warned_of(data) -> None:
    x, y, graph = data
    with pytest.warns(UserWarning, match="^the graph does nothing: alpha is above 0 for UU edges"):
        NGMClassifier(hidden=(4,), epochs=1, alpha_ll=0, alpha_lu=0, alpha_uu=0.1).fit(x, y, graph=graph)


def test_what_the_estimator_sets_stands_even_if_it_is_nothing() -> None:
    found = resolve(
        NGMClassifier(recipe="strong", alpha_uu=[0.1, 0.2], epochs=3, network=FFNN(dropout=0.0, input_scaling="none")),
        "classes",
    )
    assert (found.dropout, found.alpha_uu, found.epochs, found.input_scaling) == (
        0.0,
        [0.1, 0.2],
        3,
        "none",
    )
    assert found.weight_decay == RECIPES["strong"].weight_decay


def test_an_unknown_recipe_is_refused_with_a_guess(data) -> None:
    x, y, graph = data
    words = r"^recipe is 'strang' \(did you mean 'strong'\?\); choose from auto, paper, strong$"
    with pytest.raises(ValueError, match=words):
        NGMClassifier(recipe="strang").fit(x, y, graph=graph)


@pytest.mark.parametrize(("edges", "epochs"), [(30, 100), (200, 77)])
def test_epochs_of_paper_make_a_thousand_steps_and_a_hundred_at_most(data, edges: int, epochs: int) -> None:
    x, y, _ = data
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(rng.integers(30, size=(2 * edges, 2)), num_nodes=30)
    graph = Graph(30, graph.edges[:edges], graph.weight[:edges])
    model = NGMClassifier(hidden=(4,), batch_size=16, recipe="paper").fit(x, y, graph=graph)
    assert (model.n_iter_, model.settings_.epochs) == (epochs, epochs)
