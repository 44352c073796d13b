"""Random streams by SplitMix64: in numpy here, one for each walk; `ngm._compiled` computes the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Draws = NDArray[np.uint64]
GOLDEN, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of SplitMix64
POINT_BITS, COIN_BITS = 31, 32


def streams(seed: int, count: int) -> Draws:
    """(count,) where the stream of each walk begins."""
    key = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return mix(key + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN))


def mix(z: Draws) -> Draws:
    """What SplitMix64 makes of its state, entry by entry."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX_2)
    return z ^ (z >> np.uint64(31))
