"""Shows the doctests of docstrings as code in the reference: an extension of griffe, named in mkdocs.yml."""

from __future__ import annotations

import re

from griffe import Docstring, Extension, GriffeLoader, Object, Parser

# a line that starts with >>>, and all below it up to an empty line or the end
_DOCTEST = re.compile(r"^(?P<indent> *)>>> .*?(?=\n[ ]*\n|\Z)", re.MULTILINE | re.DOTALL)


def fenced(text: str) -> str:
    """A docstring with its doctests in fences."""
    return _DOCTEST.sub(lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", text)


class Doctests(Extension):
    """Puts the doctests of every object into fences."""

    def on_object(self, *, obj: Object, loader: GriffeLoader, **rest: object) -> None:
        """Called for everything that is loaded."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            value = fenced(obj.docstring.value)
            obj.docstring = Docstring(
                value, lineno=obj.docstring.lineno, endlineno=obj.docstring.endlineno, parent=obj, parser=Parser.google
            )
