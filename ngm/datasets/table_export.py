"""A data set as plain tables, as a user would have it: to try the commands on, or to take elsewhere."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ngm.datasets.dataset import Dataset
from ngm.io.files import file_written_whole
from ngm.io.tables import read_table
from ngm.io.tables.ingest import copy_to


def write_tables(data: Dataset, folder: str | Path) -> list[Path]:
    """Writes what a learner may see and, apart from it, the test rows as new ones.

    Texts become `NAME.csv` and `new_NAME.csv` with columns id, text, label, split; anything else `NAME.parquet` and
    `new_NAME.parquet`, where `x` is a list of numbers (none where it is the graph itself). Where there is a graph,
    `NAME_edges.csv` has the edges among what a learner may see, and `new_NAME_edges.csv` those from new rows to it.

    Args:
        data: Any data set with one label per row, or several, which are joined by ";".
        folder: Made where it is not there; files of these names are replaced.

    Returns:
        The files.
    """
    new = np.zeros(len(data.y), dtype=bool)
    new[data.test] = True
    path = Path(folder)
    files = []
    for prefix, rows in (("", np.flatnonzero(~new)), ("new_", np.flatnonzero(new))):
        columns = _columns(data, rows)
        if isinstance(data.x, list):
            files.append(_csv(path / f"{prefix}{data.name}.csv", list(columns), zip(*columns.values(), strict=True)))
        else:
            files.append(_parquet(path / f"{prefix}{data.name}.parquet", columns))
    if data.graph is not None:
        ends = data.graph.edges.numpy()
        ends = np.where(new[ends[:, :1]] & ~new[ends[:, 1:]], ends, ends[:, ::-1])  # the new end first, if one is
        apart, both = new[ends].any(axis=1), new[ends].all(axis=1)
        for prefix, edges in (("", ends[~apart]), ("new_", ends[apart & ~both])):
            files.append(_csv(path / f"{prefix}{data.name}_edges.csv", ["source", "target"], edges.tolist()))
    return files


def _columns(data: Dataset, rows: NDArray[np.int64]) -> dict[str, Sequence[object]]:
    """Id, x or text, label and split of some rows; a label that a learner may not see is empty."""
    split = np.full(len(data.y), "unlabelled", dtype=object)
    split[data.train], split[data.validation], split[data.test] = "train", "validation", "test"
    labels = [_label(data, row) if split[row] != "unlabelled" else None for row in rows.tolist()]
    x: dict[str, Sequence[object]] = {}
    if isinstance(data.x, list):
        x = {"text": [data.x[row] for row in rows.tolist()]}
    elif data.x.shape[1] != len(data.y):
        x = {"x": _lists(data.x, rows)}
    return {"id": rows.tolist(), **x, "label": labels, "split": split[rows].tolist()}


def _label(data: Dataset, row: int) -> str:
    if data.y.ndim == 2:
        return ";".join(data.classes[i] for i in np.flatnonzero(data.y[row] == 1).tolist())
    return data.classes[int(data.y[row])]


def _lists(x: sp.csr_matrix | sp.csr_array | NDArray[np.float32], rows: NDArray[np.int64]) -> list[object]:
    some = sp.csr_array(x)[rows].toarray() if sp.issparse(x) else np.asarray(x)[rows]
    return list(some.tolist())


def _csv(file: Path, columns: Sequence[str], rows: Iterator[Sequence[object]] | Sequence[Sequence[object]]) -> Path:
    with file_written_whole(file) as part, part.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows([columns, *rows])
    return file


def _parquet(file: Path, columns: dict[str, Sequence[object]]) -> Path:
    arrays: dict[str, ArrayLike] = {}
    for name, values in columns.items():
        arrays[name] = np.empty(len(values), dtype=object) if name != "id" else np.array(values, dtype=np.int64)
        if name != "id":
            arrays[name][:] = values  # type: ignore[index]
    table = read_table(arrays)
    with file_written_whole(file) as part:
        table.connection.execute(copy_to(table.sql, part))
    return file
