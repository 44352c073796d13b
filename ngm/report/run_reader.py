"""What a run folder tells a report: its settings, history and metrics, and what it kept of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.persistence import settings_as_json, teachers_from_json
from ngm.estimators.regressor import NGMRegressor
from ngm.io.node_records import LABELED, UNLABELED, VALIDATION, Evidence, read_evidence
from ngm.io.run_folder import JSON, Run
from ngm.recipes.stacking import TeacherReport
from ngm.report.plotting import as_int
from ngm.training import TERMS

Task = Literal["classes", "labels", "numbers"]
_ROLES = (LABELED, VALIDATION, UNLABELED)
_KINDS = {"NGMClassifier": NGMClassifier, "NGMRegressor": NGMRegressor}


@dataclass(frozen=True, eq=False)
class Told:
    """One run, read.

    Args:
        folder: Where it is.
        config: `config.json`.
        metrics: `metrics.json`.
        model: `model.json`.
        history: An entry per epoch.
        evidence: What it kept of its nodes, or None.
    """

    folder: Path
    config: dict[str, JSON]
    metrics: dict[str, JSON]
    model: dict[str, JSON]
    history: list[dict[str, float]]
    evidence: Evidence | None

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.folder.resolve().name

    @property
    def estimator(self) -> str:
        """Name of the estimator's class."""
        return str(self.config["estimator"])

    @property
    def task(self) -> Task:
        """What is predicted: one class each, several labels each, or numbers."""
        if self.estimator == "NGMRegressor":
            return "numbers"
        return "labels" if self.model.get("task") == "labels" else "classes"

    @property
    def classes(self) -> list[str]:
        """Names of the classes; none where numbers are predicted. Several labels have the names that the user gave."""
        named = self.data.get("label_names") if self.task == "labels" else None
        return [str(name) for name in cast("list[JSON]", named or self.model.get("classes", []))]

    @property
    def settings(self) -> dict[str, JSON]:
        """The estimator's fields."""
        return cast("dict[str, JSON]", self.config["settings"])

    @property
    def used(self) -> dict[str, JSON]:
        """What the recipe made of the settings that were left open."""
        return cast("dict[str, JSON]", self.model.get("settings") or {})

    @property
    def graphs_used(self) -> list[bool]:
        """For each graph, whether training used it."""
        return cast("list[bool]", self.metrics.get("graphs_used", []))

    @property
    def nodes(self) -> Evidence:
        """What the run kept of its nodes, for sections that are there only where it kept any."""
        if self.evidence is None:
            raise ValueError(f"{self.folder} kept nothing of its nodes; train with folder=")
        return self.evidence

    @property
    def num_validation(self) -> int | None:
        """Number of validation rows; None where nothing tells."""
        for told in (self.metrics.get("validation_rows"), self.data.get("validation_rows")):
            if isinstance(told, int):
                return told
        return None if self.evidence is None else int((self.evidence.role == VALIDATION).sum()) or None

    @property
    def num_labeled(self) -> int:
        """Rows with a label of their own that were trained on; teachers may have labelled more."""
        given, taught = self.metrics.get("labeled_given"), as_int(self.metrics["labeled"])
        if isinstance(given, int):
            return given
        if self.evidence is None or not self.strong:
            return taught
        return min(int((self.evidence.role == LABELED).sum()), taught)

    @property
    def strong(self) -> bool:
        """Whether the graph labelled rows before training."""
        return self.used.get("recipe", self.settings.get("recipe")) in ("auto", "strong")

    @property
    def teachers(self) -> TeacherReport | None:
        """What the teachers of recipe "auto" were worth; None where there were none."""
        return teachers_from_json(self.metrics.get("teachers"))

    @property
    def data(self) -> dict[str, JSON]:
        """What `ngm train` was told of the data; empty for runs from Python."""
        return cast("dict[str, JSON]", self.metrics.get("data") or {})

    def defaults(self) -> dict[str, JSON]:
        """The settings that an estimator has where none are given."""
        return settings_as_json(_KINDS[self.estimator]())


def read_run(folder: str | Path) -> Told:
    """Reads a run folder, or says what is wrong with it."""
    run = Run.open(folder)
    config = run.read("config.json", ("estimator", "settings"))
    if config["estimator"] not in _KINDS:
        raise ValueError(f"{folder} holds a {config['estimator']!r}; a report is made of {' and '.join(_KINDS)}")
    metrics = run.read("metrics.json", ("best_epoch", "stopped", "epochs", "seconds", "labeled", "edges"))
    model = run.read("model.json", ("in_features", "out_features"))
    _check_control(metrics, run.folder / "metrics.json")
    _check_teachers(metrics, run.folder / "metrics.json")
    return Told(run.folder, config, metrics, model, _history(run), _evidence(run))


