"""The rows of the battery: each sees x, the graph and the few labels, and scores new rows from their x alone.

scikit-learn's rows get inputs scaled as the network scales its own (`choose_input_scaling`): rows of length 1 for
counts, standardised columns for numbers. Settings are constants: one value for all data sets, chosen on validation
nodes. A row's `version` is part of the key of its cells; raise it whenever its settings change.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from battery_parts.problems import Problem, Rows
from battery_parts.texts import MINILM_WIDTH
from ngm import LabelPropagation, NGMClassifier
from ngm.networks.input_scaling import choose_input_scaling

Scores = NDArray[np.floating]
"""(m, C) of the new rows, higher for likelier; column c stands for class c."""


@dataclass(frozen=True)
class Method:
    """A row of the battery.

    Attributes:
        name: What tables call it.
        run: (problem, seed) -> scores of the new rows.
        version: Of its settings.
        multi_label: Whether it also takes several labels a node.
        only_texts: Whether it runs on texts alone.
        by_default: Whether it runs where `--rows` does not name it.
        ours: Whether its scores change with the code of this library.
    """

    name: str
    run: Callable[[Problem, int], Scores]
    version: int = 1
    multi_label: bool = False
    only_texts: bool = False
    by_default: bool = True
    ours: bool = True


_C = 10.0  # of logistic regression, alone and in self-training
_THRESHOLD = 0.9  # of self-training
_NEIGHBORS, _ALPHA = 20, 0.2  # of label spreading


def logistic_regression(problem: Problem, seed: int) -> Scores:
    """On the labelled rows; one against the rest where a node may have several labels."""
    x, x_new = scaled(problem)
    model = LogisticRegression(C=_C, max_iter=300)
    if problem.y.ndim == 2:
        return np.asarray(_one_vs_rest(x[problem.labeled], problem.y[problem.labeled], x_new, model))
    model.fit(x[problem.labeled], problem.y[problem.labeled])
    return _by_class(model.predict_proba(x_new), model.classes_, problem.num_classes)


def logistic_regression_on_minilm(problem: Problem, seed: int) -> Scores:
    """On the MiniLM vectors alone, as they are: what is usually tried first on texts."""
    x, x_new = problem.x[:, :MINILM_WIDTH], problem.x_new[:, :MINILM_WIDTH]
    model = LogisticRegression(C=_C, max_iter=300).fit(x[problem.labeled], problem.y[problem.labeled])
    return _by_class(model.predict_proba(x_new), model.classes_, problem.num_classes)


def self_training(problem: Problem, seed: int) -> Scores:
    """scikit-learn's, around the same logistic regression."""
    x, x_new = scaled(problem)
    model = SelfTrainingClassifier(LogisticRegression(C=_C, max_iter=300), threshold=_THRESHOLD)
    with _quiet():  # it warns where nothing passes the threshold
        model.fit(x, problem.y_seen)
    return _by_class(model.predict_proba(x_new), model.classes_, problem.num_classes)


def label_spreading(problem: Problem, seed: int) -> Scores:
    """scikit-learn's, over the k nearest rows of x; new rows take the mean of theirs.

    Unlabelled rows of zeros are left out: among rows of length 1 they would be nearest to all, and no label gets past.
    Where no label reaches any of a row's neighbours, scikit-learn has NaN and then says the first class, which happens
    to be the largest in some data sets; here such a row gets a class at random.
    """
    x, x_new = scaled(problem)
    model = LabelSpreading(kernel="knn", n_neighbors=_NEIGHBORS, alpha=_ALPHA, max_iter=100)
    useful = (np.asarray(abs(x).sum(axis=1)).ravel() > 0) | (problem.y_seen >= 0)
    with _quiet():  # it divides by 0 for rows that no label reaches
        model.fit(x[useful], problem.y_seen[useful])
        proba = np.nan_to_num(model.predict_proba(x_new))
    unreached = np.flatnonzero(proba.sum(axis=1) == 0)
    proba[unreached, np.random.default_rng(seed).integers(proba.shape[1], size=len(unreached))] = 1
    return _by_class(proba, model.classes_, problem.num_classes)


def plain_network(problem: Problem, seed: int) -> Scores:
    """The network without the graph."""
    return _network(NGMClassifier(recipe="paper", seed=seed), problem, problem.y_seen, graph=False)


