"""A network for each label, all trained as one: what "one-vs-rest classifiers" means in the paper's section 4.1.

The networks share their inputs and nothing else. The cost of the batch is a sum over labels, so the gradient of each
network is what it would be alone, and an optimizer that treats every weight by itself trains all of them at once.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.distances import Distance
from ngm.networks.sparse_rows import sparse_products


class OneVsRest(nn.Module):
    """As many feed-forward networks as labels, each with one hidden layer of its own and one output.

    Args:
        in_features: Width of the input.
        out_features: Number of labels.
        hidden: Width of each network's hidden layer; the paper has 50.

    Its hidden layer, which a `Regularizer` reads by default, is (b, labels * hidden): the networks side by side. With
    `separate(l2, labels)` as the distance, every network is compared across an edge by itself.
    """

    hidden_layer = "hidden"

    def __init__(self, in_features: int, out_features: int, hidden: int = 50) -> None:
        super().__init__()
        self.hidden = _Hidden(in_features, out_features, hidden)
        bound = 1 / math.sqrt(hidden)
        self.weight = nn.Parameter(torch.empty(out_features, hidden).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(out_features).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """(b, in_features), dense or `torch.sparse_csr` -> (b, labels) logits."""
        h: Tensor = self.hidden(x).reshape(-1, *self.weight.shape)  # (b, labels, hidden)
        return (h * self.weight).sum(dim=2) + self.bias


def separate(distance: Distance, labels: int) -> Distance:
    """The sum over networks of a distance between hidden layers that stand side by side.

    Args:
        distance: (k, d), (k, d) -> (k,), over the last axis.
        labels: Number of networks.

    >>> from ngm.distances import l2
    >>> separate(l2, 2)(torch.zeros(1, 4), torch.tensor([[3.0, 4.0, 0.0, 1.0]]))
    tensor([6.])
    """

    def summed(h_u: Tensor, h_v: Tensor) -> Tensor:
        return distance(h_u.reshape(len(h_u), labels, -1), h_v.reshape(len(h_v), labels, -1)).sum(dim=1)

    return summed


class _Hidden(nn.Module):
    """The hidden layers of all networks side by side: (b, in_features) -> (b, labels * hidden)."""

    def __init__(self, in_features: int, labels: int, hidden: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(in_features)
        self.weight = nn.Parameter(torch.empty(labels, in_features, hidden).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(labels, 1, hidden).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        product = sparse_products if x.is_sparse_csr else torch.matmul
        by_label: Tensor = product(x, self.weight)  # (labels, b, h)
        return F.relu(by_label + self.bias).transpose(0, 1).flatten(1)
