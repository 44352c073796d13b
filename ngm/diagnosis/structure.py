"""The graph without its labels, and where the labels lie in it: degrees, components, hops, hubs, weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm.build.knn import FLOOR
from ngm.diagnosis.edge_figures import ordered_weight, share_at, sum_above, within_hops
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
    degree, hops = graph.degree.numpy(), within_hops(graph, labeled, HOPS)
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
        within_hops=(hops[0], hops[1], hops[2]),
        degrees=histogram(degree),
        hubs=tuple(Place(int(row), int(degree[row])) for row in largest_degree if degree[row]),
        hub_share=_hub_share(graph, degree),
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


def _hub_share(graph: Graph, degree: Ids) -> float:
    """Share of edges with an end among the 1 % of nodes (at least one) with most edges."""
    hub = np.zeros(len(degree), dtype=bool)
    hub[np.argsort(-degree, kind="stable")[: max(1, len(degree) // 100)]] = True
    return share_at(graph, hub)


def _weights(weight: NDArray[np.float32]) -> Weights | None:
    if not len(weight):
        return None
    count = len(weight)
    heaviest = max(1, count // 100)
    limit = ordered_weight(weight, count - heaviest)  # the least of the heaviest hundredth
    num_above, sum_of_above = sum_above(weight, limit)
    middle = (ordered_weight(weight, (count - 1) // 2) + ordered_weight(weight, count // 2)) / 2
    low, high = ordered_weight(weight, 0), ordered_weight(weight, count - 1)
    total = sum_above(weight, 0.0)[1]
    return Weights(
        low=low,
        median=middle,
        high=high,
        at_floor=1 - sum_above(weight, FLOOR * 1.001)[0] / count,
        top_share=(sum_of_above + (heaviest - num_above) * limit) / total if total else 0.0,
    )
