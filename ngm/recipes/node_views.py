"""What teachers look at: rows on one scale, the same rows averaged over neighbourhoods, and the graphs themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from ngm.build.knn import knn_graph
from ngm.choices import Metric
from ngm.graph import Graph
from ngm.networks.input_scaling import ScalingName, Table, choose_input_scaling, column_scale, stored_by_density
from ngm.propagation.kernel import JacobiSteps, Shares, hop, walk_shares
from ngm.recipes.assortativity import prediction_assortativity
from ngm.recipes.folds import ExpectedMasks
from ngm.recipes.node_set import AllNodes, NodeSet
from ngm.recipes.row_components import MAX_FITTED_ROWS, REDUCED_COLUMNS, principal_components, reduced_rows, with_kernel

Floats: TypeAlias = NDArray[np.float32]
Features: TypeAlias = "Floats | sp.csr_array"
RESTART = 0.25  # chance that a random walk stops before each step
HOPS = 10  # steps of a walk, at most
MIN_COMPONENTS = 16  # principal components that few labels are compared by
FEW_COLUMNS = 16  # up to which the length of a row tells as much as its direction
NEIGHBORS = 10  # of a node in the graph of nodes that are alike
MAX_JOINED_ROWS = 200_000  # rows beyond which no such graph is made
_ROWS_AT_ONCE = 65_536
_ENTRIES_AT_ONCE = 1 << 25  # of all rows


def scaled_features(
    x: Table, scaling: ScalingName | None = None, scale: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
) -> Features:
    """Rows on one scale, so that one penalty suits linear models of any data.

    Args:
        x: (n, d).
        scaling: As the network has it; by the kind of x where None. Standardised rows are also divided by the root of
            d, which gives them a length of about 1.
        scale: ((d,) mean, (d,) deviation) of the columns, where x is but a part of the rows; rows are then stored as
            they are.

    Returns:
        (n, d); sparse where few entries are other than 0 and rows are not standardised.
    """
    chosen = scaling or choose_input_scaling(x)
    if chosen == "standardize":
        mean, deviation = column_scale(x) if scale is None else scale
        length = deviation * np.sqrt(max(x.shape[1], 1))
        scaled = np.empty(x.shape, dtype=np.float32)
        for at in _row_blocks(x.shape[0]):  # in float64, of which a whole copy would be twice as large as x
            part = cast(sp.csr_array, x[at]).toarray() if sp.issparse(x) else x[at]
            scaled[at] = (np.asarray(part, dtype=np.float32) - mean) / length
        return scaled
    stored = stored_by_density(x) if scale is None else x
    rows = sp.csr_array(stored, dtype=np.float32) if sp.issparse(stored) else np.asarray(stored, dtype=np.float32)
    return normalize(rows) if chosen == "unit_rows" else rows


class Operators(Protocol):
    """A graph as teachers use it, over the nodes of one process or of several."""

    def spread(self, seeds: Floats, share: float, steps: int) -> Floats:
        """See `spread_seeds`."""

    def mean_around(self, values: Floats) -> Floats:
        """(n, c) mean over each node and its neighbours."""

    def smoothed(self, values: NDArray[np.floating]) -> Floats:
        """(n, c) values averaged over random walks from each node."""

    def assortativity(self, proba: Floats) -> float:
        """See `prediction_assortativity`."""


class GraphOperators:
    """The matrices that teachers multiply by, each made once.

    Args:
        graph: Direction aside.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def walk(self) -> Shares:
        """One step of a random walk with self loops."""
        return walk_shares(self.graph)

    def spread(self, seeds: Floats, share: float, steps: int) -> Floats:
        """See `spread_seeds`."""
        return spread_seeds(self.walk, seeds, share, steps)

    def mean_around(self, values: Floats) -> Floats:
        """(n, c) mean over each node and its neighbours."""
        return cast(Floats, (self.walk @ torch.from_numpy(values)).numpy())

    def smoothed(self, values: NDArray[np.floating]) -> Floats:
        """(n, c) values averaged over random walks from each node."""
        return walk_means(self.walk, values)

    def assortativity(self, proba: Floats) -> float:
        """See `prediction_assortativity`."""
        return prediction_assortativity(self.graph, proba)


