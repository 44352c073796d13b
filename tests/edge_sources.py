"""Edges as the out-of-core cut reads them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


class ArraySource:
    """An array of edges, given out seven at a time."""

    def __init__(self, edges: Ids) -> None:
        self.edges = edges

    def __len__(self) -> int:
        return len(self.edges)

    def chunks(self) -> Iterator[tuple[int, Ids]]:
        yield from ((0, self.edges[at : at + 7]) for at in range(0, len(self.edges), 7))

    def ends_of(self, rows: Ids) -> Ids:
        return self.edges[rows]


def communities(count: int, size: int, seed: int, mixed: bool = True) -> Ids:
    """Cliques, each joined to the next by an edge; nodes numbered at random, so that numbers tell nothing, or not."""
    node = np.random.default_rng(seed).permutation(count * size) if mixed else np.arange(count * size)
    first, second = np.triu_indices(size, 1)
    inside = [np.stack([c * size + first, c * size + second], axis=1) for c in range(count)]
    between = [[c * size, ((c + 1) % count) * size + 1] for c in range(count)]
    edges = np.sort(node[np.concatenate([*inside, between])], axis=1)
    return np.unique(edges, axis=0)
