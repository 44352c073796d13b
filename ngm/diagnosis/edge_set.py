"""The edges that figures are computed on: all of them in one process, or in each of several those that it carries.

Figures are sums over edges and over the edges at each node. Both go through an `EdgeSet`, so that the same formulas
serve one process and several.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.distributed import gather_rows, sum_over_ranks
from ngm.partition.border import Border

Array = TypeVar("Array", bound="NDArray[np.generic]")
Ids = NDArray[np.int64]
Doubles = NDArray[np.float64]


class EdgeSet(Protocol):
    """What is asked of all edges; every process asks the same in the same order."""

    def total(self, values: Array) -> Array:
        """(...) sums over the processes of what each has."""

    def gather(self, rows: Array) -> Array:
        """(k, ...) rows of all processes, one process after the other."""

    def at_nodes(self, values: NDArray[np.floating], ends: Ids) -> Doubles:
        """(n,) sums over the edges at each node of this process, whichever process carries them.

        Args:
            values: (m,) of some edges.
            ends: (m, 2) their ends.
        """


class AllEdges:
    """All edges are in this process."""

    def total(self, values: Array) -> Array:
        """The values themselves."""
        return values

    def gather(self, rows: Array) -> Array:
        """The rows themselves."""
        return rows

    def at_nodes(self, values: NDArray[np.floating], ends: Ids) -> Doubles:
        """Sums over the edges at each node."""
        return cast(Doubles, np.bincount(ends.ravel(), weights=np.repeat(values, 2)))


class CarriedEdges:
    """Each process has the edges that it carries.

    Args:
        border: By which sums at border nodes go to the processes that own them.
    """

    def __init__(self, border: Border) -> None:
        self._border = border

    def total(self, values: Array) -> Array:
        """Sums over the processes; floating ones in float64."""
        wide = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
        return cast(Array, sum_over_ranks(torch.from_numpy(wide)).numpy().astype(values.dtype))

    def gather(self, rows: Array) -> Array:
        """Rows of all processes."""
        return cast(Array, gather_rows(torch.from_numpy(np.ascontiguousarray(rows))).numpy())

    def at_nodes(self, values: NDArray[np.floating], ends: Ids) -> Doubles:
        """Sums over the edges at each own node."""
        here = np.bincount(ends.ravel(), weights=np.repeat(values, 2), minlength=self._border.num_nodes)
        wide = here.astype(np.float64)  # of no edges numpy makes whole numbers
        return cast(Doubles, self._border.add(torch.from_numpy(wide)).numpy())


ALL_EDGES = AllEdges()
