"""Graph embedding in two stages: DeepWalk vectors, then a linear classifier on those of the labelled nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from ngm.graph import Graph
from ngm.inputs.walks import deepwalk
from ngm.rows import Inputs, num_rows
from ngm.targets import encode_classes


@dataclass(eq=False, repr=False)
class TwoStage(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """DeepWalk vectors and logistic regression: the graph alone, without x.

    Args:
        dimensions: Width of a node's vector.
        length: Steps in a walk.
        walks_per_node: Walks that start at each node.
        window: Largest number of steps between two nodes that count as near.
        epochs: Passes over the walks.
        c: Inverse of the penalty on the classifier's weights, scikit-learn's `C`.
        seed: Same seed, same result.

    Attributes:
        classes_: (C,) class names.
        transduction_: (n,) class of every row that `fit` was given.
        vectors_: (n, dimensions) vector of every node.
    """

    dimensions: int = 128
    length: int = 20
    walks_per_node: int = 10
    window: int = 5
    epochs: int = 1
    c: float = 1.0
    seed: int = 0

    def fit(self, x: Inputs, y: ArrayLike, graph: Graph | None = None) -> TwoStage:
        """Learns vectors from the graph, and classes from the vectors of the labelled nodes.

        Args:
            x: (n, d) rows, one per node; only their number is used.
            y: (n,) classes, -1 = unlabelled.
            graph: Graph on n nodes.
        """
        if not self.c > 0:
            raise ValueError(f"c is {self.c}; it must be greater than 0")
        encoded = encode_classes(y, num_rows(x))
        if encoded.task != "classes":
            raise ValueError("y has several columns; TwoStage takes one class per row, -1 where unlabelled")
        if graph is None or graph.num_nodes != num_rows(x):
            graph_text = "no graph" if graph is None else f"a graph of {graph.num_nodes} nodes"
            raise ValueError(
                f"x has {num_rows(x)} rows and there is {graph_text}; give graph= with a node per row of x"
            )
        self.classes_ = encoded.classes
        self.vectors_ = deepwalk(
            graph, self.dimensions, self.length, self.walks_per_node, self.window, self.seed, self.epochs
        )
        labeled = encoded.labeled.numpy()
        classifier = LogisticRegression(C=self.c, max_iter=1000)
        classifier.fit(self.vectors_[labeled], encoded.targets.numpy()[labeled])
        self.transduction_ = self.classes_[classifier.predict(self.vectors_)]
        return self

    def predict(self, x: Inputs) -> NDArray[np.generic]:
        """Always refuses: a row that was not in the graph has no vector."""
        raise ValueError(
            "TwoStage cannot classify rows that were not in the graph; read transduction_ for those that were"
        )
