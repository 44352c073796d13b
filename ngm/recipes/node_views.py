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
from sklearn.utils.extmath import randomized_svd

from ngm.build.knn import knn_graph
from ngm.graph import Graph
from ngm.networks.input_scaling import ScalingName, Table, choose_input_scaling, column_scale, stored_by_density
from ngm.propagation.kernel import JacobiSteps, Shares, hop, walk_shares
from ngm.recipes.assortativity import prediction_assortativity
from ngm.recipes.node_set import AllNodes, NodeSet

Floats: TypeAlias = NDArray[np.float32]
Features: TypeAlias = "Floats | sp.csr_array"
RESTART = 0.25  # chance that a random walk stops before each step
HOPS = 10  # steps of a walk, at most
MAX_COLUMNS = 1_000  # beyond which rows are reduced before they are averaged over neighbourhoods
REDUCED_COLUMNS = 256  # what they are reduced to
MIN_COMPONENTS = 16  # principal components that few labels are compared by
MAX_FITTED_ROWS = 20_000  # rows that decide on components, at most
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
        """(n, d') rows of length 1: a view averaged over random walks from each node, reduced first where wide."""
        key = (view, graph)
        if key not in self._neighborhoods:
            averaged = self.operators[graph].smoothed(self.reduced(view))
            self._neighborhoods[key] = cast(Floats, normalize(averaged, copy=False))
        return self._neighborhoods[key]

    def hops(self, view: str, graph: int) -> Floats:
        """(n, 3 d') rows of length 1: a node's own row, the mean around it, and the mean around those, side by side.

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
            for at in _row_blocks(len(rows)):
                length = np.sqrt(3 * np.square(beside[at]).sum(axis=2, keepdims=True))
                beside[at] /= np.where(length > 0, length, 1)
            self._hops[key] = beside.reshape(len(rows), 3 * width)
        return self._hops[key]

    def components(self, view: str, graph: int | None = None) -> Floats:
        """(n, c) rows of length 1: a few principal components of a view, each scaled by the root of its deviation.

        Few labels decide on few columns, and all nodes on which columns.

        Args:
            view: Name.
            graph: Whose neighbourhoods the view is averaged over; the bare rows where None.
        """
        scores, deviation = self._principal(view, graph)
        return cast(Floats, normalize(scores / np.sqrt(deviation).astype(np.float32), copy=False))

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
            rows = cast(Floats, normalize(self._principal(view, graph)[0]))
            known = np.flatnonzero(rows.any(axis=1))  # a row of zeros is like no other
            joined = Graph.from_edges(np.zeros((0, 2), dtype=np.int64), num_nodes=len(rows))
            if len(known) > 1:
                nearest = knn_graph(rows[known], k=min(NEIGHBORS, len(known) - 1))
                joined = Graph.from_edges(torch.from_numpy(known)[nearest.edges], nearest.weight, len(rows))
            self._alike[key] = GraphOperators(joined)
        return self._alike[key]

    def reduced(self, view: str) -> Floats:
        """(n, d') dense rows: the view itself, or its strongest components where it has many columns."""
        if view not in self._reduced:
            self._reduced[view] = _reduced(self.features[view])
        return self._reduced[view]

    def _principal(self, view: str, graph: int | None) -> tuple[Floats, NDArray[np.float64]]:
        """((n, c) principal components, (c,) their deviations)."""
        key = (view, graph)
        if key not in self._components:
            rows = self.reduced(view) if graph is None else self.neighborhood(view, graph)
            self._components[key] = _principal(rows, self.num_components)
        return self._components[key]


def _row_blocks(num_rows: int) -> Iterator[slice]:
    return (slice(start, start + _ROWS_AT_ONCE) for start in range(0, num_rows, _ROWS_AT_ONCE))


def _principal(rows: Floats, count: int) -> tuple[Floats, NDArray[np.float64]]:
    """((n, c) principal components, (c,) their deviations), as a sample of the rows has them."""
    mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    sample = _sample(rows) - mean
    _, scale, axes = randomized_svd(sample, min(count, *sample.shape), n_iter=3, random_state=0)
    varied = scale > 1e-6 * max(scale[0], 1e-12)
    varied[0] = True  # rows that are all the same have one column of zeros
    deviation = np.maximum(scale[varied].astype(np.float64) / np.sqrt(len(sample)), 1e-12)
    scores = rows @ axes[varied].T.astype(np.float32) - mean @ axes[varied].T.astype(np.float32)
    return np.asarray(scores, dtype=np.float32), deviation


def _reduced(rows: Features) -> Floats:
    if rows.shape[1] > MAX_COLUMNS and min(rows.shape) > REDUCED_COLUMNS:
        _, _, axes = randomized_svd(_sample(rows), REDUCED_COLUMNS, n_iter=2, random_state=0)
        return np.asarray(rows @ axes.T.astype(np.float32), dtype=np.float32)
    return np.asarray(cast(sp.csr_array, rows).toarray() if sp.issparse(rows) else rows, dtype=np.float32)


def _sample(rows: Features) -> Features:
    """At most `MAX_FITTED_ROWS` rows, drawn at random."""
    if rows.shape[0] <= MAX_FITTED_ROWS:
        return rows
    drawn = np.random.default_rng(0).choice(rows.shape[0], MAX_FITTED_ROWS, replace=False)
    return rows[np.sort(drawn)]
