"""Few labels and a graph: the same network with and without it."""

import numpy as np

import ngm
from ngm.datasets import load

digits = load("digits")  # 8 x 8 images, embedded in scikit-learn
x, truth = digits.x[digits.train], digits.y[digits.train]
x_new, truth_new = digits.x[digits.test], digits.y[digits.test]

y = np.full(len(x), -1)  # -1 = unlabelled
for digit in range(10):
    y[np.flatnonzero(truth == digit)[:2]] = digit  # two labels a class

graph = ngm.knn_graph(x, k=5)  # joins each image to its five nearest
model = ngm.NGMClassifier().fit(x, y, graph=graph)
plain = ngm.NGMClassifier().fit(x, y)

print(f"without graph {plain.score(x_new, truth_new):.3f}")
print(f"with graph    {model.score(x_new, truth_new):.3f}")
