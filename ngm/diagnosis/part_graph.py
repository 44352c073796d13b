"""A graph in parts as checks look at it, and `diagnose_parts`: the figures of `diagnose`, by several processes."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm._arguments import flag, whole_number
from ngm._splitmix import mix
from ngm.diagnosis.checked_graph import MU1, MU2, TOLERANCE, Ids, Mask
from ngm.diagnosis.diagnose import figures, single_labels
from ngm.diagnosis.edge_set import CarriedEdges, EdgeSet
from ngm.diagnosis.part_components import PartComponents
from ngm.diagnosis.part_structure import part_shape
from ngm.diagnosis.records import Diagnosis, Shape
from ngm.diagnosis.similarity import MAX_SAMPLED, Inputs
from ngm.distributed import process_group
from ngm.graph import Graph
from ngm.partition.local_part import LocalPart, Partition, open_partition
from ngm.partition.part_shares import PartShares, PartWeights
from ngm.propagation.kernel import solve
from ngm.propagation.seeds import Seeds, divide_pulls, encoded_seeds
from ngm.recipes.node_set import NodeSet, OwnNodes
from ngm.task import ClassTask

Rows = TypeVar("Rows", bound="NDArray[np.generic] | sp.csr_array")


def diagnose_parts(partition: Partition | str | Path, *, with_x: bool = True, seed: int = 0) -> Diagnosis:
    """Checks whether a graph in parts is informative about its labels: each process of several looks at its own parts.

    The figures are those of `diagnose` on the whole graph with the same rows and labels, whatever the number of
    processes: counts are exact, and what is solved agrees to the tolerance. Of more than 20,000 edges both compare x
    on a sample; that of parts is another one.

    Args:
        partition: What `partition_graph` or `ngm partition` wrote.
        with_x: Whether neighbours are compared by the rows of the parts, and rows with the graph by rows alone.
        seed: Same seed, same figures; samples and folds are drawn with it.

    Returns:
        The same in every process; see `Diagnosis`.
    """
    with_x, seed = flag("with_x", with_x), whole_number("seed", seed)
    parts = partition if isinstance(partition, Partition) else open_partition(partition)
    with process_group() as (rank, world):
        part = _without_zero_weights(parts.local(rank, world))
        at_ends, own = _labels(part), slice(part.num_own)
        seeds = replace(at_ends, values=at_ends.values[own], labeled=at_ends.labeled[own])
        x = _inputs(part) if with_x else None
        return figures(PartGraph(part, seed), part.graph, seeds, at_ends, x, seed)


class PartGraph:
    """What a process has of a graph in parts; see `CheckedGraph`. All processes make theirs together.

    Args:
        part: What this process has, without edges of weight 0.
        seed: Chooses the edges of the sample.
    """

    def __init__(self, part: LocalPart, seed: int) -> None:
        self._part, self._seed = part, seed
        self._weights = PartWeights(part, factor=2 * MU2)
        self._border = self._weights.border
        own = part.nodes[: part.num_own]
        self.nodes: NodeSet = OwnNodes(own, part.header.num_nodes, np.ones(len(own), dtype=bool))
        self.edges: EdgeSet = CarriedEdges(self._border)

    @cached_property
    def _components(self) -> PartComponents:
        return PartComponents(self._part, self._border)

    @cached_property
    def _sample(self) -> Ids:
        """(s, 2) global ids of the edges with the smallest hashes: the same however the graph is cut."""
        ends = self._part.nodes[self._part.graph.edges.numpy()]
        if not self._part.header.directed:
            ends.sort(axis=1)  # parts have them by local ids
        key = np.random.SeedSequence(self._seed).generate_state(1, np.uint64)
        values = mix(mix(ends[:, 0].astype(np.uint64) + key) + ends[:, 1].astype(np.uint64)).view(np.int64)
        hashed = np.column_stack([values, ends])
        if len(hashed) > MAX_SAMPLED:
            hashed = hashed[np.argpartition(values, MAX_SAMPLED)[:MAX_SAMPLED]]
        hashed = self.edges.gather(hashed)
        sample = hashed[np.argsort(hashed[:, 0], kind="stable")[:MAX_SAMPLED], 1:]
        return cast(Ids, sample[np.lexsort((sample[:, 1], sample[:, 0]))])

    def reached(self, labeled: Mask) -> Mask:
        """(n,) mask of the own nodes in components with a label."""
        has_seed = self._components.sums(labeled) > 0
        mask: Mask = has_seed[self._components.component]
        return mask

    def spread(
        self, values: sp.csr_array, labeled: Mask, prior: NDArray[np.float32], mu3: float
    ) -> NDArray[np.float32]:
        """(n, C) of Eq. 2; `prior` is (C,) or (n, C)."""
        weights, reached = self._weights, self.reached(labeled)
        pulls = divide_pulls(weights.sums, labeled, reached, MU1, mu3, weights.matrix.dtype)
        anchor, start = pulls.anchor_and_start(values, prior)
        shares = PartShares(weights, pulls.inverse, total=pulls.total)
        solution = solve(shares, anchor, start, solver="conjugate_gradient", tolerance=TOLERANCE)
        return cast("NDArray[np.float32]", solution.values.clamp_(0, 1).numpy())

    def sampled_ends(self) -> Ids:
        """(s, 2) ends of at most `MAX_SAMPLED` edges, by their places in `sampled_rows`."""
        return np.searchsorted(np.unique(self._sample), self._sample)

    def sampled_rows(self, rows: Rows) -> Rows:
        """Of (n, ...) rows, those of the nodes at sampled edges, in the order of the nodes."""
        own = self._part.nodes[: self._part.num_own]
        mask = np.isin(own, self._sample)
        return self.nodes.gather(cast(Rows, rows[mask]), mask)

    def shape(self, labeled: Mask) -> Shape:
        """Degrees, components, hops, hubs and weights."""
        return part_shape(self._part, self._border, labeled, self._components)


def _without_zero_weights(part: LocalPart) -> LocalPart:
    graph, positive = part.graph, part.graph.weight > 0
    if bool(positive.all()):
        return part
    return replace(part, graph=Graph(graph.num_nodes, graph.edges[positive], graph.weight[positive], graph.directed))


def _labels(part: LocalPart) -> Seeds:
    """Labels of the nodes of a part, border included."""
    task = part.header.read_task()
    if not isinstance(task, ClassTask):
        raise ValueError("the partition has numbers to learn; a graph is judged by classes: partition it with these")
    names = part.header.data.get("label_names")
    classes = np.array(names) if names else task.classes
    return single_labels(encoded_seeds(part.y, part.labeled, task.name, classes))


def _inputs(part: LocalPart) -> Inputs:
    """(num_own, d) rows, checked when the graph was cut."""
    rows = cast(Inputs, part.x[: part.num_own])
    return rows if rows.dtype.kind == "f" else rows.astype(np.float32)
