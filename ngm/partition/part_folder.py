"""The files of a partition: `parts.json` for the whole, and a folder for each part, which is a graph folder itself.

parts.json           sizes of the whole and of every part, task and classes, digests of the data, how it was cut
scale.npy            (2, d) mean and deviation of the columns of x, over the whole
part-0000/           a graph folder (graph.json, edges.npy, weight.npy) over the part's nodes: own ones, then the border
  nodes.npy          (n,) global ids of the nodes
  border_part.npy    (b,) which part owns each border node, and
  border_place.npy   (b,) its place there
  other_edges.npy    (k, 2) edges between nodes of this part that other parts carry
  x.npy              (n, d) rows; sparse ones as x_indptr.npy, x_indices.npy and x_data.npy
  y.npy              (n, ...) encoded targets; labeled.npy (n,) mask
  sample_weight.npy  (n,), where there are weights
  validation.npy     (n,) mask of the nodes to validate on, where the user marked any
  ids.npy            (n,) the users' ids, where there are any
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm._arguments import reason
from ngm.io.files import DAMAGED, write_text
from ngm.io.graph_folder import load_array, save_array
from ngm.io.run_folder import JSON
from ngm.networks.input_scaling import ScalingName, Table
from ngm.task import NumberTask, Task, class_task_from_json, number_task_from_json

FORMAT, VERSION = "ngm-parts", 1
HEADER = "parts.json"
_ROWS_AT_ONCE = 65_536
_SPARSE = ("indptr", "indices", "data")


@dataclass(frozen=True)
class PartSizes:
    """How much a part has.

    Args:
        own: Nodes that it owns.
        border: Nodes of other parts at its edges.
        edges: Edges that it carries.
        labeled: Labelled nodes among its own.
    """

    own: int
    border: int
    edges: int
    labeled: int


@dataclass(frozen=True, eq=False)
class PartsHeader:
    """What `parts.json` says of the whole.

    Args:
        num_nodes: Nodes.
        num_edges: Edges.
        directed: Whether edges have a direction.
        parts: Sizes of every part.
        task: What is to be predicted, as JSON.
        width: Columns of x.
        input_scaling: What `choose_input_scaling` says of all rows.
        cut: Share of the edges between parts.
        method: By which it was cut.
        digests: Of x, y, weights and graph, to tell them from others.
        data: What the command that wrote it knows of the data.
    """

    num_nodes: int
    num_edges: int
    directed: bool
    parts: list[PartSizes]
    task: dict[str, JSON]
    width: int
    input_scaling: ScalingName
    cut: float
    method: str
    digests: dict[str, JSON]
    data: dict[str, JSON] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Writes `parts.json`."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        write_text(folder / HEADER, json.dumps(content, indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> PartsHeader:
        """What `write` wrote."""
        file = folder / HEADER
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if (content.pop("format"), content.pop("version")) != (FORMAT, VERSION):
                raise ValueError(f"it is not of format {FORMAT!r} version {VERSION}, which this release reads")
            return cls(**content | {"parts": [PartSizes(**sizes) for sizes in content["parts"]]})
        except FileNotFoundError:
            raise FileNotFoundError(f"{folder} has no {HEADER}; give a folder that ngm partition wrote") from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{file} is damaged ({reason(error)}); partition the graph again") from None

    def read_task(self) -> Task:
        """The task, with its classes."""
        return number_task_from_json(self.task) if self.task["task"] == "numbers" else class_task_from_json(self.task)


def task_as_json(task: Task) -> dict[str, JSON]:
    """What `PartsHeader.read_task` takes back."""
    if isinstance(task, NumberTask):
        return {"task": task.name, "out_features": task.out_features, **task.as_json()}
    return task.as_json()


def is_partition(source: str | Path) -> bool:
    """Whether a source is a folder that `ngm partition` wrote; a query is none."""
    try:
        return (Path(source) / HEADER).is_file()
    except (OSError, ValueError):
        return False


def part_path(folder: Path, number: int) -> Path:
    """The folder of one part."""
    return folder / f"part-{number:04d}"


def write_rows(folder: Path, x: Table, nodes: NDArray[np.int64]) -> None:
    """Writes the rows of some nodes, piece by piece where they are dense."""
    if sp.issparse(x):
        rows = cast(sp.csr_array, x)[nodes]
        for name in _SPARSE:
            save_array(folder / f"x_{name}.npy", getattr(rows, name))
        return
    dense = cast("NDArray[np.generic]", x)
    with (folder / "x.npy").open("wb") as file:
        shape = (len(nodes), *dense.shape[1:])
        header = {"descr": dense.dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(nodes), _ROWS_AT_ONCE):
            file.write(np.ascontiguousarray(dense[nodes[start : start + _ROWS_AT_ONCE]]).data)


def read_rows(folder: Path, width: int) -> Table:
    """The rows of a part: a memory map where they are dense."""
    if (folder / "x.npy").exists():
        return read_array(folder / "x.npy", mapped=True)
    indptr, indices, data = (read_array(folder / f"x_{name}.npy") for name in _SPARSE)
    return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, width))


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[np.generic] | None]) -> None:
    """Writes those arrays that there are, each into the file of its name."""
    for name, array in arrays.items():
        if array is not None:
            save_array(folder / f"{name}.npy", array)


def read_array(file: Path, mapped: bool = False) -> NDArray[np.generic]:
    """An array of a part; copied on write where it is a memory map."""
    try:
        array = load_array(file, "c" if mapped else None)
    except FileNotFoundError:
        raise FileNotFoundError(f"{file} is not there; copy the whole part, or partition the graph again") from None
    except DAMAGED as error:
        raise ValueError(f"{file} cannot be read ({reason(error)}); partition the graph again") from None
    return array
