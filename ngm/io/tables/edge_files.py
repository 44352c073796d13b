"""Edges of DuckDB sorted, merged and written as `edges.npy` and `weight.npy`, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import duckdb
import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ngm.io.tables.query import WORK, refusals

Merge = Literal["max", "sum", "mean"]
_CHUNK_EDGES = 4_000_000  # edges at a time
_MAX_CHUNKS = 64  # each looks through the whole table once
_SAMPLE = 100_000  # keys that tell where to cut


def write_edges(connection: duckdb.DuckDBPyConnection, folder: Path, weighted: bool, merge: Merge) -> int:
    """Sorts, merges and writes the edges of the table `coded` (see `edge_ends`). The table is gone afterwards.

    Each piece is a range of keys, so that all rows of an edge are in one piece, and no more than a piece is sorted and
    held at a time.

    Args:
        connection: Has the table `coded` with `k` (source << 32 | target) and, if `weighted`, `w`.
        folder: Where `edges.npy` and `weight.npy` go.
        weighted: Whether there are weights; all are 1 where not.
        merge: Weight of a repeated edge.

    Returns:
        Number of edges.
    """
    columns = "k, w" if weighted else "k"
    order = columns if merge != "max" else "k"  # sums in one order are the same bits
    with refusals("the table of edges"):
        with _npy(folder / "edges.npy", "<i8", (2,)) as edges, _npy(folder / "weight.npy", "<f4", ()) as weight:
            for low, high in _ranges(connection):
                chunk = connection.execute(
                    f"SELECT {columns} FROM {WORK}.coded WHERE k >= {low} AND k < {high} ORDER BY {order}"
                ).fetchnumpy()
                key, value = _merged(chunk["k"], chunk.get("w"), merge)
                edges.write(np.stack([key >> 32, key & 0xFFFFFFFF], axis=1))
                weight.write(value)
        connection.execute(f"DROP TABLE {WORK}.coded")
    return edges.rows


def _ranges(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, int]]:
    """Ranges of keys, from 0 to the end, with about as many rows each as a piece should have."""
    rows = int(connection.execute(f"SELECT count(*) FROM {WORK}.coded WHERE k >= 0").fetchall()[0][0])
    num_chunks = min(-(-rows // _CHUNK_EDGES), _MAX_CHUNKS)
    cuts: list[int] = []
    if num_chunks > 1:
        one_in = max(rows // _SAMPLE, 1)
        sql = f"SELECT k FROM {WORK}.coded WHERE k >= 0 AND hash(k) % {one_in} = 0 ORDER BY k"
        sample = connection.execute(sql).fetchnumpy()["k"]
        positions = np.arange(1, num_chunks) * len(sample) // num_chunks
        cuts = np.unique(sample[positions]).tolist() if len(sample) else []
    yield from zip([0, *cuts], [*cuts, 2**63 - 1], strict=True)


def _merged(
    k: NDArray[np.int64], w: NDArray[np.float32] | None, merge: Merge
) -> tuple[NDArray[np.int64], NDArray[np.generic]]:
    """(r,) different keys of sorted ones, and (r,) their weights."""
    if not len(k):
        return k.astype(np.int64), np.zeros(0)
    first = np.concatenate([[True], k[1:] != k[:-1]])
    starts = np.flatnonzero(first)
    count = np.diff(starts, append=len(k))
    if w is None:
        return k[starts], count if merge == "sum" else np.ones(len(starts))
    if len(starts) == len(k):
        return k, w
    if merge == "max":
        return k[starts], np.maximum.reduceat(w, starts)
    total = np.add.reduceat(w.astype(np.float64), starts)
    return k[starts], total / count if merge == "mean" else total


@dataclass
class _Writer:
    """An .npy file that grows."""

    file: BinaryIO
    dtype: str
    inner: tuple[int, ...]
    rows: int = 0

    def write(self, array: NDArray[np.generic]) -> None:
        """Appends rows."""
        self.file.write(np.ascontiguousarray(array, dtype=self.dtype).data)
        self.rows += len(array)

    def header(self) -> int:
        """Writes the header for so many rows at the start, and says where it ends."""
        self.file.seek(0)
        shape = (self.rows, *self.inner)
        npy.write_array_header_1_0(self.file, {"descr": self.dtype, "fortran_order": False, "shape": shape})
        return self.file.tell()


@contextmanager
def _npy(path: Path, dtype: str, inner: tuple[int, ...]) -> Iterator[_Writer]:
    with path.open("wb") as file:
        writer = _Writer(file, dtype, inner)
        end = writer.header()
        yield writer
        if writer.header() != end:  # numpy leaves room in the header for an array that grows
            raise RuntimeError(f"the header of {path} has no room for {writer.rows} rows")
