"""Neural Graph Machines: `NGMClassifier` with the recipe of the paper.

python ours_paper.py DATA SEED
"""

import json  # measuring
import sys
import time  # measuring
from pathlib import Path

import pandas as pd
import scipy.sparse as sp

import ngm
from ngm.networks import FFNN

data, seed = Path(sys.argv[1]), int(sys.argv[2])
known, new, edges = (pd.read_csv(data / name) for name in ("known.csv", "new.csv", "edges.csv"))
x, y = sp.load_npz(data / "x.npz"), known["label"].fillna(-1).astype(int)
started = time.process_time()  # measuring
graph = ngm.Graph.from_edges(edges.to_numpy(), num_nodes=len(known))
network, optimizer = FFNN(dropout=0.0, input_scaling="unit_rows"), ngm.Optimizer(weight_decay=0.005)
model = ngm.NGMClassifier(
    recipe="paper", alpha_uu=0.2, negatives=0, graph_screen=False, network=network, optimizer=optimizer, seed=seed
)
model.fit(x[: len(known)], y, graph=graph)
seconds = time.process_time() - started  # measuring
accuracy = model.score(x[len(known) :], new["label"])
print(json.dumps({"accuracy": accuracy, "training_seconds": seconds}))  # measuring
