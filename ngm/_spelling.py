"""Names in messages: what a mistyped one may have meant, the first few of many."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most like `word`, as the aside of an error message, or nothing.

    >>> nearest("sqared_l2", ["l2", "squared_l2"])
    " (did you mean 'squared_l2'?)"
    """
    spelled = {str(name).lower(): name for name in known}
    close = difflib.get_close_matches(str(word).lower(), spelled, n=1)
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""


def first_of(words: Sequence[str], count: int = 3) -> str:
    """The first few, and dots where there are more.

    >>> first_of(["a", "b", "c", "d"])
    'a, b, c, ...'
    """
    return ", ".join(words[:count]) + (", ..." if len(words) > count else "")
