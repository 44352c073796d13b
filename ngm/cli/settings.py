"""The estimator's fields as options of a command: names, types, defaults and help are those of `NGMClassifier`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter, Signature
from types import NoneType
from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import typer
from rich.markup import escape

from ngm.distances import DISTANCES
from ngm.methods.classifier import NGMClassifier
from ngm.names import nearest
from ngm.networks import NETWORKS

PANEL = "Settings of the estimator"
_ELSEWHERE = ("folder", "resume", "overwrite", "word_vectors")  # options of the command, the last as --vectors
_FIRST = ("network", "recipe", "hidden", "alpha_ll", "alpha_lu", "alpha_uu", "negatives", "margin")
_NEXT = (
    "epochs",
    "batch_size",
    "learning_rate",
    "validation",
    "patience",
    "seed",
    "dropout",
    "weight_decay",
    "thesaurus",
    "cut",
    "optimizer",
    "distance",
)
_NAMES: dict[str, Sequence[str]] = {"distance": tuple(DISTANCES), "network": tuple(NETWORKS)}
_SHOWN = {  # where the command's default is not the field's
    "validation": "0.1; none below 30 labels a class, unless --control or --patience need some",
}
_IN_PYTHON = {  # parts of the docstring that are not for the command line -> what is said there
    "; or a function (in_features, out_features) -> nn.Module": "",
    ", or a function": "",
    "; a list gives one per graph. None, here and below: as": ". Where not given, here and below: as",
    "Where all three are None": "Without all three",
    "Settings that are None are": "Settings that are not given are",
    "File or `Thesaurus`: training texts get other synonyms in every epoch. None: they stay as they are": (
        "File of synonyms: training texts get others of them in every epoch"
    ),
    "None: 512, and": "Where not given: 512, and",
    "None: as the labels": "Where not given: as the labels",
    "None: unit rows": "Where not given: unit rows",
    "; by default as x is, so give x as float32 where speed matters": "; float32 where not given",
    ", ids or mask of labelled rows, or a pair (x, y)": "",
    "{class: share}, or shares in the order of `classes_`": "ham=0.9,spam=0.1",
}
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", tuple: "whole numbers"}


@dataclass(frozen=True)
class Setting:
    """A field of the estimator.

    Args:
        name: Of the field.
        kind: Type of a value on the command line; tuple for whole numbers with commas between, dict for name=number.
        choices: The words to choose from; none where any value will do.
        default: Of the field.
        optional: Whether it may be None, for what the recipe or the data says.
        help: What it means.
    """

    name: str
    kind: type
    choices: Sequence[str]
    default: object
    optional: bool
    help: str

    @property
    def flag(self) -> str:
        """`--alpha-ll`."""
        return f"--{self.name.replace('_', '-')}"

    def checked(self, value: object, called: str) -> object:
        """A value from the command line or a file as the field takes it.

        Args:
            value: What was given.
            called: What messages call it.
        """
        if value is None and self.optional:
            return None
        if self.kind is tuple:
            return _whole_numbers(value, called)
        if self.kind is dict:
            return _shares(value, called)
        fits = isinstance(value, (int, float) if self.kind is float else self.kind)
        if not fits or (isinstance(value, bool) and self.kind is not bool):
            raise ValueError(f"{called} is {value!r}; give {_WORDS[self.kind]}{self._hint(value)}")
        if self.choices and value not in self.choices:
            raise ValueError(
                f"{called} is {value!r}{nearest(str(value), self.choices)}; choose from {', '.join(self.choices)}"
            )
        return float(value) if self.kind is float and isinstance(value, int) else value

    def _hint(self, value: object) -> str:
        """Says that a list with an entry per graph is for Python."""
        return ", since there is one graph" if isinstance(value, list) and self.name.startswith("alpha") else ""

    def option(self) -> Parameter:
        """The option, None where it is not given."""
        flags = [self.flag]
        if self.kind is bool and self.optional:
            flags = [f"{self.flag}/--no-{self.name.replace('_', '-')}"]
        shown: str | bool = _SHOWN.get(self.name, False)
        if not shown and self.default is not None and self.kind is not bool:
            shown = ",".join(map(str, self.default)) if isinstance(self.default, tuple) else str(self.default)
        said = self.help
        for part, instead in _IN_PYTHON.items():
            said = said.replace(part, instead)
        info = typer.Option(*flags, help=escape(said[:1].upper() + said[1:]), show_default=shown, rich_help_panel=PANEL)
        kind = str if self.kind in (tuple, dict) else self.kind
        annotation = Annotated[kind | None, info]  # type: ignore[valid-type]
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def settings() -> dict[str, Setting]:
    """All fields that are options, by name, those used most first.

    >>> settings()["batch_size"].flag, settings()["influence"].choices
    ('--batch-size', ('both', 'source', 'target'))
    """
    found = fields_of(NGMClassifier)
    return {name: found[name] for name in (*_FIRST, *_NEXT, *found) if name not in _ELSEWHERE}


def fields_of(record: type) -> dict[str, Setting]:
    """The fields of a dataclass by name, with what its docstring says of them."""
    hints, said = get_type_hints(record), explained(record)
    made: dict[str, Setting] = {}
    for f in fields(record):
        kind, choices = _kind(hints[f.name])
        optional = NoneType in get_args(hints[f.name])
        choices = choices or _NAMES.get(f.name, ())
        made[f.name] = Setting(f.name, kind, choices, f.default, optional, said.get(f.name, ""))
    return made


def explained(kind: type) -> dict[str, str]:
    """What the docstring of a class says of each of its arguments.

    >>> explained(NGMClassifier)["clip"]
    'Largest norm of the gradient.'
    """
    listed = re.search(r"\nArgs:\n(.*?)(\n\n|\Z)", inspect.getdoc(kind) or "", re.DOTALL)
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", listed[1] if listed else "", re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def with_options(function: Callable[[Mapping[str, object]], None], *parts: Sequence[Parameter]) -> Callable[..., None]:
    """A command with the given options, which are handed to the function by name.

    Args:
        function: Does what the command does; its docstring is the command's help.
        *parts: The options, in the order in which help shows them.
    """

    def command(**given: object) -> None:
        function(given)

    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    command.__doc__, command.__name__ = "\n\n".join(" ".join(p.split()) for p in paragraphs), function.__name__
    command.__signature__ = Signature([option for part in parts for option in part])  # type: ignore[attr-defined]
    return command


def options_of(record: type) -> list[Parameter]:
    """The fields of a dataclass, annotated for typer, as options."""
    hints = get_type_hints(record, include_extras=True)
    return [
        Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name]) for f in fields(record)
    ]


def _kind(hint: object) -> tuple[type, Sequence[str]]:
    """(type of a value on the command line, words to choose from) for the type of a field."""
    members = [m for m in get_args(hint) if m is not NoneType] if NoneType in get_args(hint) else [hint]
    if len(members) == 1 and get_origin(members[0]) not in (Literal, *_LISTS):
        members = list(get_args(members[0])) or members
    for member in members:
        if get_origin(member) is Literal:
            return str, get_args(member)
    for kind in (bool, int, float, str):
        if kind in members:
            return kind, ()
    return (dict if any(get_origin(member) is Mapping for member in members) else tuple), ()


_LISTS = (Sequence, list, tuple)


def _whole_numbers(value: object, called: str) -> tuple[int, ...]:
    """`250,100` or [250, 100] as (250, 100)."""
    parts = [p.strip() for p in value.split(",")] if isinstance(value, str) else value
    try:
        if isinstance(parts, list | tuple) and not any(isinstance(p, bool | float) for p in parts):
            return tuple(int(p) for p in parts)
    except (ValueError, TypeError):
        pass
    raise ValueError(f"{called} is {value!r}; give whole numbers, such as 250,100")


def _shares(value: object, called: str) -> dict[str, float]:
    """`ham=0.9,spam=0.1` or {"ham": 0.9, "spam": 0.1} as the latter."""
    try:
        pairs = [p.rsplit("=", 1) for p in value.split(",")] if isinstance(value, str) else dict(value)  # type: ignore[call-overload]
        return {str(name).strip(): float(share) for name, share in dict(pairs).items()}
    except (ValueError, TypeError):
        raise ValueError(f"{called} is {value!r}; give the share of each class, such as ham=0.9,spam=0.1") from None
