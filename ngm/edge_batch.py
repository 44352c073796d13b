"""`EdgeBatch`: some edges and each of their ends once, from `EdgeLoader` to `NGMLoss`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum

import torch
from torch import Tensor

from ngm.rows import Rows, move_rows


class EdgeKind(IntEnum):
    """Whether the ends of an edge are labelled: both (LL), one (LU) or none (UU)."""

    LL = 0
    LU = 1
    UU = 2


ALL_KINDS = frozenset(EdgeKind)


@dataclass(frozen=True)
class Totals:
    """What a whole epoch holds, so that a batch can be scaled as its share of it.

    Args:
        num_labeled: Number of labelled nodes, or the sum of their sample weights.
        num_edges: For each graph, the number of sampled LL, LU and UU edges.
        num_batches: Batches in an epoch.
        directed: For each graph, whether its edges have a source and a target.
        negatives: For each graph, how many negative pairs are drawn per sampled edge.
    """

    num_labeled: float
    num_edges: tuple[tuple[int, int, int], ...]
    num_batches: int
    directed: tuple[bool, ...]
    negatives: tuple[float, ...] = ()


@dataclass(frozen=True)
class EdgeBatch:
    """Some edges, and each of their ends once.

    Args:
        nodes: (b,) distinct node ids, ascending.
        x: Inputs of these nodes.
        y: (b, ...) targets of these nodes; what stands at unlabelled ones is not used.
        ends: (k, 2) positions in `nodes`; (source, target) where the graph is directed.
        weight: (k,) edge weights.
        kind: (k,) `EdgeKind` of each edge.
        graph: (k,) which of the loader's graphs each edge is of.
        label_share: (b,) the part of the node's supervised cost that this batch carries: its edges here over
            its sampled edges in all; 0 where unlabelled, 1 where it travels alone.
        negatives: (j, 2) positions in `nodes` of pairs that are no neighbours; see `ngm.negatives`.
        negative_of: (j,) the edge of this batch that each pair was made of; it has that edge's weight and kind.
        totals: What a whole epoch holds.
    """

    nodes: Tensor
    x: Rows
    y: Tensor
    ends: Tensor
    weight: Tensor
    kind: Tensor
    graph: Tensor
    label_share: Tensor
    negatives: Tensor
    negative_of: Tensor
    totals: Totals

    def to(self, device: torch.device | str) -> EdgeBatch:
        """The same batch on another device."""
        moved = {f.name: move_rows(getattr(self, f.name), device) for f in fields(self) if f.name != "totals"}
        return EdgeBatch(**moved, totals=self.totals)  # type: ignore[arg-type]
