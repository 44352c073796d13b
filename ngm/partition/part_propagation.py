"""Label propagation over parts: Eq. 2 by the same solver, each process with its own nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ngm._arguments import check_declared
from ngm.distributed import process_group, rank_and_world, sum_over_ranks
from ngm.method_parameters import LABEL_PROPAGATION
from ngm.partition.local_part import LocalPart, Partition, open_partition
from ngm.partition.part_shares import PartShares, PartWeights
from ngm.propagation.kernel import OnStep, solve
from ngm.propagation.label_propagation import LabelPropagation, check_influence, warn_of_result
from ngm.propagation.seeds import Seeds, divide_pulls, encoded_seeds, reached_by, read_prior
from ngm.task import ClassTask

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PartPropagation:
    """Label distributions of the nodes that a process owns.

    Args:
        nodes: (n,) global ids.
        label_distributions: (n, C) float32.
        classes: (C,) what the columns stand for.
        reached: (n,) mask of the nodes that a label can reach.
        steps: Steps done.
        residual: Largest change of an entry, over all processes, that a Jacobi step still made.
    """

    nodes: NDArray[np.int64]
    label_distributions: Floats
    classes: NDArray[np.generic]
    reached: NDArray[np.bool_]
    steps: int
    residual: float


def propagate_parts(
    partition: Partition | str | Path, settings: LabelPropagation | None = None, on_step: OnStep | None = None
) -> PartPropagation:
    """Label propagation (Eq. 2) over a graph in parts: each process of several has the result for its own nodes.

    The equation is that of `LabelPropagation` on the whole graph, and so is the solution, to the tolerance. In each
    step a process sends and receives two rows for every node of its border, and keeps its own edges alone.

    Args:
        partition: What `partition_graph` or `ngm partition` wrote; all its labels are seeds.
        settings: An estimator with the settings, not fitted; its prior may be None or (C,), and `keep` None.
        on_step: Called with (step, residual).
    """
    chosen = settings or LabelPropagation()
    check_declared(chosen, LABEL_PROPAGATION)
    if chosen.keep is not None:
        raise ValueError(f"keep is {chosen.keep}; on parts set keep=None, or propagate over the graph itself")
    if chosen.prior is not None and np.ndim(chosen.prior) > 1:
        raise ValueError("prior has a row per node; on parts give a share for each class (C,), or None")
    parts = partition if isinstance(partition, Partition) else open_partition(partition)
    with process_group() as (rank, world):
        return _propagate(parts.local(rank, world), chosen, on_step)


def _propagate(part: LocalPart, settings: LabelPropagation, on_step: OnStep | None) -> PartPropagation:
    directed, influence = part.graph.directed, settings.influence
    check_influence(influence, directed)
    seeds = _seeds(part)
    prior = _prior(settings, seeds)
    coupling = settings.mu2 if directed else 2 * settings.mu2
    weights = PartWeights(part, influence, coupling)
    reached = reached_over_ranks(part.labeled.numpy(), weights)
    dtype = weights.matrix.dtype
    pulls = divide_pulls(weights.sums, seeds.labeled, reached, settings.mu1, settings.mu3, dtype)
    anchor, start = pulls.anchor_and_start(seeds.values, prior)
    result = solve(
        PartShares(weights, pulls.inverse, total=pulls.total),
        anchor,
        start,
        solver="jacobi" if directed and influence != "both" else settings.solver,
        tolerance=settings.tolerance,
        max_steps=settings.max_steps,
        on_step=on_step,
    )
    values = result.values.clamp_(0, 1)  # conjugate gradients may overshoot by as much as the tolerance
    if seeds.task != "labels":
        values /= values.sum(dim=1, keepdim=True)
    unreached = int(sum_over_ranks(torch.tensor([int((~reached).sum())]))[0])
    if rank_and_world()[0] == 0:
        last = result.steps, result.residual
        nobody = seeds.classes[:0]  # classes are those of the labels, so that each has a seed
        warn_of_result(nobody, unreached, part.header.num_nodes, last, settings.tolerance, result.converged)
    nodes = part.nodes[: part.num_own]
    return PartPropagation(nodes, values.float().numpy(), seeds.classes, reached, result.steps, result.residual)


def _seeds(part: LocalPart) -> Seeds:
    """Labels of the own nodes."""
    task = part.header.read_task()
    if not isinstance(task, ClassTask):
        raise ValueError("the partition has numbers to learn; label propagation spreads classes")
    own = slice(part.num_own)
    return encoded_seeds(part.y[own], part.labeled[own], task.name, task.classes)


def _prior(settings: LabelPropagation, seeds: Seeds) -> Floats:
    """(C,) U, as one process has it."""
    if settings.prior is not None or seeds.task != "labels":
        return read_prior(settings.prior, seeds)
    counts = np.append(np.asarray(seeds.values.sum(axis=0), dtype=np.float64).ravel(), seeds.labeled.sum())
    sums = sum_over_ranks(torch.from_numpy(counts)).numpy()
    return np.asarray(sums[:-1] / sums[-1], dtype=np.float32)


def reached_over_ranks(labeled: NDArray[np.bool_], weights: PartWeights) -> NDArray[np.bool_]:
    """(num_own,) mask of the own nodes to which some label can find its way, through whichever parts.

    Args:
        labeled: (n,) mask of the nodes of the part, border included.
        weights: Of the edges.
    """
    border, mask, count = weights.border, labeled, -1
    while True:
        found = border.add(torch.from_numpy(reached_by(mask, weights.matrix).astype(np.int32))) > 0
        total = int(sum_over_ranks(found.sum()[None])[0])
        if total == count:
            return found.numpy()
        mask, count = border.fetch(found.to(torch.int32)).numpy() > 0, total
