"""Folds of labels, which recipe "auto" and `diagnose` share."""

from __future__ import annotations

import numpy as np
import pytest

from ngm.recipes.folds import FOLDS, FOLDS_OF_LARGE, LARGE, label_folds


def test_folds_hold_out_every_label_once_and_classes_evenly() -> None:
    label = np.repeat([0, 1, 2, -1], [20, 20, 7, 100])
    fold = label_folds(label, label >= 0, seed=0)
    assert (fold[label == -1] == -1).all()
    for c in (0, 1):
        assert np.bincount(fold[label == c]).tolist() == [20 // FOLDS] * FOLDS
    assert sorted(np.bincount(fold[label == 2]).tolist()) == [1, 1, 1, 2, 2]


def test_the_only_label_of_a_class_is_never_held_out() -> None:
    label = np.array([0] * 7 + [1] * 2 + [2])
    fold = label_folds(label, np.ones(10, dtype=bool), seed=0)
    assert fold[9] == -1
    assert (fold[:9] >= 0).all()
    for i in range(fold.max() + 1):
        assert set(label[fold != i]) == {0, 1, 2}  # each class is always learned from


def test_label_sets_are_dealt_out_whatever_their_labels() -> None:
    labeled = np.arange(40) % 2 == 0
    fold = label_folds(None, labeled, seed=0)
    assert np.bincount(fold[labeled]).tolist() == [4] * 5
    assert (label_folds(None, np.arange(40) == 3, seed=0) == -1).all()


@pytest.mark.parametrize(("nodes", "folds"), [(LARGE, FOLDS), (LARGE + 1, FOLDS_OF_LARGE)])
def test_large_graphs_have_fewer_folds(nodes: int, folds: int) -> None:
    labeled = np.arange(nodes) < 20
    assert label_folds(np.zeros(nodes, dtype=np.int64), labeled, seed=0).max() + 1 == folds


def test_the_same_seed_gives_the_same_folds() -> None:
    label, labeled = np.arange(60) % 3, np.ones(60, dtype=bool)
    assert (label_folds(label, labeled, 1) == label_folds(label, labeled, 1)).all()
    assert (label_folds(label, labeled, 1) != label_folds(label, labeled, 2)).any()
