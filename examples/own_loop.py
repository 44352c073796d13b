"""Your own network and training loop: `EdgeLoader` gives batches of edges, `NGMLoss` their cost."""

import numpy as np
import torch
from torch import nn

import ngm
from ngm.datasets import load

digits = load("digits")
x = torch.from_numpy(digits.x[digits.train])
y = np.full(len(x), -1)
y[:40] = digits.y[digits.train][:40]
graph = ngm.knn_graph(x, k=5)

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
optimizer = torch.optim.Adam(network.parameters())
loss = ngm.NGMLoss(alpha_ll=0.2, alpha_lu=0.2, alpha_uu=0.2, scaling="mean")
loader = ngm.EdgeLoader(x, y, graph, kinds=loss.kinds, batch_size=512, seed=0)

for epoch in range(20):
    for batch in loader:
        cost = loss(network, batch)  # runs the network once on each distinct node
        optimizer.zero_grad()
        cost.total.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: supervised {cost.supervised:.3f}, LU {cost.lu:.3f}, UU {cost.uu:.3f}")

predicted = network(torch.from_numpy(digits.x[digits.test])).argmax(dim=1).numpy()
print(f"accuracy on new digits {(predicted == digits.y[digits.test]).mean():.3f}")
