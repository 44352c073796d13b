"""A look before training: a graph that knows the labels, and one that does not."""

import numpy as np

import ngm
from ngm.datasets import few_labels, load

digits = load("digits")
y = few_labels(digits.y, 5, seed=0)  # five labels a class, -1 elsewhere
graph = ngm.knn_graph(digits.x, k=5)

found = ngm.diagnose(graph, y, digits.x)
print(found)  # verdict, what it rests on, and advice

names = np.random.default_rng(0).permutation(len(y))  # what a mix-up of rows does
mixed_up = ngm.Graph.from_edges(names[graph.edges.numpy()], graph.weight, len(y))
print()
print(ngm.diagnose(mixed_up, y, digits.x))

held_out = found.held_out
assert held_out is not None
print(f"\nheld-out digits told by the graph alone: {held_out.right} against {held_out.chance:.2f} by chance")
