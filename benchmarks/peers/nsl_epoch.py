"""An epoch of Neural Structured Learning's GraphRegularization with the same network.

    python nsl_epoch.py DATA THREADS

A record is a node with up to K neighbours, each of which is run through the network as often as it occurs; unlabelled
nodes have weight 0 in the supervised cost. A setting is one of:

- `examples, K`: as its tools and its tutorial do it. Every node with its first K neighbours becomes a `tf.Example` in a
  file, which is parsed batch by batch. Every packed neighbour counts as an edge, though edges are packed at both ends.
- `edges, K`, `records, K`: packed in its favour. Every edge is there once, with the end of higher degree; the edges of
  a node fill as many records as they need, so that few places stay empty; rows are gathered from memory, ahead of time.
  A batch has as many places for neighbours as ours has edges, or as many records. `sparse edges` and so on hands over
  rows as sparse tensors.
"""

# mypy: ignore-errors

from __future__ import annotations

import sys
import time
from pathlib import Path

import neural_structured_learning as nsl
import numpy as np
import tensorflow as tf
from nsl_records import examples_file, parser, records, row_gatherer
from peer_data import read
from peer_worker import serve

LONGEST = 20.0  # seconds of an epoch; of a longer one only so many are run


def main() -> None:
    file, threads = Path(sys.argv[1]), int(sys.argv[2])
    problem = read(file)
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    current = {}

    def packed(form, k, batch):
        """Batches made from one matrix in memory."""
        seeds, neighbors, needed = records(problem, k)
        share = (problem.labeled / np.maximum(needed, 1))[seeds].astype(np.float32)
        rows = row_gatherer(problem.x, sparse=form.startswith("sparse"))

        def features(seed, near, target, weight):
            made = {"x": rows(seed)}
            for i in range(k):
                made[f"NL_nbr_{i}_x"] = rows(tf.maximum(near[:, i], 0))
                made[f"NL_nbr_{i}_weight"] = tf.cast(near[:, i : i + 1] >= 0, tf.float32)
            return made, target, weight

        whole = tf.data.Dataset.from_tensor_slices((seeds, neighbors, np.maximum(problem.y, 0)[seeds], share))
        batches = whole.shuffle(len(seeds), seed=0).batch(batch).map(features, num_parallel_calls=threads)
        return batches.prefetch(2), len(seeds), len(problem.edges)

    def parsed(k, batch):
        """Batches read from a file of examples."""
        path, edges = examples_file(problem, k, file.with_name(f"examples-{k}.tfrecord"))
        whole = tf.data.TFRecordDataset([str(path)]).shuffle(1_000, seed=0).batch(batch)
        batches = whole.map(parser(problem, k), num_parallel_calls=threads)
        return batches.prefetch(2), len(problem.labeled), edges

    def prepare(settings: str):
        form, k = settings.split(", K = ")
        k = int(k)
        if form.startswith("sparse") and not problem.sparse:
            raise ValueError("rows are dense")
        tf.keras.backend.clear_session()
        tf.keras.utils.set_random_seed(0)
        batch = problem.batch if form.endswith("records") else max(problem.batch // k, 1)
        data, count, edges = parsed(k, batch) if form == "examples" else packed(form, k, batch)
        h = given = tf.keras.Input(problem.x.shape[1], name="x", sparse=form.startswith("sparse"))
        for width in problem.hidden:
            h = tf.keras.layers.Dense(width, activation="relu")(h)
        base = tf.keras.Model(given, tf.keras.layers.Dense(problem.outputs)(h))
        config = nsl.configs.make_graph_reg_config(
            max_neighbors=k, multiplier=problem.alpha, distance_type="l2", sum_over_axis=-1
        )
        model = nsl.keras.GraphRegularization(base, config)
        losses = tf.keras.losses
        kind = losses.BinaryCrossentropy if problem.y.ndim == 2 else losses.SparseCategoricalCrossentropy
        model.compile(tf.keras.optimizers.Adam(1e-3), kind(from_logits=True))
        steps = -(-count // batch)
        current.update(model=model, data=data, steps=steps, part=1)
        current["facts"] = {"edges": edges, "runs": count * (1 + k), "steps": steps}
        epoch()  # traces
        current["part"] = min(steps, 5)
        found = epoch()
        current["part"] = min(steps, max(5, int(LONGEST * steps / found["seconds"])))
        return found

    def epoch():
        """Seconds of an epoch, from a part of its batches where all would take longer than LONGEST."""
        clock, part = Clock(), current["part"]
        current["model"].fit(current["data"].take(part), epochs=1, verbose=0, callbacks=[clock])
        return {"seconds": clock.seconds * current["steps"] / part, "steps_timed": part, **current["facts"]}

    serve({"prepare": prepare, "epoch": epoch})


class Clock(tf.keras.callbacks.Callback):
    """Times an epoch by itself, without what `fit` does before it."""

    def on_epoch_begin(self, epoch, logs=None):
        """See Callback."""
        self.started = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        """See Callback."""
        self.seconds = time.perf_counter() - self.started


if __name__ == "__main__":
    main()
