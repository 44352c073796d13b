"""Sparse steps over parts: each process multiplies by the edges that it carries, and border sums go to their owners.

A step fetches the values of border nodes, multiplies, and adds up what several processes have for a node: two rows
travel for each border node, whatever the number of edges. No edge is kept by more than one process.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.choices import Influence
from ngm.distributed import max_over_ranks, sum_over_ranks
from ngm.partition.border import Border
from ngm.partition.local_part import LocalPart
from ngm.propagation.kernel import Shares, largest_entry, pull, weighted_product


class PartWeights:
    """How strongly each node is pulled by each other node, by the edges that a process carries.

    All processes make theirs together.

    Args:
        part: What this process has.
        influence: As for `pull`.
        factor: That weights are multiplied by.
    """

    def __init__(self, part: LocalPart, influence: Influence = "both", factor: float = 1.0) -> None:
        self.border = Border(part)
        matrix = pull(part.graph, influence, factor)
        wide = torch.tensor([float(matrix.dtype == np.float64)])
        if float(max_over_ranks(wide)[0]):  # all ranks compute in the type that one of them needs
            matrix = matrix.astype(np.float64)
        matrix.data = matrix.data * matrix.dtype.type(factor)
        self.matrix: sp.csr_array = matrix
        self._shares = Shares(matrix, np.ones(len(part.nodes)))

    def __matmul__(self, z: Tensor) -> Tensor:
        """(num_own, c) sums over neighbours of (num_own, c) values."""
        return self.border.add(self._shares @ self.border.fetch(z))

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """(num_own,) sum of each own node's weights, over all processes."""
        local = np.asarray(self.matrix.sum(axis=1), dtype=np.float64).ravel()
        return self.border.add(torch.from_numpy(local)).numpy()


class PartShares:
    """Row v says how much node v takes from each node: diag(rows) (W + loop I), over all processes.

    Multiplies as `Shares` does; values are those of the own nodes of each process.

    Args:
        weights: W.
        rows: (num_own,) factor of each row.
        loop: Weight of each node for itself.
        total: (num_own,) what each row was divided by; see `Shares`.
    """

    def __init__(
        self,
        weights: PartWeights,
        rows: NDArray[np.floating],
        loop: float = 0.0,
        total: NDArray[np.floating] | None = None,
    ) -> None:
        self._weights, self._loop = weights, loop
        self._rows = torch.from_numpy(np.ascontiguousarray(rows))[:, None]
        self.total = torch.from_numpy(np.ones(len(rows)) if total is None else np.ascontiguousarray(total))

    def __matmul__(self, z: Tensor) -> Tensor:
        """(num_own, c) -> (num_own, c)."""
        taken = self._weights @ z
        if self._loop:
            taken.add_(z, alpha=self._loop)
        return taken.mul_(self._rows.to(z.dtype))

    def product(self, a: Tensor, b: Tensor) -> float:
        """Sum over the nodes of all processes of total * <a, b>."""
        own = weighted_product(a, b, self.total)
        return float(sum_over_ranks(torch.tensor([own], dtype=torch.float64))[0])

    def largest(self, change: Tensor) -> float:
        """Largest absolute entry over all processes."""
        return float(max_over_ranks(torch.tensor([largest_entry(change)], dtype=torch.float64))[0])


def part_walk_shares(weights: PartWeights) -> PartShares:
    """As `walk_shares`: the weighted mean over a node's neighbours and itself, at weight 1."""
    total = weights.sums + 1
    return PartShares(weights, 1 / total, loop=1.0, total=total)
