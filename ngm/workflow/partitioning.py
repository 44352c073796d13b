"""A graph folder, or a table with a graph over its rows, cut into parts: what `ngm partition` does, for Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from ngm.choices import PartitionMethod
from ngm.io.run_folder import JSON, Run
from ngm.networks.input_scaling import Table
from ngm.partition.local_part import Partition
from ngm.partition.writing import partition_graph
from ngm.workflow.checks import check
from ngm.workflow.monitor import Monitor, collected_notes
from ngm.workflow.options import TrainOptions, TrainRequest
from ngm.workflow.run_summary import source_summary
from ngm.workflow.training_data import read_data


@dataclass(frozen=True, eq=False)
class PartitionResult:
    """Parts that are written.

    Args:
        partition: Where they are, and how large.
        notes: Warnings that were issued on the way.
        summary: What `ngm partition --json` prints.
    """

    partition: Partition
    notes: Sequence[str]
    summary: Mapping[str, JSON]


def partition(
    options: TrainOptions,
    output: str | Path,
    parts: int,
    *,
    method: PartitionMethod = "streaming",
    seed: int = 0,
    monitor: Monitor | None = None,
    on_step: Callable[[str], object] | None = None,
) -> PartitionResult:
    """Reads rows, labels and graph as `train` does, and writes them in parts.

    Args:
        options: What to read and what to learn.
        output: Folder for the parts; new or empty, or an older partition, which is replaced.
        parts: How many.
        method: See `ngm.partition_graph`.
        seed: Likewise; also of inputs that are made from the graph.
        monitor: Is told of downloads and of texts that are encoded.
        on_step: Called with what is done next, once to read, once to cut, and once for each part.
    """
    started, monitor = time.perf_counter(), monitor or Monitor()
    request = TrainRequest(options, output=Path(output))
    check(request)
    if options.no_graph:
        raise ValueError("--no-graph is given, and there is nothing to cut without a graph; leave it out")
    report = on_step or (lambda step: None)
    with collected_notes(monitor) as notes:
        report("reading")
        data = read_data(options, {"seed": seed}, request.trusted, monitor)
        if data.graph is None or isinstance(data.x, list):
            raise ValueError(f"{options.source} has no graph, or texts that are not encoded; give --graph or --columns")
        made = partition_graph(
            output,
            data.graph,
            cast(Table, data.x),
            data.target.y,
            parts,
            task="numbers" if data.target.task == "number" else "classes",
            validation=data.target.held_out,
            ids=None if data.ids is None else np.asarray(data.ids),
            method=method,
            seed=seed,
            data=source_summary(options, data),
            also=lambda folder: data.features.save(Run(folder)),
            on_step=report,
        )
    header = made.header
    sizes = {name: [getattr(part, name) for part in header.parts] for name in ("own", "border", "edges", "labeled")}
    summary: dict[str, JSON] = {
        "partition": str(output),
        "parts": len(made),
        "nodes": header.num_nodes,
        "edges": header.num_edges,
        "cut": round(header.cut, 6),
        "method": method,
        **{f"part_{name}": cast(JSON, counts) for name, counts in sizes.items()},
        "seconds": round(time.perf_counter() - started, 3),
        "notes": cast(JSON, list(notes)),
    }
    return PartitionResult(made, notes, summary)
