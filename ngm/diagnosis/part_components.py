"""Connected components of a graph in parts: those of each process, joined where they meet at a border."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ngm.distributed import gather_rows, max_over_ranks, rank_and_world, sum_over_ranks
from ngm.partition.border import Border
from ngm.partition.local_part import LocalPart

Ids = NDArray[np.int64]
_NOWHERE = np.iinfo(np.int64).max


class PartComponents:
    """The components that the own nodes of a process are in; all processes make theirs together.

    A process finds the components of the edges that it carries. A border node is in one of these and in one of its
    owner's, which are the same: such pairs travel to every process, and edges do not.

    Args:
        part: What this process has.
        border: Of the part.

    Attributes:
        component: (num_own,) number of each own node's component. Those below `num_shared` may have nodes in several
            processes, and have the same number in each; the others are of this process alone.
        num_shared: See above.
        count: Number of components that this process knows: the shared ones and its own.
        counted: (count,) mask that has each component in exactly one process.
    """

    def __init__(self, part: LocalPart, border: Border) -> None:
        num_here, here = part.graph.components() if len(part.nodes) else (0, torch.zeros(0, dtype=torch.int64))
        rank, num_own = rank_and_world()[0], part.num_own
        here = here + int(gather_rows(torch.tensor([num_here]))[:rank].sum())  # a number of its own in every process
        both = torch.stack([here, border.fetch(here[:num_own])], dim=1).numpy()
        pairs = torch.from_numpy(np.unique(both[num_own:], axis=0))
        ids, place = np.unique(gather_rows(pairs).numpy(), return_inverse=True)
        joined = sp.coo_array((np.ones(place.size // 2), tuple(place.reshape(-1, 2).T)), shape=(len(ids), len(ids)))
        found = (0, ids) if not len(ids) else sp.csgraph.connected_components(joined, directed=False)
        self.num_shared, number = int(found[0]), found[1]
        own = here[:num_own].numpy()
        at = np.searchsorted(ids, own).clip(max=max(len(ids) - 1, 0))
        shared = ids[at] == own if len(ids) else np.zeros(num_own, dtype=bool)
        self.component: Ids = np.empty(num_own, dtype=np.int64)
        self.component[shared] = number[at[shared]]
        alone, self.component[~shared] = np.unique(own[~shared], return_inverse=True)
        self.component[~shared] += self.num_shared
        self.count = self.num_shared + len(alone)
        self.counted = (np.arange(self.count) >= self.num_shared) | (rank == 0)

    def sums(self, values: NDArray[np.generic]) -> Ids:
        """(count,) sums of (num_own,) whole numbers over the nodes of each component, in whichever processes."""
        total = np.bincount(self.component, weights=values, minlength=self.count).astype(np.int64)
        total[: self.num_shared] = sum_over_ranks(torch.from_numpy(total[: self.num_shared])).numpy()
        return total

    def first_nodes(self, nodes: Ids) -> Ids:
        """(count,) the smallest global id in each component.

        Args:
            nodes: (num_own,) global ids.
        """
        first = np.full(self.count, _NOWHERE)
        np.minimum.at(first, self.component, nodes)
        first[: self.num_shared] = -max_over_ranks(torch.from_numpy(-first[: self.num_shared])).numpy()
        return first
