"""Planetoid-I, -G and -T: an embedding of every node that predicts both the node's class and its context.

After Yang, Cohen and Salakhutdinov (2016), "Revisiting semi-supervised learning with graph embeddings". Steps
alternate between classes (cross-entropy on labelled nodes) and contexts (negative sampling). The context of a node is
a node near it on a random walk, or a node of the same label. In -T and -G the embedding is a table, in -I a function
of x, so that only -I can classify rows that were not in the graph. -G does not see x.

Where the paper draws one pair at a time, a step here takes all pairs of its walks and of its labelled nodes, and false
contexts are shared by the walks of a step: `walk_cost` and `label_cost`. Pairs are so weighed slightly differently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import normalize
from sklearn.utils import check_array
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.graph import Graph
from ngm.inputs.walks import random_walks
from ngm.networks import FFNNModule
from ngm.rows import Inputs, take_rows
from ngm.targets import encode_classes
from ngm.training import optimizer_step, seeded

Variant = Literal["inductive", "graph", "transductive"]
_SHARPNESS = 4.0  # of the output layer at first
_ROWS_AT_ONCE = 65_536

# What a setting of None stands for: chosen on the validation nodes of Cora, Citeseer and PubMed.
VARIANT_DEFAULTS: dict[Variant, dict[str, float]] = {
    "inductive": {"window": 3, "walks": 20, "false_contexts": 500, "feature_gain": 1.0},
    "graph": {"window": 5, "walks": 100, "false_contexts": 500, "feature_gain": 1.0},
    "transductive": {"window": 5, "walks": 200, "false_contexts": 50, "feature_gain": 5.0},
}


@dataclass(eq=False, repr=False)
class Planetoid(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learns classes and graph contexts from one embedding; None takes the value in `VARIANT_DEFAULTS`.

    Args:
        variant: "inductive" (Planetoid-I), "graph" (-G) or "transductive" (-T).
        dimensions: Width of the embedding.
        walk_length: Steps in a random walk, q in the paper.
        window: Largest number of steps between a node and its context, d in the paper.
        negatives: Weight of false contexts against true ones; the paper's r1 is 1 / (1 + negatives).
        graph_share: Share of the contexts that come from walks, r2 in the paper; the others come from labels.
        pretraining: Context steps from walks alone, before classes are learned.
        steps: Steps on classes, each followed by one on contexts.
        batch_size: Labelled nodes in a step; all where there are fewer.
        walks: Random walks in a step.
        false_contexts: Nodes drawn at random for a step, and shared by all its walks.
        feature_gain: Factor on the layer on x, whose rows of length 1 are short beside embeddings in a table.
        learning_rate: Size of the steps on classes (SGD with momentum .9).
        context_learning_rate: Size of the steps on contexts (Adam).
        seed: Same seed, same result.

    Attributes:
        classes_: (C,) class names.
        transduction_: (n,) class of every row that `fit` was given.
        network_: The trained network.
    """

    variant: Variant = "inductive"
    dimensions: int = 50
    walk_length: int = 10
    window: int | None = None
    negatives: int = 5
    graph_share: float = 0.99
    pretraining: int = 300
    steps: int = 50
    batch_size: int = 200
    walks: int | None = None
    false_contexts: int | None = None
    feature_gain: float | None = None
    learning_rate: float = 0.1
    context_learning_rate: float = 0.01
    seed: int = 0

    def fit(self, x: Inputs, y: ArrayLike, graph: Graph | None = None) -> Planetoid:
        """Trains on the labelled rows and on the graph over all rows.

        Args:
            x: (n, d) dense or sparse rows, one per node; each is brought to length 1.
            y: (n,) classes, -1 = unlabelled.
            graph: Graph on n nodes.
        """
        self._check_settings()
        rows = _unit_rows(x)
        num_nodes, in_features = rows.shape
        encoded = encode_classes(y, num_nodes)
        if encoded.task != "classes":
            raise ValueError("y has several columns; Planetoid takes one class per row, -1 where unlabelled")
        if graph is None or graph.num_nodes != num_nodes:
            graph_text = "no graph" if graph is None else f"a graph of {graph.num_nodes} nodes"
            raise ValueError(f"x has {num_nodes} rows and there is {graph_text}; give graph= with a node per row of x")
        self.classes_ = encoded.classes
        with seeded(self.seed):
            self.network_ = _Network(self.variant, num_nodes, in_features, len(self.classes_), self.dimensions)
            self.network_.feature_gain = self._setting("feature_gain")
        self._train(rows, encoded.targets, graph)
        self.transduction_ = self._classify(rows)
        return self

    def predict(self, x: Inputs) -> NDArray[np.generic]:
        """(b,) classes of rows that need not have been in the graph; for variant "inductive" only."""
        if self.variant != "inductive":
            raise ValueError(
                f"variant {self.variant!r} cannot classify rows that were not in the graph; read transduction_ for "
                "those that were, or use variant 'inductive'"
            )
        return self._classify(_unit_rows(x))

    def _train(self, x: Inputs, targets: Tensor, graph: Graph) -> None:
        network, rng = self.network_, np.random.default_rng([self.seed, 1])
        class_optimizer = torch.optim.SGD(network.class_parameters(), lr=self.learning_rate, momentum=0.9)
        context_optimizer = torch.optim.Adam(network.context_parameters(), lr=self.context_learning_rate, fused=True)
        batches = walk_batches(graph, self.walk_length, int(self._setting("walks")), rng)
        labeled = (targets >= 0).nonzero()[:, 0]
        for _ in range(self.pretraining):
            optimizer_step(context_optimizer, self._walk_cost(x, next(batches), rng))
        for _ in range(self.steps):
            nodes = labeled
            if len(labeled) > self.batch_size:
                nodes = labeled[torch.from_numpy(rng.choice(len(labeled), self.batch_size, replace=False))]
            rows, y = self._rows(x, nodes), targets[nodes]
            optimizer_step(class_optimizer, F.cross_entropy(network(rows, nodes), y))
            label_term = label_cost(network.embed(rows, nodes), network.context(nodes), y, self.negatives)
            walk_term = self._walk_cost(x, next(batches), rng)
            optimizer_step(context_optimizer, self.graph_share * walk_term + (1 - self.graph_share) * label_term)

    def _walk_cost(self, x: Inputs, walks: Tensor, rng: np.random.Generator) -> Tensor:
        network = self.network_
        nodes, inverse = torch.unique(
            walks, return_inverse=True
        )  # each node is embedded once, however often it is visited
        rows = self._rows(x, nodes) if self.variant == "inductive" else None
        false = torch.from_numpy(rng.integers(len(network.context.weight), size=int(self._setting("false_contexts"))))
        window = int(self._setting("window"))
        embedded = F.embedding(inverse, network.embed(rows, nodes))  # (b, l, d); not [inverse]: its gradient is slow
        contexts = F.embedding(inverse, network.context(nodes))
        return walk_cost(walks, embedded, contexts, network.context(false), window, self.negatives)

    def _rows(self, x: Inputs, nodes: Tensor) -> Tensor | None:
        return None if self.variant == "graph" else take_rows(x, nodes)  # type: ignore[return-value]

    def _classify(self, x: NDArray[np.float32] | sp.csr_matrix) -> NDArray[np.generic]:
        with torch.no_grad():
            parts = torch.split(torch.arange(x.shape[0]), _ROWS_AT_ONCE)
            best = torch.cat([self.network_(self._rows(x, part), part).argmax(dim=1) for part in parts])
        predicted: NDArray[np.generic] = self.classes_[best.numpy()]
        return predicted

    def _setting(self, name: str) -> float:
        value: float | None = getattr(self, name)
        return VARIANT_DEFAULTS[self.variant][name] if value is None else value

    def _check_settings(self) -> None:
        if self.variant not in get_args(Variant):
            raise ValueError(f"variant is {self.variant!r}; choose from {', '.join(get_args(Variant))}")
        minimum = {"dimensions": 1, "walk_length": 1, "window": 1, "negatives": 1, "batch_size": 1, "walks": 1}
        minimum |= {"false_contexts": 1, "feature_gain": 0, "pretraining": 0, "steps": 0, "seed": 0}
        for name, bound in minimum.items():
            if getattr(self, name) is not None and getattr(self, name) < bound:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least {bound}")
        if not 0 <= self.graph_share <= 1:
            raise ValueError(f"graph_share is {self.graph_share}; it must be from 0 to 1")


