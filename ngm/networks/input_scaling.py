"""Inputs on one scale, inside the network: new rows, saved runs and exported files have it without further ado.

Distances between hidden vectors grow with the rows of x, so an alpha, a step size or a penalty means the same on any
data only if these have one scale. Counts (of words, say) become rows of length 1; measurements are standardised.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast, get_args

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.choices import ScalingName as ScalingName

Table: TypeAlias = "NDArray[np.generic] | sp.csr_matrix | sp.csr_array"
FEW_COLUMNS = 64  # up to which x is likelier to hold measurements
FILLED_FEW, FILLED_MANY = 0.25, 0.5  # share of non-zeros from which on few, or many, columns are measurements
SPARSE_BELOW, DENSE_FROM = 0.15, 0.2  # shares of non-zeros at which sparse, or dense, rows are faster to train on
MIN_SPARSE_COLUMNS = 256  # below which dense rows are fast enough
MAX_DENSE_ENTRIES = 2**28  # 1 GiB in float32
_ROWS_AT_ONCE = 65_536


def check_input_scaling(name: object) -> None:
    """Refuses what is not in `ScalingName`."""
    if name not in get_args(ScalingName):
        raise ValueError(
            f"input_scaling is {name!r}; choose 'unit_rows', 'standardize' or 'none', or None to choose by x"
        )


def choose_input_scaling(x: Table) -> ScalingName:
    """How rows of this kind are brought to one scale.

    Args:
        x: (n, d), dense or sparse.

    Returns:
        "unit_rows" for counts: no entry below 0 and mostly zeros, or sparse; "standardize" for measurements.

    >>> choose_input_scaling(np.eye(8)), choose_input_scaling(np.array([[1.5, -2.0], [0.3, 4.0]]))
    ('unit_rows', 'standardize')
    """
    filled, negative = _filled(x)
    limit = FILLED_FEW if x.shape[1] <= FEW_COLUMNS else FILLED_MANY
    if sp.issparse(x):
        return "standardize" if filled >= limit else "unit_rows"
    return "standardize" if negative or filled >= limit else "unit_rows"


def stored_by_density(x: Table) -> Table:
    """The same rows, sparse or dense by whichever is faster to train on.

    Args:
        x: (n, d), dense or sparse.

    >>> sp.issparse(stored_by_density(np.eye(300))), sp.issparse(stored_by_density(sp.csr_array(np.ones((2, 3)))))
    (True, False)
    """
    filled, _ = _filled(x)
    if sp.issparse(x):
        small = x.shape[0] * x.shape[1] <= MAX_DENSE_ENTRIES
        return cast(sp.csr_array, x).toarray() if small and filled >= DENSE_FROM else x
    return sp.csr_array(x) if filled < SPARSE_BELOW and x.shape[1] >= MIN_SPARSE_COLUMNS else x


def column_scale(
    x: Table, weight: NDArray[np.floating] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """((d,) mean, (d,) standard deviation) of each column; a column that never changes has deviation 1.

    Args:
        x: (n, d), dense or sparse.
        weight: (n,) how much each row counts; all alike where None.
    """
    share = np.full(x.shape[0], 1.0) if weight is None else weight.astype(np.float64)
    count, total, squares = max(float(share.sum()), 1e-300), np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for at, part in _parts(x):
        total += share[at] @ part if weight is not None else part.sum(axis=0)
    mean = total / count
    for at, part in _parts(x):
        apart = np.square(part - mean)
        squares += share[at] @ apart if weight is not None else apart.sum(axis=0)
    deviation = np.sqrt(squares / count)
    constant = deviation <= 1e-7 * np.maximum(np.abs(mean), 1e-30)
    return mean, np.where(constant, 1.0, deviation)


class Standardize(nn.Module):
    """Subtracts each column's mean and divides by its standard deviation; both are kept with the weights.

    Args:
        in_features: d.
    """

    def __init__(self, in_features: int) -> None:
        super().__init__()
        self.mean: Tensor
        self.deviation: Tensor
        self.register_buffer("mean", torch.zeros(in_features))
        self.register_buffer("deviation", torch.ones(in_features))

    def set_scale(self, mean: NDArray[np.floating], deviation: NDArray[np.floating]) -> None:
        """Takes the (d,) mean and (d,) deviation of the training rows."""
        self.mean.copy_(torch.from_numpy(np.asarray(mean)))
        self.deviation.copy_(torch.from_numpy(np.asarray(deviation)))

    def forward(self, x: Tensor) -> Tensor:
        """(b, d), dense or sparse -> (b, d) dense."""
        dense = x.to_dense() if x.is_sparse_csr else x
        return (dense - self.mean) / self.deviation


class UnitRows(nn.Module):
    """Scales every row to length 1."""

    def forward(self, x: Tensor) -> Tensor:
        """(b, d), dense or sparse -> the same kind."""
        return unit_rows(x)


def scaling_module(name: ScalingName, in_features: int) -> nn.Module | None:
    """The module that brings rows of x to one scale; None for "none"."""
    check_input_scaling(name)
    if name == "none":
        return None
    return UnitRows() if name == "unit_rows" else Standardize(in_features)


def unit_rows(x: Tensor) -> Tensor:
    """(b, d) rows divided by their length, dense or `torch.sparse_csr`; rows of zeros stay."""
    if not x.is_sparse_csr:
        return F.normalize(x, dim=1)
    starts, values = x.crow_indices(), x.values()
    squares = torch.segment_reduce(values.square(), "sum", offsets=starts, axis=0)  # (b,)
    length = squares.sqrt().clamp(min=1e-12).repeat_interleave(starts.diff())
    return torch.sparse_csr_tensor(starts, x.col_indices(), values / length, x.shape, check_invariants=False)


def _filled(x: Table) -> tuple[float, bool]:
    """(share of entries that are not 0, whether any is below 0); of sparse rows, by what is stored."""
    entries = max(x.shape[0] * x.shape[1], 1)
    if sp.issparse(x):
        return cast(sp.csr_array, x).nnz / entries, False
    parts = [cast("NDArray[np.floating]", x[start : start + _ROWS_AT_ONCE]) for start in _starts(x)]
    return sum(int(np.count_nonzero(part)) for part in parts) / entries, any(bool((p < 0).any()) for p in parts)


def _parts(x: Table) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    for start in _starts(x):
        at = slice(start, start + _ROWS_AT_ONCE)
        part = x[at]
        yield at, np.asarray(cast(sp.csr_array, part).toarray() if sp.issparse(part) else part, dtype=np.float64)


def _starts(x: Table) -> range:
    return range(0, x.shape[0], _ROWS_AT_ONCE)
