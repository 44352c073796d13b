"""Rows made from a table, and issues of some of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

X: TypeAlias = "list[str] | NDArray[np.float32] | sp.csr_array"
NO_INPUT = "what is predicted for them rests on nothing"


@dataclass(frozen=True, eq=False)
class RowIssue:
    """An issue that some rows have.

    Args:
        rows: (o,) their numbers.
        condition: What they have or lack; follows "3 of 8 rows " in the message.
        consequence: What happens to them.
    """

    rows: NDArray[np.int64]
    condition: str
    consequence: str


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Rows for a network.

    Args:
        x: n texts, or (n, d) numbers, dense or sparse.
        issues: Issues of some of them.
    """

    x: X
    issues: list[RowIssue] = field(default_factory=list)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.x) if isinstance(self.x, list) else int(self.x.shape[0])

    def warn(self, item_name: str = "rows", stacklevel: int = 3) -> X:
        """Returns the rows; warns of each issue."""
        for issue in self.issues:
            message = format_issue(
                len(issue.rows), len(self), issue.rows.tolist(), item_name, issue.condition, issue.consequence
            )
            warnings.warn(message, UserWarning, stacklevel=stacklevel)
        return self.x


def format_issue(count: int, total: int, first: list[object], item_name: str, condition: str, consequence: str) -> str:
    """Formats an issue, with the first three rows by number or name.

    >>> format_issue(4, 9, [2, 3, 5, 7], "rows", "have no word", "they are zeros")
    '4 of 9 rows have no word (rows 2, 3, 5, ...); they are zeros'
    """
    row_list = ", ".join(str(row) for row in first[:3]) + (", ..." if count > 3 else "")
    name = "node" if item_name == "nodes" else "row"
    return (
        f"{count:,} of {total:,} {item_name} {condition} ({name}{'s' if count > 1 else ''} {row_list}); {consequence}"
    )


def empty_rows(x: sp.csr_array | NDArray[np.float32]) -> NDArray[np.int64]:
    """(e,) rows of zeros only."""
    if sp.issparse(x):
        return np.flatnonzero(np.diff(cast(sp.csr_array, x).indptr) == 0)
    return np.flatnonzero(~cast("NDArray[np.float32]", x).any(axis=1))
