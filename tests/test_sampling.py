from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngm import EdgeKind, EdgeLoader, Graph
from ngm.sampling import ORDERS
from tests.conftest import Problem, random_graph


def edges_of(loader: EdgeLoader) -> list[tuple[int, int]]:
    """The edges of one epoch as node ids, smaller end first."""
    pairs = [tuple(sorted(pair)) for batch in loader for pair in batch.nodes[batch.ends].tolist()]
    return sorted(pairs)


@pytest.mark.parametrize("order", ["neighborhood", "random"])
@pytest.mark.parametrize("batch_size", [1, 10, 16, 1000])
def test_every_edge_comes_once_an_epoch(problem: Problem, batch_size: int, order: str) -> None:
    loader = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=batch_size, order=order)
    for _ in range(3):
        assert edges_of(loader) == sorted(map(tuple, problem.graph.edges.tolist()))


def test_batches_hold_at_most_batch_size_edges_and_len_counts_them(problem: Problem) -> None:
    loader = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16)
    sizes = [len(batch.ends) for batch in loader]
    assert max(sizes) <= 16
    assert len(sizes) == len(loader) == -(-problem.graph.num_edges // 16)


def test_each_node_is_in_a_batch_once_with_its_own_input_and_target(problem: Problem) -> None:
    for batch in EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16, dtype=torch.float64):
        assert len(batch.nodes.unique()) == len(batch.nodes)
        assert torch.equal(batch.x, problem.x[batch.nodes])
        assert torch.equal(batch.y, problem.y[batch.nodes])


def test_edges_carry_their_weight_and_kind(problem: Problem) -> None:
    weight = {tuple(e): w for e, w in zip(problem.graph.edges.tolist(), problem.graph.weight.tolist(), strict=True)}
    for batch in EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16):
        for (u, v), w, kind in zip(batch.nodes[batch.ends].tolist(), batch.weight.tolist(), batch.kind, strict=True):
            assert w == weight[u, v]
            labeled = int(problem.y[u] >= 0) + int(problem.y[v] >= 0)
            assert EdgeKind(int(kind)) == (EdgeKind.UU, EdgeKind.LU, EdgeKind.LL)[labeled]


@pytest.mark.parametrize("sampling", ["edges", "plain"])
def test_the_shares_of_a_labelled_node_add_up_to_one(problem: Problem, sampling: str) -> None:
    share = torch.zeros(40)
    for batch in EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16, sampling=sampling):
        share[batch.nodes] += batch.label_share
    torch.testing.assert_close(share, (problem.y >= 0).float())


def test_a_share_is_the_nodes_edges_in_the_batch_over_its_sampled_edges() -> None:
    star = Graph.from_edges([[0, 1], [0, 2], [0, 3], [0, 4]])
    y = torch.tensor([0, 1, -1, -1, -1])
    loader = EdgeLoader(torch.zeros(5, 1), y, star, batch_size=2, sampling="edges")
    for batch in loader:
        share = dict(zip(batch.nodes.tolist(), batch.label_share.tolist(), strict=True))
        assert share.pop(0) == 0.5  # two of its four edges
        assert share.pop(1, 1.0) == 1.0  # its only edge
        assert set(share.values()) == {0.0}  # unlabelled
    only_lu = EdgeLoader(torch.zeros(5, 1), y, star, batch_size=3, kinds=[EdgeKind.LU], sampling="edges")
    (batch,) = only_lu
    share = dict(zip(batch.nodes.tolist(), batch.label_share.tolist(), strict=True))
    assert share[0] == 1.0  # all three of its sampled edges
    assert share[1] == 1.0  # its edge is LL, so it travels alone


def test_a_labelled_node_without_edges_travels_alone(problem: Problem) -> None:
    loader = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16, sampling="edges")
    (batch,) = [batch for batch in loader if 0 in batch.nodes]
    assert float(batch.label_share[batch.nodes == 0]) == 1.0


def test_nodes_without_edges_and_labels_take_no_part() -> None:
    graph = Graph.from_edges([[0, 1]], num_nodes=4)
    (batch,) = EdgeLoader(torch.zeros(4, 1), torch.tensor([0, -1, 1, -1]), graph)
    assert batch.nodes.tolist() == [0, 1, 2]


def test_kinds_left_out_are_never_sampled(problem: Problem) -> None:
    for kind in EdgeKind:
        kept = {int(k) for b in EdgeLoader(problem.x, problem.y, problem.graph, kinds=[kind]) for k in b.kind}
        assert kept == {int(kind)}


def test_every_batch_feels_the_labels_when_they_are_spread(problem: Problem) -> None:
    spread = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=8)
    assert all(float(batch.label_share.sum()) > 0 for batch in spread)
    few = torch.full((40,), -1)
    few[1], few[2] = 0, 1
    by_edges = EdgeLoader(problem.x, few, problem.graph, batch_size=8, sampling="edges")
    assert any(float(batch.label_share.sum()) == 0 for batch in by_edges)


