"""Reads what a report needs from a run folder: settings, history, metrics and node records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.persistence import settings_as_json, teachers_from_json
from ngm.estimators.regressor import NGMRegressor
from ngm.io.node_records import LABELED, UNLABELED, VALIDATION, NodeRecords, read_node_records
from ngm.io.run_folder import JSON, Run
from ngm.parameters import renamed_settings
from ngm.recipes.stacking import TeacherReport
from ngm.report.plotting import as_int
from ngm.training import TERMS

Task = Literal["classes", "labels", "numbers"]
_ROLES = (LABELED, VALIDATION, UNLABELED)
_ESTIMATORS = {"NGMClassifier": NGMClassifier, "NGMRegressor": NGMRegressor}


@dataclass(frozen=True, eq=False)
class RunData:
    """The contents of a run folder.

    Args:
        folder: Where it is.
        config: `config.json`.
        metrics: `metrics.json`.
        model: `model.json`.
        history: An entry per epoch.
        node_records: Its node records, or None.
    """

    folder: Path
    config: dict[str, JSON]
    metrics: dict[str, JSON]
    model: dict[str, JSON]
    history: list[dict[str, float]]
    node_records: NodeRecords | None

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
        label_names = self.data.get("label_names") if self.task == "labels" else None
        return [str(name) for name in cast("list[JSON]", label_names or self.model.get("classes", []))]

    @property
    def settings(self) -> dict[str, JSON]:
        """The estimator's fields."""
        return renamed_settings(cast("dict[str, JSON]", self.config["settings"]))

    @property
    def used(self) -> dict[str, JSON]:
        """Settings that the recipe chose."""
        return cast("dict[str, JSON]", self.model.get("settings") or {})

    @property
    def graphs_used(self) -> list[bool]:
        """For each graph, whether training used it."""
        return cast("list[bool]", self.metrics.get("graphs_used", []))

    @property
    def nodes(self) -> NodeRecords:
        """The node records, for sections that need them."""
        if self.node_records is None:
            raise ValueError(f"{self.folder} has no node records; train with folder=")
        return self.node_records

    @property
    def num_validation(self) -> int | None:
        """Number of validation rows; None if unknown."""
        for number in (self.metrics.get("validation_rows"), self.data.get("validation_rows")):
            if isinstance(number, int):
                return number
        return None if self.node_records is None else int((self.node_records.role == VALIDATION).sum()) or None

    @property
    def num_labeled(self) -> int:
        """Rows with a label of their own that were trained on; teachers may have labelled more."""
        num_given, num_trained = self.metrics.get("labeled_given"), as_int(self.metrics["labeled"])
        if isinstance(num_given, int):
            return num_given
        if self.node_records is None or not self.strong:
            return num_trained
        return min(int((self.node_records.role == LABELED).sum()), num_trained)

    @property
    def strong(self) -> bool:
        """Whether the graph labelled rows before training."""
        return self.used.get("recipe", self.settings.get("recipe")) in ("auto", "strong")

    @property
    def teachers(self) -> TeacherReport | None:
        """Weights and scores of the teachers; None if there were none."""
        return teachers_from_json(self.metrics.get("teachers"))

    @property
    def data(self) -> dict[str, JSON]:
        """What `ngm train` recorded about the data; empty for runs from Python."""
        return cast("dict[str, JSON]", self.metrics.get("data") or {})

    def defaults(self) -> dict[str, JSON]:
        """Default settings of the estimator."""
        return settings_as_json(_ESTIMATORS[self.estimator]())


def read_run(folder: str | Path) -> RunData:
    """Reads a run folder; raises if a file is missing or damaged."""
    run = Run.open(folder)
    config = run.read("config.json", ("estimator", "settings"))
    if config["estimator"] not in _ESTIMATORS:
        raise ValueError(f"{folder} holds a {config['estimator']!r}; a report is made of {' and '.join(_ESTIMATORS)}")
    metrics = run.read("metrics.json", ("best_epoch", "stopped", "epochs", "seconds", "labeled", "edges"))
    model = run.read("model.json", ("in_features", "out_features"))
    _check_control(metrics, run.folder / "metrics.json")
    _check_teachers(metrics, run.folder / "metrics.json")
    return RunData(run.folder, config, metrics, model, _history(run), _read_records(run))


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
        scores = cast("dict[str, JSON]", control).get(row)
        for key in ("metric", "mean", "std", "seeds"):
            if not isinstance(scores, dict) or key not in scores:
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


def _read_records(run: Run) -> NodeRecords | None:
    """The node records; raises if their parts do not match."""
    records = read_node_records(run)
    if records is None:
        return None
    folder, n = run.folder / "evidence", len(records)
    lengths = {"hidden": len(records.hidden), "before": len(records.before)}
    name_of_wrong = next((name for name, length in lengths.items() if length != n), None)
    if name_of_wrong is not None:
        raise ValueError(
            f"{folder} is damaged ({name_of_wrong}.npy has {lengths[name_of_wrong]} rows for {n} nodes); train again"
        )
    if len(records.edges) and not 0 <= int(records.edges.min()) <= int(records.edges.max()) < n:
        raise ValueError(f"{folder} is damaged (edges.npy names node {int(records.edges.max())} of {n}); train again")
    unknown_role = next((role for role in records.role.tolist() if role not in _ROLES), None)
    if unknown_role is not None:
        raise ValueError(
            f"{folder} is damaged (a node is {unknown_role!r}, not one of {', '.join(_ROLES)}); train again"
        )
    return records


def ids_of(records: NodeRecords) -> list[str]:
    """(n,) names of the nodes: the user's ids, else row numbers."""
    separate = iter(range(len(records)))
    rows = [str(row) if row >= 0 else f"validation {next(separate)}" for row in records.row.tolist()]
    if records.ids is None:
        return rows
    return [row if name is None else str(name) for name, row in zip(records.ids.tolist(), rows, strict=True)]


def role_codes(records: NodeRecords) -> NDArray[np.int64]:
    """(n,) 0 labelled, 1 validation, 2 unlabelled."""
    return np.array([_ROLES.index(role) for role in records.role.tolist()], dtype=np.int64)


def edge_kinds(records: NodeRecords) -> NDArray[np.int64]:
    """(m,) 0 LL, 1 LU, 2 UU; a validation node counts as unlabelled, as it did in training."""
    labeled = records.role == LABELED
    kinds: NDArray[np.int64] = 2 - labeled[records.edges].sum(axis=1).astype(np.int64)
    return kinds


def has_label(records: NodeRecords) -> NDArray[np.bool_]:
    """(n,) mask of the nodes whose label is known."""
    return np.array([label is not None for label in records.label.tolist()], dtype=bool)
