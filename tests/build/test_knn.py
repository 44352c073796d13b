"""Graphs that join each row to the rows most like it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.neighbors import NearestNeighbors

from ngm import Graph, knn_graph
from ngm.build import exact, knn

Floats = NDArray[np.float64]


def blobs(rows: int = 80, width: int = 6) -> Floats:
    return np.random.default_rng(0).normal(size=(rows, width))


def weights(graph: Graph) -> dict[tuple[int, int], float]:
    return {(u, v): w for (u, v), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True)}


def neighbors_by_scikit_learn(x: Floats, k: int, metric: str) -> dict[tuple[int, int], float]:
    """{pair: distance} over both directions, each row's own self left out."""
    found = NearestNeighbors(n_neighbors=k, metric=metric, algorithm="brute").fit(x)
    distance, neighbor = found.kneighbors()
    return {
        (min(u, int(v)), max(u, int(v))): float(d)
        for u in range(len(x))
        for v, d in zip(neighbor[u], distance[u], strict=True)
    }


@pytest.mark.parametrize("k", [1, 5, 79])
def test_euclidean_neighbors_are_those_of_scikit_learn(k: int) -> None:
    expected = {pair: 1 / (1 + d) for pair, d in neighbors_by_scikit_learn(blobs(), k, "euclidean").items()}
    assert weights(knn_graph(blobs(), k, "euclidean")) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("k", [1, 5, 20])
def test_cosine_neighbors_are_those_of_scikit_learn(k: int) -> None:
    x = blobs() + 0.5
    similar = {pair: 1 - d for pair, d in neighbors_by_scikit_learn(x, k, "cosine").items()}
    expected = {pair: s for pair, s in similar.items() if s > 0}
    assert weights(knn_graph(x, k)) == pytest.approx(expected, rel=1e-4)


def test_inner_product_neighbors_agree_with_a_plain_loop() -> None:
    x = blobs()
    product = x @ x.T
    expected = {}
    for u in range(len(x)):
        others = sorted((v for v in range(len(x)) if v != u), key=lambda v: -product[u, v])[:4]
        for rank, v in enumerate(others):
            if product[u, v] > 0 or rank == 0:
                expected[min(u, v), max(u, v)] = max(product[u, v], knn.FLOOR)
    assert weights(knn_graph(x, 4, "inner_product")) == pytest.approx(expected, rel=1e-4)


def test_weights_worked_by_hand() -> None:
    x = [[0.0, 3.0], [4.0, 0.0], [4.0, 3.0]]
    assert weights(knn_graph(x, 1, "euclidean")) == pytest.approx({(0, 2): 1 / 5, (1, 2): 1 / 4})
    assert weights(knn_graph(x, 2, "euclidean")) == pytest.approx({(0, 1): 1 / 6, (0, 2): 1 / 5, (1, 2): 1 / 4})
    assert weights(knn_graph(x, 2, "inner_product")) == pytest.approx({(0, 2): 9.0, (1, 2): 16.0})
    assert weights(knn_graph(x, 2, "cosine")) == pytest.approx({(0, 2): 0.6, (1, 2): 0.8})


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "inner_product"])
@pytest.mark.parametrize("rows_at_once", [1, 7, 80])
def test_the_size_of_the_blocks_changes_nothing(
    metric: knn.Metric, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = knn_graph(blobs(), 4, metric)
    monkeypatch.setattr(exact, "_MAX_PRODUCTS", 80 * rows_at_once)
    assert weights(knn_graph(blobs(), 4, metric)) == pytest.approx(weights(whole), rel=1e-5)


def test_more_rows_than_cells_still_go_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = knn_graph(blobs(), 4)
    monkeypatch.setattr(exact, "_MAX_PRODUCTS", 10)
    assert list(weights(knn_graph(blobs(), 4))) == list(weights(whole))


@pytest.mark.parametrize("offset", [100.0, 1e6])
def test_euclidean_neighbors_do_not_depend_on_where_the_origin_is(offset: float) -> None:
    moved = knn_graph(blobs() + offset, 5, "euclidean")
    assert weights(moved) == pytest.approx(weights(knn_graph(blobs(), 5, "euclidean")), rel=1e-4)


def test_the_length_of_the_rows_does_not_count_for_cosine() -> None:
    lengths = np.random.default_rng(1).random((80, 1)) * 10 + 0.1
    assert weights(knn_graph(blobs() * lengths, 5)) == pytest.approx(weights(knn_graph(blobs(), 5)), rel=1e-4)


def test_the_order_of_the_rows_only_renames_the_nodes() -> None:
    order = np.random.default_rng(2).permutation(80)
    graph = knn_graph(blobs(), 3)
    assert weights(knn_graph(blobs()[order], 3)) == pytest.approx(weights(graph.subgraph(order)), rel=1e-5)


@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_a_node_without_similar_nodes_keeps_its_best_at_the_floor(metric: knn.Metric) -> None:
    x = [[1.0, 0.0], [1.0, 0.0], [-1.0, 0.1], [-1.0, -3.0]]
    graph = knn_graph(x, 1, metric)
    assert (graph.degree > 0).all()
    alone = knn_graph([[1.0, 0.0], [1.0, 0.1], [-1.0, -0.2]], 2, metric)
    assert weights(alone)[0, 1] > 0.9
    assert weights(alone)[0, 2] == pytest.approx(knn.FLOOR)  # the better of two that are below 0; (1, 2) is left out
    assert alone.num_edges == 2


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "inner_product"])
def test_no_node_is_alone_and_none_chooses_fewer_than_it_may(metric: knn.Metric) -> None:
    graph = knn_graph(blobs(300, 3), 2, metric)
    assert int(graph.degree.min()) >= 1
    assert graph.num_nodes == 300
    if metric == "euclidean":
        assert int(graph.degree.min()) >= 2


