"""The graph without its labels, and where the labels lie in it: degrees, components, hops, hubs, weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm.build.knn import FLOOR
from ngm.diagnosis.intervals import Ids
from ngm.diagnosis.records import Bin, Place, Shape, Weights
from ngm.graph import Graph

HOPS = 3


def shape(graph: Graph, labeled: NDArray[np.bool_], component: Ids) -> Shape:
    """See `Shape`.

    Args:
        graph: The graph.
        labeled: (n,) mask.
        component: (n,) component of each node, from `Graph.components`.
    """
    degree, edges = graph.degree.numpy(), graph.edges.numpy()
    isolated_seeds = np.flatnonzero((degree == 0) & labeled)
    sizes = np.bincount(component)
    nontrivial = sizes > 1
    unseeded = nontrivial & (np.bincount(component, weights=labeled) == 0)
    largest_degree = np.argsort(-degree, kind="stable")[:5]
    return Shape(
        isolated=int((degree == 0).sum()),
        isolated_seeds=len(isolated_seeds),
        isolated_seed_rows=tuple(isolated_seeds[:5].tolist()),
        components=int(nontrivial.sum()),
        largest=int(sizes[nontrivial].max(initial=0)),
        unseeded=int(unseeded.sum()),
        unseeded_nodes=int(sizes[unseeded].sum()),
        unseeded_places=_unseeded_places(unseeded, sizes, component, degree),
        within_hops=_within_hops(edges, labeled),
        degrees=histogram(degree),
        hubs=tuple(Place(int(row), int(degree[row])) for row in largest_degree if degree[row]),
        hub_share=_hub_share(edges, degree),
        weights=_weights(graph.weight.numpy()),
    )


def histogram(degree: Ids) -> tuple[Bin, ...]:
    """Nodes by degree: 0, 1, 2 to 3, 4 to 7, and so on, up to the largest degree.

    >>> [(b.low, b.high, b.nodes) for b in histogram(np.array([0, 1, 1, 3, 5]))]
    [(0, 0, 1), (1, 1, 2), (2, 3, 1), (4, 7, 1)]
    """
    level = np.zeros(len(degree), dtype=np.int64)
    positive = degree > 0
    level[positive] = np.frexp(degree[positive].astype(np.float64))[1]  # number of binary digits
    counts = np.bincount(level, minlength=1)
    bounds = [(0, 0)] + [(2 ** (i - 1), 2**i - 1) for i in range(1, len(counts))]
    return tuple(Bin(low, high, int(count)) for (low, high), count in zip(bounds, counts, strict=True))


def _unseeded_places(unseeded: NDArray[np.bool_], sizes: Ids, component: Ids, degree: Ids) -> tuple[Place, ...]:
    """Of the largest three components without a seed, the node of most edges and the number of nodes."""
    largest = np.flatnonzero(unseeded)[np.argsort(-sizes[unseeded], kind="stable")[:3]]
    members = [np.flatnonzero(component == c) for c in largest]
    return tuple(Place(int(rows[np.argmax(degree[rows])]), len(rows)) for rows in members)


def _within_hops(edges: Ids, labeled: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Share of the unlabelled nodes within 1, 2 and 3 hops of a seed; 0 where every node is labelled."""
    reached, fractions = labeled.copy(), []
    unlabeled = max(int((~labeled).sum()), 1)
    u, v = edges[:, 0], edges[:, 1]
    for _ in range(HOPS):
        previous = reached.copy()
        reached[v[previous[u]]] = True
        reached[u[previous[v]]] = True
        fractions.append(float((reached & ~labeled).sum() / unlabeled))
    return fractions[0], fractions[1], fractions[2]


def _hub_share(edges: Ids, degree: Ids) -> float:
    """Share of edges with an end among the 1 % of nodes (at least one) with most edges."""
    if not len(edges):
        return 0.0
    count = max(1, len(degree) // 100)
    hub = np.zeros(len(degree), dtype=bool)
    hub[np.argsort(-degree, kind="stable")[:count]] = True
    return float(hub[edges].any(axis=1).mean())


def _weights(weight: NDArray[np.float32]) -> Weights | None:
    if not len(weight):
        return None
    count = max(1, len(weight) // 100)
    heaviest = np.partition(weight, len(weight) - count)[-count:]
    total = float(weight.sum(dtype=np.float64))
    with np.errstate(over="ignore"):
        median = float(np.median(weight))
    return Weights(
        low=float(weight.min()),
        median=median if np.isfinite(median) else float(np.median(weight.astype(np.float64))),
        high=float(weight.max()),
        at_floor=float((weight <= FLOOR * 1.001).mean()),
        top_share=float(heaviest.sum(dtype=np.float64)) / total if total else 0.0,
    )
