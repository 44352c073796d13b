"""The paper's recurrent network: word vectors, layers of long short-term memory, the state at the last word."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence

WIDTH = 100  # of word vectors that are learned from nothing


class LSTMModule(nn.Module):
    """Recurrent network from (b, L) rows of a vocabulary, padded with 0 at the end, to (b, out_features) logits.

    Only real tokens are run, so padding costs nothing and changes nothing; h is the top layer's state at the last of
    them. The state starts at zeros.

    Weights start as torch has them, uniform within 1 / sqrt(hidden), word vectors normal with spread 1 (0.1 learns
    more slowly), biases at 0, but at 1 for the gate that keeps the cell: a network that forgets half at every word
    learns little from the first ones. This quickens the first epochs and leaves the later ones as they were.

    Args:
        num_words: Rows of the table of words, padding and the unknown token included: `len(vocabulary)`.
        out_features: Number of classes, labels or targets.
        width: Of the word vectors; 100, or that of `vectors`.
        hidden: Width of each layer; the paper has 100.
        layers: How many layers; the paper has 2.
        dropout: Share of the units dropped while training on every way but that through time: after the words,
            between layers and before the output.
        vectors: (num_words, width) what the table of words starts from, as `Vocabulary.vectors` gives it.
        train_vectors: Whether the table of words is trained with the rest.
    """

    hidden_layer = "hidden"  # h is read before its dropout, so that noise does not count as distance

    def __init__(
        self,
        num_words: int,
        out_features: int,
        width: int | None = None,
        hidden: int = 100,
        layers: int = 2,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
        train_vectors: bool = True,
    ) -> None:
        super().__init__()
        self.words = _table(num_words, width, vectors, train_vectors)
        self.hidden = _LastState(self.words.embedding_dim, hidden, layers, dropout=dropout if layers > 1 else 0.0)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden, out_features)

    def forward(self, x: Tensor) -> Tensor:
        """(b, L) whole numbers of any type -> (b, out_features); a row of padding alone is read as one blank."""
        if x.is_floating_point():
            raise TypeError(f"x is {x.dtype}; give whole numbers, as Vocabulary.read does")
        tokens, sizes, order = _packed(x)
        h = self.hidden(self.dropout(self.words(tokens)), sizes, order)  # (b, hidden)
        logits: Tensor = self.output(self.dropout(h))
        return logits


class _LastState(nn.LSTM):
    """`nn.LSTM` that gives the top layer's state at the last token of each row.

    Where gradients are wanted on a CPU it runs a loop of its own: that of torch spends most of its way back on adding
    up, for every step, a gradient for all the steps.
    """

    def reset_parameters(self) -> None:
        """Torch's own weights; biases of 0, but 1 at the gate that keeps the cell: see `LSTMModule`."""
        super().reset_parameters()
        with torch.no_grad():
            for _, _, bias, other in self.all_weights:
                bias.zero_().chunk(4)[1].fill_(1)
                other.zero_()

    def forward(self, x: Tensor, sizes: list[int], order: Tensor) -> Tensor:  # type: ignore[override]
        """What `_packed` gives, its tokens as (total, width) vectors -> (b, hidden), in the order of the batch."""
        if not sizes:
            return x.new_zeros(0, self.hidden_size)
        if torch.is_grad_enabled() and x.is_cpu:
            state = self._steps(x, sizes)
        else:
            state = super().forward(PackedSequence(x, torch.tensor(sizes)))[1][0][-1]
        return state.index_select(0, order.argsort())

    def _steps(self, x: Tensor, sizes: list[int]) -> Tensor:
        """(b, hidden) the top layer's last states, the longest row first."""
        for layer in range(self.num_layers):
            weight, recurrent, *bias = self.all_weights[layer]
            x = F.dropout(x, self.dropout, self.training and layer > 0)
            inward = F.linear(x, weight, bias[0] + bias[1]).to(recurrent.dtype)  # (total, 4 h)
            x = _Recurrence.apply(inward, recurrent, sizes)  # type: ignore[no-untyped-call]
        return x[_ends(sizes)]


