"""Character networks of the paper: texts a second in training, against the same network in plain PyTorch.

    python benchmarks/characters.py [--sizes tiny small large] [--threads 2] [--repeats 3] [--quick] [--json] [--keep]

A step is forward, backward and Adam on a batch of AG News. `plain` is what one would write first: one-hot columns,
`nn.Conv1d`, all texts padded to 1,014 positions, float32. `ours` is `CharCNNModule`, and `before` is it without what is
particular to wide layers: the first layer as a convolution over one-hot columns, plain convolutions after it, groups of
32 texts or more. The three have the same weights and their logits agree, or this stops. Where the processor multiplies
bfloat16 itself, `bfloat16` is ours with products in it. They take turns, and the best step of each counts. Ratios are
texts per second over those of `plain`. Texts are made up where NGM_DATA has no AG News.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import torch
from bench import best_of, parser, report
from text import OneHot, Plain, some_texts
from torch import Tensor, nn
from torch.nn import functional as F

from ngm._processor import bfloat16_pays
from ngm.networks import charcnn
from ngm.networks.charcnn import SIZES, CharCNNModule
from ngm.networks.winograd import WinogradFilter
from ngm.text.characters import quantize

CLASSES = 4
FORMS = ("plain", "before", "ours")
HALF = "bfloat16"
BATCH = {"tiny": 128, "small": 128, "large": 64}  # of large fewer than the 128 of the table, as a step takes long
TOLERANCE = {"tiny": 1e-4, "small": 1e-3, "large": 1e-3}  # of logits, relative to the largest


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    source, texts = some_texts(max(BATCH.values()))
    codes = quantize(texts)
    per_text: dict[str, float] = {}
    for size in options.sizes:
        count = 4 if options.quick else BATCH[size]
        check_agreement(size, codes[:4])
        seconds = measured(size, codes[:count], options.repeats)
        per_text |= {f"{size}, {name}": value / count for name, value in seconds.items()}
        show(per_text, source, options, last=size == options.sizes[-1])


def arguments() -> argparse.Namespace:
    options_ = parser(__doc__)
    options_.set_defaults(repeats=3)
    options_.add_argument("--sizes", nargs="+", choices=list(SIZES), default=list(SIZES))
    options_.add_argument("--threads", type=int, default=torch.get_num_threads())
    options_.add_argument("--quick", action="store_true", help="four texts, one step: to see that it runs")
    options = options_.parse_args()
    if options.quick:
        options.repeats = 1
    return options


def show(per_text: dict[str, float], source: str, options: argparse.Namespace, last: bool) -> None:
    """Prints and keeps what is there."""
    sizes = list(dict.fromkeys(name.partition(",")[0] for name in per_text))
    ratios: dict[str, float] = {}
    for size in sizes:
        plain, before, ours = (per_text[f"{size}, {name}"] for name in FORMS)
        ratios |= {f"{size}, ours / plain": plain / ours, f"{size}, ours / before": before / ours}
        if f"{size}, {HALF}" in per_text:
            ratios[f"{size}, {HALF} / plain"] = plain / per_text[f"{size}, {HALF}"]
    report(
        "characters",
        ratios,
        {f"{name}, a text": value for name, value in per_text.items()},
        options,
        last,
        texts=source,
        texts_per_second={name: 1 / value for name, value in per_text.items()},
        batch=BATCH,
    )


class Before(CharCNNModule):
    """The network with plain convolutions in wide layers, and texts of like length in four groups of one size."""

    def frames(self, codes: Tensor) -> Tensor:
        """See `CharCNNModule`."""
        whole, charcnn._alike = charcnn._alike, equal_groups
        try:
            return super().frames(codes)
        finally:
            charcnn._alike = whole

    def convolve(self, codes: Tensor, filters: object = ()) -> Tensor:
        """See `CharCNNModule`; filters are not used."""
        return super().convolve(codes)

    def _filters(self) -> list[WinogradFilter]:
        return []


def equal_groups(order: Tensor, needed: Tensor) -> Iterator[Tensor]:
    """Rows in the order of their lengths, in at most four groups of at least 32."""
    yield from order.tensor_split(min(4, max(len(order) // 32, 1)))


def network_of(name: str, size: str) -> nn.Module:
    """One of the three, with the same weights each time."""
    torch.manual_seed(0)
    made = (Before if name == "before" else CharCNNModule)(CLASSES, size)
    if name == "before" and SIZES[size].frames > 64:
        made.first = OneHot(made.first)  # type: ignore[assignment]
    return Plain(made) if name == "plain" else made


def check_agreement(size: str, codes: Tensor) -> None:
    """Stops where the three differ by more than rounding."""
    with torch.no_grad():
        expected, *others = [network_of(name, size).eval()(codes) for name in FORMS]
    for logits in others:
        torch.testing.assert_close(logits, expected, rtol=0, atol=TOLERANCE[size] * float(expected.abs().max()))


def measured(size: str, codes: Tensor, repeats: int) -> dict[str, float]:
    """Seconds of a step of each network, the best of several; they take turns."""
    jobs = {name: training_step(network_of(name, size).train(), codes) for name in FORMS}
    if bfloat16_pays():
        jobs[HALF] = training_step(network_of("ours", size).train(), codes, bfloat16=True)
    return dict(zip(jobs, best_of(repeats, *jobs.values()), strict=True))


def training_step(network: nn.Module, codes: Tensor, bfloat16: bool = False) -> Callable[[], None]:
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)
    y = torch.arange(len(codes)) % CLASSES

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            cost = F.cross_entropy(network(codes), y)
        optimizer.zero_grad()
        cost.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


if __name__ == "__main__":
    main()
