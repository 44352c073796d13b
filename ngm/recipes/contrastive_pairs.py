"""Pairs of neighbours, which pull h together, and others, which hold it apart (Hadsell, Chopra and LeCun 2006)."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ngm.distances import l2, squared_l2
from ngm.graph import Graph
from ngm.negatives import NeighborLookup

_DRAWS = 20  # times that a pair of neighbours is drawn again before it is left out


def embedding_loss(h: Tensor, joined: Tensor, apart: Tensor, margin: float) -> Tensor:
    """Mean over neighbours of |h_u - h_v|² plus mean over the other pairs of max(0, margin - |h_u - h_v|)².

    Args:
        h: (b, d) one row per node.
        joined: (2, k) positions in h of the ends of edges.
        apart: (2, j) positions of pairs that are no edge; may be empty.
        margin: Distance from which on a pair is far enough apart.
    """
    # embedding, not h[ends]: its gradient is summed in a fixed order, so same seed gives same bits
    loss = squared_l2(*F.embedding(joined, h).unbind()).mean()
    if apart.shape[1]:
        loss = loss + (margin - l2(*F.embedding(apart, h).unbind())).clamp(min=0).square().mean()
    return loss


class PairSampler:
    """Draws edges in proportion to their weights, and random pairs that are no edge.

    Args:
        graph: The graph; direction does not matter.
        seed: Same seed, same pairs.
    """

    def __init__(self, graph: Graph, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 1])
        self.num_nodes = graph.num_nodes
        self.edges = graph.edges.numpy()
        self.weight = np.cumsum(graph.weight.numpy(), dtype=np.float64)
        if not len(self.weight) or self.weight[-1] == 0:
            raise ValueError(f"{graph} has no edge with a weight above 0 to draw; give some of them a weight")
        self.neighbors = NeighborLookup(graph.num_nodes, graph.edges)

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        """(2, count) ends of edges, with replacement, and (2, up to count) other pairs of two different nodes."""
        which = np.searchsorted(self.weight, self.rng.random(count) * self.weight[-1], side="right")
        return torch.from_numpy(self.edges[which].T.copy()), torch.from_numpy(self._apart(count))

    def _apart(self, count: int) -> NDArray[np.int64]:
        pairs = self.rng.integers(self.num_nodes, size=(2, count))
        for _ in range(_DRAWS):
            close = self.neighbors.joined(pairs)
            if not close.any():
                return pairs
            pairs[:, close] = self.rng.integers(self.num_nodes, size=(2, int(close.sum())))
        return pairs[:, ~self.neighbors.joined(pairs)]  # almost all nodes are neighbours
