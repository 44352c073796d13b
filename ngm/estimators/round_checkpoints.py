"""What a training in rounds keeps in its run folder, so that it can go on after an interruption.

checkpoint/state.safetensors   the rounds that are done, and what the next one is trained on
rounds/3/                      run folder of round 3: of the one that is being trained and of the best so far

`rounds/` is removed once the best round is written into the run folder itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.distributed import bytes_from, rank_and_world
from ngm.estimators import persistence
from ngm.estimators.base import trained_model
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.data_digests import data_digests
from ngm.estimators.loading import load
from ngm.estimators.round_records import Round, RoundTeachers, write_rounds
from ngm.estimators.training_rounds import Known
from ngm.graph import Graph
from ngm.io.files import remove_all_leftovers, remove_folder
from ngm.io.hashing import digest
from ngm.io.run_folder import JSON, Run, RunTarget, load_tensors, save_tensors
from ngm.io.run_writer import RunWriter
from ngm.networks.specifications import network_of
from ngm.recipes.parameters import NetworkFunction, parameters_of
from ngm.recipes.problem import HeldOut

_LOADED = ("config.json", "model.json", "metrics.json", "history.jsonl", "weights.safetensors")


@dataclass(frozen=True, eq=False)
class Progress:
    """Where a training in rounds stands between two of them.

    Args:
        arrays: What the next round is trained on, by name; of an ended training, what the last one was.
        history: Rounds that are done.
        stopped: Why it has ended, in words; None while there is another round to train.
        finished: Whether the best round is in the run folder itself.
        teachers: Which labelled nodes for the next round.
    """

    arrays: Mapping[str, NDArray[np.generic]]
    history: Sequence[Round] = ()
    stopped: str | None = None
    finished: bool = False
    teachers: RoundTeachers | None = None

    def from_first(self) -> Progress:
        """That of the first rank, on every rank: all are to train on the same labels."""
        if rank_and_world()[1] == 1:
            return self
        tensors = safetensors.torch.load(bytes_from(safetensors.torch.save(self._tensors())))
        return Progress._made(tensors, json.loads(bytes_from(json.dumps(self._state()).encode())))

    def save(self, file: Path, settings: Mapping[str, JSON]) -> None:
        """Writes it whole, with the settings of the method."""
        save_tensors(file, self._tensors(), {**self._state(), "settings": dict(settings)})

    @classmethod
    def load(cls, file: Path, settings: Mapping[str, JSON]) -> Progress:
        """Reads what `save` wrote; other settings than these are refused."""
        folder = file.parent.parent
        tensors, state = load_tensors(file)
        if "rounds" not in state:
            raise ValueError(
                f"{folder} holds a run without rounds, which {settings['method']} cannot go on with; name another "
                "folder, or set overwrite=True instead of resume"
            )
        before = cast("dict[str, JSON]", state["settings"])
        for name, value in settings.items():
            if before.get(name) != value:
                raise ValueError(
                    f"{folder} was trained with {name}={before.get(name)!r}, now it is {value!r}; resume with the same "
                    "settings and data, or train into a new folder"
                )
        return cls._made(tensors, state)

    @classmethod
    def _made(cls, tensors: Mapping[str, Tensor], state: Mapping[str, JSON]) -> Progress:
        history = [Round.from_json(record) for record in cast("list[dict[str, JSON]]", state["rounds"])]
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        stopped, teachers = cast("str | None", state["stopped"]), RoundTeachers.from_json(state.get("teachers"))
        return cls(arrays, history, stopped, bool(state.get("finished")), teachers)

    def _tensors(self) -> dict[str, Tensor]:
        return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in self.arrays.items()}

    def _state(self) -> dict[str, JSON]:
        return {
            "rounds": [asdict(r) for r in self.history],
            "stopped": self.stopped,
            "finished": self.finished,
            "teachers": None if self.teachers is None else asdict(self.teachers),
        }


class RoundFiles:
    """Reads and writes the folder of a training in rounds; the first of several processes does. Without one, nothing.

    Args:
        estimator: Trained in every round.
        target: Where, and whether to go on or to replace what is there.
        settings: Of the method: what must be the same to go on.
        known: Labels and inputs.
        graph: Graph over the rows.
    """

    def __init__(
        self,
        estimator: NGMClassifier,
        target: RunTarget,
        settings: Mapping[str, JSON],
        known: Known,
        graph: Graph | None,
    ) -> None:
        limits = {f"estimator__{name}": getattr(estimator, name, None) for name in ("epochs", "patience")}
        self.target = target
        self.estimator, self.settings = estimator, {**settings, **limits, "truth": digest(known.truth)}
        self.run = None if target.folder is None else Run(Path(target.folder))
        self._leads = self.run is not None and rank_and_world()[0] == 0
        if self._leads:
            data = _digests(estimator, known, graph)
            writer = estimator.run_writer or RunWriter()
            persistence.begin(type(estimator).__name__, parameters_of(estimator), target, data, writer)

    def resume(self) -> Progress | None:
        """What there is to go on from, for the first process to tell the others; None where there is nothing."""
        if self.run is None or not self._leads:
            return None
        if self.target.resume and self.run.checkpoint.exists():
            return Progress.load(self.run.checkpoint, self.settings)
        self._remove_rounds()  # of a run that was being replaced
        return None

    def folder_of(self, number: int) -> Path | None:
        """Run folder of a round."""
        return None if self.run is None else self.run.rounds / str(number)

    def save(self, progress: Progress, best: int | None = None) -> None:
        """Writes how far the training is; of the rounds before, the best one's folder is kept."""
        if self.run is None or not self._leads:
            return
        progress.save(self.run.checkpoint, self.settings)
        if self.run.rounds.is_dir():
            remove_all_leftovers(self.run.rounds)
            for folder in sorted(self.run.rounds.iterdir()):
                if folder.name not in (str(best), str(len(progress.history))):
                    remove_folder(folder)

    def load(self, progress: Progress, best: int) -> NGMClassifier:
        """The network of the best round, on every rank."""
        folder = cast(Run, self.run).folder if progress.finished else cast(Path, self.folder_of(best))
        custom = network_of(self.estimator.network).reads == "any"
        network = cast(NetworkFunction, self.estimator.network) if custom else None
        with _folder_from_first(folder) as copy:
            return cast(NGMClassifier, load(copy, network, self.estimator.device))

    def finish(self, fitted: NGMClassifier, progress: Progress, best: int) -> None:
        """Writes the best round into the run folder itself, and removes those of the rounds."""
        if self.run is None or not self._leads:
            return
        if not progress.finished:
            self.run.write_trained(persistence.trained_run(trained_model(fitted)))
            write_rounds(self.run, progress.history, best, cast(str, progress.stopped))
            done = Progress(progress.arrays, progress.history, progress.stopped, finished=True)
            done.save(self.run.checkpoint, self.settings)
        self._remove_rounds()

    def _remove_rounds(self) -> None:
        if self.run is not None and self.run.rounds.exists():
            remove_folder(self.run.rounds)


def _digests(estimator: NGMClassifier, known: Known, graph: Graph | None) -> dict[str, JSON]:
    """What tells the data from other data, as for a training without rounds."""
    labels = torch.from_numpy(known.labels)
    x, y = (known.x, known.labels[:0]) if known.validation is None else known.validation
    held_out = HeldOut(x, torch.from_numpy(y), labels >= 0, any=known.validation is not None)
    seeds = labels[labels >= 0], labels >= 0, known.classes
    graphs = [] if graph is None else [graph]
    return data_digests(
        known.x, seeds, held_out, None, graphs, getattr(network_of(estimator.network), "thesaurus", None)
    )


@contextmanager
def _folder_from_first(folder: Path) -> Iterator[Path]:
    """A run folder that the first rank has, for every rank to load; others get a copy for the time being."""
    rank, world = rank_and_world()
    if world == 1:
        yield folder
        return
    with TemporaryDirectory() as copy:
        for name in _LOADED:
            content = bytes_from((folder / name).read_bytes() if rank == 0 else b"")
            (Path(copy) / name).write_bytes(content)
        yield Path(copy)
