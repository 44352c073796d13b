"""Labels spread for all folds at once."""

from __future__ import annotations

import numpy as np
import pytest

from ngm.recipes import label_spreading
from ngm.recipes.folds import fold_masks, label_folds
from ngm.recipes.label_matrix import Targets
from ngm.recipes.label_spreading import SPREADING, SPREADING_ALIKE, spread_for_folds, spread_labels
from ngm.recipes.node_views import Floats, GraphOperators
from ngm.recipes.stacking import stack_teachers
from tests.three_classes import CLASS, GRAPH, LABELED, TARGETS, N, views

SEVERAL = Targets(np.eye(3, dtype=np.float32)[CLASS] + np.eye(3, dtype=np.float32)[(CLASS + 1) % 3], multilabel=True)
WEIGHTED = Targets(TARGETS.values, weight=np.linspace(0.5, 2, N, dtype=np.float32))


class CountedOperators(GraphOperators):
    """Notes how many columns each call of `spread` had."""

    columns: list[int]

    def spread(self, seeds: Floats, share: float, steps: int) -> Floats:
        self.columns.append(seeds.shape[1])
        return super().spread(seeds, share, steps)


def counted() -> CountedOperators:
    operators = CountedOperators(GRAPH)
    operators.columns = []
    return operators


@pytest.mark.parametrize("share", [SPREADING, SPREADING_ALIKE])
@pytest.mark.parametrize("targets", [TARGETS, WEIGHTED, SEVERAL], ids=["classes", "weighted", "label sets"])
def test_all_folds_in_one_go_are_what_each_is_alone(targets: Targets, share: float) -> None:
    nodes, graph = views(), counted()
    fold = label_folds(CLASS, LABELED, seed=0)
    masks = fold_masks(LABELED, fold, int(fold.max()) + 1)
    with nodes.masks.expecting(masks):
        together = [spread_for_folds(nodes, graph, targets, mask, share) for mask in masks]
    assert graph.columns == [3 * len(masks)]
    for mask, found in zip(masks, together, strict=True):
        np.testing.assert_array_equal(found, spread_labels(GraphOperators(GRAPH), targets, mask, share))


def test_labels_that_nobody_announced_or_too_many_of_them_are_spread_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, graph, other = views(), counted(), LABELED.copy()
    with nodes.masks.expecting([LABELED, LABELED]):
        spread_for_folds(nodes, graph, TARGETS, other)  # the same labels, but another array
    spread_for_folds(nodes, graph, TARGETS, LABELED)  # no longer expected
    monkeypatch.setattr(label_spreading, "MAX_ENTRIES", N)
    with nodes.masks.expecting([LABELED, other]):
        spread_for_folds(nodes, graph, TARGETS, LABELED)
    assert graph.columns == [3, 3, 3]
    assert not nodes.masks.computed


def test_teachers_spread_once_for_each_graph_and_leave_nothing_behind() -> None:
    nodes, graph = views(), counted()
    nodes.operators[0] = graph
    stack_teachers(nodes, TARGETS, LABELED, seed=0)
    assert graph.columns == [3 * 5]  # all labels, and four folds of four labels a class
    assert not nodes.masks.masks
    assert not nodes.masks.computed
