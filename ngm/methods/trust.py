"""Does the graph tell anything? A look at it before training, so that one that knows nothing does no harm.

The network is trained on the labelled rows alone for a moment. If neighbours are alike in what is to be predicted, its
predictions for the two ends of an edge agree more than for two nodes at random. How much more is compared with the same
edges between nodes renamed at random, which is what a graph that knows nothing looks like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ngm.graph import Graph
from ngm.rows import Inputs, move_rows, take_rows
from ngm.training import seeded

FEWEST = 1_000  # edges below which a look would decide nothing
LOOKED_AT = 5_000  # edges, at most
RENAMED = 50  # times
STEPS = 100
RATE = 0.01
LEAST = 3.0  # standard deviations


@dataclass(frozen=True)
class Look:
    """What was seen.

    Args:
        agreement: Of the network's predictions across edges, relative to that of a node with itself.
        deviations: By how many standard deviations that is more than across the edges of renamed nodes.
    """

    agreement: float
    deviations: float

    @property
    def tells(self) -> bool:
        """Whether the graph is to be used."""
        return self.deviations >= LEAST


def look(
    graph: Graph,
    inputs: Inputs,
    targets: Tensor,
    labeled: Tensor,
    network: nn.Module,
    cost: Callable[[Tensor, Tensor], Tensor],
    squash: Callable[[Tensor], Tensor],
    seed: int,
    dtype: torch.dtype,
) -> Look:
    """Looks at a graph with the eyes of a briefly trained network.

    Args:
        graph: Over the rows.
        inputs: A row per node.
        targets: (n, ...) of the rows.
        labeled: (n,) mask.
        network: To train for a moment; not to be used any further.
        cost: (logits, targets) -> (b,) cost per row.
        squash: Logits -> predictions.
        seed: Same seed, same look.
        dtype: Of the inputs.
    """
    rng = np.random.default_rng([seed, 0x10C])
    device = next(network.parameters()).device
    seeds = labeled.nonzero()[:, 0]
    chosen = rng.permutation(graph.num_edges)[:LOOKED_AT]
    nodes, ends = np.unique(graph.edges[torch.from_numpy(np.sort(chosen))].numpy(), return_inverse=True)
    ends = ends.reshape(-1, 2)
    with seeded(seed):
        steps = torch.optim.Adam((p for p in network.parameters() if p.requires_grad), lr=RATE)
        network.train()
        for _ in range(STEPS):
            some = seeds if len(seeds) <= 512 else seeds[torch.from_numpy(rng.permutation(len(seeds))[:512])]
            value = cost(network(move_rows(take_rows(inputs, some, dtype), device)), targets[some].to(device)).mean()
            steps.zero_grad(set_to_none=True)
            value.backward()  # type: ignore[no-untyped-call]
            steps.step()
    network.eval()
    with torch.inference_mode():
        parts = torch.split(torch.from_numpy(nodes), 2048)
        said = torch.cat([squash(network(move_rows(take_rows(inputs, p, dtype), device))).cpu() for p in parts])
    predicted = said.double().numpy().reshape(len(nodes), -1)
    predicted = predicted - predicted[ends.ravel()].mean(axis=0)  # nodes count by their edges
    itself = float(np.square(predicted[ends.ravel()]).sum(axis=1).mean())
    across = _agreement(predicted, ends)
    renamed = [_agreement(predicted[rng.permutation(len(nodes))], ends) for _ in range(RENAMED)]
    spread = float(np.std(renamed)) or 1e-12
    return Look(across / max(itself, 1e-12), (across - float(np.mean(renamed))) / spread)


def _agreement(predicted: np.ndarray, ends: np.ndarray) -> float:
    return float((predicted[ends[:, 0]] * predicted[ends[:, 1]]).sum(axis=1).mean())
