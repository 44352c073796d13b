"""What a network predicts, as columns of a table, and what there is to tell of it at the end."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ngm.estimators.base import NGMEstimator
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.regressor import NGMRegressor
from ngm.io.run_folder import JSON
from ngm.text.readers import Given

_SHOWN = 10  # classes
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)[.]0*")
_SHARE = ".6f"


@dataclass(frozen=True)
class Column:
    """A column of the output.

    Args:
        name: Its name.
        type: What DuckDB calls its values: BIGINT, DOUBLE or VARCHAR.
        form: How numbers with a point are written; so that they are read back as they are where not given.
    """

    name: str
    type: str
    form: str = ""


class Predicted(Protocol):
    """Predictions of one kind: their columns, a summary, and how good they are where that is known."""

    strange: list[str]

    @property
    def columns(self) -> list[Column]:
        """What a row of the output has, behind its id."""

    def outputs(self, x: Given) -> NDArray[np.floating]:
        """(b, c) what the network says of some rows."""

    def take(self, outputs: NDArray[np.floating], truth: Sequence[object] | None) -> list[Sequence[object]]:
        """Values of the columns for some more rows, which are counted."""

    def score(self) -> tuple[str, float | None, int]:
        """(what is measured, how much, on how many rows)."""

    def summary(self) -> str:
        """What was predicted, in words."""

    def as_json(self) -> dict[str, JSON]:
        """The same for machines."""


def predicted(model: NGMEstimator, every: bool, top: int, names: Sequence[str] | None, separator: str) -> Predicted:
    """Those of a trained estimator.

    Args:
        model: Any.
        every: Whether each class gets a column.
        top: So many of the most probable classes are told.
        names: Of the labels, where a row may have several; numbers where not given.
        separator: Between labels in a column of true ones.
    """
    refused = "--all" if every else "--top" if top != 1 else None
    if isinstance(model, NGMRegressor):
        if refused:
            raise ValueError(f"{refused} is for classes, and the run predicts numbers; leave it out")
        return Numbers(model)
    classifier = cast(NGMClassifier, model)
    if classifier.task_ == "labels":
        if refused:
            raise ValueError(f"{refused} is for one class a row; here each label has a column anyway, so leave it out")
        numbers = classifier.classes_.tolist()
        chosen = names if names is not None and len(names) == len(numbers) else numbers
        return Labels(classifier, [str(name) for name in chosen], separator)
    if not 1 <= top <= len(classifier.classes_):
        raise ValueError(f"--top is {top} and the run knows {len(classifier.classes_):,} classes; give 1 to that many")
    return Classes(classifier, every, top)


@dataclass
class Classes:
    """One class a row."""

    model: NGMClassifier
    every: bool
    top: int
    counts: Counter[object] = field(default_factory=Counter)
    known: int = 0
    right: int = 0
    strange: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        """Class and probability, those of the next ones, and one for each class."""
        kind = sql_type(self.model.classes_)
        found = [Column("class", kind), Column("probability", "DOUBLE", _SHARE)]
        for rank in range(2, self.top + 1):
            found += [Column(f"class_{rank}", kind), Column(f"probability_{rank}", "DOUBLE", _SHARE)]
        return found + [Column(f"p_{c}", "DOUBLE", _SHARE) for c in self.model.classes_.tolist() if self.every]

    def outputs(self, x: Given) -> NDArray[np.floating]:
        """(b, c) probabilities."""
        return self.model.predict_proba(x)

    def take(self, outputs: NDArray[np.floating], truth: Sequence[object] | None) -> list[Sequence[object]]:
        """Values of the columns for some more rows, which are counted."""
        shares, classes = outputs, self.model.classes_
        order = np.argsort(-shares, axis=1, kind="stable")[:, : self.top]  # (b, top)
        ranked = np.take_along_axis(shares, order, axis=1)
        out: list[Sequence[object]] = []
        for rank in range(self.top):
            out += [classes[order[:, rank]].tolist(), ranked[:, rank].tolist()]
        self.counts.update(out[0])
        if truth is not None:
            self._compare(truth, out[0])
        return out + (shares.T.tolist() if self.every else [])

    def _compare(self, truth: Sequence[object], chosen: Sequence[object]) -> None:
        names = {_key(c) for c in self.model.classes_.tolist()}
        for mine, theirs in zip(truth, chosen, strict=True):
            if is_missing(mine) or (_key(mine) == "-1" and "-1" not in names):
                continue
            self.known += 1
            self.right += _key(mine) == _key(theirs)
            if _key(mine) not in names and len(self.strange) < _SHOWN and str(mine) not in self.strange:
                self.strange.append(str(mine))

    def score(self) -> tuple[str, float | None, int]:
        """Share of the labelled rows that are right."""
        return "accuracy", self.right / self.known if self.known else None, self.known

    def summary(self) -> str:
        """How often each class, the most frequent ones first where there are many."""
        classes = self.model.classes_.tolist()
        if len(classes) <= _SHOWN:
            return ", ".join(f"{name} {self.counts[name]:,}" for name in classes)
        some = ", ".join(f"{name} {count:,}" for name, count in self.counts.most_common(_SHOWN))
        return f"{some}, ... ({len(self.counts):,} of {len(classes):,} classes)"

    def as_json(self) -> dict[str, JSON]:
        """How often each class."""
        return {"classes": {str(name): self.counts[name] for name in self.model.classes_.tolist()}}


@dataclass
class Labels:
    """Any number of labels a row."""

    model: NGMClassifier
    names: list[str]
    separator: str
    counts: Counter[object] = field(default_factory=Counter)
    none: int = 0
    known: int = 0
    both: int = 0
    either: int = 0  # labels predicted plus labels there
    strange: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        """The labels, and the probability of each."""
        return [Column("labels", "VARCHAR"), *(Column(f"p_{name}", "DOUBLE", _SHARE) for name in self.names)]

    def outputs(self, x: Given) -> NDArray[np.floating]:
        """(b, c) probabilities."""
        return self.model.predict_proba(x)

    def take(self, outputs: NDArray[np.floating], truth: Sequence[object] | None) -> list[Sequence[object]]:
        """Values of the columns for some more rows, which are counted."""
        shares = outputs
        chosen = [[name for name, share in zip(self.names, row, strict=True) if share > 0.5] for row in shares.tolist()]
        self.counts.update(name for row in chosen for name in row)
        self.none += sum(not row for row in chosen)
        for mine, theirs in zip(truth or (), chosen, strict=truth is not None):
            there = _labels(mine, self.separator)
            if there is None:
                continue
            self.known += 1
            self.both += len(there & set(theirs))
            self.either += len(there) + len(theirs)
            odd = [name for name in sorted(there - set(self.names)) if name not in self.strange]
            self.strange = (self.strange + odd)[:_SHOWN]
        return [[";".join(row) for row in chosen], *shares.T.tolist()]

    def score(self) -> tuple[str, float | None, int]:
        """Micro-F1 over the labelled rows."""
        return "micro-F1", 2 * self.both / self.either if self.either else None, self.known

    def summary(self) -> str:
        """How often each label."""
        shown = [f"{name} {self.counts[name]:,}" for name in self.names[:_SHOWN]]
        more = [f"... ({len(self.names):,} labels)"] if len(self.names) > _SHOWN else []
        return ", ".join([*shown, *more, f"none {self.none:,}"])

    def as_json(self) -> dict[str, JSON]:
        """How often each label, and how many rows have none."""
        return {"labels": {name: self.counts[name] for name in self.names}, "none": self.none}


@dataclass
class Numbers:
    """A number a row, or several."""

    model: NGMRegressor
    count: int = 0
    low: float = math.inf
    high: float = -math.inf
    total: float = 0.0
    known: int = 0
    start: float | None = None  # the first true number; sums are of differences from it
    sums: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))  # y, y squared, error squared
    strange: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        """`prediction`, or `prediction_1`, `prediction_2`, ..."""
        many = len(self.model.mean_)
        names = [f"prediction_{i + 1}" for i in range(many)] if many > 1 else ["prediction"]
        return [Column(name, "DOUBLE") for name in names]  # every digit, so that what is read back is what predict gave

    def outputs(self, x: Given) -> NDArray[np.floating]:
        """(b, T) numbers."""
        raw = self.model.predict(x)
        return raw.reshape(len(raw), -1)

    def take(self, outputs: NDArray[np.floating], truth: Sequence[object] | None) -> list[Sequence[object]]:
        """Values of the columns for some more rows, which are counted."""
        found = outputs
        self.count += len(found)
        self.total += float(found.sum(dtype=np.float64))
        self.low, self.high = min(self.low, float(found.min())), max(self.high, float(found.max()))
        if truth is not None and found.shape[1] > 1:
            raise ValueError(f"--label is one column, and the run predicts {found.shape[1]} numbers; leave it out")
        if truth is not None:
            self._compare(np.array([_as_float(value) for value in truth]), found[:, 0])
        return list(found.T.tolist())

    def _compare(self, truth: NDArray[np.float64], found: NDArray[np.floating]) -> None:
        known = ~np.isnan(truth)
        if not known.any():
            return
        self.start = float(truth[known][0]) if self.start is None else self.start
        self.known += int(known.sum())
        y, error = truth[known] - self.start, truth[known] - found[known]
        self.sums += [y.sum(), (y**2).sum(), (error**2).sum()]

    def score(self) -> tuple[str, float | None, int]:
        """R squared over the rows with a number."""
        y, squares, errors = self.sums.tolist()
        spread = squares - y**2 / self.known if self.known else 0.0
        return "R2", 1 - errors / spread if spread > 0 else None, self.known

    def summary(self) -> str:
        """Least, mean and largest."""
        mean, form = self.total / max(self.count * len(self.model.mean_), 1), f".{self.model.digits_ - 2}g"
        return f"numbers from {self.low:{form}} to {self.high:{form}}, {mean:{form}} in the mean"

    def as_json(self) -> dict[str, JSON]:
        """The same for machines."""
        mean = self.total / max(self.count * len(self.model.mean_), 1)
        return {"least": self.low, "mean": mean, "largest": self.high}


def is_missing(value: object) -> bool:
    """Whether it stands for no label: None, NaN or blanks.

    >>> [is_missing(value) for value in (None, float("nan"), " ", "a", 0)]
    [True, True, True, False, False]
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return isinstance(value, str) and not value.strip()


