"""Is a graph informative? A check before training, so that a graph unrelated to the labels does no harm.

A copy of the network is trained on the labelled rows alone for a moment. If neighbours are alike in what is predicted,
its predictions for the two ends of an edge agree more than for two nodes at random. How much more is compared with the
same edges between nodes renamed at random, which is what an uninformative graph looks like. Where the network cannot
predict labelled rows that it was not trained on, it is no judge: then the labels at the two ends of labelled-labelled
edges are. If there are too few of these, a graph is used only where rows have nothing in common that could be learned
without it (one-hot inputs, say), since otherwise it may do harm and nothing speaks for it. Texts are read as TF-IDF
rows by a linear network: their own would take much longer than a moment to learn anything.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.distributed import from_first
from ngm.graph import Graph
from ngm.networks.ffnn import FFNNModule
from ngm.recipes.problem import Problem
from ngm.rows import Inputs, move_rows, take_rows
from ngm.text.words import tfidf_rows
from ngm.training import optimizer_step, seeded

MIN_EDGES = 1_000  # edges below which the screen would decide nothing
MAX_EDGES = 5_000  # edges that are sampled
PERMUTATIONS = 50  # of the nodes
MAX_BATCH = 512  # labelled rows in a step
STEPS = 100
RATE = 0.01
MIN_ZSCORE = 3.0  # standard deviations
ROW_PAIRS = 500  # pairs of rows that are compared
OVERLAP = 0.02  # share of these with a column in common above which rows can be told by what they share
MIN_LABELED_EDGES = 50  # labelled-labelled edges below which their labels decide nothing


def informative_graphs(
    problem: Problem,
    network: nn.Module,
    cost: Callable[[Tensor, Tensor], Tensor],
    seed: int,
    dtype: torch.dtype,
    device: str,
) -> list[bool]:
    """For each graph, whether it is informative; small ones are taken to be. Warns of those that are not.

    Args:
        problem: Has the nodes, their targets and the graphs.
        network: Not trained yet; it is copied, and not touched.
        cost: (b, c) logits and (b, ...) targets -> (b,) cost of each row.
        seed: Same seed, same answer.
        dtype: Of the rows that the network takes.
        device: Where the network is.
    """
    graphs = problem.graphs
    used = [True] * len(graphs)
    judged = [i for i, graph in enumerate(graphs) if int((graph.weight > 0).sum()) >= MIN_EDGES]
    if not judged:
        return used
    screen = GraphScreen(problem, network, cost, seed, dtype, device)
    zscores = {i: screen.edge_agreement_zscore(graphs[i]) for i in judged}
    unskilled = any(z < MIN_ZSCORE for z in zscores.values()) and screen.held_out_zscore() < MIN_ZSCORE
    for i, z in zscores.items():
        used[i] = z >= MIN_ZSCORE or (unskilled and screen.label_agreement_zscore(graphs[i]) >= MIN_ZSCORE)
    used = [bool(u) for u in from_first(torch.tensor(used)).tolist()]
    for i in (i for i, u in enumerate(used) if not u):
        name = "graph" if len(graphs) == 1 else f"graph {i}"
        text = (
            f"{name} ignored: predictions of neighbours agree no more than chance (z = {zscores[i]:.1f}, below "
            f"{MIN_ZSCORE:g}); set graph_screen=False to use it anyway"
        )
        warnings.warn(text, UserWarning, stacklevel=5)
    return used


def graphs_with_edges(graphs: Sequence[Graph]) -> list[bool]:
    """For each graph, whether it has an edge that teachers can learn from; warns of those that have none."""
    used = [bool((graph.weight > 0).any()) for graph in graphs]
    for i in (i for i, u in enumerate(used) if not u):
        text = f"{_graph_name(i, len(graphs))} does nothing: it has no edge with a weight above 0"
        warnings.warn(text, UserWarning, stacklevel=5)
    return used


def _graph_name(number: int, count: int) -> str:
    return "the graph" if count == 1 else f"graph {number}"


@dataclass(eq=False)
class GraphScreen:
    """A network that has learned the labels for a moment, to compare the ends of edges with.

    Args:
        problem: Has the nodes and their targets.
        network: Not trained yet; it is copied, and not touched.
        cost: (b, c) logits and (b, ...) targets -> (b,) cost of each row.
        seed: Same seed, same scores.
        dtype: Of the rows that the network takes.
        device: Where the network is.
    """

    problem: Problem
    network: nn.Module
    cost: Callable[[Tensor, Tensor], Tensor]
    seed: int
    dtype: torch.dtype
    device: str

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, 0x10C])
        self.task, self.targets, self.labeled = self.problem.task, self.problem.targets, self.problem.labeled
        self.labeled_ids = self.labeled.nonzero()[:, 0]
        self.inputs: Inputs = self.problem.inputs
        if self.problem.texts is not None:
            words = tfidf_rows(self.problem.texts.strings)
            self.inputs = words if words.shape[1] else sp.csr_array((len(self.labeled), 1), dtype=np.float32)
            with seeded(self.seed):
                linear = FFNNModule(self.inputs.shape[1], self.task.out_features, hidden=())
            self.network = linear.to(self.device, self.dtype)
        self.trained = self._trained(self.labeled_ids)

    def edge_agreement_zscore(self, graph: Graph) -> float:
        """By how many standard deviations predictions agree more across edges than where nodes are renamed."""
        weight = graph.weight.double().numpy()
        count = min(MAX_EDGES, int((weight > 0).sum()))
        chosen = self.rng.choice(len(weight), count, replace=False, p=weight / weight.sum())
        nodes, ends = np.unique(graph.edges[torch.from_numpy(np.sort(chosen))].numpy(), return_inverse=True)
        ends = ends.reshape(-1, 2)
        proba = self._predict(self.trained, torch.from_numpy(nodes))
        proba = proba - proba[ends.ravel()].mean(axis=0)  # nodes count by their edges
        renamed = [_agreement(p[ends[:, 0]], p[ends[:, 1]]) for p in self._shuffled(proba)]
        return _zscore(_agreement(proba[ends[:, 0]], proba[ends[:, 1]]), renamed)

    def held_out_zscore(self) -> float:
        """By how many standard deviations labels that were not trained on are predicted better than shuffled ones."""
        order = torch.from_numpy(self.rng.permutation(len(self.labeled_ids)))
        halves = self.labeled_ids[order[::2]], self.labeled_ids[order[1::2]]
        if not len(halves[1]):
            return 0.0
        proba = np.concatenate([self._predict(self._trained(a), b) for a, b in (halves, halves[::-1])])
        truth = self._truth(torch.cat([halves[1], halves[0]]))
        proba, truth = proba - proba.mean(axis=0), truth - truth.mean(axis=0)
        return _zscore(_agreement(proba, truth), [_agreement(p, truth) for p in self._shuffled(proba)])

    def label_agreement_zscore(self, graph: Graph) -> float:
        """By how many standard deviations labels agree more across labelled-labelled edges than where shuffled.

        Infinite where there are too few such edges to tell, below 0 if rows have columns in common.
        """
        edges = graph.edges[self.labeled[graph.edges].all(dim=1) & (graph.weight > 0)]
        if len(edges) < MIN_LABELED_EDGES:
            return -float("inf") if self._rows_overlap() else float("inf")
        nodes, ends = torch.unique(edges, return_inverse=True)
        truth = self._truth(nodes)
        truth = truth - truth.mean(axis=0)
        first, second = ends.numpy().T
        by_chance = [_agreement(p[first], p[second]) for p in self._shuffled(truth)]
        return _zscore(_agreement(truth[first], truth[second]), by_chance)

    def _rows_overlap(self) -> bool:
        """Whether two rows at random may both have a column other than 0; False where x is no table."""
        if not sp.issparse(self.inputs) and not isinstance(self.inputs, np.ndarray):
            return False
        first, second = self.rng.integers(len(self.labeled), size=(2, ROW_PAIRS))
        apart = first != second
        table = cast("sp.csr_matrix", self.inputs)
        a, b = (sp.csr_matrix(table[ids[apart]] != 0) for ids in (first, second))
        both = np.asarray(a.multiply(b).sum(axis=1)).reshape(-1)
        return bool((both > 0).mean() > OVERLAP)

    def _truth(self, nodes: Tensor) -> NDArray[np.float64]:
        """(b, C) targets, classes as ones among zeros."""
        raw = self.targets[nodes]
        truth = raw.double() if raw.is_floating_point() else F.one_hot(raw, self.task.out_features).double()
        rows: NDArray[np.float64] = truth.reshape(len(nodes), -1).numpy()
        return rows

    def _shuffled(self, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        return [values[self.rng.permutation(len(values))] for _ in range(PERMUTATIONS)]

    def _trained(self, labeled: Tensor) -> nn.Module:
        """A copy of the network after a hundred steps on some labelled rows."""
        network = copy.deepcopy(self.network).train()
        targets = self.task.scaled(self.targets)
        with seeded(self.seed):
            adam = torch.optim.Adam((p for p in network.parameters() if p.requires_grad), lr=RATE)
            for _ in range(STEPS):
                few = len(labeled) <= MAX_BATCH
                batch = labeled if few else labeled[torch.from_numpy(self.rng.permutation(len(labeled))[:MAX_BATCH])]
                logits = network(self._rows(batch))
                optimizer_step(adam, self.cost(logits, targets[batch].to(logits.device)).mean())
        return network.eval()

    def _predict(self, network: nn.Module, nodes: Tensor) -> NDArray[np.float64]:
        """(b, C) probabilities, or numbers."""
        with torch.inference_mode():
            parts = [self.task.squash(network(self._rows(p))).cpu() for p in torch.split(nodes, 2048)]
        out: NDArray[np.float64] = torch.cat(parts).double().numpy().reshape(len(nodes), -1)
        return out

    def _rows(self, nodes: Tensor) -> Tensor:
        return move_rows(take_rows(self.inputs, nodes, self.dtype), self.device)  # type: ignore[return-value]


def _agreement(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float((a * b).sum(axis=1).mean())


def _zscore(value: float, by_chance: list[float]) -> float:
    return (value - float(np.mean(by_chance))) / (float(np.std(by_chance)) or 1e-12)
