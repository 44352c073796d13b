"""Teachers of the strong recipe: networks that see a node through its neighbourhood, and label every node softly.

There are two kinds, which err differently; each kind is a teacher with half of the weight, and no label is held out.

*Walkers* take for a node's input a view of it: the mean row of x at the ends of a few random walks from it. Walks stop
with chance `restart` before each step, so near nodes count most. Walkers learn the seeds from such views, and that two
views of any node should agree on a class. Their prediction for a node is exact: the first layer, which is linear, is
averaged over all walks by the propagation kernel instead of sampled ones.

*Embedders* take the bare row. Neighbours are drawn together in their hidden layer, random pairs that are no neighbours
are held apart. Their predictions are averaged over the same walks.
"""

from __future__ import annotations

from collections.abc import Iterator
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

from ngm.networks.ffnn import FFNNModule
from ngm.networks.input_scaling import Table
from ngm.networks.tap import tap
from ngm.propagation.kernel import Shares, hop
from ngm.recipes.contrastive_pairs import PairSampler, embedding_loss
from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.node_views import Features, GraphOperators, NodeViews
from ngm.recipes.stacking import TeacherPreset
from ngm.recipes.teachers import Prediction
from ngm.rows import take_rows
from ngm.training import optimizer_step, seeded


@dataclass(frozen=True)
class TeacherConfig:
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
        max_batch: Seeds in a step, at most.
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
    max_batch: int = 1024
    learning_rate: float = 0.01
    dropout: float = 0.5


def strong_preset(seed: int, config: TeacherConfig | None = None) -> TeacherPreset:
    """Both kinds as teachers that weigh alike. They look at one view, `unit_rows`, and one graph.

    Args:
        seed: Same seed, same labels.
        config: How teachers learn.
    """

    def predict(views: NodeViews, targets: Targets, labeled: Mask) -> Iterator[Prediction]:
        (x,), operators = views.features.values(), views.whole_graph(0)
        used = config or TeacherConfig()
        ensemble = TeacherEnsemble(x, torch.from_numpy(targets.values), torch.from_numpy(labeled), operators, used)
        if used.walkers:
            words = "networks of mean rows at the ends of random walks, of which any two are to agree"
            yield Prediction("walkers", words, ensemble.walkers(seed).numpy(), graph=0)
        if used.embedders:
            words = "networks in whose hidden layer neighbours are drawn together and other pairs held apart"
            yield Prediction("embedders", words, ensemble.embedders(seed).numpy(), graph=0)

    return TeacherPreset(predict, scored=False)


