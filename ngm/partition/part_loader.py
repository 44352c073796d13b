"""`PartLoader`: batches of the edges that a process carries, scaled by the totals of the whole."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from ngm.distributed import sum_over_ranks
from ngm.edge_batch import EdgeKind
from ngm.graph import Graph
from ngm.negatives import NeighborLookup
from ngm.ordering import EdgeBlocks, num_blocks
from ngm.partition.local_part import LocalPart
from ngm.rows import Inputs
from ngm.sampling import EdgeLoader


class PartLoader(EdgeLoader):
    """As `EdgeLoader`, over what each process has of a partitioned graph; all processes make one together.

    Every edge comes once an epoch, in the process that carries it, and the cost of every labelled node in the process
    that owns it. `totals` are those of the whole, so that the costs of all processes add up to what one process has.
    All have the same number of batches, each an equal share of a process' edges. Negative pairs are drawn among the
    nodes of a process; a pair that is joined by an edge of another process is none.

    Args:
        x: Inputs of the part's nodes, border included.
        y: Their targets.
        part: What this process has.
        batch_size: Edges in a batch, over all processes.
        world: Number of processes.
        labeled: (n,) mask of the nodes whose label is trained on, border included: it decides an edge's kind.
        sample_weight: (n,) or None.
        seed: Same seed, same batches.
        kinds: Which kinds of edge to sample.
        negatives: Negative pairs per sampled edge.
        dtype: Type of the inputs' fractions.
    """

    def __init__(
        self,
        x: Inputs,
        y: Tensor,
        part: LocalPart,
        *,
        batch_size: int = 512,
        world: int = 1,
        labeled: Tensor,
        sample_weight: Tensor | None = None,
        seed: int = 0,
        kinds: Sequence[Collection[EdgeKind]] | None = None,
        negatives: float | Sequence[float] = 0.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self._part, self._sample_weight, self._whole_batch = part, sample_weight, batch_size
        super().__init__(
            x,
            y,
            part.graph,
            batch_size=max(batch_size // world, 1),
            seed=seed,
            kinds=kinds,
            labeled=labeled,
            negatives=negatives,
            dtype=dtype,
        )

    def sizes(self) -> dict[str, int]:
        """Of the whole."""
        return dict(self._sizes)

    def _arrange(self) -> None:
        """As for a loader of its own; then nodes of the border cost nothing here, and totals are those of all."""
        own = self._part.own
        if self._sample_weight is not None:
            self.node_weight = self.node_weight * self._sample_weight
        self.node_weight = self.node_weight * own
        super()._arrange()
        self._seeds = self._seeds[own.numpy()[self._seeds]]
        labeled = int((self.labeled & own).sum())
        weight = float(self.node_weight.sum(dtype=torch.float64))
        mine = [*self._edges.counts[0].tolist(), int(own.sum()), labeled, weight]
        *edges, rows, labeled_rows, weight = sum_over_ranks(torch.tensor(mine, dtype=torch.float64)).tolist()
        size, count = self._whole_batch, int(sum(edges))
        batches = max(num_blocks(count, size), -(-int(labeled_rows) // size), 1)
        ll, lu, uu = map(int, edges)
        self.totals = replace(self.totals, num_labeled=weight, num_edges=((ll, lu, uu),), num_batches=batches)
        self._sizes = {"rows": int(rows), "labelled rows": int(labeled_rows), "edges": count}

    def _neighbor_lookup(self, graph: Graph) -> NeighborLookup:
        """Of all edges between the nodes of a part, whoever carries them."""
        return NeighborLookup(graph.num_nodes, graph.edges, self._part.other_edges)

    def _blocks(self, seed: int) -> EdgeBlocks:
        """As many as all processes have; where a process carries more edges than others, they are larger.

        Of a part with many edges the cut is kept in the folder of that part.
        """
        even = -(-self.num_edges // self.totals.num_batches)
        return self._edges.blocks(seed, even + even // 32, self.totals.num_batches)
