"""Time and memory of an epoch as the edges double, on random graphs of constant mean degree."""

from __future__ import annotations

import math
import resource
import time

import bench
import numpy as np
import torch

from ngm import EdgeLoader, Graph, NGMLoss
from ngm.networks import FFNNModule

DEGREE = 8
NODES = 10_000
TIMES = (1, 2, 4, 8)


def main() -> None:
    options = bench.arguments(__doc__)
    jobs = [_Epoch(NODES * times) for times in TIMES]
    found = bench.best_of(options.repeats, *jobs)
    seconds = {f"{times}x_{job.graph.num_edges}_edges": s for times, job, s in zip(TIMES, jobs, found, strict=True)}
    slope, _ = np.polyfit([math.log(job.graph.num_edges) for job in jobs], [math.log(s) for s in found], 1)
    bench.report(
        "linear",
        {"exponent": float(slope), "8x_over_1x": found[-1] / found[0]},
        seconds,
        options,
        peak_memory_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        setup_seconds={key: job.setup for key, job in zip(seconds, jobs, strict=True)},
    )


class _Epoch:
    """One epoch over a ring of communities: neighbours within distance 50 along the ring."""

    def __init__(self, num_nodes: int) -> None:
        rng = np.random.default_rng(0)
        source = rng.integers(num_nodes, size=num_nodes * DEGREE // 2)
        target = (source + rng.integers(1, 50, size=len(source))) % num_nodes
        self.graph = Graph.from_edges(np.stack([source, target], axis=1), num_nodes=num_nodes)
        x = torch.from_numpy(rng.standard_normal((num_nodes, 100), dtype=np.float32))
        y = np.where(rng.random(num_nodes) < 0.1, rng.integers(3, size=num_nodes), -1)
        self.loader = EdgeLoader(x, y, self.graph, batch_size=512, sampling="edges")
        started = time.perf_counter()
        self.loader.prepare()
        self.setup = time.perf_counter() - started
        torch.manual_seed(0)
        self.network = FFNNModule(100, 3, hidden=(250, 100))
        self.steps = torch.optim.Adam(self.network.parameters(), fused=True)
        self.loss = NGMLoss(scaling="mean")

    def __call__(self) -> None:
        for batch in self.loader:
            self.steps.zero_grad()
            self.loss(self.network, batch).total.backward()
            self.steps.step()


if __name__ == "__main__":
    main()
