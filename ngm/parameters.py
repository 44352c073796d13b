"""The settings of estimators, networks and optimizers: default, range, words to choose from and meaning of each, once.

`fit` checks values by these records, docstrings and documentation list them, and `ngm train` makes its options of them.
The fields of the classes carry the types; a test keeps both in step. Nothing heavy is imported here, so that the
command line can show its help at once.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Literal, TypeVar, cast, get_args

from ngm._spelling import nearest
from ngm.choices import (
    CharCNNSize,
    DistanceName,
    Influence,
    NetworkName,
    OptimizerName,
    Precision,
    Recipe,
    Sampling,
    Scaling,
    ScalingName,
)

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")
PLACEHOLDER = "{settings}"  # in a docstring, alone on its line: where the settings are listed
_WIDTH = 112  # of a line in a docstring, its indentation aside


@dataclass(frozen=True)
class Interval:
    """Finite numbers from `low` to `high`.

    Args:
        low: The least.
        high: The largest; infinity itself is never meant.
        open_low: Whether `low` itself is left out.
        open_high: Whether `high` itself is left out.

    >>> str(Interval(0, 1, open_high=True)), 1.0 in Interval(0, 1, open_high=True), float("nan") in Interval(0)
    ('at least 0 and below 1', False, False)
    """

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, number: float) -> bool:
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high or self.high == math.inf else number <= self.high
        return above and below

    def __str__(self) -> str:
        low = f"greater than {self.low:g}" if self.open_low else f"at least {self.low:g}"
        if self.high == math.inf:
            return low
        return f"{low} and {'below' if self.open_high else 'at most'} {self.high:g}"


@dataclass(frozen=True)
class Parameter:
    """A setting of the estimators.

    Args:
        help: What it means, to readers of Python and of the command line alike.
        kind: Type of a value: bool, int, float or str; tuple for several whole numbers, dict for numbers by name.
        default: None where the recipe, the network or the data decides; where it is anything else, None is refused.
        interval: Numbers that it may be; of several, each.
        choices: Words that it may be.
        also: What else Python takes, in words; `fit` checks such a value where it is used.
        is_also: Whether a value is that.
        of: What has the setting: the estimator itself, its `network` or its `optimizer`.
    """

    help: str
    kind: type
    default: object = None
    interval: Interval | None = None
    choices: tuple[str, ...] = ()
    also: str = ""
    is_also: Callable[[object], bool] | None = None
    of: Literal["estimator", "network", "optimizer"] = "estimator"

    @property
    def text(self) -> str:
        """What it means, with its range."""
        if self.interval is None:
            return self.help
        range_ = f"each {self.interval}" if self.kind is tuple else str(self.interval)
        return f"{self.help} {range_.capitalize()}."

    def check(self, name: str, value: object) -> None:
        """Refuses a number out of range and a word that is none to choose from.

        Args:
            name: What the message calls it.
            value: What was given.

        >>> PARAMETERS["dropout"].check("dropout", 1.5)
        Traceback (most recent call last):
        ValueError: dropout is 1.5; it must be a number of at least 0 and below 1
        """
        if value is None and self.default is None:
            return
        if self.is_also is not None and self.is_also(value):
            return
        more = f", or give {self.also}" if self.also else ""
        if self.choices and not _is_among(value, self.choices):
            guess = nearest(value, self.choices) if isinstance(value, str) else ""
            raise ValueError(f"{name} is {value!r}{guess}; choose from {', '.join(self.choices)}{more}")
        if self.interval is not None and self.kind is not tuple and not self.admits(value):
            adjective = "whole " if self.kind is int else "finite " if self.interval.high == math.inf else ""
            range_ = f"{'' if self.interval.open_low else 'of '}{self.interval}"
            more = "" if isinstance(value, Real) else more
            raise ValueError(f"{name} is {value!r}; it must be a {adjective}number {range_}{more}")

    def admits(self, value: object) -> bool:
        """Whether a value is a number, a whole one where these are wanted, within the range."""
        number = isinstance(value, Real if self.kind is float else Integral)
        return number and (self.interval is None or cast(float, value) in self.interval)


def _is_among(value: object, words: tuple[str, ...]) -> bool:
    try:
        return any(bool(value == word) for word in words)
    except ValueError:  # an array
        return False


_POSITIVE, _NOT_NEGATIVE, _SHARE = Interval(0, open_low=True), Interval(0), Interval(0, 1, open_high=True)


def _alpha(help: str) -> Parameter:
    also = "a list with one per graph"
    return Parameter(help, float, interval=_NOT_NEGATIVE, also=also, is_also=lambda value: isinstance(value, Sized))


PARAMETERS: dict[str, Parameter] = {
    "hidden": Parameter(
        'Widths of the hidden layers of network "ffnn".',
        kind=tuple,
        default=(250, 100),
        interval=Interval(1),
    ),
    "alpha_ll": _alpha(
        "Weight of distances across labelled-labelled edges. Where not given, here and below: as the recipe says (0 "
        'for "auto" and "strong"; 0.2 for "paper", 0.1 for texts). With "auto" all nodes that teachers label count as '
        "labelled."
    ),
    "alpha_lu": _alpha("Weight of distances across labelled-unlabelled edges."),
    "alpha_uu": _alpha(
        'Weight of distances across unlabelled-unlabelled edges. "paper" with all three 0: a plain network.'
    ),
    "distance": Parameter(
        'How the ends of an edge are compared: "l1", "l2", "squared_l2", "cosine", "cross_entropy", "kl" or "js".',
        kind=str,
        default="l2",
        choices=get_args(DistanceName),
        also="a function (k, d), (k, d) -> (k,)",
        is_also=callable,
    ),
    "layer": Parameter(
        'Layer whose output is h; by default the last hidden one, or the output for "cross_entropy", "kl" and "js".',
        kind=str,
    ),
    "influence": Parameter(
        'On directed graphs, "source", "target" or "both": which end pulls the other. Like distance, scaling and '
        'negatives it is about edges with an alpha: "auto" refuses it where no alpha is given.',
        kind=str,
        default="both",
        choices=get_args(Influence),
    ),
    "negatives": Parameter(
        "Pairs of nodes that are no neighbours, held apart per edge so that edges cannot draw all nodes to one point "
        '(docs/alphas.md); fractions too. "paper": 1, and 0 for texts and numbers; others: 0, which is the objective '
        "of the paper itself.",
        kind=float,
        interval=Interval(0, 100),
    ),
    "margin": Parameter(
        'Distance from which on such a pair is left alone; "paper": 3, others: 1.', kind=float, interval=_POSITIVE
    ),
    "scaling": Parameter(
        '"mean" (an alpha means the same on any graph) or "sum" (the paper\'s Eq. 3 to the letter).',
        kind=str,
        default="mean",
        choices=get_args(Scaling),
    ),
    "network": Parameter(
        '"ffnn"; for texts "charcnn" (the paper\'s tiny one), "charcnn-small", "charcnn-large" or "lstm".',
        kind=str,
        default="ffnn",
        choices=get_args(NetworkName),
        also="a network of `ngm.networks` with its settings, or a function (in_features, out_features) -> nn.Module",
        is_also=callable,
    ),
    "recipe": Parameter(
        '"auto" trains on the labels of teachers, weighted by how well each predicts labels that it has not '
        'seen; "paper" trains on the labels and the edges (Eq. 3); "strong" trains on the labels of '
        "networks that see whole neighbourhoods, slower (docs/few-labels.md). Settings that are not given are the "
        "recipe's.",
        kind=str,
        default="auto",
        choices=get_args(Recipe),
    ),
    "class_prior": Parameter(
        "Share of the nodes that each class has, where that is known: ham=0.9,spam=0.1, in Python a mapping. The soft "
        'labels of "auto" are brought to these shares. Where not given: as the labels and the graph say.',
        kind=dict,
        also="shares in the order of `classes_`",
    ),
    "graph_screen": Parameter(
        'Whether recipes "paper" and "strong" first check that a graph of 1,000 edges or more is informative: where '
        "predictions of a briefly trained network agree across its edges no more than by chance, it is ignored with a "
        'warning. "auto" weights graphs by held-out labels instead.',
        kind=bool,
        default=True,
    ),
    "epochs": Parameter(
        "Passes over the edges with an alpha, at most; without any, over the labelled rows, those that teachers "
        'labelled among them. "paper": as many as make 1,000 steps, 100 at most; "auto": as many as make 200, or 1,000 '
        'for label sets; "strong": 500. Of texts, 2,000 steps and 3,000.',
        kind=int,
        interval=_POSITIVE,
    ),
    "batch_size": Parameter(
        "Edges in a batch (labelled rows where no edge is used). Where not given: 512, and 128 for texts.",
        kind=int,
        interval=_POSITIVE,
    ),
    "sampling": Parameter(
        'How labelled rows come into batches: "plain" spreads them over all batches of an epoch, "edges" sends each '
        'with its edges (Eq. 4), "balanced" draws batches in which every class is present.',
        kind=str,
        default="plain",
        choices=get_args(Sampling),
    ),
    "optimizer": Parameter(
        '"adam", "adamw" or "sgd" (momentum .9).',
        kind=str,
        default="adam",
        choices=get_args(OptimizerName),
        also="an `ngm.Optimizer` with its settings",
        is_also=lambda value: hasattr(value, "ema_decay"),
    ),
    "learning_rate": Parameter(
        'Size of a step; "paper": 0.001, others: 0.005; 0.002 for texts.', kind=float, interval=_POSITIVE
    ),
    "dtype": Parameter(
        '"float32", "float64", or "bfloat16" (weights in float32, layers in bfloat16 where that is safe); where not '
        "given, float64 for x of float64, else float32.",
        kind=str,
        choices=get_args(Precision),
    ),
    "validation": Parameter(
        'Share of the labelled rows that is held out to keep the best epoch (on the command line, 0: none). "auto": '
        "0.1, and none where there are fewer than 30 labels per class (300 of numbers), unless patience is set.",
        kind=float,
        default="auto",
        also="None for no validation, ids or a mask of labelled rows, or a pair (x, y)",
    ),
    "patience": Parameter(
        "Epochs without improvement on validation after which to stop.", kind=int, interval=_POSITIVE
    ),
    "seed": Parameter("Same seed, same result.", kind=int, default=0, interval=_NOT_NEGATIVE),
    "device": Parameter('Where to train: "cpu", "cuda", ...', kind=str, default="cpu"),
    "size": Parameter(
        'Size of the character network: "tiny" (3 convolutions of 32 frames, the paper\'s), "small" (6 of 256) or '
        '"large" (6 of 1,024).',
        kind=str,
        default="tiny",
        choices=get_args(CharCNNSize),
        of="network",
    ),
    "dropout": Parameter(
        'Share of hidden units dropped while training; "paper": 0, others: 0.5, "auto" on label sets: 0.2. Networks '
        'that read texts have their own: 0.5 for characters, 0 for "lstm".',
        kind=float,
        interval=_SHARE,
        of="network",
    ),
    "input_dropout": Parameter(
        'Share of the inputs dropped while training ("ffnn"); "paper": 0, others: 0.5, "auto" on label sets or rows of '
        "up to 64 columns: 0.",
        kind=float,
        interval=_SHARE,
        of="network",
    ),
    "input_scaling": Parameter(
        'What "ffnn" does to rows of x, new ones too: "unit_rows" scales each to length 1, "standardize" each column '
        'to mean 0 and deviation 1, "none" nothing. Where not given: unit rows for counts (mostly zeros, never below '
        '0), else standardised; "strong": unit rows.',
        kind=str,
        choices=get_args(ScalingName),
        of="network",
    ),
    "vectors": Parameter(
        'File of word vectors, which words of "lstm" start from, and by which the teachers of "auto" and "strong" read '
        "texts.",
        kind=str,
        also="`WordVectors`",
        of="network",
    ),
    "max_words": Parameter(
        'Size of the vocabulary of "lstm": the most frequent words of the training texts.',
        kind=int,
        default=20_000,
        interval=Interval(1),
        of="network",
    ),
    "thesaurus": Parameter(
        "File of synonyms: words of training texts are replaced by others in every epoch.",
        kind=str,
        also="a `Thesaurus`",
        of="network",
    ),
    "crop": Parameter(
        'Largest part of a training text that is left out at one end, another in every epoch; "paper": 0, others: 0.3 '
        "for characters and 0 for words.",
        kind=float,
        interval=_SHARE,
        of="network",
    ),
    "weight_decay": Parameter(
        'L2 penalty on the weights; "paper": 0, others: one over the number of nodes that are labelled, softly or not, '
        "or of all rows where there is no graph; 0 for texts.",
        kind=float,
        interval=_NOT_NEGATIVE,
        of="optimizer",
    ),
    "ema_decay": Parameter(
        'Decay of an exponential moving average of the weights, which is used for prediction; "paper": none, others: '
        "0.99; 0.998 for texts.",
        kind=float,
        interval=_SHARE,
        of="optimizer",
    ),
    "clip": Parameter(
        "Largest norm of the gradient; longer ones are scaled down to it.",
        kind=float,
        interval=_POSITIVE,
        of="optimizer",
    ),
}


_RENAMED = {"word_vectors": "vectors", "cut": "crop", "average": "ema_decay"}  # since 0.2
_REMOVED = ("folder", "resume", "overwrite", "unit_rows", "labels", "bfloat16")  # likewise


def renamed_settings(settings: Mapping[str, Value]) -> dict[str, Value | str]:
    """Settings of a run folder under their names of today: 0.1 had flags where there are words now."""
    renamed: dict[str, Value | str] = {
        _RENAMED.get(name, name): value for name, value in settings.items() if name not in _REMOVED
    }
    if "unit_rows" in settings:
        renamed["input_scaling"] = "unit_rows" if settings["unit_rows"] else "none"
    if settings.get("labels") == "edges" and settings.get("sampling", "plain") == "plain":
        renamed["sampling"] = "edges"
    if settings.get("bfloat16"):
        renamed["dtype"] = "bfloat16"
    return renamed


def fill_in(docstring: str, names: Iterable[str], declared: Mapping[str, Parameter]) -> str:
    """The docstring with a list of settings in the place of `{settings}`."""
    line = next((line for line in docstring.splitlines() if line.strip() == PLACEHOLDER), None)
    if line is None:
        return docstring
    entries = []
    for name in names:
        parameter = declared[name]
        also = f" Or {parameter.also}." if parameter.also else ""
        entries.append(textwrap.fill(f"{name}: {parameter.text}{also}", _WIDTH, subsequent_indent="    "))
    return docstring.replace(line, textwrap.indent("\n".join(entries), line.removesuffix(PLACEHOLDER)))


def documented(declared: Mapping[str, Parameter]) -> Callable[[Class], Class]:
    """Decorates a dataclass: its docstring gets the list of those of its fields that are declared."""

    def fill(kind: Class) -> Class:
        if kind.__doc__ is not None:  # there is none under `python -OO`
            names = [field.name for field in fields(kind) if field.name in declared]
            kind.__doc__ = fill_in(kind.__doc__, names, declared)
        return kind

    return fill


with_settings = documented(PARAMETERS)
