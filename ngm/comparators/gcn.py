"""Graph convolutional network (Kipf and Welling 2017), for orientation: it reads the graph when it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import normalize
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.comparators.linear import check_numbers, check_training_set
from ngm.graph import Graph
from ngm.rows import Inputs, take_rows
from ngm.training import optimizer_step, seeded


@dataclass(eq=False, repr=False)
class GCN(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Two graph convolutions, softmax(A relu(A X W1) W2) with A = D^-1/2 (A + I) D^-1/2, trained on all nodes at once.

    Needs PyTorch Geometric. Defaults are the paper's; instead of stopping early on validation labels, all epochs are
    done. Rows of x are scaled to sum up to 1, as there.

    Args:
        hidden: Width of the hidden layer.
        dropout: Share of the inputs and of the hidden units dropped while training.
        learning_rate: Size of Adam's steps.
        weight_decay: L2 penalty on the weights of the first layer.
        epochs: Steps, each on the whole graph.
        seed: Same seed, same result.

    Attributes:
        classes_: (C,) class names.
        layers_: The two trained convolutions.
        transduction_: (n,) class of every row of x.
    """

    hidden: int = 16
    dropout: float = 0.5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 200
    seed: int = 0

    def fit(self, x: Inputs, y: ArrayLike, graph: Graph | None = None) -> GCN:
        """Trains on all nodes of the graph.

        Args:
            x: (n, d) dense or sparse, a row per node.
            y: (n,) integers or strings, -1 / None / NaN = unlabelled.
            graph: Graph on n nodes; each edge is used both ways.

        Returns:
            The estimator itself, fitted.
        """
        check_numbers(
            self,
            positive=("learning_rate",),
            zero_or_more=("weight_decay",),
            whole=("hidden", "epochs"),
            shares=("dropout",),
        )
        data = check_training_set(self, x, y, graph, needs_graph=True)
        scaled = normalize(data.x, norm="l1")
        rows = cast(Tensor, take_rows(scaled, torch.arange(len(data.targets))))
        edges, weight = both_ways(cast(Graph, graph))
        targets, labeled = torch.from_numpy(data.targets), torch.from_numpy(data.labeled)
        with seeded(self.seed):
            self.layers_ = convolutions(rows.shape[1], self.hidden, len(data.classes))
            first, second = (list(layer.parameters()) for layer in self.layers_)
            groups = [{"params": first, "weight_decay": self.weight_decay}, {"params": second, "weight_decay": 0.0}]
            adam = torch.optim.Adam(groups, self.learning_rate)
            for _ in range(self.epochs):
                logits = forward(self.layers_, rows, edges, weight, self.dropout)
                optimizer_step(adam, F.cross_entropy(logits[labeled], targets[labeled]))
        with torch.inference_mode():
            index = forward(self.layers_, rows, edges, weight, 0.0).argmax(dim=1).numpy()
        self.classes_ = data.classes
        self.transduction_: NDArray[np.generic] = self.classes_[index]
        return self

    def predict(self, x: Inputs) -> NDArray[np.generic]:
        """Refuses: rows by themselves have no neighbours to convolve with."""
        raise ValueError(
            "GCN classifies the nodes of its graph only; read transduction_, or fit with the new rows in x and graph"
        )


def convolutions(in_features: int, hidden: int, out_features: int) -> nn.ModuleList:
    """Two layers of PyTorch Geometric; the normalised adjacency is worked out once."""
    try:
        from torch_geometric.nn import GCNConv
    except ImportError as error:
        raise ImportError("GCN needs PyTorch Geometric: pip install torch_geometric") from error
    return nn.ModuleList([GCNConv(in_features, hidden, cached=True), GCNConv(hidden, out_features, cached=True)])


def forward(layers: nn.ModuleList, x: Tensor, edges: Tensor, weight: Tensor, dropout: float) -> Tensor:
    """(n, C) logits.

    Args:
        layers: The two convolutions.
        x: (n, d) rows, dense or `torch.sparse_csr`.
        edges: (2, 2m) each edge both ways.
        weight: (2m,) its weight.
        dropout: Share of the entries of x and of hidden units to drop; of sparse rows, stored entries.
    """
    if x.is_sparse_csr:
        values = F.dropout(x.values(), dropout)
        x = torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), values, x.shape, check_invariants=False)
    else:
        x = F.dropout(x, dropout)
    h = F.dropout(F.relu(layers[0](x, edges, weight)), dropout)  # (n, hidden)
    logits: Tensor = layers[1](h, edges, weight)
    return logits


def both_ways(graph: Graph) -> tuple[Tensor, Tensor]:
    """(2, 2m) ends and (2m,) weights: from u to v and from v to u."""
    ends = torch.cat([graph.edges, graph.edges.flip(1)]).t().contiguous()
    return ends, torch.cat([graph.weight, graph.weight])