class _Network(nn.Module):
    """Class logits from features and embedding: a softmax layer on each, and a linear map of the two side by side."""

    def __init__(self, variant: Variant, num_nodes: int, in_features: int, num_classes: int, dimensions: int) -> None:
        super().__init__()
        self.feature_gain = 1.0
        self.features = None if variant == "graph" else FFNNModule(in_features, num_classes, hidden=())
        self.hidden = FFNNModule(in_features, dimensions, hidden=()) if variant == "inductive" else None
        self.table = None if variant == "inductive" else nn.Embedding(num_nodes, dimensions)
        self.embedding = nn.Linear(dimensions, num_classes)
        self.output = nn.Linear(num_classes * (1 if variant == "graph" else 2), num_classes, bias=False)
        self.context = nn.Embedding(num_nodes, dimensions)
        for table in (self.table, self.context):
            if table is not None:
                nn.init.normal_(table.weight, std=0.01)
        # class k from both shares of class k: from a random start, softmax upon softmax learns too slowly
        parts = self.output.in_features // num_classes
        self.output.weight.data = _SHARPNESS * torch.eye(num_classes).repeat(1, parts)

    def forward(self, x: Tensor | None, nodes: Tensor) -> Tensor:
        """(b, C) logits of (b,) nodes with rows x (b, d)."""
        parts = [] if self.features is None else [(self.feature_gain * self.features(x)).softmax(dim=1)]
        parts.append(self.embedding(self.embed(x, nodes)).softmax(dim=1))
        logits: Tensor = self.output(torch.cat(parts, dim=1))
        return logits

    def embed(self, x: Tensor | None, nodes: Tensor) -> Tensor:
        """(b, dimensions): a function of x (b, d) in -I, else rows of the table."""
        embedded: Tensor = F.relu(self.hidden(x)) if self.hidden is not None else self.table(nodes)  # type: ignore[misc]
        return embedded

    def class_parameters(self) -> list[nn.Parameter]:
        return [p for name, p in self.named_parameters() if not name.startswith("context.")]

    def context_parameters(self) -> list[nn.Parameter]:
        return [p for name, p in self.named_parameters() if name.split(".")[0] in ("hidden", "table", "context")]


