"""What `config.json` keeps of the command and its data, so that --resume goes on with the same and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ngm.cli.training.data import Data, is_graph_folder
from ngm.cli.training.told import Told
from ngm.features import X
from ngm.run import JSON, Run
from ngm.training import Epoch

_FREE = ("source", "control", "seeds")  # may be others, if the data is the same
_REMEDY = "resume with the same, or train into a new folder"
_SAID = {"labels": "other labels", "x": "rows of other values"}


class Kept:
    """Keeps what the command was told, and what tells its data from others, as soon as there is anything to keep."""

    def __init__(self, folder: Path, told: Told, data: Data) -> None:
        self.folder, self.command, self.data, self.done = folder, told.as_json(), marks_of(told, data), False

    def __call__(self, epoch: Epoch) -> None:
        """Writes with the first epoch."""
        if not self.done:
            self.write()

    def write(self) -> None:
        """Writes now."""
        run = Run.open(self.folder)
        run.write("config.json", run.read("config.json") | {"command": self.command, "data": self.data})
        self.done = True

    def check_same(self) -> None:
        """Refuses to go on with a run that was told otherwise, or had other data."""
        before = Run.open(self.folder).read("config.json")
        command, data = before.get("command"), before.get("data")
        if isinstance(command, dict):
            self._check_command(command, _FREE if isinstance(data, dict) else _FREE[1:])
        for name, old in data.items() if isinstance(data, dict) else ():
            new = self.data.get(name, old)
            if old != new:
                said = f"{old:,} {name}, now there are {new:,}" if isinstance(old, int) else _SAID.get(name, name)
                raise ValueError(f"{self.folder} was trained on {said}; {_REMEDY}")

    def _check_command(self, before: Mapping[str, JSON], free: tuple[str, ...]) -> None:
        for name in dict.fromkeys((*before, *self.command)):
            old, new = before.get(name), self.command.get(name)
            if old != new and name not in free:
                said = f"{_given(name, old)}, now it is {_given(name, new)}"
                raise ValueError(f"{self.folder} was trained with {said}; {_REMEDY}")


def marks_of(told: Told, data: Data) -> dict[str, JSON]:
    """What tells data from others: rows, labels, x unless it is made from a graph, edges of a graph that was given."""
    labels = json.dumps([None if v != v else v for v in data.target.y.tolist()], default=str)
    marks: dict[str, JSON] = {"rows": len(data), "labels": hashlib.sha256(labels.encode()).hexdigest()}
    if data.graph is not None and (told.graph is not None or is_graph_folder(told.source or "")):
        marks["edges"] = data.graph.num_edges
    if data.features.kind != "graph":  # there the last digits depend on the machine
        marks["x"] = _sha256(data.x)
    return marks


def _sha256(x: X) -> str:
    found = hashlib.sha256()
    if isinstance(x, list):
        for text in x:
            found.update(text.encode("utf-8", "surrogatepass") + b"\0")
    else:
        for part in (x,) if isinstance(x, np.ndarray) else (x.indptr, x.indices, x.data):
            found.update(np.ascontiguousarray(part).data)
    return found.hexdigest()


def _given(name: str, value: JSON) -> str:
    """`--label topic`, `no -k`, `--no-graph`."""
    option = {"source": "the table", "k": "-k"}.get(name, f"--{name.replace('_', '-')}")
    return f"no {option}" if value is None else option if value is True else f"{option} {value}"
