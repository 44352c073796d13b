"""Minibatches of edges (the paper's section 3.3): `EdgeLoader` gives `EdgeBatch`es.

But for the balanced mode every edge comes once an epoch, batches are neighbourhoods of the graph, and the costs of all
batches add up to Eq. 3 (test_paper.py holds it to a plain loop). Labels hang on nodes: labelled nodes are spread over
all batches or, in the mode "edges", a node's cost is shared out over its sampled edges, and one without any travels
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._arguments import as_numbers, short_repr, whole_number
from ngm._input_checks import check_graph_sizes
from ngm._node_targets import as_targets, class_sides, labeled_nodes, node_weights
from ngm.choices import Sampling
from ngm.edge_batch import ALL_KINDS, EdgeBatch, EdgeKind, Totals
from ngm.graph import Graph
from ngm.negatives import NegativeSampler, NeighborLookup, check_negatives
from ngm.ordering import EdgeBlocks, epoch_order, num_blocks
from ngm.parameters import PARAMETERS
from ngm.rows import Inputs, check_rows, num_rows, take_rows
from ngm.sampled_edges import SampledEdges

Ids = NDArray[np.int64]
Order = Literal["neighborhood", "random"]
ORDERS = 4  # neighbourhood orders that epochs choose from
KEPT_UP_TO = 200_000  # edges whose batches are kept ready, at some 140 bytes an edge and order
NONE: Ids = np.zeros(0, dtype=np.int64)


class EdgeLoader:
    """Iterates over minibatches of edges; each `for` loop is one epoch, in a new random order.

    Args:
        x: Inputs, a row per node; see `take_rows`.
        y: (n,) integer classes, -1 = unlabelled; or (n,) float targets, NaN = unlabelled; or (n, L) labels or
            label distributions, a row of -1 or NaN = unlabelled.
        graph: One graph, a list of graphs over the same nodes, or none (labelled nodes only).
        batch_size: Edges in a batch, over all ranks; where no edge is sampled, labelled nodes in a batch.
        seed: Same seed, same batches.
        kinds: Which kinds of edge to sample, for all graphs or a collection per graph; `NGMLoss.kinds` leaves out
            those with alpha = 0.
        sample_weight: (n,) weight of each node's supervised cost.
        labeled: (n,) mask of labelled nodes, where y itself cannot tell.
        sampling: "plain": every edge once an epoch, labelled nodes spread evenly over all batches, so that few labels
            are felt at every step. "edges": likewise, but the supervised cost of a node is shared out over its edges,
            as in Eq. 4; the costs of an epoch add up to the same. "balanced": edges drawn with replacement, and
            labelled nodes drawn so that every batch has positives and negatives of every class.
        order: "neighborhood": a batch holds edges that share ends. "random": any edges; for comparison. None:
            "neighborhood". Not for the balanced mode.
        negatives: Pairs of nodes that are no neighbours to draw per sampled edge, for all graphs or a number per graph;
            `NGMLoss.negatives` has what its regularizers hold apart.
        dtype: Type of the inputs' fractions; see `take_rows`.
        rank: This process' number; each takes its part of every batch.
        world: Number of processes.
    """

    def __init__(
        self,
        x: Inputs,
        y: ArrayLike | Tensor,
        graph: Graph | Sequence[Graph] | None,
        *,
        batch_size: int = 512,
        seed: int = 0,
        kinds: Collection[EdgeKind] | Sequence[Collection[EdgeKind]] | None = None,
        sample_weight: ArrayLike | Tensor | None = None,
        labeled: ArrayLike | Tensor | None = None,
        sampling: Sampling = "plain",
        order: Order | None = None,
        negatives: float | Sequence[float] = 0.0,
        dtype: torch.dtype = torch.float32,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        graphs = _as_graphs(graph)
        for name, number, least in (("seed", seed, 0), ("rank", rank, -1), ("world", world, 0)):
            whole_number(name, number, least)
        check_rows(x)
        if not isinstance(dtype, torch.dtype):
            raise ValueError(f"dtype is {short_repr(dtype)}; give torch.float32 or torch.float64")
        self.x, self.y = x, as_targets(y)
        self.batch_size, self.seed = batch_size, seed
        self.sampling, self.order = sampling, order or "neighborhood"
        self.dtype, self.rank, self.world, self.epoch = dtype, rank, world, 0
        _check(num_rows(x), self.y, graphs, batch_size, rank, world)
        _check_choices(sampling, order)
        self.labeled = labeled_nodes(self.y) if labeled is None else _as_mask(labeled, len(self.y))
        self.node_weight = node_weights(self.labeled, sample_weight)
        self._edges = SampledEdges(graphs, _kinds_per_graph(kinds, len(graphs)), self.labeled)
        self.num_edges, self._directed = self._edges.num_edges, tuple(g.directed for g in graphs)
        self._negatives = _negatives_per_graph(negatives, len(graphs))
        self._arrange()
        self._pairs: NegativeSampler | None = None
        if any(self._negatives) and self.num_edges > 0:
            lookups = [
                self._neighbor_lookup(g) if count > 0 else None
                for g, count in zip(graphs, self._negatives, strict=True)
            ]
            mask = self.labeled.bool().numpy()
            self._pairs = NegativeSampler(lookups, self._negatives, self._edges.nodes, mask, self.seed)

    def __len__(self) -> int:
        """Number of batches in an epoch, the same on every rank."""
        return self.totals.num_batches

    def __iter__(self) -> Iterator[EdgeBatch]:
        """One epoch; the next call gives the next epoch. `set_epoch` goes to any of them."""
        epoch, rng = self.epoch, np.random.default_rng([self.seed, self.epoch])
        self.set_epoch(epoch)
        self.epoch += 1
        draw = self._balanced_epoch if self.sampling == "balanced" else self._plain_epoch
        for number, (neighborhood, seeds, share) in enumerate(draw(rng)):
            mine = slice(*_part(len(seeds), self.rank, self.world))
            pairs, of = self._negative_pairs(neighborhood, epoch, number)
            yield self._batch(neighborhood, seeds[mine], share[mine], pairs, of)

    def sizes(self) -> dict[str, int]:
        """Of the whole: rows, labelled rows and sampled edges, whichever of them this process has."""
        labeled = int(self.labeled.sum())
        return {"rows": len(self.labeled), "labelled rows": labeled, "edges": self.num_edges}

    def set_epoch(self, epoch: int) -> None:
        """Makes the next `for` loop the given epoch, as after a resume; x is told, where it is new in every epoch."""
        self.epoch = epoch
        if hasattr(self.x, "set_epoch"):
            self.x.set_epoch(epoch)

    def prepare(self) -> None:
        """Cuts the edges into the batches of all epochs now; otherwise the first epoch that needs a cut makes it."""
        if self._in_neighborhoods:
            for which in range(ORDERS):
                self._neighborhoods(which)

    # Set up, once

    def _arrange(self) -> None:
        """Counts the batches and settles which edges and which nodes carry the supervised cost."""
        size, seeds = self.batch_size, self.labeled
        self._edge_share: Tensor | None = None
        if self.sampling == "edges":
            degree = torch.from_numpy(self._edges.degrees())
            self._edge_share = self.node_weight / degree.clamp(min=1)
            seeds = self.labeled & (degree == 0)
        self._seeds: Ids = seeds.nonzero()[:, 0].numpy()  # nodes whose cost does not travel with edges
        in_blocks = self.order == "neighborhood" and self.sampling != "balanced"
        self._num_blocks = num_blocks(self.num_edges, size) if in_blocks else -(-self.num_edges // size)
        batches = max(self._num_blocks, 1)
        if not self.num_edges or self.sampling != "balanced":
            batches = max(batches, -(-len(self._seeds) // size))
        num_edges = tuple((int(ll), int(lu), int(uu)) for ll, lu, uu in self._edges.counts)
        self.totals = Totals(float(self.node_weight.sum()), num_edges, batches, self._directed, self._negatives)
        self._orders: dict[int, Sequence[_Neighborhood]] = {}
        self._sides = class_sides(self.y, self.labeled) if self.sampling == "balanced" else []

    def _neighbor_lookup(self, graph: Graph) -> NeighborLookup:
        """Which nodes of a graph are joined, for negative pairs."""
        return NeighborLookup(graph.num_nodes, graph.edges)

    @property
    def _in_neighborhoods(self) -> bool:
        """Whether batches are blocks of neighbouring edges."""
        several = self.totals.num_batches > 1 and self.num_edges > 0
        return several and self.order == "neighborhood" and self.sampling != "balanced"

    def _neighborhoods(self, which: int) -> Sequence[_Neighborhood]:
        """The batches of one of a few neighbourhood orders, made when first needed; of large graphs, of the one."""
        small = self.num_edges <= KEPT_UP_TO
        which = which if small else 0
        if which not in self._orders:
            blocks = self._blocks(self.seed * ORDERS + which)
            lazy = _Lazy(self._look_up, blocks)
            self._orders[which] = list(lazy) if small else lazy
        return self._orders[which]

    def _blocks(self, seed: int) -> EdgeBlocks:
        count = self.totals.num_batches
        even = -(-self.num_edges // count)
        size = self.batch_size if count == self._num_blocks else min(even + even // 32, self.batch_size)
        return self._edges.blocks(seed, size, count)

    # Each epoch

    def _plain_epoch(self, rng: np.random.Generator) -> Iterator[tuple[_Neighborhood, Ids, Tensor]]:
        """Every edge and every labelled node once: the edges, seeds and shares of each batch."""
        m, count = self.num_edges, self.totals.num_batches
        parts: Sequence[_Neighborhood]
        if self._in_neighborhoods:
            parts = self._neighborhoods(int(rng.integers(ORDERS)))
        else:
            parts = _Lazy(self._look_up, _chunks(rng.permutation(m), max(-(-m // count), 1)))
        seeds = self._seed_batches(rng)
        in_parts = self._in_neighborhoods and self._edges.in_parts
        for i in epoch_order(rng, self.batch_size, count) if in_parts else rng.permutation(count):
            yield parts[i] if i < len(parts) else self._look_up(NONE), *seeds[i]

    def _seed_batches(self, rng: np.random.Generator) -> _SeedBatches:
        """Spreads the nodes that travel by themselves over the batches."""
        count, seeds = self.totals.num_batches, rng.permutation(self._seeds)
        total = len(seeds)
        if self.sampling == "plain" and self.num_edges and len(seeds):
            total = count * max(min(len(seeds), self.batch_size // 4), -(-len(seeds) // count))  # round and round
        return _SeedBatches(seeds, self.node_weight, total, count)

    def _balanced_epoch(self, rng: np.random.Generator) -> Iterator[tuple[_Neighborhood, Ids, Tensor]]:
        """Edges uniformly with replacement; labelled nodes class by class, at least one of each side of it."""
        m, count = self.num_edges, self.totals.num_batches
        each = -(-len(self._seeds) // (count * len(self._sides)))  # draws per class and side
        share = self.node_weight * (len(self._seeds) / (each * len(self._sides) * count))
        for i in range(count):
            start, stop = _part(m, i, count)  # m draws in all, so that the edge terms weigh what they do in Eq. 3
            edges = rng.integers(m, size=stop - start) if m else NONE
            nodes = np.concatenate([rng.choice(side, size=each) for side in self._sides])
            yield self._look_up(edges), nodes, share[torch.from_numpy(nodes)]

    def _look_up(self, edges: Ids) -> _Neighborhood:
        """Everything about this rank's part of some edges."""
        rows = self._edges.take(edges[slice(*_part(len(edges), self.rank, self.world))])
        nodes, place = np.unique(rows.ends, return_inverse=True)
        ends, share = torch.from_numpy(place.reshape(-1, 2)), torch.zeros(len(nodes), dtype=self.node_weight.dtype)
        at = torch.from_numpy(nodes)
        if self._edge_share is not None:
            share = torch.from_numpy(np.bincount(place.reshape(-1), minlength=len(nodes))) * self._edge_share[at]
        return _Neighborhood(at, ends, rows.weight, rows.kind, rows.graph, share, len(edges))

    def _negative_pairs(self, part: _Neighborhood, epoch: int, number: int) -> tuple[Tensor, Tensor]:
        """((j, 2) node ids, (j,) which edge of the batch each pair was made of)."""
        if self._pairs is None:
            return torch.zeros((0, 2), dtype=torch.int64), torch.zeros(0, dtype=torch.int64)
        first, _ = _part(part.total, self.rank, self.world)
        ends = part.nodes[part.ends].numpy()
        pairs, of = self._pairs.draw(epoch, number, ends, part.graph.numpy(), first, part.total)
        return torch.from_numpy(pairs), torch.from_numpy(of)

    def _batch(self, part: _Neighborhood, seeds: Ids, share: Tensor, pairs: Tensor, of: Tensor) -> EdgeBatch:
        """Adds the nodes that travel by themselves and those of negative pairs, and fetches inputs and targets."""
        nodes, ends, label_share = part.nodes, part.ends, part.share
        if len(seeds) or len(pairs):
            shares = torch.cat([label_share, share, torch.zeros(pairs.numel())])
            nodes, place = torch.unique(
                torch.cat([nodes, torch.from_numpy(seeds), pairs.flatten()]), return_inverse=True
            )
            ends, pairs = place[ends], place[len(place) - pairs.numel() :].view(-1, 2)
            label_share = torch.zeros(len(nodes)).index_add(0, place, shares)
        return EdgeBatch(
            nodes=nodes,
            x=take_rows(self.x, nodes, self.dtype),
            y=self.y[nodes],
            ends=ends,
            weight=part.weight,
            kind=part.kind,
            graph=part.graph,
            label_share=label_share,
            negatives=pairs,
            negative_of=of,
            totals=self.totals,
        )


