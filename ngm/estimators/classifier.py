"""`NGMClassifier`: Neural Graph Machines with scikit-learn's contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from torch import Tensor

from ngm.estimators.base import NGMEstimator
from ngm.parameters import with_settings
from ngm.targets import TaskName
from ngm.task import ClassTask, Task, class_task, read_classes
from ngm.text.readers import Given


@with_settings
@dataclass(eq=False, repr=False)
class NGMClassifier(ClassifierMixin, NGMEstimator):  # type: ignore[misc]
    """Trains a network on few labelled and many unlabelled rows joined by a graph; predicts without the graph.

    y is (n,) integers or strings with -1, None or NaN for unlabelled rows; or (n, L) zeros and ones where a row may
    have several labels; or (n, C) shares that add up to 1 (soft labels). The strings "-1", "-1.0", "nan", "None",
    "<NA>" and "NaT", which numpy and pandas make of missing values beside strings, mark unlabelled rows too, with an
    `UnlabeledStringWarning` where they may have been meant as a class. x has a row for every node of the graph: a
    table, or a list of strings for networks that read texts. Nodes without edges and labels (test nodes left out of the
    graph) take no part in training.

    By default (recipe "auto") teachers label every node of the graph softly, and the network learns these labels:
    linear models on the rows and on the rows around each node, and labels spread over the edges. Each teacher is
    weighted by how well it predicts labels that were held out of its training, so a graph that does not know the
    classes gets little weight. Teachers ignore the direction of edges. Inputs that are no table (images, mappings, rows
    of one's own) are taught by spreading alone. Without a graph there are no teachers: a plain network is trained on
    the labelled rows, with the dropout, weight decay and averaging of the recipe.

    Args:
        {settings}

    Attributes:
        classes_: (C,) class names, or label numbers 0 to L - 1.
        network_: The trained network, for use without this library.
        history_: Cost terms, |h| and validation metric of every epoch.
        edges_by_kind_: How many LL, LU and UU edges were trained on.
        n_iter_: Epochs done.
        steps_per_epoch_: Batches in each.
        settings_: What was used where a setting is None; `settings_.recipe` is the recipe that was followed.
        graphs_used_: For each graph, whether it was used; False where it told nothing.
        teachers_: Weight and held-out score of each teacher, and the score of all together with its interval; those of
            "strong" have weights alone. None where there were none.
        vocabulary_: Words of the training texts ("lstm").

    >>> from ngm import Graph
    >>> x = np.array([[0.0], [0.1], [1.0], [1.1]], dtype=np.float32)
    >>> NGMClassifier(epochs=50).fit(x, [0, -1, 1, -1], graph=Graph.from_edges([[0, 1], [2, 3]])).predict(x)
    array([0, 0, 1, 1])
    """

    _any_task: ClassVar[TaskName] = "classes"

    def predict(self, x: Given) -> NDArray[np.generic]:
        """Classes (n,), or zeros and ones (n, L) where rows may have several labels."""
        proba = self.predict_proba(x)
        return self._task.decode(proba)

    def predict_proba(self, x: Given) -> NDArray[np.floating]:
        """(n, C) shares that add up to 1, or (n, L) probabilities of each label by itself."""
        logits = self._run(x, lambda rows: self.network_(rows))
        out: NDArray[np.floating] = self._task.squash(torch.from_numpy(logits)).numpy()
        return out

    def score(self, x: Given, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy over the labelled rows; of several labels, the share of rows with all of them right.

        Of soft labels, the largest is the right one.
        """
        return self._task.score(self.predict(x), y, sample_weight)

    def _read_targets(self, y: ArrayLike, rows: int) -> tuple[Task, Tensor, Tensor]:
        return read_classes(y, rows)

    @property
    def _task(self) -> ClassTask:
        return class_task(self.task_, self.classes_)

    def _set_task(self, task: Task) -> None:
        self.task_, self.classes_ = task.name, cast(ClassTask, task).classes

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
