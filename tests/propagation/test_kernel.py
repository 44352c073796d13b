"""The propagation kernel, held to dense matrices, plain loops and closed forms."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm import Graph
from ngm.propagation.kernel import Shares, Solver, hop, narrow_indices, pull, solve, walk_shares
from ngm.propagation.top_k import solve_top_k
from tests.conftest import random_graph

SOLVERS = ["jacobi", "conjugate_gradient"]
SEEDS = [0, 1, 2]


def random_shares(rows: int, seed: int, dtype: type = np.float32) -> Shares:
    """A matrix that is not symmetric; every third row is empty, the others add up to less than 1."""
    rng = np.random.default_rng(seed)
    dense = rng.random((rows, rows)) * (rng.random((rows, rows)) < 0.3)
    dense[::3] = 0
    dense /= dense.sum(axis=1, keepdims=True) + 0.5
    return Shares(sp.csr_array(dense.astype(dtype)), np.ones(rows))


def anchored(seed: int, num_classes: int = 4, dtype: type = np.float32) -> tuple[Shares, Tensor, Tensor]:
    """(shares, anchor, start) on a random weighted graph: every tenth node is a seed, all have a prior."""
    graph = random_graph(50, 150, seed)
    rng = np.random.default_rng(seed)
    weight = graph.to_scipy().astype(dtype)
    own = np.where(np.arange(50) % 10 == 0, 1.0, 0.0)
    total = weight.sum(axis=1) + own + 0.05
    label = np.eye(num_classes)[rng.integers(num_classes, size=50)]
    anchor = (own[:, None] * label + 0.05 / num_classes) / total[:, None]
    start = np.full((50, num_classes), 1 / num_classes)
    alone = np.diff(weight.indptr) == 0
    start[alone] = anchor[alone]
    matrix = sp.csr_array(sp.diags_array(1 / total).astype(dtype) @ weight)
    return Shares(matrix, total), torch.from_numpy(anchor.astype(dtype)), torch.from_numpy(start.astype(dtype))


def dense_solution(shares: Shares, anchor: Tensor) -> Tensor:
    """z = P z + a by elimination."""
    matrix = torch.from_numpy(shares.matrix.toarray()).double()
    return torch.linalg.solve(torch.eye(len(matrix)).double() - matrix, anchor.double())


def step_by_loop(matrix: NDArray[np.floating], z: NDArray[np.floating]) -> NDArray[np.float64]:
    out = np.zeros((len(matrix), z.shape[1]))
    for v in range(len(matrix)):
        for u in range(len(matrix)):
            for c in range(z.shape[1]):
                out[v, c] += matrix[v, u] * z[u, c]
    return out


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_the_product_is_that_of_scipy_and_of_a_plain_loop(dtype: type, index: type, columns: int) -> None:
    shares = random_shares(12, 0, dtype)
    shares.matrix.indices, shares.matrix.indptr = (
        shares.matrix.indices.astype(index),
        shares.matrix.indptr.astype(index),
    )
    shares = Shares(shares.matrix, np.ones(12))
    z = np.random.default_rng(1).normal(size=(12, columns)).astype(dtype)
    product = shares @ torch.from_numpy(z)
    assert product.dtype == torch.from_numpy(z).dtype
    tolerance = 1e-6 if dtype is np.float32 else 1e-14
    np.testing.assert_allclose(product, shares.matrix @ z, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(product, step_by_loop(shares.matrix.toarray(), z), rtol=tolerance, atol=tolerance)
    assert (product[::3] == 0).all()  # rows without an entry


def test_a_product_has_the_precision_of_what_is_multiplied() -> None:
    shares, z = random_shares(9, 2, np.float64), torch.ones(9, 2)
    np.testing.assert_allclose(shares @ z, shares.matrix.astype(np.float32) @ z.numpy(), rtol=1e-6)
    assert (shares @ z).dtype == torch.float32


def test_the_gradient_of_the_product_is_the_transposed_product() -> None:
    shares = random_shares(12, 3, np.float64)
    z = torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    upstream = torch.randn(12, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    (gradient,) = torch.autograd.grad(shares @ z, z, upstream)
    np.testing.assert_allclose(gradient, shares.matrix.T @ upstream.numpy(), rtol=1e-12)


PULLS = {
    "target": [[0, 2, 0], [0, 0, 3], [0, 0, 0]],  # each source is pulled by its target
    "source": [[0, 0, 0], [2, 0, 0], [0, 3, 0]],
    "both": [[0, 2, 0], [2, 0, 3], [0, 3, 0]],
}


@pytest.mark.parametrize("influence", PULLS)
def test_on_directed_edges_influence_says_who_is_pulled(influence: str) -> None:
    chain = Graph.from_edges([[0, 1], [1, 2]], [2.0, 3.0], directed=True)
    assert pull(chain, influence).toarray().tolist() == PULLS[influence]


def test_edges_in_both_directions_pull_with_the_sum_of_their_weights() -> None:
    pair = Graph.from_edges([[0, 1], [1, 0]], [2.0, 5.0], directed=True)
    assert pull(pair, "both").toarray().tolist() == [[0, 7], [7, 0]]
    assert pull(pair, "source").toarray().tolist() == [[0, 5], [2, 0]]


@pytest.mark.parametrize("influence", ["both", "source", "target"])
def test_an_undirected_edge_pulls_both_its_ends_once(influence: str) -> None:
    assert pull(Graph.from_edges([[0, 1]], [2.0]), influence).toarray().tolist() == [[0, 2], [2, 0]]


def test_an_unknown_influence_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\Ainfluence is 'left'; choose 'both', 'source' or 'target'\Z"):
        pull(Graph.from_edges([[0, 1]]), "left")


def test_a_walk_stays_with_weight_one_and_leaves_by_the_weights_of_its_edges() -> None:
    shares = walk_shares(Graph.from_edges([[0, 1], [1, 2]], [2.0, 3.0], num_nodes=4))
    expected = [[1 / 3, 2 / 3, 0, 0], [2 / 6, 1 / 6, 3 / 6, 0], [0, 3 / 4, 1 / 4, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(shares.matrix.toarray(), expected, rtol=1e-6)
    assert shares.total.tolist() == [3, 6, 4, 1]


@pytest.mark.parametrize("directed", [False, True])
def test_the_shares_of_a_walk_add_up_to_one(directed: bool) -> None:
    shares = walk_shares(random_graph(40, 100, 1, directed))
    np.testing.assert_allclose(shares @ torch.ones(40, 1), np.ones((40, 1)), rtol=1e-6)


def test_hops_are_those_of_a_plain_loop() -> None:
    shares, h = walk_shares(random_graph(10, 20, 0)), np.random.default_rng(0).normal(size=(10, 2))
    z = h
    for _ in range(3):
        z = 0.7 * step_by_loop(shares.matrix.toarray(), z) + 0.3 * h
    np.testing.assert_allclose(hop(shares, torch.from_numpy(h), restart=0.3, steps=3), z, rtol=1e-6)


def test_many_hops_come_to_the_closed_form_and_so_do_their_gradients() -> None:
    shares = walk_shares(random_graph(20, 50, 4))
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(20, 3, dtype=torch.float64, generator=generator, requires_grad=True)
    upstream = torch.randn(20, 3, dtype=torch.float64, generator=generator)
    matrix = torch.from_numpy(shares.matrix.toarray()).double()
    closed = 0.2 * torch.linalg.inv(torch.eye(20).double() - 0.8 * matrix)
    z = hop(shares, h, restart=0.2, steps=150)
    torch.testing.assert_close(z, closed @ h, rtol=1e-6, atol=1e-8)
    (gradient,) = torch.autograd.grad(z, h, upstream)
    torch.testing.assert_close(gradient, closed.T @ upstream, rtol=1e-6, atol=1e-8)


def test_no_hop_or_a_certain_restart_changes_nothing() -> None:
    shares, h = walk_shares(random_graph(10, 20, 0)), torch.arange(20.0).reshape(10, 2)
    assert torch.equal(hop(shares, h, restart=0.3, steps=0), h)
    assert torch.equal(hop(shares, h, restart=1.0, steps=4), h)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_both_solvers_reach_the_solution_by_elimination(solver: Solver, seed: int) -> None:
    shares, anchor, start = anchored(seed, dtype=np.float64)
    spread = solve(shares, anchor, start, solver=solver, tolerance=1e-12, max_steps=5000)
    assert spread.converged
    assert spread.residual <= 1e-12
    torch.testing.assert_close(spread.values, dense_solution(shares, anchor), rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_add_up_to_one_after_every_number_of_steps(solver: Solver) -> None:
    shares, anchor, start = anchored(1, dtype=np.float64)
    for steps in range(1, 25):
        values = solve(shares, anchor, start, solver=solver, tolerance=0, max_steps=steps).values
        torch.testing.assert_close(values.sum(dim=1), torch.ones(50).double(), rtol=0, atol=1e-12)


def test_conjugate_gradients_need_fewer_steps() -> None:
    for seed in SEEDS:
        shares, anchor, start = anchored(seed)
        fast, slow = (solve(shares, anchor, start, solver=s) for s in ("conjugate_gradient", "jacobi"))
        assert fast.converged
        assert slow.converged
        assert fast.steps < slow.steps / 2


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_start_is_left_as_it_was(solver: Solver) -> None:
    shares, anchor, start = anchored(0)
    before = start.clone(), anchor.clone()
    solve(shares, anchor, start, solver=solver)
    assert torch.equal(start, before[0])
    assert torch.equal(anchor, before[1])


def test_the_residual_of_jacobi_is_the_change_of_its_last_step_and_bounds_the_next() -> None:
    shares, anchor, start = anchored(2, dtype=np.float64)
    for steps in (1, 2, 7):
        spread = solve(shares, anchor, start, tolerance=0, max_steps=steps)
        before = solve(shares, anchor, start, tolerance=0, max_steps=steps - 1).values if steps > 1 else start
        assert spread.residual == pytest.approx(float((spread.values - before).abs().max()), rel=1e-9)
        after = shares @ spread.values + anchor
        assert float((after - spread.values).abs().max()) <= spread.residual


def test_the_residual_of_conjugate_gradients_is_the_change_that_a_jacobi_step_would_make() -> None:
    shares, anchor, start = anchored(2, dtype=np.float64)
    for steps in (1, 2, 7, 15):
        spread = solve(shares, anchor, start, solver="conjugate_gradient", tolerance=0, max_steps=steps)
        change = shares @ spread.values + anchor - spread.values
        assert spread.residual == pytest.approx(float(change.abs().max()), rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_it_stops_at_the_first_step_within_the_tolerance(solver: Solver) -> None:
    shares, anchor, start = anchored(0)
    seen: list[tuple[int, float]] = []
    spread = solve(shares, anchor, start, solver=solver, tolerance=1e-3, on_step=lambda *step: seen.append(step))
    assert seen[-1] == (spread.steps, pytest.approx(spread.residual, rel=1e-3))
    assert spread.residual <= 1e-3 < min(residual for _, residual in seen[:-1])
    assert [step for step, _ in seen] == list(range(1, spread.steps + 1))


@pytest.mark.parametrize("solver", SOLVERS)
def test_it_stops_after_max_steps_and_says_that_it_has_not_converged(solver: Solver) -> None:
    shares, anchor, start = anchored(0)
    spread = solve(shares, anchor, start, solver=solver, tolerance=1e-6, max_steps=3)
    assert (spread.steps, spread.converged) == (3, False)
    assert spread.residual > 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_at_the_solution_is_the_end(solver: Solver) -> None:
    shares, anchor, _ = anchored(0, dtype=np.float64)
    spread = solve(shares, anchor, dense_solution(shares, anchor), solver=solver, tolerance=1e-9)
    assert (spread.steps, spread.converged) == (1, True)


def test_an_unknown_solver_is_refused() -> None:
    shares, anchor, start = anchored(0)
    text = "solver is 'gauss'; choose 'conjugate_gradient' or 'jacobi'"
    with pytest.raises(ValueError, match=rf"\A{re.escape(text)}\Z"):
        solve(shares, anchor, start, solver="gauss")


def strongest(seed: int, keep: int, **settings: object) -> tuple[NDArray[np.float64], Tensor]:
    """(what the strongest stand for, the dense solution), with 6 classes."""
    shares, anchor, _ = anchored(seed, 6)
    base = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1], dtype=np.float32)
    rest = (0.05 / shares.total.numpy()).astype(np.float32)
    labels = anchor.numpy() - rest[:, None] / 6
    labels[labels < 1e-6] = 0
    found = solve_top_k(shares, sp.csr_array(labels), rest, base, keep=keep, max_steps=1000, **settings)
    assert found.converged
    assert (np.diff(found.excess.indptr) <= keep).all()
    assert found.excess.nnz <= 50 * keep
    stands_for = found.excess.toarray() + found.rest[:, None] * found.base
    exact = dense_solution(shares, torch.from_numpy(labels + rest[:, None] * base))
    return stands_for, exact


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("keep", [6, 9])
def test_keeping_all_columns_gives_the_solution_by_elimination(seed: int, keep: int) -> None:
    values, exact = strongest(seed, keep, tolerance=1e-6)
    np.testing.assert_allclose(values, exact, atol=1e-4)


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_what_is_dropped_is_not_lost_so_rows_add_up_to_one(keep: int) -> None:
    for seed in SEEDS:
        values, _ = strongest(seed, keep)
        np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-3)
        assert values.min() >= 0


def test_on_a_planted_graph_two_kept_columns_of_ten_have_the_winner_that_all_have() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(10), 20)  # ten groups of twenty, mostly joined among themselves
    ends = rng.integers(200, size=(20_000, 2))
    same = group[ends[:, 0]] == group[ends[:, 1]]
    graph = Graph.from_edges(ends[same | (rng.random(20_000) < 0.01)], num_nodes=200)
    weight = graph.to_scipy()
    seed = np.arange(200) % 20 == 0
    total = weight.sum(axis=1) + seed + 0.01
    shares = Shares(sp.csr_array(sp.diags_array(1 / total).astype(np.float32) @ weight), total)
    label, rest = (np.eye(10)[group] * seed[:, None] / total[:, None]).astype(np.float32), (0.01 / total)
    base = np.full(10, 0.1, dtype=np.float32)
    found = solve_top_k(shares, sp.csr_array(label), rest.astype(np.float32), base, keep=2, max_steps=1000)
    exact = dense_solution(shares, torch.from_numpy(label + rest[:, None].astype(np.float32) * base))
    winner = np.asarray(found.excess.argmax(axis=1)).ravel()
    np.testing.assert_array_equal(winner, exact.argmax(dim=1))
    assert found.excess.nnz <= 2 * 200


def test_indices_take_half_the_memory_where_they_fit_and_are_not_kept_twice() -> None:
    graph = random_graph(50, 150, seed=0)
    assert graph.to_scipy().indices.dtype == np.int64
    shares = walk_shares(graph)
    assert (shares.matrix.indices.dtype, shares.matrix.indptr.dtype) == (np.int32, np.int32)
    assert shares._columns.data_ptr() == shares.matrix.indices.ctypes.data
    assert (narrow_indices(graph.to_scipy()) != graph.to_scipy()).nnz == 0


def test_hopping_leaves_what_it_starts_from_as_it_is() -> None:
    h = torch.rand(50, 3)
    before = h.clone()
    hop(walk_shares(random_graph(50, 150, seed=0)), h, restart=0.25, steps=3)
    assert torch.equal(h, before)
