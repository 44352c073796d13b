"""The teachers of the default recipe on parts: each process labels its own nodes, and all weigh them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.distributed import sum_over_ranks
from ngm.partition.local_part import LocalPart
from ngm.partition.part_shares import PartShares, PartWeights, part_walk_shares
from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.node_set import OwnNodes
from ngm.recipes.node_views import Floats, NodeViews, scaled_features, spread_seeds, walk_means
from ngm.recipes.number_stacking import stack_number_teachers
from ngm.recipes.number_teachers import NumberTargets
from ngm.recipes.stacking import Stack, TeacherReport, stack_teachers


class PartOperators:
    """The matrices that teachers multiply by, over the nodes of all processes; see `GraphOperators`.

    Args:
        weights: Of the edges that this process carries.
    """

    def __init__(self, weights: PartWeights) -> None:
        self.weights = weights

    @cached_property
    def walk(self) -> PartShares:
        """One step of a random walk with self loops."""
        return part_walk_shares(self.weights)

    def spread(self, seeds: Floats, share: float, steps: int) -> Floats:
        """See `spread_seeds`."""
        return spread_seeds(self.walk, seeds, share, steps)

    def mean_around(self, values: Floats) -> Floats:
        """(n, c) mean over each node and its neighbours."""
        return cast(Floats, (self.walk @ torch.from_numpy(values)).numpy())

    def smoothed(self, values: NDArray[np.floating]) -> Floats:
        """(n, c) values averaged over random walks from each node."""
        return walk_means(self.walk, values)

    def assortativity(self, proba: Floats) -> float:
        """As `prediction_assortativity`, over the edges of all processes."""
        degree = self.weights.sums
        sums = np.append(degree @ proba, degree.sum())
        sums = sum_over_ranks(torch.from_numpy(sums)).numpy()
        total = float(sums[-1])
        if total == 0:
            return 0.0
        centered = proba - sums[:-1] / total
        around = (self.weights @ torch.from_numpy(centered)).numpy()  # each edge comes from both its ends
        own = [float(degree @ np.square(centered).sum(axis=1)), float(np.einsum("nc,nc->", centered, around))]
        variance, together = (sum_over_ranks(torch.tensor(own, dtype=torch.float64)) / total).tolist()
        return 1.0 if variance < 1e-9 else float(together / variance)


@dataclass(frozen=True, eq=False)
class PartTargets:
    """Targets that teachers give the nodes of a part, border included.

    Args:
        values: (n, C) probabilities, or (n, T) numbers.
        labeled: (n,) mask of the nodes that have any.
        sample_weight: (n,) how much each counts; all alike where None.
        report: What the teachers were worth; the same in every process.
    """

    values: Tensor
    labeled: Tensor
    sample_weight: Tensor | None
    report: TeacherReport


def part_soft_targets(part: LocalPart, targets: Targets, labeled: Tensor, seed: int) -> PartTargets:
    """Soft labels for the nodes with an edge or a label; all processes make theirs together.

    Teachers that compare all nodes with each other are left out: those of nodes that are alike (as on large graphs in
    one process), of principal components, and those that learn from their own predictions.

    Args:
        part: Of this process.
        targets: Labels of its own nodes.
        labeled: (n,) mask of those that may be learned from, border included.
        seed: Same seed, same labels.
    """
    known = labeled[: part.num_own].numpy()
    return _taught(part, known, targets.num_classes, lambda views: stack_teachers(views, targets, known, seed))


def part_numbers(part: LocalPart, numbers: NumberTargets, labeled: Tensor, seed: int) -> PartTargets:
    """The same for numbers; teachers with a kernel are left out, too.

    Args:
        part: Of this process.
        numbers: Labels of its own nodes, with a mean near 0 and a deviation near 1.
        labeled: (n,) mask of those that may be learned from, border included.
        seed: Same seed, same numbers.
    """
    known = labeled[: part.num_own].numpy()
    return _taught(part, known, 2, lambda views: stack_number_teachers(views, numbers, known, seed))


def _taught(part: LocalPart, known: Mask, num_classes: int, stack: Callable[[NodeViews], Stack]) -> PartTargets:
    """What teachers say of the own nodes, sent to the processes that have them on their border.

    Args:
        part: Of this process.
        known: (num_own,) mask of the labels that may be learned from.
        num_classes: Number of classes C.
        stack: Asks the teachers.
    """
    weights = PartWeights(part)
    border = weights.border
    degree = border.add(part.graph.degree.to(torch.int64)).numpy()
    included: Mask = known | (degree > 0)
    found = stack(part_views(part, weights, included, num_classes))
    weight = None if part.sample_weight is None else border.fetch(_weights(known, part.sample_weight[: part.num_own]))
    return PartTargets(
        border.fetch(torch.from_numpy(found.soft_labels * included[:, None])),
        border.fetch(torch.from_numpy(included.astype(np.int32))) > 0,
        weight,
        found.report,
    )


def part_views(part: LocalPart, weights: PartWeights, included: Mask, num_classes: int) -> NodeViews:
    """The own nodes of a part as teachers see them; their columns have the scale that the network gives them.

    Args:
        part: Of this process.
        weights: Of its edges.
        included: (num_own,) mask of the nodes that take part.
        num_classes: Number of classes C.
    """
    own = slice(part.num_own)
    mean, deviation = part.scale
    features = scaled_features(part.x[own], part.header.input_scaling, (mean, deviation))
    nodes = OwnNodes(part.nodes[own], part.header.num_nodes, included)
    return NodeViews({"features": features}, [PartOperators(weights)], num_classes, nodes, whole=False)


def _weights(known: Mask, weight: Tensor) -> Tensor:
    """(num_own,) weights to train with: labelled nodes have their own, all others the mean of these over all processes.

    Args:
        known: (num_own,) mask of the labelled nodes.
        weight: (num_own,) theirs.
    """
    labeled = torch.from_numpy(known)
    total, count = sum_over_ranks(torch.tensor([float(weight[labeled].sum()), float(labeled.sum())])).tolist()
    return torch.where(labeled, weight, torch.tensor(total / max(count, 1.0), dtype=weight.dtype))
