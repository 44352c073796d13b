"""From PyTorch Geometric: a `Data` object in; its masks say which labels are shown and which nodes are tested."""

import torch
from torch_geometric.data import Data

import ngm

# Made up: 600 papers on four topics; their words tell the topic badly, their citations rather well
draw = torch.Generator().manual_seed(0)
topic = torch.randint(4, (600,), generator=draw)
words = (torch.rand(600, 200, generator=draw) < 0.05 + 0.1 * (torch.arange(200) % 4 == topic[:, None])).float()
chance = torch.where(topic[:, None] == topic, 0.05, 0.003)
cites = (torch.rand(600, 600, generator=draw) < chance).triu(1)
edge_index = torch.cat([cites.nonzero().T, cites.nonzero().T.flip(0)], dim=1)  # PyG has both directions
shown = torch.zeros(600, dtype=torch.bool)
shown[[int(i) for t in range(4) for i in torch.nonzero(topic == t)[:5]]] = True  # five labels a topic
new = torch.arange(600) >= 450
data = Data(x=words, edge_index=edge_index, y=topic, train_mask=shown & ~new, test_mask=new)

# Inductive: papers that are tested are not there while training, nor are their citations
known = data.subgraph(~data.test_mask)
graph = ngm.Graph.from_pyg(known)
y = torch.where(known.train_mask, known.y, -1)  # -1 = unlabelled
print(f"{data} -> {graph}, {int(known.train_mask.sum())} labels")

methods = {
    "without graph": ngm.NGMClassifier(recipe="paper", alpha_ll=0, alpha_lu=0, alpha_uu=0, epochs=100),
    "with graph": ngm.NGMClassifier(epochs=50),
}
for name, model in methods.items():
    model.fit(known.x, y, graph=graph)
    found = torch.from_numpy(model.predict(data.x[data.test_mask]))  # the network alone, without a graph
    right = (found == data.y[data.test_mask]).float().mean()
    print(f"{name:13} {right:.3f} of {int(data.test_mask.sum())} new papers")
