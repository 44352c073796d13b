"""Negative pairs: nodes that are no neighbours, which the objective holds apart.

A pair is made of an edge: one end stays, the other is replaced by a random node, labelled if the replaced end is, so
that the pair is of the edge's own kind (LL, LU or UU). Replacements come from a small random set of nodes per batch,
each used for several pairs, since every one of them is a node more to run the network on. All is drawn for the whole
batch from (seed, epoch, batch), so several ranks, each with its part of the edges, have the pairs of one process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ngm._arguments import short_repr
from ngm._pair_keys import pair_keys, sorted_pair_keys

Ids = NDArray[np.int64]
MAX_NEGATIVES = 100  # per edge
USES = 4  # pairs that a drawn node is used for, on average
_DRAWS = 9  # nodes that are tried for a pair before it is left out: almost all of them are neighbours
_SHARED_DRAWS = 3  # of those, the first come from the nodes of the batch's pairs, the others from all
_STREAM = 0x9E6A  # keeps these random numbers apart from those of the batches


class NeighborLookup:
    """Tells neighbours from other pairs, direction aside; 8 bytes an edge.

    Args:
        num_nodes: Number of nodes.
        lists: Edges, in one list or several, each (m, 2) node ids.
    """

    def __init__(self, num_nodes: int, *lists: Tensor) -> None:
        self.num_nodes = num_nodes
        self.keys = sorted_pair_keys(lists, num_nodes, directed=False)

    def joined(self, pairs: Ids) -> NDArray[np.bool_]:
        """(k,) whether the two nodes of each of (2, k) pairs are one node or neighbours."""
        same = pairs[0] == pairs[1]
        if not len(self.keys):
            return cast("NDArray[np.bool_]", same)
        keys = pair_keys(pairs.min(axis=0), pairs.max(axis=0), self.num_nodes)
        found = self.keys[np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)] == keys
        return cast("NDArray[np.bool_]", found | same)


class NegativeSampler:
    """Draws negative pairs for the edges of a batch.

    Args:
        lookups: For each graph that edges are of, what tells neighbours; None where `negatives` is 0.
        negatives: Pairs per edge of each graph; of a fraction, that share of the edges gets one more.
        nodes: Gives the nodes of a graph to draw from, those with a sampled edge; asked where pairs are drawn.
        labeled: (n,) mask of labelled nodes.
        seed: Same seed, same pairs.
    """

    def __init__(
        self,
        lookups: Sequence[NeighborLookup | None],
        negatives: Sequence[float],
        nodes: Callable[[int], Ids],
        labeled: NDArray[np.bool_],
        seed: int,
    ) -> None:
        self.negatives, self.labeled, self.seed = np.array(negatives, dtype=np.float64), labeled, seed
        self.rounds = math.ceil(max(negatives))
        self.lookups = lookups
        self.candidates: list[tuple[Ids, Ids]] = []  # of each graph: unlabelled nodes, labelled nodes
        for g, count in enumerate(negatives):
            known = nodes(g) if count > 0 else np.zeros(0, dtype=np.int64)
            self.candidates.append((known[~labeled[known]], known[labeled[known]]))

    def draw(
        self, epoch: int, batch: int, ends: Ids, source: Ids, first: int, total: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of this rank's edges of a batch.

        Args:
            epoch: Number of the epoch.
            batch: Number of the batch in it.
            ends: (k, 2) node ids of the edges' ends.
            source: (k,) which graph each is of.
            first: Position of the first of these edges in the whole batch.
            total: Edges in the whole batch.

        Returns:
            (j, 2) node ids, in the order (source, target) of the edge, and (j,) which of the k edges each was made of.
        """
        rng = np.random.default_rng([self.seed, epoch, batch, _STREAM])
        mine = slice(first, first + len(ends))
        size = -(-self.rounds * total // USES)
        pools = {
            g: (_some(u, rng.random(size)), _some(v, rng.random(size)))
            for g, (u, v) in enumerate(self.candidates)
            if self.negatives[g] > 0  # so that a graph beside it changes nothing
        }
        pairs, of = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for number in range(self.rounds):
            chance = rng.random((2 + _DRAWS, total))[:, mine]
            for g in np.flatnonzero(self.negatives > number).tolist():
                chosen = np.flatnonzero((source == g) & (chance[0] < self.negatives[g] - number))
                made, found = self._replace(g, ends[chosen], chance[1:, chosen], pools[g])
                pairs.append(made[found])
                of.append(chosen[found])
        return np.concatenate(pairs), np.concatenate(of)

    def _replace(
        self, g: int, ends: Ids, chance: NDArray[np.float64], pools: tuple[Ids, Ids]
    ) -> tuple[Ids, NDArray[np.bool_]]:
        """Puts another node in the place of one end: ((k, 2) pairs, (k,) whether they are no neighbours)."""
        lookup = self.lookups[g]
        rows = np.arange(len(ends))
        # of the end with the smaller number, say, not of the first: an edge that is turned round has the same pairs
        place = ((chance[0] < 0.5) ^ (ends[:, 0] > ends[:, 1])).astype(np.int64)
        of_labeled = self.labeled[ends[rows, place]]
        pairs, found = ends.copy(), np.zeros(len(ends), dtype=bool)
        for number, draw in enumerate(chance[1:]):
            unlabeled, labeled = pools if number < _SHARED_DRAWS else self.candidates[g]
            other = np.where(of_labeled, _some(labeled, draw), _some(unlabeled, draw))
            pairs[~found, place[~found]] = other[~found]
            found = ~cast(NeighborLookup, lookup).joined(pairs.T)
            if found.all():
                break
        return pairs, found


def check_negatives(negatives: object) -> None:
    """Refuses a number of pairs per edge that is negative or no number."""
    if isinstance(negatives, bool) or not isinstance(negatives, Real) or not 0 <= float(negatives) <= MAX_NEGATIVES:
        raise ValueError(
            f"negatives is {short_repr(negatives)}; give the pairs per edge, from 0 (none) to {MAX_NEGATIVES}"
        )


def _some(nodes: Ids, chance: NDArray[np.float64]) -> Ids:
    """Nodes by numbers between 0 and 1; -1 where there are none."""
    if not len(nodes):
        return np.full(len(chance), -1, dtype=np.int64)
    picked: Ids = nodes[(chance * len(nodes)).astype(np.int64)]
    return picked