@dataclass(frozen=True)
class _Neighborhood:
    """The edges of a batch, looked up: fields as in `EdgeBatch`.

    Args:
        share: (b,) what these edges carry of the labels.
        total: Edges of the batch on all ranks.
    """

    nodes: Tensor
    ends: Tensor
    weight: Tensor
    kind: Tensor
    graph: Tensor
    share: Tensor
    total: int


class _SeedBatches:
    """Nodes that travel by themselves, dealt out to batches one after the other, from the first again at the end.

    Args:
        seeds: (s,) node ids.
        weight: (n,) of each node; it is shared out over the batches that the node is in.
        total: How many are dealt out, as many as there are or more.
        count: Number of batches.
    """

    def __init__(self, seeds: Ids, weight: Tensor, total: int, count: int) -> None:
        self.seeds, self.total, self.count = seeds, total, count
        rounds, rest = divmod(total, max(len(seeds), 1))
        times = torch.full((len(seeds),), rounds)
        times[:rest] += 1
        self.share = weight[torch.from_numpy(seeds)] / times.clamp(min=1)

    def __getitem__(self, i: int) -> tuple[Ids, Tensor]:
        """(ids, shares) of a batch; the first ones have one more where it does not come out even."""
        each, more = divmod(self.total, self.count)
        start = i * each + min(i, more)
        at = np.arange(start, start + each + (i < more)) % max(len(self.seeds), 1)
        return self.seeds[at], self.share[torch.from_numpy(at)]


