"""Co-training of Eq. 2 and Eq. 3: label propagation and the network teach each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ngm._arguments import check_declared
from ngm.choices import RoundTeacher
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.iterative_base import Arrays, InRounds, NextRound, RoundTargets
from ngm.estimators.round_records import RoundTeachers
from ngm.estimators.round_teachers import round_labels
from ngm.estimators.training_rounds import Known, as_targets, one_hot
from ngm.graph import Graph
from ngm.method_parameters import CO_TRAINING
from ngm.parameters import documented
from ngm.propagation.label_propagation import LabelPropagation


@documented(CO_TRAINING)
@dataclass(eq=False, repr=False)
class CoTraining(InRounds):
    """Label propagation teaches the network, whose predictions are the prior of the next propagation.

    Round 0 propagates the seeds alone. Its distributions are the targets on which the network is trained (by Eq. 3 with
    recipe "paper"; "auto" asks its teachers for the nodes that propagation leaves unlabelled); what
    the network predicts is the prior U of Eq. 2 in the next round, for every node its own. Where labels are few this
    carries much further than attraction alone: the network has targets at every node that a label reaches. With
    `stack=True` the teachers of recipe "auto" take the place of propagation, with the network as one more.

    Args:
        estimator: Classifier whose `fit` takes soft labels and a graph; a fresh copy is trained every round. Its
            `validation` rows are scored every round and not trained on with their true labels.
        propagation: Label propagation of the rounds after the first, with the network as its prior; None for clamped
            seeds, mu2 = 0.5 and mu3 = 1. The first round has its settings and no prior.
        {settings}

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
    stack: bool = False

    def _check(self, graph: Graph | None) -> None:
        check_declared(self, CO_TRAINING)
        if graph is None:
            raise ValueError("co-training propagates labels over a graph; give graph=")
        if self.stack and self.propagation is not None:
            raise ValueError("propagation is set, but with stack=True nothing is propagated; drop one of them")

    @property
    def _num_trainings(self) -> int:
        return self.rounds

    def _first(self, known: Known, graph: Graph | None) -> NextRound:
        targets, teachers = self._teach(known, cast(Graph, graph), None)
        return NextRound({"targets": targets, "before": known.labels >= 0}, teachers=teachers)

    def _round_targets(self, arrays: Arrays, known: Known) -> RoundTargets:
        self.targets_ = arrays["targets"].astype(np.float32)
        labels = _labels(self.targets_)
        return RoundTargets(as_targets(self.targets_), labels, (labels >= 0) & ~arrays["before"].astype(bool))

    def _next(self, arrays: Arrays, proba: NDArray[np.float32], known: Known, graph: Graph | None) -> NextRound:
        targets, teachers = self._teach(known, cast(Graph, graph), proba)
        before = _labels(arrays["targets"].astype(np.float32)) >= 0
        return NextRound({"targets": targets, "before": before}, teachers=teachers)

    def _teach(
        self, known: Known, graph: Graph, prior: NDArray[np.float32] | None
    ) -> tuple[NDArray[np.float32], RoundTeachers]:
        """(n, C) targets, a row of -1 for nodes that no teacher says anything of; and which teachers there were."""
        teacher: RoundTeacher = "stack" if self.stack else "propagation"
        seed = getattr(self.estimator, "seed", 0)
        found = round_labels(teacher, known, known.labels, graph, prior, seed, self.propagation)
        proba, seeds = found.values, known.labels >= 0
        labeled = proba.max(axis=1) >= self.confidence
        if self.temperature > 0:
            values = (proba / proba.max(axis=1, keepdims=True)) ** (1 / self.temperature)
            values /= values.sum(axis=1, keepdims=True)
        else:
            values = one_hot(proba.argmax(axis=1), len(known.classes))
        labeled &= found.reached & ~known.blank
        values[seeds] = one_hot(known.labels, len(known.classes))[seeds]
        targets: NDArray[np.float32] = np.where((labeled | seeds)[:, None], values, np.float32(-1))
        return targets, RoundTeachers.of(found.report)


def _labels(targets: NDArray[np.float32]) -> NDArray[np.int64]:
    """(n,) class numbers of (n, C) targets, -1 for rows of -1."""
    return np.where(targets[:, 0] >= 0, targets.argmax(axis=1), -1)