class _Recurrence(torch.autograd.Function):
    """One layer's way through time, and back: the products that do not wait for a step before are done at once."""

    @staticmethod
    def forward(ctx: FunctionCtx, inward: Tensor, weight: Tensor, sizes: list[int]) -> Tensor:
        """Runs the steps.

        Args:
            ctx: What the way back needs.
            inward: (total, 4 h) what the gates (input, forget, new, output) get from below, step after step.
            weight: (4 h, h) what they get from the state before.
            sizes: Rows of each step, never more than of the step before; `total` in all.

        Returns:
            (total, h) states.
        """
        h = weight.shape[1]
        gates, states = torch.empty_like(inward), inward.new_empty(len(inward), h)
        cells, squashed = torch.empty_like(states), torch.empty_like(states)
        before = start = 0
        for size in sizes:
            now, last = slice(start, start + size), slice(before, before + size)
            if start:
                torch.addmm(inward[now], states[last], weight.t(), out=gates[now])
            else:
                gates[now] = inward[now]
            take, keep, new, give = gates[now].chunk(4, dim=1)  # (size, h)
            for gate in (take, keep, give):
                gate.sigmoid_()
            torch.mul(take, new.tanh_(), out=cells[now])
            if start:
                cells[now].addcmul_(keep, cells[last])
            torch.mul(give, torch.tanh(cells[now], out=squashed[now]), out=states[now])
            before, start = start, start + size
        ctx.save_for_backward(gates, cells, squashed, states, weight)
        ctx.sizes = sizes  # type: ignore[attr-defined]
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        """Gradient of `inward` and `weight`; (total, h) that of the states comes in."""
        gates, cells, squashed, states, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        sizes: list[int] = ctx.sizes  # type: ignore[attr-defined]
        first, last = sizes[0], _row_before(sizes)
        slope, through = _slopes(gates, cells, squashed, first, last)
        keep = gates.chunk(4, dim=1)[1]
        end, later, h = len(gates), 0, weight.shape[1]
        state = cell = gates.new_empty(0, h)  # gradients that come back from the step after; it has `later` rows
        for size in reversed(sizes):
            now = slice(end - size, end)
            outer = gradient[now].clone()  # (size, h)
            outer[:later] += state
            inner = outer * through[now]
            inner[:later] += cell
            slope[now, : 3 * h].view(size, 3, h).mul_(inner[:, None])
            slope[now, 3 * h :].mul_(outer)
            state, cell = slope[now] @ weight, inner * keep[now]
            end, later = end - size, size
        return slope, slope[first:].t() @ states[last], None


def _slopes(gates: Tensor, cells: Tensor, squashed: Tensor, first: int, last: Tensor) -> tuple[Tensor, Tensor]:
    """How a step's cell turns with each gate before it is squashed, its state with the last gate and with the cell.

    Returns:
        ((total, 4 h) the first two, (total, h) the third).
    """
    take, _, new, give = gates.chunk(4, dim=1)
    slope = gates - gates.square()  # of a sigmoid s: s (1 - s)
    for_take, for_keep, for_new, for_give = slope.chunk(4, dim=1)
    for_take.mul_(new)
    for_keep[:first] = 0  # there is no cell before the first step
    for_keep[first:].mul_(cells[last])
    torch.mul(take, 1 - new.square(), out=for_new)
    for_give.mul_(squashed)
    return slope, give * (1 - squashed.square())


def _row_before(sizes: list[int]) -> Tensor:
    """(total - sizes[0],) where the step before is, of each row from the second step on."""
    size = torch.tensor(sizes)
    return torch.arange(int(size[0]), int(size.sum())) - size[:-1].repeat_interleave(size[1:])


def _ends(sizes: list[int]) -> Tensor:
    """(b,) where each text's last token is, the longest text first."""
    size = torch.tensor(sizes)
    place = torch.arange(sizes[0])
    length = (place[:, None] < size).sum(1)  # (b,)
    return (size.cumsum(0) - size)[length - 1] + place


def _packed(x: Tensor) -> tuple[Tensor, list[int], Tensor]:
    """(b, L) padded texts as their real tokens alone, all first ones, then all second ones, the longest text first.

    Returns:
        ((total,) int64 tokens, how many texts have a first, a second, ... token, (b,) the texts' places in x).
    """
    place = torch.arange(1, x.shape[1] + 1, device=x.device)
    length = ((x != 0) * place).amax(1).clamp_(min=1)
    order = length.argsort(descending=True, stable=True)
    inside = place[: int(length.max()) if len(x) else 0, None] <= length[order]  # (longest, b)
    return x.t()[: len(inside), order][inside].to(torch.int64), inside.sum(1).tolist(), order


def _table(num_words: int, width: int | None, vectors: Tensor | None, train: bool) -> nn.Embedding:
    """The table of words, its padding row zeros for good."""
    if vectors is None:
        if not train:
            raise ValueError("train_vectors is False and no vectors are given; give vectors, or train them")
        return nn.Embedding(num_words, width or WIDTH, padding_idx=0)
    if vectors.ndim != 2 or len(vectors) != num_words:
        raise ValueError(f"vectors has shape {tuple(vectors.shape)}, num_words is {num_words}; give a row per word")
    if width not in (None, vectors.shape[1]):
        raise ValueError(f"the word vectors are {vectors.shape[1]} wide, not {width}; give vectors {width} wide")
    table = nn.Embedding(num_words, vectors.shape[1], padding_idx=0)
    with torch.no_grad():
        table.weight[1:] = vectors[1:]
    table.weight.requires_grad_(train)
    return table
