"""The objective: the supervised cost plus alpha-weighted distances across edges (the paper's Eq. 3 and 4).

`NGMLoss` gives a batch's part of it. A `Regularizer` is one family of edge terms: a graph, a layer, a distance, an
alpha per kind of edge and a direction of influence; several of them make several graphs, several layers, or both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm._spelling import nearest
from ngm.choices import Influence, Scaling
from ngm.distances import BETWEEN_OUTPUTS, Distance, get_distance
from ngm.edge_batch import EdgeBatch, EdgeKind, Totals
from ngm.edge_terms import WeightedPairs, edge_terms
from ngm.negatives import check_negatives
from ngm.networks.tap import LAST_HIDDEN, OUTPUT, check_layer, tap

NodeCost = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class Regularizer:
    """Distances across the edges of one graph, at one layer.

    With `negatives`, pairs that are no neighbours are held apart at the same layer, so that edges cannot draw all nodes
    to one point: an edge costs alpha w (d(h_u, h_v) + the sum over its negative pairs of max(0, margin - d)). Each pair
    is the edge with one end replaced by a random node, labelled if that end is, so that it is of the edge's own kind.

    Args:
        alpha_ll: Weight of edges between labelled nodes (alpha 1 of the paper).
        alpha_lu: Weight of edges between a labelled and an unlabelled node (alpha 2).
        alpha_uu: Weight of edges between unlabelled nodes (alpha 3).
        distance: A name in `ngm.distances.DISTANCES`, or a function (k, d), (k, d) -> (k,).
        layer: The layer whose output is h: a name in the network, "last_hidden" or "output". Where not given:
            "output" for distances between outputs (cross_entropy, kl, js), else "last_hidden".
        influence: On a directed graph, which end moves the other: "source" holds the source still and pulls
            the target towards it, "target" the other way round, "both" pulls both.
        graph: Which of the loader's graphs; this regularizer's own position in the list where not given.
        negatives: Negative pairs per edge, fractions too; 0 is the paper's objective. The loader draws them:
            `EdgeLoader(..., negatives=loss.negatives)`.
        margin: Distance from which on a negative pair costs nothing.
    """

    alpha_ll: float = 0.2
    alpha_lu: float = 0.2
    alpha_uu: float = 0.2
    distance: str | Distance = "l2"
    layer: str | None = None
    influence: Influence = "both"
    graph: int | None = None
    negatives: float = 0.0
    margin: float = 1.0

    def __post_init__(self) -> None:
        get_distance(self.distance)
        if not isinstance(self.layer, str | None):
            raise ValueError(f"layer is {self.layer!r}; give the name of a layer as a string")
        for name, alpha in zip(("alpha_ll", "alpha_lu", "alpha_uu"), self.alphas, strict=True):
            if not 0 <= alpha < float("inf"):
                raise ValueError(f"{name} is {alpha}; it must be a finite number of at least 0")
        check_negatives(self.negatives)
        if not 0 < self.margin < float("inf"):
            raise ValueError(f"margin is {self.margin}; it must be a finite number greater than 0")
        if self.influence not in ("both", "source", "target"):
            raise ValueError(f"influence is {self.influence!r}; choose 'both', 'source' or 'target'")

    @property
    def alphas(self) -> tuple[float, float, float]:
        """Weights by `EdgeKind`: LL, LU, UU."""
        return self.alpha_ll, self.alpha_lu, self.alpha_uu

    @property
    def layer_name(self) -> str:
        """The layer that h is read from."""
        if self.layer is not None:
            return self.layer
        return OUTPUT if self.distance in BETWEEN_OUTPUTS else LAST_HIDDEN

    @property
    def kinds(self) -> frozenset[EdgeKind]:
        """Kinds of edge whose alpha is not 0."""
        return frozenset(kind for kind in EdgeKind if self.alphas[kind] > 0)


@dataclass(frozen=True)
class Cost:
    """A batch's cost by its parts; the alphas are in, so that the parts add up to `total`.

    Args:
        supervised: Cost of the labelled nodes.
        ll: Distances across labelled-labelled edges; likewise `lu` and `uu`.
        repulsion: What negative pairs of all kinds lack in distance.
        total: What to call `backward` on.
        h: (b, d) the hidden representations that were compared, without gradient; None where none were.
        layers: The same of every layer that has a regularizer, of which `h` is the first.
    """

    supervised: Tensor
    ll: Tensor
    lu: Tensor
    uu: Tensor
    repulsion: Tensor
    total: Tensor
    h: Tensor | None = None
    layers: tuple[Tensor, ...] = ()

    @property
    def h_norm(self) -> Tensor:
        """Mean length of h over the batch's nodes."""
        if self.h is None:
            return torch.zeros(())
        length: Tensor = torch.linalg.vector_norm(self.h, dim=1)
        return length.mean()

    @property
    def h_spread(self) -> Tensor:
        """Mean distance of h from its mean; near 0, all nodes look alike: h has collapsed."""
        if self.h is None:
            return torch.zeros(())
        deviation: Tensor = torch.linalg.vector_norm(self.h - self.h.mean(dim=0), dim=1)
        return deviation.mean()


