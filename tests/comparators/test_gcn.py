"""The graph convolutional network against its formula written out with dense matrices."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ngm import Graph
from ngm.comparators.gcn import GCN, both_ways, convolutions, forward
from ngm.rows import take_rows
from ngm.training import seeded
from tests.forty_rows import three_classes


@pytest.fixture
def pyg() -> None:
    """Skips where PyTorch Geometric is missing."""
    pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not here: pip install torch_geometric")


def weights(network: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def some_layers() -> nn.ModuleList:
    with seeded(0):
        layers = convolutions(5, 4, 3)
        for layer in layers:
            nn.init.normal_(layer.bias)
    return layers


def smoothing(graph: Graph) -> NDArray[np.float64]:
    """D^-1/2 (A + I) D^-1/2."""
    looped = graph.to_scipy().toarray() + np.eye(graph.num_nodes)
    root = np.sqrt(looped.sum(axis=1))
    return np.asarray(looped / root[:, None] / root[None])


@pytest.mark.usefixtures("pyg")
@pytest.mark.parametrize("sparse", [False, True])
def test_the_network_is_the_formula_of_the_paper(sparse: bool) -> None:
    x, _, graph = three_classes()
    layers, smooth = some_layers(), smoothing(graph)
    (w1, b1), (w2, b2) = ((c.lin.weight.detach().numpy().T, c.bias.detach().numpy()) for c in layers)
    expected = smooth @ np.maximum(smooth @ x @ w1 + b1, 0) @ w2 + b2
    rows = take_rows(sp.csr_matrix(x) if sparse else x, torch.arange(40))
    assert isinstance(rows, Tensor)
    got = forward(layers, rows, *both_ways(graph), dropout=0.0)
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("pyg")
@pytest.mark.parametrize("sparse", [False, True])
def test_dropout_keeps_the_mean_of_the_inputs(sparse: bool) -> None:
    rows = take_rows(sp.csr_matrix(np.ones((40, 5))) if sparse else np.ones((40, 5)), torch.arange(40))
    assert isinstance(rows, Tensor)
    seen: list[Tensor] = []
    layers = some_layers()
    layers[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].to_dense()))
    with seeded(0):
        forward(layers, rows, *both_ways(three_classes()[2]), dropout=0.5)
    assert set(seen[0].unique().tolist()) == {0.0, 2.0}


@pytest.mark.usefixtures("pyg")
def test_weight_decay_is_on_the_first_layer_alone() -> None:
    x, y, graph = three_classes()
    with seeded(0):
        start = convolutions(5, 16, 3)
    model, free = (GCN(epochs=1, dropout=0.0, weight_decay=decay).fit(x, y, graph).layers_ for decay in (1e6, 0.0))
    step = model[0].lin.weight - start[0].lin.weight  # Adam's first step has the size of the learning rate
    torch.testing.assert_close(step, -0.01 * start[0].lin.weight.sign(), atol=1e-5, rtol=1e-3)
    assert torch.equal(weights(model[1]), weights(free[1]))


@pytest.mark.usefixtures("pyg")
def test_it_learns_its_labels() -> None:
    x, y, graph = three_classes()
    known = y >= 0
    right = [(GCN(epochs=n, seed=1).fit(x, y, graph).transduction_[known] == y[known]).sum() for n in (1, 100)]
    assert right[1] > right[0]


@pytest.mark.usefixtures("pyg")
def test_it_is_trained_on_the_labelled_nodes_of_rows_that_add_up_to_1() -> None:
    x, y, graph = three_classes()
    model = GCN(dropout=0.0, weight_decay=0.0, epochs=5).fit(np.abs(x), y, graph)
    rows, known = torch.from_numpy(np.abs(x) / np.abs(x).sum(axis=1, keepdims=True)).float(), np.flatnonzero(y >= 0)
    with seeded(0):
        layers = convolutions(5, 16, 3)
    adam = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(5):
        adam.zero_grad()
        logits = forward(layers, rows, *both_ways(graph), dropout=0.0)
        nn.functional.cross_entropy(logits[known], torch.from_numpy(y)[known]).backward()
        adam.step()
    torch.testing.assert_close(weights(model.layers_), weights(layers), atol=1e-4, rtol=1e-3)
    logits = forward(layers, rows, *both_ways(graph), dropout=0.0)
    np.testing.assert_array_equal(model.transduction_, logits.argmax(dim=1).numpy())


@pytest.mark.usefixtures("pyg")
def test_neither_the_sum_of_a_row_nor_node_order_matters() -> None:
    x, y, graph = three_classes()
    x = np.abs(x)
    order = np.random.default_rng(0).permutation(40)
    model = GCN(dropout=0.0, epochs=20).fit(x, y, graph)
    stretched = (x * np.linspace(1, 5, 40)[:, None])[order]
    moved = GCN(dropout=0.0, epochs=20).fit(stretched, y[order], graph.subgraph(order))
    torch.testing.assert_close(weights(moved.layers_), weights(model.layers_), atol=1e-4, rtol=1e-3)


@pytest.mark.usefixtures("pyg")
def test_same_seed_same_bits_and_the_global_generator_is_left_alone() -> None:
    x, y, graph = three_classes()
    before = torch.random.get_rng_state()
    first, again, other = (GCN(epochs=5, seed=s).fit(x, y, graph).layers_ for s in (1, 1, 2))
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.usefixtures("pyg")
def test_classes_may_be_words_and_new_rows_are_refused() -> None:
    x, y, graph = three_classes()
    model = GCN(epochs=20).fit(x, np.array(["a", "b", "c", None], dtype=object)[y], graph)
    expected = GCN(epochs=20).fit(sp.csr_matrix(x), y, graph).transduction_
    assert (model.transduction_ == np.array(["a", "b", "c"])[expected]).mean() > 0.8  # dropout differs with the form
    with pytest.raises(ValueError, match="GCN classifies the nodes of its graph only; read transduction_"):
        model.predict(x)


def test_a_graph_and_settings_in_range_are_asked_for() -> None:
    x, y, graph = three_classes()
    with pytest.raises(ValueError, match="graph is None; GCN needs one over the 40 rows"):
        GCN().fit(x, y)
    with pytest.raises(ValueError, match="dropout is 1; give a share of at least 0 and below 1"):
        GCN(dropout=1).fit(x, y, graph)


def test_without_pytorch_geometric_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.nn", None)
    with pytest.raises(ImportError, match="GCN needs PyTorch Geometric: pip install torch_geometric"):
        GCN().fit(*three_classes())
