"""A run folder: interrupted training goes on where it stopped, and the network is read back without the graph."""

import tempfile
from pathlib import Path

import numpy as np

import ngm
from ngm.datasets import few_labels, load

digits = load("digits")
x, truth = digits.x[digits.train], digits.y[digits.train]
y = few_labels(truth, 5, seed=0)
graph = ngm.knn_graph(x, k=5)

with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary) / "run"
    ngm.NGMClassifier(hidden=(100,), epochs=5).fit(x, y, graph=graph, folder=folder)  # as if stopped after five epochs
    resumed = ngm.NGMClassifier(hidden=(100,), epochs=15).fit(x, y, graph=graph, folder=folder, resume=True)
    at_once = ngm.NGMClassifier(hidden=(100,), epochs=15).fit(x, y, graph=graph)
    assert np.array_equal(resumed.predict_proba(x), at_once.predict_proba(x))  # to the bit

    loaded = ngm.load(folder)
    print("files:", sorted(file.name for file in folder.iterdir()))
    print(f"accuracy on new digits {loaded.score(digits.x[digits.test], digits.y[digits.test]):.3f}")