class NGMLoss(nn.Module):
    """Eq. 3 as a loss: `cost = loss(network, batch); cost.total.backward()`.

    Args:
        regularizers: One or several; or give the fields of a single one by name.
        alpha_ll: See `Regularizer`, as for the other fields of the same name.
        alpha_lu: See `Regularizer`.
        alpha_uu: See `Regularizer`.
        distance: See `Regularizer`.
        layer: See `Regularizer`.
        influence: See `Regularizer`.
        negatives: See `Regularizer`.
        margin: See `Regularizer`.
        cost: Supervised cost c(g(x), y): "cross_entropy" (class indices or label distributions), "bce" (several
            labels at once), "squared_l2" (numbers), or a function of (logits (b, c), y (b, ...)) -> (b,).
        scaling: "mean" divides the supervised cost by the number of labelled nodes and each kind's distances by its
            number of edges, so that an alpha means the same on any graph. "sum" is the paper to the letter: costs and
            distances are summed, so a graph with more edges weighs more against the labels, and alpha must shrink as
            it grows. Batches average ("mean") or add up ("sum") to the whole objective.
    """

    def __init__(
        self,
        regularizers: Regularizer | Sequence[Regularizer] | None = None,
        *,
        alpha_ll: float | None = None,
        alpha_lu: float | None = None,
        alpha_uu: float | None = None,
        distance: str | Distance | None = None,
        layer: str | None = None,
        influence: Influence | None = None,
        negatives: float | None = None,
        margin: float | None = None,
        cost: str | NodeCost = "cross_entropy",
        scaling: Scaling = "mean",
    ) -> None:
        super().__init__()
        fields = {
            "alpha_ll": alpha_ll,
            "alpha_lu": alpha_lu,
            "alpha_uu": alpha_uu,
            "distance": distance,
            "layer": layer,
            "influence": influence,
            "negatives": negatives,
            "margin": margin,
        }
        given = {name: value for name, value in fields.items() if value is not None}
        if regularizers is None:
            regularizers = Regularizer(**given)  # type: ignore[arg-type]
        elif given:
            raise ValueError(f"{', '.join(given)} given beside regularizers; set it on each Regularizer instead")
        if scaling not in ("sum", "mean"):
            raise ValueError(f"scaling is {scaling!r}; choose 'sum' (exactly Eq. 3) or 'mean'")
        listed = [regularizers] if isinstance(regularizers, Regularizer) else list(regularizers)
        self.regularizers = tuple(listed)
        self.graphs = tuple(i if r.graph is None else r.graph for i, r in enumerate(listed))
        self.cost, self.scaling = get_cost(cost), scaling
        self._active = [(g, r) for g, r in zip(self.graphs, listed, strict=True) if r.kinds]
        self._layers = list(dict.fromkeys(r.layer_name for _, r in self._active))
        self._checked: tuple[nn.Module, Totals] | None = None  # in a tuple, so that it is no submodule

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers whose h is compared, in the order of `Cost.layers`."""
        return tuple(self._layers)

    @property
    def kinds(self) -> list[frozenset[EdgeKind]]:
        """For each graph, the kinds of edge with an alpha above 0: what an `EdgeLoader` needs to sample."""
        count = max(self.graphs, default=-1) + 1
        pairs = list(zip(self.graphs, self.regularizers, strict=True))
        return [frozenset().union(*(r.kinds for g, r in pairs if g == i)) for i in range(count)]

    @property
    def negatives(self) -> list[float]:
        """For each graph, the most negative pairs per edge that a regularizer has: what an `EdgeLoader` is to draw."""
        count = max(self.graphs, default=-1) + 1
        return [max((r.negatives for g, r in self._active if g == i), default=0.0) for i in range(count)]

    def forward(self, network: nn.Module, batch: EdgeBatch) -> Cost:
        """Runs the network once on the batch's nodes.

        Args:
            network: Maps inputs to (b, c) logits.
            batch: From an `EdgeLoader`.

        Returns:
            The batch's part of the objective, in float32 at least, whatever the network computes in.
        """
        self.check(network, batch.totals)
        zero = torch.zeros((), device=batch.weight.device)
        if len(batch.nodes) == 0:  # the empty share of a rank
            return Cost(zero, zero, zero, zero, zero, zero)
        logits, read = tap(network, batch.x, self._layers)
        hidden = {name: _exact(h) for name, h in read.items()}
        terms = self._edge_terms(hidden, batch)  # (4,)
        supervised = self._supervised(_exact(logits), batch)
        ll, lu, uu, repulsion = terms.unbind()
        layers = tuple(h.detach() for h in hidden.values())
        total = supervised + terms.sum()
        return Cost(supervised, ll, lu, uu, repulsion, total, layers[0] if layers else None, layers)

    def _supervised(self, logits: Tensor, batch: EdgeBatch) -> Tensor:
        rows = batch.label_share.nonzero()[:, 0]
        if not len(rows):
            return logits.sum() * 0.0
        share, y = batch.label_share.index_select(0, rows), batch.y.index_select(0, rows)
        total = (share * self.cost(logits.index_select(0, rows), y)).sum()
        return total * self._scale(batch.totals.num_labeled, batch)

    def _edge_terms(self, hidden: dict[str, Tensor], batch: EdgeBatch) -> Tensor:
        """(4,) sums with alphas: of w_uv d(h_u, h_v) by kind of edge, and of what negative pairs lack in distance."""
        terms: list[Tensor] = []
        for g, regularizer in self._active if len(batch.ends) else ():
            pairs = self._pairs(g, regularizer, batch)
            if len(pairs.ends):
                h, directed = hidden[regularizer.layer_name], batch.totals.directed[g]
                terms.append(edge_terms(h, pairs, regularizer.distance, directed, regularizer.influence))
        return sum(terms[1:], terms[0]) if terms else torch.zeros(4, device=batch.weight.device)

    def _pairs(self, g: int, regularizer: Regularizer, batch: EdgeBatch) -> WeightedPairs:
        """The edges and negative pairs of graph g, with what each counts."""
        ends, weight, kind = batch.ends, batch.weight, batch.kind
        negatives, of, share = batch.negatives, batch.negative_of, 0.0
        if regularizer.negatives > 0:  # another regularizer of the graph may want more
            share = regularizer.negatives / batch.totals.negatives[g]
        if len(batch.totals.directed) > 1:
            mine, chosen = batch.graph == g, batch.graph[of] == g
            place = mine.cumsum(0) - 1  # of an edge among those of the graph
            ends, weight, kind = ends[mine], weight[mine], kind[mine]
            negatives, of = negatives[chosen], place[of[chosen]]
        if share == 0.0:
            negatives, of = negatives[:0], of[:0]
        ll, lu, uu = (
            alpha * self._scale(total, batch)
            for alpha, total in zip(regularizer.alphas, batch.totals.num_edges[g], strict=True)
        )
        return WeightedPairs(ends, weight, kind, (ll, lu, uu), negatives, of, share, regularizer.margin)

    def _scale(self, total: float, batch: EdgeBatch) -> float:
        """What one node or edge counts: 1, or its part of a mean that is estimated from one batch."""
        if self.scaling == "sum" or total == 0:
            return 1.0
        return batch.totals.num_batches / total

    def check(self, network: nn.Module, totals: Totals) -> None:
        """Refuses what can only be seen when network, graphs and regularizers meet.

        Args:
            network: Has the layers that regularizers name.
            totals: Of the loader; the same network and loader are looked at once.
        """
        if self._checked is not None and self._checked[0] is network and self._checked[1] == totals:
            return
        self.check_graphs(network, totals.directed)
        for g, regularizer in zip(self.graphs, self.regularizers, strict=True):
            if not regularizer.kinds or not totals.directed:
                continue  # without a graph: labelled nodes only
            if regularizer.negatives > 0 and any(totals.num_edges[g]) and not any(totals.negatives[g : g + 1]):
                raise ValueError(
                    f"a regularizer has negatives={regularizer.negatives:g}, but the loader draws no negative pairs of "
                    f"graph {g}; make it with EdgeLoader(..., negatives=loss.negatives)"
                )
        self._checked = network, totals

    def check_graphs(self, network: nn.Module, directed: Sequence[bool]) -> None:
        """Refuses layers that the network does not have, and an influence that a graph cannot have.

        Args:
            network: Has the layers that regularizers name.
            directed: For each graph, whether its edges have a direction; empty without a graph.
        """
        for g, regularizer in zip(self.graphs, self.regularizers, strict=True):
            if regularizer.kinds or regularizer.layer is not None:
                check_layer(network, regularizer.layer_name)
            if not regularizer.kinds or not directed:
                continue
            if not 0 <= g < len(directed):
                raise ValueError(
                    f"a regularizer is for graph {g}, the loader has {len(directed)}; "
                    "give the loader a graph per regularizer, or name it: Regularizer(graph=0, ...)"
                )
            if regularizer.influence != "both" and not directed[g]:
                raise ValueError(
                    f"influence is {regularizer.influence!r}, but graph {g} is undirected: its edges have no "
                    "source; make the graph with directed=True, or leave influence at 'both'"
                )


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """(b, c) logits against (b,) class indices or (b, c) label distributions -> (b,)."""
    return F.cross_entropy(logits, y.to(logits.dtype) if y.is_floating_point() else y, reduction="none")


def bce(logits: Tensor, y: Tensor) -> Tensor:
    """(b, L) logits against (b, L) zeros and ones, each label by itself, summed -> (b,)."""
    return F.binary_cross_entropy_with_logits(logits, y.to(logits.dtype), reduction="none").sum(dim=1)


def squared_l2(output: Tensor, y: Tensor) -> Tensor:
    """(b, c) outputs against (b, c) or (b,) numbers -> (b,)."""
    return (output - y.to(output.dtype).reshape(output.shape)).square().sum(dim=1)


COSTS: dict[str, NodeCost] = {"cross_entropy": cross_entropy, "bce": bce, "squared_l2": squared_l2}


def get_cost(cost: str | NodeCost) -> NodeCost:
    """The function behind a name; a function is returned as it is."""
    if callable(cost):
        return cost
    if cost not in COSTS:
        known = ", ".join(COSTS)
        raise ValueError(f"unknown cost {cost!r}{nearest(cost, COSTS)}; choose from {known}, or give a function")
    return COSTS[cost]


def _exact(values: Tensor) -> Tensor:
    """float32 or more: bfloat16 is for the network, not for sums over edges."""
    return values if values.dtype == torch.float64 else values.float()
