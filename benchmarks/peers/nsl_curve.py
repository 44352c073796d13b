"""Validation accuracy over seconds of Neural Structured Learning: `python nsl_curve.py DATA THREADS`.

As in its tutorial: the labelled papers are the records, each with up to five neighbours; 250-100 units, dropout .5,
rows of length 1, Adam. The forward pass for the validation nodes is not timed.
"""

# mypy: ignore-errors

from __future__ import annotations

import sys
import time

import neural_structured_learning as nsl
import numpy as np
import scipy.sparse as sp
import tensorflow as tf
from peer_data import read
from peer_worker import serve

NEIGHBORS = 5


def main() -> None:
    problem, threads = read(sys.argv[1]), int(sys.argv[2])
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    x, (u, v), n = problem.x, problem.edges.T, len(problem.labeled)
    adjacency = sp.csr_matrix((np.ones(2 * len(u)), (np.r_[u, v], np.r_[v, u])), shape=(n, n))

    def run(seed, epochs=None):
        started = time.perf_counter()
        seeds = np.flatnonzero(problem.labeled)
        near = [adjacency.indices[adjacency.indptr[s] : adjacency.indptr[s + 1]][:NEIGHBORS] for s in seeds]
        features = {"x": x[seeds]}
        for i in range(NEIGHBORS):
            features[f"NL_nbr_{i}_x"] = np.stack([x[m[i]] if i < len(m) else np.zeros_like(x[0]) for m in near])
            features[f"NL_nbr_{i}_weight"] = np.array([[float(i < len(m))] for m in near], dtype="float32")
        tf.keras.utils.set_random_seed(seed)
        given = tf.keras.Input(x.shape[1], name="x")
        h = tf.keras.layers.UnitNormalization()(given)
        for width in problem.hidden:
            h = tf.keras.layers.Dropout(0.5)(tf.keras.layers.Dense(width, activation="relu")(h))
        base = tf.keras.Model(given, tf.keras.layers.Dense(problem.outputs)(h))
        config = nsl.configs.make_graph_reg_config(
            max_neighbors=NEIGHBORS, multiplier=0.1, distance_type="l2", sum_over_axis=-1
        )
        model = nsl.keras.GraphRegularization(base, config)
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        curve = Curve(base, x[problem.validation], problem.truth[problem.validation], started)
        model.fit(features, problem.y[seeds], batch_size=128, epochs=epochs or 300, verbose=0, callbacks=[curve])
        return {"curve": curve.points, "seconds": curve.points[-1][0]}

    serve({"run": run})


class Curve(tf.keras.callbacks.Callback):
    """Points of (seconds without these evaluations, accuracy)."""

    def __init__(self, base, x, y, started):
        super().__init__()
        self.base, self.x, self.y, self.started, self.points = base, x, y, started, []
        self.evaluated = 0.0

    def on_epoch_end(self, epoch, logs=None):
        """See Callback."""
        now = time.perf_counter()
        right = self.base(self.x, training=False).numpy().argmax(axis=1) == self.y
        self.points.append([now - self.started - self.evaluated, float(right.mean())])
        self.evaluated += time.perf_counter() - now


if __name__ == "__main__":
    main()
