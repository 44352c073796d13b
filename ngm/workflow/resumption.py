"""A run is resumed with the options it was begun with; `fit` compares settings and data."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from ngm.distributed import rank_and_world
from ngm.io.run_folder import JSON, Run
from ngm.workflow.options import TrainOptions

_FREE = ("source", "control", "seeds")  # may be others, if the data is the same
_REMEDY = "resume with the same, or train into a new folder"


def check_same_options(folder: Path, options: TrainOptions) -> None:
    """Refuses to resume a run that was begun with other options; of several processes, the first one looks."""
    if rank_and_world()[0] > 0 or not (folder / "config.json").is_file():
        return
    config = Run.open(folder).read("config.json")
    earlier = config.get("command")
    if isinstance(earlier, dict):
        free = _FREE if isinstance(config.get("data"), dict) else _FREE[1:]
        _check_same(folder, earlier, options.as_json(), free)


def _check_same(folder: Path, earlier: Mapping[str, JSON], now: Mapping[str, JSON], free: Collection[str]) -> None:
    for name in dict.fromkeys((*earlier, *now)):
        old, new = earlier.get(name), now.get(name)
        if old != new and name not in free:
            raise ValueError(
                f"{folder} was trained with {_described(name, old)}, now it is {_described(name, new)}; {_REMEDY}"
            )


def _described(name: str, value: JSON) -> str:
    """`--label topic`, `no -k`, `--no-graph`."""
    option = {"source": "the table", "k": "-k"}.get(name, f"--{name.replace('_', '-')}")
    return f"no {option}" if value is None else option if value is True else f"{option} {value}"