def _history(run: Run) -> list[dict[str, float]]:
    """The epochs, each with all cost terms."""
    history = run.read_history()
    for number, record in enumerate(history):
        if isinstance(record, dict):
            record.setdefault("repulsion", 0.0)  # earlier releases had none
        lacks = TERMS if not isinstance(record, dict) else [term for term in TERMS if term not in record]
        if lacks:
            file = run.folder / "history.jsonl"
            raise ValueError(f"{file} is damaged (line {number + 1} lacks {lacks[0]!r}); train again")
    return cast("list[dict[str, float]]", history)


def _check_control(metrics: dict[str, JSON], file: Path) -> None:
    control = metrics.get("control")
    for row in ("with_graph", "without_graph") if isinstance(control, dict) else ():
        there = cast("dict[str, JSON]", control).get(row)
        for key in ("metric", "mean", "std", "seeds"):
            if not isinstance(there, dict) or key not in there:
                raise ValueError(f"{file} is damaged (its control lacks {key!r} {row.replace('_', ' ')}); train again")


def _check_teachers(metrics: dict[str, JSON], file: Path) -> None:
    teachers = metrics.get("teachers")
    if teachers is None:
        return
    tables = dict.fromkeys(("descriptions", "graphs", "prior", "weights", "scores"), dict)
    kinds: dict[str, type] = {**tables, "held_out": int, "assortativity": list}
    for key, kind in kinds.items():
        if not isinstance(teachers, dict) or not isinstance(teachers.get(key), kind):
            raise ValueError(f"{file} is damaged (its teachers lack {key!r}); train again")
    weights, scores = (cast("dict[str, dict[str, JSON]]", teachers)[key] for key in ("weights", "scores"))
    if not weights or weights.keys() != scores.keys():
        raise ValueError(f"{file} is damaged (its teachers have not one weight and one score each); train again")


def _evidence(run: Run) -> Evidence | None:
    """The evidence, whose parts must fit each other."""
    found = read_evidence(run)
    if found is None:
        return None
    folder, n = run.folder / "evidence", len(found)
    lengths = {"hidden": len(found.hidden), "before": len(found.before)}
    wrong = next((name for name, length in lengths.items() if length != n), None)
    if wrong is not None:
        raise ValueError(f"{folder} is damaged ({wrong}.npy has {lengths[wrong]} rows for {n} nodes); train again")
    if len(found.edges) and not 0 <= int(found.edges.min()) <= int(found.edges.max()) < n:
        raise ValueError(f"{folder} is damaged (edges.npy names node {int(found.edges.max())} of {n}); train again")
    odd = next((role for role in found.role.tolist() if role not in _ROLES), None)
    if odd is not None:
        raise ValueError(f"{folder} is damaged (a node is {odd!r}, none of {', '.join(_ROLES)}); train again")
    return found


def ids_of(evidence: Evidence) -> list[str]:
    """(n,) what to call the nodes: the users' ids, else their row numbers."""
    apart = iter(range(len(evidence)))
    rows = [str(row) if row >= 0 else f"validation {next(apart)}" for row in evidence.row.tolist()]
    if evidence.ids is None:
        return rows
    return [row if name is None else str(name) for name, row in zip(evidence.ids.tolist(), rows, strict=True)]


def roles(evidence: Evidence) -> NDArray[np.int64]:
    """(n,) 0 labelled, 1 validation, 2 unlabelled."""
    return np.array([_ROLES.index(role) for role in evidence.role.tolist()], dtype=np.int64)


def edge_kinds(evidence: Evidence) -> NDArray[np.int64]:
    """(m,) 0 LL, 1 LU, 2 UU; a validation node counts as unlabelled, as it did in training."""
    labeled = evidence.role == LABELED
    kinds: NDArray[np.int64] = 2 - labeled[evidence.edges].sum(axis=1).astype(np.int64)
    return kinds


def known(evidence: Evidence) -> NDArray[np.bool_]:
    """(n,) mask of the nodes whose label is known."""
    return np.array([label is not None for label in evidence.label.tolist()], dtype=bool)
