"""The figures of `structure` for a graph in parts: counts are added up, and the few largest of all are gathered."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.build.knn import FLOOR
from ngm.diagnosis.part_components import PartComponents
from ngm.diagnosis.records import Bin, Place, Shape, Weights
from ngm.diagnosis.structure import HOPS, histogram
from ngm.distributed import gather_rows, max_over_ranks, sum_over_ranks
from ngm.partition.border import Border
from ngm.partition.local_part import LocalPart

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
_HUBS, _PLACES = 5, 3
_LEVELS = 64  # binary digits of a degree, at most
_FLOAT_BITS = 31  # of a float32 from 0 up: as whole numbers they are in the same order


def part_shape(part: LocalPart, border: Border, labeled: Mask, components: PartComponents) -> Shape:
    """See `Shape`; all processes make theirs together.

    Args:
        part: What this process has, without edges of weight 0.
        border: Of the part.
        labeled: (num_own,) mask.
        components: Of its own nodes.
    """
    nodes = part.nodes[: part.num_own]
    degree = border.add(part.graph.degree).numpy()
    alone = degree == 0
    isolated_seeds = np.sort(_gathered(np.sort(nodes[alone & labeled])[:_HUBS]))
    sizes, seeds = components.sums(np.ones(len(nodes))), components.sums(labeled)
    nontrivial = sizes > 1
    unseeded = nontrivial & (seeds == 0)
    counts = [nontrivial & components.counted, unseeded & components.counted]
    missed = int(sizes[counts[1]].sum())
    totals = _total(np.array([alone.sum(), (alone & labeled).sum(), *(c.sum() for c in counts), missed]))
    return Shape(
        isolated=int(totals[0]),
        isolated_seeds=int(totals[1]),
        isolated_seed_rows=tuple(isolated_seeds[:_HUBS].tolist()),
        components=int(totals[2]),
        largest=_largest(int(sizes[nontrivial].max(initial=0))),
        unseeded=int(totals[3]),
        unseeded_nodes=int(totals[4]),
        unseeded_places=_unseeded_places(components, np.where(unseeded, sizes, 0), nodes, degree),
        within_hops=_within_hops(part, border, labeled),
        degrees=_histogram(degree),
        hubs=tuple(Place(int(row), int(edges)) for edges, row in _most(degree, nodes, _HUBS) if edges),
        hub_share=_hub_share(part, border, degree),
        weights=_weights(part.graph.weight.numpy()),
    )


def _total(values: Ids) -> Ids:
    return cast(Ids, sum_over_ranks(torch.from_numpy(values)).numpy())


def _largest(value: int) -> int:
    return int(max_over_ranks(torch.tensor([value]))[0])


def _gathered(rows: Ids) -> Ids:
    return cast(Ids, gather_rows(torch.from_numpy(np.ascontiguousarray(rows))).numpy())


def _most(values: Ids, rows: Ids, count: int) -> list[list[int]]:
    """[value, row] of the largest values of all processes, largest first; of equal ones, the smallest row first."""
    best = np.lexsort((rows, -values))[:count]
    found = np.unique(_gathered(np.stack([values[best], rows[best]], axis=1)), axis=0)
    order = np.lexsort((found[:, 1], -found[:, 0]))[:count]
    return cast("list[list[int]]", found[order].tolist())


def _unseeded_places(components: PartComponents, sizes: Ids, nodes: Ids, degree: Ids) -> tuple[Place, ...]:
    """Of the largest three components without a seed, the node of most edges and the number of nodes.

    Args:
        components: Of the own nodes.
        sizes: (count,) nodes of each component, 0 of those with a seed.
        nodes: (num_own,) global ids.
        degree: (num_own,) edges.
    """
    first = components.first_nodes(nodes)
    places = []
    for size, name in _most(sizes, first, _PLACES):
        if size:
            members = first[components.component] == name
            places.append(Place(_most(degree[members], nodes[members], 1)[0][1], size))
    return tuple(places)


def _within_hops(part: LocalPart, border: Border, labeled: Mask) -> tuple[float, float, float]:
    """Share of the unlabelled nodes within 1, 2 and 3 hops of a seed; 0 where every node is labelled."""
    u, v = part.graph.edges.numpy().T
    reached, shares = torch.from_numpy(labeled), []
    unlabeled = max(int(_total(np.array([(~labeled).sum()]))[0]), 1)
    for _ in range(HOPS):
        before = border.fetch(reached.to(torch.int32)).numpy() > 0
        after = before.copy()
        after[v[before[u]]] = True
        after[u[before[v]]] = True
        reached = border.add(torch.from_numpy(after.astype(np.int32))) > 0
        shares.append(float(_total(np.array([(reached.numpy() & ~labeled).sum()]))[0] / unlabeled))
    return shares[0], shares[1], shares[2]


def _histogram(degree: Ids) -> tuple[Bin, ...]:
    """Nodes by degree, up to the largest degree of all processes."""
    counts = np.zeros(_LEVELS, dtype=np.int64)
    own = histogram(degree)
    counts[: len(own)] = [level.nodes for level in own]
    levels = histogram(np.array([_largest(int(degree.max(initial=0)))]))
    return tuple(Bin(level.low, level.high, int(count)) for level, count in zip(levels, _total(counts), strict=False))


def _hub_share(part: LocalPart, border: Border, degree: Ids) -> float:
    """Share of edges with an end among the 1 % of nodes (at least one) with most edges."""
    num_edges = int(_total(np.array([part.graph.num_edges]))[0])
    if not num_edges:
        return 0.0
    nodes, count = part.nodes[: part.num_own], max(1, part.header.num_nodes // 100)
    values, nodes_of = np.unique(degree, return_counts=True)
    known = _gathered(np.stack([values, nodes_of], axis=1))
    known = known[np.argsort(-known[:, 0], kind="stable")]
    last = known[np.searchsorted(np.cumsum(known[:, 1]), count), 0]  # the degree at which the hubs end
    above = int(known[known[:, 0] > last, 1].sum())
    tied = np.sort(nodes[degree == last])[: count - above]
    hub = (degree > last) | np.isin(nodes, np.sort(_gathered(tied))[: count - above])
    at_ends = border.fetch(torch.from_numpy(hub.astype(np.int32))).numpy()[part.graph.edges.numpy()] > 0
    return float(_total(np.array([at_ends.any(axis=1).sum()]))[0] / num_edges)


def _weights(weight: NDArray[np.float32]) -> Weights | None:
    """Of the edges of all processes."""
    bits = np.sort(weight).view(np.int32)  # weights are above 0
    num_edges = int(_total(np.array([len(bits)]))[0])
    if not num_edges:
        return None
    count = max(1, num_edges // 100)
    places = [0, (num_edges - 1) // 2, num_edges // 2, num_edges - count, num_edges - 1]
    low, below, above, cut, high = _order_statistics(bits, np.array(places))
    heavier = weight[weight > np.float32(cut)]
    own = [weight.sum(dtype=np.float64), heavier.sum(dtype=np.float64), (weight <= FLOOR * 1.001).sum(), len(heavier)]
    total, heavy, at_floor, num_heavier = sum_over_ranks(torch.tensor(own, dtype=torch.float64)).tolist()
    return Weights(
        low=low,
        median=float(np.float32((below + above) / 2)),
        high=high,
        at_floor=at_floor / num_edges,
        top_share=(heavy + (count - num_heavier) * cut) / total,
    )


def _order_statistics(bits: NDArray[np.int32], places: Ids) -> list[float]:
    """The numbers at some places among those of all processes in ascending order, by halving the range of their bits.

    Args:
        bits: Of the numbers of this process, ascending.
        places: (k,) from 0 on.
    """
    low, high = np.zeros_like(places), np.full_like(places, 2**_FLOAT_BITS - 1)
    for _ in range(_FLOAT_BITS):
        middle = (low + high) // 2
        enough = _total(np.searchsorted(bits, middle, "right")) > places
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    return cast("list[float]", low.astype(np.int32).view(np.float32).tolist())
