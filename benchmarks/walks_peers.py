"""Walks of pecanpy and fastnode2vec, timed in an environment of their own: `python walks_peers.py job.npz`.

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
    upper = sp.triu(graph).tocoo()
    ends = zip(upper.row.tolist(), upper.col.tolist(), strict=True)
    triples = [(u, v, w) for (u, v), w in zip(ends, upper.data.tolist(), strict=True)]
    walker = Graph([t[:2] for t in triples] if alike else triples, directed=False, weighted=not alike)
    starts = np.flatnonzero(np.diff(graph.indptr)).tolist() * walks

    def job() -> None:
        for start in starts:
            walker.generate_random_walk(length + 1, p, q, start)

    walker.generate_random_walk(3, p, q, starts[0])
    return len(starts) * length / seconds(job, repeats)


def main() -> None:
    job = np.load(sys.argv[1])
    length, walks, repeats = (int(n) for n in job["sizes"])
    n = len(job["offsets"]) - 1
    graph = sp.csr_matrix((job["weight"], job["neighbors"], job["offsets"]), shape=(n, n))
    found = {
        name: {f"{p:g},{q:g}": peer(graph, p, q, length, walks, repeats) for p, q in job["biases"].tolist()}
        for name, peer in {"pecanpy": pecanpy, "fastnode2vec": fastnode2vec}.items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
