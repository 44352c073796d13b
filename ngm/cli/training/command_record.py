"""What `config.json` keeps of the command, so that --resume goes on with the same; `fit` sees to the data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ngm.cli.training.options import Told
from ngm.distributed import rank_and_world
from ngm.io.run_folder import JSON, Run
from ngm.training import Epoch

_FREE = ("source", "control", "seeds")  # may be others, if the data is the same
_REMEDY = "resume with the same, or train into a new folder"


class Kept:
    """Keeps what the command was told, as soon as there is anything to keep."""

    def __init__(self, folder: Path, told: Told) -> None:
        self.folder, self.command, self.done = folder, told.as_json(), False

    def __call__(self, epoch: Epoch) -> None:
        """Writes with the first epoch."""
        if not self.done:
            self.write()

    def write(self) -> None:
        """Writes now, in the first of several processes."""
        if rank_and_world()[0] > 0:
            return
        run = Run.open(self.folder)
        run.write("config.json", run.read("config.json") | {"command": self.command})
        self.done = True

    def check_same(self) -> None:
        """Refuses to go on with a run that was told otherwise; the first of several processes looks."""
        if rank_and_world()[0] > 0 or not (self.folder / "config.json").is_file():
            return
        before = Run.open(self.folder).read("config.json")
        command = before.get("command")
        if isinstance(command, dict):
            self._check_command(command, _FREE if isinstance(before.get("data"), dict) else _FREE[1:])

    def _check_command(self, before: Mapping[str, JSON], free: tuple[str, ...]) -> None:
        for name in dict.fromkeys((*before, *self.command)):
            old, new = before.get(name), self.command.get(name)
            if old != new and name not in free:
                said = f"{_given(name, old)}, now it is {_given(name, new)}"
                raise ValueError(f"{self.folder} was trained with {said}; {_REMEDY}")


def _given(name: str, value: JSON) -> str:
    """`--label topic`, `no -k`, `--no-graph`."""
    option = {"source": "the table", "k": "-k"}.get(name, f"--{name.replace('_', '-')}")
    return f"no {option}" if value is None else option if value is True else f"{option} {value}"
