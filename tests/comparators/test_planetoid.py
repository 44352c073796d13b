"""Planetoid: its two context costs, and what each variant can and cannot see."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ngm.comparators.planetoid import Planetoid, Variant, label_cost, walk_batches, walk_cost
from ngm.graph import Graph
from tests.conftest import random_graph

VARIANTS: list[Variant] = ["inductive", "graph", "transductive"]
QUICK = {"dimensions": 6, "pretraining": 8, "steps": 8, "walks": 16}


def small() -> tuple[NDArray[np.float32], NDArray[np.int64], Graph]:
    """Two groups of 20 nodes, joined within, told apart by x; three labels each."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 20)
    x = (rng.normal(size=(40, 4)) + 2 * np.stack([group, 1 - group, 0 * group, 0 * group], axis=1)).astype(np.float32)
    edges = np.concatenate([rng.integers(20, size=(80, 2)), 20 + rng.integers(20, size=(80, 2))])
    y = np.full(40, -1)
    y[[0, 1, 2, 20, 21, 22]] = [5, 5, 5, 9, 9, 9]
    return x, y, Graph.from_edges(edges, num_nodes=40)


def softplus(score: float) -> float:
    return math.log1p(math.exp(score))


def test_walk_cost_equals_a_plain_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    walks = torch.tensor([[0, 1, 0, 2, 3], [4, 4, 4, 4, 4], [5, 6, 7, 6, 5]])  # with returns, and a node alone
    table = torch.randn(8, 3, generator=generator, dtype=torch.float64)
    context = torch.randn(8, 3, generator=generator, dtype=torch.float64)
    false = torch.tensor([1, 4, 7, 1])
    true_costs, false_costs = [], []
    for walk in walks.tolist():
        for i, u in enumerate(walk):
            near = [v for j, v in enumerate(walk) if abs(i - j) <= 2 and u != v]
            true_costs += [softplus(-float(table[u] @ context[v])) for v in near]
            false_costs += [softplus(float(table[u] @ context[v])) for v in false.tolist() if near]
    expected = (sum(true_costs) / len(true_costs) + 3 * sum(false_costs) / len(false_costs)) / 4
    found = walk_cost(walks, table[walks], context[walks], context[false], window=2, negatives=3)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_label_cost_pairs_nodes_of_the_same_label_and_tells_them_from_others() -> None:
    generator = torch.Generator().manual_seed(1)
    embedded, contexts = torch.randn(2, 5, 3, generator=generator, dtype=torch.float64)
    y = torch.tensor([0, 1, 0, 2, 1])  # class 2 has one node: no true pair
    pairs = [(i, j) for i in range(5) for j in range(5)]
    score = {(i, j): float(embedded[i] @ contexts[j]) for i, j in pairs}
    same = [softplus(-score[0, 2]), softplus(-score[2, 0]), softplus(-score[1, 4]), softplus(-score[4, 1])]
    other = [softplus(score[i, j]) for i, j in pairs if y[i] != y[j]]
    expected = (sum(same) / 4 + 5 * sum(other) / len(other)) / 6
    assert len(other) == 16
    assert float(label_cost(embedded, contexts, y, negatives=5)) == pytest.approx(expected, rel=1e-12)


def test_vectors_of_zeros_cost_log_2_and_walks_that_stay_cost_nothing() -> None:
    zeros = torch.zeros(2, 3, 4)
    moving, staying = torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.tensor([[0, 0, 0], [1, 1, 1]])
    assert float(walk_cost(moving, zeros, zeros, zeros[0], 1, 5)) == pytest.approx(math.log(2))
    assert float(walk_cost(staying, zeros, zeros, zeros[0], 1, 5)) == 0


def test_walks_start_once_from_every_node_before_any_comes_again() -> None:
    batches = walk_batches(random_graph(10, 20, seed=0), 3, 4, np.random.default_rng(0))
    drawn = [next(batches) for _ in range(6)]
    assert [tuple(batch.shape) for batch in drawn[:3]] == [(4, 4), (4, 4), (2, 4)]
    for pass_ in (drawn[:3], drawn[3:]):
        assert sorted(torch.cat(pass_)[:, 0].tolist()) == list(range(10))


@pytest.mark.parametrize("variant", VARIANTS)
def test_same_seed_same_bits_whatever_the_global_state(variant: Variant) -> None:
    x, y, graph = small()
    states = []
    for seed, noise in ((4, 0), (4, 1), (5, 0)):
        torch.manual_seed(noise)
        before = torch.get_rng_state()
        model = Planetoid(variant, seed=seed, **QUICK).fit(x, y, graph=graph)
        assert torch.equal(before, torch.get_rng_state())
        states.append(torch.cat([p.flatten() for p in model.network_.parameters()]))
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_graph_tells_groups_apart_that_x_does_not(variant: Variant) -> None:
    _, y, graph = small()
    x = np.eye(40, dtype=np.float32)  # rows that have nothing in common
    alone = Graph.from_edges(np.zeros((0, 2)), num_nodes=40)
    group, unlabeled = np.repeat([5, 9], 20), y < 0

    def accuracy(given: Graph) -> float:
        models = [Planetoid(variant, walks=16, pretraining=80, seed=s).fit(x, y, graph=given) for s in range(2)]
        assert all(model.classes_.tolist() == [5, 9] for model in models)
        return float(np.mean([(model.transduction_ == group)[unlabeled].mean() for model in models]))

    assert accuracy(graph) > accuracy(alone) + 0.2


