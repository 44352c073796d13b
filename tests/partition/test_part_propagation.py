"""Label propagation over parts finds what one process finds on the whole graph."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from ngm import LabelPropagation, partition_graph, propagate_parts
from ngm.propagation.label_propagation import UnreachedNodesWarning
from tests.conftest import make_problem
from tests.part_programs import targets
from tests.part_steps import CASES, problem_graph
from tests.partition.conftest import Found


@pytest.mark.parametrize("name", CASES)
def test_ranks_together_find_what_one_process_does(name: str, found: Found) -> None:
    _, _, task, settings = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = settings.fit(None, targets(task), graph=problem_graph(name))
    nodes = np.concatenate([rank[f"{name} nodes"] for rank in found])
    assert sorted(nodes.tolist()) == list(range(40))
    reached = np.concatenate([rank[f"{name} reached"] for rank in found])
    np.testing.assert_array_equal(reached, whole.reached_[nodes])
    distributions = np.concatenate([rank[f"{name} distributions"] for rank in found])
    np.testing.assert_allclose(distributions, whole.label_distributions_[nodes], atol=1e-5)


def test_some_cases_have_nodes_that_no_label_reaches(found: Found) -> None:
    assert any(not rank["components reached"].all() for rank in found)


def test_nodes_that_no_label_reaches_are_counted_over_all_parts(part_folder: Path) -> None:
    unreached = int((~LabelPropagation().fit(None, targets("classes"), graph=problem_graph("classes")).reached_).sum())
    assert not unreached
    with pytest.warns(UnreachedNodesWarning, match="of 40 nodes are in components without a label"):
        propagate_parts(part_folder / "components")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (LabelPropagation(keep=2), "keep is 2; on parts set keep=None"),
        (LabelPropagation(prior=np.full((40, 3), 1 / 3)), "prior has a row per node"),
        (LabelPropagation(influence="source"), "influence is 'source', but the graph is undirected"),
    ],
)
def test_what_parts_cannot_do_is_refused(part_folder: Path, settings: LabelPropagation, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        propagate_parts(part_folder / "classes", settings)


def test_numbers_are_refused(tmp_path: Path) -> None:
    problem = make_problem()
    partition_graph(tmp_path / "parts", problem.graph, problem.x, targets("numbers"), parts=2, task="numbers")
    with pytest.raises(ValueError, match="has numbers to learn"):
        propagate_parts(tmp_path / "parts")
