"""What there is to learn from, once it has been checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm.graph import Graph
from ngm.networks.input_scaling import Table
from ngm.partition.local_part import LocalPart
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
        shared: Whether each rank has some of them, so that counts are summed.
    """

    x: Inputs
    y: Tensor
    labeled: Tensor
    any: bool = True
    texts: Texts | None = None
    shared: bool = False


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
        part: What this rank has of a graph in parts; everything above is then of its nodes alone, own and border.
        counts: Of a graph in parts: (labelled nodes to train on, validation nodes) of the whole.
        validation_nodes: (v,) of a graph in parts, the global ids of the latter.
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
    part: LocalPart | None = None
    counts: tuple[int, int] | None = None
    validation_nodes: NDArray[np.int64] | None = None

    @property
    def num_labeled(self) -> int:
        """Labelled nodes to train on, over all ranks."""
        return int(self.labeled.sum()) if self.counts is None else self.counts[0]

    @property
    def num_validation(self) -> int:
        """Rows to validate on, over all ranks."""
        return len(self.held_out.y) if self.counts is None else self.counts[1]

    @property
    def used_graphs(self) -> list[Graph]:
        """The graphs that are used."""
        return [graph for graph, used in zip(self.graphs, self.graphs_used, strict=True) if used]

    @property
    def in_features(self) -> int:
        """Width of a row; 1 where rows have none."""
        shape = getattr(self.inputs, "shape", None)
        return int(shape[1]) if shape is not None and len(shape) > 1 else 1
