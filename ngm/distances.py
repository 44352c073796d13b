"""Distances d(h_u, h_v) between the two ends of an edge (the paper's Eq. 3), by name in `DISTANCES`.

`l1`, `l2`, `squared_l2` and `cosine` compare hidden vectors; `cross_entropy`, `kl` and `js` compare the
distributions that two rows of logits stand for. `cross_entropy` and `kl` depend on the order of their
arguments (the first is the teacher): on undirected graphs, where an edge has no first end, the objective uses
the mean of both orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from ngm._spelling import nearest

Distance = Callable[[Tensor, Tensor], Tensor]


def l1(h_u: Tensor, h_v: Tensor) -> Tensor:
    """Sum of absolute differences: (k, d), (k, d) -> (k,)."""
    return (h_u - h_v).abs().sum(dim=-1)


def l2(h_u: Tensor, h_v: Tensor) -> Tensor:
    """Euclidean distance: (k, d), (k, d) -> (k,)."""
    norm: Tensor = torch.linalg.vector_norm(h_u - h_v, dim=-1)  # not sqrt(sum): NaN gradient where ends coincide
    return norm


def squared_l2(h_u: Tensor, h_v: Tensor) -> Tensor:
    """Squared Euclidean distance: (k, d), (k, d) -> (k,)."""
    return (h_u - h_v).square().sum(dim=-1)


def cosine(h_u: Tensor, h_v: Tensor) -> Tensor:
    """1 - cosine similarity, between 0 and 2: (k, d), (k, d) -> (k,)."""
    return 1 - F.cosine_similarity(h_u, h_v, dim=-1)


def cross_entropy(logits_u: Tensor, logits_v: Tensor) -> Tensor:
    """-sum p_u log p_v: (k, c), (k, c) -> (k,); the first end is the teacher."""
    return -(F.softmax(logits_u, dim=-1) * F.log_softmax(logits_v, dim=-1)).sum(dim=-1)


def kl(logits_u: Tensor, logits_v: Tensor) -> Tensor:
    """Sum p_u (log p_u - log p_v): (k, c), (k, c) -> (k,); the first end is the teacher."""
    log_u = F.log_softmax(logits_u, dim=-1)
    return (log_u.exp() * (log_u - F.log_softmax(logits_v, dim=-1))).sum(dim=-1)


def js(logits_u: Tensor, logits_v: Tensor) -> Tensor:
    """Jensen-Shannon divergence, between 0 and log 2: (k, c), (k, c) -> (k,)."""
    log_u, log_v = F.log_softmax(logits_u, dim=-1), F.log_softmax(logits_v, dim=-1)
    log_mean = torch.logaddexp(log_u, log_v) - math.log(2)
    return 0.5 * (log_u.exp() * (log_u - log_mean) + log_v.exp() * (log_v - log_mean)).sum(dim=-1)


DISTANCES: dict[str, Distance] = {
    "l1": l1,
    "l2": l2,
    "squared_l2": squared_l2,
    "cosine": cosine,
    "cross_entropy": cross_entropy,
    "kl": kl,
    "js": js,
}
BETWEEN_OUTPUTS = frozenset({"cross_entropy", "kl", "js"})  # compare logits, so h is the output layer
ONE_SIDED = frozenset({"cross_entropy", "kl"})  # d(u, v) differs from d(v, u)


def get_distance(distance: str | Distance) -> Distance:
    """The function behind a name; a function of the user's own, (k, d), (k, d) -> (k,), is returned as it is."""
    if callable(distance):
        return distance
    if not isinstance(distance, str):
        raise ValueError(f"distance is {distance!r}; choose from {', '.join(DISTANCES)}, or a function")
    if distance not in DISTANCES:
        raise ValueError(
            f"unknown distance {distance!r}{nearest(distance, DISTANCES)}; "
            f"choose from {', '.join(DISTANCES)}, or give a function"
        )
    return DISTANCES[distance]


def symmetrized(distance: str | Distance) -> Distance:
    """The distance for edges that have no first end: the mean of both orders, where these may differ."""
    one = get_distance(distance)
    if isinstance(distance, str) and distance not in ONE_SIDED:
        return one

    def both(h_u: Tensor, h_v: Tensor) -> Tensor:
        return 0.5 * (one(h_u, h_v) + one(h_v, h_u))

    return both
