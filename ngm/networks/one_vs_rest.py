"""A network for each label, all trained as one: what "one-vs-rest classifiers" means in the paper's section 4.1.

The networks share their inputs and nothing else. The cost of the batch is a sum over labels, so the gradient of each
network is what it would be alone, and an optimizer that treats every weight by itself trains all of them at once.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F

from ngm.distances import Distance


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
        if x.is_sparse_csr:
            by_label: Tensor = _Bags.apply(self.weight, x)  # type: ignore[no-untyped-call]
        else:
            by_label = torch.matmul(x, self.weight)  # (labels, b, h)
        return F.relu(by_label + self.bias).transpose(0, 1).flatten(1)


class _Bags(torch.autograd.Function):
    """Sparse rows times the weights of each network, one network at a time: its table fits into the cache."""

    @staticmethod
    def forward(ctx: FunctionCtx, weight: Tensor, x: Tensor) -> Tensor:
        ctx.x = x  # type: ignore[attr-defined]
        return torch.stack([_product(x, table) for table in weight])

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        turned = _transposed(cast(Tensor, ctx.x))  # type: ignore[attr-defined]
        return torch.stack([_product(turned, part.contiguous()) for part in gradient]), None


def _product(x: Tensor, table: Tensor) -> Tensor:
    """(b, d) sparse rows @ (d, h) -> (b, h): each row is a weighted bag of rows of the table."""
    return F.embedding_bag(
        x.col_indices(),
        table,
        x.crow_indices(),
        mode="sum",
        per_sample_weights=x.values().to(table.dtype),
        include_last_offset=True,
    )


def _transposed(x: Tensor) -> Tensor:
    rows = sp.csr_array((x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()), shape=x.shape)
    columns = sp.csc_array(rows)
    offsets, index = (torch.from_numpy(part.astype(np.int64)) for part in (columns.indptr, columns.indices))
    shape = (x.shape[1], x.shape[0])
    return torch.sparse_csr_tensor(offsets, index, torch.from_numpy(columns.data), shape, check_invariants=False)
