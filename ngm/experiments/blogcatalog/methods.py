"""The methods of the BlogCatalog table: each gives every node a score for every label, from some labelled nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from torch import Tensor
from torch.nn import functional as F

from ngm import Optimizer, inputs
from ngm.comparators.one_vs_rest import LinearOneVsRest
from ngm.datasets import Dataset
from ngm.distances import l2
from ngm.estimators.classifier import NGMClassifier
from ngm.graph import Graph
from ngm.networks import FFNN
from ngm.networks.one_vs_rest import OneVsRest, separate
from ngm.objective import NGMLoss, NodeCost
from ngm.rows import take_rows
from ngm.sampling import EdgeLoader
from ngm.training import seeded, train

Ids = NDArray[np.int64]
Floats = NDArray[np.floating]
_PREDICTED_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class Bloggers:
    """The data, and inputs made from its graph once for all methods and splits."""

    data: Dataset

    @cached_property
    def graph(self) -> Graph:
        """The friendships."""
        if self.data.graph is None:
            raise ValueError(f"data set {self.data.name!r} has no graph")
        return self.data.graph

    @cached_property
    def rows(self) -> inputs.adjacency.Table:
        """(n, n) adjacency rows of length 1 in which a friend with many friends counts for less.

        Without the two, a blogger with 4,000 friends drowns the others, as an input and as a row.
        """
        friends = np.asarray(self.data.rows.sum(axis=1)).ravel()
        return normalize(sp.csr_array(self.data.rows @ sp.diags_array((1 / np.sqrt(friends)).astype(np.float32))))

    @cached_property
    def node2vec(self) -> Floats:
        """(n, 128) by its authors' settings for this graph: p = q = 0.25, 10 walks of 80, window 10; two passes."""
        return inputs.node2vec(self.graph, 128, p=0.25, q=0.25, length=80, walks_per_node=10, window=10, epochs=2)

    @cached_property
    def deepwalk(self) -> Floats:
        """(n, 128) from the same number of unbiased walks."""
        return inputs.deepwalk(self.graph, 128, length=80, walks_per_node=10, window=10, epochs=2)

    @cached_property
    def netmf(self) -> Floats:
        """(n, 128) with its authors' settings for this graph: window 10, one negative, rank 256."""
        return inputs.netmf(self.graph, 128)

    @cached_property
    def wide_netmf(self) -> Floats:
        """(n, 256) of the same matrix."""
        return inputs.netmf(self.graph, 256)

    def training_labels(self, labeled: Ids) -> NDArray[np.float32]:
        """(n, L) labels of the nodes `labeled`, -1 elsewhere."""
        y = np.full(self.data.y.shape, -1, dtype=np.float32)
        y[labeled] = self.data.y[labeled]
        return y


Scorer = Callable[[Bloggers, Ids, int], Floats]
"""(data, ids of labelled nodes, seed) -> (n, L) logits of all nodes; where nothing else is said, 0 is the threshold."""


@dataclass(frozen=True)
class BlogCatalogMethod:
    """A row of the table.

    Args:
        name: As printed.
        candidates: By their settings in words; validation chooses where there are several.
        folds: Parts of the training nodes that are held out in turn to choose thresholds; 1 holds out a fifth, once.
        published: Macro-F1 of the paper by training share in percent; independent decisions.
        package: What must be installed for it.
        needs: Attribute of `Bloggers` that is made once, before any split is timed.
    """

    name: str
    candidates: Mapping[str, Scorer]
    folds: int = 3
    published: Mapping[int, float] = field(default_factory=dict)
    package: str | None = None
    needs: str = "rows"


def linear(vectors: str) -> Scorer:
    """One-vs-rest logistic regression with scikit-learn's default penalty on node vectors."""

    def scores(bloggers: Bloggers, labeled: Ids, seed: int) -> Floats:
        x: Floats = getattr(bloggers, vectors)
        return LinearOneVsRest().fit(x, bloggers.training_labels(labeled)).decision_function(x)

    return scores


@dataclass(frozen=True)
class LabelNetworks:
    """The paper's networks: one for each label, one hidden layer of 50, adjacency rows as inputs, l2 across edges.

    Args:
        alpha: Of all three kinds of edge; 0 is the control without the graph.
        steps: Number of batches, in whole passes, where at most 30 %, at most 60 % or more of the nodes are labelled:
            more labels take longer to learn.
        batch_size: Edges in a batch; a quarter as many labelled nodes.
        learning_rate: Of Adam.
        weight_decay: On all weights.
        balance: Positives count (negatives / positives) ** balance times as much as negatives. The paper's weighted
            sampling sees to it that batches have both; with one batch for all 39 networks, weights do the same.
    """

    alpha: float
    steps: tuple[int, int, int]
    batch_size: int = 8192
    learning_rate: float = 0.01
    weight_decay: float = 1e-3
    balance: float = 1.0

    def __call__(self, bloggers: Bloggers, labeled: Ids, seed: int) -> Floats:
        """(n, L) logits."""
        y_train, labels = bloggers.data.y[labeled], bloggers.data.y.shape[1]
        loss = NGMLoss(
            alpha_ll=self.alpha,
            alpha_lu=self.alpha,
            alpha_uu=self.alpha,
            distance=separate(l2, labels),
            cost=weighted_bce(y_train, self.balance),
            scaling="mean",
        )
        loader = EdgeLoader(
            bloggers.rows,
            bloggers.training_labels(labeled),
            bloggers.graph if self.alpha else None,
            batch_size=self.batch_size if self.alpha else self.batch_size // 4,
            seed=seed,
        )
        labeled_fraction = len(labeled) / bloggers.graph.num_nodes
        steps = self.steps[(labeled_fraction > 0.3) + (labeled_fraction > 0.6)]
        with seeded(seed):
            network = OneVsRest(bloggers.graph.num_nodes, labels)
        train(
            network,
            loader,
            loss,
            epochs=max(1, round(steps / len(loader))),
            seed=seed,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
        )
        network.eval()
        with torch.inference_mode():
            parts = torch.split(torch.arange(bloggers.graph.num_nodes), _PREDICTED_AT_ONCE)
            return torch.cat([network(take_rows(bloggers.rows, part)) for part in parts]).numpy()


