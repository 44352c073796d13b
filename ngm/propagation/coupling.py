"""How the nodes of a graph pull at each other, whatever the labels are: a matrix or, for large graphs, compact rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm import graph as graphs
from ngm.choices import Influence
from ngm.graph import Graph
from ngm.propagation.compact_rows import CompactRows, CompactShares, compact_rows
from ngm.propagation.kernel import SAFE_WEIGHTS, pull
from ngm.propagation.seeds import PropagationSystem, divide_pulls, reached_by, system

Mask = NDArray[np.bool_]
_WEIGHTS_AT_ONCE = 1 << 20


class Coupling(Protocol):
    """Pulls of neighbours, made once for several sets of labels."""

    def reached(self, labeled: Mask) -> Mask:
        """(n,) mask of the nodes to which some label can find its way."""

    def system(self, labeled: Mask, reached: Mask, mu1: float, mu3: float) -> PropagationSystem:
        """Eq. 2 with these labels; see `ngm.propagation.seeds.system`."""


def couple(graph: Graph, influence: Influence = "both", factor: float = 1.0) -> Coupling:
    """The coupling of a graph.

    Args:
        graph: Weighted, directed or not.
        influence: On directed graphs, which end pulls the other: "source", "target" or "both".
        factor: That all weights are multiplied by.
    """
    if influence not in get_args(Influence):
        raise ValueError(f"influence is {influence!r}; choose 'both', 'source' or 'target'")
    if graph.num_edges <= graphs.LARGE_EDGES:
        weight = pull(graph, influence, factor)
        weight.data = weight.data * weight.dtype.type(factor)
        return MatrixCoupling(weight)
    return CompactCoupling(graph, influence, compact_rows(graph, influence), factor)


@dataclass(frozen=True, eq=False)
class MatrixCoupling:
    """A matrix.

    Args:
        weight: (n, n) pull of each node (column) on each (row).
    """

    weight: sp.csr_array

    def reached(self, labeled: Mask) -> Mask:
        """See `Coupling`."""
        return reached_by(labeled, self.weight)

    def system(self, labeled: Mask, reached: Mask, mu1: float, mu3: float) -> PropagationSystem:
        """See `Coupling`."""
        return system(self.weight, labeled, reached, mu1, mu3)


@dataclass(frozen=True, eq=False)
class CompactCoupling:
    """Compact rows.

    Args:
        graph: That they are of.
        influence: Which end of a directed edge pulls the other.
        rows: Weights of the graph.
        factor: That these are multiplied by.
    """

    graph: Graph
    influence: Influence
    rows: CompactRows
    factor: float

    def reached(self, labeled: Mask) -> Mask:
        """By components or, where edges pull one way, by breadth-first search."""
        from ngm._components import connected_components, visit  # loads numba

        if not self.graph.directed or self.influence == "both":
            edges, weight = self.graph.edges.numpy(), self.graph.weight.numpy()
            count, component = connected_components(edges, weight, len(labeled), least=0.0)
            with_label = np.bincount(component[labeled], minlength=count) > 0
            mask: Mask = with_label[component]
            return mask
        flow = compact_rows(self.graph, "source" if self.influence == "target" else "target")  # along the pull
        mask = labeled.copy()
        visit(flow.start, flow.column, flow.weight, mask)
        return mask

    def system(self, labeled: Mask, reached: Mask, mu1: float, mu3: float) -> PropagationSystem:
        """The rows are those of all systems; each has factors of its own."""
        safe = _are_safe(self.graph.weight.numpy(), self.factor)
        dtype: np.dtype[np.floating] = np.dtype(np.float32) if safe else np.dtype(np.float64)
        pulls = divide_pulls(self.factor * self.rows.sums(), labeled, reached, mu1, mu3, dtype)
        return PropagationSystem(CompactShares(self.rows, self.factor * pulls.inverse, pulls.total), pulls)


def _are_safe(weight: NDArray[np.float32], factor: float) -> bool:
    """Whether all positive weights, and these times `factor`, are within `SAFE_WEIGHTS`."""
    low, high = np.inf, 0.0
    for at in range(0, len(weight), _WEIGHTS_AT_ONCE):
        part = weight[at : at + _WEIGHTS_AT_ONCE]
        positive = part[part > 0]
        if len(positive):
            low, high = min(low, float(positive.min())), max(high, float(positive.max()))
    return SAFE_WEIGHTS[0] <= low * min(factor, 1.0) and high * max(factor, 1.0) <= SAFE_WEIGHTS[1]
