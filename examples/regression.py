"""Numbers instead of classes: NaN is unlabelled. Whether the graph helps is measured, and here it hardly does."""

import numpy as np
from sklearn.datasets import load_diabetes

import ngm

x, y = load_diabetes(return_X_y=True)  # 442 patients, ten measurements, progress of the disease a year later
x = (x / x.std(axis=0)).astype(np.float32)
new = np.arange(len(x)) >= 342  # the last hundred patients are not there yet
graph = ngm.knn_graph(x[~new], k=5, metric="euclidean")  # joins patients with like measurements

for alpha in (0.0, 0.05, 0.2):
    scores = []
    for seed in range(4):
        followed = np.random.default_rng(seed).permutation(342)[:40]  # forty of them are followed up for a year
        partial = np.full(342, np.nan)
        partial[followed] = y[followed]
        model = ngm.NGMRegressor(
            hidden=(32,), alpha_ll=alpha, alpha_lu=alpha, alpha_uu=alpha, epochs=20 if alpha else 60, seed=seed
        )  # 60 steps each: an epoch is three with edges, one without
        model.fit(x[~new], partial, graph=graph)
        scores.append(model.score(x[new], y[new]))
    print(f"alpha {alpha:4}: R² {np.mean(scores):.3f} ± {np.std(scores):.3f} on 100 new patients (4 seeds)")

print("three predictions, in the units of y:", model.predict(x[new][:3]).round(1))
