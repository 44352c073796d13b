"""Run folders made by hand, for tests of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ngm
from ngm.estimators.persistence import settings_as_json
from ngm.io.node_records import NodeRecords, write_node_records
from ngm.io.run_folder import JSON, Run
from ngm.report.page import Page, ReportTable, Section

ORDER = ["gain", "run", "curves", "wrong", "space", "closer", "graph", "edges", "next"]
WORDS = ("labelled", "labelled", "validation", "validation", "unlabelled", "unlabelled")


def objects(values: Sequence[object]) -> NDArray[np.object_]:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def by_hand() -> NodeRecords:
    """Six nodes of classes a and b in the plane, four edges of lengths 5, 1, 5 and 1 (1, 2, 4 and 3 before)."""
    return NodeRecords(
        row=np.arange(6),
        role=objects(WORDS),
        label=objects(["a", "b", "a", "b", None, None]),
        predicted=objects(["a", "b", "a", "a", "b", "a"]),
        probability=np.array([1.0, 0.9, 0.8, 0.7, 0.55, 0.6]),
        margin=np.array([1.0, 0.8, 0.6, 0.4, 0.1, 0.2]),
        hidden=np.array([[0, 0], [3, 4], [0, 1], [0, 2], [6, 8], [1, 0]], dtype=np.float32),
        before=np.array([[0, 0], [1, 0], [0, 2], [0, 5], [1, 4], [0, 0]], dtype=np.float32),
        edges=np.array([[0, 1], [0, 2], [1, 4], [2, 3]]),
        weight=np.array([1.0, 2.0, 0.5, 1.0], dtype=np.float32),
        graph=np.array([0, 0, 0, 0]),
        num_nodes=6,
        num_edges=4,
    )


def epoch(number: int, total: float, score: float, **more: float) -> dict[str, JSON]:
    terms = {"supervised": total - 0.1, "ll": 0.0, "lu": 0.06, "uu": 0.04, "total": total}
    rest = {"h_norm": 2.0, "h_spread": 1.0, "validation_accuracy": score, "validation_cost": 1.0, "seconds": 0.5}
    return {"epoch": number, **terms, **rest, **more}


def row(mean: float, std: float = 0.0, seeds: int = 1, metric: str = "accuracy") -> dict[str, JSON]:
    return {"method": "ffnn", "setting": "validation", "metric": metric, "mean": mean, "std": std, "seeds": seeds}


def make_run(
    folder: Path,
    records: NodeRecords | None = None,
    model: dict[str, JSON] | None = None,
    settings: dict[str, JSON] | None = None,
    estimator: type[ngm.NGMClassifier] | type[ngm.NGMRegressor] = ngm.NGMClassifier,
    history: list[dict[str, JSON]] | None = None,
    **metrics: JSON,
) -> Path:
    """A run folder as training writes it; best after the second of three epochs."""
    run = Run.create(folder)
    run.write_config(estimator.__name__, settings_as_json(estimator()) | (settings or {}))
    run.write(
        "model.json", {"in_features": 2, "out_features": 2} | (model or {"task": "classes", "classes": ["a", "b"]})
    )
    found = history or [epoch(0, 1.5, 0.4), epoch(1, 1.0, 0.5), epoch(2, 0.75, 0.25)]
    run.write_history(found)
    written: dict[str, JSON] = {
        "stopped": "all epochs done",
        "epochs": len(found),
        "best_epoch": 1,
        "seconds": 1.5,
        "validation": {"accuracy": 0.5, "cost": 1.0},
        "labeled": 2,
        "edges": {"ll": 1, "lu": 2, "uu": 1},
        "graphs_used": [True],
    }
    run.write("metrics.json", written | metrics)
    if records is not None:
        write_node_records(run, records)
    return folder


def blobs(n: int, classes: int, seed: int = 0) -> NodeRecords:
    """Nodes around as many centres as classes, in 20 dimensions; a third labelled, a third validation."""
    rng = np.random.default_rng(seed)
    label = rng.integers(classes, size=n)
    said = np.where(rng.random(n) < 0.9, label, rng.integers(classes, size=n))
    h = (rng.normal(size=(classes, 20))[label] * 5 + rng.normal(size=(n, 20))).astype(np.float32)
    role = objects([("labelled", "validation", "unlabelled")[i % 3] for i in range(n)])
    names = [f"class {c}" for c in label]
    edges = np.unique(np.sort(rng.integers(n, size=(2 * n, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    return NodeRecords(
        row=np.arange(n),
        role=role,
        label=objects([None if i % 3 == 2 else names[i] for i in range(n)]),
        predicted=objects([f"class {c}" for c in said]),
        probability=rng.random(n),
        margin=rng.random(n),
        hidden=h,
        before=rng.normal(size=(n, 20)).astype(np.float32),
        edges=edges,
        weight=np.ones(len(edges), dtype=np.float32),
        graph=np.zeros(len(edges), dtype=np.int64),
        num_nodes=n,
        num_edges=len(edges),
    )


def section(page: Page, key: str) -> Section:
    return next(s for s in page.sections if s.key == key)


def table(page: Page, key: str) -> ReportTable:
    return next(t for s in page.sections for t in s.tables if t.key == key)
