"""Does the graph tell anything? A look at it before training, so that one that knows nothing does no harm.

The network is trained on the labelled rows alone for a moment. If neighbours are alike in what is to be predicted, its
predictions for the two ends of an edge agree more than for two nodes at random. How much more is compared with the same
edges between nodes renamed at random, which is what a graph that knows nothing looks like.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ngm.graph import Graph
from ngm.methods.checks import one_graph
from ngm.objective import NGMLoss
from ngm.rows import Inputs, move_rows, take_rows
from ngm.training import seeded

if TYPE_CHECKING:
    from ngm.methods.estimator import NGMEstimator

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


def graph_tells(
    estimator: NGMEstimator,
    inputs: Inputs,
    targets: Tensor,
    labeled: Tensor,
    graphs: Sequence[Graph],
    loss: NGMLoss,
) -> bool:
    """Whether graphs are to be used: alphas that were given are obeyed, else a graph must tell something.

    Args:
        estimator: Makes the network, and has the alphas.
        inputs: A row per node.
        targets: (n, ...) of the rows.
        labeled: (n,) mask of those to train on.
        graphs: Over the rows.
        loss: What is to be trained with.
    """
    given = any(alpha is not None for alpha in (estimator.alpha_ll, estimator.alpha_lu, estimator.alpha_uu))
    if given or not any(loss.kinds) or sum(graph.num_edges for graph in graphs) < FEWEST:
        return True
    seen = look(
        one_graph(graphs),
        inputs,
        estimator._scaled(targets),
        labeled,
        estimator._make_network(*estimator._widths),
        loss.cost,
        estimator._squash,
        estimator.seed,
        estimator.dtype_,
    )
    if not seen.tells:
        text = (
            f"the graph tells nothing and is left out: across its edges, predictions agree {seen.deviations:+.1f} "
            f"standard deviations more than across edges between nodes renamed at random, and {LEAST:.0f} are wanted; "
            "give alphas to use it all the same"
        )
        warnings.warn(text, UserWarning, stacklevel=3)
    return seen.tells


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
    _learn(network, inputs, targets, seeds, cost, rng, seed, dtype)
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


def _learn(
    network: nn.Module,
    inputs: Inputs,
    targets: Tensor,
    seeds: Tensor,
    cost: Callable[[Tensor, Tensor], Tensor],
    rng: np.random.Generator,
    seed: int,
    dtype: torch.dtype,
) -> None:
    """A hundred steps on the labelled rows."""
    device = next(network.parameters()).device
    with seeded(seed):
        adam = torch.optim.Adam((p for p in network.parameters() if p.requires_grad), lr=RATE)
        network.train()
        for _ in range(STEPS):
            some = seeds if len(seeds) <= 512 else seeds[torch.from_numpy(rng.permutation(len(seeds))[:512])]
            value = cost(network(move_rows(take_rows(inputs, some, dtype), device)), targets[some].to(device)).mean()
            adam.zero_grad(set_to_none=True)
            value.backward()  # type: ignore[no-untyped-call]
            adam.step()
    network.eval()


def _agreement(predicted: NDArray[np.float64], ends: NDArray[np.int64]) -> float:
    return float((predicted[ends[:, 0]] * predicted[ends[:, 1]]).sum(axis=1).mean())
