"""Probabilities of teachers brought to one confidence, to held-out labels, and to known shares of the classes."""

from __future__ import annotations

import numpy as np

from ngm.recipes.label_matrix import Targets
from ngm.recipes.node_views import Floats

CALIBRATION_LABELS = 10.0  # held-out labels that a power of 1 counts for
CONFIDENCE = 0.6  # of a teacher's mean largest probability, between uniform ones (0) and sure ones (1)
CONFIDENCE_POWERS = (0.02, 50.0)  # between which the power is that gives a teacher this confidence
POWERS = (0.05, 0.08, 0.125, 0.2, 0.33, 0.5, 0.67, 1.0, 1.4, 2.0)  # that calibrate a teacher's probabilities
_MAX_STEPS = 200
SAMPLED = 3_000  # nodes by which means over all nodes are measured


def teacher_power(proba: Floats, unseen: Floats, known: Targets) -> float:
    """The power for a teacher's probabilities: one confidence for all, then as held-out labels say.

    Args:
        proba: (n, C) of the teacher, or a sample of `SAMPLED` rows.
        unseen: (k, C) of the teacher that has not seen the labels held out.
        known: These, of k nodes.
    """
    power = 1.0 if known.multilabel else confidence_power(proba)
    return power * calibration_power(known, powered(unseen, power, known.multilabel))


def class_factors(proba: Floats, class_prior: Floats) -> Floats:
    """(C,) factors of the classes with which the mean of the probabilities is `class_prior`.

    Args:
        proba: (n, C).
        class_prior: (C,) known share of each class.
    """
    factors = np.ones(proba.shape[1], dtype=np.float32)
    for _ in range(_MAX_STEPS):
        factors *= class_prior / np.maximum(rescaled(proba, factors).mean(axis=0), 1e-12)
        factors /= factors.max()
    return factors


def rescaled(proba: Floats, factors: Floats) -> Floats:
    """(n, C) probabilities times the factors of their classes, brought back to add up to 1."""
    product = proba * factors
    return np.asarray(product / np.maximum(product.sum(axis=1, keepdims=True), 1e-12), dtype=np.float32)


def confidence_power(proba: Floats) -> float:
    """The power that brings the mean largest probability to `CONFIDENCE`, so that no teacher drowns out others.

    Args:
        proba: (n, C).
    """
    uniform = 1 / proba.shape[1]
    wanted = uniform + (1 - uniform) * CONFIDENCE
    low, high = np.log(CONFIDENCE_POWERS)
    for _ in range(20):
        middle = (low + high) / 2
        sure = float(powered(proba, float(np.exp(middle)), False).max(axis=1).mean()) >= wanted
        low, high = (low, middle) if sure else (middle, high)
    return float(np.exp((low + high) / 2))


def calibration_power(known: Targets, unseen: Floats) -> float:
    """The power of `POWERS` that makes held-out labels likeliest; those far from 1 need more labels that say so.

    Args:
        known: Labels held out, of k nodes.
        unseen: (k, C) of a teacher that has not seen them.
    """

    def gain(power: float) -> float:
        likelihood = known.likelihood(powered(unseen, power, known.multilabel))
        return float(np.log(likelihood.clip(1e-6)).sum() - CALIBRATION_LABELS / 4 * np.log(power) ** 2)

    return max(POWERS, key=gain)


def powered(proba: Floats, power: float, multilabel: bool) -> Floats:
    """Probabilities raised to a power, which makes them surer above 1, and brought back to add up to 1."""
    if multilabel:
        sure = np.clip(proba, 1e-6, 1 - 1e-6)
        raised = sure**power
        return np.asarray(raised / (raised + (1 - sure) ** power), dtype=np.float32)
    raised = np.clip(proba, 1e-6, None)
    raised /= raised.max(axis=1, keepdims=True)  # the largest stays 1, whatever the power
    np.power(raised, power, out=raised)
    raised /= raised.sum(axis=1, keepdims=True)
    return np.asarray(raised, dtype=np.float32)
