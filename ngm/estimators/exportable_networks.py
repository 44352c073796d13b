"""Networks as they are exported: the same weights and the same numbers, by steps that do not depend on the texts.

While training, networks that read texts look how long each one is and leave out what is behind its end. A file that
other programs run has to take the same steps for every batch, so here texts go through at one length.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.networks.charcnn import CharCNNModule
from ngm.networks.lstm import LSTMModule


def exportable(network: nn.Module) -> nn.Module:
    """A copy of the network, on the CPU, that `torch.export` can follow; one's own network as it is."""
    own = copy.deepcopy(network).cpu().eval().requires_grad_(False)
    if isinstance(own, CharCNNModule):
        return _Characters(own)
    return _Words(own) if isinstance(own, LSTMModule) else own


class _Characters(nn.Module):
    """`CharCNN`, all texts of a batch as far as the longest goes: (b, L) codes -> (b, out_features)."""

    def __init__(self, own: CharCNNModule) -> None:
        super().__init__()
        self.own = own

    def forward(self, codes: Tensor) -> Tensor:
        own, size = self.own, self.own.size
        count = torch.sym_min((codes.shape[1] + size.stride - 1) // size.stride, own.num_frames)  # type: ignore[no-untyped-call]
        width = (count - 1) * size.stride + size.field
        found = own.convolve(F.pad(codes, (0, width - codes.shape[1])))  # (b, channels, count)
        blank = own.convolve(codes.new_zeros(1, size.field))  # (1, channels, 1)
        rest = blank.expand(codes.shape[0], -1, own.num_frames - count)
        x = torch.cat([found, rest], dim=2).reshape(codes.shape[0], size.frames * own.num_frames)
        for layer in own.hidden:
            x = F.relu(layer(x))  # (b, hidden)
        logits: Tensor = own.output(x)
        return logits


class _Words(nn.Module):
    """`LSTM` through padded texts, padding included; h is the state at the last real token, before any padding."""

    def __init__(self, own: LSTMModule) -> None:
        super().__init__()
        self.own = own

    def forward(self, x: Tensor) -> Tensor:
        """(b, L) rows of the vocabulary -> (b, out_features)."""
        place = torch.arange(1, x.shape[1] + 1)
        last = ((x != 0) * place).amax(1).clamp(min=1) - 1  # (b,)
        states = self.own.words(x.long()).transpose(0, 1)  # (L, b, width)
        for weight, recurrent, *bias in self.own.hidden.all_weights:
            states = _through_time(F.linear(states, weight, bias[0] + bias[1]), recurrent)  # (L, b, hidden)
        logits: Tensor = self.own.output(states[last, torch.arange(x.shape[0])])
        return logits


def _through_time(inward: Tensor, weight: Tensor) -> Tensor:
    """One layer's states (L, b, h).

    `nn.LSTM` itself would be exported for texts of one length only, step after step; a scan is a loop in the file.

    Args:
        inward: (L, b, 4 h) what the gates (input, forget, new, output) get from below.
        weight: (4 h, h) what they get from the state before.
    """
    try:
        from torch._higher_order_ops.scan import scan
    except ImportError:
        raise ImportError(f"torch {torch.__version__} cannot export network 'lstm'; it takes a newer one") from None

    def step(before: list[Tensor], now: Tensor) -> tuple[list[Tensor], Tensor]:
        state, cell = before
        take, keep, new, give = (now + state @ weight.t()).chunk(4, dim=1)  # (b, h) each
        cell = keep.sigmoid() * cell + take.sigmoid() * new.tanh()
        state = give.sigmoid() * cell.tanh()
        return [state, cell], state.clone()  # a scan gives no tensor twice

    start = inward.new_zeros(inward.shape[1], weight.shape[1])
    states: Tensor = scan(step, [start, start.clone()], inward, dim=0)[1]
    return states
