"""Semi-supervised embedding (Weston, Ratle, Mobahi, Collobert 2008): a network with neighbours and non-neighbours.

Beside the supervised cost, pairs of rows enter with the loss of Hadsell, Chopra and LeCun (2006) on h, the output or a
hidden layer of the network:

    |h_u - h_v|²                   where u and v are joined by an edge
    max(0, margin - |h_u - h_v|)²  where they are not

Attraction alone has a trivial optimum, all h alike; the random pairs that are pushed apart rule it out. This is what
sets the method apart from an NGM, whose labels alone have to hold the classes apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor
from torch.nn import functional as F

from ngm.comparators.linear import Problem, check_numbers, read_problem, scaled
from ngm.distances import l2, squared_l2
from ngm.graph import Graph
from ngm.networks.ffnn import FFNN
from ngm.networks.tap import check_layer, tap
from ngm.rows import Inputs, num_rows, take_rows
from ngm.training import seeded

_PREDICTED_AT_ONCE = 8192  # rows
_DRAWS = 20  # times that a pair of neighbours is drawn again before it is left out


@dataclass(eq=False, repr=False)
class SemiEmbedding(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Feed-forward network that pulls neighbours together and pushes random other pairs apart; classifies new rows.

    Args:
        hidden: Width of each hidden layer.
        alpha: Weight of the embedding loss, a mean over pairs, against the mean supervised cost; 0: a plain network.
        margin: Distance from which on two rows that are not neighbours are left alone.
        layer: Layer whose output is h: "output", "last_hidden", or a name in the network.
        dropout: Share of hidden units dropped while training.
        input_dropout: Share of the inputs dropped while training.
        steps: Steps of Adam; each has labelled rows, edges, and as many pairs that are no edge.
        batch_size: Edges in a step; also labelled rows in a step, or all where there are fewer.
        learning_rate: Size of a step.
        weight_decay: L2 penalty on the weights.
        unit_rows: Scale every row of x to length 1 first, as is usual for documents.
        seed: Same seed, same result.

    Attributes:
        classes_: (C,) class names.
        network_: The trained network.
        transduction_: (n,) class of every row of x.

    >>> x = np.array([[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.1, 0.0]], dtype=np.float32)
    >>> graph = Graph.from_edges([[0, 1], [2, 3]])
    >>> SemiEmbedding(steps=50).fit(x, [0, -1, 1, -1], graph=graph).predict(x)
    array([0, 0, 1, 1])
    """

    hidden: Sequence[int] = (100,)
    alpha: float = 1.0
    margin: float = 5.0
    layer: str = "last_hidden"
    dropout: float = 0.5
    input_dropout: float = 0.0
    steps: int = 300
    batch_size: int = 256
    learning_rate: float = 1e-2
    weight_decay: float = 5e-4
    unit_rows: bool = True
    seed: int = 0

    def fit(self, x: Inputs, y: ArrayLike, graph: Graph | None = None) -> SemiEmbedding:
        """Trains the network.

        Args:
            x: (n, d) dense or sparse, a row per node.
            y: (n,) integers or strings, -1 / None / NaN = unlabelled.
            graph: Graph on n nodes; edges are drawn in proportion to their weights. None only with alpha = 0.

        Returns:
            The estimator itself, fitted.
        """
        check_numbers(
            self,
            positive=("margin", "learning_rate"),
            zero_or_more=("alpha", "weight_decay"),
            whole=("steps", "batch_size"),
            shares=("dropout", "input_dropout"),
        )
        if any(not isinstance(width, Integral) or width < 1 for width in self.hidden):
            raise ValueError(f"hidden is {tuple(self.hidden)}; every width is a whole number of at least 1")
        problem = read_problem(self, x, y, graph, needs_graph=self.alpha > 0)
        pairs = None if self.alpha == 0 or graph is None else PairSampler(graph, self.seed)
        with seeded(self.seed):
            self.network_ = FFNN(
                problem.x.shape[1],
                len(problem.classes),
                hidden=tuple(self.hidden),
                dropout=self.dropout,
                input_dropout=self.input_dropout,
            )
        check_layer(self.network_, self.layer)
        with seeded(self.seed, 1):
            self._train(problem, pairs)
        self.classes_ = problem.classes
        self.transduction_ = self.predict(problem.x)
        return self

    def predict(self, x: Inputs) -> NDArray[np.generic]:
        """(n,) class of each row, whether it was there in `fit` or not."""
        check_is_fitted(self, "classes_")
        checked = validate_data(self, x, accept_sparse="csr", dtype=[np.float32, np.float64], reset=False)
        rows = scaled(checked, self.unit_rows)
        self.network_.eval()
        with torch.inference_mode():
            parts = torch.split(torch.arange(num_rows(rows)), _PREDICTED_AT_ONCE)
            index = torch.cat([self.network_(take_rows(rows, part)).argmax(dim=1) for part in parts])
        predicted: NDArray[np.generic] = self.classes_[index.numpy()]
        return predicted

    def _train(self, problem: Problem, pairs: PairSampler | None) -> None:
        rows, targets = scaled(problem.x, self.unit_rows), torch.from_numpy(problem.targets)
        labeled = np.flatnonzero(problem.labeled)
        rng = np.random.default_rng([self.seed, 0])  # apart from that of the pairs: same labelled rows whatever alpha
        adam = torch.optim.Adam(self.network_.parameters(), self.learning_rate, weight_decay=self.weight_decay)
        self.network_.train()
        for _ in range(self.steps):
            few = len(labeled) <= self.batch_size
            known = torch.from_numpy(labeled if few else rng.choice(labeled, self.batch_size, replace=False))
            joined, apart = pairs.draw(self.batch_size) if pairs else (known.new_zeros(2, 0), known.new_zeros(2, 0))
            nodes, place = torch.unique(torch.cat([known, joined.flatten(), apart.flatten()]), return_inverse=True)
            logits, read = tap(self.network_, take_rows(rows, nodes), [self.layer] if pairs else [])
            loss = F.cross_entropy(F.embedding(place[: len(known)], logits), targets[known])
            if pairs:
                at = [part.view(2, -1) for part in place[len(known) :].split([joined.numel(), apart.numel()])]
                loss = loss + self.alpha * embedding_loss(read[self.layer], at[0], at[1], self.margin)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()