def walk_batches(graph: Graph, length: int, size: int, rng: np.random.Generator) -> Iterator[Tensor]:
    """(b, length + 1) walks without end, from every node in turn before any node comes again."""
    while True:
        starts = rng.permutation(graph.num_nodes)
        walks = random_walks(graph, length, 1, int(rng.integers(2**32)), starts)
        yield from torch.split(torch.from_numpy(walks), size)


def walk_cost(
    walks: Tensor, embedded: Tensor, contexts: Tensor, false: Tensor, window: int, negatives: float
) -> Tensor:
    """Logistic cost of telling nodes near each other on a walk from nodes drawn at random.

    Args:
        walks: (b, l) node ids; a node is no context of its own.
        embedded: (b, l, d) embeddings of the walks' nodes.
        contexts: (b, l, d) context vectors of the walks' nodes.
        false: (k, d) context vectors of nodes drawn at random.
        window: Largest number of steps between a node and its context.
        negatives: Weight of false contexts against true ones.
    """
    step = torch.arange(walks.shape[1])
    near = (step[:, None] - step).abs() <= window  # (l, l)
    true = near & (walks[:, :, None] != walks[:, None, :])  # (b, l, l)
    moves = true.any(dim=2, keepdim=True)  # a node without context is not pushed from the false ones either
    return _logistic(embedded @ contexts.transpose(1, 2), true, embedded @ false.t(), moves, negatives)


def label_cost(embedded: Tensor, contexts: Tensor, y: Tensor, negatives: float) -> Tensor:
    """Logistic cost of telling labelled nodes of the same class from those of other classes.

    Args:
        embedded: (b, d) embeddings.
        contexts: (b, d) context vectors of the same nodes.
        y: (b,) their classes.
        negatives: Weight of other classes against the same.
    """
    scores = embedded @ contexts.t()  # (b, b)
    same = y[:, None] == y
    return _logistic(scores, same & ~torch.eye(len(y), dtype=torch.bool), scores, ~same, negatives)


def _logistic(true: Tensor, true_mask: Tensor, false: Tensor, false_mask: Tensor, negatives: float) -> Tensor:
    """Mean over the true scores and over the false ones, weighed 1 to `negatives`; the masks tell which ones count."""
    return (_mean(F.softplus(-true), true_mask) + negatives * _mean(F.softplus(false), false_mask)) / (1 + negatives)


def _mean(costs: Tensor, mask: Tensor) -> Tensor:
    """Mean of the costs that count, 0 where none does."""
    share = mask.expand_as(costs).to(costs.dtype)
    return (costs * share).sum() / share.sum().clamp(min=1)


def _unit_rows(x: Inputs) -> NDArray[np.float32] | sp.csr_matrix:
    """(n, d) rows of length 1, sparse where x is."""
    return normalize(check_array(x, accept_sparse="csr", dtype=np.float32))
