"""Targets by teachers for the nodes that take part: soft labels of any preset, and the numbers of recipe "auto"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ngm._arguments import short_repr
from ngm.graph import Graph
from ngm.networks.input_scaling import Table
from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.node_views import Features, Floats, NodeViews, scaled_features
from ngm.recipes.number_stacking import stack_number_teachers
from ngm.recipes.number_teachers import NumberTargets
from ngm.recipes.stacking import AUTO, TeacherPreset, TeacherReport, stack_teachers


@dataclass(frozen=True, eq=False)
class TaughtNodes:
    """The nodes that teachers look at.

    Args:
        views: Of the k nodes.
        included: (n,) mask of them.
    """

    views: NodeViews
    included: Mask


def connected_nodes(
    views: Mapping[str, Table],
    graphs: Sequence[Graph],
    labeled: Mask,
    num_classes: int = 2,
    scale: Callable[[Table], Features] = scaled_features,
) -> TaughtNodes:
    """The nodes with an edge or a label.

    Args:
        views: View name -> (n, d) rows of the nodes, as they are; may be none.
        graphs: At least one, over the n nodes.
        labeled: (n,) mask.
        num_classes: Number of classes C.
        scale: Brings the rows of a view to one scale.
    """
    joined = torch.stack([graph.degree > 0 for graph in graphs]).any(dim=0).numpy()
    included: Mask = labeled | joined
    ids = np.flatnonzero(included)
    rows = {name: scale(view if included.all() else view[ids]) for name, view in views.items()}
    inside = [graph if included.all() else graph.subgraph(torch.from_numpy(ids)) for graph in graphs]
    return TaughtNodes(NodeViews(rows, inside, num_classes), included)


def soft_targets(
    nodes: TaughtNodes,
    targets: Targets,
    labeled: Mask,
    seed: int,
    preset: TeacherPreset = AUTO,
    grown: Mask | None = None,
) -> tuple[Floats, TeacherReport]:
    """Soft labels for the nodes that teachers look at; of others, labels as they are and zeros without one.

    Args:
        nodes: Of the n nodes.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.
        seed: Same seed, same labels.
        preset: Which teachers, and how they are combined.
        grown: (n,) mask of labels that are predictions themselves; see `stack_teachers`.

    Returns:
        ((n, C) probabilities, what the teachers were worth).
    """
    ids = np.flatnonzero(nodes.included)
    inside = None if grown is None else grown[ids]
    stack = stack_teachers(nodes.views, targets.take(ids), labeled[ids], seed, preset, inside)
    soft_labels = targets.values * labeled[:, None]
    soft_labels[ids] = stack.soft_labels
    return soft_labels, stack.report


def predicted_numbers(
    nodes: TaughtNodes, numbers: NumberTargets, labeled: Mask, seed: int
) -> tuple[Floats, TeacherReport]:
    """Numbers for the nodes that teachers look at, 0 for others.

    Args:
        nodes: Of the n nodes.
        numbers: Labels, with a mean near 0 and a deviation near 1.
        labeled: (n,) mask of those that may be learned from.
        seed: Same seed, same numbers.

    Returns:
        ((n, T) numbers, what the teachers were worth).
    """
    ids = np.flatnonzero(nodes.included)
    stack = stack_number_teachers(nodes.views, numbers.take(ids), labeled[ids], seed)
    values = np.zeros_like(numbers.values)
    values[ids] = stack.soft_labels
    return values, stack.report


def soft_label_weights(sample_weight: ArrayLike | None, labeled: Tensor) -> ArrayLike | None:
    """(n,) weights for training on soft labels: labelled nodes have their own, all others the mean of these."""
    if sample_weight is None:
        return None
    weight, own = np.asarray(sample_weight, dtype=np.float64).copy(), labeled.numpy()
    if weight.shape == own.shape and own.any():
        weight[~own] = weight[own].mean()
    return weight


def check_views(views: Mapping[str, object] | None, num_nodes: int) -> dict[str, Table]:
    """The views as arrays or sparse rows; refuses what has not one row of finite numbers per node.

    Args:
        views: View name -> (n, d), as `fit` takes them.
        num_nodes: Number of rows n that each must have.
    """
    if views is None:
        return {}
    if not isinstance(views, Mapping):
        raise ValueError(f"views is {short_repr(views)}; give a mapping from names to tables with a row per node")
    return {str(name): _checked(str(name), view, num_nodes) for name, view in views.items()}


def _checked(name: str, view: object, num_nodes: int) -> Table:
    try:
        rows = sp.csr_array(view) if sp.issparse(view) else np.asarray(view)
    except (TypeError, ValueError):
        raise ValueError(f"view {name!r} is {short_repr(view)}; give a table of numbers, a row per node") from None
    if rows.ndim != 2 or rows.dtype.kind not in "iufb":
        raise ValueError(
            f"view {name!r} has shape {rows.shape} and type {rows.dtype}; give a table of numbers, a row per node"
        )
    if rows.shape[0] != num_nodes:
        raise ValueError(f"view {name!r} has {rows.shape[0]:,} rows, x has {num_nodes:,}; give a row per node in each")
    if not np.isfinite(rows.data if sp.issparse(rows) else rows).all():
        raise ValueError(f"view {name!r} has NaN or infinity in it; fill in or drop such values")
    return cast(Table, rows)
