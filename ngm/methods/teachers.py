"""Teachers of the strong recipe: networks that see a node through its neighbourhood, and label every node softly.

A view of a node is the mean row of x at the ends of a few random walks from it. Walks stop with chance `restart` before
each step, so near nodes count most. A teacher learns the seeds from such views, and that two views of any node should
agree on a class. Its word on a node is exact: its first layer, which is linear, is averaged over all walks by the
propagation kernel instead of sampled ones. The mean of several teachers is the target of every node that has an edge
or a label; seeds keep their labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from torch import Tensor
from torch.nn import functional as F

from ngm.graph import Graph
from ngm.networks.ffnn import FFNN
from ngm.networks.tap import tap
from ngm.rows import take_rows
from ngm.spread import Shares, hop, walk_shares
from ngm.training import seeded


@dataclass(frozen=True)
class Lesson:
    """How teachers learn. One setting for all data; docs/few-labels.md says how it was chosen.

    Args:
        teachers: How many are averaged.
        hidden: Width of a teacher's hidden layer.
        restart: Chance that a walk stops before each step.
        hops: Steps of a walk, at most.
        walks: Walks that make up a view.
        views: Views of a node that have to agree.
        pool: Nodes per step that have to agree, drawn at random.
        agreement: Weight of that, reached over `warmup` steps.
        warmup: See above.
        temperature: Sharpens the mean view that each view is drawn to.
        steps: Adam steps.
        learning_rate: Of Adam.
        weight_decay: Of Adam.
        dropout: Of inputs and hidden units.
    """

    teachers: int = 4
    hidden: int = 64
    restart: float = 0.25
    hops: int = 10
    walks: int = 8
    views: int = 2
    pool: int = 256
    agreement: float = 1.0
    warmup: int = 50
    temperature: float = 0.5
    steps: int = 150
    learning_rate: float = 0.01
    weight_decay: float = 5e-3
    dropout: float = 0.5


def taught(
    x: NDArray[np.floating] | sp.csr_matrix,
    targets: Tensor,
    labeled: Tensor,
    graph: Graph,
    num_classes: int,
    seed: int,
    lesson: Lesson | None = None,
) -> tuple[Tensor, Tensor]:
    """Soft labels for all nodes from a few labels.

    Args:
        x: (n, d) rows; their length does not matter.
        targets: (n,) class numbers, or (n, C) shares.
        labeled: (n,) mask of the targets that may be learned from.
        graph: Over the n nodes.
        num_classes: C.
        seed: Same seed, same labels.
        lesson: How to teach.

    Returns:
        ((n, C) shares, (n,) mask of the nodes that have any: those with an edge or a label).
    """
    how = lesson or Lesson()
    rows = _unit_rows(x)
    shares = walk_shares(graph)
    known = targets if targets.is_floating_point() else F.one_hot(targets.clamp(min=0), num_classes).float()
    seeds = labeled.nonzero()[:, 0]
    told = labeled | (graph.degree > 0)
    words = torch.zeros(len(labeled), num_classes)
    for i in range(how.teachers):
        words += _teacher(rows, known[seeds], seeds, told, shares, how, np.random.SeedSequence([seed, 1 + i]))
    words /= how.teachers
    words[seeds] = known[seeds]
    return words, told


def _teacher(
    x: sp.csr_matrix | NDArray[np.float32],
    labels: Tensor,
    seeds: Tensor,
    told: Tensor,
    shares: Shares,
    how: Lesson,
    chance: np.random.SeedSequence,
) -> Tensor:
    """(n, C) class shares of every node, by one teacher."""
    rng = np.random.default_rng(chance)
    with seeded(int(rng.integers(2**31))):
        network = FFNN(x.shape[1], labels.shape[1], (how.hidden,), dropout=how.dropout, input_dropout=how.dropout)
        steps = torch.optim.Adam(network.parameters(), lr=how.learning_rate, weight_decay=how.weight_decay, fused=True)
        walker, others = Walker(shares), told.nonzero()[:, 0].numpy()
        network.train()
        for step in range(how.steps):
            nodes = np.concatenate([seeds.numpy(), rng.choice(others, how.pool)])
            view = walker.ends(np.tile(nodes, how.views), how, rng) @ x  # (views * nodes, d)
            log_p = F.log_softmax(network(_as_rows(view)), dim=1).view(how.views, len(nodes), -1)
            supervised = -(labels * log_p[:, : len(seeds)]).sum(dim=2).mean()
            p = log_p[:, len(seeds) :].exp()  # (views, pool, C)
            agreed = _sharpened(p.detach().mean(dim=0), how.temperature)
            agreement = (p - agreed).square().sum(dim=2).mean()
            cost = supervised + how.agreement * min(1.0, step / how.warmup) * agreement
            steps.zero_grad(set_to_none=True)
            cost.backward()  # type: ignore[no-untyped-call]
            steps.step()
    network.eval()
    with torch.no_grad():
        _, layers = tap(network, _as_rows(x), ["hidden.0.linear"])
        first = layers[
            "hidden.0.linear"
        ]  # (n, hidden): linear in x, so its mean over walks is what it gives for the mean
        h = F.relu(hop(shares, first, how.restart, how.hops))
        words: Tensor = torch.softmax(network.output(h), dim=1)
    return words


class Walker:
    """Random walks on a graph with self loops.

    Args:
        shares: Of one step.
    """

    def __init__(self, shares: Shares) -> None:
        matrix = shares.matrix
        self.offsets, self.columns = matrix.indptr, matrix.indices
        # the neighbours of u share the interval [u, u + 1) by weight, so one search draws a neighbour
        self.ends_at = np.cumsum(matrix.data, dtype=np.float64)
        self.starts = np.concatenate([[0.0], self.ends_at])[self.offsets]

    def ends(self, nodes: NDArray[np.int64], how: Lesson, rng: np.random.Generator) -> sp.csr_matrix:
        """(len(nodes), n) sparse: where `walks` walks from each node ended, as shares that add up to 1."""
        at = np.repeat(nodes, how.walks)
        going = np.ones(len(at), dtype=bool)
        for _ in range(how.hops):
            going &= rng.random(len(at)) >= how.restart
            u = at[going]
            low, high = self.starts[u], self.starts[u + 1]
            slot = np.searchsorted(self.ends_at, low + rng.random(len(u)) * (high - low), side="right")
            at[going] = self.columns[np.clip(slot, self.offsets[u], self.offsets[u + 1] - 1)]
        share = np.full(len(at), 1 / how.walks, dtype=np.float32)
        offsets = np.arange(0, len(at) + 1, how.walks)
        return sp.csr_matrix((share, at, offsets), shape=(len(nodes), len(self.offsets) - 1))


def _sharpened(p: Tensor, temperature: float) -> Tensor:
    sharp = p ** (1 / temperature)
    return sharp / sharp.sum(dim=1, keepdim=True)


def _unit_rows(x: NDArray[np.floating] | sp.csr_matrix) -> NDArray[np.float32] | sp.csr_matrix:
    rows: NDArray[np.float32] | sp.csr_matrix = normalize(x)
    return rows.astype(np.float32)


def _as_rows(x: NDArray[np.float32] | sp.csr_matrix) -> Tensor:
    """All rows as the network takes them, sparse ones sparse."""
    return cast(Tensor, take_rows(x, torch.arange(x.shape[0])))