def test_sample_weights_scale_the_shares(problem: Problem) -> None:
    weight = torch.arange(40.0)
    share = torch.zeros(40)
    loader = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16, sample_weight=weight)
    for batch in loader:
        share[batch.nodes] += batch.label_share
    torch.testing.assert_close(share, weight * (problem.y >= 0))
    assert loader.totals.num_labeled == float((weight * (problem.y >= 0)).sum())


def test_same_seed_gives_the_same_batches_and_another_seed_others(problem: Problem) -> None:
    def trace(seed: int) -> list[list[int]]:
        loader = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16, seed=seed)
        return [batch.nodes.tolist() for _ in range(2) for batch in loader]

    assert trace(0) == trace(0)
    assert trace(0) != trace(1)


def test_epochs_differ_and_set_epoch_goes_back(problem: Problem) -> None:
    loader = EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16)
    first = [batch.nodes.tolist() for batch in loader]
    second = [batch.nodes.tolist() for batch in loader]
    assert first != second
    loader.set_epoch(0)
    assert [batch.nodes.tolist() for batch in loader] == first


def test_membership_of_batches_is_drawn_anew() -> None:
    graph = random_graph(200, 600, seed=1)
    loader = EdgeLoader(torch.zeros(200, 1), torch.arange(200) % 2, graph, batch_size=32)
    seen = set()
    for _ in range(4 * ORDERS):
        seen.add(frozenset(frozenset(batch.nodes[batch.ends].flatten().tolist()) for batch in loader))
    assert len(seen) == ORDERS


def test_neighbourhood_batches_have_fewer_distinct_nodes_than_random_ones() -> None:
    cliques = torch.cat([torch.combinations(torch.arange(8)) + 8 * i for i in range(30)])
    graph = Graph.from_edges(cliques)
    x, y = torch.zeros(240, 1), torch.arange(240) % 2

    def distinct(order: str) -> int:
        return sum(len(b.nodes) for b in EdgeLoader(x, y, graph, batch_size=56, order=order))

    assert distinct("neighborhood") < 0.5 * distinct("random")


@pytest.mark.parametrize("world", [2, 3, 7])
def test_ranks_share_every_batch_and_have_equally_many(problem: Problem, world: int) -> None:
    def loader(rank: int) -> EdgeLoader:
        return EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16, rank=rank, world=world)

    ranks = [list(loader(rank)) for rank in range(world)]
    alone = list(EdgeLoader(problem.x, problem.y, problem.graph, batch_size=16))
    assert {len(batches) for batches in ranks} == {len(alone)}
    for i, whole in enumerate(alone):
        parts = [pair for batches in ranks for pair in batches[i].nodes[batches[i].ends].tolist()]
        assert sorted(parts) == sorted(whole.nodes[whole.ends].tolist())


def test_a_batch_smaller_than_the_world_leaves_empty_parts() -> None:
    graph = Graph.from_edges([[0, 1]], num_nodes=2)
    (part,) = EdgeLoader(torch.zeros(2, 1), torch.tensor([0, 1]), graph, rank=0, world=3)
    assert len(part.nodes) == len(part.ends) == 0


def test_sparse_rows_stay_sparse_and_memory_maps_stay_on_disk(problem: Problem, tmp_path: object) -> None:
    (batch,) = EdgeLoader(sp.csr_matrix(problem.x.numpy()), problem.y, problem.graph)
    assert batch.x.layout == torch.sparse_csr
    torch.testing.assert_close(batch.x.to_dense(), problem.x[batch.nodes].float())
    mapped = np.lib.format.open_memmap(f"{tmp_path}/x.npy", "w+", np.float32, (40, 6))
    mapped[:] = problem.x.numpy()
    loader = EdgeLoader(mapped, problem.y, problem.graph)
    assert isinstance(loader.x, np.memmap)
    (batch,) = loader
    torch.testing.assert_close(batch.x, problem.x[batch.nodes].float())


# Balanced sampling


def test_balanced_batches_hold_every_class() -> None:
    y = torch.full((60,), -1)
    y[:40], y[40], y[41:43] = 0, 1, 2  # 40, 1 and 2 members
    loader = EdgeLoader(torch.zeros(60, 1), y, random_graph(60, 100, 3), batch_size=20, sampling="balanced")
    for _ in range(3):
        for batch in loader:
            assert set(batch.y[batch.label_share > 0].tolist()) == {0, 1, 2}


def test_balanced_batches_hold_positives_and_negatives_of_every_label() -> None:
    y = torch.zeros(50, 4)
    y[:3, 0], y[3, 1], y[10:, 2], y[:49, 3] = 1, 1, 1, 1  # rare, single, common, nearly always
    loader = EdgeLoader(torch.zeros(50, 1), y, random_graph(50, 80, 3), batch_size=20, sampling="balanced")
    for batch in loader:
        shown = batch.y[batch.label_share > 0]
        assert ((shown == 1).any(dim=0) & (shown == 0).any(dim=0)).all()


def test_balanced_classes_weigh_the_same_and_together_as_much_as_all_labelled_nodes() -> None:
    y = torch.cat([torch.zeros(80), torch.ones(8)]).long()
    loader = EdgeLoader(torch.zeros(88, 1), y, random_graph(88, 400, 3), batch_size=50, sampling="balanced")
    share = torch.zeros(2)
    for batch in loader:
        share.index_add_(0, batch.y, batch.label_share)
    torch.testing.assert_close(share, torch.tensor([44.0, 44.0]))


