"""The one propagation kernel: sparse Jacobi steps, for labels (Eq. 2), identities and a network's own predictions.

All of these are fixed points of

    z_v = sum_u share_vu z_u + anchor_v,

where each node mixes what its neighbours have with something of its own. A Jacobi step applies the right-hand side
once; conjugate gradients reach the same point in fewer products where the shares come from an undirected graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, get_args

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ngm.choices import Influence, Solver
from ngm.graph import Graph

OnStep = Callable[[int, float], None]
SAFE_WEIGHTS = (1e-30, 1e30)  # sums of such weights, and one over these, are far from the ends of float32


class JacobiSteps(Protocol):
    """Sparse Jacobi steps, z -> steps @ z, of one process or of several of which each has some of the rows.

    Attributes:
        total: (n,) what each row of weights was divided by; see `Shares`.
    """

    total: Tensor

    def __matmul__(self, z: Tensor) -> Tensor:
        """(n, c) -> (n, c)."""

    def product(self, a: Tensor, b: Tensor) -> float:
        """Sum over all nodes of total * <a, b>."""

    def largest(self, change: Tensor) -> float:
        """Largest absolute entry over all nodes."""


class RowAnchor(Protocol):
    """What each node adds of its own, (n, c), where it is too large to be kept."""

    @property
    def dtype(self) -> torch.dtype:
        """Of the numbers; steps are taken in it."""

    def add_to(self, z: Tensor) -> Tensor:
        """(n, c) z with it added, in place."""


class Shares:
    """A sparse matrix whose row v says how much node v takes from each node; multiplies as `shares @ z`.

    Args:
        matrix: (n, n) in compressed rows; no entry below 0, no row sum above 1.
        total: (n,) what each row of weights was divided by. Conjugate gradients need `total[:, None] * matrix` to be
            symmetric among the nodes that change.
    """

    def __init__(self, matrix: sp.csr_array, total: NDArray[np.floating]) -> None:
        self.matrix = narrow_indices(matrix)
        self.total = torch.from_numpy(np.ascontiguousarray(total))
        self._offsets = torch.from_numpy(self.matrix.indptr)  # the matrix's own memory, not a copy
        self._columns = torch.from_numpy(self.matrix.indices)
        self._values = torch.from_numpy(self.matrix.data)

    def __matmul__(self, z: Tensor) -> Tensor:
        """(n, n) @ (n, c) -> (n, c), differentiable in z.

        A row is a weighted bag of rows of z: torch's kernel for such bags uses all threads and is ahead of its own
        and of scipy's sparse product (benchmarks/propagation.py).
        """
        values = self._values if self._values.dtype == z.dtype else self._values.to(z.dtype)
        return F.embedding_bag(
            self._columns, z, self._offsets, mode="sum", per_sample_weights=values, include_last_offset=True
        )

    def product(self, a: Tensor, b: Tensor) -> float:
        """Sum over nodes of total * <a, b>."""
        return weighted_product(a, b, self.total)

    def largest(self, change: Tensor) -> float:
        """Largest absolute entry."""
        return largest_entry(change)


@dataclass(frozen=True, eq=False)
class PropagationResult:
    """Where propagation ended.

    Args:
        values: (n, c), a row per node.
        steps: Products with the shares that it took.
        residual: Largest change of an entry in the last Jacobi step, which bounds that of the next; for conjugate
            gradients, what a Jacobi step would change.
        converged: Whether that is within the tolerance.
    """

    values: Tensor
    steps: int
    residual: float
    converged: bool


def pull(graph: Graph, influence: Influence = "both", factor: float = 1.0) -> sp.csr_array:
    """(n, n) float32: how strongly each node (row) is pulled by each other node (column); float64 if `widen_weights`.

    Args:
        graph: Weighted, directed or not.
        influence: On directed graphs, which end pulls the other: "source", "target" or "both".
        factor: That the result is to be multiplied by; see `widen_weights`.
    """
    if influence not in get_args(Influence):
        raise ValueError(f"influence is {influence!r}; choose 'both', 'source' or 'target'")
    forward = widen_weights(narrow_indices(graph.to_scipy()))  # row u holds u -> v
    if not graph.directed or influence == "target":
        return widen_weights(forward, factor)
    backward = forward.T.tocsr()
    return widen_weights(backward if influence == "source" else (forward + backward).tocsr(), factor)


def narrow_indices(matrix: sp.csr_array) -> sp.csr_array:
    """The matrix with 32-bit indices where they suffice: half the memory of 64-bit ones."""
    small = max(matrix.nnz, *matrix.shape) < np.iinfo(np.int32).max
    index = np.int32 if small else np.int64
    if matrix.indices.dtype == index and matrix.indptr.dtype == index:
        return matrix
    return sp.csr_array((matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index)), shape=matrix.shape)


def widen_weights(matrix: sp.csr_array, factor: float = 1.0) -> sp.csr_array:
    """The matrix as it is, or in float64 where its entries times `factor` are outside `SAFE_WEIGHTS`."""
    entries = matrix.data[matrix.data > 0]
    if not len(entries):
        return matrix
    low, high = SAFE_WEIGHTS
    safe = low <= float(entries.min()) * factor and float(entries.max()) * factor <= high
    return matrix if safe else matrix.astype(np.float64)


def scale_rows(matrix: sp.csr_array, factor: NDArray[np.floating]) -> sp.csr_array:
    """Row v of the matrix times `factor[v]`, without a product of matrices."""
    data = matrix.data * np.repeat(factor.astype(matrix.dtype), np.diff(matrix.indptr))
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def walk_shares(graph: Graph) -> Shares:
    """One step of a random walk: the weighted mean over a node's neighbours and itself, at weight 1."""
    weight = (pull(graph) + sp.eye_array(graph.num_nodes, dtype=np.float32)).tocsr()
    total = np.asarray(weight.sum(axis=1)).ravel()
    return Shares(scale_rows(weight, 1 / total).astype(np.float32, copy=False), total)


