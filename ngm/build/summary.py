"""Summary of a graph: counts, degrees and components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngm.graph import Graph


@dataclass(frozen=True)
class DegreeRange:
    """Nodes whose degree lies between `low` and `high`, both counted in."""

    low: int
    high: int
    nodes: int

    @property
    def name(self) -> str:
        """`4 to 7`, or `1` where both ends are the same."""
        return str(self.low) if self.low == self.high else f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True)
class Summary:
    """A graph in numbers.

    Args:
        nodes: Number of nodes.
        edges: Number of edges; an undirected one counts once.
        directed: Whether edges have a direction.
        degrees: How many nodes have how many edges, in steps that double.
        mean_degree: Edges at a node, on average.
        median_degree: Median number of edges at a node.
        max_degree: Edges at the node that has most.
        isolated: Nodes without an edge.
        components: Connected parts, direction ignored; an isolated node is one.
        largest: Nodes in the largest of them.
        weights: Smallest, median and largest weight; None where there are no edges.
        recall: Share of the true neighbors that were found, where neighbors were searched; 1 where exact.
        seconds: Time it took to build.
        sampled: Rows on which recall was estimated; 0 where the search was exact.
    """

    nodes: int
    edges: int
    directed: bool
    degrees: tuple[DegreeRange, ...]
    mean_degree: float
    median_degree: float
    max_degree: int
    isolated: int
    components: int
    largest: int
    weights: tuple[float, float, float] | None
    recall: float | None = None
    seconds: float | None = None
    sampled: int = 0


def summarize(graph: Graph, recall: float | None = None, seconds: float | None = None, sampled: int = 0) -> Summary:
    """Counts what a graph has.

    Args:
        graph: Any graph.
        recall: Passed on.
        seconds: Passed on.
        sampled: Passed on.

    >>> found = summarize(Graph.from_edges([[0, 1], [1, 2]], num_nodes=4))
    >>> found.components, found.isolated, [(bar.name, bar.nodes) for bar in found.degrees]
    (2, 1, [('0', 1), ('1', 2), ('2 to 3', 1)])
    """
    degree = graph.degree.numpy()
    components, member = graph.components()
    weight = graph.weight.numpy()
    return Summary(
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        directed=graph.directed,
        degrees=_histogram(degree),
        mean_degree=float(degree.mean()) if len(degree) else 0.0,
        median_degree=float(np.median(degree)) if len(degree) else 0.0,
        max_degree=int(degree.max(initial=0)),
        isolated=int((degree == 0).sum()),
        components=components,
        largest=int(np.bincount(member.numpy()).max(initial=0)),
        weights=(float(weight.min()), float(np.median(weight)), float(weight.max())) if len(weight) else None,
        recall=recall,
        seconds=seconds,
        sampled=sampled,
    )


def _histogram(degree: NDArray[np.int64]) -> tuple[DegreeRange, ...]:
    """Nodes by degree 0, 1, 2 to 3, 4 to 7, 8 to 15, ..., up to the largest."""
    if not len(degree):
        return ()
    bits = np.frexp(degree)[1]  # 0 for 0, else the number of binary digits
    counts = np.bincount(bits).tolist()
    return tuple(DegreeRange(2**b // 2, 2**b - 1, nodes) for b, nodes in enumerate(counts))
