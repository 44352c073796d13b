"""Rows x made from a graph alone: new nodes get theirs from their links."""

from __future__ import annotations

import numpy as np
import pytest

from ngm import read_table
from ngm.features import Features
from ngm.inputs import adjacency_rows, clusters, from_links, identities, links, netmf
from ngm.io.run_folder import Run
from tests.feature_tables import GRAPH, NAMES, again, dense

EXPECTED = {
    "rows": lambda linked, x: adjacency_rows(linked),
    "netmf": from_links,
    "clusters": from_links,
    "identities": lambda linked, x: from_links(linked, x, keep=32, scale=0.7),
}


@pytest.mark.parametrize("how", EXPECTED)
def test_new_nodes_get_their_rows_from_their_links(how: str, empty_run: Run) -> None:
    features, x = Features.fit(None, read="graph", graph=GRAPH, ids=NAMES, how=how, seed=3)
    made = {
        "rows": lambda: adjacency_rows(GRAPH),
        "netmf": lambda: netmf(GRAPH, 4, seed=3),
        "clusters": lambda: clusters(GRAPH, 2, "similarity", seed=3),
        "identities": lambda: identities(GRAPH, 32, 0.3) * 10,
    }
    np.testing.assert_allclose(dense(x), dense(made[how]()), rtol=1e-6)
    found = again(features, empty_run)
    new = read_table({"source": ["p", "q", "p"], "target": ["ö d", "a", "b"], "weight": [3.0, 1.0, 1.0]})
    expected = EXPECTED[how](links([[0, 3], [1, 0], [0, 1]], GRAPH, [3.0, 1.0, 1.0]), x)
    np.testing.assert_allclose(dense(found.rows(new)), dense(expected), rtol=1e-6)
    assert found.nodes is not None
    assert found.nodes.ids.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(dense(found.nodes.x), dense(x))
    assert (found.width, found.names, found.holds) == (x.shape[1], (), {})  # type: ignore[union-attr]


def test_ids_that_are_numbers_are_found_however_they_are_written(empty_run: Run) -> None:
    features, _ = Features.fit(None, read="graph", graph=GRAPH, ids=np.array([10, 20, 30, 40]))
    found = again(features, empty_run).nodes
    assert found is not None
    assert found.ids.tolist() == [10, 20, 30, 40]
    assert found.linked(["n", "n", "n"], [20, "30", 40.0], None).rows.x.toarray().tolist() == [[0, 1, 1, 1]]  # type: ignore[union-attr]
    assert (found.knows("10"), found.knows("11")) == (True, False)


def test_nodes_without_ids_are_called_by_number() -> None:
    features, _ = Features.fit(None, read="graph", graph=GRAPH)
    assert features.rows(read_table({"new": ["n"], "old": [3]})).toarray().tolist() == [[0, 0, 0, 1]]  # type: ignore[union-attr]


def test_links_to_unknown_nodes_are_left_out_and_lone_nodes_warned_of() -> None:
    features, _ = Features.fit(None, read="graph", graph=GRAPH, ids=NAMES)
    assert features.nodes is not None
    for weight in (None, [2.0, 1.0, 3.0]):
        linked = features.nodes.linked(["p", "q", "p"], ["a", "zz", "yy"], weight)
        assert (linked.ids, linked.unknown, linked.examples) == (["p", "q"], 2, ["zz", "yy"])
        assert dense(linked.rows.x).tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    with pytest.warns(UserWarning, match=r"1 of 2 rows have no link to a node that the run knows \(row 1\)"):
        features.rows(read_table({"new": ["p", "q", "p"], "old": ["a", "zz", "yy"]}))


def test_large_graphs_give_identities_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngm.features.node_inputs._MAX_ADJACENCY_NODES", 3)
    features, _ = Features.fit(None, read="graph", graph=GRAPH)
    assert features.part.as_json()["how"] == "identities"
