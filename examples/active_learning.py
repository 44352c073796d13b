"""What to label next: the items of which the network is least certain, against items drawn at random."""

import numpy as np
from numpy.typing import NDArray

import ngm
from ngm.datasets import few_labels, load

digits = load("digits")
x, truth = digits.x[digits.train], digits.y[digits.train]
x_new, truth_new = digits.x[digits.test], digits.y[digits.test]
graph = ngm.knn_graph(x, k=5)
rounds, at_once = 3, 10


def margin(model: ngm.NGMClassifier) -> NDArray[np.floating]:
    """(n,) how far the likeliest class is ahead of the next: little means that a label would tell the most."""
    shares = np.sort(model.predict_proba(x), axis=1)
    return np.asarray(shares[:, -1] - shares[:, -2])


def labelled_in_rounds(least_certain: bool, seed: int) -> list[float]:
    """Accuracy on new digits after each round of ten more labels; the first have one a class."""
    rng = np.random.default_rng(seed)
    y, scores = few_labels(truth, 1, seed=seed), []
    for _ in range(rounds + 1):
        model = ngm.NGMClassifier(recipe="paper", epochs=15, seed=seed).fit(x, y, graph=graph)
        scores.append(model.score(x_new, truth_new))
        open_ = np.flatnonzero(y == -1)
        order = np.argsort(margin(model)[open_]) if least_certain else rng.permutation(len(open_))
        asked = open_[order[:at_once]]
        y[asked] = truth[asked]  # somebody looks at these ten
    return scores


seeds = range(2)
print(f"labels              {'  '.join(f'{10 + at_once * r:5}' for r in range(rounds + 1))}")
for name, least_certain in (("at random", False), ("least certain first", True)):
    scores = np.array([labelled_in_rounds(least_certain, seed) for seed in seeds])  # (seeds, rounds + 1)
    print(f"{name:19} {'  '.join(f'{score:.3f}' for score in scores.mean(axis=0))}   mean of {len(seeds)} seeds")
