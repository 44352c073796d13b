"""Rows made from a table, and what is odd about some of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

X: TypeAlias = "list[str] | NDArray[np.float32] | sp.csr_array"
NOTHING = "what is predicted for them rests on nothing"


@dataclass(frozen=True, eq=False)
class Odd:
    """Some rows of which something is to be said.

    Args:
        rows: (o,) their numbers.
        have: What they have or lack, in words that follow "3 of 8 rows ".
        so: What becomes of them, in words.
    """

    rows: NDArray[np.int64]
    have: str
    so: str


@dataclass(frozen=True, eq=False)
class Made:
    """Rows for a network.

    Args:
        x: n texts, or (n, d) numbers, dense or sparse.
        odd: What is to be said of some of them.
    """

    x: X
    odd: list[Odd] = field(default_factory=list)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.x) if isinstance(self.x, list) else int(self.x.shape[0])

    def warn(self, things: str = "rows", stacklevel: int = 3) -> X:
        """The rows themselves; warns of what is odd."""
        for odd in self.odd:
            some = odd_rows(len(odd.rows), len(self), odd.rows.tolist(), things, odd.have, odd.so)
            warnings.warn(some, UserWarning, stacklevel=stacklevel)
        return self.x


def odd_rows(count: int, total: int, first: list[object], things: str, have: str, so: str) -> str:
    """A sentence on some rows, the first three of them by number or name.

    >>> odd_rows(4, 9, [2, 3, 5, 7], "rows", "have no word", "they are zeros")
    '4 of 9 rows have no word (rows 2, 3, 5, ...); they are zeros'
    """
    shown = ", ".join(str(row) for row in first[:3]) + (", ..." if count > 3 else "")
    name = "node" if things == "nodes" else "row"
    return f"{count:,} of {total:,} {things} {have} ({name}{'s' if count > 1 else ''} {shown}); {so}"


def empty_rows(x: sp.csr_array | NDArray[np.float32]) -> NDArray[np.int64]:
    """(e,) rows of zeros only."""
    if sp.issparse(x):
        return np.flatnonzero(np.diff(cast(sp.csr_array, x).indptr) == 0)
    return np.flatnonzero(~cast("NDArray[np.float32]", x).any(axis=1))
