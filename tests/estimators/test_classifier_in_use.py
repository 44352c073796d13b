"""`NGMClassifier` with scikit-learn's tools, several graphs and networks of one's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from ngm import EdgeLoader, Graph, LabeledKFold, NGMClassifier, Optimizer, knn_graph
from ngm.networks import FFNN, LSTM, CharCNN
from tests.small_classifier import FEW, GRAPH, SMALL, N, X, Y, same

# scikit-learn's tools


def test_settings_are_read_set_and_cloned() -> None:
    model = NGMClassifier(alpha_uu=0.5, validation=[1, 2])
    assert model.get_params()["alpha_uu"] == 0.5
    model.set_params(alpha_uu=[1, 2], layer="output")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert (copy.alpha_uu, copy.layer, copy.validation) == ([1, 2], "output", [1, 2])
    with pytest.raises(ValueError, match="Invalid parameter 'alpha' for estimator NGMClassifier"):
        model.set_params(alpha=1)


def test_settings_of_network_and_optimizer_are_read_set_cloned_and_shown() -> None:
    model = NGMClassifier(network=FFNN(dropout=0.3), optimizer=Optimizer("sgd", clip=1.0))
    assert (model.get_params()["network__dropout"], model.get_params()["optimizer__clip"]) == (0.3, 1.0)
    copy = clone(model).set_params(network__hidden=(5,), optimizer__ema_decay=0.9)
    assert (copy.network.hidden, copy.network.dropout, copy.optimizer.ema_decay) == ((5,), 0.3, 0.9)
    assert (model.network.hidden, model.optimizer.ema_decay) == (None, None)
    assert (
        repr(model)
        == "NGMClassifier(network=FFNN(dropout=0.3),\n              optimizer=Optimizer(clip=1.0, name='sgd'))"
    )
    for kind in (FFNN, CharCNN, LSTM, Optimizer):
        assert repr(kind()) == f"{kind.__name__}()"
        assert clone(kind()).get_params() == kind().get_params()
    assert repr(LSTM(max_words=9)) == "LSTM(max_words=9)"


def test_a_grid_search_reaches_into_the_network() -> None:
    given = {name: value for name, value in SMALL.items() if name != "hidden"}
    model = NGMClassifier(**given, network=FFNN(dropout=0.1))
    grid = {"network__hidden": [(4,), (8, 3)], "optimizer": ["adam", Optimizer(weight_decay=0.1)]}
    search = GridSearchCV(model, grid, cv=LabeledKFold(2)).fit(X, FEW, graph=GRAPH)
    width = search.best_params_["network__hidden"]
    assert [layer.linear.out_features for layer in search.best_estimator_.network_.hidden] == list(width)
    by_hand = clone(model).set_params(**search.best_params_).fit(X, FEW, graph=GRAPH)
    np.testing.assert_array_equal(search.predict_proba(X), by_hand.predict_proba(X))


def test_cross_validation_cuts_the_graph_and_scores_labelled_rows(loaders: list[EdgeLoader]) -> None:
    scores = cross_val_score(NGMClassifier(**SMALL), X, FEW, cv=LabeledKFold(2), params={"graph": GRAPH})
    cuts, by_hand = [loader.num_edges for loader in loaders], []
    for train, test in LabeledKFold(2).split(X, FEW):
        model = NGMClassifier(**SMALL).fit(X[train], FEW[train], graph=GRAPH.subgraph(train))
        by_hand.append(accuracy_score(Y[test], model.predict(X[test])))
    assert cuts == [GRAPH.subgraph(train).num_edges for train, _ in LabeledKFold(2).split(X, FEW)]
    assert max(cuts) < GRAPH.num_edges
    assert scores.tolist() == by_hand


def test_grid_search_takes_a_graph() -> None:
    grid = {"alpha_uu": [0.0, 0.5], "hidden": [(4,), (8,)]}
    search = GridSearchCV(NGMClassifier(**SMALL), grid, cv=LabeledKFold(2)).fit(X, FEW, graph=GRAPH)
    best = NGMClassifier(**SMALL).set_params(**search.best_params_).fit(X, FEW, graph=GRAPH)
    np.testing.assert_array_equal(search.predict_proba(X), best.predict_proba(X))
    by_hand = cross_val_score(best, X, FEW, cv=LabeledKFold(2), params={"graph": GRAPH}).mean()
    assert search.best_score_ == by_hand == max(search.cv_results_["mean_test_score"])


def test_a_pipeline_hands_the_graph_on() -> None:
    pipeline = make_pipeline(StandardScaler(), NGMClassifier(**SMALL)).fit(X, FEW, ngmclassifier__graph=GRAPH)
    scaled = StandardScaler().fit_transform(X)
    by_hand = NGMClassifier(**SMALL).fit(scaled, FEW, graph=GRAPH)
    np.testing.assert_array_equal(pipeline.predict_proba(X), by_hand.predict_proba(scaled))


def test_h_goes_into_another_estimator() -> None:
    model = NGMClassifier(**SMALL)
    np.testing.assert_array_equal(
        model.fit_transform(X, FEW, graph=GRAPH), NGMClassifier(**SMALL).fit(X, FEW, graph=GRAPH).transform(X)
    )


# Graphs


def test_two_graphs_with_an_alpha_each_add_up() -> None:
    other = Graph.from_edges([[0, 20], [1, 21], [20, 21]], num_nodes=N)
    settings = SMALL | {"batch_size": 1000, "negatives": 0, "network": FFNN(input_scaling="none")}
    alphas = {"alpha_ll": [0.1, 0.2], "alpha_lu": [0.3, 0.4], "alpha_uu": 0.5}
    both = NGMClassifier(**settings, **alphas).fit(X, FEW, graph=[GRAPH, other]).history_.epochs[0]
    one = NGMClassifier(**settings, alpha_ll=0.1, alpha_lu=0.3, alpha_uu=0.5).fit(X, FEW, graph=GRAPH)
    two = NGMClassifier(
        **settings,
        alpha_ll=0.2,
        alpha_lu=0.4,
        alpha_uu=0.5,
    ).fit(X, FEW, graph=[other])
    for kind in ("ll", "lu", "uu"):
        assert both[kind] == pytest.approx(one.history_.epochs[0][kind] + two.history_.epochs[0][kind], rel=1e-5)


def test_a_graph_whose_alphas_are_0_has_no_say() -> None:
    other = Graph.from_edges([[0, 20], [1, 21], [20, 21]], num_nodes=N)
    alphas = {name: [0.2, 0] for name in ("alpha_ll", "alpha_lu", "alpha_uu")}
    both = NGMClassifier(**SMALL, **alphas).fit(X, FEW, graph=[GRAPH, other])
    one = NGMClassifier(**SMALL).fit(X, FEW, graph=GRAPH)
    assert same(both, one)


class Table(nn.Module):
    """h is a vector of its own for each of four nodes."""

    def __init__(self) -> None:
        super().__init__()
        self.h, self.output = nn.Embedding(4, 3), nn.Linear(3, 2)

    def forward(self, rows: Tensor) -> Tensor:
        logits: Tensor = self.output(self.h(rows[:, 0]))
        return logits


@pytest.mark.parametrize(("influence", "moved"), [("source", [1]), ("target", [0]), ("both", [0, 1])])
def test_on_a_directed_edge_the_influenced_end_moves(influence: str, moved: list[int]) -> None:
    made = Table()
    before = made.h.weight.detach().clone()
    graph = Graph.from_edges([[0, 1]], num_nodes=4, directed=True)  # 2 and 3 are labelled and have no edge
    model = NGMClassifier(recipe="paper", network=lambda a, b: made, influence=influence, layer="h", epochs=1)
    model.fit(np.arange(4)[:, None], [-1, -1, 0, 1], graph=graph)
    differs = (made.h.weight.detach() != before).any(dim=1)
    assert differs.nonzero()[:, 0].tolist() == [*moved, 2, 3]


def test_direction_matters_only_where_influence_is_one_sided() -> None:
    forth, back = (
        Graph.from_edges(GRAPH.edges.flip(1) if flip else GRAPH.edges, GRAPH.weight, N, directed=True)
        for flip in (False, True)
    )
    settings = SMALL | {"batch_size": 1000, "negatives": 0, "network": FFNN(input_scaling="none")}

    def shares(graph: Graph, influence: str) -> NDArray[np.floating]:
        return NGMClassifier(**settings, influence=influence).fit(X, FEW, graph=graph).predict_proba(X)

    np.testing.assert_allclose(shares(forth, "both"), shares(back, "both"), rtol=1e-4)
    np.testing.assert_allclose(shares(forth, "source"), shares(back, "target"), rtol=1e-4)
    assert not np.allclose(shares(forth, "source"), shares(forth, "target"), rtol=1e-3)


# Networks of one's own


def test_a_convolutional_network_takes_images() -> None:
    images = np.random.default_rng(1).normal(size=(N, 1, 8, 8)).astype(np.float32)
    asked: list[tuple[int, int]] = []

    def made(channels: int, classes: int) -> nn.Module:
        asked.append((channels, classes))
        return nn.Sequential(nn.Conv2d(channels, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, classes))

    model = NGMClassifier(recipe="paper", epochs=2, network=made).fit(images, FEW, graph=GRAPH)
    assert asked == [(1, 2)]
    with torch.no_grad():
        flat = model.network_[:3](torch.from_numpy(images))
    np.testing.assert_allclose(model.transform(images), flat.numpy(), rtol=1e-5)
    np.testing.assert_array_equal(model.predict(images), model.network_[3](flat).argmax(dim=1).numpy())


class OfParts(nn.Module):
    """Adds up a dense part and an embedded token."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.dense, self.tokens, self.output = nn.Linear(5, 4), nn.Embedding(3, 4), nn.Linear(4, out_features)

    def forward(self, x: dict[str, Tensor]) -> Tensor:
        logits: Tensor = self.output(torch.relu(self.dense(x["a"]) + self.tokens(x["b"])))
        return logits


