"""Two graphs over the same nodes, each with its own alphas, layer and direction of influence."""

import torch
from torch import nn

import ngm
from ngm.datasets import few_labels, load

digits = load("digits")
x = torch.from_numpy(digits.x[digits.train])
y = few_labels(digits.y[digits.train], 2, seed=0)

similar = ngm.knn_graph(x, k=5)  # undirected, from the images
order = torch.stack([torch.arange(len(x) - 1), torch.arange(1, len(x))], dim=1)
sequence = ngm.Graph.from_edges(order, num_nodes=len(x), directed=True)  # each image and the one after it

loss = ngm.NGMLoss(
    [
        ngm.Regularizer(alpha_ll=0.2, alpha_lu=0.2, alpha_uu=0.2),
        ngm.Regularizer(alpha_ll=0.0, alpha_lu=0.01, alpha_uu=0.0, distance="kl", influence="source"),
    ],
    scaling="mean",
)
loader = ngm.EdgeLoader(x, y, [similar, sequence], kinds=loss.kinds)
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
optimizer = torch.optim.Adam(network.parameters())
for _ in range(15):
    for batch in loader:
        optimizer.zero_grad()
        loss(network, batch).total.backward()
        optimizer.step()
predicted = network(torch.from_numpy(digits.x[digits.test])).argmax(dim=1).numpy()
print(f"accuracy on new digits {(predicted == digits.y[digits.test]).mean():.3f}")
