"""Walks of pecanpy, fastnode2vec and PyG, timed in environments of their own: `python walks_peers.py job.npz PEER ...`.

The job holds a graph and settings; what comes out is one JSON object of steps per second. Peers are given every
advantage: what they do before the first step (pecanpy compiles again in every call) is taken off by timing a call of
hardly any steps, pecanpy does not turn its arrays into lists of names, and reading the graph does not count.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp


def seconds(job: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        job()
        best = min(best, time.perf_counter() - started)
    return best


def pecanpy(graph: sp.csr_matrix, p: float, q: float, length: int, walks: int, repeats: int) -> float:
    from pecanpy import pecanpy as modes  # type: ignore[import-not-found]

    first = p == q == 1
    alike = bool((graph.data == graph.data[0]).all())
    mode = modes.SparseOTF if not first else modes.FirstOrderUnweighted if alike else modes.PreCompFirstOrder
    walker = mode(p=p, q=q, random_state=0)
    walker.indptr, walker.indices = graph.indptr.astype(np.uint64), graph.indices.astype(np.uint32)
    walker.data = graph.data.astype(np.float32)
    walker.set_node_ids([str(node) for node in range(graph.shape[0])])
    walker._map_walk = lambda walk: walk
    walker.simulate_walks(1, 2)
    before = seconds(lambda: walker.simulate_walks(1, 2), repeats)
    steps = float(graph.shape[0] * (walks * length - 2))
    return steps / max(seconds(lambda: walker.simulate_walks(walks, length), repeats) - before, 1e-9)


def fastnode2vec(graph: sp.csr_matrix, p: float, q: float, length: int, walks: int, repeats: int) -> float:
    from fastnode2vec import Graph  # type: ignore[import-not-found]

    alike = bool((graph.data == graph.data[0]).all())
    joined = np.flatnonzero(np.diff(graph.indptr))  # it knows nodes by their edges only
    graph = graph[joined][:, joined]
    upper = sp.triu(graph).tocoo()
    ends = zip(upper.row.tolist(), upper.col.tolist(), strict=True)
    triples = [(u, v, w) for (u, v), w in zip(ends, upper.data.tolist(), strict=True)]
    walker = Graph([t[:2] for t in triples] if alike else triples, directed=False, weighted=not alike)
    starts = list(range(len(joined))) * walks

    def job() -> None:
        for start in starts:
            walker.generate_random_walk(length + 1, p, q, start)

    walker.generate_random_walk(3, p, q, starts[0])
    return len(starts) * length / seconds(job, repeats)


def pyg(graph: sp.csr_matrix, p: float, q: float, length: int, walks: int, repeats: int) -> float:
    """torch-cluster's walks, which `torch_geometric.nn.Node2Vec` is made of where pyg-lib is not there."""
    import torch

    offsets, neighbors = (torch.from_numpy(part.astype(np.int64)) for part in (graph.indptr, graph.indices))
    starts = torch.arange(graph.shape[0]).repeat(walks)

    def job() -> None:
        torch.ops.torch_cluster.random_walk(offsets, neighbors, starts, length, p, q)

    torch.ops.torch_cluster.random_walk(offsets, neighbors, starts[:10], 2, p, q)
    return len(starts) * length / seconds(job, repeats)


PEERS = {"pecanpy": pecanpy, "fastnode2vec": fastnode2vec, "PyG": pyg}


def main() -> None:
    job, names = np.load(sys.argv[1]), sys.argv[2:]
    length, walks, repeats = (int(n) for n in job["sizes"])
    n = len(job["offsets"]) - 1
    graph = sp.csr_matrix((job["weight"], job["neighbors"], job["offsets"]), shape=(n, n))
    if "PyG" in names:
        try:
            import torch_cluster  # type: ignore[import-not-found]  # noqa: F401
        except ImportError:
            names.remove("PyG")
        if bool((graph.data != graph.data[0]).any()):
            names = [name for name in names if name != "PyG"]  # it knows no weights
    found = {
        name: {f"{p:g},{q:g}": PEERS[name](graph, p, q, length, walks, repeats) for p, q in job["biases"].tolist()}
        for name in names
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
