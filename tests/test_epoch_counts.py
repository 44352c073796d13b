"""What an epoch costs, by counts that no busy machine changes: runs of the network, rows and bytes, batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ngm import EdgeLoader, Graph, NGMLoss
from ngm.ordering import num_blocks
from ngm.training import train

NUM_NODES, WIDTH = 5000, 20
RUNS = {512: 1.42, 2048: 1.29}  # limits of runs per node


class CountedRows:
    """Rows of inputs that count how often, and how many of them, they are asked for."""

    def __init__(self, x: Tensor) -> None:
        self.x, self.calls, self.rows = x, 0, 0

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, nodes: Tensor, /) -> Tensor:
        self.calls += 1
        self.rows += len(nodes)
        return self.x[nodes]


class CountedNetwork(nn.Module):
    """A hidden layer; counts the rows that are run through it."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.output, self.calls, self.rows = nn.Linear(WIDTH, 8), nn.Linear(8, 3), 0, 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.rows += len(x)
        logits: Tensor = self.output(torch.relu(self.hidden(x)))
        return logits


@pytest.fixture(scope="module")
def citations() -> tuple[Graph, Tensor]:
    """As many edges a node as PubMed, most of them to near nodes, some to hubs and some to any node; 60 labels."""
    rng = np.random.default_rng(0)
    source = rng.integers(NUM_NODES, size=round(2.3 * NUM_NODES))
    target = (source + 1 + (4 * rng.pareto(1.2, size=len(source))).astype(np.int64)) % NUM_NODES
    target = np.where(rng.random(len(source)) < 0.3, target // 20 * 20, target)
    target = np.where(rng.random(len(source)) < 0.15, rng.integers(NUM_NODES, size=len(source)), target)
    y = torch.full((NUM_NODES,), -1)
    y[torch.from_numpy(rng.choice(NUM_NODES, 60, replace=False))] = torch.arange(60) % 3
    kept = source != target
    return Graph.from_edges(np.stack([source, target], axis=1)[kept], num_nodes=NUM_NODES), y


@pytest.mark.parametrize("size", sorted(RUNS))
def test_an_epoch_runs_each_node_few_times_and_gathers_each_row_once_a_run(
    size: int, citations: tuple[Graph, Tensor]
) -> None:
    graph, y = citations
    rows, network = CountedRows(torch.randn(NUM_NODES, WIDTH)), CountedNetwork()
    loader = EdgeLoader(rows, y, graph, batch_size=size, sampling="edges")
    train(network, loader, NGMLoss(layer="hidden"), epochs=1)
    connected = int((torch.bincount(graph.edges.flatten(), minlength=NUM_NODES) > 0).sum())
    assert rows.calls == network.calls == len(loader) == num_blocks(graph.num_edges, size)
    assert connected <= rows.rows == network.rows <= RUNS[size] * connected


@pytest.mark.parametrize("size", sorted(RUNS))
def test_a_batch_holds_its_rows_and_36_bytes_an_edge(size: int, citations: tuple[Graph, Tensor]) -> None:
    graph, y = citations
    loader = EdgeLoader(torch.randn(NUM_NODES, WIDTH), y, graph, batch_size=size, sampling="edges")
    batches = list(loader)
    runs = sum(len(batch.nodes) for batch in batches)
    of_nodes = sum(t.nbytes for b in batches for t in (b.nodes, b.x, b.y, b.label_share) if isinstance(t, Tensor))
    of_edges = sum(t.nbytes for b in batches for t in (b.ends, b.weight, b.kind, b.graph, b.negatives, b.negative_of))
    assert of_nodes == runs * (8 + 4 * WIDTH + 8 + 4)
    assert of_edges == 36 * graph.num_edges
    assert len({b.x.data_ptr() for b in batches if isinstance(b.x, Tensor)}) == len(batches)


def test_labels_spread_over_all_batches_cost_few_runs_more(citations: tuple[Graph, Tensor]) -> None:
    graph, y = citations
    x = torch.zeros(NUM_NODES, 1)
    plain, with_edges = (
        sum(len(batch.nodes) for batch in EdgeLoader(x, y, graph, batch_size=512, sampling=sampling))
        for sampling in ("plain", "edges")
    )
    batches = num_blocks(graph.num_edges, 512)
    assert plain <= with_edges + 60 * batches
