"""Whether a graph folder, or a graph in parts, is informative: what `ngm check` does, for Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ngm.diagnosis import Diagnosis, diagnose, diagnose_parts
from ngm.distributed import bytes_from, process_group
from ngm.io.graph_data import open_graph
from ngm.partition.local_part import Partition, open_partition
from ngm.partition.part_folder import is_partition, part_path, read_array
from ngm.workflow.label_columns import node_inputs, node_labels

_HUBS_NAMED = 3


@dataclass(frozen=True, eq=False)
class CheckResult:
    """What was found.

    Args:
        diagnosis: The figures.
        id_column: That has the users' ids, if any has.
        names: Users' id of each row that the advice may name.
    """

    diagnosis: Diagnosis
    id_column: str | None
    names: Mapping[int, str]


def check_graph(
    folder: str | Path, label: str | None = None, columns: Sequence[str] | None = None, seed: int = 0
) -> CheckResult:
    """Reads a graph with its labels, and checks it; parts are checked by several processes together.

    Args:
        folder: Graph folder, or one that `ngm partition` wrote.
        label: Column of labels, if not that of the graph folder.
        columns: Columns of numbers to use as x; parts have their rows, which are used.
        seed: Of samples and folds.
    """
    path = Path(folder)
    if is_partition(path):
        return _check_parts(path, {"--label": label, "--columns": columns}, seed)
    data = open_graph(path)
    y = node_labels(data, path, label)
    x = None if columns is None else node_inputs(data, path, list(columns))
    diagnosis = diagnose(data.graph, y, x, seed=seed)
    named = {} if data.id_column is None else {row: str(data.ids[row]) for row in _rows_named(diagnosis)}
    return CheckResult(diagnosis, data.id_column, named)


def _check_parts(folder: Path, given: Mapping[str, object], seed: int) -> CheckResult:
    for option, value in given.items():
        if value is not None:
            raise ValueError(f"{option} is given, and {folder} has rows and labels in parts; give it to ngm partition")
    partition = open_partition(folder)
    with process_group() as (rank, world):
        diagnosis = diagnose_parts(partition, seed=seed)
        own = _own_names(partition, _rows_named(diagnosis), rank, world)
        names = [json.loads(bytes_from(json.dumps(own).encode(), other)) for other in range(world)]
    column = partition.header.data.get("id")
    found = {int(row): name for some in names for row, name in some.items()}
    return CheckResult(diagnosis, None if column is None else str(column), dict(sorted(found.items())))


def _rows_named(diagnosis: Diagnosis) -> list[int]:
    """Rows that the advice may name, ascending."""
    shape = diagnosis.shape
    places = [place.row for place in (*shape.unseeded_places, *shape.hubs[:_HUBS_NAMED])]
    return sorted({*shape.isolated_seed_rows, *places})


def _own_names(partition: Partition, rows: list[int], rank: int, world: int) -> dict[int, str]:
    """Users' ids of those of the rows that are in the parts of this process."""
    names: dict[int, str] = {}
    for number in range(rank, len(partition), world):
        folder = part_path(partition.folder, number)
        if (folder / "ids.npy").exists():
            nodes = read_array(folder / "nodes.npy", mapped=True)[: partition.header.parts[number].own]
            here = np.flatnonzero(np.isin(nodes, rows))
            ids = read_array(folder / "ids.npy", mapped=True)[here]
            names |= dict(zip(nodes[here].tolist(), map(str, ids.tolist()), strict=True))
    return names