def test_balanced_sampling_draws_as_many_edges_as_there_are_with_replacement() -> None:
    graph = random_graph(60, 100, 3)
    loader = EdgeLoader(torch.zeros(60, 1), torch.arange(60) % 3, graph, batch_size=25, sampling="balanced")
    drawn = edges_of(loader)
    assert graph.num_edges % 25 != 0
    assert len(drawn) == graph.num_edges
    assert len(set(drawn)) < len(drawn)


# Several graphs


def test_edges_of_several_graphs_say_which_and_share_the_labels_among_all_of_them() -> None:
    first = Graph.from_edges([[0, 1]], [2.0], num_nodes=3)
    second = Graph.from_edges([[1, 0], [0, 2]], [3.0, 4.0], num_nodes=3, directed=True)
    (batch,) = EdgeLoader(torch.zeros(3, 1), torch.tensor([0, -1, -1]), [first, second])
    found = {
        (int(g), *pair, w)
        for g, pair, w in zip(batch.graph, batch.nodes[batch.ends].tolist(), batch.weight.tolist(), strict=True)
    }
    assert found == {(0, 0, 1, 2.0), (1, 1, 0, 3.0), (1, 0, 2, 4.0)}
    assert batch.label_share.tolist() == [1.0, 0.0, 0.0]
    assert batch.totals.directed == (False, True)
    assert batch.totals.num_edges == ((0, 1, 0), (0, 2, 0))


def test_kinds_can_differ_between_graphs(problem: Problem) -> None:
    kinds = [[EdgeKind.LU], [EdgeKind.UU]]
    loader = EdgeLoader(problem.x, problem.y, [problem.graph, problem.graph], kinds=kinds, batch_size=1000)
    (batch,) = loader
    assert set(zip(batch.graph.tolist(), batch.kind.tolist(), strict=True)) == {(0, 1), (1, 2)}


# Errors


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0; it must be a whole number of at least 1"),
        ({"sampling": "wild"}, "sampling is 'wild'; choose from plain, edges, balanced"),
        ({"order": "dfs"}, "order is 'dfs'; choose 'neighborhood' or 'random'"),
        (
            {"sampling": "balanced", "order": "random"},
            "order is 'random', but sampling is 'balanced', which draws edges",
        ),
        (
            {"sampling": "balanced", "labeled": torch.zeros(40)},
            "sampling is 'balanced', but no node is labelled; label",
        ),
        ({"labeled": torch.ones(39)}, r"labeled has shape \(39,\); give a mask of 40 rows, True where labelled"),
        ({"labeled": torch.arange(40)}, r"labeled has shape \(40,\); give a mask of 40 rows, True where labelled"),
        ({"kinds": [[EdgeKind.LL]] * 2}, "kinds has 2 entries for 1 graphs; give a collection per graph"),
        ({"sample_weight": torch.ones(3)}, r"sample_weight has shape \(3,\) and smallest value 1.0; give 40 numbers"),
        ({"sample_weight": [np.inf] + [1.0] * 39}, r"sample_weight\[0\] is inf; weights and their sum must be finite"),
        (
            {"sample_weight": [1.0] * 39 + [1e39]},
            r"sample_weight\[39\] is 1e\+39; weights and their sum must be finite",
        ),
        ({"sample_weight": [3e38] * 40}, r"sample_weight\[0\] is 3e\+38; weights and their sum must be finite"),
    ],
)
def test_wrong_settings_are_named(problem: Problem, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EdgeLoader(problem.x, problem.y, problem.graph, **settings)


@pytest.mark.parametrize("y", [torch.rand(40), torch.randn(40, 2)], ids=["numbers", "columns"])
def test_numbers_cannot_be_balanced(problem: Problem, y: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"^sampling is 'balanced', which is for classes, and y holds numbers"):
        EdgeLoader(problem.x, y, problem.graph, sampling="balanced", labeled=torch.ones(40))


def test_wrong_lengths_are_named(problem: Problem) -> None:
    with pytest.raises(ValueError, match="x has 40 rows, y has 39"):
        EdgeLoader(problem.x, problem.y[:39], problem.graph)
    with pytest.raises(ValueError, match="graph has 5 nodes, x has 40 rows"):
        EdgeLoader(problem.x, problem.y, Graph.from_edges([[0, 4]]))
    with pytest.raises(ValueError, match="graph 1 has 5 nodes"):
        EdgeLoader(problem.x, problem.y, [problem.graph, Graph.from_edges([[0, 4]])])


@pytest.mark.parametrize(("rank", "world"), [(2, 2), (-1, 2), (0, 0)])
def test_a_rank_outside_of_the_world_is_refused(problem: Problem, rank: int, world: int) -> None:
    with pytest.raises(
        ValueError, match=f"rank is {rank} and world is {world}; the ranks of n processes are 0 to n - 1"
    ):
        EdgeLoader(problem.x, problem.y, problem.graph, rank=rank, world=world)
