"""Four ways to use a graph when labels are few, on new items that the graph does not know."""

import ngm
from ngm.datasets import few_labels, load

digits = load("digits")
x, x_new = digits.x[digits.train], digits.x[digits.test]
y = few_labels(digits.y[digits.train], 1, seed=0)  # a single label a class
graph = ngm.knn_graph(x, k=5)

network = ngm.NGMClassifier(recipe="paper", epochs=20)
methods: dict[str, ngm.NGMClassifier | ngm.SelfTraining | ngm.CoTraining] = {
    "without the graph": ngm.NGMClassifier(recipe="paper", alpha_ll=0, alpha_lu=0, alpha_uu=0, epochs=180),
    "attraction (Eq. 3)": network,
    "self-training": ngm.SelfTraining(network, rounds=3, teacher="propagation"),
    "co-training (Eq. 2 and 3)": ngm.CoTraining(network, rounds=2),
    "the default (recipe auto)": ngm.NGMClassifier(),
}
for name, method in methods.items():
    print(f"{name:26} {method.fit(x, y, graph=graph).score(x_new, digits.y[digits.test]):.3f}")