def sql_type(values: NDArray[np.generic]) -> str:
    """What DuckDB calls values of this type.

    >>> sql_type(np.array([1, 2])), sql_type(np.array([1.5])), sql_type(np.array(["a"]))
    ('BIGINT', 'DOUBLE', 'VARCHAR')
    """
    whole = values.dtype.kind in "iu" or (
        values.dtype.kind == "O" and all(isinstance(v, int) and not isinstance(v, bool) for v in values)
    )
    return "BIGINT" if whole else "DOUBLE" if values.dtype.kind == "f" else "VARCHAR"


def _key(label: object) -> str:
    """A label as it is compared: 3, 3.0, "3" and "3.00" are the same one, "03" is another."""
    text = str(label)
    return text.split(".")[0] if _WHOLE.fullmatch(text) else text


def _labels(value: object, separator: str) -> set[str] | None:
    """The labels of a row; None where there are none."""
    if isinstance(value, list | tuple):
        return {str(name) for name in value}
    if is_missing(value):
        return None
    return {name.strip() for name in str(value).split(separator) if name.strip()}


def _as_float(value: object) -> float:
    if is_missing(value):
        return math.nan
    try:
        return float(cast(str, value))
    except (TypeError, ValueError):
        raise ValueError(
            f"--label has {str(value)[:30]!r}, and the run predicts numbers; give a column of them"
        ) from None
