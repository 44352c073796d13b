"""Runs and tables for tests of `ngm predict`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ngm import Graph, NGMClassifier, read_table
from ngm.estimators.base import NGMEstimator
from ngm.features import Features, X
from ngm.io.run_folder import Run as Folder
from tests.texts import make_texts

TEXTS, TRUTH = make_texts(30)
NEW, RIGHT = make_texts(11, seed=9)
KEYS = list("abcdefghijk")
SIZE, SHAPE = [round(0.1 * i, 1) for i in range(30)], ["round", "flat", "long"] * 10
GRAPH = Graph.from_edges([[i, (i + 2) % 30] for i in range(30)])
LABELS = np.array([[t == "pets", i % 3 == 0] for i, t in enumerate(TRUTH)], dtype=np.int64)


def new_rows() -> pd.DataFrame:
    """A table of new rows."""
    return pd.DataFrame({"key": KEYS, "body": NEW, "topic": RIGHT, "size": SIZE[:11], "shape": SHAPE[:11]})


def train(
    read: str,
    model: NGMEstimator | None = None,
    y: object = TRUTH,
    folder: str = "run",
    graph: Graph = GRAPH,
    **data: object,
) -> None:
    """Writes a run folder as `ngm train` does."""
    table = read_table({"id": range(100, 130), "body": TEXTS, "size": SIZE, "shape": SHAPE})
    given = {
        "text": {"text": ["body"]},
        "words": {"text": ["body"]},
        "columns": {"columns": ["size", "shape"]},
        "graph": {"graph": graph, "ids": table.column("id")},
    }
    features, x = Features.fit(table, read=read, **given[read])  # type: ignore[arg-type]
    model = model or NGMClassifier(**({"network": "lstm"} if read == "text" else {"hidden": (8,)}), epochs=3)
    model.fit(x, y).save(folder, overwrite=True)  # type: ignore[arg-type]
    kept = Folder.open(folder)
    features.save(kept)
    kept.write("metrics.json", kept.read("metrics.json") | {"data": dict(data)})  # type: ignore[dict-item]


def rows_of(table: object) -> X:
    """What the run reads in a table."""
    features = Features.open(Folder.open("run"))
    assert features is not None
    return features.rows(read_table(table))  # type: ignore[arg-type]


def read_parquet(file: str) -> dict[str, list[object]]:
    table = read_table(file)
    return {name: table.column(name).tolist() for name in table.columns}
