"""Values of border nodes: from the processes that own them, and back to these as sums.

Who sends which rows to whom is settled once, when a `Border` is made; after that, a step is one all-to-all of rows in
each direction, and nothing but values travels.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ngm.distributed import exchange_rows, gather_rows, rank_and_world
from ngm.partition.local_part import LocalPart


class Border:
    """The lists by which processes exchange rows of border nodes; all processes make theirs together.

    Args:
        part: What this process has.
    """

    def __init__(self, part: LocalPart) -> None:
        rank, world = rank_and_world()
        self.num_own, self.num_nodes = part.num_own, len(part.nodes)
        order = np.argsort(part.owner, kind="stable")
        self._order = torch.from_numpy(order)  # border nodes by the rank that owns them
        self._back = torch.from_numpy(np.argsort(order))
        here = torch.from_numpy(np.bincount(part.owner, minlength=world))
        self._here: list[int] = here.tolist()  # border nodes that each rank owns
        self._there: list[int] = gather_rows(here[None])[:, rank].tolist()  # own nodes on the border of each rank
        places = torch.from_numpy(np.ascontiguousarray(part.place))[self._order]
        self._places = exchange_rows(places, self._here, self._there)

    @property
    def rows_sent(self) -> tuple[int, int]:
        """(rows that this process sends in a `fetch`, rows that it sends in an `add`)."""
        return sum(self._there), sum(self._here)

    def fetch(self, own: Tensor) -> Tensor:
        """(n, ...) values of all nodes of the part, those of the border as the processes have them that own these.

        Args:
            own: (num_own, ...) values of the own nodes.
        """
        received = exchange_rows(own[self._places], self._there, self._here)
        return torch.cat([own, received[self._back]])

    def add(self, values: Tensor) -> Tensor:
        """(num_own, ...) values of the own nodes, each with those added that other processes have for it.

        Args:
            values: (n, ...) what this process has for the nodes of its part, border included.
        """
        received = exchange_rows(values[self.num_own :][self._order], self._here, self._there)
        return values[: self.num_own].index_add(0, self._places, received)
