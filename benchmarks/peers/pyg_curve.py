"""Validation accuracy over seconds of PyTorch Geometric's GCN: `python pyg_curve.py DATA THREADS`.

Two layers of 16, dropout .5, Adam with a step of .01 and a weight decay of 5e-4, full batches, rows of sum 1, the
normalised adjacency computed once. The forward pass for the validation nodes is not timed.
"""

# mypy: ignore-errors

from __future__ import annotations

import sys
import time

import torch
from peer_data import read
from peer_worker import serve
from torch.nn.functional import cross_entropy
from torch_geometric import seed_everything
from torch_geometric.nn import GCN


def main() -> None:
    problem = read(sys.argv[1])
    torch.set_num_threads(int(sys.argv[2]))
    x = torch.from_numpy(problem.x)
    x = x / x.sum(dim=1, keepdim=True).clamp(min=1e-12)
    y, truth, nodes = (torch.from_numpy(part) for part in (problem.y, problem.truth, problem.validation))
    edges = torch.from_numpy(problem.edges.T.copy())
    edges = torch.cat([edges, edges.flip(0)], dim=1)

    def run(seed, epochs=None):
        seed_everything(seed)
        spent, curve = 0.0, []
        started = time.perf_counter()
        model = GCN(x.shape[1], 16, num_layers=2, out_channels=problem.outputs, dropout=0.5, cached=True)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
        for _ in range(epochs or 200):
            model.train()
            optimizer.zero_grad()
            cross_entropy(model(x, edges), y, ignore_index=-1).backward()
            optimizer.step()
            spent += time.perf_counter() - started
            with torch.no_grad():
                model.eval()
                right = model(x, edges)[nodes].argmax(dim=1) == truth[nodes]
            curve.append([spent, right.float().mean().item()])
            started = time.perf_counter()
        return {"curve": curve, "seconds": spent}

    serve({"run": run})


if __name__ == "__main__":
    main()
