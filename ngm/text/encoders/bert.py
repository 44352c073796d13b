"""The forward pass of BERT from a file of weights, without a package that would bring its own download."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional as F

_EPSILON = 1e-12


@dataclass(frozen=True, eq=False)
class Bert:
    """A BERT whose shape is read off its weights.

    Args:
        weights: By the names under which the model was published; what they do not need is ignored.
        heads: Parts into which attention cuts the width.
    """

    weights: Mapping[str, Tensor]
    heads: int

    @classmethod
    def read(cls, file: Path, heads: int) -> Bert:
        """Reads a `.safetensors` file."""
        return cls(load_file(file), heads)

    @property
    def width(self) -> int:
        """Numbers per token."""
        return int(self.weights["embeddings.word_embeddings.weight"].shape[1])

    @property
    def layers(self) -> int:
        """Number of blocks of attention."""
        return sum(name.endswith("attention.self.query.weight") for name in self.weights)

    @torch.inference_mode()
    def __call__(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """The last hidden vector of every token.

        Args:
            ids: (b, t) numbers of the tokens.
            mask: (b, t) 1 for a token, 0 for padding.

        Returns:
            (b, t, d); what stands at padding means nothing.
        """
        tokens = torch.from_numpy(ids)
        h = self.weights["embeddings.word_embeddings.weight"][tokens]  # (b, t, d)
        h = h + self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        h = self._norm("embeddings", h + self.weights["embeddings.token_type_embeddings.weight"][0])
        attention_mask = None if mask.all() else torch.from_numpy(mask).bool()[:, None, None]  # (b, 1, 1, t)
        for layer in range(self.layers):
            h = self._block(f"encoder.layer.{layer}", h, attention_mask)
        return h.numpy()

    def _block(self, name: str, h: Tensor, attention_mask: Tensor | None) -> Tensor:
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", h).view(*h.shape[:2], self.heads, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )  # (b, heads, t, d / heads)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask).transpose(1, 2).flatten(2)
        h = self._norm(f"{name}.attention.output", h + self._linear(f"{name}.attention.output.dense", mixed))
        inner = F.gelu(self._linear(f"{name}.intermediate.dense", h))
        return self._norm(f"{name}.output", h + self._linear(f"{name}.output.dense", inner))

    def _linear(self, name: str, h: Tensor) -> Tensor:
        return F.linear(h, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _norm(self, name: str, h: Tensor) -> Tensor:
        weight, bias = self.weights[f"{name}.LayerNorm.weight"], self.weights[f"{name}.LayerNorm.bias"]
        return F.layer_norm(h, weight.shape, weight, bias, _EPSILON)
