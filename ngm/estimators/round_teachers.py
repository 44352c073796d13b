"""What labels nodes between two rounds. Each way is a set of teachers, which `stack_teachers` combines.

"network"      the predictions of the round's network, as they are
"propagation"  the seeds propagated over the graph, with the network's predictions as prior (Eq. 2)
"stack"        the teachers of recipe "auto" on the labels of the round, with the network as one more
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ngm._arguments import short_repr
from ngm.choices import RoundTeacher
from ngm.estimators.training_rounds import Known, one_hot
from ngm.graph import Graph
from ngm.propagation.label_propagation import LabelPropagation, UnreachedNodesWarning
from ngm.recipes.auto import TaughtNodes, soft_targets
from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.node_set import AllNodes
from ngm.recipes.node_views import Floats, NodeViews
from ngm.recipes.stacking import AUTO, TeacherPreset, TeacherReport
from ngm.recipes.teachers import Prediction, TeacherSet

NETWORK_PRIOR = 8.0  # of the network among the teachers of "auto", as much as the one that has most of them


@dataclass(frozen=True, eq=False)
class RoundLabels:
    """What teachers say of every node.

    Args:
        values: (n, C) class shares; the same for all classes where no teacher says anything.
        reached: (n,) mask of the nodes that a teacher says something of.
        report: What the teachers were worth.
    """

    values: NDArray[np.float32]
    reached: NDArray[np.bool_]
    report: TeacherReport


def round_labels(
    teacher: RoundTeacher,
    known: Known,
    labels: NDArray[np.int64],
    graph: Graph | None,
    proba: NDArray[np.float32] | None,
    seed: int,
    propagation: LabelPropagation | None = None,
) -> RoundLabels:
    """Labels all nodes softly after a round, or before the first.

    Args:
        teacher: Which teachers; all but "network" need a graph.
        known: The seeds and inputs.
        labels: (n,) class numbers that the round was trained on, -1 = unlabelled; "propagation" starts from the seeds.
        graph: Graph over the rows.
        proba: (n, C) predictions of the round's network; None before the first.
        seed: Deals the labels to folds.
        propagation: Settings of "propagation"; None for clamped seeds, mu2 = 0.5 and mu3 = 1.
    """
    seeds = known.labels >= 0
    if teacher == "stack" and graph is not None:
        nodes, preset, labeled = known.taught_nodes(graph), _stack(known, graph, proba), labels >= 0
    else:
        graphs = [] if graph is None or teacher == "network" else [graph]
        views = NodeViews({}, graphs, nodes=AllNodes(len(seeds)))
        nodes, labeled = TaughtNodes(views, np.ones_like(seeds)), seeds
        preset = TeacherPreset(_one_teacher(teacher, proba, propagation), scored=False, clamped=False)
    targets = Targets(one_hot(np.where(labeled, labels, -1), len(known.classes)))
    values, report = soft_targets(nodes, targets, labeled, seed, preset, labeled & ~seeds)
    if proba is not None:
        values[~nodes.included] = proba[~nodes.included]
    reached: Mask = np.asarray(values.any(axis=1))
    values[~reached] = 1 / values.shape[1]
    return RoundLabels(values, reached, report)


def _stack(known: Known, graph: Graph, proba: NDArray[np.float32] | None) -> TeacherPreset:
    """The teachers of "auto", with the network as one that no label can score: it has learned from all of them."""
    if proba is None:
        return AUTO
    return replace(AUTO, unscored=[_of_network(proba[known.taught_nodes(graph).included])])


def _of_network(proba: Floats) -> Prediction:
    return Prediction("network", "the network of the round before", proba, None, NETWORK_PRIOR)


def _one_teacher(teacher: RoundTeacher, proba: Floats | None, propagation: LabelPropagation | None) -> TeacherSet:
    def predict(views: NodeViews, targets: Targets, labeled: Mask) -> Iterator[Prediction]:
        if teacher == "network" and proba is not None:
            yield _of_network(proba)
        else:
            seeds = np.where(labeled, targets.values.argmax(axis=1), -1)
            values = propagated(seeds, views.whole_graph(0).graph, proba, propagation)
            prior = "" if proba is None else ", with the predictions of the network as prior"
            yield Prediction("propagation", f"labels spread over the edges{prior} (Eq. 2)", values, graph=0)

    return predict


def propagated(
    seeds: NDArray[np.int64], graph: Graph, prior: Floats | None, propagation: LabelPropagation | None = None
) -> Floats:
    """(n, C) class shares: the seeds spread over the graph, with what the network predicts as the prior (Eq. 2).

    Args:
        seeds: (n,) class numbers, -1 where there is none.
        graph: Graph over the rows.
        prior: (n, C) predictions; None for the uniform prior, where nodes that no seed reaches have a row of zeros.
        propagation: Settings; None for clamped seeds, mu2 = 0.5 and mu3 = 1.
    """
    if propagation is not None and not isinstance(propagation, LabelPropagation):
        raise ValueError(f"propagation is {short_repr(propagation)}; give a LabelPropagation with settings")
    kind = LabelPropagation(mu1=float("inf"), mu3=1.0) if propagation is None else clone(propagation)
    if kind.prior is not None:
        raise ValueError(
            "propagation has a prior of its own, but the network's predictions are the prior here; drop it"
        )
    with warnings.catch_warnings():  # nodes that no seed reaches keep the prior, which is what is wanted here
        warnings.simplefilter("ignore", UnreachedNodesWarning)
        kind.set_params(prior=prior).fit(None, seeds, graph=graph)
    values: Floats = kind.distributions().astype(np.float32)
    return values if prior is not None else values * kind.reached_[:, None]
