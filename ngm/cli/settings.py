"""The settings of the estimators as options of a command: types, defaults, ranges and help are those declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import Parameter, Signature
from typing import Annotated, get_args, get_type_hints

import typer
from rich.markup import escape

from ngm.parameters import PARAMETERS
from ngm.parameters import Parameter as Declared

PANEL = "Settings of the estimator"
_ELSEWHERE = ("vectors", "size")  # an option of the command; part of the names of networks
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
    "crop",
    "optimizer",
    "distance",
)
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", tuple: "whole numbers"}


@dataclass(frozen=True)
class Setting:
    """A setting by its name, as the command line and `config.json` give it.

    Args:
        name: Of the setting.
        declared: What it may be, and what it means.
    """

    name: str
    declared: Declared

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
        declared = self.declared
        if value is None and declared.default is None:
            return None
        if declared.kind is tuple:
            return _whole_numbers(value, called)
        if declared.kind is dict:
            return _shares(value, called)
        fits = isinstance(value, (int, float) if declared.kind is float else declared.kind)
        if not fits or (isinstance(value, bool) and declared.kind is not bool):
            raise ValueError(f"{called} is {value!r}; give {_WORDS[declared.kind]}{self._hint(value)}")
        replace(declared, also="").check(called, value)
        return float(value) if declared.kind is float and isinstance(value, int) else value

    def _hint(self, value: object) -> str:
        """Says that a list with an entry per graph is for Python."""
        return ", since there is one graph" if isinstance(value, list) and self.name.startswith("alpha") else ""

    def option(self) -> Parameter:
        """The option, None where it is not given."""
        declared = self.declared
        off = f"/--no-{self.flag.removeprefix('--')}" if declared.default is True else ""  # what is on can be put off
        shown: str | bool = False
        if declared.default is not None and declared.kind is not bool:
            default = declared.default
            shown = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
        info = typer.Option(f"{self.flag}{off}", help=escape(declared.text), show_default=shown, rich_help_panel=PANEL)
        kind = str if declared.kind in (tuple, dict) else declared.kind
        annotation = Annotated[kind | None, info]  # type: ignore[valid-type]
        return Parameter(self.name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def settings() -> dict[str, Setting]:
    """All settings that are options, by name, those used most first.

    >>> settings()["batch_size"].flag, settings()["influence"].declared.choices
    ('--batch-size', ('both', 'source', 'target'))
    """
    found = every_setting()
    return {name: found[name] for name in (*_FIRST, *_NEXT, *found) if name not in _ELSEWHERE}


def every_setting() -> dict[str, Setting]:
    """All settings of the estimators, by name."""
    return {name: Setting(name, declared) for name, declared in PARAMETERS.items()}


def fields_of(record: type) -> dict[str, Setting]:
    """The fields of a dataclass by name, each None or of a plain type."""
    hints = get_type_hints(record)
    return {f.name: Setting(f.name, Declared("", _plain(hints[f.name]), f.default)) for f in fields(record)}


def _plain(hint: object) -> type:
    return next(kind for kind in (bool, int, float, str) if kind in get_args(hint))


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
