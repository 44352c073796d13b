"""Weights of teachers: a prior that needs no label, then what labels say that they have not seen.

With very few labels held-out ones say little, so weights start from a prior: if neighbours are alike in what is
predicted from their own rows, the graph knows the classes, and its teachers start with most of the weight; if not,
nearly all of it starts with the teachers that do without the graph.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ngm.recipes.node_views import Floats, Operators
from ngm.recipes.teachers import Prediction

PRIOR_LABELS = 10.0  # held-out labels that the prior weights count for
UNINFORMATIVE = 0.05  # assortativity of predictions up to which a graph is not trusted
INFORMATIVE = 0.08  # assortativity from which on it is
MIN_TRUST = 0.05  # prior weight of all teachers with a graph that seems to know nothing
EVIDENT = 0.3  # assortativity from which on a graph surely knows the classes
ALONE_BESIDE_EVIDENT = 0.5  # what the priors of teachers without a graph are multiplied by then
_STEPS = 200


def prior_weights(predictions: Sequence[Prediction], assortativity: float) -> NDArray[np.float64]:
    """(t,) weights before any label is held out.

    Args:
        predictions: Of the teachers.
        assortativity: At `INFORMATIVE` the weights are as each teacher's `prior` says; up to `UNINFORMATIVE` those with
            a graph have `MIN_TRUST` together; from `EVIDENT` on the priors of those without are halved.
    """
    uses_graph = np.array([prediction.graph is not None for prediction in predictions])
    evidence = _between(assortativity, INFORMATIVE, EVIDENT)
    of_alone = 1 - evidence * (1 - ALONE_BESIDE_EVIDENT)
    own = np.array([prediction.prior for prediction in predictions])
    trusted = _normalized(np.where(uses_graph, own, own * of_alone))
    if uses_graph.all():
        return trusted
    alone = _normalized(np.array([prediction.prior_alone for prediction in predictions]) * ~uses_graph)
    if not uses_graph.any():
        return alone
    untrusted = (1 - MIN_TRUST) * alone + MIN_TRUST * _normalized(trusted * uses_graph)
    trust = _between(assortativity, UNINFORMATIVE, INFORMATIVE)
    return np.asarray(trust * trusted + (1 - trust) * untrusted)


def _between(value: float, low: float, high: float) -> float:
    """0 up to `low`, 1 from `high` on, and a straight line between them."""
    return min(max((value - low) / (high - low), 0.0), 1.0)


def _normalized(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(weights / weights.sum())


def graph_assortativity(predictions: Sequence[Prediction], graph: Operators) -> float:
    """The largest over all teachers without a graph; 1 where there is none, and so nothing but the graph to use."""
    alone = (prediction.values for prediction in predictions if prediction.graph is None)
    return max((graph.assortativity(proba) for proba in alone), default=1.0)


def simplex_weights(likelihoods: Sequence[NDArray[np.floating]], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """(t,) weights on the simplex that maximise the likelihood of held-out labels, pulled towards `prior`.

    Args:
        likelihoods: Of each teacher, (k,) probabilities that it gave to the labels held out.
        prior: (t,) weights that stand where there are none; they count for `PRIOR_LABELS` labels.
    """
    right = np.stack(likelihoods, axis=1).astype(np.float64).clip(1e-6)  # (k, t)
    weights = prior.copy()
    for _ in range(_STEPS if len(right) else 0):  # expectation maximisation
        share = right * weights
        share /= share.sum(axis=1, keepdims=True)
        weights = (share.sum(axis=0) + PRIOR_LABELS * prior) / (len(right) + PRIOR_LABELS)
    return weights


def mixed(proba: Sequence[Floats], weights: NDArray[np.float64]) -> Floats:
    """(n, C) weighted mean of the teachers' probabilities."""
    total = np.zeros_like(proba[0])
    for p, weight in zip(proba, weights, strict=True):
        total += np.float32(weight) * p
    return total
