"""The edges that a loader samples, of one graph or several, without a copy of them.

An edge has a number: its row in its graph, after all edges of the graphs before. What a batch needs of its edges is
looked up when the batch is made: a memory-mapped graph stays on disk, and the kind of an edge takes no memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.edge_batch import ALL_KINDS, EdgeKind
from ngm.graph import Graph
from ngm.ordering import EdgeBlocks, edge_blocks, kept_edge_blocks

Ids = NDArray[np.int64]
Index = NDArray[np.integer]
LARGE_EDGES = 1 << 20  # beyond which edges are cut with memory for few of them
CHUNK = 1 << 20  # edges looked at together where all of them are


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """Some edges.

    Args:
        ends: (b, 2) node ids.
        weight: (b,) float32.
        kind: (b,) int64 values of `EdgeKind`.
        graph: (b,) int64, which graph each edge is of.
    """

    ends: Ids
    weight: Tensor
    kind: Tensor
    graph: Tensor


class SampledEdges:
    """The edges of the kinds asked for.

    Args:
        graphs: Over the same nodes.
        kinds: Of each graph, the kinds to sample.
        labeled: (n,) mask of labelled nodes.

    Attributes:
        num_edges: How many are sampled.
        counts: (number of graphs, 3) int64, how many of each graph and kind.
    """

    def __init__(self, graphs: Sequence[Graph], kinds: Sequence[Collection[EdgeKind]], labeled: Tensor) -> None:
        self._labeled = labeled.bool().numpy()
        self._edges = [graph.edges.numpy() for graph in graphs]
        self._weight = [graph.weight for graph in graphs]
        self._folder = graphs[0].folder if len(graphs) == 1 else None
        self._first = np.cumsum([0, *(len(edges) for edges in self._edges)])  # number of each graph's first edge
        self.counts = np.zeros((len(graphs), 3), dtype=np.int64)
        chosen = [self._choose(g, frozenset(wanted)) for g, wanted in enumerate(kinds)]
        self.num_edges = int(self.counts.sum())
        # numbers of the sampled edges, where they are not all
        self._chosen = None if self.num_edges == self._first[-1] else self._numbers(chosen)

    def __len__(self) -> int:
        return self.num_edges

    @property
    def in_parts(self) -> bool:
        """Whether there are so many that they are cut part by part."""
        return self.num_edges > LARGE_EDGES

    def numbers(self, rows: Ids) -> Ids:
        """(b,) numbers of the edges that are in these rows of all sampled ones."""
        return rows if self._chosen is None else self._chosen[rows].astype(np.int64)

    def ends(self) -> Ids:
        """(m, 2) ends of all sampled edges: those of the graph itself where there is one and all are sampled."""
        if self._chosen is None and len(self._edges) == 1:
            return self._edges[0]
        return np.concatenate([np.zeros((0, 2), np.int64), *(chunk for _, chunk in self.chunks())])

    def ends_of(self, rows: Ids) -> Ids:
        """(b, 2) ends of the edges in some rows of all sampled ones."""
        numbers = self.numbers(rows)
        if len(self._edges) == 1:
            return self._edges[0][numbers]
        of = np.searchsorted(self._first[1:], numbers, side="right")
        ends = np.empty((len(rows), 2), dtype=np.int64)
        for g in np.unique(of).tolist():
            here = np.flatnonzero(of == g)
            ends[here] = self._edges[g][numbers[here] - self._first[g]]
        return ends

    def blocks(self, seed: int, size: int, count: int) -> EdgeBlocks:
        """All sampled edges, cut into `count` blocks of `size` at most; of many edges there is one cut for all seeds.

        Many edges are cut with memory for few of them, and where they are those of a graph folder the cut is kept
        there, so that it is computed once.
        """
        if not self.in_parts:
            return edge_blocks(self.ends(), len(self._labeled), seed, size, count)
        return kept_edge_blocks(self, len(self._labeled), size, count, self._folder)

    def chunks(self) -> Iterator[tuple[int, Ids]]:
        """(graph, (b, 2) ends) of all sampled edges, a part at a time."""
        for g, edges in enumerate(self._edges):
            if self._chosen is None:
                yield from ((g, edges[at : at + CHUNK]) for at in range(0, len(edges), CHUNK))
                continue
            start, stop = np.searchsorted(self._chosen, self._first[g : g + 2].astype(self._chosen.dtype))
            for at in range(start, stop, CHUNK):
                yield g, edges[self._chosen[at : min(at + CHUNK, stop)].astype(np.int64) - self._first[g]]

    def degrees(self) -> Ids:
        """(n,) sampled edges at each node."""
        degree = np.zeros(len(self._labeled), dtype=np.int64)
        for _, ends in self.chunks():
            np.add(degree, np.bincount(ends.reshape(-1), minlength=len(degree)), out=degree)
        return degree

    def nodes(self, graph: int) -> Ids:
        """(b,) nodes with a sampled edge of a graph, ascending."""
        found = np.zeros(len(self._labeled), dtype=bool)
        for g, ends in self.chunks():
            if g == graph:
                found[ends.reshape(-1)] = True
        return np.flatnonzero(found)

    def take(self, rows: Ids) -> EdgeRows:
        """The edges in some rows of all sampled ones."""
        numbers = self.numbers(rows)
        if len(self._edges) == 1:
            ends, weight = self._edges[0][numbers], self._weight[0][torch.from_numpy(numbers)]
            graph = torch.zeros(len(rows), dtype=torch.int64)
        else:
            of = np.searchsorted(self._first[1:], numbers, side="right")
            ends, weight = self.ends_of(rows), torch.empty(len(rows))
            for g in np.unique(of).tolist():
                here = np.flatnonzero(of == g)
                own = torch.from_numpy(numbers[here] - self._first[g])
                weight[torch.from_numpy(here)] = self._weight[g][own]
            graph = torch.from_numpy(of)
        return EdgeRows(ends, weight, torch.from_numpy(self._kind(ends)), graph)

    def _kind(self, ends: Ids) -> Ids:
        """(b,) values of `EdgeKind`, which count unlabelled ends."""
        unlabeled: Ids = 2 - self._labeled[ends].sum(axis=1)
        return unlabeled

    def _choose(self, g: int, wanted: frozenset[EdgeKind]) -> list[Index] | None:
        """Counts the edges of a graph by kind; rows of those to sample, chunk by chunk, None where all kinds are."""
        rows: list[Index] = []
        index = np.uint32 if self._first[-1] <= np.iinfo(np.uint32).max else np.int64
        for at in range(0, len(self._edges[g]), CHUNK):
            kind = self._kind(self._edges[g][at : at + CHUNK])
            kept = np.isin(kind, [int(k) for k in wanted])
            self.counts[g] += np.bincount(kind[kept], minlength=3)
            if wanted != ALL_KINDS:
                rows.append((np.flatnonzero(kept) + at).astype(index))
        return rows if wanted != ALL_KINDS else None

    def _numbers(self, chosen: Sequence[list[Index] | None]) -> Index:
        """(m,) numbers of the rows that were chosen of each graph."""
        index = np.uint32 if self._first[-1] <= np.iinfo(np.uint32).max else np.int64
        numbers: Index = np.empty(self.num_edges, dtype=index)
        at = 0
        for g, of_graph in enumerate(chosen):
            for rows in [np.arange(len(self._edges[g]))] if of_graph is None else of_graph:
                numbers[at : at + len(rows)] = rows + self._first[g]
                at += len(rows)
        return numbers
