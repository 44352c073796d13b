"""Accelerate: the plain loop of own_loop.py, prepared for any device and number of processes (`accelerate launch`)."""

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn

import ngm
from ngm.datasets import few_labels, load

digits = load("digits")
x, y = digits.x[digits.train], few_labels(digits.y[digits.train], 2, seed=0)
x_new = torch.from_numpy(digits.x[digits.test])
graph = ngm.knn_graph(x, k=5)

accelerator = Accelerator(cpu=True)  # leave cpu=True out where there is an accelerator
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
loss = ngm.NGMLoss(alpha_ll=0.2, alpha_lu=0.2, alpha_uu=0.2, scaling="mean")
loader = ngm.EdgeLoader(
    x,
    y,
    graph,
    kinds=loss.kinds,
    seed=0,
    rank=accelerator.process_index,  # the loader deals the edges out itself, so it is not prepared
    world=accelerator.num_processes,
)
network, optimizer = accelerator.prepare(network, torch.optim.Adam(network.parameters()))

for epoch in range(30):
    for batch in loader:
        with accelerator.autocast():
            cost = loss(network, batch.to(accelerator.device))
        optimizer.zero_grad()
        accelerator.backward(cost.total * accelerator.num_processes)  # gradients are averaged; ours add up
        optimizer.step()
    if epoch % 10 == 9:
        accelerator.print(f"epoch {epoch + 1}: supervised {cost.supervised:.3f}, LU {cost.lu:.3f}, UU {cost.uu:.3f}")

bare = accelerator.unwrap_model(network).cpu().eval()
with torch.no_grad():
    right = np.mean(bare(x_new).argmax(dim=1).numpy() == digits.y[digits.test])
accelerator.print(f"accuracy on new digits {right:.3f} (processes: {accelerator.num_processes})")
