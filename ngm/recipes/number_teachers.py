"""Teachers for numbers: cheap models that give every node a number from the numbers of some, each in its own way.

`number_stacking` weighs them as `stacking` weighs teachers of classes. One says the mean of all labels. Of each view of
the nodes there are four: a ridge regression of a node's own row; one of a few principal components; one with a Gaussian
kernel; and numbers spread over a graph that joins the nodes most alike. Of each view and graph there are the same four
with rows averaged over the neighbourhood of a node, a ridge regression of its own row beside those one and two hops
away, and the ridge regression of its own row with its errors spread over the edges. Of each graph there is one that
spreads the numbers over its edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ngm.recipes.label_matrix import Mask
from ngm.recipes.label_spreading import SPREADING, SPREADING_ALIKE, SPREADING_STEPS
from ngm.recipes.linear_models import MAX_LABELED
from ngm.recipes.node_set import AllNodes, NodeSet, at_most
from ngm.recipes.node_views import Features, Floats, NodeViews, Operators
from ngm.recipes.ridge import MAX_KERNEL_ROWS, Fitted, kernel_ridge, ridge
from ngm.recipes.teachers import Prediction


@dataclass(frozen=True, eq=False)
class NumberTargets:
    """Numbers to learn from.

    Args:
        values: (n, T) float32 with a mean near 0 and a deviation near 1; rows of unlabelled nodes are not used.
        weight: (n,) how much each label counts; all alike where None.
    """

    values: Floats
    weight: Floats | None = None

    def take(self, nodes: NDArray[np.int64]) -> NumberTargets:
        """Those of some nodes, in this order."""
        return replace(self, values=self.values[nodes], weight=None if self.weight is None else self.weight[nodes])

    def gathered(self, mask: Mask, nodes: NodeSet) -> NumberTargets:
        """Those of the nodes in a mask, of all processes, in the order of the nodes."""
        weight = None if self.weight is None else nodes.gather(self.weight[mask], mask)
        return NumberTargets(nodes.gather(self.values[mask], mask), weight)

    @property
    def relative_weight(self) -> NDArray[np.float64]:
        """(n,) weights adding up to n; all 1 where they would all be 0."""
        count = len(self.values)
        weight = np.ones(count) if self.weight is None else self.weight.astype(np.float64)
        return weight * (count / weight.sum()) if weight.sum() > 0 else np.ones(count)

    @property
    def mean(self) -> NDArray[np.float64]:
        """(T,) weighted mean."""
        return np.asarray(self.relative_weight @ self.values / len(self.values))


def predict_numbers(views: NodeViews, numbers: NumberTargets, labeled: Mask) -> Iterator[Prediction]:
    """Every teacher's numbers for all nodes, one after the other.

    Args:
        views: Of the nodes.
        numbers: Labels.
        labeled: (n,) mask of those that may be learned from.
    """
    nodes = views.nodes
    mean = np.tile(numbers.gathered(labeled, nodes).mean.astype(np.float32), (len(labeled), 1))
    yield Prediction("mean", "the mean of all labels", mean, None)
    own = {view: fit_ridge(views.features[view], numbers, labeled, nodes) for view in views.features}
    for view, found in own.items():
        words = f"ridge regression of {view}"
        yield Prediction(view, words, found.values, None, prior=2, prior_alone=4)
        if views.whole:
            yield from _of_rows(views, view, None, numbers, labeled)
    for i, graph in enumerate(views.operators):
        number = _number(views, i)
        spread = spread_numbers(graph, numbers, labeled, nodes=nodes)
        yield Prediction(f"spreading{number}", "numbers spread over the edges", spread, i)
        for view, found in own.items():
            rest = spread_errors(graph, found, numbers, labeled, nodes)
            words = f"ridge regression of {view}; its errors spread over the edges"
            yield Prediction(f"{view} corrected{number}", words, rest, i)
            around = fit_ridge(views.neighborhood(view, i), numbers, labeled, nodes).values
            words = f"ridge regression of {view} averaged over random walks"
            yield Prediction(f"{view} around{number}", words, around, i)
            if views.whole:
                yield from _of_rows(views, view, i, numbers, labeled)
            hops = fit_ridge(views.hops(view, i), numbers, labeled, nodes).values
            words = f"ridge regression of {view} beside its means one and two hops away"
            yield Prediction(f"{view} by hops{number}", words, hops, i, prior=2)


def _number(views: NodeViews, i: int | None) -> str:
    return "" if i is None or len(views.operators) == 1 else f" {i}"


def _of_rows(views: NodeViews, view: str, i: int | None, numbers: NumberTargets, labeled: Mask) -> Iterator[Prediction]:
    """Teachers of the bare rows of a view, or of its means over the neighbourhoods in graph i.

    Args:
        views: Of the nodes.
        view: Name.
        i: Number of the graph, or None.
        numbers: Labels.
        labeled: (n,) mask of those that may be learned from.
    """
    number = _number(views, i)
    name, means = (view, view) if i is None else (f"{view} around", f"{view} averaged over random walks")
    few = fit_ridge(views.components(view, i), numbers, labeled).values
    yield Prediction(f"{name} components{number}", f"ridge regression of a few components of {means}", few, i)
    alike = views.alike(view, i)
    if alike is None:
        return
    rows = views.reduced(view) if i is None else views.neighborhood(view, i)
    ids = at_most(np.flatnonzero(labeled), MAX_KERNEL_ROWS)
    known = numbers.take(ids)
    curved = kernel_ridge(rows, ids, known.values.astype(np.float64), known.relative_weight).values
    words = f"ridge regression of {means} with a Gaussian kernel"
    yield Prediction(f"{name} kernel{number}", words, curved, i, prior=2, prior_alone=4)
    spread = spread_numbers(alike, numbers, labeled, SPREADING_ALIKE)
    words = f"numbers spread over nodes with alike {'rows' if i is None else 'neighbourhoods'} ({view})"
    yield Prediction(f"{name} alike{number}", words, spread, i)


def fit_ridge(rows: Features, numbers: NumberTargets, labeled: Mask, nodes: NodeSet | None = None) -> Fitted:
    """A ridge regression on the labelled rows; on some of them where there are many.

    Args:
        rows: (n, d), of length 1 or so.
        numbers: Labels.
        labeled: (n,) mask of those that may be learned from.
        nodes: Where the nodes are; all in this process where None.
    """
    nodes = nodes or AllNodes(len(labeled))
    drawn = nodes.draw(labeled, MAX_LABELED if rows.shape[1] < MAX_KERNEL_ROWS else MAX_KERNEL_ROWS)
    known = numbers.gathered(drawn, nodes)
    known_rows = nodes.gather(rows[np.flatnonzero(drawn)], drawn)
    return ridge(rows, known_rows, known.values.astype(np.float64), known.relative_weight)


def spread_numbers(
    graph: Operators, numbers: NumberTargets, labeled: Mask, share: float = SPREADING, nodes: NodeSet | None = None
) -> Floats:
    """(n, T) means of the labels near each node; where few are near, the mean of all labels.

    What is spread over the normalised adjacency is each label's difference from the mean, and a weight of 1: their
    quotient is a weighted mean of the labels around a node. To the weight the mean weight of all nodes is added.

    Args:
        graph: Over the n nodes.
        numbers: Labels.
        labeled: (n,) mask of those that may be learned from.
        share: That a node takes from its neighbours in each step; a key of `SPREADING_STEPS`.
        nodes: Where the nodes are; all in this process where None.
    """
    nodes = nodes or AllNodes(len(labeled))
    known = numbers.gathered(labeled, nodes)
    mean, weight = known.mean.astype(np.float32), nodes.scatter(known.relative_weight, labeled)
    return mean + _near(graph, labeled, numbers.values[labeled] - mean, weight, share, nodes)


def spread_errors(
    graph: Operators, fitted: Fitted, numbers: NumberTargets, labeled: Mask, nodes: NodeSet | None = None
) -> Floats:
    """(n, T) predictions with the mean error near each node added; errors are of models without the node.

    Args:
        graph: Over the n nodes.
        fitted: Predictions of all nodes; of the labelled ones, those without their own label too.
        numbers: Labels.
        labeled: (n,) mask of those that may be learned from.
        nodes: Where the nodes are; all in this process where None.
    """
    nodes = nodes or AllNodes(len(labeled))
    weight = numbers.gathered(labeled, nodes).relative_weight
    if len(weight) != len(fitted.left_out):  # fitted to some of them only, which is many
        errors = numbers.values[labeled] - fitted.values[labeled]
    else:
        errors = numbers.values[labeled] - nodes.scatter(fitted.left_out, labeled)
    return fitted.values + _near(graph, labeled, errors, nodes.scatter(weight, labeled), SPREADING, nodes)


def _near(
    graph: Operators, labeled: Mask, values: Floats, weight: NDArray[np.float64], share: float, nodes: NodeSet
) -> Floats:
    """(n, T) weighted means near each node of values at some, pulled to 0 where few of these are near."""
    start = np.zeros((len(labeled), values.shape[1] + 1), dtype=np.float32)
    start[labeled] = np.hstack([values, np.ones((len(values), 1))]) * weight[:, None]
    found = graph.spread(start, share, SPREADING_STEPS[share])
    usual = np.float32(max(float(nodes.mean(found[:, -1])), 1e-12))
    return np.asarray(found[:, :-1] / (found[:, -1:] + usual), dtype=np.float32)
