"""Propagated node identities against dense computations."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ngm import Graph
from ngm.inputs import from_links, identities
from ngm.propagation.kernel import Shares, hop, pull, scale_rows
from tests.conftest import random_graph


def dense_chances(graph: Graph, restart: float) -> np.ndarray:
    """(n, n) restart (I - (1 - restart) P)^-1; a node without edges walks to itself."""
    weight = pull(graph).toarray().astype(np.float64)
    weight[weight.sum(axis=1) == 0] += np.eye(graph.num_nodes)[weight.sum(axis=1) == 0]
    walk = weight / weight.sum(axis=1, keepdims=True)
    return restart * np.linalg.inv(np.eye(graph.num_nodes) - (1 - restart) * walk)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("restart", [0.15, 0.5, 1.0])
def test_with_everything_kept_and_many_steps_identities_are_the_closed_form(directed: bool, restart: float) -> None:
    graph = random_graph(30, 60, seed=1, directed=directed)
    found = identities(graph, keep=30, restart=restart, steps=120).toarray()
    np.testing.assert_allclose(found, dense_chances(graph, restart), atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)


def test_with_everything_kept_a_few_steps_are_those_of_a_dense_hop() -> None:
    graph = random_graph(25, 80, seed=2).without([0])
    weight = pull(graph)
    total = np.maximum(weight.sum(axis=1), 1e-12)
    walk = Shares(scale_rows(weight, 1 / total), total)
    expected = hop(walk, torch.eye(25), restart=0.3, steps=3).numpy()
    found = identities(graph, keep=25, restart=0.3, steps=3).toarray()
    joined = graph.degree.numpy() > 0
    np.testing.assert_allclose(found[joined], expected[joined], atol=1e-6)
    np.testing.assert_array_equal(found[~joined], np.eye(25)[~joined])


def test_with_restart_1_a_node_has_its_own_identity_and_no_zeros_are_stored() -> None:
    found = identities(random_graph(12, 30, seed=0), keep=3, restart=1.0)
    assert found.nnz == 12
    np.testing.assert_array_equal(found.toarray(), np.eye(12))


def test_no_row_has_more_than_keep_entries_and_the_strongest_are_among_them() -> None:
    graph = random_graph(200, 900, seed=3)
    exact = dense_chances(graph, 0.3)
    found = identities(graph, keep=8, restart=0.3, steps=30)
    assert found.shape == (200, 200)
    assert found.dtype == np.float32
    assert np.diff(found.indptr).max() == 8
    assert (found.toarray() <= exact + 1e-5).all()  # what is dropped is gone
    hits = [len({*exact[v].argsort()[-3:]} & {*found[[v]].indices}) for v in range(1, 200)]
    assert np.mean(hits) > 2.9


def test_entries_grow_with_the_nodes_and_not_with_their_square() -> None:
    counts = [identities(random_graph(n, 8 * n, seed=0), keep=5, steps=4).nnz for n in (500, 1000, 2000)]
    assert counts == [5 * n - 4 for n in (500, 1000, 2000)]  # node 0 is alone: one entry


def test_the_scale_of_the_weights_does_not_matter() -> None:
    graph = random_graph(30, 60, seed=4)
    louder = Graph(30, graph.edges, graph.weight * 64, False)
    np.testing.assert_allclose(identities(graph, keep=6).toarray(), identities(louder, keep=6).toarray(), atol=1e-6)


def test_identities_reach_whom_the_influence_says() -> None:
    arrow = Graph.from_edges([[0, 1]], directed=True)
    half = {"restart": 0.5, "steps": 40}
    np.testing.assert_allclose(identities(arrow, influence="source", **half).toarray(), [[1, 0], [0.5, 0.5]], atol=1e-6)
    np.testing.assert_allclose(identities(arrow, influence="target", **half).toarray(), [[0.5, 0.5], [0, 1]], atol=1e-6)


def test_folding_adds_up_columns_that_are_dealt_out_evenly() -> None:
    graph = random_graph(40, 100, seed=5)
    rows, folded = identities(graph, keep=10), identities(graph, keep=10, width=8, seed=3)
    assert folded.shape == (40, 8)
    np.testing.assert_allclose(folded.sum(axis=1), rows.sum(axis=1), atol=1e-6)
    place = np.random.default_rng(3).permutation(40) % 8
    expected = np.stack([rows.toarray()[:, place == c].sum(axis=1) for c in range(8)], axis=1)
    np.testing.assert_allclose(folded.toarray(), expected, atol=1e-6)
    assert (np.bincount(place) == 5).all()


def test_one_step_from_the_neighbors_is_a_nodes_own_row_but_for_its_own_identity() -> None:
    graph = random_graph(30, 80, seed=6)
    rows = identities(graph, keep=30, restart=0.4, steps=100)
    found = from_links(graph.to_scipy(), rows, scale=0.6).toarray()
    joined = graph.degree.numpy() > 0
    np.testing.assert_allclose(found[joined], (rows.toarray() - 0.4 * np.eye(30))[joined], atol=1e-5)
    assert np.diff(from_links(graph.to_scipy(), rows, keep=4).indptr).max() == 4


def test_every_step_is_told_with_what_it_changed() -> None:
    told: list[tuple[int, float]] = []
    identities(Graph.from_edges([[0, 1]]), restart=0.5, steps=3, on_step=lambda step, r: told.append((step, r)))
    assert told == [(1, 0.5), (2, 0.25), (3, 0.125)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": 0}, "keep is 0; it must be at least 1"),
        ({"restart": 0.0}, "restart is 0.0; it must be above 0 and at most 1"),
        ({"restart": float("nan")}, "restart is nan; it must be above 0"),
        ({"steps": 0}, "steps is 0; it must be at least 1"),
        ({"width": 0}, "width is 0; it must be at least 1, or None"),
        ({"influence": "up"}, "influence is 'up'; choose"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        identities(Graph.from_edges([[0, 1]]), **settings)  # type: ignore[arg-type]
