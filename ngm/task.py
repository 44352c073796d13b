"""Tasks: what is to be predicted, and all that depends on it, from reading y to naming predictions.

"classes"  one class per row                   `ClassTask`
"soft"     shares of classes per row           `SoftClassTask`
"labels"   any number of labels per row        `LabelSetTask`
"numbers"  one number per row, or several      `NumberTask`
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score
from torch import Tensor

from ngm._arguments import short_repr
from ngm._node_targets import node_weights
from ngm.io.node_records import label_set
from ngm.io.run_folder import JSON
from ngm.metrics import accuracy, f1
from ngm.targets import (
    TaskName,
    as_array,
    complete_rows,
    encode_classes,
    encode_numbers,
    labeled_accuracy,
    unlabeled_rows,
)

_DIGITS = 6  # significant ones in which numbers are written, where their mean is not far from 0


@dataclass(frozen=True, eq=False)
class Task(ABC):
    """What a network learns to predict."""

    name: ClassVar[TaskName]
    cost: ClassVar[str]  # of `NGMLoss`

    @property
    @abstractmethod
    def out_features(self) -> int:
        """Number of outputs of the network."""

    @abstractmethod
    def encode_validation(self, y: ArrayLike, rows: int) -> Tensor:
        """(n, ...) targets of validation rows, encoded as those of `fit`; every row must have one."""

    def measured(self, targets: Tensor, labeled: Tensor, sample_weight: ArrayLike | None) -> Task:
        """The task with the scale of the targets that are trained on, where they have any."""
        return self

    def scaled(self, targets: Tensor) -> Tensor:
        """(n, ...) targets as the network is to output them."""
        return targets

    def squash(self, logits: Tensor) -> Tensor:
        """(n, c) logits to probabilities; numbers stay as they are."""
        return logits

    @abstractmethod
    def decode(self, outputs: NDArray[np.floating]) -> NDArray[np.generic]:
        """Predictions in terms of y.

        Args:
            outputs: (n, c) probabilities, or the network's outputs for numbers.
        """

    @abstractmethod
    def score(self, predicted: NDArray[np.generic], y: ArrayLike, sample_weight: ArrayLike | None) -> float:
        """Accuracy or R squared of predictions, over the labelled rows."""

    @abstractmethod
    def metrics(self, logits: Tensor, targets: Tensor) -> dict[str, float]:
        """Validation metrics of (n, c) logits against scaled targets; the first is the one to raise."""

    @abstractmethod
    def metric_sums(self, logits: Tensor, targets: Tensor) -> tuple[str, Tensor]:
        """(name of the first metric, (k,) sums over rows from which `metric_of_sums` gives it)."""

    def metric_of_sums(self, sums: Sequence[float]) -> float:
        """The metric of all rows, from sums that were added up over several sets of rows: a mean by default."""
        total, count = sums
        return total / max(count, 1)

    @abstractmethod
    def prediction_names(self, logits: Tensor) -> NDArray[np.object_]:
        """(n,) predictions in words, from (n, c) logits."""

    @abstractmethod
    def target_names(self, targets: Tensor) -> NDArray[np.object_]:
        """(n,) encoded targets in words."""

    def certainty(self, logits: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n,) probability of each prediction and (n,) its lead over the next; NaN where there is none."""
        unknown = np.full(len(logits), np.nan)
        return unknown, unknown

    @abstractmethod
    def as_json(self) -> dict[str, JSON]:
        """What `model.json` needs so that predictions can be read back."""


