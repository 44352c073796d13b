"""An NGM epoch over all edges of PubMed against a plain supervised epoch over all nodes, and the naive loop.

FFNN 250-100, dense inputs, fused Adam everywhere, batches of 512 edges or nodes. The plain epoch labels every node,
so that it runs the network forward and backward on each of them once: the floor that an NGM epoch can approach.
"""

from __future__ import annotations

from collections.abc import Iterator

import bench
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm import EdgeLoader, NGMLoss
from ngm.datasets import load
from ngm.networks import FFNNModule
from ngm.sampling import ORDERS

BATCH = 512


def main() -> None:
    options = bench.arguments(__doc__)
    data = load("pubmed")
    assert data.graph is not None
    x = torch.from_numpy(sp.csr_matrix(data.x).toarray())
    y = np.full(len(data.y), -1)
    y[data.train] = data.y[data.train]
    loader = EdgeLoader(x, y, data.graph, batch_size=BATCH, sampling="edges")
    ordering = bench.best_of(
        1, lambda: EdgeLoader(x, y, data.graph, batch_size=BATCH, sampling="edges")._neighborhoods(0)
    )[0]
    for which in range(ORDERS):
        loader._neighborhoods(which)
    nodes = sum(len(batch.nodes) for batch in loader)
    jobs = (_Ngm(loader, x), _Plain(x, data.y), _Naive(x, y, data.graph.edges))
    ngm, plain, naive = bench.best_of(options.repeats, *jobs)
    edges = data.graph.num_edges
    bench.report(
        "epoch",
        {"ngm_over_plain": ngm / plain, "edges_per_second_over_naive": naive / ngm},
        {"ngm_epoch": ngm, "plain_epoch": plain, "naive_epoch": naive, "edge_order_once": ordering},
        options,
        edges_per_second={"ngm": round(edges / ngm), "naive": round(edges / naive)},
        node_runs_per_node=nodes / data.graph.num_nodes,
    )


def _network(x: Tensor) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    network = FFNNModule(x.shape[1], 3, hidden=(250, 100))
    return network, torch.optim.Adam(network.parameters(), fused=True)


class _Ngm:
    """Our loader and loss in a plain loop."""

    def __init__(self, loader: EdgeLoader, x: Tensor) -> None:
        self.loader, self.loss = loader, NGMLoss(alpha_ll=0.2, alpha_lu=0.2, alpha_uu=0.2, scaling="mean")
        self.network, self.steps = _network(x)

    def __call__(self) -> None:
        for batch in self.loader:
            self.steps.zero_grad()
            self.loss(self.network, batch).total.backward()
            self.steps.step()


class _Plain:
    """Supervised learning on all nodes."""

    def __init__(self, x: Tensor, y: np.ndarray) -> None:
        self.x, self.y = x, torch.from_numpy(y)
        self.network, self.steps = _network(x)

    def __call__(self) -> None:
        for nodes in torch.randperm(len(self.x)).split(BATCH):
            self.steps.zero_grad()
            F.cross_entropy(self.network(self.x[nodes]), self.y[nodes]).backward()
            self.steps.step()


class _Naive:
    """Random edges; the network is run on both ends of each, as a first attempt would."""

    def __init__(self, x: Tensor, y: np.ndarray, edges: Tensor) -> None:
        self.x, self.y, self.edges = x, torch.from_numpy(y), edges
        self.degree = torch.bincount(edges.reshape(-1), minlength=len(x)).clamp(min=1)
        self.network, self.steps = _network(x)

    def __call__(self) -> None:
        for batch in self._batches():
            self.steps.zero_grad()
            (h_u, g_u), (h_v, g_v) = (self._run(batch[:, end]) for end in (0, 1))
            cost = 0.2 * torch.linalg.vector_norm(h_u - h_v, dim=1).sum()
            for g, end in ((g_u, 0), (g_v, 1)):
                nodes = batch[:, end]
                labeled = self.y[nodes] >= 0
                share = F.cross_entropy(g[labeled], self.y[nodes][labeled], reduction="none")
                cost = cost + (share / self.degree[nodes][labeled]).sum()
            cost.backward()
            self.steps.step()

    def _batches(self) -> Iterator[Tensor]:
        for chosen in torch.randperm(len(self.edges)).split(BATCH):
            yield self.edges[chosen]

    def _run(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        h = self.x[nodes]
        for block in self.network.hidden:  # type: ignore[union-attr]
            h = block(h)
        return h, self.network.output(h)  # type: ignore[operator]


if __name__ == "__main__":
    main()