def test_a_mapping_of_inputs_reaches_a_network_of_ones_own() -> None:
    x = {"a": X, "b": np.arange(N) % 3}
    model = NGMClassifier(**SMALL, network=OfParts, validation=0.3).fit(x, FEW, graph=GRAPH)
    with torch.no_grad():
        logits = model.network_({"a": torch.from_numpy(X), "b": torch.arange(N) % 3})
    np.testing.assert_allclose(model.predict_proba(x), torch.softmax(logits, dim=1).numpy(), rtol=1e-5)
    assert model.predict({"a": X[:3], "b": np.array([2, 2, 2])}).shape == (3,)
    model.set_params(network="ffnn", validation=None).fit(X, FEW).set_params(network=OfParts).fit(x, FEW)
    assert not hasattr(model, "n_features_in_")


def test_inputs_of_ones_own_are_asked_for_rows() -> None:
    class Squares:
        """Rows that are made when they are asked for."""

        shape = (N, 5)

        def __len__(self) -> int:
            return N

        def __getitem__(self, nodes: Tensor) -> Tensor:
            return torch.from_numpy(X)[nodes].square()

    settings = SMALL | {"network": FFNN(input_scaling="none")}
    model = NGMClassifier(**settings).fit(Squares(), FEW, graph=GRAPH)
    assert same(model, NGMClassifier(**settings).fit(X**2, FEW, graph=GRAPH))
    np.testing.assert_allclose(model.predict_proba(Squares()), model.predict_proba(X**2), rtol=1e-6)


# It works


def test_the_graph_helps_on_digits_with_one_label_per_class() -> None:
    with_graph, without = [], []
    images, digits = load_digits(return_X_y=True)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(images))[:250]
        x, truth = (images[rows] / 16).astype(np.float32), digits[rows]
        first = [int(np.flatnonzero(truth == digit)[0]) for digit in range(10)]
        y = np.where(np.isin(np.arange(250), first), truth, -1)
        graph = knn_graph(x, k=8)
        settings = {"hidden": (32,), "learning_rate": 0.01, "seed": seed, "batch_size": 256}
        batches = -(-graph.num_edges // 256)
        for scores, used, epochs in ((with_graph, graph, 12), (without, None, 12 * batches)):  # as many steps
            model = NGMClassifier(**settings, epochs=epochs).fit(x, y, graph=used)
            scores.append(model.score(x[y < 0], truth[y < 0]))
    assert np.mean(with_graph) > np.mean(without)
