"""The demonstration: digits with few labels, with and without the graph, on data that comes with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from sklearn.base import clone

from ngm.build.knn import knn_graph
from ngm.datasets import Dataset, few_labels, load
from ngm.estimators.classifier import NGMClassifier
from ngm.experiments.table import Row, measured
from ngm.graph import Graph
from ngm.io.run_folder import JSON, Run
from ngm.io.run_writer import RunWriter
from ngm.metrics import accuracy
from ngm.recipes.settings import RECIPES

LABELS_PER_CLASS = (1, 2, 5, 10)
NEIGHBORS = 5
EPOCHS = 30
_VALIDATED = 10  # labels a class


@dataclass(frozen=True)
class Comparison:
    """The same network on the same labels, without and with the graph.

    Args:
        labels_per_class: How many digits of each class are labelled.
        without_graph: Mean and spread over the seeds.
        with_graph: Likewise.
        scores: Accuracy of each seed, by the names of the two rows.
        rows: Number of new digits that were scored.
    """

    labels_per_class: int
    without_graph: Row
    with_graph: Row
    scores: Mapping[str, Sequence[float]]
    rows: int

    @property
    def gain(self) -> float:
        """Accuracy that the graph adds."""
        return self.with_graph.mean - self.without_graph.mean


@dataclass(frozen=True)
class Demo:
    """What the demonstration found."""

    comparisons: Sequence[Comparison]
    graph: Graph
    folder: Path


def run(
    folder: Path,
    seeds: int = 5,
    labels_per_class: Sequence[int] = LABELS_PER_CLASS,
    on_fit: Callable[[], None] = lambda: None,
    overwrite: bool = False,
) -> Demo:
    """Trains on 1,200 digits joined to their nearest neighbours, and scores 597 others that no graph knows.

    The run that is kept has one more training, for its report: with two labels a class, and ten more to validate on.

    Args:
        folder: Where that run is kept.
        seeds: Draws of the labelled digits and of the initial weights.
        labels_per_class: How many digits of each class are labelled.
        on_fit: Called after each training.
        overwrite: Whether a run that is in the folder may be replaced.
    """
    Run.check(folder, overwrite)
    data = load("digits")
    graph = knn_graph(data.x[data.train], k=NEIGHBORS)
    batches = -(-graph.num_edges // RECIPES["paper"].batch_size)
    with_graph = NGMClassifier(recipe="paper", epochs=EPOCHS, negatives=0)
    # an epoch over a few labels is a single step, so the control gets as many epochs as makes the steps equal
    without_graph = NGMClassifier(recipe="paper", alpha_ll=0, alpha_lu=0, alpha_uu=0, epochs=EPOCHS * batches)
    comparisons = []
    for count in labels_per_class:
        row_without_graph, scores_without_graph = _measure("FFNN", without_graph, data, graph, count, seeds, on_fit)
        row_with_graph, scores_with_graph = _measure("NGM-FFNN", with_graph, data, graph, count, seeds, on_fit)
        scores = {"with_graph": scores_with_graph, "without_graph": scores_without_graph}
        comparisons.append(Comparison(count, row_without_graph, row_with_graph, scores, len(data.y[data.test])))
    chosen = comparisons[min(1, len(comparisons) - 1)]
    y = few_labels(data.y[data.train], chosen.labels_per_class + _VALIDATED, seed=0)
    share = _VALIDATED / (chosen.labels_per_class + _VALIDATED)
    estimator = clone(with_graph).set_params(validation=share)
    estimator.run_writer = RunWriter(metrics={"control": _control(chosen)})
    estimator.fit(data.x[data.train], y, graph=graph, folder=folder, overwrite=overwrite)
    on_fit()
    return Demo(comparisons, graph, folder)


def _control(comparison: Comparison) -> dict[str, JSON]:
    """What the graph was worth, and on which rows, for the run's metrics."""
    return {
        "with_graph": asdict(comparison.with_graph),
        "without_graph": asdict(comparison.without_graph),
        "scores": {name: list(scores) for name, scores in comparison.scores.items()},
        "rows": comparison.rows,
        "on": "new digits",
    }


def _measure(
    method: str,
    settings: NGMClassifier,
    data: Dataset,
    graph: Graph,
    count: int,
    seeds: int,
    on_fit: Callable[[], None],
) -> tuple[Row, list[float]]:
    """The row of a method, and the accuracy of each seed."""
    scores: list[float] = []

    def score(seed: int) -> float:
        estimator = clone(settings).set_params(seed=seed)
        estimator.fit(data.x[data.train], few_labels(data.y[data.train], count, seed), graph=graph)
        scores.append(accuracy(data.y[data.test], estimator.predict(data.x[data.test])))
        return scores[-1]

    row = measured(score, seeds, method=method, setting="inductive", dataset="digits", on_seed=on_fit)
    return row, scores