def test_rows_that_are_the_same_are_neighbors_of_weight_one() -> None:
    x = np.concatenate([blobs(20), blobs(20)])
    for metric in ("cosine", "euclidean"):
        graph = weights(knn_graph(x, 1, metric))
        assert graph == pytest.approx({(i, i + 20): 1.0 for i in range(20)}, abs=2e-3)


@pytest.mark.parametrize(
    "form",
    [np.ndarray.tolist, lambda x: x.astype(np.float32), torch.from_numpy, lambda x: x[:, ::-1]],
    ids=["list", "float32", "torch", "view"],
)
def test_vectors_are_taken_in_any_form(form: Callable[[Floats], object]) -> None:
    assert weights(knn_graph(form(blobs()), 3)) == pytest.approx(weights(knn_graph(blobs(), 3)), rel=1e-4)


@pytest.mark.parametrize("k", [0, -1, 4, 5])
def test_k_must_lie_below_the_number_of_rows(k: int) -> None:
    message = f"^k is {k} and x has 4 rows; k must be at least 1 and below the number of rows$"
    with pytest.raises(ValueError, match=message):
        knn_graph(blobs(4), k)
    assert knn_graph(blobs(4), 3, "euclidean").num_edges == 6


def test_a_zero_row_has_no_cosine() -> None:
    x = blobs(5)
    x[3] = 0
    message = r"^row 3 of x is zero, which has no direction; drop such rows or use metric='euclidean'$"
    with pytest.raises(ValueError, match=message):
        knn_graph(x, 2)
    assert knn_graph(x, 2, "euclidean").degree[3] >= 2


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_that_are_not_finite_are_refused_by_number(value: float) -> None:
    x = blobs(5)
    x[2, 1] = value
    with pytest.raises(ValueError, match=r"^row 2 of x holds NaN or infinity; fill in or drop such rows$"):
        knn_graph(x, 2)


def test_x_must_be_a_table_and_the_metric_a_known_one() -> None:
    with pytest.raises(ValueError, match=r"^x has shape \(4,\); give \(n, d\), one vector per node$"):
        knn_graph([1.0, 2.0, 3.0, 4.0], 1)
    with pytest.raises(ValueError, match=r"^metric is 'l2'; choose 'cosine', 'euclidean' or 'inner_product'$"):
        knn_graph(blobs(5), 1, "l2")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (["red", "green", "blue"], r"^x is of type <U5; give real numbers; text_graph takes texts$"),
        (blobs(5) * 1j, r"^x is of type complex128; give real numbers$"),
        (torch.ones(5, 2, dtype=torch.complex64), r"^x is of type torch\.complex64; give real numbers$"),
        ([[1.0, None], [2.0, 3.0]], r"^x is of type object; give real numbers$"),
        (sp.eye_array(5), r"^x is sparse; sparse_graph takes scipy sparse rows, and x\.toarray\(\) .* is dense$"),
        (torch.eye(5).to_sparse(), r"^x is sparse; sparse_graph takes scipy .* x\.to_dense\(\) is dense$"),
    ],
    ids=["text", "complex", "complex torch", "objects", "sparse", "sparse torch"],
)
def test_what_is_not_a_table_of_real_numbers_is_refused_in_one_line(x: ArrayLike, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        knn_graph(x, 1)


@pytest.mark.parametrize("k", [2.0, 2.5, "2", None])
def test_k_must_be_a_whole_number(k: int) -> None:
    with pytest.raises(ValueError, match=rf"^k is {k!r}; it must be a whole number$"):
        knn_graph(blobs(5), k)
    assert weights(knn_graph(blobs(5), np.int64(2))) == weights(knn_graph(blobs(5), 2))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.float16, bool])
def test_numbers_of_any_real_type_do(dtype: type) -> None:
    x: Floats = (np.abs(blobs()) * 3 + 1).astype(dtype)
    assert weights(knn_graph(x, 3)) == weights(knn_graph(x.astype(np.float32), 3))


def test_the_caller_s_vectors_are_left_as_they_were() -> None:
    x = torch.from_numpy(blobs()).float()
    before = x.clone()
    for metric in ("cosine", "euclidean", "inner_product"):
        knn_graph(x, 2, metric)
    assert torch.equal(x, before)


def test_vectors_that_are_being_learned_give_weights_that_are_not() -> None:
    x = torch.from_numpy(blobs()).float()
    graph = knn_graph(torch.nn.Parameter(x), 2)
    assert not graph.weight.requires_grad
    assert weights(graph) == weights(knn_graph(x, 2))


def test_rows_of_one_number_are_joined_the_same_way_each_time() -> None:
    rows = np.sign(np.random.default_rng(0).normal(size=(1000, 1))).astype(np.float32)
    first = knn_graph(rows, k=10).edges
    for count in range(10):
        junk = torch.rand(997 + 131 * count)  # so that memory is not where it was
        assert torch.equal(knn_graph(rows.copy(), k=10).edges, first), len(junk)
