"""Semi-supervised embedding: pairs, their loss, and a step of training, each against plain torch or loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm import Graph
from ngm.comparators.semi_embedding import SemiEmbedding
from ngm.networks import FFNNModule
from ngm.networks.tap import tap
from ngm.recipes.contrastive_pairs import PairSampler, embedding_loss
from ngm.training import seeded
from tests.forty_rows import three_classes


def weights(network: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def plain_network(width: int, seed: int) -> FFNNModule:
    with seeded(seed):
        return FFNNModule(width, 3, hidden=(6,))


def test_the_embedding_loss_is_that_of_a_plain_loop() -> None:
    h = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    joined, apart = [(0, 1), (2, 3), (0, 5)], [(0, 2), (1, 4), (3, 5), (0, 3)]
    rows = h.tolist()
    pull = sum(math.dist(rows[u], rows[v]) ** 2 for u, v in joined) / 3
    push = sum(max(0.0, 2.0 - math.dist(rows[u], rows[v])) ** 2 for u, v in apart) / 4
    got = embedding_loss(h, torch.tensor(joined).t(), torch.tensor(apart).t(), margin=2.0)
    assert got.item() == pytest.approx(pull + push, rel=1e-5)
    none = embedding_loss(h, torch.tensor(joined).t(), torch.zeros(2, 0, dtype=torch.int64), margin=2.0)
    assert none.item() == pytest.approx(pull, rel=1e-5)


def test_edges_are_drawn_in_proportion_to_their_weights() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3]], [3.0, 0.0, 1.0])
    joined, _ = PairSampler(graph, seed=0).draw(4000)
    counts = torch.bincount(joined[0], minlength=3)
    assert counts[1] == 0
    assert counts[0].item() / 4000 == pytest.approx(0.75, abs=0.03)
    assert (joined[1] - joined[0] == 1).all()


@pytest.mark.parametrize("directed", [False, True])
def test_pairs_to_push_apart_are_never_neighbors_nor_one_node(directed: bool) -> None:
    edges = np.random.default_rng(0).integers(8, size=(12, 2))
    graph = Graph.from_edges(edges, num_nodes=8, directed=directed)
    close = {frozenset(edge) for edge in graph.edges.tolist()}
    drawn = {frozenset(pair) for pair in PairSampler(graph, seed=0).draw(500)[1].t().tolist()}
    every = {frozenset((u, v)) for u in range(8) for v in range(u)}
    assert drawn == every - close


def test_where_all_nodes_are_neighbors_no_pair_is_pushed_apart() -> None:
    triangle = Graph.from_edges([[0, 1], [0, 2], [1, 2]])
    joined, apart = PairSampler(triangle, seed=0).draw(10)
    assert joined.shape == (2, 10)
    assert apart.shape == (2, 0)


def test_with_weight_0_it_is_plain_training_with_or_without_the_graph() -> None:
    x, y, graph = three_classes()
    settings = {"hidden": (6,), "alpha": 0, "steps": 5, "unit_rows": False, "dropout": 0.0}
    settings |= {"weight_decay": 0.1, "learning_rate": 0.05}
    model = SemiEmbedding(**settings, seed=3).fit(x.astype(np.float32), y)  # type: ignore[arg-type]
    network, known = plain_network(5, seed=3), torch.from_numpy(np.flatnonzero(y >= 0))
    adam = torch.optim.Adam(network.parameters(), lr=0.05, weight_decay=0.1)
    for _ in range(5):
        adam.zero_grad()
        F.cross_entropy(network(torch.from_numpy(x).float()[known]), torch.from_numpy(y)[known]).backward()
        adam.step()
    torch.testing.assert_close(weights(model.network_), weights(network))
    with_graph = SemiEmbedding(**settings, seed=3).fit(x.astype(np.float32), y, graph)  # type: ignore[arg-type]
    assert torch.equal(weights(with_graph.network_), weights(model.network_))


@pytest.mark.parametrize(("layer", "complete"), [("output", False), ("last_hidden", False), ("output", True)])
def test_a_step_goes_down_the_cost_of_its_labels_and_pairs(layer: str, complete: bool) -> None:
    x, y, graph = three_classes()
    if complete:  # no pair to push apart
        graph = Graph.from_edges([[u, v] for u in range(40) for v in range(u)])
    model = SemiEmbedding((6,), 0.8, 2.0, layer, 0.0, steps=1, batch_size=20, unit_rows=False, weight_decay=0, seed=3)
    model.fit(x.astype(np.float32), y, graph)
    network, known = plain_network(5, seed=3), np.flatnonzero(y >= 0)
    joined, apart = PairSampler(graph, seed=3).draw(20)
    logits, read = tap(network, torch.from_numpy(x).float(), [layer])
    cost = F.cross_entropy(logits[known], torch.from_numpy(y)[known])
    cost = cost + 0.8 * embedding_loss(read[layer], joined, apart, 2.0)
    adam = torch.optim.Adam(network.parameters(), lr=model.learning_rate)
    cost.backward()  # type: ignore[no-untyped-call]
    adam.step()
    torch.testing.assert_close(weights(model.network_), weights(network), atol=1e-5, rtol=1e-4)


def test_many_labelled_rows_come_in_batches() -> None:
    x, y, _ = three_classes(labeled=30)
    runs = [SemiEmbedding(alpha=0, steps=1, batch_size=size, dropout=0.0).fit(x, y).network_ for size in (29, 30, 100)]
    assert torch.equal(weights(runs[1]), weights(runs[2]))
    assert not torch.equal(weights(runs[0]), weights(runs[1]))


def test_the_graph_helps_where_it_joins_rows_of_a_class() -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 2
    x = (rng.normal(size=(120, 20)) + truth[:, None] * 0.5).astype(np.float32)
    y = np.where(np.arange(120) < 6, truth, -1)
    graph = Graph.from_edges(rng.integers(60, size=(300, 2)) * 2 + np.arange(300)[:, None] % 2, num_nodes=120)
    right = [
        np.mean([SemiEmbedding(alpha=a, steps=60, seed=s).fit(x, y, graph).transduction_ == truth for s in range(3)])
        for a in (0.0, 1.0)
    ]
    assert right[1] > right[0] + 0.1


def test_same_seed_same_bits_and_the_global_generator_is_left_alone() -> None:
    x, y, graph = three_classes()
    before = torch.random.get_rng_state()
    first, again, other = (
        SemiEmbedding(steps=5, dropout=0.5, input_dropout=0.2, seed=s).fit(x, y, graph).network_ for s in (1, 1, 2)
    )
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_sparse_rows_new_rows_and_words_are_taken() -> None:
    x, y, graph = three_classes()
    dense = SemiEmbedding(steps=20, dropout=0.0).fit(x, y, graph)
    words = np.array(["a", "b", "c", None], dtype=object)[y]
    sparse = SemiEmbedding(steps=20, dropout=0.0).fit(sp.csr_matrix(x), words, graph)
    torch.testing.assert_close(weights(sparse.network_), weights(dense.network_), atol=1e-3, rtol=1e-3)
    np.testing.assert_array_equal(sparse.transduction_, np.array(["a", "b", "c"])[dense.transduction_])
    np.testing.assert_array_equal(sparse.predict(x[::-1]), sparse.transduction_[::-1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margin": 0}, "margin is 0; give a finite number above 0"),
        ({"hidden": (0,)}, r"hidden is \(0,\); every width is a whole number of at least 1"),
        ({"dropout": 1}, "dropout is 1; give a share of at least 0 and below 1"),
        ({"layer": "hiden"}, "network has no layer 'hiden'"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], message: str) -> None:
    x, y, graph = three_classes()
    with pytest.raises(ValueError, match=message):
        SemiEmbedding(**settings).fit(x, y, graph)  # type: ignore[arg-type]


def test_a_graph_is_asked_for_and_needs_edges() -> None:
    x, y, _ = three_classes()
    with pytest.raises(ValueError, match="graph is None; SemiEmbedding needs one over the 40 rows"):
        SemiEmbedding().fit(x, y)
    with pytest.raises(ValueError, match="has no edge with a weight above 0 to draw"):
        SemiEmbedding().fit(x, y, Graph.from_edges([], num_nodes=40))
