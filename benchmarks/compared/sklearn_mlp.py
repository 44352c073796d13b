"""scikit-learn: a network on the labelled papers.

python sklearn_mlp.py DATA SEED
"""

import json  # measuring
import sys
import time  # measuring
from pathlib import Path

import pandas as pd
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

data, seed = Path(sys.argv[1]), int(sys.argv[2])
known, new = (pd.read_csv(data / name) for name in ("known.csv", "new.csv"))
x, labeled = sp.load_npz(data / "x.npz"), known.index[known["label"].notna()]
started = time.process_time()  # measuring
network = MLPClassifier((250, 100), alpha=1.0, max_iter=500, random_state=seed)
model = make_pipeline(TfidfTransformer(use_idf=True), network)
model.fit(x[labeled], known["label"][labeled])
seconds = time.process_time() - started  # measuring
accuracy = model.score(x[len(known) :], new["label"])
print(json.dumps({"accuracy": accuracy, "training_seconds": seconds}))  # measuring
