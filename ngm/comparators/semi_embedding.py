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

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch.nn import functional as F

from ngm.comparators.linear import TrainingSet, check_numbers, check_training_set, scaled
from ngm.graph import Graph
from ngm.networks.ffnn import FFNNModule
from ngm.networks.tap import check_layer, tap
from ngm.recipes.contrastive_pairs import PairSampler, embedding_loss
from ngm.rows import Inputs, num_rows, take_rows
from ngm.training import optimizer_step, seeded

_PREDICTED_AT_ONCE = 8192  # rows


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
        data = check_training_set(self, x, y, graph, needs_graph=self.alpha > 0)
        pairs = None if self.alpha == 0 or graph is None else PairSampler(graph, self.seed)
        with seeded(self.seed):
            self.network_ = FFNNModule(
                data.x.shape[1],
                len(data.classes),
                hidden=tuple(self.hidden),
                dropout=self.dropout,
                input_dropout=self.input_dropout,
            )
        check_layer(self.network_, self.layer)
        with seeded(self.seed, 1):
            self._train(data, pairs)
        self.classes_ = data.classes
        self.transduction_ = self.predict(data.x)
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

    def _train(self, data: TrainingSet, pairs: PairSampler | None) -> None:
        rows, targets = scaled(data.x, self.unit_rows), torch.from_numpy(data.targets)
        labeled = np.flatnonzero(data.labeled)
        rng = np.random.default_rng([self.seed, 0])  # apart from that of the pairs: same labelled rows whatever alpha
        optimizer = torch.optim.Adam(self.network_.parameters(), self.learning_rate, weight_decay=self.weight_decay)
        self.network_.train()
        for _ in range(self.steps):
            use_all = len(labeled) <= self.batch_size
            batch = torch.from_numpy(labeled if use_all else rng.choice(labeled, self.batch_size, replace=False))
            joined, apart = pairs.draw(self.batch_size) if pairs else (batch.new_zeros(2, 0), batch.new_zeros(2, 0))
            nodes, inverse = torch.unique(torch.cat([batch, joined.flatten(), apart.flatten()]), return_inverse=True)
            logits, hidden = tap(self.network_, take_rows(rows, nodes), [self.layer] if pairs else [])
            loss = F.cross_entropy(F.embedding(inverse[: len(batch)], logits), targets[batch])
            if pairs:
                pair_rows = [part.view(2, -1) for part in inverse[len(batch) :].split([joined.numel(), apart.numel()])]
                loss = loss + self.alpha * embedding_loss(hidden[self.layer], pair_rows[0], pair_rows[1], self.margin)
            optimizer_step(optimizer, loss)
