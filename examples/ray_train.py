"""Ray: two workers of Ray Train fit as one process, and workers of Ray Data predict; both by a run folder."""

import os
import tempfile
from pathlib import Path

import numpy as np
import ray
import ray.train

import ngm.ray
from ngm.datasets import few_labels, load

digits = load("digits")
x, y = digits.x[digits.train], few_labels(digits.y[digits.train], 2, seed=0)
x_new, truth = digits.x[digits.test], digits.y[digits.test]
graph = ngm.knn_graph(x, k=5)

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray.init(num_cpus=2, object_store_memory=100 * 2**20, include_dashboard=False, log_to_driver=False)  # or your cluster
with tempfile.TemporaryDirectory() as temporary:
    folder = Path(temporary) / "run"  # on a cluster: on a file system that all machines share
    model = ngm.ray.fit(
        ngm.NGMClassifier(recipe="paper", hidden=(100,), epochs=20),
        x,
        y,
        graph,
        folder=folder,
        workers=2,
        run_config=ray.train.RunConfig(storage_path=f"{temporary}/ray"),  # where Ray keeps its own records
    )
    print(f"accuracy on new digits {model.score(x_new, truth):.3f}, trained by two workers")

    ray.data.DataContext.get_current().enable_progress_bars = False
    dataset = ray.data.from_numpy(x_new)  # a column called data
    rows = ngm.ray.predict(dataset, folder, columns="data").take_all()
    print(f"accuracy over the data set {np.mean([row['class'] for row in rows] == truth):.3f}")
ray.shutdown()
