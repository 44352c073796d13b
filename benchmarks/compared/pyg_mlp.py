"""PyTorch Geometric: a network on the labelled papers, without a graph.

python pyg_mlp.py DATA SEED
"""

# mypy: ignore-errors

import json  # measuring
import sys
import time  # measuring
from pathlib import Path

import pandas as pd
import scipy.sparse as sp
import torch
from torch.nn.functional import cross_entropy
from torch_geometric import seed_everything
from torch_geometric.data import Data
from torch_geometric.nn import MLP
from torch_geometric.transforms import NormalizeFeatures

data, seed = Path(sys.argv[1]), int(sys.argv[2])
known, new = (pd.read_csv(data / name) for name in ("known.csv", "new.csv"))
x = torch.from_numpy(sp.load_npz(data / "x.npz").toarray())
y, truth = (torch.tensor(part["label"].fillna(-1).to_numpy(), dtype=torch.long) for part in (known, new))
x = NormalizeFeatures()(Data(x=x)).x
labeled, classes = (y >= 0).nonzero().flatten(), int(y.max()) + 1
started = time.process_time()  # measuring
seed_everything(seed)
model = MLP(in_channels=x.shape[1], hidden_channels=64, out_channels=classes, num_layers=2, dropout=0.8, norm=None)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.0005)
model.train()
for _ in range(200):
    optimizer.zero_grad()
    cross_entropy(model(x[labeled]), y[labeled]).backward()
    optimizer.step()
seconds = time.process_time() - started  # measuring
model.eval()
with torch.no_grad():
    predicted = model(x[len(known) :]).argmax(dim=1)
accuracy = (predicted == truth).float().mean().item()
print(json.dumps({"accuracy": accuracy, "training_seconds": seconds}))  # measuring
