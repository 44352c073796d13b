"""An epoch of PyTorch Geometric's link loader with the same network and loss: `python pyg_epoch.py DATA THREADS`.

`LinkNeighborLoader` without neighbours, where torch-sparse could be built; and its parent `LinkLoader` with a sampler
that only looks up the distinct ends of the batch's edges. Sparse rows are tried as dense rows in `Data.x`, and fetched
as sparse rows by the ids of the batch. Each of these is a setting.
"""

# mypy: ignore-errors

from __future__ import annotations

import sys
import time
from itertools import pairwise

import numpy as np
import torch
from peer_data import read
from peer_worker import serve
from torch import nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, LinkNeighborLoader
from torch_geometric.sampler import BaseSampler, SamplerOutput


class Ends(BaseSampler):
    """The distinct ends of some edges and nothing around them."""

    edge_permutation = None

    def sample_from_nodes(self, index, **kwargs):
        """Not for nodes."""
        raise NotImplementedError

    def sample_from_edges(self, index, neg_sampling=None):
        """See BaseSampler."""
        node, place = torch.stack([index.row, index.col]).unique(return_inverse=True)
        none = torch.empty(0, dtype=torch.long)
        return SamplerOutput(node, none, none, none, metadata=(index.input_id, place, None, None))


class Network(nn.Module):
    """Linear layers with ReLU; h is what the last of them gives before the output."""

    def __init__(self, widths, outputs):
        super().__init__()
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.output = nn.Linear(widths[-1], outputs)

    def forward(self, x):
        """(b, d), dense or CSR, to h and logits."""
        for layer in self.hidden:
            sparse = x.layout == torch.sparse_csr
            x = F.relu(torch.sparse.mm(x, layer.weight.t()) + layer.bias if sparse else layer(x))
        return x, self.output(x)


def main() -> None:
    problem, threads = read(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(threads)
    y, labeled = torch.from_numpy(problem.y), torch.from_numpy(problem.labeled)
    share = labeled / torch.from_numpy(problem.degree) / labeled.sum()
    edges = torch.from_numpy(problem.edges.T.copy())
    count = np.bincount((~problem.labeled[problem.edges]).sum(axis=1), minlength=3)
    of_kind = torch.from_numpy(problem.alpha / np.maximum(count, 1)).float()
    several = y.ndim == 2
    current = {}

    def rows_of(nodes):
        part = problem.x[nodes.numpy()]
        parts = (torch.from_numpy(array) for array in (part.indptr, part.indices, part.data))
        return torch.sparse_csr_tensor(*parts, part.shape, check_invariants=False)

    def prepare(settings: str):
        torch.manual_seed(0)
        loader, form = settings.split(", ")
        if form == "sparse" and not problem.sparse:
            raise ValueError("rows are dense")
        data = Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=y, num_nodes=len(y), share=share)
        data.labeled = labeled
        if form == "dense":
            data.x = torch.from_numpy(problem.x.toarray() if problem.sparse else problem.x)
        options = {"edge_label_index": edges, "batch_size": problem.batch, "shuffle": True}
        if loader == "LinkNeighborLoader":
            current["loader"] = LinkNeighborLoader(data, num_neighbors=[0], **options)
        else:
            current["loader"] = LinkLoader(data, Ends(), **options)
        current["network"] = Network([problem.x.shape[1], *problem.hidden], problem.outputs)
        current["optimizer"] = torch.optim.Adam(current["network"].parameters(), fused=True)
        current["form"] = form
        found = epoch()
        return {"seconds": epoch()["seconds"], "edges": found["edges"]}

    def cost_of(batch):
        h, logits = current["network"](batch.x if current["form"] == "dense" else rows_of(batch.n_id))
        u, v = batch.edge_label_index
        kind = (~batch.labeled[batch.edge_label_index]).sum(dim=0)
        cost = (of_kind[kind] * torch.linalg.vector_norm(h[u] - h[v], dim=1)).sum()
        chosen = batch.labeled.nonzero()[:, 0]
        times = torch.bincount(batch.edge_label_index.flatten(), minlength=len(batch.labeled))[chosen]
        if several:
            each = F.binary_cross_entropy_with_logits(logits[chosen], batch.y[chosen], reduction="none").sum(dim=1)
        else:
            each = F.cross_entropy(logits[chosen], batch.y[chosen], reduction="none")
        return cost + (each * times * batch.share[chosen]).sum()

    def epoch():
        runs = 0
        started = time.perf_counter()
        for batch in current["loader"]:
            current["optimizer"].zero_grad()
            (cost_of(batch) * len(current["loader"])).backward()
            current["optimizer"].step()
            runs += len(batch.n_id)
        seconds = time.perf_counter() - started
        return {"seconds": seconds, "edges": edges.shape[1], "runs": runs, "steps": len(current["loader"])}

    serve({"prepare": prepare, "epoch": epoch})


if __name__ == "__main__":
    main()
