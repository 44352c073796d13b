"""Graphs that join each sparse row to the rows most like it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.neighbors import NearestNeighbors

from ngm import Graph, knn_graph
from ngm.build import sparse
from ngm.build.sparse import sparse_graph
from ngm.build.weights import Weight


def rows(n: int = 120, d: int = 40, density: float = 0.15, negative: bool = False) -> sp.csr_array:
    """Random sparse rows, none of them zero."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((n, d)) < density, rng.random((n, d)) + 0.1, 0.0)
    if negative:
        x *= rng.choice([-1.0, 1.0], size=x.shape)
    x[np.arange(n), rng.integers(d, size=n)] = 1.0
    return sp.csr_array(x)


def weights(graph: Graph) -> dict[tuple[int, int], float]:
    return {(u, v): w for (u, v), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True)}


def chosen(x: sp.csr_array, k: int) -> list[list[tuple[int, float]]]:
    """What each row chooses, by a plain loop over the dense cosines, best first."""
    dense = x.toarray() / np.linalg.norm(x.toarray(), axis=1, keepdims=True)
    cosine = dense @ dense.T
    out = []
    for u in range(len(dense)):
        others = sorted((v for v in range(len(dense)) if v != u), key=lambda v: -cosine[u, v])[:k]
        out.append([(v, float(cosine[u, v])) for v in others if cosine[u, v] > 1e-9])
    return out


def union(choices: list[list[tuple[int, float]]]) -> dict[tuple[int, int], float]:
    return {(min(u, v), max(u, v)): w for u, mine in enumerate(choices) for v, w in mine}


@pytest.mark.parametrize("k", [1, 5, 119])
@pytest.mark.parametrize("negative", [False, True])
def test_edges_and_weights_are_those_of_a_dense_computation(k: int, negative: bool) -> None:
    x = rows(negative=negative)
    assert weights(sparse_graph(x, k)) == pytest.approx(union(chosen(x, k)), rel=1e-5, abs=1e-7)


def test_neighbors_are_those_of_scikit_learn() -> None:
    x = rows(density=0.5)
    distance, neighbor = NearestNeighbors(n_neighbors=4, metric="cosine", algorithm="brute").fit(x).kneighbors()
    expected = union(
        [[(int(v), 1 - d) for v, d in zip(*pair, strict=True)] for pair in zip(neighbor, distance, strict=True)]
    )
    assert weights(sparse_graph(x, 4)) == pytest.approx(expected, rel=1e-5)


def test_sparse_and_dense_search_give_the_same_graph() -> None:
    x = rows(density=0.5)  # every row has k neighbours above 0
    assert weights(sparse_graph(x, 5)) == pytest.approx(weights(knn_graph(x.toarray(), 5)), rel=1e-5)


