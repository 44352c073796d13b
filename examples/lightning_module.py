"""Lightning: the loader is an `EdgeLoader`, the training step is `NGMLoss`, everything else is Lightning's own."""

import logging

import lightning as L
import numpy as np
import torch
from torch import Tensor, nn

import ngm
from ngm.datasets import few_labels, load

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)  # no notes on devices

digits = load("digits")
x, y = digits.x[digits.train], few_labels(digits.y[digits.train], 2, seed=0)
x_new, truth = torch.from_numpy(digits.x[digits.test]), digits.y[digits.test]


class Digits(L.LightningModule):  # type: ignore[misc]
    """A custom network with the cost of section 3 of the paper; all alphas 0 is the same without a graph."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
        self.cost = ngm.NGMLoss(alpha_ll=alpha, alpha_lu=alpha, alpha_uu=alpha, scaling="mean")

    def training_step(self, batch: ngm.EdgeBatch, index: int) -> Tensor:
        """The cost of a batch of edges; its terms are logged by name."""
        cost: ngm.Cost = self.cost(self.network, batch)
        for name in ("supervised", "ll", "lu", "uu"):
            self.log(f"cost/{name}", getattr(cost, name), batch_size=len(batch.nodes))
        return cost.total

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Any of torch's."""
        return torch.optim.Adam(self.parameters())


graph = ngm.knn_graph(x, k=5)
for name, alpha in (("without graph", 0.0), ("with graph", 0.2)):
    L.seed_everything(0, verbose=False)
    module = Digits(alpha)
    edges = ngm.EdgeLoader(x, y, graph, seed=0)  # all edges for both: as many steps
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = L.Trainer(max_epochs=30, accelerator="cpu", enable_checkpointing=False, **quiet)
    trainer.fit(module, edges)
    right = np.mean(module.network(x_new).argmax(dim=1).numpy() == truth)
    shown = ", ".join(f"{key} {value:.3f}" for key, value in sorted(trainer.callback_metrics.items()))
    print(f"{name:13} accuracy {right:.3f} ({shown})")