class _Lazy(Sequence[_Neighborhood]):
    """Looks a batch up when it is asked for."""

    def __init__(self, look_up: Callable[[Ids], _Neighborhood], parts: EdgeBlocks | list[Ids]) -> None:
        self.look_up, self.parts = look_up, parts

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, i: int) -> _Neighborhood:  # type: ignore[override]
        return self.look_up(self.parts[i])


def _chunks(order: Ids, size: int) -> list[Ids]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def _as_graphs(graph: Graph | Sequence[Graph] | None) -> list[Graph]:
    graphs = [] if graph is None else list(graph) if isinstance(graph, list | tuple) else [graph]
    for given in graphs:
        if not isinstance(given, Graph):
            raise ValueError(f"graph is a {type(given).__name__}; make a Graph of it with Graph.from_edges or the like")
    return graphs  # type: ignore[return-value]


def _kinds_per_graph(
    kinds: Collection[EdgeKind] | Sequence[Collection[EdgeKind]] | None, graphs: int
) -> list[Collection[EdgeKind]]:
    if kinds is None:
        return [ALL_KINDS] * graphs
    if not isinstance(kinds, list | tuple | set | frozenset):
        raise ValueError(f"kinds is {short_repr(kinds)}; give a collection of EdgeKind, or one per graph")
    nested = [k for k in kinds if not isinstance(k, EdgeKind)]
    if not nested:
        return [frozenset(k for k in kinds if isinstance(k, EdgeKind))] * graphs
    for given in nested:
        if not isinstance(given, list | tuple | set | frozenset) or not all(
            isinstance(kind, EdgeKind) for kind in given
        ):
            raise ValueError(f"kinds has {short_repr(given)}; give a collection of EdgeKind, or one per graph")
    if len(nested) != graphs or len(nested) != len(kinds):
        raise ValueError(f"kinds has {len(kinds)} entries for {graphs} graphs; give a collection per graph")
    return nested