@pytest.mark.parametrize("rows_at_once", [1, 7, 120])
def test_the_size_of_the_blocks_changes_nothing(rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sparse_graph(rows(), 4)
    monkeypatch.setattr(sparse, "_CHUNK_ROWS", rows_at_once)
    done: list[tuple[int, int]] = []
    assert weights(sparse_graph(rows(), 4, on_step=lambda a, b: done.append((a, b)))) == weights(whole)
    assert done == [(min(stop, 120), 120) for stop in range(rows_at_once, 120 + rows_at_once, rows_at_once)]


def test_the_number_of_threads_changes_nothing() -> None:
    before = torch.get_num_threads()
    try:
        graphs = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            graphs.append(weights(sparse_graph(rows(500), 5)))
    finally:
        torch.set_num_threads(before)
    assert graphs[0] == graphs[1]


def test_weights_worked_by_hand() -> None:
    x = sp.csr_array([[3.0, 0, 0], [3.0, 4.0, 0], [0, 1.0, 0], [0, 0, 2.0]])
    assert weights(sparse_graph(x, 1)) == pytest.approx({(0, 1): 0.6, (1, 2): 0.8})
    assert weights(sparse_graph(x, 3)) == pytest.approx({(0, 1): 0.6, (1, 2): 0.8})
    assert weights(sparse_graph(x, 1, weight="binary")) == {(0, 1): 1, (1, 2): 1}
    # 0 and 2 choose 1 at squared distance 2 - 1.2 = .8 and 2 - 1.6 = .4; 1 chooses 2
    near, far = np.exp(-0.4 / 0.4), np.exp(-0.8 / np.sqrt(0.8 * 0.4))
    assert weights(sparse_graph(x, 1, weight="self_tuned")) == pytest.approx({(0, 1): far, (1, 2): near}, rel=1e-5)


def test_a_row_is_alone_only_if_it_is_like_no_other() -> None:
    graph = sparse_graph(sp.block_diag([rows(50), [[1.0]]]), 3)
    assert graph.degree[:50].min() >= 1
    assert graph.degree[50] == 0
    assert graph.self_loops == 0


@pytest.mark.parametrize("copies", [2, 4, 9])
def test_rows_that_are_the_same_choose_each_other_and_not_themselves(copies: int) -> None:
    x = sp.vstack([rows(10)] * copies, format="csr")
    graph = sparse_graph(x, 3)
    assert graph.self_loops == 0
    degree = graph.degree.tolist()
    assert min(degree) >= (3 if copies > 3 else 1)
    same = [w for (u, v), w in weights(graph).items() if u % 10 == v % 10]
    assert same == pytest.approx([1.0] * len(same), rel=1e-5)
    if copies > 3:
        assert len(same) == graph.num_edges


def test_mutual_keeps_what_both_chose_and_the_best_of_a_row_that_nobody_chose_back() -> None:
    x = rows()
    choices = chosen(x, 5)
    names = [{v for v, _ in mine} for mine in choices]
    expected = {
        (min(u, v), max(u, v)): w
        for u, mine in enumerate(choices)
        for place, (v, w) in enumerate(mine)
        if u in names[v] or (place == 0 and not any(u in names[other] for other in names[u]))
    }
    found = sparse_graph(x, 5, join="mutual")
    assert weights(found) == pytest.approx(expected, rel=1e-5)
    assert found.num_edges < sparse_graph(x, 5).num_edges
    assert found.degree.min() >= 1


@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("weight", ["similarity", "binary"])
def test_max_degree_takes_edges_from_the_most_similar_down(limit: int, weight: Weight) -> None:
    x = rows()
    room, expected = dict.fromkeys(range(120), limit), set()
    for (u, v), _ in sorted(weights(sparse_graph(x, 5)).items(), key=lambda item: -item[1]):
        if room[u] and room[v]:
            expected.add((u, v))
            room[u], room[v] = room[u] - 1, room[v] - 1
    found = sparse_graph(x, 5, weight=weight, max_degree=limit)
    assert set(weights(found)) == expected
    assert int(found.degree.max()) == limit


def test_the_length_and_the_order_of_the_rows_change_nothing_but_names() -> None:
    x = rows()
    rng = np.random.default_rng(2)
    scaled = sp.csr_array(sp.diags_array(rng.random(120) * 10 + 0.1) @ x)
    assert weights(sparse_graph(scaled, 5)) == pytest.approx(weights(sparse_graph(x, 5)), rel=1e-5)
    order = rng.permutation(120)
    assert weights(sparse_graph(x[order], 5)) == pytest.approx(weights(sparse_graph(x, 5).subgraph(order)), rel=1e-5)


def in_parts(x: sp.csr_array) -> sp.csr_array:
    """Every entry stored as two parts."""
    parts = np.stack([x.data / 4, 3 * x.data / 4], axis=1).reshape(-1)
    return sp.csr_array((parts, np.repeat(x.indices, 2), 2 * x.indptr), shape=x.shape)


@pytest.mark.parametrize(
    "form",
    [sp.csc_array, sp.csr_matrix, sp.coo_matrix, sp.lil_array, in_parts, lambda x: x.astype(np.float32)],
    ids=["csc", "matrix", "coo", "lil", "parts", "float32"],
)
def test_rows_are_taken_in_any_sparse_form(form: Callable[[sp.csr_array], sp.sparray]) -> None:
    x = rows()
    assert weights(sparse_graph(form(x), 3)) == pytest.approx(weights(sparse_graph(x, 3)), rel=1e-5)


def test_whole_numbers_do() -> None:
    counts = sp.csr_array((rows().toarray() > 0).astype(np.int64))
    assert weights(sparse_graph(counts, 3)) == pytest.approx(weights(sparse_graph(counts.astype(float), 3)))


def test_the_caller_s_rows_are_left_as_they_were() -> None:
    x = in_parts(rows())
    before = x.copy()
    sparse_graph(x, 3)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(x, name), getattr(before, name))


@pytest.mark.parametrize("k", [0, -1, 4, 5])
def test_k_must_lie_below_the_number_of_rows(k: int) -> None:
    message = f"^k is {k} and x has 4 rows; k must be at least 1 and below the number of rows$"
    with pytest.raises(ValueError, match=message):
        sparse_graph(rows(4), k)


def test_rows_of_zeros_have_no_cosine() -> None:
    x = rows(6).tolil()
    x[3] = 0
    with pytest.raises(ValueError, match=r"^row 3 of x is zero, which has no direction; drop such rows$"):
        sparse_graph(x, 2)
    x[5] = 0
    with pytest.raises(
        ValueError, match=r"^row 3 of x \(and 1 more\) is zero, which has no direction; drop such rows$"
    ):
        sparse_graph(x, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused_by_number(value: float) -> None:
    x = rows(5).tolil()
    x[2, 1] = value
    with pytest.raises(ValueError, match=r"^row 2 of x holds NaN or infinity; fill in or drop such rows$"):
        sparse_graph(x, 2)


def test_settings_are_checked_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "sp_matmul_topn", lambda *given, **settings: pytest.fail("searched"))
    for settings in ({"join": "both"}, {"weight": "cosine"}, {"max_degree": 0}):
        with pytest.raises(ValueError, match=f"^{next(iter(settings))} is "):
            sparse_graph(rows(), 2, **settings)


def test_numbers_must_be_real_and_k_whole() -> None:
    with pytest.raises(ValueError, match=r"^x is of type complex128; give real numbers$"):
        sparse_graph(rows() * 1j, 2)
    with pytest.raises(ValueError, match=r"^k is 2\.0; it must be a whole number$"):
        sparse_graph(rows(), 2.0)  # type: ignore[arg-type]


def test_dense_rows_and_unknown_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^x is of type ndarray; give scipy sparse rows; knn_graph takes dense ones$"):
        sparse_graph(rows().toarray(), 2)
    with pytest.raises(ValueError, match=r"^join is 'both'; choose 'union' or 'mutual'$"):
        sparse_graph(rows(), 2, join="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^weight is 'cosine'; choose 'similarity', 'self_tuned' or 'binary'$"):
        sparse_graph(rows(), 2, weight="cosine")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^max_degree is 0; it must be a whole number of at least 1$"):
        sparse_graph(rows(), 2, max_degree=0)
