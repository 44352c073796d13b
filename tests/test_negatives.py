"""Negative pairs are what they should be, and the objective with them is a plain loop's, on one process and several."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ngm import EdgeBatch, EdgeKind, EdgeLoader, Graph, NGMClassifier, NGMLoss, Regularizer
from ngm.distances import DISTANCES, ONE_SIDED
from ngm.negatives import NeighborLookup
from ngm.networks import FFNN
from tests.conftest import Problem, make_problem, random_graph

ALPHAS = {"alpha_ll": 0.3, "alpha_lu": 0.2, "alpha_uu": 0.1}


def loader_of(problem: Problem, loss: NGMLoss, graphs: list[Graph] | None = None, **settings: object) -> EdgeLoader:
    return EdgeLoader(
        problem.x,
        problem.y,
        graphs or [problem.graph],
        batch_size=16,
        kinds=loss.kinds,
        negatives=loss.negatives,
        dtype=torch.float64,
        **settings,
    )


def repulsion(problem: Problem, terms: list[tuple[Graph, Regularizer]], batch: EdgeBatch, mean: bool = False) -> Tensor:
    """The repulsion of a batch by a plain loop over its negative pairs, of regularizers that want as many."""
    hidden: list[Tensor] = []
    handle = problem.network.hidden[-1].register_forward_hook(lambda m, i, output: hidden.append(output))
    logits = problem.network(problem.x)
    handle.remove()
    total = torch.zeros((), dtype=torch.float64)
    for (i, j), of in zip(batch.negatives.tolist(), batch.negative_of.tolist(), strict=True):
        g = int(batch.graph[of])
        graph, r = terms[g]
        h = logits if r.layer_name == "output" else hidden[0]
        u, v = int(batch.nodes[i]), int(batch.nodes[j])
        h_u = h[u].detach() if r.influence == "source" else h[u]
        h_v = h[v].detach() if r.influence == "target" else h[v]
        d = DISTANCES[r.distance]
        length = d(h_u[None], h_v[None])[0]
        if not graph.directed and r.distance in ONE_SIDED:
            length = (length + d(h_v[None], h_u[None])[0]) / 2
        unlabeled = int(problem.y[u] < 0) + int(problem.y[v] < 0)
        scale = batch.totals.num_batches / batch.totals.num_edges[g][unlabeled] if mean else 1.0
        if length < r.margin:
            total = total + r.alphas[unlabeled] * scale * float(batch.weight[of]) * (r.margin - length)
    return total


def assert_repulsion_is_the_loops(
    problem: Problem, terms: list[tuple[Graph, Regularizer]], mean: bool = False, **settings: object
) -> None:
    loss = NGMLoss([r for _, r in terms], scaling="mean" if mean else "sum")
    without = NGMLoss(
        [Regularizer(**{**vars(r), "negatives": 0.0}) for _, r in terms], scaling="mean" if mean else "sum"
    )
    parameters = list(problem.network.parameters())
    for batch in loader_of(problem, loss, [graph for graph, _ in terms], **settings):
        cost, plain = loss(problem.network, batch), without(problem.network, batch)
        expected = repulsion(problem, terms, batch, mean)
        assert expected > 0
        torch.testing.assert_close(cost.repulsion, expected, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(cost.total, plain.total + expected, rtol=1e-6, atol=1e-6)
        slopes = torch.autograd.grad(plain.total + expected, parameters)
        for gradient, slope in zip(torch.autograd.grad(cost.total, parameters), slopes, strict=True):
            torch.testing.assert_close(gradient, slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("directed", [False, True])
def test_repulsion_is_that_of_a_plain_loop_for_every_distance(distance: str, directed: bool) -> None:
    problem = make_problem(directed)
    regularizer = Regularizer(**ALPHAS, distance=distance, negatives=2, margin=1.5)
    assert_repulsion_is_the_loops(problem, [(problem.graph, regularizer)])


@pytest.mark.parametrize("influence", ["source", "target"])
def test_a_negative_pair_moves_the_end_that_an_edge_moves(influence: str) -> None:
    problem = make_problem(directed=True)
    regularizer = Regularizer(**ALPHAS, influence=influence, negatives=1)
    assert_repulsion_is_the_loops(problem, [(problem.graph, regularizer)])


@pytest.mark.parametrize("mean", [False, True])
def test_each_graph_has_negatives_and_a_margin_of_its_own(problem: Problem, mean: bool) -> None:
    directed = random_graph(40, 60, seed=9, directed=True)
    terms = [
        (problem.graph, Regularizer(**ALPHAS, negatives=2, margin=2.0)),
        (directed, Regularizer(alpha_ll=0.1, alpha_lu=0.5, alpha_uu=0.4, distance="js", negatives=0.5, margin=0.5)),
    ]
    assert_repulsion_is_the_loops(problem, terms, mean=mean)


def test_two_regularizers_of_a_graph_share_its_pairs_each_by_its_number(problem: Problem) -> None:
    two, one = (Regularizer(**ALPHAS, negatives=n, graph=0) for n in (2, 1))
    both = NGMLoss([two, one])
    assert both.negatives == [2]
    for batch in loader_of(problem, both):
        alone = NGMLoss(two)(problem.network, batch).repulsion
        torch.testing.assert_close(both(problem.network, batch).repulsion, 1.5 * alone)


def test_pairs_are_no_neighbours_and_of_the_kind_of_their_edge(problem: Problem) -> None:
    loss = NGMLoss(**ALPHAS, negatives=3)
    joined = {frozenset(edge) for edge in problem.graph.edges.tolist()}
    drawn = 0
    for batch in loader_of(problem, loss):
        for pair, of in zip(batch.nodes[batch.negatives].tolist(), batch.negative_of.tolist(), strict=True):
            edge = batch.nodes[batch.ends[of]].tolist()
            assert len(set(pair)) == 2
            assert frozenset(pair) not in joined
            assert (pair[0] == edge[0]) + (pair[1] == edge[1]) == 1  # one end is as it was, in its place
            assert [problem.y[n] >= 0 for n in pair] == [problem.y[n] >= 0 for n in edge]
            drawn += 1
    assert 0.95 * 3 * problem.graph.num_edges < drawn <= 3 * problem.graph.num_edges


def test_edges_that_are_turned_round_have_the_same_pairs(problem: Problem) -> None:
    graph, loss = problem.graph, NGMLoss(**ALPHAS, negatives=2)
    turned = Graph(graph.num_nodes, graph.edges.flip(1), graph.weight)
    for batch, other in zip(loader_of(problem, loss), loader_of(problem, loss, [turned]), strict=True):
        torch.testing.assert_close(loss(problem.network, batch).repulsion, loss(problem.network, other).repulsion)


def test_nodes_that_take_no_part_in_training_are_never_drawn() -> None:
    problem = make_problem(num_nodes=60, num_edges=80)
    apart = problem.graph.degree == 0
    assert apart.sum() > 2
    loss = NGMLoss(**ALPHAS, negatives=5)
    for batch in loader_of(problem, loss):
        assert not apart[batch.nodes[batch.negatives]].any()


def test_over_many_epochs_repulsion_is_the_mean_over_all_possible_pairs() -> None:
    """Each end is replaced as often as the other, by every node of its kind that is no neighbour alike."""
    problem = make_problem(num_nodes=20, num_edges=25)
    loss = NGMLoss(**ALPHAS, negatives=1, margin=3.0, layer="output", scaling="sum")
    loader = loader_of(problem, loss)
    with torch.no_grad():
        h = problem.network(problem.x)
        drawn = [float(sum(loss(problem.network, batch).repulsion for batch in loader)) for _ in range(600)]
    joined = {frozenset(edge) for edge in problem.graph.edges.tolist()}
    taking_part = problem.graph.degree > 0
    expected = 0.0
    for (u, v), w in zip(problem.graph.edges.tolist(), problem.graph.weight.tolist(), strict=True):
        alpha = (0.3, 0.2, 0.1)[int(problem.y[u] < 0) + int(problem.y[v] < 0)]
        for kept, replaced in ((u, v), (v, u)):
            same = (problem.y >= 0) == (problem.y[replaced] >= 0)
            others = [n for n in (taking_part & same).nonzero()[:, 0].tolist() if n != kept]
            others = [n for n in others if frozenset((kept, n)) not in joined]
            lack = [max(0.0, 3.0 - float((h[kept] - h[n]).norm())) for n in others]
            expected += 0.5 * alpha * w * float(np.mean(lack))
    assert np.mean(drawn) == pytest.approx(expected, abs=4 * np.std(drawn) / len(drawn) ** 0.5, rel=0)
    assert np.std(drawn) / len(drawn) ** 0.5 < 0.01 * expected  # so that the line above says something


def test_a_fraction_of_negatives_is_a_pair_for_that_share_of_the_edges() -> None:
    problem = make_problem(num_nodes=200, num_edges=2000)
    loss = NGMLoss(**ALPHAS, negatives=1.25)
    per_edge = Counter[int]()
    for batch in loader_of(problem, loss):
        per_edge.update(torch.bincount(batch.negative_of, minlength=len(batch.ends)).tolist())
    assert set(per_edge) <= {0, 1, 2}
    edges = problem.graph.num_edges
    assert per_edge[2] / edges == pytest.approx(0.25, abs=0.04)
    assert per_edge[0] / edges < 0.01


@pytest.mark.parametrize("sampling", ["plain", "balanced"])
@pytest.mark.parametrize("world", [2, 3])
def test_ranks_together_have_the_pairs_of_one_process(problem: Problem, world: int, sampling: str) -> None:
    loss = NGMLoss(**ALPHAS, negatives=1.5)

    def pairs(rank: int, world: int) -> list[list[list[int]]]:
        loader = loader_of(problem, loss, rank=rank, world=world, sampling=sampling)
        return [b.nodes[b.negatives].tolist() for b in loader]

    ranks = [pairs(rank, world) for rank in range(world)]
    for whole, *parts in zip(pairs(0, 1), *ranks, strict=True):
        assert sorted(whole) == sorted(pair for part in parts for pair in part)


def test_same_seed_and_epoch_same_pairs_and_no_others(problem: Problem) -> None:
    loss = NGMLoss(**ALPHAS, negatives=1)

    def epochs(seed: int) -> list[list[list[int]]]:
        loader = loader_of(problem, loss, seed=seed)
        return [[pair for b in loader for pair in b.nodes[b.negatives].tolist()] for _ in range(3)]

    first = epochs(0)
    assert first == epochs(0)
    assert all(a != b for a, b in pairwise([*first, *epochs(1)]))
    loader = loader_of(problem, loss)
    loader.set_epoch(2)  # as after a resume
    assert [pair for b in loader for pair in b.nodes[b.negatives].tolist()] == first[2]


def test_without_negatives_batches_are_what_they_were(problem: Problem) -> None:
    with_pairs = loader_of(problem, NGMLoss(**ALPHAS, negatives=1))
    for batch, other in zip(loader_of(problem, NGMLoss(**ALPHAS)), with_pairs, strict=True):
        assert batch.negatives.shape == (0, 2)
        assert set(batch.nodes.tolist()) <= set(other.nodes.tolist())
        assert batch.nodes[batch.ends].tolist() == other.nodes[other.ends].tolist()
        labeled, also = batch.label_share > 0, other.label_share > 0
        assert batch.nodes[labeled].tolist() == other.nodes[also].tolist()
        torch.testing.assert_close(batch.label_share[labeled], other.label_share[also])


def test_where_all_nodes_are_neighbours_there_are_no_pairs() -> None:
    triangle = Graph.from_edges([[0, 1], [1, 2], [0, 2]])
    loss = NGMLoss(negatives=2, layer="output")
    (batch,) = EdgeLoader(torch.eye(3), torch.tensor([0, -1, -1]), triangle, negatives=2)
    assert len(batch.negatives) == 0
    assert loss(nn.Identity(), batch).repulsion == 0


def test_repulsion_keeps_free_vectors_apart_that_attraction_draws_to_a_point() -> None:
    graph = Graph.from_edges([[i, i + 1] for i in range(11)])  # a path, unlabelled but for one end
    y = torch.tensor([0, *[-1] * 11])
    spread = {}
    for negatives in (0, 1):
        loss = NGMLoss(layer="output", negatives=negatives, scaling="mean")
        free = nn.Embedding(12, 2)
        nn.init.uniform_(free.weight, generator=torch.Generator().manual_seed(0))
        steps = torch.optim.Adam(free.parameters(), lr=0.02)
        loader = EdgeLoader(torch.arange(12), y, graph, kinds=[{EdgeKind.UU}], negatives=negatives)
        for _ in range(300):
            for batch in loader:
                steps.zero_grad()
                loss(free, batch).total.backward()
                steps.step()
        h = free.weight[1:].detach()
        spread[negatives] = float((h - h.mean(dim=0)).norm(dim=1).mean())
    assert spread[0] < 0.1 < 0.5 < spread[1]


def test_a_fit_with_negatives_resumes_to_the_same_bits(problem: Problem, tmp_path: object) -> None:
    x = problem.x.float().numpy()
    settings = {"hidden": (8,), "batch_size": 16, "negatives": 1, "margin": 2.0, "seed": 3} | {
        "recipe": "paper",
        "network": FFNN(dropout=0.2),
    }
    whole = NGMClassifier(**settings, epochs=6).fit(x, problem.y, graph=problem.graph)

    def stop(record: dict[str, float]) -> None:
        if record["epoch"] == 2:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        NGMClassifier(**settings, epochs=6).fit(x, problem.y, graph=problem.graph, on_epoch=stop, folder=tmp_path)
    again = NGMClassifier(**settings, epochs=6).fit(x, problem.y, graph=problem.graph, folder=tmp_path, resume=True)
    for p, q in zip(whole.network_.parameters(), again.network_.parameters(), strict=True):
        assert torch.equal(p, q)
    assert all(record["repulsion"] > 0 for record in again.history_.epochs)


@pytest.mark.parametrize("negatives", [-1, float("nan"), float("inf"), "2", True])
def test_negatives_that_are_no_number_of_pairs_are_refused(problem: Problem, negatives: object) -> None:
    with pytest.raises(ValueError, match=f"negatives is {negatives!r}"):
        Regularizer(negatives=negatives)
    with pytest.raises(ValueError, match=f"negatives is {negatives!r}"):
        EdgeLoader(problem.x, problem.y, problem.graph, negatives=negatives)
    with pytest.raises(ValueError, match=f"negatives is {negatives!r}"):
        NGMClassifier(recipe="paper", negatives=negatives).fit(problem.x, problem.y, graph=problem.graph)


@pytest.mark.parametrize("margin", [0, -1.0, float("inf")])
def test_a_margin_must_be_above_0(problem: Problem, margin: float) -> None:
    with pytest.raises(ValueError, match=f"margin is {margin}"):
        Regularizer(negatives=1, margin=margin)
    with pytest.raises(ValueError, match=f"margin is {margin}"):
        NGMClassifier(recipe="paper", negatives=1, margin=margin).fit(problem.x, problem.y, graph=problem.graph)


def test_a_margin_without_negatives_is_refused(problem: Problem) -> None:
    with pytest.raises(ValueError, match=r"margin is 2\.0, but there are no pairs"):
        NGMClassifier(recipe="paper", negatives=0, margin=2.0).fit(problem.x, problem.y, graph=problem.graph)


def test_a_loader_that_draws_no_pairs_is_refused_by_a_loss_that_wants_them(problem: Problem) -> None:
    loss = NGMLoss(negatives=2)
    (batch,) = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=1000, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"negatives=2, but the loader draws no negative pairs of graph 0"):
        loss(problem.network, batch)


def test_negatives_are_a_number_per_graph(problem: Problem) -> None:
    with pytest.raises(ValueError, match="negatives has 2 entries for 1 graphs"):
        EdgeLoader(problem.x, problem.y, problem.graph, negatives=[1, 2])


def test_neighbors_are_looked_up_with_eight_bytes_an_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngm._pair_keys._ROWS_AT_ONCE", 500)
    graph = random_graph(2000, 200_000, 0)
    lists = graph.edges[:150_000].flip(1), graph.edges[150_000:]
    tracemalloc.start()
    lookup = NeighborLookup(2000, *lists)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8.5 * graph.num_edges
    pairs = np.random.default_rng(0).integers(2000, size=(2, 1000))
    joined = {frozenset(edge) for edge in graph.edges.tolist()}
    assert lookup.joined(pairs).tolist() == [u == v or {u, v} in joined for u, v in pairs.T.tolist()]
