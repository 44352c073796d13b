"""Propagation of many labels of which each node keeps the strongest few, after Ravi and Diao (2016)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sparse_dot_topn import sp_matmul_topn

from ngm.propagation.compact_rows import CompactShares
from ngm.propagation.kernel import OnStep, Shares


@dataclass(frozen=True, eq=False)
class TopKResult:
    """Propagated values of which only the strongest are kept.

    Row v stands for `excess[v] + rest[v] * base`.

    Args:
        excess: (n, L) sparse, at most `keep` entries a row.
        rest: (n,) the share of each node that is not in `excess`.
        base: (L,) distribution of the rest.
        steps: Jacobi steps done.
        residual: Largest change of an entry in the last of them.
        converged: Whether that is within the tolerance.
    """

    excess: sp.csr_array
    rest: NDArray[np.floating]
    base: NDArray[np.floating]
    steps: int
    residual: float
    converged: bool


def solve_top_k(
    shares: Shares | CompactShares,
    anchor: sp.csr_array,
    rest: NDArray[np.floating],
    base: NDArray[np.floating],
    *,
    keep: int,
    conserve: bool = True,
    tolerance: float = 1e-4,
    max_steps: int = 100,
    on_step: OnStep | None = None,
) -> TopKResult:
    """Jacobi steps in which each node keeps its `keep` strongest columns: memory is n times keep, whatever L is.

    Nodes go half of each step: with whole ones, neighbours that drop different columns can take turns for ever.

    Args:
        shares: (n, n).
        anchor: (n, L) sparse, what each node adds of its own.
        rest: (n,) what each node adds of its own to the share that is spread as `base`.
        base: (L,) distribution that every node starts at.
        keep: Entries kept per node.
        conserve: Whether what is dropped is spread as `base`, so that distributions stay distributions, or is gone.
        tolerance: Stop once a whole step would change no entry by more.
        max_steps: Stop then in any case.
        on_step: Called with (step, residual).
    """
    keep = min(keep, anchor.shape[1])
    halves: _HalfSteps = (
        _MatrixHalfSteps(shares, anchor, rest, keep, conserve)
        if isinstance(shares, Shares)
        else _CompactHalfSteps(shares, anchor, rest, keep, conserve)
    )
    step, residual = 0, float("inf")
    while step < max_steps and residual > tolerance:
        step, residual = step + 1, halves.step()
        if on_step is not None:
            on_step(step, residual)
    return TopKResult(halves.excess, halves.share, base, step, residual, residual <= tolerance)


class _HalfSteps(Protocol):
    """Where the nodes are: (n, L) `excess` and (n,) `share` of the base."""

    share: NDArray[np.floating]

    @property
    def excess(self) -> sp.csr_array: ...

    def step(self) -> float:
        """Goes half of a step; returns how much a whole one would have changed an entry."""


class _MatrixHalfSteps:
    """By products of sparse matrices."""

    def __init__(
        self, shares: Shares, anchor: sp.csr_array, rest: NDArray[np.floating], keep: int, conserve: bool
    ) -> None:
        eye = sp.eye_array(len(rest), dtype=np.float32)
        self._halfway = (0.5 * (shares.matrix + eye)).tocsr().astype(np.float32)
        self._weights = sp.csr_matrix(sp.hstack([self._halfway, 0.5 * eye], format="csr", dtype=np.float32))  # (n, 2n)
        self._anchor, self._anchor_sum, self._rest = anchor, anchor.sum(axis=1), rest
        self._keep, self._conserve = keep, conserve
        self.excess: sp.csr_array = sp.csr_array(anchor.shape, dtype=np.float32)
        self.share: NDArray[np.floating] = np.ones(len(rest), dtype=np.float32)

    def step(self) -> float:
        stacked = sp.csr_matrix(sp.vstack([self.excess, self._anchor], format="csr", dtype=np.float32))  # (2n, L)
        excess = sp.csr_array(
            sp_matmul_topn(self._weights, stacked, top_n=self._keep, n_threads=torch.get_num_threads())
        )
        dropped = self._halfway @ self.excess.sum(axis=1) + 0.5 * self._anchor_sum - excess.sum(axis=1)
        share = self._halfway @ self.share + 0.5 * self._rest + (dropped if self._conserve else 0)
        change = float(np.abs((excess - self.excess).data).max(initial=0))
        residual = 2 * max(change, float(np.abs(share - self.share).max(initial=0)))
        self.excess, self.share = excess, share
        return residual


class _CompactHalfSteps:
    """By a compiled loop over compact rows; beside these it takes 16 bytes for each entry that is kept."""

    def __init__(
        self, shares: CompactShares, anchor: sp.csr_array, rest: NDArray[np.floating], keep: int, conserve: bool
    ) -> None:
        self._shares, self._conserve = shares, conserve
        self._anchor = anchor.indptr.astype(np.int64), anchor.indices, anchor.data.astype(np.float32)
        self._rest, self._shape = rest.astype(np.float32), anchor.shape
        self._label, self._value = np.full((len(rest), keep), -1, dtype=np.int32), np.zeros((len(rest), keep), "f4")
        self._next = np.empty_like(self._label), np.empty_like(self._value)
        self.share: NDArray[np.floating] = np.ones(len(rest), dtype=np.float32)

    @property
    def excess(self) -> sp.csr_array:
        there = self._label >= 0
        indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        matrix = sp.csr_array((self._value[there], self._label[there], indptr), shape=self._shape)
        matrix.sort_indices()
        return matrix

    def step(self) -> float:
        from ngm.propagation.top_k_loops import half_step  # loads numba

        rows, factor, share = self._shares.rows, self._shares.factor.numpy(), np.empty_like(self.share)

        def portion(block: tuple[int, int]) -> float:
            return half_step(
                *block,
                (rows.start, rows.column, rows.weight, factor),
                self._anchor,
                (self._label, self._value, self.share),
                (*self._next, share),
                self._rest,
                self._shape[1],
                self._conserve,
            )

        with ThreadPoolExecutor(torch.get_num_threads()) as threads:
            residual = 2 * max(threads.map(portion, rows.blocks), default=0.0)
        (self._label, self._value), self._next = self._next, (self._label, self._value)
        self.share = share
        return residual
