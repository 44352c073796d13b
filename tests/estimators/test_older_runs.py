"""Run folders of release 0.1, whose settings had other names: they load, predict and are gone on with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from ngm import Graph, NGMClassifier, Optimizer, load
from ngm.networks import FFNN

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 4)).astype(np.float32)
GRAPH = Graph.from_edges(RNG.integers(20, size=(40, 2)), num_nodes=20)
Y = np.where(np.arange(20) < 12, (X[:, 0] > 0).astype(int), -1)
NEW_NAMES = ("ema_decay", "crop", "vectors", "input_scaling", "graph_screen")


def model(epochs: int = 2) -> NGMClassifier:
    return NGMClassifier(
        recipe="paper",
        epochs=epochs,
        sampling="edges",
        validation=None,
        network=FFNN(hidden=(8,), dropout=0.2, input_scaling="unit_rows"),
        optimizer=Optimizer("sgd", ema_decay=0.9, clip=1.0),
    )


def rename_settings(folder: Path) -> None:
    """Gives the settings in a run folder the names and values that 0.1 wrote."""
    for name in ("config.json", "model.json"):
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        old = content["settings"] | {"average": 0.9, "cut": content["settings"].get("crop"), "unit_rows": True}
        if name == "config.json":
            old |= {"word_vectors": None, "thesaurus": None, "max_words": 20_000, "cut": None, "labels": "edges"}
            old |= {"bfloat16": False, "folder": "run", "resume": False, "overwrite": False, "sampling": "plain"}
        content["settings"] = {key: value for key, value in old.items() if key not in NEW_NAMES}
        (folder / name).write_text(json.dumps(content), encoding="utf-8")


def test_an_older_run_loads_and_predicts(tmp_path: Path) -> None:
    fitted = model().fit(X, Y, graph=GRAPH)
    fitted.save(tmp_path)
    rename_settings(tmp_path)
    back = load(tmp_path)
    assert repr(back.network) == repr(FFNN(dropout=0.2, input_scaling="unit_rows"))
    assert back.settings_ == fitted.settings_
    np.testing.assert_array_equal(back.predict_proba(X), fitted.predict_proba(X))


def test_an_older_run_is_gone_on_with_to_the_same_bits(tmp_path: Path) -> None:
    model(2).fit(X, Y, graph=GRAPH, folder=tmp_path)
    rename_settings(tmp_path)
    resumed = model(4).fit(X, Y, graph=GRAPH, folder=tmp_path, resume=True)
    np.testing.assert_array_equal(resumed.predict_proba(X), model(4).fit(X, Y, graph=GRAPH).predict_proba(X))
