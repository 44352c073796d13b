"""Neural Structured Learning: a Keras network with graph regularisation, each labelled paper with its neighbours.

python nsl_mlp.py DATA SEED
"""

# mypy: ignore-errors

import json  # measuring
import sys
import time  # measuring
from pathlib import Path

import neural_structured_learning as nsl
import numpy as np
import pandas as pd
import scipy.sparse as sp
import tensorflow as tf

data, seed = Path(sys.argv[1]), int(sys.argv[2])
known, new, edges = (pd.read_csv(data / name) for name in ("known.csv", "new.csv", "edges.csv"))
x = sp.load_npz(data / "x.npz").toarray()
started = time.process_time()  # measuring
config = nsl.configs.make_graph_reg_config(max_neighbors=5, multiplier=0.1, distance_type="l2", sum_over_axis=-1)
count = config.neighbor_config.max_neighbors
graph = {}
for source, target in edges.to_numpy().tolist():
    nsl.tools.add_edge(graph, [source, target])
nsl.tools.add_undirected_edges(graph)
labeled = known.index[known["label"].notna()]
neighbors = [list(graph.get(paper, {}))[:count] for paper in labeled]
features = {"words": x[labeled]}
for i in range(count):
    features[f"NL_nbr_{i}_words"] = np.stack([x[n[i]] if i < len(n) else np.zeros_like(x[0]) for n in neighbors])
    features[f"NL_nbr_{i}_weight"] = np.array([[1.0 if i < len(n) else 0.0] for n in neighbors], dtype="float32")
tf.keras.utils.set_random_seed(seed)
words = tf.keras.Input(x.shape[1], name="words")
hidden = tf.keras.layers.UnitNormalization()(words)
for width in (250, 100):
    hidden = tf.keras.layers.Dense(width, activation="relu")(hidden)
    hidden = tf.keras.layers.Dropout(rate=0.5)(hidden)
base = tf.keras.Model(words, tf.keras.layers.Dense(int(known["label"].max()) + 1)(hidden))
model = nsl.keras.GraphRegularization(base, config)
loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss, metrics=["accuracy"])
model.fit(features, known["label"][labeled].to_numpy(), batch_size=128, epochs=100, verbose=0)
seconds = time.process_time() - started  # measuring
accuracy = base.evaluate(x[len(known) :], new["label"].to_numpy(), verbose=0)[1]
print(json.dumps({"accuracy": accuracy, "training_seconds": seconds}))  # measuring
