"""The first layer of a character network, compiled: rows are looked up, added, pooled and rectified in one pass.

Importing this module imports numba: import it in functions. A call works on some of the frames, so that their part of
the table stays in the processor's cache. One thread does it: it takes 80 ms where the products of the large network
take seconds, and threads beside those of torch, which wait for work by looking for it, made the tiny network slower.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled

Floats = NDArray[np.floating]
Codes = NDArray[np.uint8]


@compiled
def pooled_sums(
    codes: Codes, table: Floats, bias: Floats, pool: int, begin: int, end: int, out: Floats, chosen: Codes
) -> None:
    """Writes frames from `begin` to `end` of the layer's outputs.

    Args:
        codes: (b, L) characters.
        table: (kernel, characters, frames) what each of them adds to a frame.
        bias: (frames,) of each frame.
        pool: Sums of which the largest counts.
        begin: First frame.
        end: Frame behind the last.
        out: (b, q, frames) the largest of `pool` sums, plus bias, at least 0.
        chosen: (b, q, frames) which of the sums it was; `pool` where the output is 0.
    """
    kernel, (texts, width, _) = len(table), out.shape
    total = np.empty(end - begin, dtype=table.dtype)
    for r in range(texts):
        for q in range(width):
            best, which = out[r, q, begin:end], chosen[r, q, begin:end]
            for s in range(pool):
                at = q * pool + s
                row = table[0, codes[r, at], begin:end]
                for f in range(len(total)):
                    total[f] = row[f]
                for j in range(1, kernel):
                    row = table[j, codes[r, at + j], begin:end]
                    for f in range(len(total)):
                        total[f] += row[f]
                if s == 0:
                    for f in range(len(total)):
                        best[f], which[f] = total[f], 0
                else:
                    for f in range(len(total)):
                        larger = total[f] > best[f] or total[f] != total[f]  # NaN stays, as in torch
                        best[f] = total[f] if larger else best[f]
                        which[f] = s if larger else which[f]
            for f in range(len(total)):
                value = best[f] + bias[begin + f]
                off = value <= 0
                best[f] = 0 if off else value
                which[f] = pool if off else which[f]


@compiled
def add_gradients(
    codes: Codes, chosen: Codes, gradient: Floats, pool: int, begin: int, end: int, of_table: Floats, of_bias: Floats
) -> None:
    """Adds the gradient for frames from `begin` to `end` to those of the table and the bias.

    Args:
        codes: As for `pooled_sums`.
        chosen: From `pooled_sums`.
        gradient: (b, q, frames) with respect to its outputs.
        pool: As there.
        begin: First frame.
        end: Frame behind the last.
        of_table: (kernel, characters, frames).
        of_bias: (frames,).
    """
    kernel, (texts, width, _) = len(of_table), gradient.shape
    here, own = np.empty(end - begin, dtype=gradient.dtype), of_bias[begin:end]
    for r in range(texts):
        for q in range(width):
            outer, which = gradient[r, q, begin:end], chosen[r, q, begin:end]
            for s in range(pool):
                for f in range(len(here)):
                    here[f] = outer[f] if which[f] == s else 0
                    own[f] += here[f]
                for j in range(kernel):
                    row = of_table[j, codes[r, q * pool + s + j], begin:end]
                    for f in range(len(here)):
                        row[f] += here[f]
