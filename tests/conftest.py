"""Small graphs, networks and targets that several tests share."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from ngm import Graph, datasets
from ngm.networks import FFNN


@dataclass(frozen=True)
class Problem:
    """Random inputs and labels on a random weighted graph; node 0 is labelled and has no edge."""

    x: Tensor
    y: Tensor
    graph: Graph
    network: FFNN


def random_graph(num_nodes: int, num_edges: int, seed: int, directed: bool = False) -> Graph:
    """A graph with random weights that leaves node 0 alone."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(1, num_nodes, (num_edges, 2), generator=generator)
    weight = torch.rand(num_edges, generator=generator) + 0.1
    return Graph.from_edges(edges, weight, num_nodes, directed)


def make_problem(directed: bool = False, num_nodes: int = 40, num_edges: int = 110) -> Problem:
    """See `Problem`; everything in float64, so that sums can be compared closely."""
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(num_nodes, 6, generator=generator, dtype=torch.float64)
    y = torch.randint(0, 3, (num_nodes,), generator=generator)
    y[torch.rand(num_nodes, generator=generator) < 0.6] = -1
    y[0], y[1], y[2] = 0, 1, 2
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = FFNN(6, 3, hidden=(8, 5)).double()
    return Problem(x, y, random_graph(num_nodes, num_edges, 5, directed), network)


@pytest.fixture
def problem() -> Problem:
    return make_problem()


def needs(name: str) -> pytest.MarkDecorator:
    """Skips a test, with a reason, where a data set is not on this machine; tests never fetch."""
    here = {record.name: record.where for record in datasets.available()}[name]
    return pytest.mark.skipif(here == "not here yet", reason=f"data set {name!r} is not here: set NGM_DATA")
