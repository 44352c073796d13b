"""The nearest rows of each row: exact, proven, approximate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from torch import Tensor

from ngm.build import all_pairs, approximate, cells, exact, nearest_neighbors, neighbors
from ngm.build.neighbor_lists import NeighborLists
from ngm.build.ranking import CHUNK, best_chunks, make_keys
from ngm.build.space import Metric, SearchSpace, make_space
from tests.clustered_rows import METRICS, Floats, clustered


def all_similarities(x: Floats, metric: Metric) -> Floats:
    """(n, n) in float64, by the definition; -inf on the diagonal."""
    if metric == "cosine":
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    table = -cdist(x, x) if metric == "euclidean" else x @ x.T
    np.fill_diagonal(table, -np.inf)
    return table


def nearest_by_sorting(x: Floats, k: int, metric: Metric) -> tuple[Floats, NDArray[np.int64]]:
    table = all_similarities(x, metric)
    order = np.argsort(-table, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(table, order, axis=1), order


def types(metric: Metric) -> list[torch.dtype]:
    return [torch.bfloat16] if metric == "euclidean" else [torch.int8, torch.bfloat16]


BOTH = [(metric, dtype) for metric in METRICS for dtype in types(metric)]


@pytest.fixture(params=[[], [torch.bfloat16], [torch.int8, torch.bfloat16]], ids=["float32", "bfloat16", "int8"])
def _ranked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way of exact search, whatever this processor would choose."""
    allowed = {metric: [t for t in request.param if t in types(metric)] for metric in METRICS}
    monkeypatch.setattr(exact, "fast_dtypes", lambda space: [*allowed[space.metric], torch.float32])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 5, 30])
@pytest.mark.usefixtures("_ranked")
def test_exact_neighbors_are_those_of_a_full_sort(metric: Metric, k: int) -> None:
    x = clustered()
    similarity, neighbor = nearest_by_sorting(x, k, metric)
    found = nearest_neighbors(x, k, metric, search="exact")
    np.testing.assert_array_equal(found.neighbor, neighbor)
    np.testing.assert_allclose(found.similarity, similarity, rtol=1e-4, atol=1e-5)
    assert (found.search, found.recall, found.sampled) == ("exact", 1.0, 0)


@pytest.mark.parametrize(("metric", "dtype"), BOTH)
def test_fewer_digits_find_the_very_same(metric: Metric, dtype: torch.dtype) -> None:
    space = make_space(clustered(900, 33), 6, metric)
    rows = torch.arange(900)
    short, whole = (exact.exact_neighbors(space, rows, 6, dtypes=d) for d in ([dtype, torch.float32], [torch.float32]))
    assert torch.equal(short[1], whole[1])
    torch.testing.assert_close(short[0], whole[0])


@pytest.mark.parametrize(("metric", "dtype"), BOTH)
def test_rows_are_proven_with_few_digits_and_none_wrongly(metric: Metric, dtype: torch.dtype) -> None:
    x = clustered(900, 33)
    space = make_space(x, 3, metric)
    _, neighbor, sure = exact._search(space, torch.arange(512), 3, dtype, lambda done: None)
    assert sure.float().mean() > (0.7 if dtype == torch.int8 else 0.9)
    right = (neighbor.numpy() == nearest_by_sorting(x, 3, metric)[1][:512]).all(axis=1)
    assert right[sure.numpy()].all()


@pytest.mark.parametrize(("metric", "dtype"), [pair for pair in BOTH if pair[0] != "euclidean"])
def test_rows_too_alike_for_few_digits_are_searched_again(metric: Metric, dtype: torch.dtype) -> None:
    x = 5 + 0.02 * clustered(300)  # bfloat16 does not tell 5.00 from 5.01
    space = make_space(x, 4, metric)
    rows = torch.arange(300)
    similarity, _, sure = exact._search(space, rows, 4, dtype, lambda done: None)
    assert sure.float().mean() < 0.1
    short, whole = (
        exact.exact_neighbors(space, rows, 4, dtypes=d)[0] for d in ([dtype, torch.float32], [torch.float32])
    )
    torch.testing.assert_close(short, whole, rtol=3e-7, atol=3e-7)
    assert not torch.allclose(similarity, whole, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("metric", "dtype"), BOTH)
