"""Teachers: cheap models that label every node from the labels of some, each in its own way.

None is best everywhere, so `stacking` weighs them by labels that they have not seen. For each view of the nodes there
is a linear model of a node's own row; for each graph, labels spread over its edges; for each view and graph, a linear
model of the rows around a node, one of its own row beside those one and two hops away, and the predictions of all
three averaged over the graph (Eq. 2 with a linear model as its prior).
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from ngm.recipes.targets import Mask, Targets
from ngm.recipes.views import Features, Floats, GraphOperators, NodeViews

INVERSE_PENALTY = 100.0  # C of the linear models, on rows of length 1
SPREADING = 0.9  # share that a node takes from its neighbours
SPREADING_STEPS = 50
MAX_LABELED = 5_000  # labelled rows that a linear model learns from
MAX_ITERATIONS = 200


def predict_all(views: NodeViews, targets: Targets, labeled: Mask) -> dict[str, Floats]:
    """Every teacher's labels for all nodes.

    Args:
        views: Of the nodes.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.

    Returns:
        Teacher -> (n, C) probabilities. A teacher that looks at a view or a graph beyond the first is called by its
        number or name as well.
    """
    found: dict[str, Floats] = {}
    for view, rows in views.features.items():
        found[view] = linear_proba(rows, targets, labeled)
    for i, operators in enumerate(views.operators):
        of = "" if len(views.operators) == 1 else f" {i}"
        found[f"spreading{of}"] = spread_labels(operators, targets, labeled)
        for view in views.features:
            models = {
                view: found[view],
                f"{view} around{of}": linear_proba(views.neighborhood(view, i), targets, labeled),
                f"{view} by hops{of}": linear_proba(views.hops(view, i), targets, labeled),
            }
            found |= models
            found |= {f"{name}, smoothed{of}": operators.smoothed(proba) for name, proba in models.items()}
    return found


def spread_labels(operators: GraphOperators, targets: Targets, labeled: Mask) -> Floats:
    """Labels spread over the normalised adjacency, each class divided by its mean (class mass)."""
    start = targets.values * labeled[:, None]
    if targets.weight is not None:
        start *= targets.weight[:, None]
    start /= np.maximum(start.sum(axis=0), 1e-12)  # classes weigh alike, however many labels they have
    seeds = torch.from_numpy(start)
    mass = seeds
    for _ in range(SPREADING_STEPS):
        mass = SPREADING * (operators.normalized_adjacency @ mass) + (1 - SPREADING) * seeds
    share = mass.numpy() / np.maximum(mass.numpy().mean(axis=0), 1e-12)
    total = share.sum(axis=1, keepdims=True)
    alike = np.full_like(share, 1 / targets.num_classes)
    proba: Floats = np.divide(share, total, out=alike, where=total > 1e-12)
    if targets.multilabel:  # as many labels as the labelled nodes have
        proba = np.clip(proba * (targets.values[labeled].sum() / max(labeled.sum(), 1)), 0, 1).astype(np.float32)
    return proba


def linear_proba(rows: Features, targets: Targets, labeled: Mask) -> Floats:
    """(n, C) probabilities of a logistic regression on the labelled rows; of label sets, C independent ones."""
    ids = np.flatnonzero(labeled)[:MAX_LABELED]
    values, weight = targets.values[ids], None if targets.weight is None else targets.weight[ids]
    if targets.multilabel:
        return _independent(rows, ids, values)
    label = values.argmax(axis=1)
    proba = np.zeros((rows.shape[0], targets.num_classes), dtype=np.float32)
    known = np.unique(label)
    if len(known) == 1:
        proba[:, known[0]] = 1
        return proba
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=MAX_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a model that is nearly there teaches as well
        model.fit(rows[ids], label, sample_weight=weight)
    proba[:, model.classes_] = model.predict_proba(rows)
    return proba


def _independent(rows: Features, ids: NDArray[np.int64], values: Floats) -> Floats:
    """(n, L) for label sets; a label that all or none of the rows have keeps its frequency."""
    frequency = values.mean(axis=0)
    proba = np.tile(frequency, (rows.shape[0], 1)).astype(np.float32)
    varied = np.flatnonzero((frequency > 0) & (frequency < 1))
    if len(varied):
        model = OneVsRestClassifier(LogisticRegression(C=INVERSE_PENALTY, max_iter=MAX_ITERATIONS))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows[ids], (values[:, varied] > 0.5).astype(np.int64))
        found = model.predict_proba(rows)
        proba[:, varied] = found if found.shape[1] == len(varied) else found[:, 1:]
    return proba
