"""Whether h has collapsed: all nodes alike, at any layer whose h is compared across edges.

Each layer is held against itself: its largest spread so far, and what it was at the first step, before edges pulled.
Lengths are of no use for that, since h of raw counts may shrink a hundred times in a healthy run; the spread relative
to the length of h grows there, and falls in a collapse. Rectified units end in another way: h is 0 for most nodes,
which leaves the few others to make a spread.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

Epoch: TypeAlias = dict[str, float]
COLLAPSED = 0.02  # share of its largest spread below which h counts as collapsed
ALIKE = 0.005  # share of its length below which the spread counts as none
FALLEN = 0.25  # share of its value at the first step below which spread over length counts as collapsed
ZEROS = 0.6  # share of nodes without any h above which h counts as collapsed, if at the first step not half as many had
STATISTICS = ("h_norm", "h_spread", "h_zero")
SETTLED = 50  # steps before which h is not held against its first step: labels have taught nothing yet
_NOTHING = 1e-3  # share of the mean length below which a node counts as having no h


class CollapseWarning(UserWarning):
    """All nodes have come to look alike: the edge terms outweigh the labels."""


def layer_statistics(layers: Sequence[Tensor]) -> Tensor:
    """(L, 3) of each layer's h (b, d): mean length, mean distance from the mean, share of nodes whose h is 0."""
    if not layers:
        return torch.zeros(0, len(STATISTICS))
    found = []
    for h in layers:
        length: Tensor = torch.linalg.vector_norm(h, dim=1)
        deviation: Tensor = torch.linalg.vector_norm(h - h.mean(dim=0), dim=1)
        mean = length.mean()
        found.append(torch.stack([mean, deviation.mean(), (length <= _NOTHING * mean).to(mean.dtype).mean()]))
    return torch.stack(found)


def layer_records(names: Sequence[str], means: Tensor, start: Tensor | None) -> Epoch:
    """What a record says of h: of the worst layer and, where there are several, of each under its name.

    Args:
        names: Of the L layers.
        means: (L, 3) `layer_statistics` over the epoch.
        start: (L, 3) those of the first step, in the first epoch.
    """
    rows = dict(zip(names, means.tolist(), strict=True))
    if not rows:
        return dict.fromkeys(STATISTICS, 0.0)
    worst = min(rows, key=lambda name: _variety(*rows[name]))
    record = dict(zip(STATISTICS, rows[worst], strict=True))
    for i, name in enumerate(names):
        suffix = _suffix(name, names)
        if suffix:
            record |= {f"{what}{suffix}": value for what, value in zip(STATISTICS, rows[name], strict=True)}
        if start is not None:
            values = start[i].tolist()
            record |= {f"{what}_start{suffix}": value for what, value in zip(STATISTICS, values, strict=True)}
    return record


def warn_of_collapse(
    record: Epoch, before: Sequence[Epoch], scaling: str, names: Sequence[str] = ("",), steps: int = SETTLED
) -> None:
    """Marks the record of an epoch in which h has collapsed, and warns of the first.

    Where no edge pulls, nothing is said: whatever h does then, the labels do.

    Args:
        record: Of this epoch; gets `collapsed`.
        before: Records of the epochs before.
        scaling: Of the loss; "sum" has a remedy of its own.
        names: Of the layers whose h is compared.
        steps: Taken since the start of training.
    """
    if not any(epoch.get(kind, 0.0) for epoch in (record, *before) for kind in ("ll", "lu", "uu")):
        return
    reasons = {name: reason for name in names if (reason := _reason(record, before, _suffix(name, names), steps))}
    if not reasons:
        return
    record["collapsed"] = 1.0
    if any("collapsed" in epoch for epoch in before):
        return
    name, reason = next(iter(reasons.items()))
    where = f" of layer {name!r}" if len(names) > 1 else ""
    heaviest = max(("uu", "lu", "ll"), key=lambda kind: sum(epoch.get(kind, 0.0) for epoch in before or [record]))
    remedy = ", or use scaling='mean'" if scaling == "sum" else ""
    warnings.warn(
        f"h{where} has collapsed at epoch {int(record['epoch'])}: {reason}; lower alpha_{heaviest}{remedy}",
        CollapseWarning,
        stacklevel=3,
    )


def _reason(record: Mapping[str, float], before: Sequence[Epoch], suffix: str, steps: int) -> str | None:
    """In what way one layer has collapsed; None where it has not."""
    norm, spread, zero = (record.get(f"{what}{suffix}", 0.0) for what in STATISTICS)
    largest = max((epoch.get(f"h_spread{suffix}", 0.0) for epoch in before), default=0.0)
    if spread < COLLAPSED * largest or (before and spread < ALIKE * norm):  # the latter within the first epoch already
        return f"nodes differ by {spread:.2g}, {largest:.2g} at most before"
    if steps < SETTLED:
        return None
    first = before[0] if before else record
    start = [first.get(f"{what}_start{suffix}") for what in STATISTICS]
    if start[0] is None or start[1] is None or start[2] is None:  # a history of an earlier release
        return None
    # an offset that all nodes share, as an LSTM learns first, lengthens h; a collapse brings nodes together as well
    if norm > 0 and start[0] > 0 and spread < start[1] and spread / norm < FALLEN * start[1] / start[0]:
        return f"nodes differ by {spread / norm:.2g} of the length of h, {start[1] / start[0]:.2g} at the first step"
    if zero > ZEROS and start[2] < ZEROS / 2:
        return f"h is 0 for {zero:.0%} of the nodes, {start[2]:.0%} at the first step"
    return None


def _suffix(name: str, names: Sequence[str]) -> str:
    return f"[{name}]" if len(names) > 1 else ""


def _variety(norm: float, spread: float, zero: float) -> float:
    """Low where nodes are alike, in either way."""
    return min(spread / norm if norm > 0 else 0.0, 1 - zero)
