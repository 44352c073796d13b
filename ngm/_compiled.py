"""What compiled loops share: how numba compiles them, and their random numbers.

Importing this module imports numba, which takes a third of a second: import it, and modules that use it, in functions.
Numba reads no types from signatures: they are for people. Nothing that is compiled here touches Python, so it runs
beside other threads. What was compiled is kept on disk, beside the module or in the user's cache, and read from there
the next time; where neither can be written to, it is compiled again by every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from ngm._splitmix import GOLDEN, MIX_1, MIX_2, Draws

F = TypeVar("F", bound=Callable[..., object])
_GOLDEN, _MIX_1, _MIX_2 = np.uint64(GOLDEN), np.uint64(MIX_1), np.uint64(MIX_2)
_27, _30, _31, _32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


def compiled(function: F) -> F:
    """Compiles a function when it is first called."""
    return _compile(function)


def inlined(function: F) -> F:
    """Compiles a function into each of those that call it."""
    return _compile(function, inline="always")


def vectorized(function: F) -> F:
    """Compiles a function whose sums of fractions may be made in another order, which is always the same; NaN stays."""
    return _compile(function, fastmath=frozenset({"reassoc", "contract", "nsz"}))


def _compile(function: F, inline: str = "never", fastmath: frozenset[str] = frozenset()) -> F:
    try:
        return cast(F, numba.njit(nogil=True, cache=True, inline=inline, fastmath=set(fastmath))(function))
    except RuntimeError:  # no place to keep it
        return cast(F, numba.njit(nogil=True, inline=inline, fastmath=set(fastmath))(function))


@inlined
def mix(z: np.uint64) -> np.uint64:
    """What SplitMix64 makes of its state."""
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@compiled
def below(stream: Draws, count: int) -> int:
    """A whole number from 0 to count - 1, count being at most 2^32; the stream (1,) goes on by one.

    >>> drawn = [int(below(np.array([seed], dtype=np.uint64), 6)) for seed in range(300)]
    >>> sorted(set(drawn))
    [0, 1, 2, 3, 4, 5]
    """
    stream[0] += _GOLDEN
    return np.int64(((mix(stream[0]) >> _32) * np.uint64(count)) >> _32)


@compiled
def shuffled(count: int, stream: Draws) -> NDArray[np.int32]:
    """(count,) int32, the numbers from 0 to count - 1 in random order."""
    order = np.arange(count).astype(np.int32)
    for i in range(count - 1, 0, -1):
        j = below(stream, i + 1)
        order[i], order[j] = order[j], order[i]
    return order
