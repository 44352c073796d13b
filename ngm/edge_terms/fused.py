"""Edge terms of hidden vectors on the CPU: compiled sums, and a gradient that is computed rather than recorded."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import FunctionCtx

from ngm.choices import Influence
from ngm.distances import Distance
from ngm.edge_terms.plain import WeightedPairs, plain_edge_terms

FUSED = frozenset({"l1", "l2", "squared_l2", "cosine"})  # do not depend on the order of the two ends


def edge_terms(
    h: Tensor, pairs: WeightedPairs, distance: str | Distance, directed: bool = False, influence: Influence = "both"
) -> Tensor:
    """What `plain_edge_terms` gives, compiled where h is float32 on the CPU and the distance is one of `FUSED`."""
    if isinstance(distance, str) and distance in FUSED and influence == "both" and _is_concrete(h, pairs.weight):
        terms: Tensor = _FusedEdgeTerms.apply(h, pairs, distance)  # type: ignore[no-untyped-call]
        return terms
    return plain_edge_terms(h, pairs, distance, directed, influence)


def _is_concrete(h: Tensor, weight: Tensor) -> bool:
    """Whether values can be read in place: not while torch traces, compiles, maps or differentiates forward."""
    return (
        h.dtype == torch.float32
        and type(h) is Tensor
        and h.device.type == "cpu"
        and weight.dtype == torch.float32
        and not weight.requires_grad
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
        and not torch._C._are_functorch_transforms_active()
        and forward_ad.unpack_dual(h).tangent is None  # type: ignore[no-untyped-call]
    )


class _FusedEdgeTerms(torch.autograd.Function):
    """h (b, d) -> (4,) terms. Derivatives beyond the first are those of the plain form."""

    @staticmethod
    def forward(ctx: FunctionCtx, h: Tensor, pairs: WeightedPairs, distance: str) -> Tensor:
        from ngm.edge_terms import kernels

        terms, rows = torch.empty(4), h.detach().contiguous().numpy()
        norms = np.empty(len(rows), dtype=np.float32)
        found = np.empty(len(pairs.ends) + len(pairs.negatives), dtype=np.float32)
        kernels.sum_terms(kernels.METRICS[distance], rows, norms, *_arguments(pairs), found, terms.numpy())
        ctx.save_for_backward(h)
        ctx.found, ctx.norms, ctx.pairs, ctx.distance = found, norms, pairs, distance  # type: ignore[attr-defined]
        return terms

    @staticmethod
    def backward(ctx: FunctionCtx, outer: Tensor) -> tuple[Tensor, None, None]:
        from ngm.edge_terms import kernels

        (h,) = ctx.saved_tensors  # type: ignore[attr-defined]
        pairs, distance = ctx.pairs, ctx.distance  # type: ignore[attr-defined]
        if torch.is_grad_enabled():  # with create_graph=True
            (gradient,) = torch.autograd.grad(plain_edge_terms(h, pairs, distance), h, outer, create_graph=True)
            return gradient, None, None
        rows = h.detach().contiguous()
        gradient, found, norms = torch.zeros_like(rows), ctx.found, ctx.norms  # type: ignore[attr-defined]
        kernels.add_gradients(
            kernels.METRICS[distance],
            rows.numpy(),
            norms,
            *_arguments(pairs),
            found,
            outer.contiguous().numpy(),
            gradient.numpy(),
        )
        return gradient, None, None


_Arguments: TypeAlias = tuple[
    NDArray[np.int64],
    NDArray[np.float32],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    tuple[float, float, float],
    float,
    float,
]


def _arguments(pairs: WeightedPairs) -> _Arguments:
    """The fields as the compiled functions take them: the same memory, copied where it is not in sequence."""
    return (
        pairs.ends.contiguous().numpy(),
        pairs.weight.contiguous().numpy(),
        pairs.kind.contiguous().numpy(),
        pairs.negatives.contiguous().numpy(),
        pairs.negative_of.contiguous().numpy(),
        pairs.scale,
        float(pairs.share),
        float(pairs.margin),
    )
