"""Teachers of the strong recipe: networks that see a node through its neighbourhood, and label every node softly.

There are two kinds, which err differently; half of the last word is each kind's.

*Walkers* take for a node's input a view of it: the mean row of x at the ends of a few random walks from it. Walks stop
with chance `restart` before each step, so near nodes count most. Walkers learn the seeds from such views, and that two
views of any node should agree on a class. Their word on a node is exact: the first layer, which is linear, is averaged
over all walks by the propagation kernel instead of sampled ones.

*Embedders* take the bare row. Neighbours are drawn together in their hidden layer, random pairs that are no neighbours
are held apart. Their predictions are averaged over the same walks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
from ngm.propagation.kernel import Shares, hop, walk_shares
from ngm.recipes.contrastive_pairs import PairSampler, embedding_loss
from ngm.rows import take_rows
from ngm.training import optimizer_step, seeded


@dataclass(frozen=True)
class Lesson:
    """How teachers learn. One setting for all data; docs/few-labels.md says how it was chosen.

    Args:
        walkers: How many of the first kind are averaged.
        embedders: And of the second.
        restart: Chance that a walk stops before each step.
        hops: Steps of a walk, at most.
        hidden: Width of a walker's hidden layer.
        walks: Walks that make up a view.
        views: Views of a node that have to agree.
        pool: Nodes per step that have to agree, drawn at random.
        agreement: Weight of that, reached over `warmup` steps.
        warmup: See above.
        temperature: Sharpens the mean view that each view is drawn to.
        steps: Adam steps of a walker.
        weight_decay: Of a walker.
        embedding: Width of an embedder's hidden layer.
        margin: Distance from which on two nodes are far enough apart.
        pairs: Edges per step of an embedder, and as many other pairs.
        embedder_steps: Adam steps of an embedder.
        embedder_decay: Weight decay of an embedder.
        shown: Seeds in a step, at most.
        learning_rate: Of Adam, for both.
        dropout: Of hidden units, and of the inputs of walkers.
    """

    walkers: int = 4
    embedders: int = 2
    restart: float = 0.25
    hops: int = 10
    hidden: int = 64
    walks: int = 8
    views: int = 2
    pool: int = 256
    agreement: float = 1.0
    warmup: int = 50
    temperature: float = 0.5
    steps: int = 150
    weight_decay: float = 5e-3
    embedding: int = 100
    margin: float = 5.0
    pairs: int = 256
    embedder_steps: int = 300
    embedder_decay: float = 5e-4
    shown: int = 1024
    learning_rate: float = 0.01
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
    told = labeled | (graph.degree > 0) if bool((graph.weight > 0).any()) else labeled
    shares = targets if targets.is_floating_point() else F.one_hot(targets.clamp(min=0), num_classes).float()
    words = shares * labeled[:, None]
    if bool((graph.weight > 0).any()):
        ids = told.nonzero()[:, 0]  # the others take no part, not even as pairs to hold apart
        lecture = Lecture(
            _unit_rows(x[ids.numpy()]), shares[ids], labeled[ids], graph.subgraph(ids), lesson or Lesson()
        )
        words[ids] = lecture.words(seed)
        words[labeled] = shares[labeled]
    return words, told


@dataclass(frozen=True, eq=False)
class Lecture:
    """Nodes to teach about.

    Args:
        x: (n, d) rows of length 1.
        targets: (n, C) shares, of which those of the seeds count.
        labeled: (n,) mask of the seeds.
        graph: Over the n nodes.
        how: Settings.
    """

    x: sp.csr_matrix | NDArray[np.float32]
    targets: Tensor
    labeled: Tensor
    graph: Graph
    how: Lesson

    def words(self, seed: int) -> Tensor:
        """(n, C) class shares of every node: the mean of the kinds, each the mean of its teachers."""
        shares = walk_shares(self.graph)
        walkers = [self._walker(shares, np.random.SeedSequence([seed, 1, i])) for i in range(self.how.walkers)]
        embedders = [self._embedder(shares, seed, i) for i in range(self.how.embedders)]
        return torch.stack([torch.stack(kind).mean(dim=0) for kind in (walkers, embedders) if kind]).mean(dim=0)

    @cached_property
    def seeds(self) -> Tensor:
        """(s,) ids of the labelled nodes."""
        return self.labeled.nonzero()[:, 0]

    def _shown(self, rng: np.random.Generator) -> Tensor:
        """The seeds of a step: all of them, or so many drawn at random where there are more."""
        if len(self.seeds) <= self.how.shown:
            return self.seeds
        return self.seeds[torch.from_numpy(rng.permutation(len(self.seeds))[: self.how.shown])]

    def _walker(self, shares: Shares, chance: np.random.SeedSequence) -> Tensor:
        """(n, C) class shares of every node, by one walker."""
        how, rng, walker = self.how, np.random.default_rng(chance), Walker(shares)
        with seeded(int(rng.integers(2**31))):
            network = FFNN(self.x.shape[1], self.targets.shape[1], (how.hidden,), how.dropout, how.dropout)
            adam = _adam(network, how.learning_rate, how.weight_decay)
            for step in range(how.steps):
                seeds = self._shown(rng)
                labels = self.targets[seeds]
                nodes = np.concatenate([seeds.numpy(), rng.integers(len(self.labeled), size=how.pool)])
                view = walker.ends(np.tile(nodes, how.views), how, rng) @ self.x  # (views * nodes, d)
                log_p = F.log_softmax(network(_as_rows(view)), dim=1).view(how.views, len(nodes), -1)
                supervised = -(labels * log_p[:, : len(seeds)]).sum(dim=2).mean()
                p = log_p[:, len(seeds) :].exp()  # (views, pool, C)
                agreed = _sharpened(p.detach().mean(dim=0), how.temperature)
                agreement = (p - agreed).square().sum(dim=2).mean()
                optimizer_step(adam, supervised + how.agreement * min(1.0, step / how.warmup) * agreement)
        network.eval()
        with torch.no_grad():
            _, layers = tap(network, _as_rows(self.x), ["hidden.0.linear"])
            first = layers["hidden.0.linear"]  # (n, hidden): linear in x, so the mean of it is what a mean row gives
            h = F.relu(hop(shares, first, how.restart, how.hops))
            words: Tensor = torch.softmax(network.output(h), dim=1)
        return words

    def _embedder(self, shares: Shares, seed: int, number: int) -> Tensor:
        """(n, C) class shares of every node, by one embedder."""
        how, rng = self.how, np.random.default_rng([seed, 3, number])
        sampler = PairSampler(self.graph, int(np.random.SeedSequence([seed, 2, number]).generate_state(1)[0]))
        with seeded(seed, 1_000 + number):
            network = FFNN(self.x.shape[1], self.targets.shape[1], (how.embedding,), how.dropout)
            adam = _adam(network, how.learning_rate, how.embedder_decay)
            for _ in range(how.embedder_steps):
                seeds = self._shown(rng)
                joined, apart = sampler.draw(how.pairs)
                every = torch.cat([seeds, joined.flatten(), apart.flatten()])
                nodes, place = torch.unique(every, return_inverse=True)
                logits, read = tap(network, take_rows(self.x, nodes), ["last_hidden"])
                log_p = F.log_softmax(F.embedding(place[: len(seeds)], logits), dim=1)
                supervised = -(self.targets[seeds] * log_p).sum(dim=1).mean()
                at, off = place[len(seeds) :], joined.numel()
                pulled = embedding_loss(read["last_hidden"], at[:off].view(2, -1), at[off:].view(2, -1), how.margin)
                optimizer_step(adam, supervised + pulled)
        network.eval()
        with torch.no_grad():
            return hop(shares, torch.softmax(network(_as_rows(self.x)), dim=1), how.restart, how.hops)


def _adam(network: FFNN, rate: float, decay: float) -> torch.optim.Adam:
    return torch.optim.Adam(network.train().parameters(), lr=rate, weight_decay=decay, fused=True)


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
