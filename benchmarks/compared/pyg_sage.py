"""PyTorch Geometric: GraphSAGE, which needs the edges of a new paper to predict it.

python pyg_sage.py DATA SEED
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
from torch_geometric.nn import GraphSAGE
from torch_geometric.transforms import Compose, NormalizeFeatures, ToUndirected

data, seed = Path(sys.argv[1]), int(sys.argv[2])
known, new, edges, all_edges = (pd.read_csv(data / f"{name}.csv") for name in ("known", "new", "edges", "all_edges"))
x = torch.from_numpy(sp.load_npz(data / "x.npz").toarray())
y, truth = (torch.tensor(part["label"].fillna(-1).to_numpy(), dtype=torch.long) for part in (known, new))
transform = Compose([NormalizeFeatures(), ToUndirected()])
before = transform(Data(x=x[: len(known)], edge_index=torch.tensor(edges.to_numpy().T), y=y))
after = transform(Data(x=x, edge_index=torch.tensor(all_edges.to_numpy().T)))
started = time.process_time()  # measuring
seed_everything(seed)
model = GraphSAGE(x.shape[1], hidden_channels=64, num_layers=2, out_channels=int(y.max()) + 1, dropout=0.8)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.005)
model.train()
for _ in range(200):
    optimizer.zero_grad()
    out = model(before.x, before.edge_index)
    cross_entropy(out, before.y, ignore_index=-1).backward()
    optimizer.step()
seconds = time.process_time() - started  # measuring
model.eval()
with torch.no_grad():
    predicted = model(after.x, after.edge_index)[len(known) :].argmax(dim=1)
accuracy = (predicted == truth).float().mean().item()
print(json.dumps({"accuracy": accuracy, "training_seconds": seconds}))  # measuring