def test_no_product_exceeds_the_bound_of_its_chunk(metric: Metric, dtype: torch.dtype) -> None:
    x = clustered(256, 40)
    space = make_space(x, 1, metric)
    keys = make_keys(space, torch.arange(256), 64, dtype)
    ranks = torch.empty(256, 256 // CHUNK, dtype=keys.ranks)
    for start in range(0, 256, 64):
        out = ranks[:, start // CHUNK : (start + 64) // CHUNK]
        keys.maxima(keys.query, start, start + 64, out, keys.buffer(256 * 64))
    product = space.query.double() @ space.key.double().t()
    largest = product.view(256, -1, CHUNK).amax(dim=2)  # (n, chunks), in order: the layout is undone
    bound = torch.stack([keys.bound(torch.arange(256), rank.contiguous()) for rank in ranks.t()], dim=1)
    assert (largest <= bound).all()
    known = bound.isfinite()
    assert known.float().mean() > 0.4
    assert (bound - largest)[known].max() < (0.1 if dtype == torch.int8 else 0.05) * product.abs().max()


@pytest.mark.usefixtures("_ranked")
def test_small_distances_far_from_the_mean_keep_their_digits() -> None:
    step = np.random.default_rng(0).normal(size=(18, 3)) * 0.05
    x = step + np.repeat([[1000.0], [-1000.0]], 9, axis=0)  # squares of 3e6 drown squared distances of 0.01
    similarity, neighbor = nearest_by_sorting(x, 3, "euclidean")
    found = nearest_neighbors(x, 3, "euclidean")
    np.testing.assert_array_equal(found.neighbor, neighbor)
    np.testing.assert_allclose(found.similarity, similarity, rtol=0.01)


def test_euclidean_products_are_not_ranked_in_int8() -> None:
    every = {metric: exact.fast_dtypes(make_space(clustered(), 1, metric)) for metric in METRICS}
    assert torch.int8 not in every["euclidean"]
    assert {types[-1] for types in every.values()} == {torch.float32}
    assert torch.int8 not in exact.fast_dtypes(make_space(clustered(95), 1))  # too few for 12 columns


def test_the_best_chunks_are_those_of_a_full_sort() -> None:
    maxima = torch.rand(20, 800, generator=torch.Generator().manual_seed(0))
    for count in (1, 7, 99, 100, 101, 900):
        rank, chunk = best_chunks(maxima, count)
        expected = maxima.sort(dim=1, descending=True)
        assert torch.equal(rank, expected.values[:, :count])
        assert torch.equal(chunk, expected.indices[:, :count])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("block", "strip"), [(32, 1), (64, 100), (4096, 700)])
@pytest.mark.usefixtures("_ranked")
def test_the_size_of_blocks_and_strips_changes_nothing(
    metric: Metric, block: int, strip: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = nearest_neighbors(clustered(330), 4, metric)
    monkeypatch.setattr(exact, "_BLOCK_ROWS", block)
    monkeypatch.setattr(exact, "_STRIP_ROWS", strip)
    parts = nearest_neighbors(clustered(330), 4, metric)
    assert torch.equal(parts.neighbor, whole.neighbor)
    torch.testing.assert_close(parts.similarity, whole.similarity)


@pytest.mark.parametrize("metric", METRICS)
def test_the_reported_recall_is_that_of_all_rows(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "CELL_SIZE", 16)
    x = clustered(4000)
    found = nearest_neighbors(x, 5, metric, search="approximate", recall=0.8)
    true = nearest_neighbors(x, 5, metric, search="exact").neighbor
    share = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found.neighbor.tolist(), true.tolist(), strict=True)])
    assert (found.search, found.sampled) == ("approximate", 500)
    assert share < 0.999  # some are missed, or there is nothing to estimate
    assert found.recall == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("metric", METRICS)
