"""scikit-learn: logistic regression on the labelled papers.

python sklearn_logistic.py DATA SEED
"""

import json  # measuring
import sys
import time  # measuring
from pathlib import Path

import pandas as pd
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

data, seed = Path(sys.argv[1]), int(sys.argv[2])
known, new = (pd.read_csv(data / name) for name in ("known.csv", "new.csv"))
x, labeled = sp.load_npz(data / "x.npz"), known.index[known["label"].notna()]
started = time.process_time()  # measuring
model = make_pipeline(TfidfTransformer(use_idf=True), LogisticRegression(C=1.0, max_iter=1000, random_state=seed))
model.fit(x[labeled], known["label"][labeled])
seconds = time.process_time() - started  # measuring
accuracy = model.score(x[len(known) :], new["label"])
print(json.dumps({"accuracy": accuracy, "training_seconds": seconds}))  # measuring
