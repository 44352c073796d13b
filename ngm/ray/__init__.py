"""Ray, for those who have it: training by Ray Train, prediction over data sets of Ray Data.

    model = ngm.ray.fit(ngm.NGMClassifier(), x, y, graph=graph, folder="run", workers=4)
    topics = ngm.ray.predict(ray.data.read_parquet("new/"), "run")

training      `fit` on arrays and `train` on files: the workers of Ray Train are the ranks of `ngm.distributed`
prediction    `predict` on a data set, and `Predictor`, which is what its workers run

`pip install 'neural-graph-machines[ray]'` has what this needs; ray is imported when one of the functions is called.
"""

from __future__ import annotations

from ngm.ray.prediction import Predictor, predict
from ngm.ray.training import fit, train

__all__ = ["Predictor", "fit", "predict", "train"]