@dataclass(frozen=True, eq=False)
class TeacherEnsemble:
    """Teachers of both kinds, and the nodes that they label.

    Args:
        x: (n, d) rows of length 1.
        targets: (n, C) shares, of which those of the seeds count.
        labeled: (n,) mask of the seeds.
        operators: Of the graph over the n nodes.
        config: How teachers learn.
    """

    x: Features
    targets: Tensor
    labeled: Tensor
    operators: GraphOperators
    config: TeacherConfig

    def walkers(self, seed: int) -> Tensor:
        """(n, C) class shares of every node: the mean of the walkers."""
        chances = [np.random.SeedSequence([seed, 1, i]) for i in range(self.config.walkers)]
        return torch.stack([self._walker(self.operators.walk, chance) for chance in chances]).mean(dim=0)

    def embedders(self, seed: int) -> Tensor:
        """(n, C) class shares of every node: the mean of the embedders."""
        numbers = range(self.config.embedders)
        return torch.stack([self._embedder(self.operators.walk, seed, i) for i in numbers]).mean(dim=0)

    @cached_property
    def seeds(self) -> Tensor:
        """(s,) ids of the labelled nodes."""
        return self.labeled.nonzero()[:, 0]

    def _seed_batch(self, rng: np.random.Generator) -> Tensor:
        """The seeds of a step: all of them, or so many drawn at random where there are more."""
        if len(self.seeds) <= self.config.max_batch:
            return self.seeds
        return self.seeds[torch.from_numpy(rng.permutation(len(self.seeds))[: self.config.max_batch])]

    def _walker(self, shares: Shares, chance: np.random.SeedSequence) -> Tensor:
        """(n, C) class shares of every node, by one walker."""
        config, rng, walker = self.config, np.random.default_rng(chance), RandomWalks(shares)
        with seeded(int(rng.integers(2**31))):
            network = FFNNModule(
                self.x.shape[1], self.targets.shape[1], (config.hidden,), config.dropout, config.dropout
            )
            adam = _adam(network, config.learning_rate, config.weight_decay)
            for step in range(config.steps):
                seeds = self._seed_batch(rng)
                labels = self.targets[seeds]
                nodes = np.concatenate([seeds.numpy(), rng.integers(len(self.labeled), size=config.pool)])
                view = walker.ends(np.tile(nodes, config.views), config, rng) @ self.x  # (views * nodes, d)
                log_p = F.log_softmax(network(_as_rows(view)), dim=1).view(config.views, len(nodes), -1)
                supervised = -(labels * log_p[:, : len(seeds)]).sum(dim=2).mean()
                p = log_p[:, len(seeds) :].exp()  # (views, pool, C)
                agreed = _sharpened(p.detach().mean(dim=0), config.temperature)
                agreement = (p - agreed).square().sum(dim=2).mean()
                optimizer_step(adam, supervised + config.agreement * min(1.0, step / config.warmup) * agreement)
        network.eval()
        with torch.no_grad():
            _, layers = tap(network, _as_rows(self.x), ["hidden.0.linear"])
            first = layers["hidden.0.linear"]  # (n, hidden): linear in x, so the mean of it is what a mean row gives
            h = F.relu(hop(shares, first, config.restart, config.hops))
            proba: Tensor = torch.softmax(network.output(h), dim=1)
        return proba

    def _embedder(self, shares: Shares, seed: int, number: int) -> Tensor:
        """(n, C) class shares of every node, by one embedder."""
        config, rng = self.config, np.random.default_rng([seed, 3, number])
        sampler = PairSampler(self.operators.graph, int(np.random.SeedSequence([seed, 2, number]).generate_state(1)[0]))
        with seeded(seed, 1_000 + number):
            network = FFNNModule(self.x.shape[1], self.targets.shape[1], (config.embedding,), config.dropout)
            adam = _adam(network, config.learning_rate, config.embedder_decay)
            for _ in range(config.embedder_steps):
                seeds = self._seed_batch(rng)
                joined, apart = sampler.draw(config.pairs)
                every = torch.cat([seeds, joined.flatten(), apart.flatten()])
                nodes, place = torch.unique(every, return_inverse=True)
                logits, read = tap(network, take_rows(self.x, nodes), ["last_hidden"])
                log_p = F.log_softmax(F.embedding(place[: len(seeds)], logits), dim=1)
                supervised = -(self.targets[seeds] * log_p).sum(dim=1).mean()
                at, off = place[len(seeds) :], joined.numel()
                pulled = embedding_loss(read["last_hidden"], at[:off].view(2, -1), at[off:].view(2, -1), config.margin)
                optimizer_step(adam, supervised + pulled)
        network.eval()
        with torch.no_grad():
            return hop(shares, torch.softmax(network(_as_rows(self.x)), dim=1), config.restart, config.hops)


def _adam(network: FFNNModule, rate: float, decay: float) -> torch.optim.Adam:
    return torch.optim.Adam(network.train().parameters(), lr=rate, weight_decay=decay, fused=True)


class RandomWalks:
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

    def ends(self, nodes: NDArray[np.int64], config: TeacherConfig, rng: np.random.Generator) -> sp.csr_matrix:
        """(len(nodes), n) sparse: where `walks` walks from each node ended, as shares that add up to 1."""
        at = np.repeat(nodes, config.walks)
        going = np.ones(len(at), dtype=bool)
        for _ in range(config.hops):
            going &= rng.random(len(at)) >= config.restart
            u = at[going]
            low, high = self.starts[u], self.starts[u + 1]
            slot = np.searchsorted(self.ends_at, low + rng.random(len(u)) * (high - low), side="right")
            at[going] = self.columns[np.clip(slot, self.offsets[u], self.offsets[u + 1] - 1)]
        share = np.full(len(at), 1 / config.walks, dtype=np.float32)
        offsets = np.arange(0, len(at) + 1, config.walks)
        return sp.csr_matrix((share, at, offsets), shape=(len(nodes), len(self.offsets) - 1))


def _sharpened(p: Tensor, temperature: float) -> Tensor:
    sharp = p ** (1 / temperature)
    return sharp / sharp.sum(dim=1, keepdim=True)


def unit_rows(x: Table) -> Features:
    """(n, d) float32 rows of length 1, sparse ones sparse: what these teachers look at."""
    return cast(Features, normalize(x).astype(np.float32))


def _as_rows(x: Features | sp.csr_matrix) -> Tensor:
    """All rows as the network takes them, sparse ones sparse."""
    return cast(Tensor, take_rows(x, torch.arange(x.shape[0])))
