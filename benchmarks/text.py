"""Texts as characters: how fast they are read, and how fast the tiny character network learns from them.

    python benchmarks/text.py [--texts 20000] [--train 1024] [--quick] [--json] [--keep]

Reading: `quantize` against a loop over characters, same codes. Training: forward, backward and step on batches of 128,
best of several runs that take turns. Ours takes bytes, looks the first layer up and runs texts of like length together
as far as they go; `plain` is the same network in `nn.Conv1d` on one-hot columns, all texts padded to 1,014. Between the
two stand the parts one by one. All have the same weights, and their outputs agree to 1e-5, or this stops. Texts are
those of AG News where NGM_DATA has them, else made up with lengths like theirs. `--quick` is small and runs once.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from bench import best_of, report
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.datasets import load
from ngm.networks import charcnn
from ngm.networks.charcnn import POOL, CharCNNModule
from ngm.networks.first_layer import FirstLayer
from ngm.text.characters import ALPHABET, LENGTH, quantize
from ngm.text.ragged import Ragged
from ngm.text.synonym_augmentation import SynonymTexts
from ngm.text.thesaurus import Thesaurus

BATCH = 128
CLASSES = 4
MEDIAN, SPREAD = 231, 0.25  # of the lengths of AG News; the spread is that of their logarithms
ONE_GROUP = 1e9  # a cost of groups at which all texts go together
VARIANTS = {  # whether the first layer is looked up, what a group of texts costs in frames
    "one-hot, trimmed to the batch": (False, ONE_GROUP),
    "one-hot, bucketed": (False, charcnn._GROUP_COST),
    "look-up, trimmed to the batch": (True, ONE_GROUP),
    "ours: look-up, bucketed": (True, charcnn._GROUP_COST),
}
OURS, PLAIN = "ours: look-up, bucketed", "plain: one-hot, padded"


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    source, texts = some_texts(max(options.texts, options.train))
    codes = quantize(texts)
    assert np.array_equal(codes.values.numpy(), np.concatenate(loop(texts)))
    read, looped = best_of(options.repeats, lambda: quantize(texts), lambda: loop(texts))
    seconds = {"quantize": read, "quantize, loop": looped}
    seconds |= training_seconds(codes.take(torch.arange(options.train)), options.repeats)
    seconds |= rewriting_seconds(texts, options.repeats)
    plain = seconds[PLAIN]
    report(
        "text",
        {"quantize / loop, texts per second": looped / read}
        | {f"{name} / plain, texts per second": plain / seconds[name] for name in VARIANTS},
        seconds,
        options,
        texts=source,
        texts_per_second={"quantize": len(texts) / read}
        | {name: options.train / seconds[name] for name in [*VARIANTS, PLAIN]},
        bytes_per_text=memory(codes),
        median_length=float(codes.lengths.float().median()),
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    parser.add_argument("--keep", action="store_true", help="write the JSON to benchmarks/results as well")
    parser.add_argument("--texts", type=int, default=20_000, help="texts to read")
    parser.add_argument("--train", type=int, default=1024, help="texts to train on in a run")
    parser.add_argument("--quick", action="store_true", help="500 texts, 64 of them to train on, one run")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=5, help="the best of so many is taken")
    options = parser.parse_args()
    if options.quick:
        options.texts, options.train, options.repeats = 500, 64, 1
    return options


def some_texts(count: int) -> tuple[str, list[str]]:
    """(where they are from, texts)."""
    if "NGM_DATA" in os.environ:
        texts = [str(text) for text in load("ag_news").x]
        return f"{count} of AG News", texts[:count]
    rng = np.random.default_rng(0)
    lengths = np.exp(rng.normal(np.log(MEDIAN), SPREAD, count)).astype(int)
    letters = np.array([*"etaoinshrdlu,. "])
    return f"{count} made up", ["".join(letters[rng.integers(len(letters), size=length)]) for length in lengths]


def loop(texts: list[str]) -> list[list[int]]:
    """What `quantize` does, character by character."""
    place = {character: code for code, character in enumerate(ALPHABET, start=1)}
    return [[place.get(c.lower(), 0) if c.isascii() else 0 for c in reversed(text[-LENGTH:])] for text in texts]


def memory(codes: Ragged) -> dict[str, float]:
    """Bytes that a text takes, on average."""
    total = len(codes.values)
    kept = codes.values.nbytes + codes.offsets.nbytes
    return {
        "bytes": kept / len(codes),
        "one-hot float32, padded": 4.0 * len(ALPHABET) * LENGTH,
        "one-hot float32, each as long as it is": 4.0 * len(ALPHABET) * total / len(codes),
    }


class Plain(nn.Module):
    """A character network as one would write it first, with the weights of ours."""

    def __init__(self, ours: CharCNNModule) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        weights: list[tuple[Tensor, Tensor]] = [(ours.first.weight, ours.first.bias)]
        for convolution in ours.convolutions:
            assert isinstance(convolution, nn.Conv2d)
            assert convolution.bias is not None
            weights.append((convolution.weight.squeeze(2), convolution.bias))
        for (weight, bias), pooled in zip(weights, ours.size.pooled, strict=True):
            layer = nn.Conv1d(weight.shape[1], weight.shape[0], weight.shape[2])
            layer.load_state_dict({"weight": weight.detach(), "bias": bias.detach()})
            layers += [layer, nn.ReLU(), *([nn.MaxPool1d(POOL)] if pooled else [])]
        layers.append(nn.Flatten())
        for linear in ours.hidden:
            layers += [copied(linear), nn.ReLU(), nn.Dropout(0.5)]
        self.layers = nn.Sequential(*layers, copied(ours.output))

    def forward(self, codes: Tensor) -> Tensor:
        """(b, L) codes -> (b, out_features)."""
        padded = F.pad(codes, (0, LENGTH - codes.shape[1])).long()
        columns = torch.zeros(len(codes), len(ALPHABET) + 1, LENGTH).scatter_(1, padded[:, None], 1.0)[:, 1:]
        logits: Tensor = self.layers(columns)
        return logits


class OneHot(nn.Module):
    """The first layer as a convolution: (b, L) codes -> (b, frames, 1, positions)."""

    def __init__(self, own: FirstLayer) -> None:
        super().__init__()
        self.weight, self.bias, self.pool = own.weight, own.bias, own.pool

    def forward(self, codes: Tensor) -> Tensor:
        """(b, L) codes -> (b, frames, 1, (L - kernel + 1) // pool), channels last in memory."""
        columns = F.one_hot(codes.long(), self.weight.shape[1] + 1)[..., 1:].to(self.weight.dtype)
        summed = F.conv2d(columns[:, None].permute(0, 3, 1, 2), self.weight[:, :, None], self.bias)
        return F.relu(F.max_pool2d(summed, (1, self.pool)))


def copied(linear: nn.Module) -> nn.Linear:
    assert isinstance(linear, nn.Linear)
    new = nn.Linear(linear.in_features, linear.out_features)
    new.load_state_dict(linear.state_dict())
    return new


def training_seconds(codes: Ragged, repeats: int) -> dict[str, float]:
    """Seconds to train once on all of these texts, for each form of the network."""
    jobs: dict[str, Callable[[], object]] = {}
    expected = None
    for name, (looked_up, cost) in {PLAIN: (True, 0.0), **VARIANTS}.items():
        torch.manual_seed(0)
        ours = CharCNNModule(CLASSES)
        if not looked_up:
            ours.first = OneHot(ours.first)  # type: ignore[assignment]
        network = Plain(ours) if name == PLAIN else ours
        with group_cost(cost), torch.no_grad():
            logits = network.eval()(codes[:BATCH])
        expected = logits if expected is None else expected
        torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
        jobs[name] = Epoch(network.train(), codes, cost)
    return dict(zip(jobs, best_of(repeats, *jobs.values()), strict=True))


class Epoch:
    """Trains on all texts once, batch by batch."""

    def __init__(self, network: nn.Module, codes: Ragged, cost: float) -> None:
        self.network, self.codes, self.group_cost = network, codes, cost
        self.y = torch.arange(len(codes)) % CLASSES
        self.optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)

    def __call__(self) -> None:
        """One epoch."""
        order = torch.randperm(len(self.codes), generator=torch.Generator().manual_seed(0))
        with group_cost(self.group_cost):
            for start in range(0, len(order), BATCH):
                rows = order[start : start + BATCH]
                cost = F.cross_entropy(self.network(self.codes[rows]), self.y[rows])
                self.optimizer.zero_grad()
                cost.backward()  # type: ignore[no-untyped-call]
                self.optimizer.step()


@contextmanager
def group_cost(cost: float) -> Iterator[None]:
    """What a group of texts costs in frames, for as long as this lasts."""
    before, charcnn._GROUP_COST = charcnn._GROUP_COST, cost
    try:
        yield
    finally:
        charcnn._GROUP_COST = before


def rewriting_seconds(texts: list[str], repeats: int) -> dict[str, float]:
    """Seconds to find the words with synonyms, and to draw and read the texts of an epoch; none without thesaurus."""
    try:
        thesaurus = Thesaurus.read()
    except FileNotFoundError:
        return {}
    x, epochs = SynonymTexts(texts, thesaurus, quantize), iter(range(1, repeats + 2))

    def epoch() -> None:
        x.set_epoch(next(epochs))
        x[[0]]

    found, drawn = best_of(repeats, lambda: thesaurus.find(texts), epoch)
    return {"find words with synonyms": found, "draw and read an epoch": drawn}


if __name__ == "__main__":
    main()
