"""Labels spread over a graph, for all folds at once: the teachers that need nothing but edges and labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.node_set import AllNodes, NodeSet
from ngm.recipes.node_views import Floats, NodeViews, Operators

SPREADING = 0.9  # share that a node takes from its neighbours in a graph
SPREADING_ALIKE = 0.99  # share that it takes from the nodes most like it
SPREADING_STEPS = {SPREADING: 50, SPREADING_ALIKE: 200}
MAX_ENTRIES = 1 << 25  # numbers that are spread at once, over all processes


def spread_labels(
    graph: Operators, targets: Targets, labeled: Mask, share: float = SPREADING, nodes: NodeSet | None = None
) -> Floats:
    """(n, C) labels spread over the normalised adjacency, each class brought to the same mean, or to its known share.

    Args:
        graph: Over the n nodes.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.
        share: That a node takes from its neighbours in each step; a key of `SPREADING_STEPS`.
        nodes: Where the nodes are; all in this process where None.
    """
    return spread_label_sets(graph, targets, [labeled], share, nodes or AllNodes(len(labeled)))[0]


def spread_for_folds(
    views: NodeViews, graph: Operators, targets: Targets, labeled: Mask, share: float = SPREADING
) -> Floats:
    """`spread_labels`, computed for all masks that `views.masks` expects when the first of them is asked for.

    A product with six times the columns takes twice as long. What is very large is computed when it is asked for.

    Args:
        views: Of the nodes.
        graph: Over the n nodes; one that `views` keeps.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.
        share: That a node takes from its neighbours in each step.
    """
    expected = views.masks
    at = expected.position(labeled)
    if at is None or views.nodes.count * targets.num_classes * len(expected.masks) > MAX_ENTRIES:
        return spread_labels(graph, targets, labeled, share, views.nodes)
    key = (id(graph), share)
    if key not in expected.computed:
        expected.computed[key] = spread_label_sets(graph, targets, expected.masks, share, views.nodes)
    return expected.computed[key][at]


def spread_label_sets(
    graph: Operators, targets: Targets, masks: Sequence[Mask], share: float, nodes: NodeSet
) -> list[Floats]:
    """What `spread_labels` gives for each of some masks of labels.

    Args:
        graph: Over the n nodes.
        targets: Labels.
        masks: (n,) each.
        share: That a node takes from its neighbours in each step.
        nodes: Where the nodes are.
    """
    start = np.hstack([_label_mass(targets, labeled, nodes) for labeled in masks])
    mass = graph.spread(start, share, SPREADING_STEPS[share])
    of_each = np.split(mass, len(masks), axis=1)
    return [_class_shares(one, targets, labeled, nodes) for one, labeled in zip(of_each, masks, strict=True)]


def _label_mass(targets: Targets, labeled: Mask, nodes: NodeSet) -> Floats:
    """(n, C) labels to be spread: of each class 1 in all, however many labels it has."""
    start = targets.values * labeled[:, None]
    if targets.weight is not None:
        start *= targets.weight[:, None]
    start /= np.maximum(nodes.sum(start), 1e-12)
    return start


def _class_shares(mass: Floats, targets: Targets, labeled: Mask, nodes: NodeSet) -> Floats:
    """(n, C) shares of the classes in what has reached each node, by class mass normalisation."""
    proportion = mass / np.maximum(nodes.sum(mass) / np.float32(nodes.count), 1e-12)
    if targets.class_prior is not None:
        proportion *= targets.class_prior
    total = proportion.sum(axis=1, keepdims=True)
    uniform = np.full_like(proportion, 1 / targets.num_classes)
    proba: Floats = np.divide(proportion, total, out=uniform, where=total > 1e-12)
    if targets.multilabel:  # as many labels as the labelled nodes have
        counts = nodes.sum(np.stack([targets.values.sum(axis=1) * labeled, labeled], axis=1).astype(np.float64))
        proba = np.clip(proba * (counts[0] / max(counts[1], 1)), 0, 1).astype(np.float32)
    return proba