def test_an_approximate_search_reaches_its_recall(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "CELL_SIZE", 16)
    for recall in (0.9, 0.98):
        assert nearest_neighbors(clustered(4000), 5, metric, search="approximate", recall=recall).recall >= recall


@pytest.mark.parametrize("metric", METRICS)
def test_approximate_similarities_are_exact_for_the_rows_that_were_found(metric: Metric) -> None:
    x = clustered(1500)
    found = nearest_neighbors(x, 5, metric, search="approximate")
    table = all_similarities(x, metric)
    expected = np.take_along_axis(table, found.neighbor.numpy(), axis=1)
    np.testing.assert_allclose(found.similarity, expected, rtol=1e-4, atol=1e-5)
    assert (np.diff(found.similarity.numpy(), axis=1) <= 0).all()
    assert all(len(set(row)) == 5 for row in found.neighbor.tolist())


@pytest.mark.parametrize(("rows", "k"), [(2, 1), (9, 8), (100, 20), (300, 40)])
def test_an_approximate_search_of_few_rows_finds_all(rows: int, k: int) -> None:
    x = clustered(rows)
    found = nearest_neighbors(x, k, search="approximate")
    assert found.recall > 0.97
    assert (found.neighbor >= 0).all()
    assert not (found.neighbor == torch.arange(rows)[:, None]).any()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [20, 150, 398, 399])
def test_an_approximate_search_looks_into_enough_cells_for_k(
    metric: Metric, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells, "CELL_SIZE", 16)
    searched: list[int] = []

    def noted(space: SearchSpace, rows: Tensor, k: int, over_ranks: bool) -> tuple[Tensor, Tensor]:
        searched.append(len(rows))
        return exact.exact_neighbors(space, rows, k)

    monkeypatch.setattr(approximate, "exact_neighbors", noted)
    found = nearest_neighbors(clustered(400, 4), k, metric, search="approximate", recall=0.1)
    assert searched == [400]  # the sample; no row saw too few others
    assert all(len({row, *others}) == k + 1 for row, others in enumerate(found.neighbor.tolist()))


def test_the_recall_and_a_sample_from_everywhere_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[Tensor, float]] = []

    def noted(
        space: SearchSpace, k: int, sample: Tensor, recall: float, *others: object
    ) -> tuple[Tensor, Tensor, float]:
        given.append((sample, recall))
        return *exact.exact_neighbors(space, torch.arange(len(space)), k), 0.7

    monkeypatch.setattr(neighbors, "approximate_neighbors", noted)
    found = nearest_neighbors(clustered(2000), 2, search="approximate", recall=0.6)
    (sample, recall) = given[0]
    assert (recall, found.recall, found.sampled) == (0.6, 0.7, 500)
    assert len(set(sample.tolist())) == 500
    assert 900 < sample.float().mean() < 1100


def test_the_number_of_threads_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "CELL_SIZE", 16)
    monkeypatch.setattr(approximate, "_CHUNK_CELLS", 8)
    monkeypatch.setattr(all_pairs, "_BLOCK_ROWS", 64)
    monkeypatch.setattr(all_pairs, "_GROUP_BLOCKS", 2)
    x = clustered(2000)
    x[1000:] = x[:1000]  # of rows that are equally near, one must be preferred
    for search in (
        lambda: all_pairs.all_pairs_neighbors(make_space(x, 5), 5),
        lambda: approximate.approximate_neighbors(
            make_space(x, 5), 5, torch.arange(100), 0.9, torch.Generator().manual_seed(0)
        ),
    ):
        found = []
        for num_threads in (1, 4):
            monkeypatch.setattr(torch, "get_num_threads", lambda num_threads=num_threads: num_threads)
            found.append(search())
        assert all(torch.equal(one, other) for one, other in zip(found[0][:2], found[1][:2], strict=True))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("rows", "k"), [(2, 1), (9, 8), (64, 3), (330, 4), (330, 60)])