def embedding_loss(h: Tensor, joined: Tensor, apart: Tensor, margin: float) -> Tensor:
    """Mean over neighbours of |h_u - h_v|² plus mean over the other pairs of max(0, margin - |h_u - h_v|)².

    Args:
        h: (b, d) one row per node.
        joined: (2, k) positions in h of the ends of edges.
        apart: (2, j) positions of pairs that are no edge; may be empty.
        margin: Distance from which on a pair is far enough apart.
    """
    # embedding, not h[ends]: its gradient is summed in a fixed order, so same seed gives same bits
    loss = squared_l2(*F.embedding(joined, h).unbind()).mean()
    if apart.shape[1]:
        loss = loss + (margin - l2(*F.embedding(apart, h).unbind())).clamp(min=0).square().mean()
    return loss


class PairSampler:
    """Draws edges in proportion to their weights, and random pairs that are no edge.

    Args:
        graph: The graph; direction does not matter.
        seed: Same seed, same pairs.
    """

    def __init__(self, graph: Graph, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 1])
        self.num_nodes = graph.num_nodes
        self.edges = graph.edges.numpy()
        self.weight = np.cumsum(graph.weight.numpy(), dtype=np.float64)
        if not len(self.weight) or self.weight[-1] == 0:
            raise ValueError(f"{graph} has no edge with a weight above 0, so alpha would do nothing; set alpha=0")
        self.keys = np.unique(_keys(self.edges.T, self.num_nodes))

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        """(2, count) ends of edges, with replacement, and (2, up to count) other pairs of two different nodes."""
        which = np.searchsorted(self.weight, self.rng.random(count) * self.weight[-1], side="right")
        return torch.from_numpy(self.edges[which].T.copy()), torch.from_numpy(self._apart(count))

    def _apart(self, count: int) -> NDArray[np.int64]:
        pairs = self.rng.integers(self.num_nodes, size=(2, count))
        for _ in range(_DRAWS):
            close = self._close(pairs)
            if not close.any():
                return pairs
            pairs[:, close] = self.rng.integers(self.num_nodes, size=(2, int(close.sum())))
        return pairs[:, ~self._close(pairs)]  # almost all nodes are neighbours

    def _close(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(k,) whether the two are one node or neighbours."""
        keys = _keys(pairs, self.num_nodes)
        found = self.keys[np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)] == keys
        return cast("NDArray[np.bool_]", found | (pairs[0] == pairs[1]))


def _keys(pairs: NDArray[np.int64], num_nodes: int) -> NDArray[np.int64]:
    """(k,) a number per unordered pair."""
    return cast("NDArray[np.int64]", pairs.min(axis=0) * num_nodes + pairs.max(axis=0))
