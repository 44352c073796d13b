"""Character-level convolutional networks of Zhang, Zhao and LeCun (2015), and the paper's tiny one (section 4.2).

A text that ends early is followed by blanks up to 1,014 positions, and all frames of blanks are alike: one column of
constants. So the convolutions see each text only as far as it goes, and the frames behind it are filled in with that
column. The result is that of the padded network; the time is that of the text. Wide convolutions take fewer products
than the plain form (`winograd`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ngm._spelling import nearest
from ngm.networks.first_layer import FirstLayer
from ngm.networks.winograd import WinogradFilter, winograd_convolution, winograd_filter
from ngm.text.characters import ALPHABET, LENGTH

POOL = 3
_GROUP_COST = 32.0  # what another group of texts costs beside their characters, in final frames
_MAX_GROUPS = 8
_WINOGRAD_FRAMES = 128  # channels from which fewer products pay for the additions that they take


@dataclass(frozen=True)
class Size:
    """Shape of a character network.

    Args:
        frames: Channels of every convolution.
        kernels: Width of each convolution.
        pooled: For each convolution, whether max-pooling by 3 follows.
        hidden: Width of the two fully connected hidden layers; the output is the third.
        spread: Standard deviation of the initial weights; None for 1 / sqrt(inputs of a unit), times sqrt(2).
    """

    frames: int
    kernels: tuple[int, ...]
    pooled: tuple[bool, ...]
    hidden: int
    spread: float | None

    @property
    def stride(self) -> int:
        """Characters from one final frame to the next."""
        return int(POOL ** sum(self.pooled))

    @property
    def field(self) -> int:
        """Characters that one final frame sees."""
        seen = 1
        for kernel, pooled in zip(reversed(self.kernels), reversed(self.pooled), strict=True):
            seen = (seen * POOL if pooled else seen) + kernel - 1
        return seen

    def num_frames(self, length: int) -> int:
        """Final frames of a text of `length` characters, padding included."""
        for kernel, pooled in zip(self.kernels, self.pooled, strict=True):
            length = max(length - kernel + 1, 0)
            length = length // POOL if pooled else length
        return length


_KERNELS, _POOLED = (7, 7, 3, 3, 3, 3), (True, True, False, False, False, True)  # of Zhang et al.
SIZES: dict[str, Size] = {
    "tiny": Size(32, (7, 7, 3), (True, True, True), 256, None),  # the paper says 3 x 32 and 256; the rest is ours
    "small": Size(256, _KERNELS, _POOLED, 1024, 0.05),
    "large": Size(1024, _KERNELS, _POOLED, 2048, 0.02),
}


class CharCNNModule(nn.Module):
    """Character network from (b, L) codes, L up to `length`, to (b, out_features) logits.

    Codes are those of `ngm.text.quantize`: 0 for blank, 1 to 70 for the alphabet, last character first.

    Args:
        out_features: Number of classes.
        size: "tiny" (3 convolutions of 32 frames, fully connected 256: the paper's), "small" (6 of 256, 1,024) or
            "large" (6 of 1,024, 2,048), both as Zhang et al. have them.
        length: Characters of a text, at most; the first fully connected layer is as wide as these need.
        dropout: Share of the units dropped before the second and third fully connected layer while training.
    """

    def __init__(self, out_features: int, size: str = "tiny", length: int = LENGTH, dropout: float = 0.5) -> None:
        super().__init__()
        if size not in SIZES:
            raise ValueError(f"unknown size {size!r}{nearest(size, SIZES)}; choose from {', '.join(SIZES)}")
        self.size, self.length = SIZES[size], length
        self.num_frames = self.size.num_frames(length)
        if self.num_frames < 1:
            raise ValueError(f"length is {length}; size {size!r} needs at least {self.size.field} characters")
        frames, hidden = self.size.frames, self.size.hidden
        self.first = FirstLayer(len(ALPHABET), frames, self.size.kernels[0], POOL if self.size.pooled[0] else 1)
        self.convolutions = nn.ModuleList(nn.Conv2d(frames, frames, (1, kernel)) for kernel in self.size.kernels[1:])
        self.hidden = nn.ModuleList([nn.Linear(frames * self.num_frames, hidden), nn.Linear(hidden, hidden)])
        self.rectify = nn.ReLU()  # a layer of its own, so that h can be read behind it
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, out_features)
        self.hidden_layer = "rectify"
        self._initialize()

    def forward(self, codes: Tensor) -> Tensor:
        """(b, L) codes -> (b, out_features)."""
        if codes.shape[1] > self.length:
            raise ValueError(f"texts have {codes.shape[1]} characters; this network reads {self.length} at most")
        x = self.frames(codes).flatten(1)  # (b, frames * num_frames)
        x = self.dropout(F.relu(self.hidden[0](x)))
        x = self.rectify(self.hidden[1](x))  # (b, hidden)
        logits: Tensor = self.output(self.dropout(x))
        return logits

    def frames(self, codes: Tensor) -> Tensor:
        """(b, L) codes -> (b, channels, num_frames) of the last convolution, blanks behind the texts filled in."""
        if not len(codes):
            return self.first.weight.new_zeros(0, self.size.frames, self.num_frames)
        filters = self._filters()
        blank = self.convolve(codes.new_zeros(1, self.size.field), filters)  # (1, channels, 1)
        needed = self._needed(codes)
        order = torch.argsort(needed, stable=True)
        parts = []
        for rows in _alike(order, needed):
            count = int(needed[rows[-1]])
            frames_ = self.convolve(self._cut(codes[rows], count), filters)  # (r, channels, count)
            padding = blank.expand(len(rows), -1, self.num_frames - count)
            parts.append(torch.cat([frames_, padding], dim=2))
        inverse = torch.empty_like(order)
        inverse[order] = torch.arange(len(order), device=order.device)
        return torch.cat(parts).index_select(0, inverse)

    def _needed(self, codes: Tensor) -> Tensor:
        """(b,) how many final frames see a character, at least 1."""
        place = torch.arange(1, codes.shape[1] + 1, device=codes.device)
        last = ((codes > 0) * place).amax(dim=1)  # (b,) characters up to the last that is not blank
        return (-(-last // self.size.stride)).clamp(1, self.num_frames)

    def _cut(self, codes: Tensor, count: int) -> Tensor:
        """(r, L) codes -> the characters that the first `count` final frames see."""
        width = (count - 1) * self.size.stride + self.size.field
        return F.pad(codes[:, :width], (0, max(width - codes.shape[1], 0)))

    def _filters(self) -> list[WinogradFilter]:
        """Of the convolutions after the first, where fewer products pay: wide layers on a CPU, no half precision."""
        weight = self.first.weight
        if self.size.frames < _WINOGRAD_FRAMES or weight.device.type != "cpu" or torch.is_autocast_enabled("cpu"):
            return []
        if weight.dtype not in (torch.float32, torch.float64):
            return []
        return [winograd_filter(cast(nn.Conv2d, convolution).weight.squeeze(2)) for convolution in self.convolutions]

    def convolve(self, codes: Tensor, filters: Sequence[WinogradFilter] = ()) -> Tensor:
        """(r, width) codes -> (r, channels, frames); by plain convolutions where no filters are given."""
        x: Tensor = self.first(codes)  # (r, channels, 1, positions), channels last in memory; pooled, behind ReLU
        for i, (convolution, pooled) in enumerate(zip(self.convolutions, self.size.pooled[1:], strict=True)):
            if filters:
                rows = winograd_convolution(x.squeeze(2).transpose(1, 2), filters[i])  # (r, positions, channels)
                x = (rows + cast(Tensor, convolution.bias))[:, None].permute(0, 3, 1, 2)
            else:
                x = convolution(x)
            x = F.relu(F.max_pool2d(x, (1, POOL)) if pooled else x)
        return x.squeeze(2)

    @torch.no_grad()
    def _initialize(self) -> None:
        for name, weight in self.named_parameters():
            if name.endswith("bias"):
                weight.zero_()
            elif self.size.spread is not None:
                weight.normal_(0, self.size.spread)
            elif name != "output.weight":
                nn.init.kaiming_normal_(weight, nonlinearity="relu")
            else:
                nn.init.xavier_normal_(weight)


def _alike(order: Tensor, needed: Tensor) -> Iterator[Tensor]:
    """Rows in the order of their lengths, in up to eight groups.

    A text is seen as far as the longest of its group goes, and a group costs something by itself; the groups are those
    of least cost, by dynamic programming over the lengths.

    Args:
        order: (b,) rows, the shortest first.
        needed: (b,) final frames of each row.
    """
    frames, counts = np.unique(needed.cpu().numpy(), return_counts=True)  # (m,)
    ends = np.concatenate([[0], counts.cumsum()])  # (m + 1,)
    cost = (ends[None, 1:] - ends[:-1, None]) * frames + _GROUP_COST  # (m, m): a group of lengths from i to j
    cost = np.where(np.tri(len(frames), k=-1, dtype=bool), np.inf, cost)
    best = np.concatenate([[0.0], np.full(len(frames), np.inf)])  # of all texts up to a length, in so many groups
    lowest, cuts, begins = np.inf, [len(frames)], []
    for _ in range(min(_MAX_GROUPS, len(frames))):
        total = best[:-1, None] + cost
        begins.append(total.argmin(axis=0))
        best = np.concatenate([[np.inf], total.min(axis=0)])
        if best[-1] < lowest:
            lowest, cuts = best[-1], _cuts(begins)
    yield from order.tensor_split(tuple(int(ends[cut]) for cut in cuts[1:-1]))


def _cuts(begins: Sequence[NDArray[np.int64]]) -> list[int]:
    """Where groups begin, and the end: followed back from the last length, a group at a time."""
    cuts = [len(begins[-1])]
    for begin in reversed(begins):
        cuts.insert(0, int(begin[cuts[0] - 1]))
    return cuts
