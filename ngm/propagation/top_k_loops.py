"""Half a Jacobi step in which nodes keep their strongest labels; compiled."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled

Ids: TypeAlias = NDArray[np.int64]
Index: TypeAlias = NDArray[np.integer]
Floats: TypeAlias = NDArray[np.floating]


@compiled
def _gather(
    node: int, rows: tuple[Ids, Index, Floats, Floats], state: tuple[Index, Floats, Floats], mass: Floats, near: Index
) -> tuple[int, float]:
    """Adds half of what a node has and half of what it takes from neighbours to `mass`; (labels in `near`, share)."""
    start, column, weight, factor = rows
    label, value, share = state
    count, base = 0, 0.5 * share[node]
    for entry in range(start[node] - 1, start[node + 1]):
        other, part = node, 0.5  # itself first
        if entry >= start[node]:
            other, part = int(column[entry]), 0.5 * factor[node] * weight[entry]
            base += part * share[other]
        for k in range(label.shape[1]):
            at = label[other, k]
            if at < 0:
                break
            added = part * value[other, k]
            if mass[at] == 0 and added > 0:  # not one that is listed already
                near[count] = at
                count += 1
            mass[at] += added
    return count, base


@compiled
def _keep_strongest(near: Index, count: int, mass: Floats, label: Index, value: Floats) -> float:
    """Writes the strongest labels of a node, strongest first and -1 where there are no more; returns their sum."""
    kept, total = 0, 0.0
    for i in range(count):
        at = near[i]
        place = kept
        while place > 0 and mass[at] > value[place - 1]:
            place -= 1
        if place == len(label):
            continue
        kept = min(kept + 1, len(label))
        for k in range(kept - 1, place, -1):
            label[k], value[k] = label[k - 1], value[k - 1]
        label[place], value[place] = at, mass[at]
    label[kept:] = -1
    value[kept:] = 0
    for k in range(kept):
        total += value[k]
    return total


@compiled
def half_step(
    first: int,
    last: int,
    rows: tuple[Ids, Index, Floats, Floats],
    anchor: tuple[Ids, Index, Floats],
    state: tuple[Index, Floats, Floats],
    after: tuple[Index, Floats, Floats],
    rest: Floats,
    num_labels: int,
    conserve: bool,
) -> float:
    """Takes some nodes half of a step on; returns the largest change of an entry.

    Args:
        first: The nodes are these...
        last: ...up to, but without this one.
        rows: (start (n + 1,), column (k,), weight (k,), factor (n,)): see `CompactShares`.
        anchor: (start (n + 1,), label (j,), value (j,)) what each node adds of its own.
        state: (label (n, keep), value (n, keep), share (n,)) before; labels are -1 behind the last.
        after: Where the same goes.
        rest: (n,) what each node adds of its own to its share of the base.
        num_labels: L.
        conserve: Whether what is dropped goes to the base.
    """
    mass, near = np.zeros(num_labels), np.empty(num_labels, dtype=np.int64)
    label, value, share = state
    change = 0.0
    for node in range(first, last):
        count, base = _gather(node, rows, state, mass, near)
        for entry in range(anchor[0][node], anchor[0][node + 1]):
            at = anchor[1][entry]
            added = 0.5 * anchor[2][entry]
            if mass[at] == 0 and added > 0:
                near[count] = at
                count += 1
            mass[at] += added
        total = 0.0
        for i in range(count):
            total += mass[near[i]]
        kept = _keep_strongest(near, count, mass, after[0][node], after[1][node])
        base += 0.5 * rest[node] + (total - kept if conserve else 0.0)
        after[2][node] = base
        change = max(change, abs(base - share[node]))
        for i in range(count):
            mass[near[i]] = 0
        for k in range(label.shape[1]):
            if label[node, k] >= 0:
                mass[label[node, k]] -= value[node, k]
            if after[0][node, k] >= 0:
                mass[after[0][node, k]] += after[1][node, k]
        for k in range(label.shape[1]):
            for at in (label[node, k], after[0][node, k]):
                if at >= 0:
                    change = max(change, abs(mass[at]))
        for k in range(label.shape[1]):
            for at in (label[node, k], after[0][node, k]):
                if at >= 0:
                    mass[at] = 0
    return change
