"""Linear models as teachers: logistic regression of rows on one scale, alone or with sure predictions as labels."""

from __future__ import annotations

import warnings
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.node_set import AllNodes, NodeSet, at_most
from ngm.recipes.node_views import Features, Floats

INVERSE_PENALTY = 100.0  # C of the linear models, on rows of length 1
PSEUDO_LABEL_INVERSE_PENALTY = 10.0  # C of those that learn from predictions, too
MAX_PSEUDO_LABELED = 2_000  # predictions that they learn from, at most
MAX_LABELED = 5_000  # labelled rows that a linear model learns from
MAX_ITERATIONS = 200
_ROWS_AT_ONCE = 65_536  # scikit-learn predicts in float64, and copies several times
MAX_SPANNING = 500  # rows whose space is found before a model of them is


def linear_proba(
    rows: Features,
    targets: Targets,
    labeled: Mask,
    inverse_penalty: float = INVERSE_PENALTY,
    nodes: NodeSet | None = None,
) -> Floats:
    """(n, C) probabilities of a logistic regression on the labelled rows; of label sets, C independent ones.

    Args:
        rows: (n, d), of length 1 or so.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.
        inverse_penalty: C, as in scikit-learn.
        nodes: Where the nodes are; all in this process where None.
    """
    nodes = nodes or AllNodes(len(labeled))
    drawn = nodes.draw(labeled, MAX_LABELED)
    ids = np.flatnonzero(drawn)
    known_rows, values = nodes.gather(rows[ids], drawn), nodes.gather(targets.values[ids], drawn)
    weight = None if targets.weight is None else nodes.gather(targets.weight[ids], drawn)
    if targets.multilabel:
        return _independent(rows, known_rows, values)
    label = values.argmax(axis=1)
    proba = np.zeros((rows.shape[0], targets.num_classes), dtype=np.float32)
    known = np.unique(label)
    if len(known) == 1:
        proba[:, known[0]] = 1
        return proba
    model = LogisticRegression(C=inverse_penalty, max_iter=MAX_ITERATIONS)
    coordinates, axes = row_space(known_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a model that is nearly there teaches as well
        model.fit(coordinates, label, sample_weight=weight)
    if axes is not None:
        model.coef_, model.n_features_in_ = model.coef_ @ axes, rows.shape[1]
    for start in range(0, len(proba), _ROWS_AT_ONCE):
        at = slice(start, start + _ROWS_AT_ONCE)
        proba[at, model.classes_] = model.predict_proba(rows if len(proba) <= _ROWS_AT_ONCE else rows[at])
    return proba


def row_space(rows: Features) -> tuple[Features, Floats | None]:
    """Coordinates of fewer rows than columns within the space that they span, which is where a linear model is found.

    A penalised linear model of the coordinates is that of the rows: its slopes are a sum over rows, and the axes are
    of length 1 and orthogonal.

    Args:
        rows: (k, d).

    Returns:
        ((k, r) coordinates, (r, d) axes); (rows, None) where there are no fewer rows than columns, so many that finding
        the axes takes longer than the model, or none but zeros.
    """
    if rows.shape[0] >= min(rows.shape[1], MAX_SPANNING):
        return rows, None
    gram = rows @ rows.T
    exact = np.asarray(cast(sp.csr_array, gram).toarray() if sp.issparse(gram) else gram, dtype=np.float64)
    squares, vectors = np.linalg.eigh(exact)
    if squares[-1] <= 0:
        return rows, None
    spanned = squares > 1e-6 * squares[-1]
    length = np.sqrt(squares[spanned])
    axes = np.asarray(rows.T @ (vectors[:, spanned] / length).astype(np.float32), dtype=np.float32).T  # (r, d)
    return np.asarray(vectors[:, spanned] * length, dtype=np.float32), axes


def self_trained(rows: Features, proba: Floats, targets: Targets, labeled: Mask) -> Floats:
    """(n, C) probabilities of a linear model that learns from labels and from the surest predictions of another.

    Args:
        rows: (n, d), of length 1 or so.
        proba: (n, C) predictions; of each class, the surer half is learned from.
        targets: Labels, one a node.
        labeled: (n,) mask of those that may be learned from.
    """
    sureness, label = proba.max(axis=1), proba.argmax(axis=1)
    surer = [_surer_half(np.flatnonzero(~labeled & (label == one)), sureness) for one in np.unique(label)]
    ids = at_most(np.sort(np.concatenate(surer)), MAX_PSEUDO_LABELED)
    values = targets.values.copy()
    values[ids] = np.eye(targets.num_classes, dtype=np.float32)[label[ids]]
    weight = np.ones(len(label), dtype=np.float32) if targets.weight is None else targets.weight.copy()
    weight[ids] = np.square(sureness[ids])
    taught = labeled.copy()
    taught[ids] = True
    return linear_proba(rows, Targets(values, weight=weight), taught, PSEUDO_LABEL_INVERSE_PENALTY)


def _surer_half(nodes: NDArray[np.int64], sureness: Floats) -> NDArray[np.int64]:
    return nodes[np.argsort(-sureness[nodes], kind="stable")[: (len(nodes) + 1) // 2]]


def _independent(rows: Features, known_rows: Features, values: Floats) -> Floats:
    """(n, L) for label sets; a label that all or none of the rows have keeps its frequency."""
    frequency = values.mean(axis=0)
    proba = np.tile(frequency, (rows.shape[0], 1)).astype(np.float32)
    varied = np.flatnonzero((frequency > 0) & (frequency < 1))
    if len(varied):
        model = OneVsRestClassifier(LogisticRegression(C=INVERSE_PENALTY, max_iter=MAX_ITERATIONS))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(known_rows, (values[:, varied] > 0.5).astype(np.int64))
        found = model.predict_proba(rows)
        proba[:, varied] = found if found.shape[1] == len(varied) else found[:, 1:]
    return proba