def walk_means(walk: JacobiSteps, values: NDArray[np.floating]) -> Floats:
    """(n, c) values averaged over random walks from each node.

    Args:
        walk: A step.
        values: (n, c).
    """
    start = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
    return cast(Floats, hop(walk, start, RESTART, HOPS).numpy())


def spread_seeds(walk: JacobiSteps, seeds: Floats, share: float, steps: int) -> Floats:
    """(n, c) z after steps of z = share S z + (1 - share) seeds, where S = D^-1/2 (A + I) D^-1/2, from z = seeds on.

    D^-1/2 z takes the same steps by those of a random walk, D^-1 (A + I), so that S needs no matrix of its own.

    Args:
        walk: A step of it.
        seeds: (n, c).
        share: That a node takes from its neighbours.
        steps: How many.
    """
    root = walk.total.to(torch.float64).sqrt().to(torch.float32)[:, None]
    own = torch.from_numpy(seeds) / root
    z = own
    for _ in range(steps):
        z = (walk @ z).mul_(share).add_(own, alpha=1 - share)
    return cast(Floats, (z * root).numpy())


class NodeViews:
    """Views of the same nodes, and graphs over them; what is derived from both is made once and shared.

    Args:
        features: View name -> (n, d) rows; see `scaled_features`.
        graphs: Over the n nodes; may be none.
        num_classes: Number of classes C, for which `components` keeps enough columns.
        nodes: Where the nodes are; all in this process where None.
        whole: Whether teachers are asked that compare all nodes with each other; not on parts.
    """

    def __init__(
        self,
        features: Mapping[str, Features],
        graphs: Sequence[Graph | Operators],
        num_classes: int = 2,
        nodes: NodeSet | None = None,
        whole: bool = True,
    ) -> None:
        self.features, self.whole = dict(features), whole
        self.operators: list[Operators] = [GraphOperators(g) if isinstance(g, Graph) else g for g in graphs]
        counts = [graph.num_nodes for graph in graphs if isinstance(graph, Graph)]
        self.nodes: NodeSet = nodes or AllNodes(counts[0] if counts else self.num_nodes)
        self.num_components = min(max(MIN_COMPONENTS, 2 * num_classes), REDUCED_COLUMNS)
        self._reduced: dict[str, Floats] = {}
        self._neighborhoods: dict[tuple[str, int], Floats] = {}
        self._hops: dict[tuple[str, int], Floats] = {}
        self._components: dict[tuple[str, int | None], tuple[Floats, NDArray[np.float64]]] = {}
        self._alike: dict[tuple[str, int | None], GraphOperators] = {}
        self.masks = ExpectedMasks()

    @property
    def num_nodes(self) -> int:
        """Number of nodes n."""
        return int(next(iter(self.features.values())).shape[0])

    def whole_graph(self, graph: int) -> GraphOperators:
        """The operators of a graph that is in this process as a whole; refuses a graph in parts."""
        operators = self.operators[graph]
        if not isinstance(operators, GraphOperators):
            raise ValueError("this teacher needs the whole graph in one process, and the graph is in parts")
        return operators

    def neighborhood(self, view: str, graph: int) -> Floats:
        """(n, d') rows of length 1 or so: a view averaged over random walks from each node, reduced if wide."""
        key = (view, graph)
        if key not in self._neighborhoods:
            averaged = self.operators[graph].smoothed(self.reduced(view))
            self._neighborhoods[key] = self._of_one_length(averaged, view)
        return self._neighborhoods[key]

    def hops(self, view: str, graph: int) -> Floats:
        """(n, 3 d') rows of length 1 or so: a node's own row beside the mean around it and the mean around those.

        Unlike an average over walks, they let a linear model tell a node from its neighbours, which matters where
        neighbours are of other classes.
        """
        key = (view, graph)
        if key not in self._hops:
            rows = self.reduced(view)
            width = rows.shape[1]
            beside = np.empty((len(rows), 3, width), dtype=np.float32)
            # means of all columns may be as large as x; by the nodes of all processes, which average the same columns
            at_once = max(_ENTRIES_AT_ONCE // max(self.nodes.count, 1), 16)
            for start in range(0, width, at_once):
                columns = slice(start, start + at_once)
                means = np.ascontiguousarray(rows[:, columns])
                for i in range(3):
                    if i:
                        means = self.operators[graph].mean_around(means)
                    beside[:, i, columns] = means
            if self.narrow(view):
                for i in range(3):
                    beside[:, i] = self._of_one_length(beside[:, i], view) / np.float32(np.sqrt(3))
            else:
                for at in _row_blocks(len(rows)):
                    length = np.sqrt(3 * np.square(beside[at]).sum(axis=2, keepdims=True))
                    beside[at] /= np.where(length > 0, length, 1)
            self._hops[key] = beside.reshape(len(rows), 3 * width)
        return self._hops[key]

    def components(self, view: str, graph: int | None = None) -> Floats:
        """(n, c) rows of length 1 or so: a few principal components, each scaled by the root of its deviation.

        Few labels decide on few columns, and all nodes on which columns.

        Args:
            view: Name.
            graph: Whose neighbourhoods the view is averaged over; the bare rows where None.
        """
        scores, deviation = self._principal(view, graph)
        return self._of_one_length(np.asarray(scores / np.sqrt(deviation), dtype=np.float32), view)

    def alike(self, view: str, graph: int | None = None) -> GraphOperators | None:
        """The graph that joins each node to the nodes most like it by their principal components.

        None where there are more nodes than can be compared in passing.

        Args:
            view: Name.
            graph: Whose neighbourhoods the view is averaged over; the bare rows where None.
        """
        key = (view, graph)
        if not self.whole or self.num_nodes > MAX_JOINED_ROWS:
            return None
        if key not in self._alike:
            rows, narrow = self._of_one_length(self._principal(view, graph)[0].copy(), view), self.narrow(view)
            known = np.flatnonzero(rows.any(axis=1) | (narrow and rows.any()))  # a row of zeros has no direction
            joined = Graph.from_edges(np.zeros((0, 2), dtype=np.int64), num_nodes=len(rows))
            if len(known) > 1:
                metric: Metric = "euclidean" if narrow else "cosine"
                nearest = knn_graph(rows[known], k=min(NEIGHBORS, len(known) - 1), metric=metric)
                joined = Graph.from_edges(torch.from_numpy(known)[nearest.edges], nearest.weight, len(rows))
            self._alike[key] = GraphOperators(joined)
        return self._alike[key]

    def reduced(self, view: str) -> Floats:
        """(n, d') dense rows: the view itself, or its strongest components where it has many columns."""
        if view not in self._reduced:
            self._reduced[view] = reduced_rows(self.features[view])
        return self._reduced[view]

    def _principal(self, view: str, graph: int | None) -> tuple[Floats, NDArray[np.float64]]:
        """((n, c) principal components, (c,) their deviations)."""
        key = (view, graph)
        if key not in self._components:
            rows = self.reduced(view) if graph is None else self.neighborhood(view, graph)
            self._components[key] = principal_components(rows, self.num_components)
        return self._components[key]

    def narrow(self, view: str) -> bool:
        """Whether a view has few columns, of which a class may be a ring, or the middle: no direction tells it."""
        return bool(self.features[view].shape[1] <= FEW_COLUMNS)

    def with_kernel_features(self, view: str, rows: Features) -> Features:
        """Rows made from a view for a linear model: as they are, with a kernel beside them where it has few columns."""
        if not self.narrow(view):
            return rows
        dense: Floats = np.asarray(cast(sp.csr_array, rows).toarray() if sp.issparse(rows) else rows, dtype=np.float32)
        return with_kernel(dense, self.nodes.sample(dense, MAX_FITTED_ROWS))

    def _of_one_length(self, rows: Floats, view: str) -> Floats:
        """Rows made from a view, each of length 1; where it has few columns, the root of their mean square is 1."""
        if not self.narrow(view):
            return cast(Floats, normalize(rows, copy=False))
        length = float(np.sqrt(self.nodes.mean(np.square(rows).sum(axis=1))))
        return np.asarray(rows / np.float32(length if length > 0 else 1))


def _row_blocks(num_rows: int) -> Iterator[slice]:
    return (slice(start, start + _ROWS_AT_ONCE) for start in range(0, num_rows, _ROWS_AT_ONCE))
