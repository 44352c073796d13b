"""Docstrings as the reference shows them: doctests as code, settings listed. An extension of griffe, see mkdocs.yml."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

from griffe import Docstring, Extension, GriffeLoader, Object, Parser

from ngm.parameters import PLACEHOLDER

# a line that starts with >>>, and all below it up to an empty line or the end
_DOCTEST = re.compile(r"^(?P<indent> *)>>> .*?(?=\n[ ]*\n|\Z)", re.MULTILINE | re.DOTALL)


def fenced(text: str) -> str:
    """A docstring with its doctests in fences."""
    return _DOCTEST.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", text)


class Doctests(Extension):
    """Puts the doctests of every object into fences, and the declared settings into those that list them."""

    def on_object(self, *, obj: Object, loader: GriffeLoader, **rest: object) -> None:
        """Called for everything that is loaded."""
        if obj.docstring is not None and (">>> " in obj.docstring.value or PLACEHOLDER in obj.docstring.value):
            value = obj.docstring.value
            if PLACEHOLDER in value:  # the class itself has its settings filled in
                value = inspect.getdoc(getattr(import_module(obj.module.path), obj.name)) or ""
            value = fenced(value)
            obj.docstring = Docstring(
                value, lineno=obj.docstring.lineno, endlineno=obj.docstring.endlineno, parent=obj, parser=Parser.google
            )
