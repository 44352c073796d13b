"""An NGM epoch over all edges of PubMed against a plain supervised epoch over all nodes, and the naive loop.

FFNN 250-100, dense inputs, fused Adam everywhere, batches of 512, 2,048 and 8,192 edges or nodes, in float32 and, as
further figures, in bfloat16 by autocast. The plain epoch labels every node, so that it runs the network forward and
backward on each of them once: the floor that an NGM epoch can approach.
"""

from __future__ import annotations

import time
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

BATCHES = (512, 2048, 8192)


def main() -> None:
    options = bench.arguments(__doc__)
    data = load("pubmed")
    assert data.graph is not None
    x = torch.from_numpy(sp.csr_matrix(data.x).toarray())
    y = np.full(len(data.y), -1)
    y[data.train] = data.y[data.train]
    ratios: dict[str, float] = {}
    seconds: dict[str, float] = {}
    speed: dict[str, int] = {}
    runs: dict[str, float] = {}
    bfloat16: dict[str, float] = {}
    for size in BATCHES:
        loader = EdgeLoader(x, y, data.graph, batch_size=size, sampling="edges")
        started = time.perf_counter()
        loader.prepare()
        name = "" if size == BATCHES[0] else f"_{size}"
        seconds[f"edge_orders_once{name}"] = time.perf_counter() - started
        runs[f"{size}"] = sum(len(batch.nodes) for batch in loader) / data.graph.num_nodes
        jobs = (
            _Ngm(loader, x),
            _Plain(x, data.y, size),
            _Naive(x, y, data.graph.edges, size),
            _Ngm(loader, x, bfloat16=True),
            _Plain(x, data.y, size, bfloat16=True),
        )
        ngm, plain, naive, ngm_16, plain_16 = bench.best_of(options.repeats, *jobs)
        ratios |= {f"ngm_over_plain{name}": ngm / plain, f"edges_per_second_over_naive{name}": naive / ngm}
        seconds |= {f"ngm_epoch{name}": ngm, f"plain_epoch{name}": plain, f"naive_epoch{name}": naive}
        seconds |= {f"ngm_epoch_bfloat16{name}": ngm_16, f"plain_epoch_bfloat16{name}": plain_16}
        bfloat16 |= {f"{size}, ngm / plain": ngm_16 / plain_16, f"{size}, ngm, bfloat16 / float32": ngm_16 / ngm}
        edges = data.graph.num_edges
        for loop, took in {"ngm": ngm, "naive": naive, "ngm_bfloat16": ngm_16}.items():
            speed[f"{loop}{name}"] = round(edges / took)
    bench.report(
        "epoch", ratios, seconds, options, edges_per_second=speed, node_runs_per_node=runs, bfloat16_ratios=bfloat16
    )


def _network(x: Tensor) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    network = FFNNModule(x.shape[1], 3, hidden=(250, 100))
    return network, torch.optim.Adam(network.parameters(), fused=True)


class _Ngm:
    """Our loader and loss in a plain loop."""

    def __init__(self, loader: EdgeLoader, x: Tensor, bfloat16: bool = False) -> None:
        self.loader, self.loss = loader, NGMLoss(alpha_ll=0.2, alpha_lu=0.2, alpha_uu=0.2, scaling="mean")
        self.network, self.optimizer = _network(x)
        self.bfloat16 = bfloat16

    def __call__(self) -> None:
        for batch in self.loader:
            self.optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
                cost = self.loss(self.network, batch).total
            cost.backward()
            self.optimizer.step()


class _Plain:
    """Supervised learning on all nodes."""

    def __init__(self, x: Tensor, y: np.ndarray, size: int, bfloat16: bool = False) -> None:
        self.x, self.y, self.size = x, torch.from_numpy(y), size
        self.network, self.optimizer = _network(x)
        self.bfloat16 = bfloat16

    def __call__(self) -> None:
        for nodes in torch.randperm(len(self.x)).split(self.size):
            self.optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
                cost = F.cross_entropy(self.network(self.x[nodes]), self.y[nodes])
            cost.backward()
            self.optimizer.step()


class _Naive:
    """Random edges; the network is run on both ends of each, as a first attempt would."""

    def __init__(self, x: Tensor, y: np.ndarray, edges: Tensor, size: int) -> None:
        self.x, self.y, self.edges, self.size = x, torch.from_numpy(y), edges, size
        self.degree = torch.bincount(edges.reshape(-1), minlength=len(x)).clamp(min=1)
        self.network, self.optimizer = _network(x)

    def __call__(self) -> None:
        for batch in self._batches():
            self.optimizer.zero_grad()
            (h_u, g_u), (h_v, g_v) = (self._run(batch[:, end]) for end in (0, 1))
            cost = 0.2 * torch.linalg.vector_norm(h_u - h_v, dim=1).sum()
            for g, end in ((g_u, 0), (g_v, 1)):
                nodes = batch[:, end]
                labeled = self.y[nodes] >= 0
                share = F.cross_entropy(g[labeled], self.y[nodes][labeled], reduction="none")
                cost = cost + (share / self.degree[nodes][labeled]).sum()
            cost.backward()
            self.optimizer.step()

    def _batches(self) -> Iterator[Tensor]:
        for chosen in torch.randperm(len(self.edges)).split(self.size):
            yield self.edges[chosen]

    def _run(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        h = self.x[nodes]
        for block in self.network.hidden:  # type: ignore[union-attr]
            h = block(h)
        return h, self.network.output(h)  # type: ignore[operator]


if __name__ == "__main__":
    main()