def label_propagation_student(problem: Problem, seed: int) -> Scores:
    """Label propagation labels all nodes softly, and the network learns that."""
    with _quiet():  # it warns of nodes that no label reaches
        teacher = LabelPropagation().fit(None, problem.y_seen, graph=problem.graph)
    soft_labels = _by_class(teacher.label_distributions_, teacher.classes_, problem.num_classes)
    soft_labels[~teacher.reached_] = -1  # unlabelled
    return _network(NGMClassifier(recipe="paper", seed=seed), problem, soft_labels.astype(np.float32), graph=False)


def paper(problem: Problem, seed: int) -> Scores:
    """Eq. 3 on the labels and the edges."""
    return _network(NGMClassifier(recipe="paper", seed=seed), problem, problem.y_seen)


def strong(problem: Problem, seed: int) -> Scores:
    """The strong recipe; slow."""
    return _network(NGMClassifier(recipe="strong", seed=seed), problem, problem.y_seen)


def default(problem: Problem, seed: int) -> Scores:
    """What a newcomer gets: nothing set but the seed."""
    return _network(NGMClassifier(seed=seed), problem, problem.y_seen)


def default_with_attraction(problem: Problem, seed: int) -> Scores:
    """The default, whose student is also trained on the edges (Eq. 3, pairs that are no neighbours held apart)."""
    model = NGMClassifier(alpha_ll=0.2, alpha_lu=0.2, alpha_uu=0.2, negatives=1.0, margin=3.0, seed=seed)
    return _network(model, problem, problem.y_seen)


def default_with_shares(problem: Problem, seed: int) -> Scores:
    """The default, told how frequent each class is among the training nodes."""
    counts = np.bincount(problem.y[problem.y >= 0], minlength=problem.num_classes)
    classes = np.unique(problem.y[problem.labeled])
    prior = (counts[classes] / counts[classes].sum()).tolist()
    return _network(NGMClassifier(seed=seed, class_prior=prior), problem, problem.y_seen)


def ceiling(problem: Problem, seed: int) -> Scores:
    """The same network with all true labels of the training nodes."""
    return _network(NGMClassifier(recipe="paper", validation=None, seed=seed), problem, problem.y, graph=False)


METHODS = {
    "logistic-regression": Method("logistic regression", logistic_regression, multi_label=True, ours=False),
    "minilm": Method("logistic regression on MiniLM", logistic_regression_on_minilm, only_texts=True, ours=False),
    "self-training": Method("self-training", self_training, ours=False),
    "label-spreading": Method("label spreading", label_spreading, ours=False),
    "plain": Method("plain network", plain_network, multi_label=True),
    "propagation-student": Method("label propagation + student", label_propagation_student),
    "paper": Method('recipe="paper"', paper, multi_label=True),
    "strong": Method('recipe="strong"', strong, by_default=False),
    "default": Method("default", default, version=4, multi_label=True),
    "default-attraction": Method("default, attraction in the student", default_with_attraction, by_default=False),
    "default-shares": Method("default, class shares known", default_with_shares, by_default=False),
    "ceiling": Method("ceiling", ceiling),
}
SIMPLE = ("logistic-regression", "self-training", "label-spreading", "plain")
"""The rows that the default must not fall behind."""


def scaled(problem: Problem) -> tuple[Rows, Rows]:
    """(x, new x) on the scale that the network would choose for x."""
    if choose_input_scaling(problem.x) == "unit_rows":
        return normalize(problem.x), normalize(problem.x_new)
    scaler = StandardScaler(with_mean=not sp.issparse(problem.x)).fit(problem.x)
    return scaler.transform(problem.x), scaler.transform(problem.x_new)


def _network(model: NGMClassifier, problem: Problem, y: NDArray[np.generic], graph: bool = True) -> Scores:
    with _quiet():  # of graphs that are left out, of representations that collapse
        model.fit(problem.x, y, graph=problem.graph if graph else None)
    classes = np.arange(problem.num_classes) if y.ndim == 2 else model.classes_
    return _by_class(model.predict_proba(problem.x_new), classes, problem.num_classes)


def _by_class(proba: Scores, classes: NDArray[np.generic], num_classes: int) -> Scores:
    """(m, C) with a column per class, 0 for classes without a label."""
    out = np.zeros((len(proba), num_classes))
    out[:, classes.astype(np.int64)] = proba
    return out


def _one_vs_rest(x: Rows, y: NDArray[np.int64], x_new: Rows, model: LogisticRegression) -> Scores:
    with _quiet():  # of labels that no labelled node has
        found: Scores = OneVsRestClassifier(model).fit(x, y).decision_function(x_new)
    return found


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
