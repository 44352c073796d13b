"""An epoch of this library, a loop over `EdgeLoader` with `NGMLoss`: `python ours_epoch.py DATA THREADS`."""

from __future__ import annotations

import sys
import time
from typing import Any

import torch
from peer_data import read
from peer_worker import serve

from ngm import EdgeLoader, Graph, NGMLoss
from ngm.estimators.network_factory import expect_rows
from ngm.networks import FFNNModule
from ngm.networks.input_scaling import stored_by_density


def main() -> None:
    problem, threads = read(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    graph = Graph.from_edges(problem.edges, num_nodes=len(problem.labeled))
    x = stored_by_density(problem.x)  # as the estimators do
    loader = EdgeLoader(x, problem.y, graph, batch_size=problem.batch, sampling="edges")
    cost = "bce" if problem.y.ndim == 2 else "cross_entropy"
    alpha = problem.alpha
    loss = NGMLoss(alpha_ll=alpha, alpha_lu=alpha, alpha_uu=alpha, cost=cost)
    network = FFNNModule(problem.x.shape[1], problem.outputs, hidden=problem.hidden)
    expect_rows(network, x)
    optimizer = torch.optim.Adam(network.parameters(), fused=True)

    def epoch() -> dict[str, Any]:
        runs, started = 0, time.perf_counter()
        for batch in loader:
            optimizer.zero_grad()
            loss(network, batch).total.backward()
            optimizer.step()
            runs += len(batch.nodes)
        seconds = time.perf_counter() - started
        return {"seconds": seconds, "edges": graph.num_edges, "runs": runs, "steps": len(loader)}

    def prepare(settings: str) -> dict[str, Any]:
        for _ in range(6):  # every order of edges is made once
            epoch()
        return {"settings": ["batches of edges"]}

    serve({"prepare": prepare, "epoch": epoch})


if __name__ == "__main__":
    main()
