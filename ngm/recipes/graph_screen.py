"""Does a graph tell anything? A look before training, so that one that knows nothing does no harm.

A copy of the network is trained on the labelled rows alone for a moment. If neighbours are alike in what is predicted,
its predictions for the two ends of an edge agree more than for two nodes at random. How much more is compared with the
same edges between nodes renamed at random, which is what a graph that knows nothing looks like. Where the network
cannot tell labelled rows that it was not shown, it is no judge: then the labels at the two ends of labelled-labelled
edges are. If there are too few of these, a graph is used only where rows have nothing in common that could be learned
without it (one-hot inputs, say), since otherwise it may do harm and nothing speaks for it. Texts are looked at as
TF-IDF rows by a linear network: theirs would take much longer than a moment to learn anything.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.distributed import from_first
from ngm.graph import Graph
from ngm.networks.ffnn import FFNN
from ngm.objective import NGMLoss
from ngm.rows import Inputs, move_rows, take_rows
from ngm.text.readers import Texts
from ngm.text.words import tfidf_rows
from ngm.training import seeded

if TYPE_CHECKING:
    from ngm.estimators.base import NGMEstimator

FEWEST = 1_000  # edges below which a look would decide nothing
LOOKED_AT = 5_000  # edges, at most
RENAMED = 50  # times
SHOWN = 512  # labelled rows in a step, at most
STEPS = 100
RATE = 0.01
LEAST = 3.0  # standard deviations
PAIRS_LOOKED_AT = 500  # pairs of rows
OVERLAP = 0.02  # share of these with a column in common above which rows can be told by what they share
FEWEST_LABELED = 50  # labelled-labelled edges below which their labels decide nothing


def useful_graphs(
    estimator: NGMEstimator,
    inputs: Inputs,
    targets: Tensor,
    labeled: Tensor,
    graphs: Sequence[Graph],
    loss: NGMLoss,
) -> list[bool]:
    """Which graphs are to be used: all where alphas were given, else those that tell something.

    The teachers of recipe "auto" weigh graphs themselves, so there all with an edge are used.

    Args:
        estimator: Has the network and the alphas.
        inputs: A row per node.
        targets: (n, ...) of the rows.
        labeled: (n,) mask of those to train on.
        graphs: Over the rows.
        loss: What is to be trained with.
    """
    used = [True] * len(graphs)
    given = any(alpha is not None for alpha in (estimator.alpha_ll, estimator.alpha_lu, estimator.alpha_uu))
    judged = [i for i, graph in enumerate(graphs) if int((graph.weight > 0).sum()) >= FEWEST]
    recipe = estimator.settings_.recipe
    if recipe == "auto":
        return _with_edges(graphs)
    if given or not judged or (recipe == "paper" and not any(loss.kinds)):
        return used
    eyes = Eyes(estimator, inputs, targets, labeled, loss)
    seen = {i: eyes.agreement(graphs[i]) for i in judged}
    blind = any(deviations < LEAST for deviations in seen.values()) and eyes.foresight() < LEAST
    for i, deviations in seen.items():
        used[i] = deviations >= LEAST or (blind and eyes.label_agreement(graphs[i]) >= LEAST)
    used = [bool(u) for u in from_first(torch.tensor(used)).tolist()]
    for i in (i for i, u in enumerate(used) if not u):
        which = "the graph" if len(graphs) == 1 else f"graph {i}"
        text = (
            f"{which} tells nothing and is left out: across its edges, predictions agree {seen[i]:+.1f} standard "
            f"deviations more than across edges between nodes renamed at random, and {LEAST:.0f} are wanted; give "
            "alphas to use it all the same"
        )
        warnings.warn(text, UserWarning, stacklevel=3)
    return used


def _with_edges(graphs: Sequence[Graph]) -> list[bool]:
    """Which graphs have an edge that teachers can learn from; of the others it is said that they do nothing."""
    used = [bool((graph.weight > 0).any()) for graph in graphs]
    for i in (i for i, u in enumerate(used) if not u):
        which = "the graph" if len(graphs) == 1 else f"graph {i}"
        warnings.warn(f"{which} does nothing: it has no edge with a weight above 0", UserWarning, stacklevel=4)
    return used


@dataclass(eq=False)
class Eyes:
    """A network that has learned the labels for a moment, to look at graphs with.

    Args:
        estimator: Its network is copied, and not touched.
        inputs: A row per node.
        targets: (n, ...) of the rows.
        labeled: (n,) mask.
        loss: Has the cost of a row.
    """

    estimator: NGMEstimator
    inputs: Inputs
    targets: Tensor
    labeled: Tensor
    loss: NGMLoss

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.estimator.seed, 0x10C])
        self.seeds = self.labeled.nonzero()[:, 0]
        self.untaught = self.estimator.network_
        if isinstance(self.inputs, Texts):
            words = tfidf_rows(self.inputs.strings)
            self.inputs = words if words.shape[1] else sp.csr_array((len(self.labeled), 1), dtype=np.float32)
            with seeded(self.estimator.seed):
                linear = FFNN(self.inputs.shape[1], self.estimator._widths[1], hidden=())
            self.untaught = linear.to(self.estimator.device, self.estimator.dtype_)
        self.network = self._learned(self.seeds)

    def agreement(self, graph: Graph) -> float:
        """By how many standard deviations predictions agree more across edges than where nodes are renamed."""
        weight = graph.weight.double().numpy()
        count = min(LOOKED_AT, int((weight > 0).sum()))
        chosen = self.rng.choice(len(weight), count, replace=False, p=weight / weight.sum())
        nodes, ends = np.unique(graph.edges[torch.from_numpy(np.sort(chosen))].numpy(), return_inverse=True)
        ends = ends.reshape(-1, 2)
        said = self._said(self.network, torch.from_numpy(nodes))
        said = said - said[ends.ravel()].mean(axis=0)  # nodes count by their edges
        renamed = [_together(p[ends[:, 0]], p[ends[:, 1]]) for p in self._shuffled(said)]
        return _deviations(_together(said[ends[:, 0]], said[ends[:, 1]]), renamed)

    def foresight(self) -> float:
        """By how many standard deviations labelled rows that were not shown are told better than others' labels."""
        order = torch.from_numpy(self.rng.permutation(len(self.seeds)))
        halves = self.seeds[order[::2]], self.seeds[order[1::2]]
        if not len(halves[1]):
            return 0.0
        said = np.concatenate([self._said(self._learned(a), b) for a, b in (halves, halves[::-1])])
        wanted = self._wanted(torch.cat([halves[1], halves[0]]))
        said, wanted = said - said.mean(axis=0), wanted - wanted.mean(axis=0)
        return _deviations(_together(said, wanted), [_together(p, wanted) for p in self._shuffled(said)])

    def label_agreement(self, graph: Graph) -> float:
        """By how many standard deviations labels agree more across labelled-labelled edges than where shuffled.

        Infinite where there are too few such edges to tell, below 0 if rows have columns in common.
        """
        edges = graph.edges[self.labeled[graph.edges].all(dim=1) & (graph.weight > 0)]
        if len(edges) < FEWEST_LABELED:
            return -float("inf") if self._rows_overlap() else float("inf")
        nodes, ends = torch.unique(edges, return_inverse=True)
        wanted = self._wanted(nodes)
        wanted = wanted - wanted.mean(axis=0)
        first, second = ends.numpy().T
        by_chance = [_together(p[first], p[second]) for p in self._shuffled(wanted)]
        return _deviations(_together(wanted[first], wanted[second]), by_chance)

    def _rows_overlap(self) -> bool:
        """Whether two rows at random may both have a column other than 0; False where x is no table."""
        if not sp.issparse(self.inputs) and not isinstance(self.inputs, np.ndarray):
            return False
        first, second = self.rng.integers(len(self.labeled), size=(2, PAIRS_LOOKED_AT))
        apart = first != second
        table = cast("sp.csr_matrix", self.inputs)
        a, b = (sp.csr_matrix(table[ids[apart]] != 0) for ids in (first, second))
        both = np.asarray(a.multiply(b).sum(axis=1)).reshape(-1)
        return bool((both > 0).mean() > OVERLAP)

    def _wanted(self, nodes: Tensor) -> NDArray[np.float64]:
        """(b, C) targets, classes as ones among zeros."""
        truth = self.targets[nodes]
        told = truth.double() if truth.is_floating_point() else F.one_hot(truth, self.estimator._widths[1]).double()
        wanted: NDArray[np.float64] = told.reshape(len(nodes), -1).numpy()
        return wanted

    def _shuffled(self, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        return [values[self.rng.permutation(len(values))] for _ in range(RENAMED)]

    def _learned(self, seeds: Tensor) -> nn.Module:
        """A copy of the network after a hundred steps on some labelled rows."""
        network = copy.deepcopy(self.untaught).train()
        targets = self.estimator._scaled(self.targets)
        with seeded(self.estimator.seed):
            adam = torch.optim.Adam((p for p in network.parameters() if p.requires_grad), lr=RATE)
            for _ in range(STEPS):
                few = len(seeds) <= SHOWN
                some = seeds if few else seeds[torch.from_numpy(self.rng.permutation(len(seeds))[:SHOWN])]
                logits = network(self._rows(some))
                value = self.loss.cost(logits, targets[some].to(logits.device)).mean()
                adam.zero_grad(set_to_none=True)
                value.backward()  # type: ignore[no-untyped-call]
                adam.step()
        return network.eval()

    def _said(self, network: nn.Module, nodes: Tensor) -> NDArray[np.float64]:
        """(b, C) predictions."""
        with torch.inference_mode():
            parts = [self.estimator._squash(network(self._rows(p))).cpu() for p in torch.split(nodes, 2048)]
        out: NDArray[np.float64] = torch.cat(parts).double().numpy().reshape(len(nodes), -1)
        return out

    def _rows(self, nodes: Tensor) -> Tensor:
        rows = take_rows(self.inputs, nodes, self.estimator.dtype_)
        return move_rows(rows, self.estimator.device)  # type: ignore[return-value]


def _together(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float((a * b).sum(axis=1).mean())


def _deviations(value: float, by_chance: list[float]) -> float:
    return (value - float(np.mean(by_chance))) / (float(np.std(by_chance)) or 1e-12)
