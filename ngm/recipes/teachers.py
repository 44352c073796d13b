"""Teachers: cheap models that label every node from the labels of some, each in its own way.

None is best everywhere, so `stacking` weighs them by labels that they have not seen. Of each view of the nodes there
are four: a linear model of a node's own row; one that has also learned from its surest predictions; a linear model of a
few principal components; and labels spread over a graph that joins the nodes most alike. Of each view and graph there
are the same four with rows averaged over the neighbourhood of a node, a linear model of its own row beside those one
and two hops away, and smoothed predictions of both (Eq. 2 with a linear model as its prior). Of each graph there is one
that spreads the labels over its edges. Where a view has few columns, linear models with a graph have a kernel beside
them: nothing straight could say of a ring, or of two moons, where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.label_spreading import SPREADING_ALIKE, spread_for_folds
from ngm.recipes.linear_models import linear_proba, self_trained
from ngm.recipes.node_views import Features, Floats, NodeViews


@dataclass(frozen=True, eq=False)
class Prediction:
    """What one teacher says of the nodes.

    Args:
        name: Of the teacher; with the number of its graph where there are several.
        description: What it does, in words.
        values: (n, C) probabilities; (n, T) numbers where numbers are predicted.
        graph: Number of the graph that it uses; None where it uses none of those that were given.
        prior: How much it weighs before any label is held out, beside others of 1.
        prior_alone: The same among those that use no graph, where no graph is to be trusted.
    """

    name: str
    description: str
    values: Floats
    graph: int | None
    prior: float = 1.0
    prior_alone: float = 1.0


TeacherSet: TypeAlias = Callable[[NodeViews, Targets, Mask], Iterator[Prediction]]
"""(views of the nodes, labels, (n,) mask of those to learn from) -> what each teacher says of all nodes."""


def predict_all(views: NodeViews, targets: Targets, labeled: Mask) -> Iterator[Prediction]:
    """Every teacher's labels for all nodes, one after the other.

    Args:
        views: Of the nodes.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.
    """
    for view in views.features:
        yield from _without_graph(views, view, targets, labeled)
    for i in range(len(views.operators)):
        yield from _with_graph(views, i, targets, labeled)


def _without_graph(views: NodeViews, view: str, targets: Targets, labeled: Mask) -> Iterator[Prediction]:
    own = linear_proba(views.features[view], targets, labeled, nodes=views.nodes)
    yield Prediction(view, f"linear model of {view}", own, None, prior=2, prior_alone=9)
    if views.whole:
        yield from _of_rows(views, view, None, views.features[view], own, targets, labeled)


def _with_graph(views: NodeViews, i: int, targets: Targets, labeled: Mask) -> Iterator[Prediction]:
    number = "" if len(views.operators) == 1 else f" {i}"
    graph = views.operators[i]
    spread = spread_for_folds(views, graph, targets, labeled)
    yield Prediction(f"spreading{number}", "labels spread over the edges", spread, i)
    for view in views.features:
        rows = views.with_kernel_features(view, views.neighborhood(view, i))
        around = linear_proba(rows, targets, labeled, nodes=views.nodes)
        means = f"{view} averaged over random walks"
        yield Prediction(f"{view} around{number}", f"linear model of {means}", around, i)
        if views.whole:
            yield from _of_rows(views, view, i, rows, around, targets, labeled)
        smoothed, alike = f"{view} around smoothed{number}", views.alike(view, i)
        over = "the graph" if alike is None else "nodes with alike neighbourhoods"
        words = f"linear model of {means}; its predictions averaged over {over}"
        yield Prediction(smoothed, words, (alike or graph).smoothed(around), i, prior=2)
        hops = linear_proba(views.with_kernel_features(view, views.hops(view, i)), targets, labeled, nodes=views.nodes)
        words = f"linear model of {view} beside its means one and two hops away"
        yield Prediction(f"{view} by hops{number}", words, hops, i)
        words = f"{words}; its predictions averaged over the graph"
        yield Prediction(f"{view} by hops smoothed{number}", words, graph.smoothed(hops), i)


def _of_rows(
    views: NodeViews, view: str, i: int | None, rows: Features, proba: Floats, targets: Targets, labeled: Mask
) -> Iterator[Prediction]:
    """Teachers of the bare rows of a view, or of its means over the neighbourhoods in graph i.

    Args:
        views: Of the nodes.
        view: Name.
        i: Number of the graph, or None.
        rows: (n, d) of the nodes, for a linear model.
        proba: (n, C) of a linear model of them.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.
    """
    number = "" if i is None or len(views.operators) == 1 else f" {i}"
    name, means = (view, view) if i is None else (f"{view} around", f"{view} averaged over random walks")
    if not targets.multilabel:
        found, words = self_trained(rows, proba, targets, labeled), f"linear model of {means}; learns from itself, too"
        yield Prediction(f"{name} self-trained{number}", words, found, i)
    components = views.components(view, i)
    found, words = (
        linear_proba(components if i is None else views.with_kernel_features(view, components), targets, labeled),
        f"linear model of a few components of {means}",
    )
    yield Prediction(f"{name} components{number}", words, found, i, prior=1 if i is None else 2)
    alike = views.alike(view, i)
    if alike is not None:
        found = spread_for_folds(views, alike, targets, labeled, SPREADING_ALIKE)
        words = f"labels spread over nodes with alike {'rows' if i is None else 'neighbourhoods'} ({view})"
        yield Prediction(f"{name} alike{number}", words, found, i, prior=2 if i is None else 8)


def relearn(
    views: NodeViews, proba: Floats, targets: Targets, labeled: Mask, weight_alone: float, weight_of_graphs: list[float]
) -> Iterator[Prediction]:
    """Linear models that learn from the labels and from what all teachers together are surest of.

    Args:
        views: Of the nodes.
        proba: (n, C) of all teachers together.
        targets: Labels, one a node.
        labeled: (n,) mask of those that may be learned from.
        weight_alone: Weight of the teachers that use no graph: the models of bare rows have it, too.
        weight_of_graphs: Weight of the teachers of each graph, likewise.
    """
    number = ["" if len(views.operators) == 1 else f" {i}" for i in range(len(views.operators))]
    for view in views.features:
        own = views.with_kernel_features(view, views.features[view])
        yield _relearned(view, view, own, proba, targets, labeled, None, weight_alone)
        for i, weight in enumerate(weight_of_graphs):
            for name, words, rows in (
                (f"{view} around", f"{view} averaged over random walks", views.neighborhood(view, i)),
                (f"{view} by hops", f"{view} beside its means one and two hops away", views.hops(view, i)),
            ):
                curved = views.with_kernel_features(view, rows)
                yield _relearned(f"{name}{number[i]}", words, curved, proba, targets, labeled, i, weight / 2)


def _relearned(
    name: str,
    words: str,
    rows: Features,
    proba: Floats,
    targets: Targets,
    labeled: Mask,
    graph: int | None,
    prior: float,
) -> Prediction:
    values = self_trained(rows, proba, targets, labeled)
    return Prediction(
        f"{name} relearned", f"linear model of {words}; learns from all teachers", values, graph, prior=prior
    )
