"""What a graph can be built from on disk: columns of a table, or a matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm._arguments import reason
from ngm.io.files import DAMAGED
from ngm.io.graph_folder import load_array
from ngm.io.tables import Table

MATRICES = (".npy", ".npz")
_MAX_LISTED = 5  # row numbers in a message


def read_matrix(file: Path) -> NDArray[np.generic] | sp.csr_array:
    """Reads (n, d) rows: `.npy`, `.npz` with one array or one called `x`, or a scipy sparse matrix in `.npz`.

    Args:
        file: `.npy` is mapped into memory, not read.
    """
    if not file.is_file():
        raise FileNotFoundError(f"cannot find {file}; give a table, or a matrix as .npy or .npz")
    try:
        if file.suffix == ".npy":
            return _two_dimensions(load_array(file, "r"))
        with np.load(file, allow_pickle=False) as arrays:
            names = list(arrays.files)
            if {"format", "shape", "data"} <= set(names):
                return sp.csr_array(sp.load_npz(file))
            name = "x" if "x" in names else names[0] if len(names) == 1 else None
            if name is not None:
                return _two_dimensions(arrays[name])
    except DAMAGED as error:
        raise ValueError(f"{file} cannot be read as a matrix ({reason(error)})") from None
    raise ValueError(f"{file} holds the arrays {', '.join(names) or 'none'}; give one array, or call it 'x'")


def column_texts(table: Table, names: Sequence[str]) -> list[str]:
    """The n texts; those of several columns are joined by a blank, missing ones are empty.

    Args:
        table: Any table.
        names: Columns that hold texts.
    """
    parts = []
    for name in names:
        values = table.column(name)
        if values.dtype.kind not in "OUT" or not all(v is None or isinstance(v, str) for v in values.tolist()):
            raise ValueError(f"column {name!r} of {table.name} holds {values.dtype.name}, not text; choose another")
        parts.append(["" if value is None else value for value in values.tolist()])
    return [" ".join(row) for row in zip(*parts, strict=True)]


def column_rows(table: Table, names: Sequence[str]) -> NDArray[np.float32]:
    """(n, d) the numbers of some columns, side by side.

    Args:
        table: Any table.
        names: Columns that hold numbers, or lists of equally many numbers, none of them missing.
    """
    return np.concatenate([_numbers(table, name) for name in names], axis=1)


def _numbers(table: Table, name: str) -> NDArray[np.float32]:
    """(n, 1) numbers, or (n, d) where the column holds lists."""
    values = table.column(name)
    items = values.tolist()
    gaps = np.array([row for row, value in enumerate(items) if _is_gap(value)])
    if len(gaps):
        raise ValueError(
            f"column {name!r} of {table.name} has no number in {len(gaps):,} of {len(table):,} rows "
            f"({row_numbers(gaps)}); fill them in or drop those rows"
        )
    try:
        return np.array(items, dtype=np.float32).reshape(len(items), -1)
    except (ValueError, TypeError):
        raise ValueError(
            f"column {name!r} of {table.name} holds {items[0]!r}, which is not a number or a list of numbers "
            "as long as the others; choose another"
        ) from None


def distinct_ids(table: Table, name: str) -> None:
    """Checks that a column can be ids: a value in every row, and no value twice."""
    values = table.column(name).tolist()
    gaps = np.array([row for row, value in enumerate(values) if _is_gap(value)])
    if len(gaps):
        rows_text = row_numbers(gaps)
        raise ValueError(
            f"column {name!r} of {table.name} has no id in {len(gaps):,} rows ({rows_text}); every row needs one"
        )
    first: dict[object, int] = {}
    for row, value in enumerate(values):
        first_row = first.setdefault(value, row)
        if first_row != row:
            raise ValueError(
                f"column {name!r} of {table.name} has {value!r} in rows {first_row} and {row}; ids must differ"
            )


def _is_gap(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def row_numbers(rows: NDArray[np.int64]) -> str:
    """Says which rows, the first of them by number.

    >>> row_numbers(np.array([3])), row_numbers(np.arange(9))
    ('row 3', 'rows 0, 1, 2, 3, 4, ...')
    """
    listed = ", ".join(map(str, rows[:_MAX_LISTED].tolist())) + (", ..." if len(rows) > _MAX_LISTED else "")
    return f"row{'s' if len(rows) > 1 else ''} {listed}"


def _two_dimensions(x: NDArray[np.generic] | np.lib.npyio.NpzFile) -> NDArray[np.generic]:
    if not isinstance(x, np.ndarray):
        x.close()
        raise ValueError("it is an archive of arrays; name it .npz")
    if x.ndim != 2 or x.dtype.kind not in "iufb":
        raise ValueError(f"it holds {x.dtype.name} of shape {x.shape}, not (n, d) numbers")
    return x
