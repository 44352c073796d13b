"""The nodes that teachers label: all of them in one process, or some in each of several.

Teachers compute on the rows of their own process. What they need of all nodes (sums, the labelled rows, a sample) goes
through a `NodeSet`, so that the same code serves both.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias, TypeVar, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ngm.distributed import gather_rows, max_over_ranks, sum_over_ranks

Ids: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Rows = TypeVar("Rows", bound="NDArray[np.generic] | sp.csr_array")
Dense = TypeVar("Dense", bound="NDArray[np.generic]")


class NodeSet(Protocol):
    """What is asked of all nodes; every process asks the same in the same order.

    Attributes:
        count: Nodes of all processes together.
    """

    count: int

    def sum(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """(...) sums of (n, ...) values over the nodes of all processes."""

    def mean(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """(...) means of (n, ...) values over the nodes of all processes that take part."""

    def largest(self, value: int) -> int:
        """The largest number that a process has."""

    def gather(self, rows: Rows, mask: Mask) -> Rows:
        """Rows of some nodes of all processes, in the order of the nodes: (k, ...).

        Args:
            rows: (m, ...) of those in this process.
            mask: (n,) which m nodes of this process they are.
        """

    def scatter(self, rows: Dense, mask: Mask) -> Dense:
        """(m, ...) rows of this process, of what `gather` would give.

        Args:
            rows: (k, ...) of all processes.
            mask: (n,) which m nodes of this process they are.
        """

    def draw(self, mask: Mask, most: int) -> Mask:
        """(n,) mask of at most so many of the nodes in a mask, over all processes, drawn at random."""

    def sample(self, rows: NDArray[np.float32], most: int) -> NDArray[np.float32]:
        """(k, ...) rows of all nodes, or of so many drawn at random; the same in every process."""


class AllNodes:
    """All nodes are in this process.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def sum(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Sums over the nodes."""
        return np.asarray(values.sum(axis=0))

    def mean(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Means over the nodes."""
        return np.asarray(values.mean(axis=0))

    def largest(self, value: int) -> int:
        """The number itself."""
        return value

    def gather(self, rows: Rows, mask: Mask) -> Rows:
        """The rows themselves."""
        return rows

    def scatter(self, rows: Dense, mask: Mask) -> Dense:
        """The rows themselves."""
        return rows

    def draw(self, mask: Mask, most: int) -> Mask:
        """At most so many of the nodes in a mask."""
        chosen = np.zeros_like(mask)
        chosen[at_most(np.flatnonzero(mask), most)] = True
        return chosen

    def sample(self, rows: NDArray[np.float32], most: int) -> NDArray[np.float32]:
        """All rows, or so many drawn at random."""
        return rows if len(rows) <= most else rows[_drawn(len(rows), most)]


class OwnNodes:
    """Some nodes are in this process, the others in others.

    Args:
        nodes: (n,) global ids of those that are here.
        count: Nodes of all processes together.
        included: (n,) mask of those that take part; the others are not sampled, nor in means.
    """

    def __init__(self, nodes: Ids, count: int, included: Mask) -> None:
        self.nodes, self.count, self.included = nodes, count, included

    def sum(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Sums over the nodes of all processes."""
        own = np.asarray(values.sum(axis=0, dtype=np.float64))
        return np.asarray(sum_over_ranks(torch.from_numpy(own)).numpy(), dtype=values.dtype)

    def mean(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Means over the nodes of all processes that take part."""
        count = float(self.sum(self.included.astype(np.float64)))
        return np.asarray(self.sum(values[self.included]) / values.dtype.type(max(count, 1)))

    def largest(self, value: int) -> int:
        """The largest number that a process has."""
        return int(max_over_ranks(torch.tensor([value]))[0])

    def gather(self, rows: Rows, mask: Mask) -> Rows:
        """Rows of all processes, in the order of the nodes."""
        order = np.argsort(self._all(mask), kind="stable")
        if not sp.issparse(rows):
            return cast(Rows, _gathered(cast("NDArray[np.generic]", rows))[order])
        sparse = cast(sp.csr_array, rows)
        counts, columns = (a.astype(np.int64) for a in (np.diff(sparse.indptr), sparse.indices))  # int32 in some ranks
        lengths, indices = _gathered(counts), _gathered(columns)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        whole = sp.csr_array((_gathered(sparse.data), indices, starts), shape=(len(lengths), sparse.shape[1]))
        return cast(Rows, whole[order])

    def scatter(self, rows: Dense, mask: Mask) -> Dense:
        """Those of this process."""
        return cast(Dense, rows[np.searchsorted(np.sort(self._all(mask)), self.nodes[mask])])

    def draw(self, mask: Mask, most: int) -> Mask:
        """At most so many of the nodes in a mask, over all processes."""
        return mask & np.isin(self.nodes, at_most(np.sort(self._all(mask)), most))

    def sample(self, rows: NDArray[np.float32], most: int) -> NDArray[np.float32]:
        """Rows of all nodes that take part, or of those among so many drawn at random."""
        chosen = self.included
        if self.count > most:
            chosen = chosen & np.isin(self.nodes, _drawn(self.count, most))
        return self.gather(rows[chosen], chosen)

    def _all(self, mask: Mask) -> Ids:
        """(k,) ids of the nodes in the masks of all processes, one process after the other."""
        return cast(Ids, _gathered(self.nodes[mask]))


def at_most(ids: Ids, count: int) -> Ids:
    """So many of the ids, drawn at random, in their order."""
    return ids if len(ids) <= count else np.sort(np.random.default_rng(0).choice(ids, count, replace=False))


def _drawn(count: int, most: int) -> Ids:
    return np.random.default_rng(0).choice(count, most, replace=False)


def _gathered(rows: NDArray[np.generic]) -> NDArray[np.generic]:
    return gather_rows(torch.from_numpy(np.ascontiguousarray(rows))).numpy()
