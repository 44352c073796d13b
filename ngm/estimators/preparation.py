"""Data as users hand it to `fit`, checked once and put together as a `Problem`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from ngm._input_checks import check_graph_sizes, check_graphs
from ngm._node_targets import node_weights
from ngm.estimators.validation import hold_out
from ngm.graph import Graph
from ngm.objective import NGMLoss
from ngm.recipes.auto import check_views
from ngm.recipes.parameters import Parameters
from ngm.recipes.problem import Problem
from ngm.recipes.recipe import Recipe
from ngm.rows import Inputs, num_rows
from ngm.task import Task
from ngm.text.readers import Given, Reader, Texts, check_texts


def prepare(
    parameters: Parameters,
    inputs: Inputs,
    targets: tuple[Task, Tensor, Tensor],
    graph: Graph | Sequence[Graph] | None,
    sample_weight: ArrayLike | None,
    views: Mapping[str, object] | None,
    reader: Reader | None,
    dtype: torch.dtype,
    read: Callable[[Given], Inputs],
) -> Problem:
    """What there is to learn from; refuses what does not go together.

    Args:
        parameters: As given to the estimator.
        inputs: A row per node, checked.
        targets: (task, (n, ...) encoded targets, (n,) mask of the labelled rows).
        graph: As given to `fit`.
        sample_weight: Likewise.
        views: Likewise.
        reader: Has read the inputs, where they are texts.
        dtype: Of rows that are taken out for validation.
        read: Checks further inputs, those of a validation pair.
    """
    task, values, labeled = targets
    texts = None if reader is None else cast(Texts, inputs)
    if reader is not None and texts is not None:
        check_texts(texts, labeled, reader)
    graphs = check_graphs(graph)
    check_graph_sizes(graphs, num_rows(inputs))
    tables = check_views(views, num_rows(inputs))
    validation, required = parameters.validation, parameters.patience is not None
    held_out = hold_out(validation, inputs, values, labeled, task, read, parameters.seed, dtype, required)
    if texts is not None and held_out.any:
        held_out = replace(held_out, texts=cast(Texts, held_out.x))
    node_weights(held_out.labeled, sample_weight)
    task = task.measured(values, held_out.labeled, sample_weight)
    return Problem(
        task, inputs, values, held_out.labeled, labeled, held_out, graphs, tables, sample_weight, texts=texts
    )


def with_targets(recipe: Recipe, problem: Problem, network: nn.Module, loss: NGMLoss, dtype: torch.dtype) -> Problem:
    """The problem with the graphs that are used and the targets to train on.

    Args:
        recipe: Decides on both.
        problem: As it was given.
        network: Not trained yet.
        loss: To be trained with.
        dtype: Of the rows that the network takes.
    """
    return recipe.prepare_targets(recipe.choose_graphs(problem, network, loss, dtype))