def weighted_bce(y_true: NDArray[np.int64], balance: float) -> NodeCost:
    """Cross-entropy of each label by itself, in which rare positives count for more; a label's weights average to 1.

    Args:
        y_true: (l, L) labels of the training nodes.
        balance: See `LabelNetworks`.
    """
    frequency = torch.from_numpy(y_true.mean(axis=0)).float().clamp(1 / len(y_true), 1 - 1 / len(y_true))  # (L,)
    positive = ((1 - frequency) / frequency) ** balance
    negative = 1 / (positive * frequency + 1 - frequency)

    def cost(logits: Tensor, y: Tensor) -> Tensor:
        loss = F.binary_cross_entropy_with_logits(logits, y, reduction="none")
        return (loss * torch.where(y > 0.5, positive * negative, negative)).sum(dim=1)

    return cost


@dataclass(frozen=True)
class JointNetwork:
    """One linear network for all labels together on wide vectors of length 1, attracted across the edges.

    Args:
        alpha: Of all three kinds of edge, between the logits of both ends.
        penalty: As C in scikit-learn: weight decay is 1 / (penalty * labelled nodes).
        steps: Number of batches.
        batch_size: Edges in a batch.
    """

    alpha: float
    penalty: float = 2.0
    steps: int = 160
    batch_size: int = 8192

    def __call__(self, bloggers: Bloggers, labeled: Ids, seed: int) -> Floats:
        """(n, L) logits."""
        x = bloggers.wide_netmf
        batched = bloggers.graph.num_edges if self.alpha else len(labeled)
        network = NGMClassifier(
            hidden=(),
            recipe="paper",
            alpha_ll=self.alpha,
            alpha_lu=self.alpha,
            alpha_uu=self.alpha,
            negatives=0,
            graph_screen=False,
            validation=None,
            batch_size=self.batch_size,
            epochs=round(self.steps / -(-batched // self.batch_size)),
            learning_rate=0.1,
            seed=seed,
            network=FFNN(input_scaling="unit_rows"),
            optimizer=Optimizer(weight_decay=1 / (self.penalty * len(labeled)), ema_decay=0.98),
        )
        graph = bloggers.graph if self.alpha else None
        network.fit(x, bloggers.training_labels(labeled).astype(np.int64), graph=graph)
        p = np.clip(network.predict_proba(x).astype(np.float64), 1e-12, 1 - 1e-12)
        return np.log(p / (1 - p))


def _on_vectors(
    name: str, vectors: str, published: Mapping[int, float] | None = None, walks: bool = False
) -> BlogCatalogMethod:
    package = "gensim" if walks else None
    return BlogCatalogMethod(
        f"{name} + linear", {"": linear(vectors)}, published=published or {}, package=package, needs=vectors
    )


METHODS: dict[str, BlogCatalogMethod] = {
    "ffnn": BlogCatalogMethod("FFNN (alpha = 0)", {"": LabelNetworks(alpha=0.0, steps=(12, 22, 22))}, folds=1),
    "ngm": BlogCatalogMethod(
        "NGM-FFNN",
        {"": LabelNetworks(alpha=0.1, steps=(41, 82, 123))},
        folds=1,
        published={20: 0.191, 50: 0.242, 80: 0.262},
    ),
    "node2vec": _on_vectors("node2vec", "node2vec", {20: 0.168, 50: 0.174, 80: 0.177}, walks=True),
    "deepwalk": _on_vectors("DeepWalk", "deepwalk", walks=True),
    "netmf": _on_vectors("NetMF", "netmf"),
    "ours-plain": BlogCatalogMethod(
        "NGM (ours), alpha = 0",
        {f"penalty = {c}": JointNetwork(alpha=0.0, penalty=c) for c in (2.0, 4.0)},
        folds=2,
        needs="wide_netmf",
    ),
    "ours": BlogCatalogMethod(
        "NGM (ours)", {f"alpha = {a}": JointNetwork(alpha=a) for a in (0.003, 0.01)}, folds=2, needs="wide_netmf"
    ),
}
