"""A run folder: everything about one training run, each file written whole or not at all.

config.json           estimator, settings, digests of the data, library versions, git commit
history.jsonl         one line per epoch: every cost term, |h|, the validation metric
metrics.json          results, and why training stopped
model.json            what the network needs to be made again: widths, classes
weights.safetensors   the weights that predict
checkpoint/           state.safetensors: the last epoch, for `resume`
rounds/               run folders of the rounds of an unfinished self-training or co-training
evidence/             predictions, hidden vectors and edges of the nodes, for the report (`ngm.io.node_records`)
features.json         how x was made from a table, where `ngm train` made it
report.html           the page that `ngm report` makes of all this
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TypeAlias, cast

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor

from ngm._arguments import as_path, flag, short_repr
from ngm.io.files import (
    check_writable,
    file_written_whole,
    is_temporary,
    name_failures,
    remove_all_leftovers,
    remove_folder,
    write_text,
)
from ngm.io.git_commit import head_commit

JSON: TypeAlias = "str | int | float | bool | list[JSON] | dict[str, JSON] | None"
FORMAT = "ngm-run"
VERSION = 1


_FILES = (
    "metrics.json",
    "model.json",
    "weights.safetensors",
    "history.jsonl",
    "rounds.json",
    "features.json",
    "features.safetensors",
    "log.csv",
    "report.html",
)


# what some entries of the JSON files are, whichever has them
_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("best_epoch", "epochs", "labeled", "labeled_given", "in_features", "out_features"), int),
    **dict.fromkeys(("classes", "mean", "scale", "feature_names", "graphs_used"), list),
    **dict.fromkeys(("settings", "edges", "validation", "data"), dict),
    **dict.fromkeys(("estimator", "stopped", "dtype"), str),
    "seconds": (int, float),
}


@dataclass(frozen=True)
class RunTarget:
    """Where a training writes its run.

    Args:
        folder: Run folder; None for a training that writes none.
        resume: Go on from the checkpoint in it, if there is one.
        overwrite: Replace the run that is in it.
    """

    folder: str | Path | None = None
    resume: bool = False
    overwrite: bool = False

    def check(self) -> None:
        """Refuses what does not go together."""
        flag("resume", self.resume)
        flag("overwrite", self.overwrite)
        if self.folder is not None:
            as_path("folder", self.folder)
        if self.resume and self.folder is None:
            raise ValueError("resume is True, but no folder is given to resume from; set folder=")
        if self.overwrite and self.folder is None:
            raise ValueError("overwrite is True, but no folder is given to write into; set folder=")
        if self.resume and self.overwrite:
            raise ValueError(
                "resume and overwrite are both True; choose whether to go on with the run or to replace it"
            )


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """What a training leaves in its folder.

    Args:
        metrics: Content of `metrics.json`.
        model: Content of `model.json`.
        weights: Tensors of `weights.safetensors` by name.
        history: Record of each epoch.
    """

    metrics: Mapping[str, JSON]
    model: Mapping[str, JSON]
    weights: Mapping[str, Tensor]
    history: Sequence[Mapping[str, JSON]]


@dataclass(frozen=True)
class Run:
    """A run folder by its path; reading and writing of its files."""

    folder: Path

    @classmethod
    def create(cls, folder: str | Path, overwrite: bool = False, resumable: bool = False) -> Run:
        """Makes the folder ready for a new run: checks it as `check` does, and removes what an older run left in it.

        `config.json`, which says that the folder is a run's, stays until another is written.
        """
        run = cls.check(folder, overwrite, resumable)
        with name_failures(run.folder):
            run.folder.mkdir(parents=True, exist_ok=True)
        remove_all_leftovers(run.folder)
        for name in _FILES:
            (run.folder / name).unlink(missing_ok=True)
        run.checkpoint.unlink(missing_ok=True)
        if (run.folder / "evidence" / "evidence.json").exists():
            remove_folder(run.folder / "evidence")
        if run.rounds.is_dir() and all(path.name.isdigit() or is_temporary(path) for path in run.rounds.iterdir()):
            remove_folder(run.rounds)
        for file in (run.folder / "tensorboard").glob("events.out.tfevents.*"):
            file.unlink()
        for name in ("checkpoint", "tensorboard"):
            with suppress(OSError):  # not there, or with other files in it
                (run.folder / name).rmdir()
        return run

    @classmethod
    def check(cls, folder: str | Path, overwrite: bool = False, resumable: bool = False) -> Run:
        """Refuses a folder that a run may not be written into, and leaves it as it is.

        Args:
            folder: A new or an empty one, one of a run that has not finished an epoch, or one to overwrite.
            overwrite: Whether a run in it may be replaced.
            resumable: Whether the caller could go on with that run instead; for the message.
        """
        run = cls(as_path("folder", folder))
        if run.folder.exists() and not run.folder.is_dir():
            raise FileExistsError(f"{folder} is a file; name a new or empty folder")
        if run.folder.exists() and run._holds_files() and not run._is_ours():
            raise FileExistsError(f"{folder} holds other files and no run; name a new or empty folder")
        if not overwrite and (run.is_trained or run.checkpoint.exists()):
            state = "a trained run" if run.is_trained else "a run that has begun"
            resume = ", resume=True (--resume) to go on with it" if resumable else ""
            raise FileExistsError(
                f"{folder} holds {state}; set overwrite=True (--overwrite) to replace it{resume}, or name another "
                "folder"
            )
        check_writable(run.folder)
        return run

    @classmethod
    def open(cls, folder: str | Path) -> Run:
        """Opens a folder that training has written, or says what is wrong with it."""
        run = cls(Path(folder))
        if not (run.folder / "config.json").exists():
            raise FileNotFoundError(f"{folder} is not a run folder: it has no config.json")
        config = run.read("config.json")
        if config.get("format") != FORMAT or config.get("version") != VERSION:
            raise ValueError(
                f"{run.folder / 'config.json'} says format {config.get('format')!r} version "
                f"{config.get('version')!r}; this release reads {FORMAT!r} version {VERSION}"
            )
        return run

    def _holds_files(self) -> bool:
        """Whether there is anything in the folder; what a killed process left half-written does not count."""
        return any(not is_temporary(path) for path in self.folder.iterdir())

    def _is_ours(self) -> bool:
        """Whether the folder's `config.json` is that of a run, of whatever version."""
        try:
            return self.read("config.json").get("format") == FORMAT
        except (OSError, ValueError):
            return False

    def write_config(
        self, estimator: str, settings: Mapping[str, JSON], more: Mapping[str, JSON] | None = None
    ) -> None:
        """Writes `config.json`: the settings, what they ran on, and what else there is to keep (`data`, `command`)."""
        self.write(
            "config.json",
            {
                "format": FORMAT,
                "version": VERSION,
                "estimator": estimator,
                "settings": dict(settings),
                "versions": _versions(),
                "commit": head_commit(Path.cwd()),
                **(more or {}),
            },
        )

    def write_trained(self, trained: TrainedRun) -> None:
        """Writes `metrics.json`, `model.json`, `history.jsonl` and `weights.safetensors`."""
        self.write("metrics.json", trained.metrics)
        self.write("model.json", trained.model)
        self.write_history(trained.history)
        self.save_weights(trained.weights)

    def write(self, name: str, content: Mapping[str, JSON]) -> None:
        """Writes one JSON file of the folder."""
        write_text(self.folder / name, json.dumps(content, indent=2, allow_nan=False) + "\n")

    def read(self, name: str, needs: Sequence[str] = ()) -> dict[str, JSON]:
        """Reads one JSON file of the folder, which must have the entries that are needed."""
        file = self.folder / name
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{self.folder} has no {name}: training did not get that far; resume it or train again"
            ) from None
        except ValueError as error:
            raise ValueError(f"{file} is damaged ({error}); train again") from None
        if not isinstance(content, dict):
            raise ValueError(f"{file} is damaged (not an object); train again")
        for key in needs:
            if key not in content:
                raise ValueError(f"{file} is damaged (it lacks {key!r}); train again")
        for key, kind in _KINDS.items():
            value = content.get(key)
            if (value is not None or key in needs) and not isinstance(value, kind):
                raise ValueError(f"{file} is damaged ({key} is {short_repr(value)}); train again")
        return content

    def write_history(self, epochs: Sequence[Mapping[str, JSON]]) -> None:
        """Writes `history.jsonl` whole."""
        lines = "".join(json.dumps(dict(epoch)) + "\n" for epoch in epochs)
        write_text(self.folder / "history.jsonl", lines)

    def append_history(self, epoch: Mapping[str, JSON]) -> None:
        """Adds a line to `history.jsonl`."""
        path = self.folder / "history.jsonl"
        with name_failures(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(epoch)) + "\n")

    def read_history(self) -> list[dict[str, JSON]]:
        """The epochs of `history.jsonl`."""
        file = self.folder / "history.jsonl"
        try:
            epochs = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.folder} has no history.jsonl; train again") from None
        except ValueError as error:
            raise ValueError(f"{file} is damaged ({error}); train again") from None
        for number, epoch in enumerate(epochs, start=1):
            if not isinstance(epoch, dict) or not all(isinstance(value, int | float) for value in epoch.values()):
                raise ValueError(f"{file} is damaged (line {number} is not a record of numbers); train again")
        return epochs

    def save_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Writes `weights.safetensors`."""
        save_tensors(self.folder / "weights.safetensors", weights, {})

    def load_weights(self) -> dict[str, Tensor]:
        """Reads `weights.safetensors`."""
        return load_tensors(self.folder / "weights.safetensors")[0]

    @property
    def checkpoint(self) -> Path:
        """The file that `resume` reads."""
        return self.folder / "checkpoint" / "state.safetensors"

    @property
    def rounds(self) -> Path:
        """Where an unfinished training in rounds has the run folders of its rounds, by number."""
        return self.folder / "rounds"

    @property
    def is_trained(self) -> bool:
        """Whether there are weights to predict with."""
        return (self.folder / "weights.safetensors").exists()


def save_tensors(file: Path, tensors: Mapping[str, Tensor], state: Mapping[str, JSON]) -> None:
    """Writes named tensors and a JSON object into one safetensors file, whole or not at all."""
    with file_written_whole(file) as part:
        packed = {name: t.detach().clone().contiguous() for name, t in tensors.items()}  # tied weights share memory
        # not save_file: it has a temporary file of its own, which a kill would leave, with permissions of its own
        part.write_bytes(save(packed, metadata={"state": json.dumps(dict(state))}))


def load_tensors(file: Path) -> tuple[dict[str, Tensor], dict[str, JSON]]:
    """Reads what `save_tensors` wrote: ({name: tensor}, the JSON object)."""
    if not file.exists():
        raise FileNotFoundError(f"{file.parent} has no {file.name}: training did not get that far; train again")
    try:
        with safe_open(file, "pt") as opened:
            state = json.loads((opened.metadata() or {}).get("state", "{}"))
        return load_file(file), cast("dict[str, JSON]", state)
    except (SafetensorError, ValueError, OSError) as error:
        raise ValueError(f"{file} is damaged ({error}); train again") from None


def _versions() -> dict[str, JSON]:
    names = ("neural-graph-machines", "torch", "numpy", "scipy", "scikit-learn")
    versions: dict[str, JSON] = {"python": platform.python_version()}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions
