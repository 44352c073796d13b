"""What estimators that train in rounds share: the loop over rounds, and the kept network that answers afterwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ngm.distributed import process_group
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.round_checkpoints import Progress, RoundFiles
from ngm.estimators.round_records import Round, RoundTeachers, best_round, write_rounds
from ngm.estimators.training_rounds import Known, Targets, check_rounds, fresh, known_classes, measured_round, set_names
from ngm.graph import Graph
from ngm.io.locks import folder_lock
from ngm.io.run_folder import JSON, Run, RunTarget
from ngm.targets import labeled_accuracy
from ngm.text.readers import Given

Arrays = Mapping[str, NDArray[np.generic]]
Method = TypeVar("Method", bound="InRounds")
ALL_DONE = "all rounds done"


@dataclass(frozen=True, eq=False)
class RoundTargets:
    """What a round is trained on.

    Args:
        targets: (n,) class numbers or (n, C) shares, -1 where unlabelled.
        labels: (n,) class numbers of the targets.
        added: (n,) mask of those that had no label in the round before.
    """

    targets: Targets
    labels: NDArray[np.int64]
    added: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NextRound:
    """What follows a round.

    Args:
        arrays: What the next round is trained on, (n, ...) by name; those of the last one where there is none.
        stopped: Why there is none, in words.
        teachers: Which labelled nodes for it.
    """

    arrays: Arrays
    stopped: str | None = None
    teachers: RoundTeachers | None = None


class InRounds(ClassifierMixin, MetaEstimatorMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Predicts by `estimator_`, the network of `best_round_`; `history_` and `stopped_` tell of the rounds."""

    estimator: NGMClassifier
    patience: int | None

    def fit(
        self: Method,
        x: Given,
        y: ArrayLike,
        graph: Graph | None = None,
        truth: ArrayLike | None = None,
        on_round: Callable[[Round], None] | None = None,
        folder: str | Path | None = None,
        resume: bool = False,
        overwrite: bool = False,
    ) -> Method:
        """Trains in rounds.

        Args:
            x: Inputs or texts, a row per node.
            y: (n,) classes, -1, None or NaN = unlabelled.
            graph: Graph over the rows.
            truth: (n,) true classes where known; only for `history_`, never for training.
            on_round: Called with each round's record.
            folder: Run folder, which gets every finished round and, in the end, the best one.
            resume: Go on with an interrupted training in the folder, to the same bits.
            overwrite: Replace a run that is in the folder.
        """
        target = RunTarget(folder, resume, overwrite)
        self._check(graph)
        check_rounds(self.estimator, graph, self.patience, target)
        self._train(x, known_classes(self.estimator, x, y, truth, self.patience), graph, target, on_round)
        return self

    def predict(self, x: Given) -> NDArray[np.generic]:
        """Classes (n,), by the network alone."""
        check_is_fitted(self)
        predicted: NDArray[np.generic] = self.estimator_.predict(x)
        return predicted

    def predict_proba(self, x: Given) -> NDArray[np.floating]:
        """(n, C) shares that add up to 1."""
        check_is_fitted(self)
        shares: NDArray[np.floating] = self.estimator_.predict_proba(x)
        return shares

    def score(self, x: Given, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy over the labelled rows."""
        return labeled_accuracy(self.predict(x), y, sample_weight)

    def save(self, folder: str | Path, overwrite: bool = False) -> Path:
        """Writes the kept estimator's run folder, with the rounds in `rounds.json`; `ngm.load` reads it back.

        Args:
            folder: A new or an empty one.
            overwrite: Whether a run that is in it may be replaced.
        """
        check_is_fitted(self)
        path = self.estimator_.save(folder, overwrite)
        write_rounds(Run.open(path), self.history_, self.best_round_, self.stopped_)
        return path

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # What the methods fill in

    @abstractmethod
    def _check(self, graph: Graph | None) -> None:
        """Refuses settings that cannot be."""

    @property
    @abstractmethod
    def _num_trainings(self) -> int:
        """Rounds, at most."""

    @abstractmethod
    def _first(self, known: Known, graph: Graph | None) -> NextRound:
        """What round 0 is trained on."""

    @abstractmethod
    def _round_targets(self, arrays: Arrays, known: Known) -> RoundTargets:
        """What these arrays say to train on; remembers it for the user."""

    @abstractmethod
    def _next(self, arrays: Arrays, proba: NDArray[np.float32], known: Known, graph: Graph | None) -> NextRound:
        """What the next round is trained on, or why there is none.

        Args:
            arrays: Of the round that is done.
            proba: (n, C) predictions of its network.
            known: Labels and inputs.
            graph: Graph over the rows.
        """

    # The loop

    def _train(
        self,
        x: Given,
        known: Known,
        graph: Graph | None,
        target: RunTarget,
        on_round: Callable[[Round], None] | None,
    ) -> None:
        """Trains round after round, from where an interrupted training was if it is to be resumed."""
        self.history_: list[Round] = []
        self.classes_, self.stopped_ = known.classes, ALL_DONE
        for name in ("estimator_", "best_round_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        folder = target.folder
        with process_group() as (rank, _):
            try:
                with nullcontext() if folder is None or rank else folder_lock(folder, create=True):
                    files = RoundFiles(self.estimator, target, self._settings_as_json(), known, graph)
                    progress = self._start(known, graph, files)
                    while progress.stopped is None:
                        progress = self._one_round(x, known, graph, progress, files)
                        if on_round is not None:
                            on_round(self.history_[-1])
                    files.finish(self.estimator_, progress, self.best_round_)
            except KeyboardInterrupt:
                self.stopped_ = "interrupted"
                raise KeyboardInterrupt(_how_to_go_on(len(self.history_), folder)) from None

    def _start(self, known: Known, graph: Graph | None, files: RoundFiles) -> Progress:
        """Where to go on; the best network of the rounds before is read back."""
        progress = files.resume()
        if progress is None:
            first = self._first(known, graph)
            progress = Progress(first.arrays, teachers=first.teachers)
        progress = progress.from_first()
        if not progress.history:
            files.save(progress)
            return progress
        self.history_, self.best_round_ = list(progress.history), best_round(progress.history)
        chosen = self._round_targets(progress.arrays, known)
        self.estimator_ = files.load(progress, self.best_round_)
        self.estimator_.set_params(**fresh(self.estimator, chosen.targets, known).get_params(deep=False))
        set_names(self.estimator_, known)
        self.stopped_ = progress.stopped or ALL_DONE
        return progress

    def _one_round(
        self, x: Given, known: Known, graph: Graph | None, progress: Progress, files: RoundFiles
    ) -> Progress:
        """Trains a round and writes what came of it; where to go on from there, the same on every rank."""
        number, arrays = len(progress.history), progress.arrays
        chosen = self._round_targets(arrays, known)
        fitted = fresh(self.estimator, chosen.targets, known)
        folder = files.folder_of(number)
        if folder is None:
            fitted.fit(known.x, chosen.targets, graph=graph)
        else:  # goes on from where the round was
            fitted.fit(known.x, chosen.targets, graph=graph, folder=folder, resume=True)
        record = measured_round(number, fitted, chosen.labels, chosen.added, known, progress.teachers)
        history = [*progress.history, record]
        set_names(fitted, known)
        following = NextRound(arrays, self._stopped(history))
        if following.stopped is None:
            proba = np.asarray(fitted.predict_proba(x), dtype=np.float32)
            following = self._next(arrays, proba, known, graph)
        done = Progress(following.arrays, history, following.stopped, teachers=following.teachers).from_first()
        self.history_, self.best_round_ = list(done.history), best_round(done.history)
        self.stopped_ = done.stopped or ALL_DONE
        if self.best_round_ == number:
            self.estimator_ = fitted
        files.save(done, self.best_round_)
        return done

    def _stopped(self, history: list[Round]) -> str | None:
        """Why there is no round after these, whatever the last one found."""
        if len(history) == self._num_trainings:
            return ALL_DONE
        if self.patience is not None and len(history) - 1 - best_round(history) >= self.patience:
            return f"validation has not improved for {self.patience} rounds"
        return None

    def _settings_as_json(self) -> dict[str, JSON]:
        """What must be the same to go on; the settings of the estimator are in its `config.json`."""
        settings = {name: _as_json(value) for name, value in self.get_params(deep=False).items() if name != "estimator"}
        return {"method": type(self).__name__, **settings}


def _as_json(value: object) -> JSON:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return cast(JSON, value.item())
    return repr(value.get_params() if isinstance(value, BaseEstimator) else value)


def _how_to_go_on(done: int, folder: object) -> str:
    kept = f"{done} finished round{'' if done == 1 else 's'}"
    if folder is None:
        return f"interrupted after {kept}; fit with folder= to be able to go on after that"
    return f"interrupted after {kept}, kept in {folder}; to go on, fit again with resume=True"
