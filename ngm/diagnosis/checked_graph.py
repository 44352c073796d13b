"""A graph as checks look at it: whole in one process, or in parts of which each process has its own."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.diagnosis.edge_set import ALL_EDGES, EdgeSet
from ngm.diagnosis.records import Shape
from ngm.diagnosis.structure import shape
from ngm.graph import Graph
from ngm.propagation.coupling import Coupling, couple
from ngm.propagation.kernel import solve
from ngm.recipes.node_set import AllNodes, NodeSet

MU1, MU2, MU3 = 1.0, 0.5, 0.01  # those of LabelPropagation
TOLERANCE = 1e-4  # of label propagation
Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rows = TypeVar("Rows", bound="NDArray[np.generic] | sp.csr_array")


class CheckedGraph(Protocol):
    """What is asked of a graph; every process asks the same in the same order.

    Attributes:
        nodes: Where the n nodes are whose values a process has.
        edges: Where the edges are.
    """

    @property
    def nodes(self) -> NodeSet:
        """Where the nodes are."""

    @property
    def edges(self) -> EdgeSet:
        """Where the edges are."""

    def reached(self, labeled: Mask) -> Mask:
        """(n,) mask of the nodes in components with a label."""

    def spread(
        self, values: sp.csr_array, labeled: Mask, prior: NDArray[np.float32], mu3: float
    ) -> NDArray[np.float32]:
        """(n, C) of Eq. 2; `prior` is (C,) or (n, C)."""

    def sampled_ends(self) -> Ids:
        """(s, 2) ends of edges, all or a sample, by their places in `sampled_rows`."""

    def sampled_rows(self, rows: Rows) -> Rows:
        """Of (n, ...) rows, those of the nodes at sampled edges, the same in every process."""

    def shape(self, labeled: Mask) -> Shape:
        """Degrees, components, hops, hubs and weights."""


class WholeGraph:
    """A graph in one process; what is derived from it is made once.

    Args:
        graph: Direction aside.
    """

    edges: EdgeSet = ALL_EDGES

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.nodes: NodeSet = AllNodes(graph.num_nodes)

    @cached_property
    def _component(self) -> Ids:
        """(n,) component of each node."""
        return self._graph.components()[1].numpy() if self._graph.num_nodes else np.zeros(0, dtype=np.int64)

    @cached_property
    def _coupling(self) -> Coupling:
        return couple(self._graph, factor=2 * MU2)  # as if undirected: directions are ignored

    def reached(self, labeled: Mask) -> Mask:
        """(n,) mask of the nodes in components with a label."""
        has_seed = np.bincount(self._component, weights=labeled) > 0
        mask: Mask = has_seed[self._component]
        return mask

    def spread(
        self, values: sp.csr_array, labeled: Mask, prior: NDArray[np.float32], mu3: float
    ) -> NDArray[np.float32]:
        """(n, C) of Eq. 2; `prior` is (C,) or (n, C)."""
        equation = self._coupling.system(labeled, self.reached(labeled), MU1, mu3)
        anchor, start = equation.anchor_and_start(values, prior)
        solution = solve(
            equation.shares, anchor, start, solver="conjugate_gradient", tolerance=TOLERANCE, overwrite=True
        )
        result: NDArray[np.float32] = solution.values.clamp_(0, 1).numpy()
        return result

    def sampled_ends(self) -> Ids:
        """(m, 2) ends of all edges; who looks at them draws some."""
        ends: Ids = self._graph.edges.numpy()
        return ends

    def sampled_rows(self, rows: Rows) -> Rows:
        """The rows of all nodes."""
        return rows

    def shape(self, labeled: Mask) -> Shape:
        """Degrees, components, hops, hubs and weights."""
        return shape(self._graph, labeled, self._component)