def hop(shares: JacobiSteps, h: Tensor, restart: float, steps: int) -> Tensor:
    """Mean of h over the ends of random walks that stop with chance `restart` before each of at most `steps` steps.

    Args:
        shares: Of a random walk, so rows add up to 1.
        h: (n, c) values; gradients flow back to them.
        restart: Between 0 and 1.
        steps: Number of Jacobi steps.
    """
    z, restart_term = h, restart * h
    for _ in range(steps):
        z = (shares @ z).mul_(1 - restart).add_(restart_term)  # in place: h may be as large as the inputs of all nodes
    return z


def solve(
    shares: JacobiSteps,
    anchor: Tensor | RowAnchor,
    start: Tensor,
    *,
    solver: Solver = "jacobi",
    tolerance: float = 1e-4,
    max_steps: int = 1000,
    on_step: OnStep | None = None,
    overwrite: bool = False,
) -> PropagationResult:
    """Goes to the fixed point z = shares @ z + anchor.

    Args:
        shares: (n, n).
        anchor: (n, c) what each node adds of its own.
        start: (n, c) where to begin; the result has its type, steps are taken in that of `anchor`. Nodes without a
            share in any other must start at their anchor.
        solver: "jacobi", or "conjugate_gradient" for the same point in fewer steps; see `Shares`.
        tolerance: Stop once a Jacobi step would change no entry by more.
        max_steps: Stop then in any case.
        on_step: Called with (step, residual).
        overwrite: Whether the memory of `start` may be used for the result.
    """
    if solver not in get_args(Solver):
        raise ValueError(f"solver is {solver!r}; choose {' or '.join(map(repr, get_args(Solver)))}")
    steps = _conjugate_gradient if solver == "conjugate_gradient" else _jacobi
    z, dtype = start.to(anchor.dtype, copy=not overwrite), start.dtype
    del start
    result = steps(shares, anchor, z, tolerance, max_steps, on_step or _silent)
    return result if result.values.dtype == dtype else replace(result, values=result.values.to(dtype))


def _plus(z: Tensor, anchor: Tensor | RowAnchor) -> Tensor:
    """Z with the anchor added to it in place."""
    return z.add_(anchor) if isinstance(anchor, Tensor) else anchor.add_to(z)


def _jacobi(
    shares: JacobiSteps, anchor: Tensor | RowAnchor, z: Tensor, tolerance: float, max_steps: int, on_step: OnStep
) -> PropagationResult:
    """Overwrites z."""
    residual = float("inf")
    for step in range(1, max_steps + 1):
        next_z = _plus(shares @ z, anchor)
        residual = shares.largest(z.sub_(next_z))  # z is not needed again
        z = next_z
        on_step(step, residual)
        if residual <= tolerance:
            return PropagationResult(z, step, residual, True)
    return PropagationResult(z, max_steps, residual, False)


def _conjugate_gradient(
    shares: JacobiSteps, anchor: Tensor | RowAnchor, z: Tensor, tolerance: float, max_steps: int, on_step: OnStep
) -> PropagationResult:
    """Preconditioned by the diagonal, so that its residual is the change that a Jacobi step would make.

    All columns share one step length: rows that start by adding up to 1 go on doing so. Overwrites z; there are never
    more than four arrays of its size.
    """
    change = _plus(shares @ z, anchor).sub_(z)
    direction = change.clone()
    squared = shares.product(change, change)
    residual = shares.largest(change)
    on_step(1, residual)
    steps = 1
    for step in range(2, max_steps + 1):
        if residual <= tolerance or squared == 0:  # as near as these digits get
            break
        product = (shares @ direction).neg_().add_(direction)
        length = squared / shares.product(direction, product)
        z.add_(direction, alpha=length)
        change.sub_(product, alpha=length)
        del product  # before the next one is made
        previous, squared = squared, shares.product(change, change)
        residual = shares.largest(change)
        direction.mul_(squared / previous).add_(change)
        steps = step
        on_step(step, residual)
    del change, direction
    residual = shares.largest(_plus(shares @ z, anchor).sub_(z))  # `change` drifts from the truth by rounding
    return PropagationResult(z, steps, residual, residual <= tolerance + 8 * torch.finfo(z.dtype).eps)


def weighted_product(a: Tensor, b: Tensor, total: Tensor) -> float:
    """Sum over nodes of total * <a, b>, in double precision across nodes.

    Args:
        a: (n, c).
        b: (n, c).
        total: (n,).
    """
    return float(torch.einsum("nc,nc,nz->n", a, b, total.to(a.dtype)[:, None]).sum(dtype=torch.float64))


def largest_entry(change: Tensor) -> float:
    """The largest absolute entry; 0 without any."""
    if not change.numel():
        return 0.0
    low, high = torch.aminmax(change)  # one pass, where abs().max() takes two and a copy
    return max(-float(low), float(high))


def _silent(step: int, residual: float) -> None:
    pass
