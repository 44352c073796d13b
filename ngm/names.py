"""What a mistyped name may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most like `word`, as the aside of an error message, or nothing.

    >>> nearest("sqared_l2", ["l2", "squared_l2"])
    " (did you mean 'squared_l2'?)"
    """
    spelled = {str(name).lower(): name for name in known}
    close = difflib.get_close_matches(str(word).lower(), spelled, n=1)
    return f" (did you mean {spelled[close[0]]!r}?)" if close else ""
