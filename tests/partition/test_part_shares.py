"""A sparse step over parts is the step over the whole graph."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.propagation.kernel import pull, walk_shares
from ngm.recipes.node_views import GraphOperators
from tests.part_steps import problem_graph, values
from tests.partition.conftest import Found


def gathered(found: Found, name: str) -> NDArray[np.generic]:
    """Of all nodes, in their order."""
    nodes = np.concatenate([rank["owned"] for rank in found])
    assert sorted(nodes.tolist()) == list(range(40))
    return np.concatenate([rank[name] for rank in found])[np.argsort(nodes)]


def test_a_step_over_parts_is_a_product_with_the_whole_matrix(found: Found) -> None:
    graph, z = problem_graph("classes"), values()
    np.testing.assert_allclose(gathered(found, "sums"), pull(graph) @ z.numpy(), rtol=1e-6)
    np.testing.assert_allclose(gathered(found, "walk"), (walk_shares(graph) @ z).numpy(), rtol=1e-6, atol=1e-7)
    expected = GraphOperators(graph).spread(z.numpy().astype(np.float32), 0.9, 20)
    np.testing.assert_allclose(gathered(found, "spread"), expected, rtol=1e-5, atol=1e-6)


def test_sums_and_maxima_are_those_of_all_nodes(found: Found) -> None:
    shares, z = walk_shares(problem_graph("classes")), values()
    for rank in found:
        np.testing.assert_allclose(rank["product"], [shares.product(z, z), float(torch.abs(z).max())], rtol=1e-6)
