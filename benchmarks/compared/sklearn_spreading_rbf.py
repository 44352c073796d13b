"""scikit-learn: labels spread over the likeness of all pairs of papers.

python sklearn_spreading_rbf.py DATA SEED
"""

import json  # measuring
import sys
import time  # measuring
from pathlib import Path

import pandas as pd
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.semi_supervised import LabelSpreading

data, seed = Path(sys.argv[1]), int(sys.argv[2])
known, new = (pd.read_csv(data / name) for name in ("known.csv", "new.csv"))
x, y = sp.load_npz(data / "x.npz"), known["label"].fillna(-1).astype(int)
started = time.process_time()  # measuring
spreading = LabelSpreading(kernel="rbf", gamma=10.0, alpha=0.2, max_iter=1000)
model = make_pipeline(TfidfTransformer(use_idf=False), spreading)
model.fit(x[: len(known)], y)
seconds = time.process_time() - started  # measuring
accuracy = model.score(x[len(known) :], new["label"])
print(json.dumps({"accuracy": accuracy, "training_seconds": seconds}))  # measuring
