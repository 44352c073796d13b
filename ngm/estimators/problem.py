"""What there is to learn from, once it has been checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike
from torch import Tensor

from ngm.graph import Graph
from ngm.networks.input_scaling import Table
from ngm.rows import Inputs


@dataclass(frozen=True, eq=False)
class Problem:
    """Nodes of which some are labelled.

    Args:
        inputs: A row per node.
        targets: (n, ...) of the nodes.
        labeled: (n,) mask of those that may be learned from.
        graphs: Over the nodes, those that are used.
        views: View name -> (n, d) further descriptions of the nodes.
        sample_weight: (n,) weight of each labelled node; all alike where None.
    """

    inputs: Inputs
    targets: Tensor
    labeled: Tensor
    graphs: Sequence[Graph]
    views: Mapping[str, Table]
    sample_weight: ArrayLike | None