def test_all_pairs_are_those_of_a_full_sort(metric: Metric, rows: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_pairs, "_BLOCK_ROWS", 64)
    monkeypatch.setattr(all_pairs, "_GROUP_BLOCKS", 2)
    x = clustered(rows)
    expected = nearest_by_sorting(x, k, metric)
    similarity, neighbor = all_pairs.all_pairs_neighbors(make_space(x, k, metric), k)
    np.testing.assert_array_equal(neighbor, expected[1])
    np.testing.assert_allclose(similarity, expected[0], rtol=1e-4, atol=1e-5)


def test_many_rows_in_float32_are_searched_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []

    def noted(space: SearchSpace, k: int, *others: object) -> tuple[Tensor, Tensor]:
        called.append(len(space))
        return exact.exact_neighbors(space, torch.arange(len(space)), k)

    monkeypatch.setattr(neighbors, "all_pairs_neighbors", noted)
    monkeypatch.setattr(neighbors, "_ALL_PAIRS_FROM", 300)
    for dtypes in ([torch.float32], [torch.bfloat16, torch.float32]):
        monkeypatch.setattr(neighbors, "fast_dtypes", lambda space, dtypes=dtypes: dtypes)
        for rows in (299, 300, 301):
            nearest_neighbors(clustered(rows), 2, search="exact")
    assert called == [300, 301]


def test_the_join_finds_the_neighbors_of_neighbors() -> None:
    x = np.array([[0.0], [1.0], [2.1], [3.3], [4.6], [6.0]])
    space = make_space(x, 1, "euclidean")
    made = cells.make_cells(space, np.arange(6), np.array([0, 6]))
    ring = np.array([[1], [2], [3], [4], [5], [0]], dtype=np.int32)  # 5 knows only 0, which is far away
    similarity = -((x[ring[:, 0]] - x) ** 2).astype(np.float32) / 2
    lists = NeighborLists(similarity, ring, np.ones_like(ring, dtype=np.bool_))
    better = approximate.join(made, lists, lambda rows: None)
    assert better.neighbor.tolist() == [[1], [0], [1], [2], [3], [4]]  # each was chosen by the one before
    assert better.fresh.tolist() == [[False], [True], [True], [True], [True], [True]]
    np.testing.assert_allclose(-2 * better.similarity[:, 0], np.square([1.0, 1.0, 1.1, 1.2, 1.3, 1.4]), rtol=1e-4)


def test_what_is_not_new_is_not_compared_again() -> None:
    x = np.array([[0.0], [1.0], [2.1], [3.3], [4.6], [6.0]])
    made = cells.make_cells(make_space(x, 1, "euclidean"), np.arange(6), np.array([0, 6]))
    ring = np.array([[1], [2], [3], [4], [5], [0]], dtype=np.int32)
    lists = NeighborLists(np.full((6, 1), -np.inf, dtype=np.float32), ring, np.zeros_like(ring, dtype=np.bool_))
    better = approximate.join(made, lists, lambda rows: None)
    assert better.neighbor.tolist() == [[5], [0], [1], [2], [3], [4]]  # the rows that chose it are, and no others


def test_too_few_cells_are_followed_by_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "CELL_SIZE", 16)
    monkeypatch.setattr(approximate, "join", lambda cells, lists, *others: lists)
    monkeypatch.setattr(approximate, "num_probes", lambda *others: [1, 1])
    x = clustered(1000)
    assert nearest_neighbors(x, 3, search="approximate", recall=0.95).recall >= 0.95


