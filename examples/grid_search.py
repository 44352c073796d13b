"""Choose alpha by cross-validation: the graph is cut along with the rows, and only labelled rows are scored."""

import numpy as np
from sklearn.model_selection import GridSearchCV

import ngm
from ngm.datasets import few_labels, load

digits = load("digits")
x = digits.x[digits.train]
y = few_labels(digits.y[digits.train], 5, seed=0)
graph = ngm.knn_graph(x, k=5)

search = GridSearchCV(
    ngm.NGMClassifier(recipe="paper", hidden=(100,), epochs=20),
    {"alpha_uu": [0.0, 0.2], "distance": ["l2", "squared_l2"]},
    cv=ngm.LabeledKFold(3),
)
search.fit(x, y, graph=graph)
print("best settings", search.best_params_)
print(f"accuracy on new digits {search.score(digits.x[digits.test], digits.y[digits.test]):.3f}")
assert np.isfinite(search.cv_results_["mean_test_score"]).all()
