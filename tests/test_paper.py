"""The paper's identities, each held to a second derivation: a plain loop or a closed form."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm import EdgeLoader, Graph, LabelPropagation, NGMClassifier, NGMLoss, Regularizer
from ngm.distances import DISTANCES, ONE_SIDED
from ngm.estimators.network_factory import make_network
from ngm.networks import FFNN
from ngm.recipes.settings import resolve
from tests.benchmark_modules import Forked
from tests.conftest import Problem, make_problem, random_graph
from tests.rank_programs import batch_gradients
from tests.ranks import in_ranks, run_ranks

ALPHAS = {"alpha_ll": 0.3, "alpha_lu": 0.2, "alpha_uu": 0.1}


def equation_3(
    network: nn.Module, x: Tensor, y: Tensor, terms: list[tuple[Graph, Regularizer]]
) -> tuple[Tensor, list[Tensor]]:
    """Eq. 3 by a plain loop over nodes and edges: (value, gradient)."""
    hidden: list[Tensor] = []
    handle = network.hidden[-1].register_forward_hook(lambda m, i, output: hidden.append(output))
    logits = network(x)
    handle.remove()
    total = torch.zeros((), dtype=torch.float64)
    for n in range(len(y)):
        if y[n] >= 0:
            total = total + F.cross_entropy(logits[n][None], y[n][None])
    for graph, regularizer in terms:
        d = DISTANCES[regularizer.distance]
        h = logits if regularizer.layer_name == "output" else hidden[0]
        for (u, v), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True):
            labeled_ends = int(y[u] >= 0) + int(y[v] >= 0)
            alpha = (regularizer.alpha_uu, regularizer.alpha_lu, regularizer.alpha_ll)[labeled_ends]
            h_u, h_v = h[u], h[v]
            if regularizer.influence == "source":
                h_u = h_u.detach()
            if regularizer.influence == "target":
                h_v = h_v.detach()
            if graph.directed or regularizer.distance not in ONE_SIDED:
                distance = d(h_u[None], h_v[None])[0]
            else:
                distance = (d(h_u[None], h_v[None])[0] + d(h_v[None], h_u[None])[0]) / 2
            total = total + alpha * w * distance
    return total, list(torch.autograd.grad(total, list(network.parameters())))


def equation_4(
    network: nn.Module, x: Tensor, y: Tensor, graphs: list[Graph], loss: NGMLoss, **settings: object
) -> tuple[Tensor, list[Tensor]]:
    """Eq. 4: the costs of all minibatches of edges added up, and so their gradients."""
    loader = EdgeLoader(x, y, graphs, kinds=loss.kinds, dtype=torch.float64, **{"sampling": "edges"} | settings)
    gradients = [torch.zeros_like(p) for p in network.parameters()]
    total = torch.zeros((), dtype=torch.float64)
    for batch in loader:
        cost = loss(network, batch).total
        total += cost.detach()
        for sum_, g in zip(gradients, torch.autograd.grad(cost, list(network.parameters())), strict=True):
            sum_ += g
    return total, gradients


def assert_equations_agree(problem: Problem, terms: list[tuple[Graph, Regularizer]], **settings: object) -> None:
    loss = NGMLoss([regularizer for _, regularizer in terms], scaling="sum")
    expected, slopes = equation_3(problem.network, problem.x, problem.y, terms)
    graphs = [graph for graph, _ in terms]
    total, gradients = equation_4(problem.network, problem.x, problem.y, graphs, loss, **settings)
    torch.testing.assert_close(total, expected, rtol=1e-6, atol=1e-6)
    for gradient, slope in zip(gradients, slopes, strict=True):
        torch.testing.assert_close(gradient, slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sampling", ["edges", "plain"])
@pytest.mark.parametrize("batch_size", [1, 7, 32, 1000])
def test_equation_4_equals_equation_3_at_every_batch_size(problem: Problem, batch_size: int, sampling: str) -> None:
    terms = [(problem.graph, Regularizer(**ALPHAS))]
    assert_equations_agree(problem, terms, batch_size=batch_size, sampling=sampling)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("directed", [False, True])
def test_equation_4_equals_equation_3_for_every_distance(distance: str, directed: bool) -> None:
    problem = make_problem(directed)
    assert_equations_agree(problem, [(problem.graph, Regularizer(**ALPHAS, distance=distance))], batch_size=16)


@pytest.mark.parametrize("influence", ["source", "target"])
def test_equation_4_equals_equation_3_for_directed_influence(influence: str) -> None:
    problem = make_problem(directed=True)
    assert_equations_agree(problem, [(problem.graph, Regularizer(**ALPHAS, influence=influence))], batch_size=16)


@pytest.mark.parametrize("sampling", ["edges", "plain"])
def test_equation_4_equals_equation_3_for_several_graphs_and_layers(problem: Problem, sampling: str) -> None:
    directed = random_graph(40, 60, seed=9, directed=True)
    terms = [
        (problem.graph, Regularizer(**ALPHAS)),
        (directed, Regularizer(alpha_ll=0.0, alpha_lu=0.5, alpha_uu=0.0, distance="kl", influence="source")),
    ]
    assert_equations_agree(problem, terms, batch_size=16, sampling=sampling)


@pytest.mark.parametrize("zero", ["alpha_ll", "alpha_lu", "alpha_uu"])
def test_equation_4_equals_equation_3_when_a_kind_is_never_sampled(problem: Problem, zero: str) -> None:
    assert_equations_agree(problem, [(problem.graph, Regularizer(**ALPHAS | {zero: 0.0}))], batch_size=16)


def test_means_per_kind_are_equation_3_divided_by_counts(problem: Problem) -> None:
    regularizer = Regularizer(**ALPHAS)
    loss = NGMLoss(regularizer, scaling="mean")
    loader = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16, dtype=torch.float64)
    mean = sum(loss(problem.network, batch).total for batch in loader) / len(loader)
    labeled = (problem.y >= 0).long()
    kind = 2 - labeled[problem.graph.edges].sum(dim=1)
    ll, lu, uu = (int((kind == k).sum()) for k in range(3))
    by_count = Regularizer(
        alpha_ll=ALPHAS["alpha_ll"] / ll, alpha_lu=ALPHAS["alpha_lu"] / lu, alpha_uu=ALPHAS["alpha_uu"] / uu
    )
    both, _ = equation_3(problem.network, problem.x, problem.y, [(problem.graph, by_count)])
    supervised, _ = equation_3(problem.network, problem.x, problem.y, [])
    expected = both - supervised + supervised / labeled.sum()
    torch.testing.assert_close(mean, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("distance", DISTANCES)
def test_reversing_every_undirected_edge_changes_nothing(problem: Problem, distance: str) -> None:
    graph = problem.graph
    reversed_ = Graph(graph.num_nodes, graph.edges.flip(1), graph.weight)
    loss = NGMLoss(**ALPHAS, distance=distance, scaling="sum")
    total, gradients = equation_4(problem.network, problem.x, problem.y, [graph], loss, batch_size=16)
    again, slopes = equation_4(problem.network, problem.x, problem.y, [reversed_], loss, batch_size=16)
    torch.testing.assert_close(total, again)
    for gradient, slope in zip(gradients, slopes, strict=True):
        torch.testing.assert_close(gradient, slope)


def test_reversing_every_undirected_edge_changes_nothing_for_a_one_sided_function_of_the_users_own() -> None:
    problem = make_problem()
    graph = problem.graph
    loss = NGMLoss(**ALPHAS, distance=lambda h_u, h_v: (h_u**2 * h_v).sum(dim=1), scaling="sum")
    reversed_ = Graph(graph.num_nodes, graph.edges.flip(1), graph.weight)
    total, _ = equation_4(problem.network, problem.x, problem.y, [graph], loss, batch_size=16)
    again, _ = equation_4(problem.network, problem.x, problem.y, [reversed_], loss, batch_size=16)
    torch.testing.assert_close(total, again)


def test_reversing_a_directed_edge_with_influence_does_change_the_gradient() -> None:
    problem = make_problem(directed=True)
    graph = problem.graph
    reversed_ = Graph(graph.num_nodes, graph.edges.flip(1), graph.weight, directed=True)
    loss = NGMLoss(**ALPHAS, influence="source", scaling="sum")
    _, gradients = equation_4(problem.network, problem.x, problem.y, [graph], loss)
    _, slopes = equation_4(problem.network, problem.x, problem.y, [reversed_], loss)
    assert not torch.allclose(gradients[0], slopes[0])


def test_renumbering_the_nodes_changes_nothing(problem: Problem) -> None:
    new = torch.randperm(40, generator=torch.Generator().manual_seed(1))  # node i becomes new[i]
    x, y = torch.empty_like(problem.x), torch.empty_like(problem.y)
    x[new], y[new] = problem.x, problem.y
    graph = Graph.from_edges(new[problem.graph.edges], problem.graph.weight, 40)
    loss = NGMLoss(**ALPHAS, scaling="sum")
    total, gradients = equation_4(problem.network, problem.x, problem.y, [problem.graph], loss, batch_size=16)
    again, slopes = equation_4(problem.network, x, y, [graph], loss, batch_size=16)
    torch.testing.assert_close(total, again, rtol=1e-6, atol=1e-6)
    for gradient, slope in zip(gradients, slopes, strict=True):
        torch.testing.assert_close(gradient, slope, rtol=1e-5, atol=1e-6)


def test_without_alphas_training_is_equation_1_step_by_step(problem: Problem) -> None:
    settings = {
        "hidden": (8,),
        "batch_size": 4,
        "epochs": 5,
        "seed": 2,
        "dtype": "float64",
        "scaling": "sum",
        "recipe": "paper",
        "network": FFNN(input_scaling="none"),
    }
    fitted = NGMClassifier(alpha_ll=0, alpha_lu=0, alpha_uu=0, **settings).fit(
        problem.x, problem.y, graph=problem.graph
    )
    plain = NGMClassifier(epochs=1, **{k: v for k, v in settings.items() if k != "epochs"})
    network = make_network(plain, resolve(plain, "classes"), (6, 3), torch.float64)
    steps = torch.optim.Adam(network.parameters(), lr=1e-3)
    loader = EdgeLoader(problem.x, problem.y, None, batch_size=4, seed=2, dtype=torch.float64)
    for _ in range(5):
        for batch in loader:
            assert (batch.y >= 0).all()
            assert len(batch.nodes) <= 4
            steps.zero_grad()
            F.cross_entropy(network(problem.x[batch.nodes]), problem.y[batch.nodes], reduction="sum").backward()
            steps.step()
    for ours, theirs in zip(fitted.network_.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-8)


def test_label_propagation_is_the_limit_of_free_label_distributions() -> None:
    """Section 3.1: g = h = the label distribution itself, c = d = squared l2, alpha = 2 mu2, mu1 = 1, mu3 = 0."""
    graph = random_graph(12, 30, seed=2)
    y = torch.full((12, 3), -1.0)
    y[0], y[3], y[7] = torch.eye(3)
    mu2 = 0.4
    free = nn.Embedding(12, 3).double()
    nn.init.constant_(free.weight, 1 / 3)
    alpha = 2 * mu2
    loss = NGMLoss(
        alpha_ll=alpha,
        alpha_lu=alpha,
        alpha_uu=alpha,
        distance="squared_l2",
        layer="output",
        cost="squared_l2",
        scaling="sum",
    )
    loader = EdgeLoader(torch.arange(12), y, graph, batch_size=8, sampling="edges")
    steps = torch.optim.LBFGS(free.parameters(), max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-14)

    def closure() -> Tensor:
        steps.zero_grad()
        loader.set_epoch(0)
        total = sum(loss(free, batch).total for batch in loader)
        total.backward()
        return total

    steps.step(closure)
    # Eq. 2 counts every undirected edge from both its ends: gradient S (Y - Y0) + 2 mu2 L Y = 0
    adjacency = torch.from_numpy(graph.to_scipy().toarray()).double()
    laplacian = torch.diag(adjacency.sum(dim=1)) - adjacency
    seeds = torch.diag((y[:, 0] >= 0).double())
    reached = (adjacency.sum(dim=1) > 0) | (y[:, 0] >= 0)
    system = seeds + 2 * mu2 * laplacian
    closed = torch.linalg.lstsq(system, seeds @ y.clamp(min=0).double()).solution
    torch.testing.assert_close(free.weight[reached].detach(), closed[reached], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(closed[reached].sum(dim=1), torch.ones(int(reached.sum())).double())
    known = torch.where(y[:, 0] >= 0, y.argmax(dim=1), -1)
    ours = LabelPropagation(mu1=1, mu2=mu2, mu3=0, tolerance=1e-6).fit(None, known, graph=graph)
    assert torch.from_numpy(ours.reached_).equal(reached)
    found = torch.from_numpy(ours.label_distributions_).double()
    torch.testing.assert_close(found[reached], free.weight[reached].detach(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("world", [2, 3])
def test_ranks_together_give_the_gradient_of_one_process(tmp_path: Path, world: int, server: Forked) -> None:
    ended = run_ranks(server, in_ranks("gradients", tmp_path), world)
    assert ended.code == 0, ended.err
    together = torch.load(tmp_path / "gradients.pt", weights_only=True)
    for scaling in ("sum", "mean"):
        torch.testing.assert_close(together[scaling], batch_gradients(scaling), rtol=1e-5, atol=1e-6)
