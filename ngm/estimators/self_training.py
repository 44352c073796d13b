"""Self-training (the paper's sections 3.4 and 4.4): the labelled set grows along the edges, and the network with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngm._arguments import check_declared
from ngm.choices import Balance, Candidates, RoundTeacher
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.iterative_base import ALL_DONE, Arrays, InRounds, NextRound, RoundTargets
from ngm.estimators.round_records import RoundTeachers
from ngm.estimators.round_teachers import round_labels
from ngm.estimators.training_rounds import Known, as_targets, named, one_hot
from ngm.graph import Graph
from ngm.method_parameters import SELF_TRAINING
from ngm.parameters import documented
from ngm.propagation.kernel import pull


@documented(SELF_TRAINING)
@dataclass(eq=False, repr=False)
class SelfTraining(InRounds):
    """Trains, labels the immediate neighbours of labelled nodes, and trains again on them too.

    As the labelled set grows, UU edges become LU and LL edges. It ends after `rounds`, or once no node is left to
    label, none is confident enough, or validation has not improved for `patience` rounds; `stopped_` says which. The
    network of the round that is best on validation is kept, or that of the last round where there is no validation.

    Args:
        estimator: Classifier whose `fit` takes a graph; a fresh copy of it is trained every round: by Eq. 3, as in the
            paper, with recipe "paper". With "auto", teachers label all nodes in every round anew. Its `validation`
            rows are scored every round, never trained on with their true labels.
        {settings}

    Attributes:
        estimator_: The estimator of the best round.
        classes_: (C,) class names.
        history_: A `Round` for each training: labelled nodes, how many were added, how many of them are right where
            `fit` was told the truth, the validation score.
        best_round_: Which of them is kept.
        labels_: (n,) classes that the last training was told, -1 or None where none.
        stopped_: Why it ended, in words.
    """

    estimator: NGMClassifier
    rounds: int = 10
    candidates: Candidates = "neighbors"
    teacher: RoundTeacher = "network"
    confidence: float = 0.0
    per_round: int | None = None
    balance: Balance = "none"
    soft: bool = False
    relabel: bool = True
    patience: int | None = None

    def _check(self, graph: Graph | None) -> None:
        check_declared(self, SELF_TRAINING)
        if graph is None and (self.candidates == "neighbors" or self.teacher != "network"):
            raise ValueError(
                "self-training labels neighbours in a graph; give graph=, or set candidates='all' and teacher='network'"
            )

    @property
    def _num_trainings(self) -> int:
        return self.rounds + 1

    def _first(self, known: Known, graph: Graph | None) -> NextRound:
        return NextRound(
            {
                "labels": known.labels,  # (n,) class numbers, -1 = unlabelled
                "beliefs": one_hot(known.labels, len(known.classes)),  # (n, C) what each label was read from
                "added": np.zeros(len(known.labels), dtype=bool),
            }
        )

    def _round_targets(self, arrays: Arrays, known: Known) -> RoundTargets:
        labels, beliefs, added = _taken(arrays)
        self.labels_ = named(labels, known.classes)
        if not self.soft:
            return RoundTargets(labels, labels, added)
        return RoundTargets(as_targets(np.where((labels >= 0)[:, None], beliefs, np.float32(-1))), labels, added)

    def _next(self, arrays: Arrays, proba: NDArray[np.float32], known: Known, graph: Graph | None) -> NextRound:
        labels, beliefs, _ = _taken(arrays)
        found = round_labels(self.teacher, known, labels, graph, proba, getattr(self.estimator, "seed", 0))
        shares = found.values
        added, why = self._choose(shares, labels, known, graph)
        if not added.any():
            return NextRound(arrays, why)
        changed = added | ((labels >= 0) & (known.labels < 0) if self.relabel else False)
        grown = {
            "labels": np.where(changed, shares.argmax(axis=1), labels),
            "beliefs": np.where(changed[:, None], shares, beliefs),
            "added": added,
        }
        return NextRound(grown, teachers=RoundTeachers.of(found.report))

    def _choose(
        self, shares: NDArray[np.float32], labels: NDArray[np.int64], known: Known, graph: Graph | None
    ) -> tuple[NDArray[np.bool_], str]:
        """((n,) mask of nodes to label now, why there are none)."""
        chosen = np.zeros(len(labels), dtype=bool)
        open_ = (labels < 0) & ~known.blank
        if self.candidates == "neighbors" and graph is not None:
            open_ &= pull(graph) @ (labels >= 0).astype(np.float32) > 0
        if not open_.any():
            return chosen, "no node is left to label"
        sure = shares.max(axis=1)
        ids = np.flatnonzero(open_ & (sure >= self.confidence))
        if not len(ids):
            best = float(sure[open_].max())
            return chosen, f"none of {int(open_.sum()):,} candidates is surer than {best:.2f}, confidence asks for more"
        ids = ids[np.argsort(-sure[ids], kind="stable")]
        chosen[self._quota(ids, shares[ids].argmax(axis=1), known)] = True
        return chosen, ALL_DONE

    def _quota(self, ids: NDArray[np.int64], classes: NDArray[np.int64], known: Known) -> NDArray[np.int64]:
        """Of candidates in order of confidence, those that keep to `per_round` and `balance`."""
        limit = len(ids) if self.per_round is None else min(self.per_round, len(ids))
        if self.balance == "none":
            return ids[:limit]
        num_classes = len(known.classes)
        seeds = np.bincount(known.labels[known.labels >= 0], minlength=num_classes)
        wanted = seeds if self.balance == "seeds" else np.ones(num_classes, dtype=np.int64)  # parts of sum(wanted)
        there = np.bincount(classes, minlength=num_classes)
        total = min(limit, int((there[wanted > 0] * wanted.sum() // wanted[wanted > 0]).min()))
        most = wanted * total // wanted.sum()
        rank = np.zeros(len(ids), dtype=np.int64)  # place of each candidate within its class
        for c in range(num_classes):
            rank[classes == c] = np.arange(there[c])
        # Where a class has no candidate at all, or a limit is smaller than the classes are many, the others must not
        # wait for ever: one more of each, the surest first.
        spare = min(limit, int((there > 0).sum())) if not most.any() else 0
        extra = np.flatnonzero(rank == most[classes])[:spare]
        return np.concatenate([ids[rank < most[classes]], ids[extra]])


def _taken(arrays: Arrays) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.bool_]]:
    """Labels, beliefs and the mask of what was added."""
    labels, beliefs, added = (arrays[name] for name in ("labels", "beliefs", "added"))
    return labels.astype(np.int64), beliefs.astype(np.float32), added.astype(bool)
