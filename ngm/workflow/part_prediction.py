"""Predictions for a graph in parts: each process for the nodes of its own parts, in one file that the first writes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.distributed import process_group, rows_to_first
from ngm.estimators.base import NGMEstimator
from ngm.estimators.loading import load
from ngm.partition.local_part import LocalPart, Partition, open_partition
from ngm.workflow.prediction_files import Write, check_output, written
from ngm.workflow.prediction_result import OnRows, PredictionProgress, PredictOptions, PredictResult
from ngm.workflow.predictions import Column, Predicted, predicted, sql_type

BATCH_SIZE = 4096  # rows of a part; not of a process, so that digits do not depend on the number of these
WINDOW = 65_536  # nodes that are written at once


@dataclass(frozen=True, eq=False)
class _Rows:
    """Some nodes with what the network says of them.

    Args:
        nodes: (b,) numbers in the whole graph.
        outputs: (b, c).
        ids: (b,) the users' ids, or the numbers where there are none.
    """

    nodes: NDArray[np.int64]
    outputs: NDArray[np.floating]
    ids: NDArray[np.generic]

    def take(self, rows: slice | NDArray[np.int64]) -> _Rows:
        """Some of them."""
        return _Rows(self.nodes[rows], self.outputs[rows], self.ids[rows])

    @staticmethod
    def joined(some: list[_Rows]) -> _Rows:
        """All of them, one after the other."""
        nodes, outputs = (np.concatenate([getattr(rows, name) for rows in some]) for name in ("nodes", "outputs"))
        return _Rows(nodes, outputs, np.concatenate([rows.ids for rows in some]))


def predict_parts(
    folder: Path, source: str, output: Path, options: PredictOptions, on_rows: OnRows | None = None
) -> PredictResult:
    """Predicts every node of a graph in parts, as `predict` does; nodes are written in the order of the whole graph.

    Args:
        folder: Run folder; every process reads it.
        source: Folder that `ngm partition` wrote; a process needs its own parts of it.
        output: File, written by the first process.
        options: Those of a table must not be given.
        on_rows: Called in the first process.
    """
    started = time.perf_counter()
    _check_options(source, options)
    with process_group() as (rank, world):
        if rank == 0:
            check_output(output, source, options.spreadsheet_safe)
        partition, model = open_partition(source), load(folder)
        _check_width(folder, partition, model)
        data = partition.header.data
        names, separator = cast("list[str] | None", data.get("label_names")), str(data.get("label_separator") or ";")
        predictions = predicted(model, options.all_classes, options.top, names, separator)
        progress, total = PredictionProgress("nodes", predictions, None), partition.header.num_nodes
        numbers = range(rank, len(partition), world)
        parts = [partition.local(number, len(partition)) for number in numbers]  # one by one, not joined
        key = Column(str(data.get("id") or "node"), sql_type(_ids(parts[0])))
        with ExitStack() as stack:
            write: Write | None = None
            if rank == 0:
                write = stack.enter_context(written(output, [key, *predictions.columns], options.spreadsheet_safe))
            for rows in _windows(parts, predictions, total):
                if write is not None:
                    write([rows.ids.tolist(), *progress.take(rows.outputs)])
                    if on_rows is not None:
                        on_rows(progress.count, total, "nodes")
        return progress.result(output, time.perf_counter() - started)


def _check_options(source: str, options: PredictOptions) -> None:
    named: dict[str, object] = {"--text": options.text, "--id": options.id, "--label": options.label}
    named |= {"--header": options.header, "--delimiter": options.delimiter}
    for option, value in named.items():
        if value is not None:
            raise ValueError(f"{option} is given, and {source} has rows and ids in parts already; leave it out")


def _check_width(folder: Path, partition: Partition, model: NGMEstimator) -> None:
    width = getattr(model, "n_features_in_", None)
    if width != partition.header.width:
        reads = "texts" if width is None else f"rows of {width:,} numbers"
        raise ValueError(
            f"{folder} reads {reads}, and {partition.folder} has rows of {partition.header.width:,} numbers; give the "
            "parts of a graph with the same columns"
        )


def _ids(part: LocalPart) -> NDArray[np.generic]:
    """(num_own,) the users' ids; numbers in the whole graph where there are none."""
    return (part.nodes if part.ids is None else part.ids)[: part.num_own]


def _windows(parts: list[LocalPart], predictions: Predicted, total: int) -> Iterator[_Rows]:
    """All nodes in their order, window by window; on ranks other than the first, none in each.

    Args:
        parts: Of this rank.
        predictions: Has the network.
        total: Number of nodes of the whole graph.
    """
    streams = [_stream(part, predictions) for part in parts]
    waiting = [next(stream) for stream in streams]
    for end in range(WINDOW, total + WINDOW, WINDOW):
        found = []
        for i, stream in enumerate(streams):
            while len(waiting[i].nodes) and waiting[i].nodes[-1] < end:
                found.append(waiting[i])
                waiting[i] = next(stream)
            count = int(np.searchsorted(waiting[i].nodes, end))
            found.append(waiting[i].take(slice(count)))
            waiting[i] = waiting[i].take(slice(count, None))
        yield _to_first(_Rows.joined(found))


def _stream(part: LocalPart, predictions: Predicted) -> Iterator[_Rows]:
    """The own nodes of a part, ascending, in batches that do not depend on anything else; an empty one at the end."""
    ids = _ids(part)
    for start in range(0, part.num_own, BATCH_SIZE):
        rows = slice(start, min(start + BATCH_SIZE, part.num_own))
        last = _Rows(part.nodes[rows], predictions.outputs(part.x[rows]), ids[rows])
        yield last
    while True:
        yield last.take(slice(0))


def _to_first(rows: _Rows) -> _Rows:
    """Those of all ranks in the order of their nodes, on the first rank."""
    kind, width = rows.ids.dtype, rows.ids.dtype.itemsize
    encoded = np.ascontiguousarray(rows.ids).view(np.uint8).reshape(-1, width)  # ids may be strings
    nodes, outputs, names = (
        rows_to_first(torch.from_numpy(np.ascontiguousarray(array))).numpy()
        for array in (rows.nodes, rows.outputs, encoded)
    )
    gathered = _Rows(nodes, outputs, np.ascontiguousarray(names).view(kind).reshape(-1))
    return gathered.take(np.argsort(nodes, kind="stable"))
