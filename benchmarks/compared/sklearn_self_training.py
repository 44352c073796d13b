"""scikit-learn: logistic regression that labels papers for itself.

python sklearn_self_training.py DATA SEED
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
from sklearn.semi_supervised import SelfTrainingClassifier

data, seed = Path(sys.argv[1]), int(sys.argv[2])
known, new = (pd.read_csv(data / name) for name in ("known.csv", "new.csv"))
x, y = sp.load_npz(data / "x.npz"), known["label"].fillna(-1).astype(int)
started = time.process_time()  # measuring
teacher = LogisticRegression(C=100.0, max_iter=1000, random_state=seed)
model = make_pipeline(TfidfTransformer(use_idf=True), SelfTrainingClassifier(teacher, threshold=0.5, max_iter=100))
model.fit(x[: len(known)], y)
seconds = time.process_time() - started  # measuring
accuracy = model.score(x[len(known) :], new["label"])
print(json.dumps({"accuracy": accuracy, "training_seconds": seconds}))  # measuring
