"""A classifier that says what a test wants, and small problems for rounds of self-training and co-training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ngm import Graph, NGMClassifier, SelfTraining

Labels = NDArray[np.int64]


@dataclass(eq=False, repr=False)
class Stub(ClassifierMixin, BaseEstimator):
    """A classifier that says of each node what `says(node ids, what it was told)` says; `note` hears every fit."""

    says: Callable[[Labels, Labels], NDArray[np.floating]]
    note: Callable[[object, object], None] | None = None
    validation: object = None
    seed: int = 0

    def fit(self, x: NDArray[np.floating], y: Labels, graph: Graph | None = None) -> Stub:
        if self.note is not None:
            self.note(np.asarray(y).tolist(), self.validation)
        self.told_, self.classes_ = np.asarray(y), np.arange(9)
        return self

    def predict_proba(self, x: NDArray[np.floating]) -> NDArray[np.floating]:
        return self.says(np.asarray(x)[:, 0].astype(int), self.told_)

    def predict(self, x: NDArray[np.floating]) -> NDArray[np.generic]:
        return self.classes_[self.predict_proba(x).argmax(axis=1)]


def nodes(count: int) -> NDArray[np.float32]:
    """Inputs that are node ids."""
    return np.arange(count, dtype=np.float32)[:, None]


def path(count: int) -> Graph:
    return Graph.from_edges([[i, i + 1] for i in range(count - 1)])


def always(table: list[list[float]]) -> Callable[[Labels, Labels], NDArray[np.floating]]:
    return lambda ids, told: np.array(table)[ids]


def fitted(
    says: Callable[[Labels, Labels], NDArray[np.floating]],
    y: list[object],
    graph: Graph | None,
    truth: list[object] | None = None,
    validation: object = None,
    **settings: object,
) -> tuple[SelfTraining, list[list[object]], list[object]]:
    """(the fitted one, what each training was told, what each was given for validation)."""
    told: list[list[object]] = []
    validations: list[object] = []

    def note(y: list[object], validation: object) -> None:
        told.append(y)
        validations.append(validation)

    model = SelfTraining(Stub(says, note, validation), **settings)
    return model.fit(nodes(len(y)), y, graph=graph, truth=truth), told, validations


def planted(seed: int) -> tuple[NDArray[np.float32], Labels, Labels, Graph]:
    """(x, truth, y, graph): two noisy classes of 60 that edges mostly keep apart; three labels of each."""
    rng = np.random.default_rng(seed)
    truth = np.arange(120) % 2
    x = rng.normal(size=(120, 10)) + np.where(np.arange(10) < 4, truth[:, None] - 0.5, 0)
    ends = rng.integers(120, size=(720, 2))
    kept = (truth[ends[:, 0]] == truth[ends[:, 1]]) | (rng.random(720) < 0.06)
    y = np.where(np.arange(120) < 6, truth, -1)
    return x.astype(np.float32), truth, y, Graph.from_edges(ends[kept], num_nodes=120)


def network(seed: int, alpha: float, epochs: int) -> NGMClassifier:
    alphas = {"alpha_ll": alpha, "alpha_lu": alpha, "alpha_uu": alpha}
    return NGMClassifier(hidden=(8,), epochs=epochs, batch_size=128, learning_rate=0.02, seed=seed, **alphas)


def halves(ids: Labels, told: Labels) -> NDArray[np.floating]:
    """Nodes below 4 are of class 0, others of class 1: the truth on a path of 7."""
    return np.where((ids < 4)[:, None], [0.9, 0.1], [0.2, 0.8])


def right_when(counts: set[int]) -> Callable[[Labels, Labels], NDArray[np.floating]]:
    """Right after trainings on so many labels, else wrong."""

    def says(ids: Labels, told: Labels) -> NDArray[np.floating]:
        right = halves(ids, told)
        return right if int((told >= 0).sum()) in counts else right[:, ::-1]

    return says
