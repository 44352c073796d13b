"""What methods that train in rounds share: known labels, validation that stays the same, a record of each round."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from torch import Tensor

from ngm._arguments import short_repr
from ngm.estimators import persistence
from ngm.estimators.base import NGMEstimator
from ngm.estimators.checks import check_features, check_parameters, check_settings
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.validation import automatic_share, chosen_rows, is_pair
from ngm.graph import Graph
from ngm.io.run_folder import JSON, Run, RunTarget
from ngm.networks.specifications import network_of
from ngm.propagation.label_propagation import LabelPropagation, UnreachedNodesWarning
from ngm.recipes.parameters import parameters_of
from ngm.recipes.settings import resolve
from ngm.rows import Inputs, num_rows, take_rows
from ngm.targets import as_array, encode_classes, unlabeled_rows
from ngm.text.readers import Given, as_texts

Targets: TypeAlias = "NDArray[np.float32] | NDArray[np.int64]"


@dataclass(frozen=True)
class Round:
    """One training of several.

    Args:
        round: 0 is on the seeds alone.
        labeled: Nodes with a label in this training.
        added: Those that were labelled since the one before.
        right: Share of the added whose label is true; None where the truth is not known or none was added.
        right_in_all: The same for all nodes that were not seeds.
        validation: Score on the validation rows; None where there are none.
    """

    round: int
    labeled: int
    added: int
    right: float | None
    right_in_all: float | None
    validation: float | None


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
    """

    x: Given
    labels: NDArray[np.int64]
    truth: NDArray[np.int64]
    classes: NDArray[np.generic]
    validation: tuple[Given, NDArray[np.int64]] | None
    blank: NDArray[np.bool_]
    columns: NDArray[np.object_] | None


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
    return Known(inputs, labels, true, encoded.classes, validation, blank, getattr(probe, "feature_names_in_", None))


def measured_round(
    number: int, fitted: NGMClassifier, labels: NDArray[np.int64], added: NDArray[np.bool_], known: Known
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


def best_round(history: Sequence[Round]) -> int:
    """The round with the best validation score, the earliest of equals; the last one where nothing was validated."""
    scores = [r.validation for r in history]
    if scores[-1] is None:
        return len(history) - 1
    return int(np.argmax(np.array(scores, dtype=np.float64)))


def write_rounds(run: Run, history: Sequence[Round], best: int, stopped: str) -> None:
    """Writes `rounds.json` into the run folder of the best round."""
    rounds: list[JSON] = [asdict(record) for record in history]
    run.write("rounds.json", {"rounds": rounds, "best_round": best, "stopped": stopped})


@dataclass(frozen=True, eq=False)
class Propagated:
    """What label propagation says of every node.

    Args:
        values: (n, C) class shares.
        reached: (n,) mask of the nodes that a seed can reach.
    """

    values: NDArray[np.float32]
    reached: NDArray[np.bool_]


def propagated(
    known: Known, graph: Graph, prior: NDArray[np.float32] | None, propagation: LabelPropagation | None = None
) -> Propagated:
    """Propagates the seeds over the graph, with what the network predicts as the prior of each node (Eq. 2).

    Args:
        known: The seeds.
        graph: Graph over the rows.
        prior: (n, C) predictions; None for the uniform prior.
        propagation: Settings; None for clamped seeds, mu2 = 0.5 and mu3 = 1.
    """
    if propagation is not None and not isinstance(propagation, LabelPropagation):
        raise ValueError(f"propagation is {short_repr(propagation)}; give a LabelPropagation with settings")
    kind = LabelPropagation(mu1=float("inf"), mu3=1.0) if propagation is None else clone(propagation)
    if kind.prior is not None:
        raise ValueError(
            "propagation has a prior of its own, but the network's predictions are the prior here; drop it"
        )
    with warnings.catch_warnings():  # nodes that no seed reaches keep the prior, which is what is wanted here
        warnings.simplefilter("ignore", UnreachedNodesWarning)
        kind.set_params(prior=prior).fit(None, known.labels, graph=graph)
    return Propagated(kind.distributions().astype(np.float32), kind.reached_)


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
