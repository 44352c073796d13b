"""Edge terms and their gradient, compiled: one pass over the pairs each, in their order.

Importing this module imports numba: import it in functions. Sums are made in the order of the pairs by one thread, so
the same input gives the same bits. What is called here is compiled into its callers: else the first process, which has
compiled it by itself as well, would run another copy of it than those that read the callers from disk, and the order
in which a copy sums is its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import inlined, vectorized

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
L1, L2, SQUARED_L2, COSINE = range(4)
METRICS = {"l1": L1, "l2": L2, "squared_l2": SQUARED_L2, "cosine": COSINE}
EPS = np.float32(1e-8)  # least length that a cosine divides by, as in torch


@inlined
def _row_lengths(h: Floats, lengths: Floats) -> None:
    """Writes the Euclidean lengths of the rows of h (b, d) into `lengths` (b,)."""
    for i in range(len(h)):
        row = h[i]
        total = np.float32(0)
        for j in range(len(row)):
            total += row[j] * row[j]
        lengths[i] = np.sqrt(total)


@inlined
def _distances(metric: int, h: Floats, norms: Floats, pairs: Ids, found: Floats) -> None:
    """Writes the distances across (k, 2) pairs of rows of h into `found` (k,); norms (b,) are for cosine alone."""
    for e in range(len(pairs)):
        u, v = pairs[e, 0], pairs[e, 1]
        h_u, h_v = h[u], h[v]
        total = np.float32(0)
        if metric == COSINE:
            for j in range(len(h_u)):
                total += h_u[j] * h_v[j]
            found[e] = np.float32(1) - total / (max(norms[u], EPS) * max(norms[v], EPS))
        elif metric == L1:
            for j in range(len(h_u)):
                total += abs(h_u[j] - h_v[j])
            found[e] = total
        else:
            for j in range(len(h_u)):
                difference = h_u[j] - h_v[j]
                total += difference * difference
            found[e] = np.sqrt(total) if metric == L2 else total


@inlined
def _add_gradient(
    metric: int, h: Floats, norms: Floats, pairs: Ids, found: Floats, coefficient: Floats, gradient: Floats
) -> None:
    """Adds the gradient of the sum of coefficient times distance to `gradient` (b, d); 0 where ends coincide."""
    for e in range(len(pairs)):
        u, v, c = pairs[e, 0], pairs[e, 1], coefficient[e]
        if c == 0 or u == v:
            continue
        h_u, h_v, to_u, to_v = h[u], h[v], gradient[u], gradient[v]
        if metric == COSINE:
            _add_cosine(h_u, h_v, norms[u], norms[v], c, np.float32(1) - found[e], to_u, to_v)
        elif metric == L1:
            for j in range(len(h_u)):
                difference = h_u[j] - h_v[j]
                # not np.sign, which is not vectorized; NaN gives NaN
                step = c if difference > 0 else -c if difference < 0 else c * difference
                to_u[j] += step
                to_v[j] -= step
        else:
            factor = np.float32(2) * c
            if metric == L2:
                factor = c / found[e] if found[e] != 0 else np.float32(0)
            for j in range(len(h_u)):
                step = factor * (h_u[j] - h_v[j])
                to_u[j] += step
                to_v[j] -= step


@inlined
def _add_cosine(
    h_u: Floats,
    h_v: Floats,
    norm_u: np.float32,
    norm_v: np.float32,
    c: np.float32,
    similarity: np.float32,
    to_u: Floats,
    to_v: Floats,
) -> None:
    """The gradient of 1 - cosine at both ends: each length is held above EPS, but its own gradient is not."""
    n_u, n_v = max(norm_u, EPS), max(norm_v, EPS)
    across = c / (n_u * n_v)
    along_u = c * similarity / (n_u * norm_u) if norm_u > 0 else np.float32(0)
    along_v = c * similarity / (n_v * norm_v) if norm_v > 0 else np.float32(0)
    for j in range(len(h_u)):
        u_j, v_j = h_u[j], h_v[j]
        to_u[j] += along_u * u_j - across * v_j
        to_v[j] += along_v * v_j - across * u_j


@vectorized
def sum_terms(
    metric: int,
    h: Floats,
    norms: Floats,
    ends: Ids,
    weight: Floats,
    kind: Ids,
    negatives: Ids,
    of: Ids,
    scale: tuple[float, float, float],
    share: float,
    margin: float,
    found: Floats,
    terms: Floats,
) -> None:
    """Writes the `terms` (4,), and the distances `found` (k + j,) of edges and negative pairs; see `WeightedPairs`.

    For cosine the lengths of the rows of h are written into `norms` (b,) as well.
    """
    k = len(ends)
    if metric == COSINE:
        _row_lengths(h, norms)
    _distances(metric, h, norms, ends, found[:k])
    _distances(metric, h, norms, negatives, found[k:])
    sums = np.zeros(4)
    for e in range(k):
        sums[kind[e]] += scale[kind[e]] * weight[e] * found[e]
    for i in range(len(negatives)):
        lack = margin - found[k + i]
        if not lack < 0:  # so that NaN counts
            sums[3] += share * scale[kind[of[i]]] * weight[of[i]] * lack
    for term in range(4):
        terms[term] = sums[term]


@vectorized
def add_gradients(
    metric: int,
    h: Floats,
    norms: Floats,
    ends: Ids,
    weight: Floats,
    kind: Ids,
    negatives: Ids,
    of: Ids,
    scale: tuple[float, float, float],
    share: float,
    margin: float,
    found: Floats,
    outer: Floats,
    gradient: Floats,
) -> None:
    """Adds the gradient of the terms, each times its number in `outer` (4,), to `gradient` (b, d)."""
    k = len(ends)
    coefficient = np.empty(len(found), dtype=np.float32)
    for e in range(k):
        coefficient[e] = outer[kind[e]] * scale[kind[e]] * weight[e]
    for i in range(len(negatives)):
        near = not margin - found[k + i] < 0  # as clamp, whose gradient is 1 at 0
        coefficient[k + i] = -outer[3] * share * scale[kind[of[i]]] * weight[of[i]] if near else 0.0
    _add_gradient(metric, h, norms, ends, found[:k], coefficient[:k], gradient)
    _add_gradient(metric, h, norms, negatives, found[k:], coefficient[k:], gradient)
