"""Ridge regression and its kernel form, with the penalty that leaves the smallest leave-one-out error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.recipes.node_views import Features, Floats

Doubles: TypeAlias = NDArray[np.float64]
PENALTIES = np.logspace(-3, 2, 11)  # in units of the mean squared length of a row
WIDTHS = (0.3, 1.0)  # of the kernel exp(-d² / (2 width m)), m the median squared distance between labelled rows
MAX_KERNEL_ROWS = 1_000  # labelled rows that a kernel is made of, at most
_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a ridge regression says.

    Args:
        values: (n, T) predictions for all rows.
        left_out: (k, T) predictions for the labelled rows, each by a model without it.
    """

    values: Floats
    left_out: Floats


def ridge(rows: Features, known: Features, y: Doubles, weight: Doubles) -> Fitted:
    """Linear regression on some rows, with an L2 penalty.

    Args:
        rows: (n, d) to predict for, dense or sparse.
        known: (k, d) the labelled rows.
        y: (k, T) their targets.
        weight: (k,) how much each counts, adding up to k.
    """
    share = weight / weight.sum()
    center = np.asarray(known.T @ share, dtype=np.float64)
    if known.shape[1] < known.shape[0]:
        dense = np.asarray(cast(sp.csr_array, known).toarray() if sp.issparse(known) else known, dtype=np.float64)
        solution = _solved_by_columns(dense - center, y, weight, share)
    else:
        gram = known @ known.T
        full = np.asarray(cast(sp.csr_array, gram).toarray() if sp.issparse(gram) else gram, dtype=np.float64)
        around = full @ share
        solution = _solved(full - around[:, None] - around + share @ around, y, weight, share)
    mean = share @ y
    dual = solution.dual  # (k, T), so that slopes are sums over the labelled rows
    slope = np.asarray(known.T @ dual) - np.outer(center, dual.sum(axis=0))
    values = np.asarray(rows @ slope.astype(np.float32)) + (mean - center @ slope)
    return Fitted(np.asarray(values, dtype=np.float32), np.asarray(solution.left_out, dtype=np.float32))


def kernel_ridge(rows: Floats, ids: NDArray[np.int64], y: Doubles, weight: Doubles) -> Fitted:
    """Ridge regression with a Gaussian kernel, whose width has the smaller leave-one-out error of `WIDTHS`.

    Args:
        rows: (n, d) dense.
        ids: (k,) the labelled rows; at most `MAX_KERNEL_ROWS`.
        y: (k, T) their targets.
        weight: (k,) how much each counts, adding up to k.
    """
    known = rows[ids]
    apart = _squared_distances(known, known)
    typical = float(np.median(apart[~np.eye(len(ids), dtype=bool)])) if len(ids) > 1 else 1.0
    scales = [2 * width * max(typical, 1e-12) for width in WIDTHS]
    found = [_solved(np.exp(-apart / scale), y, weight, np.zeros(len(ids))) for scale in scales]
    best = min(range(len(found)), key=lambda i: found[i].error)
    mean, values = weight @ y / weight.sum(), np.empty((len(rows), y.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        at = slice(start, start + _ROWS_AT_ONCE)
        values[at] = np.exp(-_squared_distances(rows[at], known) / scales[best]) @ found[best].dual + mean
    return Fitted(values, np.asarray(found[best].left_out, dtype=np.float32))


@dataclass(frozen=True, eq=False)
class _Solution:
    dual: Doubles  # (k, T) coefficients of the labelled rows
    left_out: Doubles  # (k, T)
    error: float


def _solved(gram: Doubles, y: Doubles, weight: Doubles, of_mean: Doubles) -> _Solution:
    """Of a (k, k) kernel matrix between the labelled rows.

    Args:
        gram: The matrix.
        y: (k, T) targets.
        weight: (k,) how much each row counts.
        of_mean: (k,) share of each row in the mean that is fitted beside the kernel; 0 where that is taken as known.
    """
    root = np.sqrt(weight)
    values, vectors = np.linalg.eigh(root[:, None] * gram * root)
    return min(_solutions(values.clip(min=0), vectors, y, weight, of_mean), key=lambda solution: solution.error)


def _solved_by_columns(rows: Doubles, y: Doubles, weight: Doubles, of_mean: Doubles) -> _Solution:
    """The same for a linear kernel of fewer columns than rows, by a matrix of the columns."""
    scaled = np.sqrt(weight)[:, None] * rows
    left, singular, _ = np.linalg.svd(scaled, full_matrices=False)
    return min(_solutions(np.square(singular), left, y, weight, of_mean), key=lambda solution: solution.error)


def _solutions(values: Doubles, vectors: Doubles, y: Doubles, weight: Doubles, of_mean: Doubles) -> Iterator[_Solution]:
    """A solution for each of `PENALTIES`, with its leave-one-out error."""
    root = np.sqrt(weight)[:, None]
    mean = weight @ y / weight.sum()
    wanted = root * (y - mean)
    within = vectors.T @ wanted
    unit = max(float(values.sum()) / len(y), 1e-12)
    for penalty in PENALTIES * unit:
        # H = U diag(v / (v + penalty)) U'; what is left of y outside of U counts as it is
        shrunk = values / (values + penalty)
        rest = wanted - vectors @ (shrunk[:, None] * within)
        own = (np.square(vectors) * shrunk).sum(axis=1) + of_mean
        apart = rest / np.maximum(1 - own, 1e-6)[:, None] / np.maximum(root, 1e-12)
        error = float((weight[:, None] * np.square(apart)).sum())
        yield _Solution(root * rest / penalty, y - apart, error)


def _squared_distances(a: Floats, b: Floats) -> Floats:
    squares = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1) - 2 * (a @ b.T)
    return np.asarray(np.maximum(squares, 0), dtype=np.float32)
