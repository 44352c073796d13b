"""The paper's feed-forward network: fully connected layers, ReLU between them, dropout where asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from torch import Tensor, nn
from torch.nn import functional as F

from ngm.choices import ScalingName
from ngm.networks.dropout import ByteDropout
from ngm.networks.input_scaling import scaling_module
from ngm.networks.sparse_rows import sparse_product


class FFNNModule(nn.Module):
    """Feed-forward network from (b, in_features), dense or `torch.sparse_csr`, to (b, out_features) logits.

    Args:
        in_features: Width of the input.
        out_features: Number of classes, labels or targets.
        hidden: Width of each hidden layer; the paper has (250, 100) on PubMed and (50,) on BlogCatalog.
        dropout: Share of the units dropped before each hidden layer's successor while training.
        input_dropout: Share of the inputs dropped while training.
        input_scaling: What is done to the input rows first: "unit_rows", "standardize" or "none".
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        hidden: Sequence[int] = (250, 100),
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        input_scaling: ScalingName = "none",
    ) -> None:
        super().__init__()
        self.scale = scaling_module(input_scaling, in_features)
        widths = [in_features, *hidden]
        shares = [input_dropout] + [dropout] * len(hidden)
        self.hidden = nn.ModuleList(_Block(a, b, share) for a, b, share in zip(widths, hidden, shares, strict=False))
        self.dropout = ByteDropout(shares[-1])
        self.output = _Linear(widths[-1], out_features)
        # h is read before its dropout, so that noise does not count as distance
        self.hidden_layer = f"hidden.{len(hidden) - 1}" if hidden else "output"

    def expect_sparse_rows(self) -> None:
        """Puts the weight of the first layer into memory by input, so that sparse rows find its columns in one piece.

        Its shape and values stay. Without it, the weight is transposed in every step on sparse rows.
        """
        first = cast(_Block, self.hidden[0]).linear if len(self.hidden) else self.output
        first.weight.data = first.weight.data.t().contiguous().t()

    def forward(self, x: Tensor) -> Tensor:
        """(b, in_features) -> (b, out_features)."""
        x = x if self.scale is None else self.scale(x)
        for block in self.hidden:
            x = block(x)  # (b, width)
        logits: Tensor = self.output(self.dropout(x))
        return logits


class _Block(nn.Module):
    """Dropout, linear map, ReLU."""

    def __init__(self, in_features: int, out_features: int, dropout: float) -> None:
        super().__init__()
        self.dropout = ByteDropout(dropout)
        self.linear = _Linear(in_features, out_features)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.linear(self.dropout(x)))


class _Linear(nn.Linear):
    """`nn.Linear` that also takes sparse rows, at a cost in proportion to their non-zeros."""

    def forward(self, x: Tensor) -> Tensor:
        if x.is_sparse_csr:
            return sparse_product(x, self.weight.t()) + self.bias
        return super().forward(x)