@dataclass(frozen=True, eq=False)
class ClassTask(Task):
    """One class per row.

    Args:
        classes: (C,) class names, or label numbers.
    """

    name: ClassVar[TaskName] = "classes"
    cost = "cross_entropy"
    classes: NDArray[np.generic]

    @property
    def out_features(self) -> int:
        """Number of classes C."""
        return len(self.classes)

    def encode_validation(self, y: ArrayLike, rows: int) -> Tensor:
        """Class numbers (n,), or a matrix (n, C)."""
        encoded = encode_classes(y, rows, classes=self.classes)
        certain = encoded.task == "labels" and bool((encoded.targets.sum(dim=1) == 1).all())
        task = self.name if certain and self.name == "soft" else encoded.task  # shares that are all 0 or 1
        if task != self.name or len(encoded.classes) != len(self.classes):
            raise ValueError(
                f"the y of validation is read as {task} ({len(encoded.classes)}), the y of fit as {self.name} "
                f"({len(self.classes)}); give both in the same form"
            )
        if not encoded.labeled.all():
            row = int((~encoded.labeled).nonzero()[0, 0])
            raise ValueError(f"row {row} of the y of validation has no label; leave such rows out")
        return encoded.targets

    def squash(self, logits: Tensor) -> Tensor:
        """(n, C) shares that add up to 1."""
        return torch.softmax(logits, dim=1)

    def decode(self, outputs: NDArray[np.floating]) -> NDArray[np.generic]:
        """(n,) the most probable class of each row."""
        predicted: NDArray[np.generic] = self.classes[outputs.argmax(axis=1)]
        return predicted

    def score(self, predicted: NDArray[np.generic], y: ArrayLike, sample_weight: ArrayLike | None) -> float:
        """Accuracy."""
        return labeled_accuracy(predicted, as_array(y), sample_weight)

    def metrics(self, logits: Tensor, targets: Tensor) -> dict[str, float]:
        """Accuracy; of soft classes, of the largest share."""
        truth = targets.argmax(dim=1) if targets.ndim == 2 else targets
        return {"accuracy": accuracy(truth.numpy(), logits.argmax(dim=1).numpy())}

    def metric_sums(self, logits: Tensor, targets: Tensor) -> tuple[str, Tensor]:
        """Right rows, and all."""
        truth = targets.argmax(dim=1) if targets.ndim == 2 else targets
        right = (logits.argmax(dim=1) == truth).sum()
        return "accuracy", torch.tensor([float(right), float(len(truth))])

    def prediction_names(self, logits: Tensor) -> NDArray[np.object_]:
        """Class names."""
        return self.target_names(self.squash(logits))

    def target_names(self, targets: Tensor) -> NDArray[np.object_]:
        """Names of class numbers (n,), or of the largest of shares (n, C); "" where unlabelled."""
        names = [str(name) for name in self.classes.tolist()]
        chosen = targets.argmax(dim=1) if targets.ndim == 2 else targets
        return np.array([names[i] if i >= 0 else "" for i in chosen.tolist()], dtype=object)

    def certainty(self, logits: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Largest share of each row, and its lead over the second largest."""
        ranked = self.squash(logits.double()).sort(dim=1, descending=True).values
        second = ranked[:, 1] if ranked.shape[1] > 1 else torch.zeros(len(ranked))
        return ranked[:, 0].numpy(), (ranked[:, 0] - second).numpy()

    def as_json(self) -> dict[str, JSON]:
        """Name of the task, classes and their type."""
        return {"task": self.name, "classes": self.classes.tolist(), "classes_type": self.classes.dtype.str}


class SoftClassTask(ClassTask):
    """Shares of classes per row, which add up to 1."""

    name: ClassVar[TaskName] = "soft"

    def score(self, predicted: NDArray[np.generic], y: ArrayLike, sample_weight: ArrayLike | None) -> float:
        """Accuracy; of shares (n, C), the largest is the right one."""
        truth = as_array(y)
        if truth.ndim == 2:
            truth = np.where(~unlabeled_rows(truth), self.classes[truth.argmax(axis=1)], -1)
        return labeled_accuracy(predicted, truth, sample_weight)


class LabelSetTask(ClassTask):
    """Any number of labels per row, each decided by itself."""

    name: ClassVar[TaskName] = "labels"
    cost = "bce"

    def squash(self, logits: Tensor) -> Tensor:
        """(n, L) probabilities of each label."""
        return torch.sigmoid(logits)

    def decode(self, outputs: NDArray[np.floating]) -> NDArray[np.generic]:
        """(n, L) zeros and ones."""
        return (outputs > 0.5).astype(np.int64)

    def metrics(self, logits: Tensor, targets: Tensor) -> dict[str, float]:
        """Micro-F1."""
        return {"micro_f1": f1(targets.numpy(), self.squash(logits).numpy(), average="micro")}

    def metric_sums(self, logits: Tensor, targets: Tensor) -> tuple[str, Tensor]:
        """Labels that are both predicted and true, and predicted ones plus true ones."""
        predicted, true = self.squash(logits) >= 0.5, targets > 0.5
        return "micro_f1", torch.tensor([float((predicted & true).sum()), float(predicted.sum() + true.sum())])

    def metric_of_sums(self, sums: Sequence[float]) -> float:
        """Micro-F1."""
        right, both = sums
        return 2 * right / both if both else 0.0

    def target_names(self, targets: Tensor) -> NDArray[np.object_]:
        """The labels above one half, as one string per row."""
        names = [str(name) for name in self.classes.tolist()]
        chosen = [label_set([name for name, on in zip(names, row, strict=True) if on]) for row in targets > 0.5]
        return np.array(chosen, dtype=object)

    def certainty(self, logits: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By the label that is closest to one half."""
        closest = (self.squash(logits.double()) - 0.5).abs().min(dim=1).values
        return (closest + 0.5).numpy(), (2 * closest).numpy()


@dataclass(frozen=True, eq=False)
class NumberTask(Task):
    """Numbers, brought to mean 0 and standard deviation 1 for training.

    Args:
        many: Whether y has several columns.
        mean: (T,) of the targets that are trained on.
        scale: (T,) their standard deviation; 1 where that is 0.
    """

    name: ClassVar[TaskName] = "numbers"
    cost = "squared_l2"
    many: bool
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @property
    def out_features(self) -> int:
        """Number of columns T of y."""
        return len(self.mean)

    def encode_validation(self, y: ArrayLike, rows: int) -> Tensor:
        """(n, T) numbers."""
        numbers, _ = encode_numbers(y, rows)
        if numbers.shape[1] != self.out_features:
            raise ValueError(
                f"the y of validation has {numbers.shape[1]} columns, the y of fit {self.out_features}; give as many"
            )
        missing = np.flatnonzero(np.isnan(numbers).any(axis=1))
        if len(missing):
            raise ValueError(f"row {missing[0]} of the y of validation is NaN; leave such rows out")
        return torch.from_numpy(numbers)

    def measured(self, targets: Tensor, labeled: Tensor, sample_weight: ArrayLike | None) -> NumberTask:
        """With the weighted mean and deviation of the labelled targets."""
        known, weight = targets[labeled].numpy(), node_weights(labeled, sample_weight)[labeled].numpy()
        with np.errstate(all="ignore"):
            mean = np.average(known, axis=0, weights=weight)
            spread = np.sqrt(np.average((known - mean) ** 2, axis=0, weights=weight))
        if not (np.isfinite(mean) & np.isfinite(spread)).all():
            raise ValueError(f"y holds {np.abs(known).max():.3g}, whose square is beyond float64; scale y down")
        return replace(self, mean=mean, scale=np.where(spread > 0, spread, 1))

    def scaled(self, targets: Tensor) -> Tensor:
        """(n, T) with mean 0 and deviation 1."""
        return (targets - torch.from_numpy(self.mean)) / torch.from_numpy(self.scale)

    def decode(self, outputs: NDArray[np.floating]) -> NDArray[np.generic]:
        """(n,) or (n, T) float64 in the units of y: float32 cannot tell numbers far from 0 apart."""
        numbers: NDArray[np.float64] = outputs.astype(np.float64) * self.scale + self.mean
        return numbers if self.many else numbers[:, 0]

    def score(self, predicted: NDArray[np.generic], y: ArrayLike, sample_weight: ArrayLike | None) -> float:
        """R squared."""
        truth, _ = encode_numbers(y, len(predicted))
        known = complete_rows(truth)
        if not known.any():
            raise ValueError(f"none of the {len(truth)} rows has a number; score needs some")
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(r2_score(truth[known], predicted[known].reshape(-1, truth.shape[1]), sample_weight=weight))

    def metrics(self, logits: Tensor, targets: Tensor) -> dict[str, float]:
        """Squared error of scaled numbers, negated."""
        return {"negative_squared_error": -float((logits - targets).square().mean())}

    def metric_sums(self, logits: Tensor, targets: Tensor) -> tuple[str, Tensor]:
        """Squared errors, negated, and how many."""
        return "negative_squared_error", torch.tensor(
            [-float((logits - targets).square().sum(dtype=torch.float64)), float(targets.numel())]
        )

    def prediction_names(self, logits: Tensor) -> NDArray[np.object_]:
        """Numbers in the units of y."""
        return self.target_names(torch.from_numpy(logits.double().numpy() * self.scale + self.mean))

    def target_names(self, targets: Tensor) -> NDArray[np.object_]:
        """Numbers with `digits` significant digits."""
        form = f".{self.digits}g"
        return np.array(["; ".join(f"{value:{form}}" for value in row) for row in targets.tolist()], dtype=object)

    @property
    def digits(self) -> int:
        """Significant digits that tell training targets apart: 6, and more where their mean is large."""
        away = float(np.max(np.abs(self.mean) / self.scale))
        return min(_DIGITS + int(math.log10(max(away, 1.0))), 17)

    def as_json(self) -> dict[str, JSON]:
        """Mean, scale and whether there are several columns."""
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist(), "many": self.many}


