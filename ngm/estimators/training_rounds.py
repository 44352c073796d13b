"""What methods that train in rounds share: known labels, validation that stays the same, a record of each round."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from torch import Tensor

from ngm.estimators import persistence
from ngm.estimators.base import NGMEstimator
from ngm.estimators.checks import check_features, check_parameters, check_settings
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.round_records import Round, RoundTeachers
from ngm.estimators.validation import automatic_share, chosen_rows, is_pair
from ngm.graph import Graph
from ngm.io.run_folder import RunTarget
from ngm.networks.specifications import network_of
from ngm.recipes.auto import TaughtNodes, connected_nodes
from ngm.recipes.parameters import parameters_of
from ngm.recipes.settings import resolve
from ngm.recipes.text_training import own_views, text_views
from ngm.rows import Inputs, num_rows, take_rows
from ngm.targets import as_array, encode_classes, unlabeled_rows
from ngm.text.readers import Given, as_texts, read_word_vectors
from ngm.text.word_vectors import WordVectors

Targets: TypeAlias = "NDArray[np.float32] | NDArray[np.int64]"


@dataclass(frozen=True, eq=False)
class Known:
    """Labels as class numbers.

    Args:
        x: Inputs as every round is trained on them: what `fit` was given, read once.
        labels: (n,) of the seeds, -1 for all others, validation rows among them.
        truth: (n,) true class numbers, -1 where unknown, C for a class that no seed has.
        classes: (C,) class names.
        validation: (x, y) of the validation rows, or None.
        blank: (n,) mask of texts without anything in them, which are never labelled.
        columns: (d,) names of the columns of x, or None where they have none.
        vectors: Word vectors of a network that reads texts, for teachers.
    """

    x: Given
    labels: NDArray[np.int64]
    truth: NDArray[np.int64]
    classes: NDArray[np.generic]
    validation: tuple[Given, NDArray[np.int64]] | None
    blank: NDArray[np.bool_]
    columns: NDArray[np.object_] | None
    vectors: str | Path | WordVectors | None = None
    _taught: dict[Graph, TaughtNodes] = field(default_factory=dict)

    def taught_nodes(self, graph: Graph) -> TaughtNodes:
        """What the teachers of recipe "auto" look at: nodes with an edge or a seed, the same in all rounds."""
        if graph not in self._taught:
            if isinstance(self.x, list):
                strings = cast("list[str]", self.x)
                views = text_views(strings, read_word_vectors(self.vectors, strings))
            else:
                views = own_views(cast(Inputs, self.x))
            self._taught[graph] = connected_nodes(views, [graph], self.labels >= 0, len(self.classes))
        return self._taught[graph]


def known_classes(
    estimator: NGMClassifier, x: Given, y: ArrayLike, truth: ArrayLike | None, patience: int | None = None
) -> Known:
    """Reads y, and takes the validation rows out of it once for all rounds.

    Args:
        estimator: Its `validation` says which rows to validate on.
        x: Inputs, a row per node.
        y: (n,) classes, -1, None or NaN = unlabelled.
        truth: (n,) true classes where known.
        patience: Of the rounds, which needs validation rows.
    """
    probe = clone(estimator)  # remembers the columns of x
    inputs = _read(probe, x, reset=True)
    rows = num_rows(inputs)
    encoded = encode_classes(y, rows)
    if encoded.task != "classes":
        raise ValueError(f"y has shape {np.shape(y)}; training in rounds takes one class per row, (n,)")
    labels = encoded.targets.numpy().astype(np.int64)
    wanted = getattr(estimator, "validation", None)
    if isinstance(wanted, str):
        required = patience is not None or estimator.patience is not None
        wanted = automatic_share(encoded.labeled, len(encoded.classes), numbers=False, required=required)
    validation: tuple[Given, NDArray[np.int64]] | None = None
    if is_pair(wanted):
        own = cast("tuple[Given, ArrayLike]", wanted)
        shown = encode_classes(own[1], len(as_array(own[1])), classes=encoded.classes)
        if not shown.labeled.all():
            row = int((~shown.labeled).nonzero()[0, 0])
            raise ValueError(f"row {row} of the y of validation has no label; leave such rows out")
        validation = _read(probe, own[0], reset=False), shown.targets.numpy()
    elif wanted is not None:
        ids = chosen_rows(cast("float | Sequence[int]", wanted), encoded.targets, encoded.labeled, estimator.seed)
        validation = _some(inputs, ids), labels[ids.numpy()]
        labels[ids.numpy()] = -1
        left = np.bincount(labels[labels >= 0], minlength=len(encoded.classes))
        if not left.any():
            raise ValueError(f"validation takes all {len(ids)} labelled rows; leave some for training")
        if not left.all():
            name = encoded.classes.tolist()[int(left.argmin())]
            raise ValueError(f"validation takes all labelled rows of class {name!r}; leave some for training")
    true = np.full(rows, -1) if truth is None else _numbers(truth, encoded.classes)
    if len(true) != rows:
        raise ValueError(f"truth has {len(true)} entries for {rows} rows; give a class per row, -1 where unknown")
    texts = cast("list[str]", inputs) if _reads_texts(estimator) else []
    blank = np.array([not text.strip() for text in texts] or [False] * rows)
    columns = getattr(probe, "feature_names_in_", None)
    vectors = getattr(network_of(estimator.network), "vectors", None) if texts else None
    return Known(inputs, labels, true, encoded.classes, validation, blank, columns, vectors)


def measured_round(
    number: int,
    fitted: NGMClassifier,
    labels: NDArray[np.int64],
    added: NDArray[np.bool_],
    known: Known,
    teachers: RoundTeachers | None,
) -> Round:
    """The record of a training on `labels` (n,), of which those at `added` (n,) are new."""
    grown = (labels >= 0) & (known.labels < 0)
    score = None
    if known.validation is not None:
        x, y = known.validation
        score = float((np.asarray(fitted.predict_proba(x)).argmax(axis=1) == y).mean())
    return Round(
        number,
        labeled=int((labels >= 0).sum()),
        added=int(added.sum()),
        right=_right(labels, known.truth, added),
        right_in_all=_right(labels, known.truth, grown),
        validation=score,
        teachers=teachers,
    )


def fresh(estimator: NGMClassifier, targets: Targets, known: Known) -> NGMClassifier:
    """A copy of the estimator to train in a round, on the same validation rows.

    Args:
        estimator: As it was given.
        targets: Of the round.
        known: Has the validation rows.
    """
    settings: dict[str, object] = {}
    if known.validation is not None:
        settings["validation"] = validation_for(targets, known)
    elif isinstance(getattr(estimator, "validation", None), str):
        settings["validation"] = None  # decided by the labels that were given, not by those that rounds add
    copy: NGMClassifier = clone(estimator).set_params(**settings)
    return copy


def set_names(fitted: NGMClassifier, known: Known) -> None:
    """Gives a network of a round the classes that y has and the columns that x has; it was trained on bare numbers."""
    fitted.classes_ = known.classes
    if known.columns is not None:
        fitted.feature_names_in_ = known.columns


def check_rounds(estimator: NGMClassifier, graph: object, patience: int | None, target: RunTarget) -> None:
    """Refuses what no method in rounds can work with."""
    target.check()
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(f"estimator is a {type(estimator).__name__}, which gives no probabilities; give a classifier")
    if graph is not None and not isinstance(graph, Graph):
        raise ValueError(f"graph is a {type(graph).__name__}; training in rounds takes one Graph, so merge several")
    if isinstance(estimator, NGMEstimator):  # before the first round is written down
        check_parameters(parameters_of(estimator))
        check_settings(parameters_of(estimator), resolve(estimator, "classes"))
    if target.folder is not None:
        persistence.check_folder(type(estimator).__name__, parameters_of(estimator), target)
    if patience is not None and getattr(estimator, "validation", None) is None:
        raise ValueError(f"patience is {patience}, but the estimator has no validation to improve on")


def as_targets(shares: NDArray[np.float32]) -> Targets:
    """(n, C) soft labels with rows of -1 where unlabelled; (n,) class numbers where all are certain.

    Rows of zeros and ones would be read as several labels per row.
    """
    labeled = shares[:, 0] >= 0
    if np.isin(shares[labeled], (0, 1)).all():
        return np.where(labeled, shares.argmax(axis=1), -1)
    return shares


def validation_for(targets: Targets, known: Known) -> tuple[Given, Targets] | None:
    """The validation rows with their labels in the form that the targets have."""
    if known.validation is None or targets.ndim == 1:
        return known.validation
    return known.validation[0], one_hot(known.validation[1], targets.shape[1])


def one_hot(labels: NDArray[np.int64], num_classes: int) -> NDArray[np.float32]:
    """(n, C) rows of zeros with a 1; all zeros where a label is -1."""
    rows = np.zeros((len(labels), num_classes), dtype=np.float32)
    known = np.flatnonzero(labels >= 0)
    rows[known, labels[known]] = 1
    return rows


def named(labels: NDArray[np.int64], classes: NDArray[np.generic]) -> NDArray[np.generic]:
    """Class names for class numbers; unlabelled stays -1, or None where names are words."""
    if classes.dtype.kind in "iuf":
        return np.where(labels >= 0, classes[labels], -1)
    words = classes.astype(object)[labels]
    words[labels < 0] = None
    return cast("NDArray[np.generic]", words)


def _right(labels: NDArray[np.int64], truth: NDArray[np.int64], which: NDArray[np.bool_]) -> float | None:
    known = which & (truth >= 0)
    return float((labels[known] == truth[known]).mean()) if known.any() else None


def _numbers(y: ArrayLike, classes: NDArray[np.generic]) -> NDArray[np.int64]:
    """(n,) class numbers, -1 where unlabelled, C for a class that no seed has: no prediction can be right there."""
    array = as_array(y)
    if array.ndim != 1:
        raise ValueError(f"truth has shape {array.shape}; give (n,), a class per row, -1 where unknown")
    known = ~unlabeled_rows(array)
    place = {name: i for i, name in enumerate(classes.tolist())}
    out = np.full(len(array), -1)
    names = array[known].tolist()
    out[known] = [place.get(name, len(classes)) if isinstance(name, Hashable) else len(classes) for name in names]
    return out


def _read(estimator: NGMClassifier, x: Given, reset: bool) -> Given:
    """X as the estimator reads it (array, sparse matrix, list of texts, one's own), so that rows can be taken by id."""
    if not isinstance(estimator, NGMEstimator):  # reads x itself
        return np.asarray(x) if isinstance(x, list) else x
    if _reads_texts(estimator):
        return as_texts(network_of(estimator.network).name, x)
    return check_features(estimator, x, network_of(estimator.network), reset)


def _some(x: Given, ids: Tensor) -> Given:
    """Some rows of what `_read` gave."""
    if isinstance(x, list):
        return [x[i] for i in ids.tolist()]
    if isinstance(x, np.ndarray) or sp.issparse(x):
        return cast(Inputs, cast("NDArray[np.generic]", x)[ids.numpy()])
    return take_rows(
        cast(Inputs, x), ids, torch.float64 if "float64" in str(getattr(x, "dtype", "")) else torch.float32
    )


def _reads_texts(estimator: NGMClassifier) -> bool:
    network = getattr(estimator, "network", None)
    return network is not None and network_of(network).reads_texts
