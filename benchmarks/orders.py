"""How often a node is run in an epoch, by how edges are cut into batches: the tables of docs/architecture.md.

Node orders (breadth-first, depth-first, reverse Cuthill-McKee, METIS parts) become edge orders by the position of
the lower-degree end, the first or the last end; the best of the three is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import bench
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, connected_components, depth_first_order, reverse_cuthill_mckee

from ngm import Graph, knn_graph
from ngm.datasets import load
from ngm.ordering import edge_blocks

Ids = NDArray[np.int64]
BATCH = 512
SIZES = (BATCH, 2048, 8192)


def main() -> None:
    options = bench.arguments(__doc__)
    edge_blocks(np.array([[0, 1], [2, 3]]), 4, seed=0, block=1)  # compiles
    runs: dict[str, dict[str, float]] = {}
    seconds: dict[str, float] = {}
    for name, graph in _graphs().items():
        edges, n = graph.edges.numpy(), graph.num_nodes
        for method, order in _orders(graph).items():
            started = time.perf_counter()
            candidates = order()
            seconds[f"{name}, {method}"] = time.perf_counter() - started
            runs.setdefault(method, {})[name] = round(min(_runs(edges, o) for o in candidates) / _touched(edges), 2)
        for size in SIZES:
            method = "blocks" if size == BATCH else f"blocks of {size:,}"
            started = time.perf_counter()
            blocks = edge_blocks(edges, n, seed=0, block=size)
            seconds[f"{name}, {method}"] = time.perf_counter() - started
            ends = sum(len(np.unique(edges[blocks[i]])) for i in range(len(blocks)))
            runs.setdefault(method, {})[name] = round(ends / _touched(edges), 3)
    ratios = {f"{g}, best other over blocks": _best_other(runs, g) for g in runs["blocks"]}
    bench.report("orders", ratios, seconds, options, runs_per_node=runs)


def _graphs() -> dict[str, Graph]:
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((200, 20))
    points = centers[rng.integers(200, size=20_000)] + 0.5 * rng.standard_normal((20_000, 20))
    random = Graph.from_edges(rng.integers(50_000, size=(150_000, 2)), num_nodes=50_000)
    cited = {name: load(name).graph for name in ("pubmed", "cora", "citeseer", "blogcatalog")}
    given = {name: graph for name, graph in cited.items() if graph is not None}
    return given | {"digits": knn_graph(load("digits").x, k=5), "knn 20k": knn_graph(points, k=5), "random 50k": random}


def _orders(graph: Graph) -> dict[str, Callable[[], list[Ids]]]:
    """Methods, each giving the edge orders to choose from."""
    edges, n, degree = graph.edges.numpy(), graph.num_nodes, graph.degree.numpy()
    adjacency = sp.csr_matrix(graph.to_scipy())
    lower = np.where(degree[edges[:, 0]] <= degree[edges[:, 1]], 0, 1)

    def by_nodes(node_order: Ids) -> list[Ids]:
        position = np.empty(n, dtype=np.int64)
        position[node_order] = np.arange(n)
        ends = position[edges]
        first, last, low = ends.min(axis=1), ends.max(axis=1), ends[np.arange(len(ends)), lower]
        return [np.lexsort((ends.sum(axis=1), key)) for key in (first, last, low)]

    return {
        "random": lambda: [np.random.default_rng(1).permutation(len(edges))],
        "breadth-first": lambda: by_nodes(_walk(adjacency, breadth_first_order)),
        "depth-first": lambda: by_nodes(_walk(adjacency, depth_first_order)),
        "cuthill-mckee": lambda: by_nodes(reverse_cuthill_mckee(adjacency, symmetric_mode=True)),
        "metis": lambda: by_nodes(_metis(adjacency, len(edges) // BATCH)),
    }


def _walk(adjacency: sp.csr_matrix, walk: Callable[..., Ids]) -> Ids:
    """One walk over all components, from an extra node that is joined to each."""
    n = adjacency.shape[0]
    _, component = connected_components(adjacency)
    root = np.unique(component, return_index=True)[1]
    last = sp.csr_matrix((np.ones(len(root)), (np.zeros(len(root), int), root)), shape=(1, n))
    joined = sp.bmat([[adjacency, None], [last, sp.csr_matrix((1, 1))]], format="csr")
    order: Ids = walk(joined, n, directed=False, return_predecessors=False).astype(np.int64)
    kept: Ids = order[order != n]
    return kept


def _metis(adjacency: sp.csr_matrix, parts: int) -> Ids:
    import pymetis

    neighbors = pymetis.CSRAdjacency(adj_starts=adjacency.indptr.tolist(), adjacent=adjacency.indices.tolist())
    _, part = pymetis.part_graph(max(parts, 2), adjacency=neighbors)
    return np.argsort(np.asarray(part, dtype=np.int64), kind="stable")


def _runs(edges: Ids, order: Ids) -> int:
    return sum(len(np.unique(edges[order[i : i + BATCH]])) for i in range(0, len(order), BATCH))


def _touched(edges: Ids) -> int:
    return len(np.unique(edges))


def _best_other(runs: dict[str, dict[str, float]], graph: str) -> float:
    return min(row[graph] for method, row in runs.items() if not method.startswith("blocks")) / runs["blocks"][graph]


if __name__ == "__main__":
    main()
