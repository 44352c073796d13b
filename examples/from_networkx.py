"""From networkx: the karate club, of whose 34 members two are asked which side they are on."""

import networkx as nx
import numpy as np

import ngm
from ngm import inputs

club = nx.karate_club_graph()
side = np.array([club.nodes[member]["club"] for member in club])  # "Mr. Hi" or "Officer"
graph = ngm.Graph.from_networkx(club, weight="weight")  # members 0 to 33 are their own ids; weight: contacts
print(f"{club} -> {graph}")

y = np.full(len(side), None, dtype=object)  # None = unlabelled
leaders = [0, 33]  # the two between whom the club broke up
y[leaders] = side[leaders]
others = np.setdiff1d(np.arange(len(side)), leaders)

spread = ngm.LabelPropagation().fit(None, y, graph=graph)
print(f"labels spread over the edges (Eq. 2): {np.sum(spread.transduction_[others] == side[others])} of 32 right")

# A network that reads whom somebody knows can also tell of people who join later
rows = inputs.adjacency_rows(graph)
model = ngm.NGMClassifier(hidden=(16,), epochs=200).fit(rows, y, graph=graph)
print(f"network on rows of the graph: {np.sum(model.predict(rows)[others] == side[others])} of 32 right")

for friends in ([1, 2, 3], [29, 31, 32], [2, 32]):
    links = inputs.links([[0, friend] for friend in friends], graph, num_new=1)
    (shares,) = model.predict_proba(inputs.adjacency_rows(links))
    said = ", ".join(f"{name} {share:.2f}" for name, share in zip(model.classes_, shares, strict=True))
    print(f"a newcomer who knows {friends}: {said}")
