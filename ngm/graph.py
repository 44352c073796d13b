"""The graph over the examples: nodes, edges, weights and direction.

A `Graph` is frozen. An undirected edge is stored once, there are no self loops, and node ids are the rows of
`x` and `y`. `Graph.from_edges` and its relatives tidy up whatever they are given; `Graph(...)` itself takes
edges that are already tidy and only checks them.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._arguments import as_numbers, as_path, flag, short_repr, whole_number
from ngm._edge_lists import as_edges, as_weight, check_edges, distinct_pairs, refuse_repeated, refuse_self_loops
from ngm.io import graph_folder

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data

LARGE_EDGES = 1 << 20  # beyond which edges are read where they are, by compiled loops, instead of made a matrix
Merge = Literal["max", "sum", "mean"]
Nodes = Tensor | NDArray[np.int64] | NDArray[np.bool_] | Sequence[int]


class RenumberedNodesWarning(UserWarning):
    """Nodes that are integers get other integers as ids."""


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Nodes joined by weighted edges.

    Args:
        num_nodes: Number of nodes; ids run from 0 to num_nodes - 1.
        edges: (m, 2) int64 node ids, each pair once; (source, target) where directed.
        weight: (m,) float32, finite and at least 0.
        directed: Whether (u, v) and (v, u) are two different edges.
        self_loops: How many self loops were dropped on the way in.
        duplicates: How many repeated edges were merged on the way in.
    """

    num_nodes: int
    edges: Tensor
    weight: Tensor
    directed: bool = False
    self_loops: int = 0
    duplicates: int = 0

    def __post_init__(self) -> None:
        check_edges(self.edges, self.weight, self.num_nodes)
        object.__setattr__(self, "num_nodes", whole_number("num_nodes", self.num_nodes))
        object.__setattr__(self, "directed", flag("directed", self.directed))
        refuse_self_loops(self.edges)
        refuse_repeated(self.edges, self.num_nodes, self.directed)

    def __repr__(self) -> str:
        """`Graph(3 nodes, 2 undirected edges)`."""
        direction = "directed" if self.directed else "undirected"
        return f"Graph({self.num_nodes:,} nodes, {self.num_edges:,} {direction} edges)"

    # Made from

    @classmethod
    def from_edges(
        cls,
        edges: ArrayLike | Tensor,
        weight: ArrayLike | Tensor | None = None,
        num_nodes: int | None = None,
        directed: bool = False,
        merge: Merge = "max",
    ) -> Graph:
        """Makes a graph from a list of edges in any order, with repeats and self loops.

        Args:
            edges: (m, 2) node ids.
            weight: (m,) weights; all 1 where not given.
            num_nodes: Number of nodes; the largest id + 1 where not given.
            directed: Keep (u, v) and (v, u) apart; else they are one edge.
            merge: What becomes of an edge that is there several times: its largest weight, the sum or the
                mean. With `max`, listing an edge from both its ends changes nothing.

        Returns:
            Graph with edges sorted by (smaller end, larger end), or by (source, target) where directed.

        >>> Graph.from_edges([[1, 0], [0, 1], [2, 1], [2, 2]])
        Graph(3 nodes, 2 undirected edges)
        """
        pairs = as_edges(edges)
        w = torch.ones(len(pairs)) if weight is None else as_weight(weight)
        count = num_nodes if num_nodes is not None else int(pairs.max()) + 1 if len(pairs) else 0
        count, directed = whole_number("num_nodes", count), flag("directed", directed)
        check_edges(pairs, w, count)
        if merge not in ("max", "sum", "mean"):
            raise ValueError(f"merge is {merge!r}; choose 'max', 'sum' or 'mean'")
        proper = pairs[:, 0] != pairs[:, 1]
        loops = len(pairs) - int(proper.sum())
        if loops:
            pairs, w = pairs[proper], w[proper]
        if not directed:
            pairs = pairs.sort(dim=1).values
        ends, group = distinct_pairs(pairs, count)
        merged = torch.zeros(len(ends)).scatter_reduce(
            0, group, w, {"max": "amax", "sum": "sum", "mean": "mean"}[merge], include_self=False
        )
        check_edges(ends, merged, count)  # sums may have become infinite
        return cls._of_checked(count, ends, merged, directed, loops, len(pairs) - len(ends))

    @classmethod
    def _of_checked(
        cls, num_nodes: int, edges: Tensor, weight: Tensor, directed: bool, self_loops: int = 0, duplicates: int = 0
    ) -> Graph:
        """A graph of edges that are known to be right, without a second look at each of them."""
        graph = object.__new__(cls)
        values = (num_nodes, edges, weight, directed, self_loops, duplicates)
        for name, value in zip((field.name for field in fields(cls)), values, strict=True):
            object.__setattr__(graph, name, value)
        return graph

    @classmethod
    def from_scipy(cls, adjacency: sp.spmatrix | sp.sparray, directed: bool = False, merge: Merge = "max") -> Graph:
        """Makes a graph from an adjacency matrix; entry (u, v) is the weight of u -> v.

        Args:
            adjacency: (n, n) sparse matrix; explicit zeros are not edges.
            directed: Keep (u, v) and (v, u) apart; else the two are merged.
            merge: See `from_edges`; with `max` a symmetric matrix keeps its weights.
        """
        if not sp.issparse(adjacency) and not (isinstance(adjacency, np.ndarray) and adjacency.ndim == 2):
            raise ValueError(f"adjacency is {short_repr(adjacency)}; give an (n, n) scipy sparse matrix")
        coo = sp.coo_array(adjacency)
        coo.sum_duplicates()  # an entry stored in several parts is their sum, as everywhere in scipy
        if coo.ndim != 2 or coo.shape[0] != coo.shape[1]:
            raise ValueError(f"adjacency has shape {coo.shape}; it must be square, a row and a column per node")
        there = coo.data != 0
        pairs = np.stack([coo.row[there], coo.col[there]], axis=1)
        return cls.from_edges(pairs, coo.data[there], coo.shape[0], directed, merge)

    @classmethod
    def from_networkx(
        cls, graph: networkx.Graph, weight: str = "weight", nodelist: Sequence[Hashable] | None = None
    ) -> Graph:
        """Makes a graph from a networkx one; node i is `nodelist[i]`.

        Args:
            graph: Graph or DiGraph; parallel edges of a multigraph are merged to the largest weight.
            weight: Edge attribute that holds the weight; 1 where an edge lacks it.
            nodelist: All nodes in the order of the rows of x and y. Where not given: nodes that are the integers 0 to
                n - 1 are their own ids, in whatever order they were added; others are numbered as in `graph.nodes`,
                with a `RenumberedNodesWarning` if they are integers.
        """
        if not isinstance(weight, Hashable):
            raise ValueError(f"weight is {short_repr(weight)}; give the name of an edge attribute")
        if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
            raise ValueError(f"graph is {short_repr(graph)}; give a networkx Graph or DiGraph")
        nodes = _node_order(graph) if nodelist is None else _check_nodelist(graph, nodelist)
        row = {node: i for i, node in enumerate(nodes)}
        triples = [(row[u], row[v], d.get(weight, 1.0)) for u, v, d in graph.edges(data=True)]
        pairs = np.array([t[:2] for t in triples], dtype=np.int64).reshape(-1, 2)
        return cls.from_edges(pairs, [t[2] for t in triples], len(row), graph.is_directed())

    @classmethod
    def from_pyg(cls, data: Data, directed: bool | None = None) -> Graph:
        """Makes a graph from a PyTorch Geometric `Data`: its `edge_index` and, if there, 1-d `edge_weight`.

        Args:
            data: Anything with `edge_index` (2, m), `num_nodes` and perhaps `edge_weight` (m,).
            directed: Whether to keep the two directions apart; `data.is_directed()` where not given.
        """
        index = getattr(data, "edge_index", None)
        if not isinstance(index, Tensor) or index.ndim != 2 or len(index) != 2:
            raise ValueError(f"data is {short_repr(data)}; give a Data whose edge_index is a (2, m) tensor")
        weight = getattr(data, "edge_weight", None)
        direction = bool(data.is_directed()) if directed is None else directed
        return cls.from_edges(index.t(), weight, whole_number("num_nodes", data.num_nodes), direction)

    @classmethod
    def open(cls, folder: str | Path) -> Graph:
        """Opens the edges of a graph folder, as memory maps; `ngm.open_graph` gives ids, labels and columns as well.

        Args:
            folder: Written by `save`, `ngm.read_graph`, `ngm.save_graph`, `ngm ingest` or `ngm build`.
        """
        path = as_path("folder", folder)
        header, edges, weight = graph_folder.read(path)
        return cls(header["num_nodes"], edges, weight, bool(header["directed"])).opened_from(path)

    def opened_from(self, folder: Path) -> Graph:
        """This graph, which now knows the folder that its edges are memory maps of."""
        object.__setattr__(self, "_folder", folder)
        return self

    def save(self, folder: str | Path) -> Path:
        """Writes `graph.json`, `edges.npy` and `weight.npy` into `folder`, whole or not at all."""
        return graph_folder.write(as_path("folder", folder), self.num_nodes, self.edges, self.weight, self.directed)

    # Turned into

    def to_scipy(self) -> sp.csr_array:
        """(n, n) adjacency; symmetric where undirected."""
        u, v, w = self._both_ways()
        return sp.csr_array((w, (u, v)), shape=self.shape)

    def to_networkx(self) -> networkx.Graph:
        """The networkx graph with nodes 0 to n - 1 and edge attribute `weight`."""
        import networkx

        graph = networkx.DiGraph() if self.directed else networkx.Graph()
        graph.add_nodes_from(range(self.num_nodes))
        weighted = zip(self.edges.tolist(), self.weight.tolist(), strict=True)
        graph.add_weighted_edges_from((u, v, w) for (u, v), w in weighted)
        return graph

    # Read off

    @property
    def num_edges(self) -> int:
        """Number of edges m; an undirected edge counts once."""
        return len(self.edges)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n), so that scikit-learn's cross-validation cuts the graph along with the rows of x."""
        return self.num_nodes, self.num_nodes

    @property
    def folder(self) -> Path | None:
        """The graph folder that the edges are memory maps of; None where they are in memory."""
        return self.__dict__.get("_folder")

    def __len__(self) -> int:
        """Number of nodes."""
        return self.num_nodes

    def __getitem__(self, rows: Nodes | tuple[Nodes, object]) -> Graph:
        """`subgraph(rows)`; the form `graph[rows, ...]` is what scikit-learn's cross-validation asks for."""
        return self.subgraph(rows[0] if isinstance(rows, tuple) else rows)

    @cached_property
    def degree(self) -> Tensor:
        """(n,) int64, the number of edges at each node; both directions count where directed."""
        return torch.bincount(self.edges.reshape(-1), minlength=self.num_nodes)

    @cached_property
    def csr(self) -> tuple[Tensor, Tensor, Tensor]:
        """(offsets (n + 1,), neighbor ids, edge ids), grouped by node; along the direction where directed."""
        m = self.num_edges
        index = sp.csr_array(self.shape, dtype=np.int64)
        if m:
            ids = np.arange(1, m + 1)  # from 1, since a stored 0 might be taken for an absent entry
            u, v = self.edges.numpy().T
            if not self.directed:
                u, v, ids = np.concatenate([u, v]), np.concatenate([v, u]), np.tile(ids, 2)
            index = sp.csr_array((ids, (u, v)), shape=self.shape)
        offsets, neighbors, edge = index.indptr, index.indices, index.data - 1
        return tuple(torch.from_numpy(a.astype(np.int64)) for a in (offsets, neighbors, edge))  # type: ignore[return-value]

    def neighbors(self, node: int) -> Tensor:
        """(k,) ids of the nodes joined to `node`, ascending; those it points to where directed."""
        node = whole_number("node", node, least=-self.num_nodes)
        if not 0 <= node < self.num_nodes:
            raise ValueError(f"node {node} is not in the graph; ids run from 0 to {self.num_nodes - 1}")
        offsets, neighbors, _ = self.csr
        return neighbors[offsets[node] : offsets[node + 1]]

    def components(self) -> tuple[int, Tensor]:
        """(number of connected components, (n,) component of each node), direction ignored."""
        if self.num_edges > LARGE_EDGES:
            from ngm._components import connected_components  # loads numba

            count, label = connected_components(self.edges.numpy(), self.weight.numpy(), self.num_nodes)
            return count, torch.from_numpy(label)
        count, label = sp.csgraph.connected_components(self.to_scipy(), directed=False)
        return int(count), torch.from_numpy(label.astype(np.int64))

    # Cut and joined

    def subgraph(self, nodes: Nodes) -> Graph:
        """Keeps `nodes` and the edges among them, renumbered in the order given.

        Args:
            nodes: (b,) distinct node ids, or an (n,) mask.

        >>> Graph.from_edges([[0, 1], [1, 2]]).subgraph([2, 1]).edges.tolist()
        [[0, 1]]
        """
        ids = self._ids(nodes)
        place = torch.full((self.num_nodes,), -1)
        place[ids] = torch.arange(len(ids))
        if int((place >= 0).sum()) != len(ids):
            raise ValueError("subgraph names a node twice; give distinct node ids")
        ends = place[self.edges]
        kept = (ends >= 0).all(dim=1)
        return Graph.from_edges(ends[kept], self.weight[kept], len(ids), self.directed)

    def without(self, nodes: Nodes) -> Graph:
        """Drops every edge at `nodes` and keeps the numbering: how test nodes leave the graph.

        Args:
            nodes: (b,) node ids, or an (n,) mask.

        >>> Graph.from_edges([[0, 1], [1, 2]]).without([2])
        Graph(3 nodes, 1 undirected edges)
        """
        gone = torch.zeros(self.num_nodes, dtype=torch.bool)
        gone[self._ids(nodes)] = True
        kept = ~gone[self.edges].any(dim=1)
        return Graph._of_checked(self.num_nodes, self.edges[kept], self.weight[kept], self.directed)

    def merge(self, other: Graph, how: Merge = "max") -> Graph:
        """Joins the edges of two graphs over the same nodes; edges in both are merged as `how` says."""
        if not isinstance(other, Graph):
            raise ValueError(f"cannot merge {self} with {short_repr(other)}; give another Graph")
        if (self.num_nodes, self.directed) != (other.num_nodes, other.directed):
            raise ValueError(f"cannot merge {self} with {other}; both need the same nodes and the same kind of edge")
        edges = torch.cat([self.edges, other.edges])
        weight = torch.cat([self.weight, other.weight])
        return Graph.from_edges(edges, weight, self.num_nodes, self.directed, how)

    def _ids(self, nodes: Nodes) -> Tensor:
        ids = as_numbers("nodes", nodes, "give (b,) node ids or a mask")
        if ids.dtype == torch.bool:
            if ids.shape != (self.num_nodes,):
                raise ValueError(f"mask has shape {tuple(ids.shape)}; the graph has {self.num_nodes} nodes")
            return ids.nonzero()[:, 0]
        if ids.ndim != 1 or (ids.is_floating_point() and len(ids)):
            raise ValueError(f"nodes has shape {tuple(ids.shape)} and type {ids.dtype}; give (b,) node ids or a mask")
        ids = ids.long()
        outside = ((ids < 0) | (ids >= self.num_nodes)).nonzero()
        if len(outside):
            raise ValueError(
                f"node {int(ids[outside[0, 0]])} is not in the graph; ids run from 0 to {self.num_nodes - 1}"
            )
        return ids

    def _both_ways(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        u, v = self.edges.numpy().T
        w = self.weight.numpy()
        if self.directed:
            return u, v, w
        return np.concatenate([u, v]), np.concatenate([v, u]), np.tile(w, 2)


def _node_order(graph: networkx.Graph) -> list[Hashable]:
    """The nodes by their ids: integers from 0 to n - 1 by themselves, others as they were added."""
    nodes = list(graph.nodes)
    if not nodes or not all(isinstance(node, Integral) and not isinstance(node, bool) for node in nodes):
        return nodes
    if min(nodes) == 0 and max(nodes) == len(nodes) - 1:  # they are distinct
        return sorted(nodes)
    warnings.warn(
        f"the nodes are {len(nodes):,} integers, but not 0 to {len(nodes) - 1}: ids are positions in graph.nodes (node "
        f"{nodes[0]} is id 0), and rows of x and y have to be in that order; give nodelist=list(graph.nodes) to say so",
        RenumberedNodesWarning,
        stacklevel=3,
    )
    return nodes


def _check_nodelist(graph: networkx.Graph, nodelist: Sequence[Hashable]) -> list[Hashable]:
    nodes = list(nodelist)
    unknown = next((node for node in nodes if node not in graph), None)
    if unknown is not None:
        raise ValueError(f"nodelist has {unknown!r}, which is not a node of the graph; give its nodes, each once")
    if len(set(nodes)) != len(nodes) or len(nodes) != len(graph):
        raise ValueError(
            f"nodelist has {len(nodes)} entries, {len(set(nodes))} different, for {len(graph)} nodes; give each "
            "of them once"
        )
    return nodes