_CLASS_TASKS: dict[str, type[ClassTask]] = {kind.name: kind for kind in (ClassTask, SoftClassTask, LabelSetTask)}


def class_task(name: str, classes: NDArray[np.generic]) -> ClassTask:
    """The task of a name other than "numbers"."""
    if name not in _CLASS_TASKS:
        raise ValueError(f"task {name!r}, not one of {', '.join(_CLASS_TASKS)},")
    return _CLASS_TASKS[name](classes)


def read_classes(y: ArrayLike, rows: int) -> tuple[ClassTask, Tensor, Tensor]:
    """Finds out what kind of classes y holds: (task, (n, ...) targets, (n,) mask of the labelled rows)."""
    encoded = encode_classes(y, rows)
    return class_task(encoded.task, encoded.classes), encoded.targets, encoded.labeled


def read_numbers(y: ArrayLike, rows: int) -> tuple[NumberTask, Tensor, Tensor]:
    """Reads y as numbers: (task, not measured yet, (n, T) targets, (n,) mask of the labelled rows)."""
    numbers, many = encode_numbers(y, rows)
    labeled = complete_rows(numbers)
    if not labeled.any():
        raise ValueError(f"none of the {rows} rows has a number (Input y contains NaN only); give some")
    columns = numbers.shape[1]
    return NumberTask(many, np.zeros(columns), np.ones(columns)), torch.from_numpy(numbers), torch.from_numpy(labeled)


def class_task_from_json(model: Mapping[str, JSON]) -> ClassTask:
    """Takes back what `ClassTask.as_json` gave; a `KeyError` or `ValueError` names what is wrong."""
    name = str(model["task"])
    return class_task(name, np.array(model["classes"], dtype=np.dtype(cast(str, model["classes_type"]))))


def number_task_from_json(model: Mapping[str, JSON]) -> NumberTask:
    """Takes back what `NumberTask.as_json` gave; `out_features` says how many columns there must be."""
    found = {name: np.array(model[name], dtype=np.float64) for name in ("mean", "scale")}
    task = NumberTask(cast(bool, model["many"]), **found)
    for name, values in found.items():
        if values.shape != (model["out_features"],) or not np.isfinite(values).all():
            raise ValueError(f"{name}, {short_repr(values.tolist())},")
    return task
