from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm import EdgeKind, EdgeLoader, Graph, NGMLoss, Regularizer
from tests.conftest import Problem, make_problem


class Identity(nn.Module):
    """Logits = x, so that costs can be worked out by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def hand_worked() -> tuple[Tensor, Tensor, Graph]:
    """Edges of each kind: LL with distance 5, LU with distance 1, UU with distance 2."""
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0], [0.0, 3.0]])
    return x, torch.tensor([0, 1, -1, -1]), Graph.from_edges([[0, 1], [0, 2], [2, 3]], [1.0, 2.0, 3.0])


def test_the_parts_of_a_hand_worked_cost() -> None:
    x, y, graph = hand_worked()
    (batch,) = EdgeLoader(x, y, graph)
    loss = NGMLoss(alpha_ll=0.5, alpha_lu=0.1, alpha_uu=0.01, layer="output", scaling="sum")
    cost = loss(Identity(), batch)
    assert cost.ll.item() == pytest.approx(0.5 * 1 * 5)
    assert cost.lu.item() == pytest.approx(0.1 * 2 * 1)
    assert cost.uu.item() == pytest.approx(0.01 * 3 * 2)
    expected = F.cross_entropy(x[:2], y[:2], reduction="sum").item()
    assert cost.supervised.item() == pytest.approx(expected)
    assert cost.total.item() == pytest.approx(expected + 2.5 + 0.2 + 0.06)


def test_means_divide_each_kind_by_its_number_of_edges_and_labels_by_theirs() -> None:
    x, y, graph = hand_worked()
    doubled = graph.merge(Graph.from_edges([[1, 3]], [1.0], num_nodes=4))  # a second LU edge, distance sqrt(10)
    (batch,) = EdgeLoader(x, y, doubled)
    cost = NGMLoss(alpha_ll=0.5, alpha_lu=0.1, alpha_uu=0.01, layer="output", scaling="mean")(Identity(), batch)
    assert cost.supervised.item() == pytest.approx(F.cross_entropy(x[:2], y[:2]).item())
    assert cost.lu.item() == pytest.approx(0.1 * (2 * 1 + 10**0.5) / 2)
    assert cost.ll.item() == pytest.approx(0.5 * 5)


def test_size_and_spread_of_h_are_logged() -> None:
    x, y, graph = hand_worked()
    (batch,) = EdgeLoader(x, y, graph)
    cost = NGMLoss(layer="output")(Identity(), batch)
    assert cost.h_norm.item() == pytest.approx((0 + 5 + 1 + 3) / 4)
    centred = x - x.mean(dim=0)
    assert cost.h_spread.item() == pytest.approx(centred.norm(dim=1).mean().item())
    assert not cost.h_norm.requires_grad


def test_influence_of_the_source_moves_only_the_target() -> None:
    graph = Graph.from_edges([[0, 1]], directed=True, num_nodes=3)
    (batch,) = EdgeLoader(torch.arange(3), torch.tensor([-1, -1, 0]), graph)
    for influence, still, moved in (("source", 0, 1), ("target", 1, 0)):
        free = nn.Embedding(3, 2)
        cost = NGMLoss(influence=influence, layer="output")(free, batch)
        (cost.ll + cost.lu + cost.uu).backward()
        assert free.weight.grad is not None
        assert free.weight.grad[still].abs().sum() == 0
        assert free.weight.grad[moved].abs().sum() > 0


def test_two_regularizers_on_one_graph_compare_two_layers(problem: Problem) -> None:
    (batch,) = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=1000, dtype=torch.float64)
    first = Regularizer(layer="hidden.0", graph=0)
    second = Regularizer(layer="output", graph=0, alpha_uu=0.7)
    both = NGMLoss([first, second])(problem.network, batch)
    parts = [NGMLoss(r)(problem.network, batch) for r in (first, second)]
    torch.testing.assert_close(both.uu, parts[0].uu + parts[1].uu)
    torch.testing.assert_close(both.supervised, parts[0].supervised)


def test_kinds_are_the_union_over_the_regularizers_of_a_graph() -> None:
    loss = NGMLoss(
        [
            Regularizer(alpha_ll=1.0, alpha_lu=0.0, alpha_uu=0.0, graph=0),
            Regularizer(alpha_ll=0.0, alpha_lu=1.0, alpha_uu=0.0, graph=0),
            Regularizer(alpha_ll=0.0, alpha_lu=0.0, alpha_uu=1.0, graph=1),
        ]
    )
    assert loss.kinds == [{EdgeKind.LL, EdgeKind.LU}, {EdgeKind.UU}]


def test_distances_between_outputs_default_to_the_output_layer() -> None:
    assert Regularizer(distance="js").layer_name == "output"
    assert Regularizer(distance="l2").layer_name == "last_hidden"
    assert Regularizer(distance="js", layer="hidden.0").layer_name == "hidden.0"


def test_soft_labels_that_are_certain_cost_what_classes_cost(problem: Problem) -> None:
    soft = F.one_hot(problem.y.clamp(min=0), 3).double()
    soft[problem.y < 0] = -1
    loss = NGMLoss()
    (hard_batch,) = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=1000, dtype=torch.float64)
    (soft_batch,) = EdgeLoader(problem.x, soft, problem.graph, batch_size=1000, dtype=torch.float64)
    torch.testing.assert_close(loss(problem.network, hard_batch).total, loss(problem.network, soft_batch).total)


def test_bce_sums_the_labels_of_a_node() -> None:
    x = torch.tensor([[2.0, -1.0]])
    (batch,) = EdgeLoader(x, torch.tensor([[1.0, 0.0]]), None)
    cost = NGMLoss(cost="bce", layer="output")(Identity(), batch)
    expected = torch.log1p(torch.exp(torch.tensor(-2.0))) + torch.log1p(torch.exp(torch.tensor(-1.0)))
    torch.testing.assert_close(cost.supervised, expected)


def test_a_cost_and_a_distance_of_the_users_own(problem: Problem) -> None:
    (batch,) = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=1000, dtype=torch.float64)
    named = NGMLoss(distance="squared_l2")(problem.network, batch)
    own = NGMLoss(
        distance=lambda h_u, h_v: ((h_u - h_v) ** 2).sum(dim=1),
        cost=lambda logits, y: F.cross_entropy(logits, y, reduction="none"),
    )(problem.network, batch)
    torch.testing.assert_close(named.total, own.total)


def test_the_empty_part_of_a_rank_costs_nothing(problem: Problem) -> None:
    graph = Graph.from_edges([[0, 1]], num_nodes=2)
    (part,) = EdgeLoader(problem.x[:2], torch.tensor([0, 1]), graph, rank=0, world=3, dtype=torch.float64)
    cost = NGMLoss()(problem.network, part)
    assert cost.total.item() == 0
    assert not cost.total.requires_grad


def test_costs_are_in_float32_when_the_network_runs_in_bfloat16() -> None:
    problem = make_problem()
    (batch,) = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=1000)
    network = problem.network.float()
    exact = NGMLoss()(network, batch)
    with torch.autocast("cpu", torch.bfloat16):
        rough = NGMLoss()(network, batch)
    assert rough.total.dtype == torch.float32
    assert rough.total.item() != exact.total.item()
    assert rough.total.item() == pytest.approx(exact.total.item(), rel=0.02)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NGMLoss(alpha_ll=-1), "alpha_ll is -1; it must be a finite number of at least 0"),
        (lambda: NGMLoss(alpha_uu=float("nan")), "alpha_uu is nan; it must be a finite number of at least 0"),
        (lambda: NGMLoss(distance="L2"), r"unknown distance 'L2' \(did you mean 'l2'\?\); choose from l1, l2,"),
        (lambda: NGMLoss(cost="crossentropy"), r"unknown cost 'crossentropy' \(did you mean 'cross_entropy'\?\)"),
        (lambda: NGMLoss(scaling="max"), r"scaling is 'max'; choose 'sum' \(exactly Eq. 3\) or 'mean'"),
        (lambda: NGMLoss(influence="none"), "influence is 'none'; choose 'both', 'source' or 'target'"),
        (lambda: NGMLoss([Regularizer()], alpha_ll=1), "alpha_ll given beside regularizers; set it on each"),
    ],
)
def test_wrong_settings_are_named(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_what_does_not_fit_together_is_named(problem: Problem) -> None:
    (batch,) = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=1000, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"network has no layer 'hiden\.1'"):
        NGMLoss(layer="hiden.1")(problem.network, batch)
    with pytest.raises(ValueError, match="influence is 'source', but graph 0 is undirected"):
        NGMLoss(influence="source")(problem.network, batch)
    with pytest.raises(ValueError, match="a regularizer is for graph 1, the loader has 1"):
        NGMLoss([Regularizer(), Regularizer()])(problem.network, batch)


def test_another_loader_is_looked_at_even_if_the_network_was_seen_before(problem: Problem) -> None:
    undirected = problem.graph
    directed = Graph.from_edges(undirected.edges, undirected.weight, undirected.num_nodes, directed=True)
    loss = NGMLoss(influence="source")
    loss.check(problem.network, EdgeLoader(problem.x, problem.y, directed).totals)
    with pytest.raises(ValueError, match="influence is 'source', but graph 0 is undirected"):
        loss.check(problem.network, EdgeLoader(problem.x, problem.y, undirected).totals)
    two = NGMLoss([Regularizer(), Regularizer()])
    two.check(problem.network, EdgeLoader(problem.x, problem.y, [undirected, undirected]).totals)
    with pytest.raises(ValueError, match="a regularizer is for graph 1, the loader has 1"):
        two.check(problem.network, EdgeLoader(problem.x, problem.y, undirected).totals)
    assert not list(two.parameters())  # the network is no part of the loss
