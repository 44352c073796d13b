"""The loader of an estimator: over all rows and edges, or over those that a process has of a graph in parts."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from ngm.objective import NGMLoss
from ngm.partition.part_loader import PartLoader
from ngm.recipes.parameters import Parameters
from ngm.recipes.problem import Problem
from ngm.recipes.settings import Settings
from ngm.rows import Inputs
from ngm.sampling import EdgeLoader


def make_loader(
    rows: Inputs,
    problem: Problem,
    loss: NGMLoss,
    parameters: Parameters,
    settings: Settings,
    dtype: torch.dtype,
    rank: int,
    world: int,
) -> EdgeLoader:
    """Batches to train on.

    Args:
        rows: Inputs of the nodes, as they are trained on.
        problem: Has targets and graphs.
        loss: Says which kinds of edges, and how many negative pairs, are needed.
        parameters: As given to the estimator.
        settings: What the recipe made of them.
        dtype: Of the rows.
        rank: This process' number.
        world: Number of processes.
    """
    count, targets, size = len(problem.graphs), problem.task.scaled(problem.targets), settings.batch_size
    if problem.part is not None:
        weight = cast("Tensor | None", problem.sample_weight)  # of soft labels
        return PartLoader(
            rows,
            targets,
            problem.part,
            batch_size=size,
            world=world,
            labeled=problem.labeled,
            sample_weight=problem.part.sample_weight if weight is None else weight,
            seed=parameters.seed,
            kinds=loss.kinds,
            negatives=loss.negatives,
            dtype=dtype,
        )
    return EdgeLoader(
        rows,
        targets,
        list(problem.graphs),
        batch_size=size,
        seed=parameters.seed,
        kinds=loss.kinds[:count] if count else None,
        sample_weight=problem.sample_weight,
        labeled=problem.labeled,
        sampling=parameters.sampling,
        negatives=loss.negatives[:count] if count else 0.0,
        dtype=dtype,
        rank=rank,
        world=world,
    )
