"""What commands read from the tables they are given: columns by name, labels, what was left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm.tables import Table


def column_names(given: str, table: Table) -> list[str]:
    """The columns that a user named, several of them with commas between."""
    return [given] if given in table.columns else [name.strip() for name in given.split(",")]


def labels_of(table: Table, name: str, values: NDArray[np.generic] | None = None) -> NDArray[np.generic]:
    """(n,) labels, None or NaN where there is none; a label of blanks is none.

    Args:
        table: Has the column.
        name: Of the column.
        values: Of the column, where they were read before.
    """
    values = table.column(name) if values is None else values
    if values.dtype.kind == "f":  # whole numbers beside gaps, as pandas writes them
        there = values[np.isfinite(values)]
        if len(there) and not np.isinf(values).any() and bool((there % 1 == 0).all()):
            whole = np.empty(len(values), dtype=object)
            whole[:] = [None if v != v else int(v) for v in values.tolist()]
            return whole
    if values.dtype.kind != "O":
        return values if values.dtype.kind in "iufbU" else values.astype(str)
    there = values.tolist()
    wrong = next((v for v in there if isinstance(v, list | dict | np.ndarray)), None)
    if wrong is not None:
        raise ValueError(f"column {name!r} of {table.name} holds {str(wrong)[:30]}; give one label per row")
    out = np.empty(len(there), dtype=object)
    out[:] = [None if isinstance(v, str) and not v.strip() else v for v in there]
    return out


def bad_lines(table: Table) -> list[str]:
    """What was left out of a text file, in words."""
    if not table.bad.count:
        return []
    return [f"{table.bad.count:,} lines of {table.name} did not fit and were left out: {'; '.join(table.bad.examples)}"]
