"""Edge terms in torch: any distance, any device, any number of derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from ngm.choices import Influence
from ngm.distances import Distance, get_distance, symmetrized


@dataclass(frozen=True, eq=False)
class WeightedPairs:
    """The edges of a batch that one regularizer looks at, and the negative pairs made of them.

    Args:
        ends: (k, 2) int64 rows of h.
        weight: (k,) edge weights.
        kind: (k,) int64 values of `EdgeKind`.
        scale: What a distance of each kind counts: alpha, and what a mean divides by.
        negatives: (j, 2) int64 rows of h, pairs that are no neighbours.
        negative_of: (j,) int64, which of the k edges each was made of.
        share: What a negative pair counts, relative to its edge.
        margin: Distance from which on a negative pair costs nothing.
    """

    ends: Tensor
    weight: Tensor
    kind: Tensor
    scale: tuple[float, float, float]
    negatives: Tensor
    negative_of: Tensor
    share: float = 0.0
    margin: float = 1.0


def plain_edge_terms(
    h: Tensor, pairs: WeightedPairs, distance: str | Distance, directed: bool = False, influence: Influence = "both"
) -> Tensor:
    """Sums of scale w d(h_u, h_v) by kind of edge, and of share scale w max(0, margin - d) over negative pairs.

    Args:
        h: (b, d) hidden vectors.
        pairs: Which of their rows to compare.
        distance: Name, or function (k, d), (k, d) -> (k,).
        directed: Whether edges have a first end; if not, a distance that depends on the order is taken both ways.
        influence: Which end moves the other.

    Returns:
        (4,) LL, LU, UU and repulsion.
    """
    scale = h.new_tensor(pairs.scale)
    lengths = _distances(h, pairs.ends, distance, directed, influence)
    by_kind = h.new_zeros(3).index_add(0, pairs.kind, pairs.weight * lengths) * scale
    if not len(pairs.negatives):
        return torch.cat([by_kind, h.new_zeros(1)])
    lack = (pairs.margin - _distances(h, pairs.negatives, distance, directed, influence)).clamp(min=0)
    weight = scale[pairs.kind[pairs.negative_of]] * pairs.weight[pairs.negative_of]
    return torch.cat([by_kind, pairs.share * (weight * lack).sum()[None]])


def _distances(h: Tensor, pairs: Tensor, distance: str | Distance, directed: bool, influence: Influence) -> Tensor:
    """(k,) distances between the two rows of (k, 2) pairs."""
    # embedding, not h[pairs]: its gradient is summed in a fixed order, so same seed gives same bits
    h_u, h_v = F.embedding(pairs.t(), h)  # (k, d) each
    if influence != "both":
        h_u, h_v = (h_u.detach(), h_v) if influence == "source" else (h_u, h_v.detach())
    return (get_distance if directed else symmetrized)(distance)(h_u, h_v)
