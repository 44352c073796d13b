"""What teachers look at: rows on one scale, the same rows averaged over neighbourhoods, and the graphs themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from ngm.graph import Graph
from ngm.networks.input_scaling import ScalingName, Table, choose_input_scaling, column_scale
from ngm.spread import Shares, hop, pull, scale_rows, walk_shares

Floats: TypeAlias = NDArray[np.float32]
Features: TypeAlias = "Floats | sp.csr_array"
RESTART = 0.25  # chance that a random walk stops before each step
HOPS = 10  # steps of a walk, at most
MAX_COLUMNS = 1_000  # beyond which rows are reduced before they are averaged over neighbourhoods
COMPONENTS = 256  # what they are reduced to


def scaled_features(x: Table, scaling: ScalingName | None = None) -> Features:
    """Rows on one scale, so that one penalty suits linear models of any data.

    Args:
        x: (n, d).
        scaling: As the network has it; by the kind of x where None. Standardised rows are also divided by the root of
            d, which gives them a length of about 1.

    Returns:
        (n, d); sparse where x is sparse and not standardised.
    """
    chosen = scaling or choose_input_scaling(x)
    if chosen == "standardize":
        mean, deviation = column_scale(x)
        rows = np.asarray(cast(sp.csr_array, x).toarray() if sp.issparse(x) else x, dtype=np.float32)
        scaled = (rows - mean) / (deviation * np.sqrt(max(rows.shape[1], 1)))
        return np.asarray(scaled, dtype=np.float32)
    rows = sp.csr_array(x, dtype=np.float32) if sp.issparse(x) else np.asarray(x, dtype=np.float32)
    return normalize(rows) if chosen == "unit_rows" else rows


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

    @cached_property
    def normalized_adjacency(self) -> Shares:
        """D^-1/2 (A + I) D^-1/2."""
        weight = (pull(self.graph) + sp.eye_array(self.graph.num_nodes, dtype=np.float32)).tocsr()
        root = 1 / np.sqrt(np.asarray(weight.sum(axis=1), dtype=np.float64).ravel())
        rows = scale_rows(weight, root)
        data = (rows.data * root[rows.indices]).astype(np.float32)
        return Shares(sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape), np.ones(len(root)))

    def mean_around(self, values: Floats) -> Floats:
        """(n, c) mean over each node and its neighbours."""
        return cast(Floats, (self.walk @ torch.from_numpy(values)).numpy())

    def smoothed(self, values: NDArray[np.floating]) -> Floats:
        """(n, c) values averaged over random walks from each node."""
        start = torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
        return cast(Floats, hop(self.walk, start, RESTART, HOPS).numpy())


class NodeViews:
    """Views of the same nodes, and graphs over them; what is derived from both is made once and shared.

    Args:
        features: View name -> (n, d) rows; see `scaled_features`.
        graphs: Over the n nodes; may be none.
    """

    def __init__(self, features: Mapping[str, Features], graphs: Sequence[Graph]) -> None:
        self.features = dict(features)
        self.operators = [GraphOperators(graph) for graph in graphs]
        self._reduced: dict[str, Floats] = {}
        self._neighborhoods: dict[tuple[str, int], Floats] = {}
        self._hops: dict[tuple[str, int], Floats] = {}

    @property
    def num_nodes(self) -> int:
        """Number of nodes n."""
        return int(next(iter(self.features.values())).shape[0])

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
            own = self.reduced(view)
            near = self.operators[graph].mean_around(own)
            far = self.operators[graph].mean_around(near)
            beside = np.hstack([normalize(part) for part in (own, near, far)])
            self._hops[key] = np.asarray(beside / np.sqrt(3), dtype=np.float32)
        return self._hops[key]

    def reduced(self, view: str) -> Floats:
        """(n, d') dense rows: the view itself, or its strongest components where it has many columns."""
        if view not in self._reduced:
            self._reduced[view] = _reduced(self.features[view])
        return self._reduced[view]


def _reduced(rows: Features) -> Floats:
    if rows.shape[1] > MAX_COLUMNS and min(rows.shape) > COMPONENTS:
        left, scale, _ = randomized_svd(rows, COMPONENTS, n_iter=2, random_state=0)
        return np.asarray(left * scale, dtype=np.float32)
    return np.asarray(cast(sp.csr_array, rows).toarray() if sp.issparse(rows) else rows, dtype=np.float32)
