"""The first convolution of a character network as a look-up: characters are one-hot, so a product is a row."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F


class FirstLayer(nn.Module):
    """Convolution over one-hot characters: (b, L) codes -> (b, frames, 1, L - kernel + 1), channels last in memory.

    Weights are those of a `Conv1d(characters, frames, kernel)` over one-hot columns, where code 0 is a column of
    zeros. They are looked up and summed, which at any number of frames takes a fifth of the time of the convolution.

    Args:
        characters: Size of the alphabet.
        frames: Output channels.
        kernel: Characters that an output sees.
    """

    def __init__(self, characters: int, frames: int, kernel: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(frames, characters, kernel))
        self.bias = nn.Parameter(torch.empty(frames))

    def forward(self, codes: Tensor) -> Tensor:
        """(b, L) codes -> (b, frames, 1, L - kernel + 1)."""
        table = F.pad(self.weight.permute(2, 1, 0), (0, 0, 1, 0))  # (kernel, characters + 1, frames); row 0 is blank
        summed: Tensor = _LookUp.apply(codes, table)  # type: ignore[no-untyped-call]
        return (summed + self.bias)[:, None].permute(0, 3, 1, 2)


class _LookUp(torch.autograd.Function):
    """out[b, p] = sum over j of table[j, codes[b, p + j]]."""

    @staticmethod
    def forward(ctx: FunctionCtx, codes: Tensor, table: Tensor) -> Tensor:
        """(b, L) codes, (kernel, V, frames) table -> (b, L - kernel + 1, frames)."""
        kernel, rows, frames = table.shape
        ctx.save_for_backward(codes)
        ctx.shape = table.shape  # type: ignore[attr-defined]
        places = codes.long().unfold(1, kernel, 1) + torch.arange(0, kernel * rows, rows, device=codes.device)
        summed = F.embedding_bag(places.reshape(-1, kernel), table.reshape(-1, frames), mode="sum")
        return summed.view(len(codes), -1, frames)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[None, Tensor]:
        """A row's gradient is the sum over the places where its character stands: a sparse product for each j."""
        (codes,) = ctx.saved_tensors  # type: ignore[attr-defined]
        kernel, rows, frames = ctx.shape  # type: ignore[attr-defined]
        length = codes.shape[1]
        # as many rows of zeros before each text as it lacks outputs, so that place q - j is there for every q and j
        exact = gradient if gradient.dtype == torch.float64 else gradient.float()  # sparse products know no bfloat16
        padded = F.pad(exact, (0, 0, kernel - 1, kernel - 1)).reshape(-1, frames)
        flat = codes.reshape(-1).cpu().numpy().astype(np.uint8)
        order = torch.from_numpy(np.argsort(flat, kind="stable")).to(gradient.device)  # a radix sort, bytes being small
        starts = torch.from_numpy(np.concatenate([[0], np.bincount(flat, minlength=rows).cumsum()])).to(order.device)
        width = gradient.shape[1] + 2 * (kernel - 1)
        place = order // length * width + order % length + kernel - 1
        ones = padded.new_ones(len(order))
        with torch.autocast(gradient.device.type, enabled=False):
            out = [
                torch.sparse_csr_tensor(starts, place - j, ones, (rows, len(padded)), check_invariants=False) @ padded
                for j in range(kernel)
            ]
        return None, torch.stack(out).to(gradient.dtype)