def _negatives_per_graph(negatives: float | Sequence[float], graphs: int) -> tuple[float, ...]:
    given = list(negatives) if isinstance(negatives, list | tuple) else [negatives] * graphs
    if len(given) != graphs:
        raise ValueError(f"negatives has {len(given)} entries for {graphs} graphs; give a number per graph")
    for count in given:
        check_negatives(count)
    return tuple(float(count) for count in given)  # type: ignore[arg-type]


def _part(count: int, rank: int, world: int) -> tuple[int, int]:
    """Where this rank's share of `count` things begins and ends; together the ranks have all of them."""
    return count * rank // world, count * (rank + 1) // world


def _as_mask(labeled: ArrayLike | Tensor, rows: int) -> Tensor:
    given = as_numbers("labeled", labeled, f"give a mask of {rows} rows, True where labelled")
    if given.shape != (rows,) or not bool(((given == 0) | (given == 1)).all()):
        raise ValueError(f"labeled has shape {tuple(given.shape)}; give a mask of {rows} rows, True where labelled")
    return given.bool()


def _check(rows: int, y: Tensor, graphs: list[Graph], batch_size: int, rank: int, world: int) -> None:
    if len(y) != rows:
        raise ValueError(f"x has {rows} rows, y has {len(y)}; give a target per row, -1 or NaN if unlabelled")
    check_graph_sizes(graphs, rows)
    whole_number("batch_size", batch_size, least=1)
    if not 0 <= rank < world:
        raise ValueError(f"rank is {rank} and world is {world}; the ranks of n processes are 0 to n - 1")


def _check_choices(sampling: str, order: str | None) -> None:
    PARAMETERS["sampling"].check("sampling", sampling)
    if order not in ("neighborhood", "random", None):
        raise ValueError(f"order is {order!r}; choose 'neighborhood' or 'random'")
    if sampling == "balanced" and order is not None:
        raise ValueError(
            f"order is {order!r}, but sampling is 'balanced', which draws edges and labelled nodes; leave order out, "
            "or set sampling='plain'"
        )