@pytest.mark.parametrize(
    ("many", "few", "expected"),
    [(8, 3, [(0, 8), (8, 12)]), (8, 2, [(0, 2), (2, 8), (8, 12)])],
    ids=["no_fewer_cells_are_worth_it", "a_quarter_of_the_cells_comes_first"],
)
def test_fewer_cells_come_first_where_they_hold_most_neighbors(
    many: int, few: int, expected: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[tuple[int, int]] = []
    found = approximate._search_cells

    def noted(made: cells.Cells, before: int, probes: int, *others: Any) -> None:
        if (before, probes) not in searched:
            searched.append((before, probes))
        found(made, before, probes, *others)

    monkeypatch.setattr(cells, "CELL_SIZE", 16)
    monkeypatch.setattr(approximate, "_search_cells", noted)
    monkeypatch.setattr(approximate, "join", lambda cells, lists, *others: lists)
    monkeypatch.setattr(approximate, "num_probes", lambda *others: [many, few])
    assert nearest_neighbors(clustered(1000), 3, search="approximate", recall=0.999).recall >= 0.999
    assert searched[: len(expected)] == expected


def test_the_same_seed_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "CELL_SIZE", 16)
    x = clustered(2000)
    first, again, other = (nearest_neighbors(x, 5, search="approximate", recall=0.8, seed=s) for s in (3, 3, 4))
    assert torch.equal(first.neighbor, again.neighbor)
    assert torch.equal(first.similarity, again.similarity)
    assert not torch.equal(first.neighbor, other.neighbor)


def test_auto_is_exact_up_to_a_stated_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "EXACT_UP_TO", 300)
    assert nearest_neighbors(clustered(300), 2).search == "exact"
    assert nearest_neighbors(clustered(301), 2).search == "approximate"


@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_steps_rise_to_the_number_of_rows(search: neighbors.Search, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_STRIP_ROWS", 100)
    steps: list[tuple[int, int]] = []
    nearest_neighbors(clustered(730), 3, search=search, on_step=lambda done, total: steps.append((done, total)))
    done, totals = zip(*steps, strict=True)
    assert list(done) == sorted(set(done))
    assert set(totals) == {done[-1]}
    if search == "exact":
        assert done == (100, 200, 300, 400, 500, 600, 700, 730)


def test_a_float16_memory_map_is_read_as_it_is(tmp_path: Path) -> None:
    x = clustered(400).astype(np.float16)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for metric in METRICS:
        found = nearest_neighbors(mapped, 3, metric)
        assert found.similarity.dtype == torch.float32
        assert torch.equal(found.neighbor, nearest_neighbors(x.astype(np.float64), 3, metric).neighbor)


def test_rows_are_taken_in_parts_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [make_space(clustered(50), 1, metric).vectors for metric in METRICS]
    monkeypatch.setattr("ngm.build.space._CHUNK_ROWS", 7)
    for metric, vectors in zip(METRICS, whole, strict=True):
        torch.testing.assert_close(make_space(clustered(50), 1, metric).vectors, vectors)
    bad = clustered(50)
    bad[23, 1] = np.nan
    with pytest.raises(ValueError, match=r"^row 23 of x holds NaN or infinity; fill in or drop such rows$"):
        make_space(bad, 1)
    bad[23] = 0
    with pytest.raises(ValueError, match=r"^row 23 of x is zero, which has no direction; "):
        make_space(bad, 1)


@pytest.mark.parametrize("recall", [0.0, 1.0, 1.5])
def test_recall_must_lie_between_0_and_1(recall: float) -> None:
    message = rf"^recall is {recall}; it must lie between 0 and 1, and search='exact' finds all$"
    with pytest.raises(ValueError, match=message):
        nearest_neighbors(clustered(20), 2, recall=recall)


def test_the_search_must_be_a_known_one() -> None:
    with pytest.raises(ValueError, match=r"^search is 'fast'; choose 'auto', 'exact' or 'approximate'$"):
        nearest_neighbors(clustered(20), 2, search="fast")  # type: ignore[arg-type]


def test_the_caller_s_tensor_is_left_as_it_was() -> None:
    x: Tensor = torch.from_numpy(clustered(600)).float()
    before = x.clone()
    for search in ("exact", "approximate"):
        nearest_neighbors(x, 3, "inner_product", search=search)
    assert torch.equal(x, before)
