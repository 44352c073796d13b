"""A trained network with all that prediction, run folders and exports need of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ngm.recipes.parameters import Parameters
from ngm.recipes.settings import Settings
from ngm.recipes.stacking import TeacherReport
from ngm.task import Task
from ngm.text.readers import Reader
from ngm.training import History


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """What training leaves behind; the graph is no part of it.

    Args:
        estimator: Name of the class that trained it.
        parameters: As given to it.
        settings: What the recipe made of them.
        task: What it predicts.
        network: With its weights.
        widths: (width of a row, number of outputs).
        dtype: In which it computes.
        reader: Reads texts for it; None where it takes numbers.
        is_table: Whether rows are those of a table.
        feature_names: (d,) names of the columns, where they have any.
        history: What happened, epoch by epoch.
        num_labeled: Nodes whose labels were trained on, softly labelled ones among them.
        num_given: Those that were labelled in y; None in folders of old releases.
        num_validation: Validation rows; None likewise.
        edges_by_kind: How many LL, LU and UU edges were trained on.
        graphs_used: For each graph, whether it was used.
        teachers: What the teachers of the recipe were worth, where it has any.
    """

    estimator: str
    parameters: Parameters
    settings: Settings
    task: Task
    network: nn.Module
    widths: tuple[int, int]
    dtype: torch.dtype
    reader: Reader | None
    is_table: bool
    feature_names: NDArray[np.object_] | None
    history: History
    num_labeled: int
    num_given: int | None
    num_validation: int | None
    edges_by_kind: Mapping[str, int]
    graphs_used: Sequence[bool]
    teachers: TeacherReport | None
