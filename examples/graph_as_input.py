"""A graph and nothing else: rows of the adjacency matrix as inputs, and a prediction for nodes that join later."""

import numpy as np

import ngm
from ngm import inputs

rng = np.random.default_rng(0)
truth = rng.integers(4, size=500)  # four groups of people, who mostly know people of their own group
chance = np.where(truth[:, None] == truth, 0.08, 0.006)
friends = np.argwhere(np.triu(rng.random((500, 500)) < chance, 1))

# The last hundred are not there yet
among = (friends < 400).all(axis=1)
graph = ngm.Graph.from_edges(friends[among], num_nodes=400)
y = np.where(rng.random(400) < 0.15, truth[:400], -1)  # -1 = unlabelled
others = y == -1

rows = inputs.adjacency_rows(graph)  # 1 at a person's own index and at those of their friends; sparse
model = ngm.NGMClassifier(recipe="paper", hidden=(50,), epochs=20, batch_size=128).fit(rows, y, graph=graph)
print(f"{graph}, {(~others).sum()} labels")
print(f"unlabelled people {model.score(rows[others], truth[:400][others]):.2f}")

# They come, each with links to people we know: (new person, known person)
joining = friends[(friends[:, 0] < 400) & (friends[:, 1] >= 400)]
links = inputs.links(joining[:, ::-1] - [400, 0], graph, num_new=100)
print(f"new people        {model.score(inputs.adjacency_rows(links), truth[400:]):.2f}")

# An input that stays short on any graph: the 16 strongest identities that reach a person along the edges
strongest = inputs.concat(inputs.identities(graph, keep=16), scale=[10])  # chances are small numbers
by_identity = ngm.NGMClassifier(recipe="paper", hidden=(50,), epochs=20, batch_size=128).fit(strongest, y, graph=graph)
print(f"new people, by identities {by_identity.score(inputs.from_links(links, strongest), truth[400:]):.2f}")
