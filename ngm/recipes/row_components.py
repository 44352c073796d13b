"""Rows in other coordinates: fewer of them, principal ones, or more of them by a kernel."""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.utils.extmath import randomized_svd

MAX_COLUMNS = 1_000  # beyond which rows are reduced before they are averaged over neighbourhoods
REDUCED_COLUMNS = 256  # what they are reduced to
MAX_FITTED_ROWS = 20_000  # rows that decide on components, at most
KERNEL_SCALE = 2.0  # of squared distances, in variances of the rows
LANDMARKS = 100  # rows that others are compared with by the kernel
_ROWS_AT_ONCE = 65_536

_Rows = TypeVar("_Rows", bound="NDArray[np.float32] | sp.csr_array")


def principal_components(rows: NDArray[np.float32], count: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """((n, c) principal components, (c,) their deviations), as a sample of the rows has them.

    Args:
        rows: (n, d).
        count: Components, at most.
    """
    mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    sample = _sample(rows) - mean
    _, scale, axes = randomized_svd(sample, min(count, *sample.shape), n_iter=3, random_state=0)
    varied = scale > 1e-6 * max(scale[0], 1e-12)
    varied[0] = True  # rows that are all the same have one column of zeros
    deviation = np.maximum(scale[varied].astype(np.float64) / np.sqrt(len(sample)), 1e-12)
    scores = rows @ axes[varied].T.astype(np.float32) - mean @ axes[varied].T.astype(np.float32)
    return np.asarray(scores, dtype=np.float32), deviation


def reduced_rows(rows: NDArray[np.float32] | sp.csr_array) -> NDArray[np.float32]:
    """(n, d') dense rows: as they are, or their strongest components where they have many columns."""
    if rows.shape[1] > MAX_COLUMNS and min(rows.shape) > REDUCED_COLUMNS:
        _, _, axes = randomized_svd(_sample(rows), REDUCED_COLUMNS, n_iter=2, random_state=0)
        return np.asarray(rows @ axes.T.astype(np.float32), dtype=np.float32)
    return np.asarray(cast(sp.csr_array, rows).toarray() if sp.issparse(rows) else rows, dtype=np.float32)


def with_kernel(rows: NDArray[np.float32], sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, d + m) rows with their Gaussian kernel beside them, so that a linear model of both may be curved.

    The kernel is exp(-2 |u - v|^2 / s^2), s^2 the variance of the rows, approximated by m of them (Nystroem's method).

    Args:
        rows: (n, d) of few columns.
        sample: (k, d) rows that decide on it, the same in every process.
    """
    variance = float(sample.var(axis=0, dtype=np.float64).sum())
    kernel = Nystroem(
        gamma=KERNEL_SCALE / variance if variance > 0 else 1.0, n_components=min(LANDMARKS, len(sample)), random_state=0
    )
    kernel.fit(sample.astype(np.float64))  # its smallest axes are lost in float32
    columns = rows.shape[1]
    beside = np.empty((len(rows), columns + kernel.n_components), dtype=np.float32)
    beside[:, :columns] = rows
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        at = slice(start, start + _ROWS_AT_ONCE)
        beside[at, columns:] = kernel.transform(rows[at].astype(np.float64))
    return beside


def _sample(rows: _Rows) -> _Rows:
    """At most `MAX_FITTED_ROWS` rows, drawn at random."""
    if rows.shape[0] <= MAX_FITTED_ROWS:
        return rows
    drawn = np.random.default_rng(0).choice(rows.shape[0], MAX_FITTED_ROWS, replace=False)
    return cast(_Rows, rows[np.sort(drawn)])
