"""Co-training of Eq. 2 and Eq. 3: label propagation and the network teach each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.iterative_base import Arrays, InRounds, RoundTargets
from ngm.estimators.training_rounds import Known, Round, as_targets, check_rounds, known_classes, one_hot, propagated
from ngm.graph import Graph
from ngm.propagation.label_propagation import LabelPropagation
from ngm.text.readers import Given


@dataclass(eq=False, repr=False)
class CoTraining(InRounds):
    """Label propagation teaches the network, whose predictions are the prior of the next propagation.

    Round 0 propagates the seeds alone. Its distributions are the targets on which the network is trained (by Eq. 3 with
    recipe "paper"; "auto" asks its teachers for the nodes that propagation leaves unlabelled); what
    the network predicts is the prior U of Eq. 2 in the next round, for every node its own. Where labels are few this
    carries much further than attraction alone: the network has targets at every node that a label reaches.

    Args:
        estimator: Classifier whose `fit` takes soft labels and a graph; a fresh copy is trained every round. Its
            `validation` rows are scored every round and not trained on with their true labels. Its `folder` gets every
            finished round, and what is kept in the end; with `resume`, an interrupted training goes on there to the
            same bits.
        propagation: Label propagation of the rounds after the first, with the network as its prior; None for clamped
            seeds, mu2 = 0.5 and mu3 = 1. The first round has its settings and no prior.
        rounds: Trainings.
        temperature: Targets are raised to 1 / temperature and scaled to add up to 1: 1 keeps them as they are, below 1
            sharpens them, 0 takes the most likely class. Flat targets leave attraction alone, and h may collapse.
        confidence: Nodes whose likeliest class has less than this are left unlabelled.
        patience: Rounds without improvement on validation after which to stop.

    Attributes:
        estimator_: The estimator of the best round on validation, or of the last where there is none.
        classes_: (C,) class names.
        history_: A `Round` for each training.
        best_round_: Which of them is kept.
        targets_: (n, C) targets of the last training; a row of -1 where there are none.
        stopped_: Why it ended, in words.
    """

    estimator: NGMClassifier
    propagation: LabelPropagation | None = None
    rounds: int = 3
    temperature: float = 0.0
    confidence: float = 0.0
    patience: int | None = None

    def fit(
        self,
        x: Given,
        y: ArrayLike,
        graph: Graph | None = None,
        truth: ArrayLike | None = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> CoTraining:
        """Trains in rounds.

        Args:
            x: Inputs or texts, a row per node.
            y: (n,) classes, -1, None or NaN = unlabelled.
            graph: Graph over the rows.
            truth: (n,) true classes where known; only for `history_`, never for training.
            on_round: Called with each round's record.
        """
        self._check()
        check_rounds(self.estimator, graph, self.patience)
        if graph is None:
            raise ValueError("co-training propagates labels over a graph; give graph=")
        self._train(x, known_classes(self.estimator, x, y, truth), graph, on_round)
        return self

    def _check(self) -> None:
        for name in ("rounds", "patience"):
            value = getattr(self, name)
            if not (value is None and name == "patience") and (not isinstance(value, Integral) or int(value) < 1):
                raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")
        if not isinstance(self.temperature, Real) or not 0 <= float(self.temperature) < float("inf"):
            raise ValueError(f"temperature is {self.temperature!r}; it must be at least 0, and 1 changes nothing")
        if not isinstance(self.confidence, Real) or not 0 <= float(self.confidence) <= 1:
            raise ValueError(f"confidence is {self.confidence!r}; a probability is between 0 and 1")

    @property
    def _num_trainings(self) -> int:
        return self.rounds

    def _first(self, known: Known, graph: Graph | None) -> Arrays:
        return {"targets": self._teach(known, cast(Graph, graph), None), "before": known.labels >= 0}

    def _round_targets(self, arrays: Arrays, known: Known) -> RoundTargets:
        self.targets_ = arrays["targets"].astype(np.float32)
        labels = _labels(self.targets_)
        return RoundTargets(as_targets(self.targets_), labels, (labels >= 0) & ~arrays["before"].astype(bool))

    def _next(
        self, arrays: Arrays, proba: NDArray[np.float32], known: Known, graph: Graph | None
    ) -> tuple[Arrays, str | None]:
        targets = self._teach(known, cast(Graph, graph), proba)
        return {"targets": targets, "before": _labels(arrays["targets"].astype(np.float32)) >= 0}, None

    def _teach(self, known: Known, graph: Graph, prior: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """(n, C) targets; a row of -1 for nodes that no label reaches and no network has predicted."""
        result = propagated(known, graph, prior, self.propagation)
        proba, seeds = result.values, known.labels >= 0
        labeled = proba.max(axis=1) >= self.confidence
        if self.temperature > 0:
            values = (proba / proba.max(axis=1, keepdims=True)) ** (1 / self.temperature)
            values /= values.sum(axis=1, keepdims=True)
        else:
            values = one_hot(proba.argmax(axis=1), len(known.classes))
        if prior is None:
            labeled &= result.reached
        labeled &= ~known.blank
        values[seeds] = one_hot(known.labels, len(known.classes))[seeds]
        targets: NDArray[np.float32] = np.where((labeled | seeds)[:, None], values, np.float32(-1))
        return targets


def _labels(targets: NDArray[np.float32]) -> NDArray[np.int64]:
    """(n,) class numbers of (n, C) targets, -1 for rows of -1."""
    return np.where(targets[:, 0] >= 0, targets.argmax(axis=1), -1)
