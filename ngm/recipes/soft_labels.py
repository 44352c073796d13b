"""Soft labels for texts, or anything with vectors: a linear model and the graph label every node, by the paper's Eq. 2.

Attraction alone does not carry a network that has learned nothing yet. So the few labels are first spread to all nodes:
a linear model of the vectors gives every node a prior U, label propagation weighs it against labels and neighbours, and
the network then learns what comes out. With many labels the same equation corrects labels by their neighbours.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from torch import Tensor
from torch.nn import functional as F

from ngm.graph import Graph
from ngm.propagation.label_propagation import LabelPropagation, UnreachedNodesWarning, UnseededClassWarning


@dataclass(frozen=True)
class Blend:
    """How labels, neighbours and prior are weighed; docs/text.md says how it was chosen.

    Args:
        mu1: Weight of a node's own label; a neighbour has that of the edge, 1 at most between similar texts.
        mu3: Weight of the linear model's word.
        sharpness: Power that the shares are raised to in the end; a mean over neighbours is less sure than it could be.
        c: Inverse of the linear model's L2 penalty, as in scikit-learn.
    """

    mu1: float = 8.0
    mu3: float = 1.0
    sharpness: float = 2.0
    c: float = 10.0


def soft_labels(
    vectors: NDArray[np.floating] | None,
    targets: Tensor,
    labeled: Tensor,
    graph: Graph,
    num_classes: int,
    blend: Blend | None = None,
) -> tuple[Tensor, Tensor]:
    """Labels every node softly from the labels of some.

    Args:
        vectors: (n, d) a row per node; their length does not matter. None does without the linear model.
        targets: (n,) class numbers, or (n, C) shares.
        labeled: (n,) mask of the targets that may be learned from.
        graph: Over the n nodes.
        num_classes: C.
        blend: How to weigh.

    Returns:
        ((n, C) float32 shares, (n,) mask of the nodes that have any: all, or those that a label reaches if no vectors).
    """
    weighed, labeled = blend or Blend(), labeled.bool()
    shares = targets if targets.is_floating_point() else F.one_hot(targets.long().clamp(min=0), num_classes).float()
    seeds = sp.csr_array((shares * labeled[:, None]).numpy())  # rows without an entry are unlabelled
    classes = shares.argmax(dim=1).numpy()
    prior = None if vectors is None else _prior(vectors, classes, labeled.numpy(), num_classes, weighed.c)
    propagation = LabelPropagation(mu1=weighed.mu1, mu3=0.0 if prior is None else weighed.mu3, prior=prior)
    with warnings.catch_warnings():  # nodes that no label reaches have the prior, or are not told anything
        for kind in (UnreachedNodesWarning, UnseededClassWarning):
            warnings.simplefilter("ignore", kind)
        propagation.fit(None, seeds, graph=graph)
    words = torch.from_numpy(np.asarray(propagation.distributions())).float().clamp(min=0) ** weighed.sharpness
    words = words / words.sum(dim=1, keepdim=True).clamp(min=torch.finfo(words.dtype).tiny)
    has_label = torch.ones_like(labeled) if vectors is not None else torch.from_numpy(propagation.reached_) | labeled
    return words, has_label


def _prior(
    vectors: NDArray[np.floating], y: NDArray[np.int64], labeled: NDArray[np.bool_], num_classes: int, c: float
) -> NDArray[np.float32]:
    """(n, C) the linear model's word on every node; all of it where the labels are of one class only."""
    rows, shares = normalize(vectors), np.zeros((len(y), num_classes), dtype=np.float32)
    if len(np.unique(y[labeled])) == 1:
        shares[:, y[labeled][0]] = 1
        return shares
    model = LogisticRegression(C=c, max_iter=1000).fit(rows[labeled], y[labeled])
    shares[:, model.classes_] = model.predict_proba(rows)
    return shares
