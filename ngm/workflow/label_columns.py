"""What commands read from the tables they are given: columns by name, labels, what was left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngm._spelling import nearest
from ngm.io.graph_data import GraphData
from ngm.io.tables import Table


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


def node_labels(data: GraphData, folder: Path, label: str | None) -> NDArray[np.generic]:
    """(n,) labels of the nodes of a graph folder.

    Args:
        data: Of the folder.
        folder: What messages call it.
        label: Column of labels; that of the folder where not given.
    """
    if label is not None:
        found = _column(data, folder, label)
        if found.dtype == object and any(isinstance(value, list | np.ndarray) for value in found):
            raise ValueError(f"column {label!r} of {folder} holds lists; give a column with one label per node")
        return found
    if data.y is None:
        there = f"; its columns are {', '.join(data.columns)}" if data.columns else ""
        raise ValueError(f"{folder} does not say which column holds the labels: give --label{there}")
    return data.y


def _column(data: GraphData, folder: Path, name: str) -> NDArray[np.generic]:
    if name not in data.columns:
        there = f"its columns are {', '.join(data.columns)}" if data.columns else "it has no node columns"
        raise ValueError(f"{folder} has no column {name!r}{nearest(name, data.columns)}; {there}")
    return data.column(name)


def node_inputs(data: GraphData, folder: Path, names: list[str]) -> NDArray[np.floating]:
    """(n, d) of columns of numbers, each scaled to mean 0 and deviation 1, and of vectors, which stay as they are."""
    return np.concatenate(
        [_scaled_numbers(_column(data, folder, name.strip()), name.strip()) for name in names], axis=1
    )


def _scaled_numbers(values: NDArray[np.generic], name: str) -> NDArray[np.floating]:
    try:
        if values.dtype.kind == "O" and any(isinstance(v, np.ndarray | list | tuple) for v in values):
            return np.array([np.asarray(v, dtype=np.float32) for v in values.tolist()])  # refuses unequal lengths
        numbers = values.astype(np.float64)
    except (ValueError, TypeError):
        raise ValueError(
            f"column {name!r} holds {str(values[0])[:30]!r} and the like, which cannot be x; give columns of numbers, "
            "or of vectors of one length"
        ) from None
    missing = np.flatnonzero(~np.isfinite(numbers))
    if len(missing):
        raise ValueError(
            f"column {name!r} has no number in {len(missing):,} rows, row {missing[0]} the first; fill them in, or "
            "leave the column out"
        )
    scaled: NDArray[np.floating] = (numbers - numbers.mean()) / (numbers.std() or 1.0)
    return scaled[:, None]
