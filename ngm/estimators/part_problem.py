"""What a process has of a graph in parts, as a `Problem`; decisions are taken on the labels of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.distributed import gather_rows
from ngm.estimators.checks import check_settings
from ngm.estimators.validation import automatic_share, chosen_rows, is_pair
from ngm.partition.local_part import LocalPart
from ngm.recipes.parameters import Parameters, network_specification
from ngm.recipes.problem import HeldOut, Problem
from ngm.recipes.row_components import MAX_COLUMNS
from ngm.recipes.settings import Settings
from ngm.rows import Inputs, select_rows
from ngm.targets import TaskName
from ngm.task import Task

Ids = NDArray[np.int64]


def check_parts(parameters: Parameters, settings: Settings, part: LocalPart, task: TaskName) -> None:
    """Refuses what cannot be done on a graph in parts.

    Args:
        parameters: As given to the estimator.
        settings: What its recipe made of them.
        part: Of this process.
        task: Of the estimator, as far as it is known without y.
    """
    check_settings(parameters, settings)
    numbers = part.header.task["task"] == "numbers"
    if numbers != (task == "numbers"):
        kind, other = ("numbers", "NGMRegressor") if numbers else ("classes", "NGMClassifier")
        raise ValueError(f"the partition has {kind} to learn; use {other}, or partition the graph again")
    _check_teachers(settings, part)
    if network_specification(parameters).reads_texts:
        raise ValueError(
            f"network {network_specification(parameters).name!r} reads texts, and parts have rows of numbers; use "
            "network 'ffnn' or one of your own"
        )
    if parameters.sampling != "plain":
        raise ValueError(f"sampling is {parameters.sampling!r}; on parts it can be 'plain' alone")
    if is_pair(parameters.validation):
        raise ValueError("validation is a pair (x, y); on parts give a share, ids of labelled nodes, or None")


def _check_teachers(settings: Settings, part: LocalPart) -> None:
    """Refuses recipes whose teachers cannot label the nodes of parts."""
    remedy = "set recipe='paper' (--recipe paper) to train on parts, or train on the graph itself"
    if settings.recipe == "strong":
        raise ValueError(f"recipe is 'strong', whose teachers need the whole graph in one process; {remedy}")
    if settings.recipe == "auto" and part.header.width > MAX_COLUMNS:
        raise ValueError(
            f"recipe is 'auto', whose teachers take at most {MAX_COLUMNS:,} columns on parts, and x has "
            f"{part.header.width:,}; {remedy}"
        )


def part_problem(parameters: Parameters, part: LocalPart, inputs: Inputs, dtype: torch.dtype) -> Problem:
    """What there is to learn from, on this rank; all ranks make theirs together.

    Args:
        parameters: As given to the estimator.
        part: Of this rank.
        inputs: Its rows, checked.
        dtype: Of rows that are taken out for validation.
    """
    task = part.header.read_task()
    nodes, targets, weight, marked = _all_labels(part)
    chosen = _validation(parameters, task, targets, marked)  # places among all labelled nodes
    rest = torch.ones(len(nodes), dtype=torch.bool)
    rest[chosen] = False
    if not bool(rest.any()):
        raise ValueError(f"validation takes all {len(nodes)} labelled nodes; leave some for training")
    task = task.measured(targets, rest, weight)
    held_out = torch.from_numpy(np.isin(part.nodes, nodes[chosen].numpy()))
    labeled = part.labeled & ~held_out
    own = (held_out & part.own).nonzero()[:, 0]
    return Problem(
        task=task,
        inputs=inputs,
        targets=part.y,
        labeled=labeled,
        known=part.labeled,
        held_out=HeldOut(select_rows(inputs, own, dtype), part.y[own], labeled, any=len(chosen) > 0, shared=True),
        graphs=[part.graph],
        views={},
        sample_weight=None,
        part=part,
        counts=(int(rest.sum()), len(chosen)),
        validation_nodes=nodes[chosen].numpy(),
    )


def _all_labels(part: LocalPart) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """(ids, targets, weights, whether marked for validation) of the labelled nodes of all ranks, ascending by id."""
    own = (part.labeled & part.own).nonzero()[:, 0]
    nodes = gather_rows(torch.from_numpy(part.nodes)[own])
    order = torch.argsort(nodes)
    weight = None if part.sample_weight is None else gather_rows(part.sample_weight[own])[order]
    marked = torch.zeros(len(part.nodes), dtype=torch.bool) if part.validation is None else part.validation
    return nodes[order], gather_rows(part.y[own])[order], weight, gather_rows(marked[own])[order]


def _validation(parameters: Parameters, task: Task, targets: Tensor, marked: Tensor) -> Tensor:
    """Places of the nodes to validate on, among all labelled ones: the same as one process would choose."""
    wanted, labeled = parameters.validation, torch.ones(len(targets), dtype=torch.bool)
    if bool(marked.any()):
        return marked.nonzero()[:, 0]
    if isinstance(wanted, str):
        required = parameters.patience is not None
        wanted = automatic_share(labeled, task.out_features, task.name == "numbers", required)
    if wanted is None:
        return torch.zeros(0, dtype=torch.int64)
    if not isinstance(wanted, float | np.floating):
        raise ValueError(
            "validation has ids of nodes; on parts give a share of the labelled nodes, or mark nodes when the graph is "
            "cut: partition_graph(validation=) or ngm partition --validation-column"
        )
    return chosen_rows(cast("float | Sequence[int]", wanted), targets, labeled, parameters.seed)