def test_the_graph_variant_does_not_see_x_and_the_others_do() -> None:
    x, y, graph = small()
    other = np.random.default_rng(1).normal(size=(40, 7)).astype(np.float32)

    def context(variant: Variant, rows: NDArray[np.float32]) -> torch.Tensor:
        network = Planetoid(variant, **QUICK).fit(rows, y, graph=graph).network_
        return torch.cat([network.context.weight.flatten(), network.embedding.weight.flatten()])

    assert torch.equal(context("graph", x), context("graph", other))
    assert not torch.equal(context("transductive", x), context("transductive", other[:, :4]))
    assert not torch.equal(context("inductive", x), context("inductive", other[:, :4]))


def test_the_inductive_variant_predicts_its_own_rows_as_it_transduced_them() -> None:
    x, y, graph = small()
    model = Planetoid(**QUICK).fit(x, y, graph=graph)
    np.testing.assert_array_equal(model.predict(x), model.transduction_)
    np.testing.assert_array_equal(model.predict(x[::-1][:5]), model.transduction_[::-1][:5])


@pytest.mark.parametrize("variant", VARIANTS)
def test_sparse_rows_and_the_length_of_rows_make_no_difference(variant: Variant) -> None:
    x, y, graph = small()
    dense = Planetoid(variant, **QUICK).fit(x, y, graph=graph)
    sparse = Planetoid(variant, **QUICK).fit(sp.csr_matrix(x * 8), y, graph=graph)
    for a, b in zip(dense.network_.parameters(), sparse.network_.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_steps_on_contexts_leave_the_class_layers_alone_and_the_other_way_round() -> None:
    x, y, graph = small()
    before = Planetoid("transductive", pretraining=0, steps=0).fit(x, y, graph=graph).network_.state_dict()
    after = Planetoid("transductive", pretraining=3, steps=0).fit(x, y, graph=graph).network_.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"table.weight", "context.weight"}
    only_classes = Planetoid("transductive", pretraining=0, steps=1, context_learning_rate=0.0)
    after = only_classes.fit(x, y, graph=graph).network_.state_dict()
    moved = (before["table.weight"] != after["table.weight"]).any(dim=1).nonzero()[:, 0]
    assert torch.equal(before["context.weight"], after["context.weight"])
    assert moved.tolist() == [0, 1, 2, 20, 21, 22]


def test_with_graph_share_1_labels_are_no_contexts() -> None:
    x, y, graph = small()
    alone = Graph.from_edges(np.zeros((0, 2)), num_nodes=40)
    start = Planetoid("graph", pretraining=0, steps=0).fit(x, y, graph=graph).network_.context.weight

    def contexts(share: float) -> torch.Tensor:
        model = Planetoid("graph", pretraining=0, steps=3, graph_share=share).fit(x, y, graph=alone)
        return (model.network_.context.weight != start).any(dim=1).nonzero()[:, 0]

    assert contexts(1.0).tolist() == []
    assert contexts(0.5).tolist() == [0, 1, 2, 20, 21, 22]


def test_more_labels_than_a_batch_holds_are_drawn_from() -> None:
    x, y, graph = small()
    start = Planetoid("graph", pretraining=0, steps=0).fit(x, y, graph=graph).network_.table.weight
    one = Planetoid("graph", pretraining=0, steps=1, batch_size=2, context_learning_rate=0.0)
    moved = (one.fit(x, y, graph=graph).network_.table.weight != start).any(dim=1).nonzero()[:, 0]
    assert len(moved) == 2
    assert set(moved.tolist()) <= {0, 1, 2, 20, 21, 22}


@pytest.mark.parametrize("variant", ["graph", "transductive"])
def test_new_rows_are_refused_where_the_embedding_is_a_table(variant: Variant) -> None:
    with pytest.raises(ValueError, match=f"variant '{variant}' cannot classify rows that were not .* transduction_"):
        Planetoid(variant).predict(np.zeros((1, 2)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "deductive"}, "variant is 'deductive'; choose from inductive, graph, transductive"),
        ({"window": 0}, "window is 0; it must be at least 1"),
        ({"steps": -1}, "steps is -1; it must be at least 0"),
        ({"graph_share": 1.5}, "graph_share is 1.5; it must be from 0 to 1"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], message: str) -> None:
    x, y, graph = small()
    with pytest.raises(ValueError, match=message):
        Planetoid(**settings).fit(x, y, graph=graph)  # type: ignore[arg-type]


def test_a_missing_or_unfit_graph_is_named() -> None:
    x, y, graph = small()
    with pytest.raises(ValueError, match="x has 40 rows and there is no graph; give graph="):
        Planetoid().fit(x, y)
    with pytest.raises(ValueError, match="x has 40 rows and there is a graph of 3 nodes"):
        Planetoid().fit(x, y, graph=graph.subgraph([0, 1, 2]))
    with pytest.raises(ValueError, match="y has several columns; Planetoid takes one class per row"):
        Planetoid().fit(x, np.eye(40)[:, :2], graph=graph)
