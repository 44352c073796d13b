"""What there is to learn from, once it has been checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike
from torch import Tensor

from ngm.graph import Graph
from ngm.networks.input_scaling import Table
from ngm.recipes.stacking import TeacherReport
from ngm.rows import Inputs
from ngm.task import Task
from ngm.text.readers import Texts


@dataclass(frozen=True)
class HeldOut:
    """Rows to validate on.

    Args:
        x: Their inputs.
        y: Their targets.
        labeled: (n,) mask of the rows that remain labelled for training.
        any: Whether there are any.
        texts: The inputs once more, where they are texts.
    """

    x: Inputs
    y: Tensor
    labeled: Tensor
    any: bool = True
    texts: Texts | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes of which some are labelled; a recipe may give it other targets, for more nodes.

    Args:
        task: What is to be predicted.
        inputs: A row per node.
        targets: (n, ...) of the nodes.
        labeled: (n,) mask of the nodes whose targets are trained on.
        known: (n,) mask of the nodes whose label was given, those that are held out among them.
        held_out: Rows to validate on.
        graphs: Over the nodes.
        views: View name -> (n, d) further descriptions of the nodes.
        sample_weight: (n,) weight of each labelled node; all alike where None.
        graphs_used: For each graph, whether it is used.
        teachers: What the teachers of the recipe were worth, where it has any.
        texts: The inputs once more, where the network reads texts.
    """

    task: Task
    inputs: Inputs
    targets: Tensor
    labeled: Tensor
    known: Tensor
    held_out: HeldOut
    graphs: Sequence[Graph]
    views: Mapping[str, Table]
    sample_weight: ArrayLike | None
    graphs_used: Sequence[bool] = ()
    teachers: TeacherReport | None = None
    texts: Texts | None = None

    @property
    def used_graphs(self) -> list[Graph]:
        """The graphs that are used."""
        return [graph for graph, used in zip(self.graphs, self.graphs_used, strict=True) if used]

    @property
    def in_features(self) -> int:
        """Width of a row; 1 where rows have none."""
        shape = getattr(self.inputs, "shape", None)
        return int(shape[1]) if shape is not None and len(shape) > 1 else 1
