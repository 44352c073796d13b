"""The first convolution of a character network as a look-up: characters are one-hot, so a product is a row."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional as F

_BLOCK = 256  # frames looked up together: their part of the table stays in the processor's cache


class FirstLayer(nn.Module):
    """Convolution over one-hot characters, max-pooling and ReLU: (b, L) codes -> (b, frames, 1, positions).

    Weights are those of a `Conv1d(characters, frames, kernel)` over one-hot columns, where code 0 is a column of
    zeros. On a CPU rows of them are looked up and added, and only what pooling leaves is written: the L - kernel + 1
    positions of the convolution are never in memory. The output's channels are last in memory.

    Args:
        characters: Size of the alphabet.
        frames: Output channels.
        kernel: Characters that a position of the convolution sees.
        pool: Positions of which the largest value counts; what is left behind the last `pool` is dropped.
    """

    def __init__(self, characters: int, frames: int, kernel: int, pool: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(frames, characters, kernel))
        self.bias = nn.Parameter(torch.empty(frames))
        self.pool = pool

    def forward(self, codes: Tensor) -> Tensor:
        """(b, L) codes, from 0 to `characters`, -> (b, frames, 1, (L - kernel + 1) // pool)."""
        if codes.device.type != "cpu" or torch.compiler.is_compiling():
            return self.convolution(codes)
        self._check(codes)
        exact = self.weight.dtype if self.weight.dtype == torch.float64 else torch.float32
        table = F.pad(self.weight.permute(2, 1, 0), (0, 0, 1, 0)).to(exact)  # (kernel, characters + 1, frames)
        pooled: Tensor = _LookUp.apply(codes, table, self.bias.to(exact), self.pool)  # type: ignore[no-untyped-call]
        return pooled.to(self.weight.dtype)[:, None].permute(0, 3, 1, 2)

    def _check(self, codes: Tensor) -> None:
        """Refuses characters that the table has no row for: compiled loops do not look."""
        low, high = codes.aminmax() if codes.numel() else (0, 0)
        if low < 0 or high > self.weight.shape[1]:
            raise ValueError(
                f"codes are from {int(low)} to {int(high)}; give 0 for blank and 1 to {self.weight.shape[1]} for the "
                "characters of the alphabet, as ngm.text.quantize does"
            )

    def convolution(self, codes: Tensor) -> Tensor:
        """The same by steps that every device has and `torch.export` can follow."""
        columns = F.one_hot(codes.long(), self.weight.shape[1] + 1)[..., 1:]  # (b, L, characters); a blank is zeros
        summed = F.conv1d(columns.to(self.weight.dtype).transpose(1, 2), self.weight, self.bias)
        return F.relu(F.max_pool1d(summed, self.pool))[:, :, None]


class _LookUp(torch.autograd.Function):
    """out[b, q] = relu(bias + max over s of sum over j of table[j, codes[b, q * pool + s + j]])."""

    @staticmethod
    def forward(ctx: FunctionCtx, codes: Tensor, table: Tensor, bias: Tensor, pool: int) -> Tensor:
        """(b, L) codes, (kernel, V, frames) table, (frames,) bias -> (b, (L - kernel + 1) // pool, frames)."""
        from ngm.networks.look_up_loops import pooled_sums

        kernel, _, frames = table.shape
        out = table.new_empty(len(codes), (codes.shape[1] - kernel + 1) // pool, frames)
        chosen, letters = torch.empty_like(out, dtype=torch.uint8), codes.to(torch.uint8).contiguous()
        arrays = letters.numpy(), table.detach().contiguous().numpy(), bias.detach().contiguous().numpy()
        for begin in range(0, frames, _BLOCK):
            pooled_sums(*arrays, pool, begin, min(begin + _BLOCK, frames), out.numpy(), chosen.numpy())
        ctx.save_for_backward(letters, chosen)
        ctx.pool, ctx.shape = pool, table.shape  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[None, Tensor, Tensor, None]:
        """An output's gradient goes to the characters that the chosen sum has seen."""
        from ngm.networks.look_up_loops import add_gradients

        letters, chosen = ctx.saved_tensors  # type: ignore[attr-defined]
        pool: int = ctx.pool  # type: ignore[attr-defined]
        of_table, of_bias = gradient.new_zeros(ctx.shape), gradient.new_zeros(ctx.shape[-1])  # type: ignore[attr-defined]
        arrays = letters.numpy(), chosen.numpy(), gradient.contiguous().numpy()
        for begin in range(0, len(of_bias), _BLOCK):
            end = min(begin + _BLOCK, len(of_bias))
            add_gradients(*arrays, pool, begin, end, of_table.numpy(), of_bias.numpy())
        return None, of_table, of_bias, None
