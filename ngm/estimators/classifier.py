"""`NGMClassifier`: Neural Graph Machines with scikit-learn's contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from torch import Tensor
from torch.nn import functional as F

from ngm._input_checks import one_graph
from ngm.distributed import from_first, rank_and_world
from ngm.estimators.base import NGMEstimator
from ngm.estimators.problem import Problem
from ngm.io.node_records import label_set
from ngm.io.run_folder import JSON
from ngm.metrics import accuracy, f1
from ngm.parameters import with_settings
from ngm.recipes.auto import soft_targets
from ngm.recipes.label_matrix import Targets, check_class_prior
from ngm.recipes.strong_teachers import taught
from ngm.recipes.text_training import own_views, text_targets
from ngm.targets import Task, as_array, encode_classes, labeled_accuracy, unlabeled_rows
from ngm.text.readers import Given, Texts


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
        teachers_: Weight and held-out score of each teacher of "auto", and the score of all together with its interval;
            None where there were none.
        vocabulary_: Words of the training texts ("lstm").

    >>> from ngm import Graph
    >>> x = np.array([[0.0], [0.1], [1.0], [1.1]], dtype=np.float32)
    >>> NGMClassifier(epochs=50).fit(x, [0, -1, 1, -1], graph=Graph.from_edges([[0, 1], [2, 3]])).predict(x)
    array([0, 0, 1, 1])
    """

    def predict(self, x: Given) -> NDArray[np.generic]:
        """Classes (n,), or zeros and ones (n, L) where rows may have several labels."""
        scores = self.predict_proba(x)
        if self.task_ == "labels":
            return (scores > 0.5).astype(np.int64)
        predicted: NDArray[np.generic] = self.classes_[scores.argmax(axis=1)]
        return predicted

    def predict_proba(self, x: Given) -> NDArray[np.floating]:
        """(n, C) shares that add up to 1, or (n, L) probabilities of each label by itself."""
        logits = self._run(x, lambda rows: self.network_(rows))
        out: NDArray[np.floating] = self._squash(torch.from_numpy(logits)).numpy()
        return out

    def score(self, x: Given, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy over the labelled rows; of several labels, the share of rows with all of them right.

        Of soft labels, the largest is the right one.
        """
        truth = as_array(y)
        if self.task_ == "soft" and truth.ndim == 2:
            known = ~unlabeled_rows(truth)
            truth = np.where(known, self.classes_[truth.argmax(axis=1)], -1)
        return labeled_accuracy(self.predict(x), truth, sample_weight)

    def _encode(self, y: ArrayLike, rows: int) -> tuple[Tensor, Tensor]:
        encoded = encode_classes(y, rows)
        self.classes_, self.task_ = encoded.classes, encoded.task
        return encoded.targets, encoded.labeled

    def _encode_known(self, y: ArrayLike, rows: int, columns: int) -> Tensor:
        encoded = encode_classes(y, rows, classes=self.classes_)
        certain = encoded.task == "labels" and bool((encoded.targets.sum(dim=1) == 1).all())
        task = "soft" if certain and self.task_ == "soft" else encoded.task  # shares that are all 0 or 1
        if task != self.task_ or len(encoded.classes) != len(self.classes_):
            raise ValueError(
                f"the y of validation is read as {task} ({len(encoded.classes)}), the y of fit as {self.task_} "
                f"({len(self.classes_)}); give both in the same form"
            )
        if not encoded.labeled.all():
            row = int((~encoded.labeled).nonzero()[0, 0])
            raise ValueError(f"row {row} of the y of validation has no label; leave such rows out")
        return encoded.targets

    def _teach(self, problem: Problem, some: bool) -> tuple[Tensor, Tensor]:
        inputs, targets, labeled = problem.inputs, problem.targets, problem.labeled
        strong = "recipe is 'strong', which"
        if self.task_ == "labels":
            raise ValueError(f"{strong} takes one class per row; y has several labels per row, so set recipe='paper'")
        if not some:
            raise ValueError(f"{strong} learns from a graph; give graph=, or set recipe='paper'")
        if self.influence != "both":
            raise ValueError(f"{strong} has no direction; influence is {self.influence!r}, set it to 'both'")
        if problem.sample_weight is not None:
            raise ValueError(f"{strong} takes no sample_weight; leave it out, or set recipe='paper'")
        if not isinstance(inputs, np.ndarray | Texts) and not sp.issparse(inputs):
            raise ValueError(
                f"{strong} averages rows of x, and x is a {type(inputs).__name__}; give a table, or use ngm.CoTraining"
            )
        if not problem.graphs:
            return targets, labeled
        graph = one_graph(problem.graphs)
        if not bool((graph.weight > 0).any()):
            raise ValueError(f"{strong} learns from edges; {graph} has none with a weight above 0")
        count = len(self.classes_)
        if isinstance(inputs, Texts):
            words, told = text_targets(inputs.strings, targets, labeled, problem.graphs, count, inputs.vectors)
            told = told & ((graph.degree > 0) | labeled)  # texts left out of the graph stay as new as those to come
        else:
            words, told = taught(cast(sp.csr_matrix, inputs), targets, labeled, graph, count, self.seed)
        return from_first(words), from_first(told)

    def _soft_targets(self, problem: Problem) -> tuple[Tensor, Tensor]:
        targets, labeled = problem.targets, problem.labeled
        several, count = self.task_ == "labels", len(self.classes_)
        values = targets if targets.ndim == 2 else F.one_hot(targets.clamp(min=0), count)
        taught = torch.zeros(len(labeled), dtype=torch.bool)
        soft = torch.zeros(len(labeled), count)
        if rank_and_world()[0] == 0:
            weighted = problem.sample_weight is not None
            weight = np.asarray(problem.sample_weight, dtype=np.float32) if weighted else None
            if several and self.class_prior is not None:
                raise ValueError("class_prior is for one class per row; y has several labels per row, so leave it out")
            shares = None if self.class_prior is None else check_class_prior(self.class_prior, self.classes_)
            given = Targets(values.numpy().astype(np.float32), several, weight, shares)
            every = {**own_views(problem.inputs), **problem.views}
            labels, mask, self.teachers_ = soft_targets(every, problem.graphs, given, labeled.numpy(), self.seed)
            soft, taught = torch.from_numpy(labels), torch.from_numpy(mask)
        return from_first(soft), from_first(taught)

    def _squash(self, logits: Tensor) -> Tensor:
        return torch.sigmoid(logits) if self.task_ == "labels" else torch.softmax(logits, dim=1)

    def _out_features(self, targets: Tensor) -> int:
        return len(self.classes_)

    def _cost(self) -> str:
        return "bce" if self.task_ == "labels" else "cross_entropy"

    def _metrics(self, logits: Tensor, targets: Tensor) -> dict[str, float]:
        if self.task_ == "labels":
            return {"micro_f1": f1(targets.numpy(), torch.sigmoid(logits).numpy(), average="micro")}
        truth = targets.argmax(dim=1) if self.task_ == "soft" else targets
        return {"accuracy": accuracy(truth.numpy(), logits.argmax(dim=1).numpy())}

    def _say(self, outputs: Tensor) -> NDArray[np.object_]:
        return self._in_words(self._squash(outputs))

    def _say_targets(self, targets: Tensor) -> NDArray[np.object_]:
        return self._in_words(targets)

    def _in_words(self, shares: Tensor) -> NDArray[np.object_]:
        """Numbers of classes (n,), or the largest of shares (n, C); of several labels, all above one half."""
        names = [str(name) for name in self.classes_.tolist()]
        if self.task_ == "labels":
            words = [label_set([name for name, on in zip(names, row, strict=True) if on]) for row in shares > 0.5]
        else:
            chosen = shares.argmax(dim=1) if shares.ndim == 2 else shares
            words = [names[i] if i >= 0 else "" for i in chosen.tolist()]
        return np.array(words, dtype=object)

    def _certainty(self, outputs: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shares = self._squash(outputs.double())
        if self.task_ == "labels":  # how far the closest call is from one half
            closest = (shares - 0.5).abs().min(dim=1).values
            return (closest + 0.5).numpy(), (2 * closest).numpy()
        ranked = shares.sort(dim=1, descending=True).values
        second = ranked[:, 1] if ranked.shape[1] > 1 else torch.zeros(len(ranked))
        return ranked[:, 0].numpy(), (ranked[:, 0] - second).numpy()

    def _describe(self) -> dict[str, JSON]:
        return {"task": self.task_, "classes": self.classes_.tolist(), "classes_type": self.classes_.dtype.str}

    def _recall(self, model: Mapping[str, JSON]) -> None:
        self.task_ = cast(Task, model["task"])
        self.classes_ = np.array(model["classes"], dtype=np.dtype(cast(str, model["classes_type"])))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
