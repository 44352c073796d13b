"""What all plots share: colours by their names in the page's theme, rounded numbers, lines, figures in words.

Lines differ in their dashes as well as in colour, so that no plot relies on colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ngm.io.run_folder import JSON

PALETTE = tuple(f"var(--series-{i})" for i in range(1, 11))
BLUE, RED, GREY = PALETTE[0], PALETTE[1], PALETTE[7]
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_MAX_TEXT = 160  # characters of a text in a table


def round_significant(values: ArrayLike, digits: int = 5) -> list[JSON]:
    """Numbers with so many significant digits; None for what is not finite.

    >>> round_significant([1 / 3, 2000.0, float("nan")], 3)
    [0.333, 2000.0, None]
    """
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return [float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in numbers]


def line(name: str, x: Sequence[JSON], y: Sequence[JSON], number: int, mode: str = "lines") -> dict[str, JSON]:
    """A curve; `number` chooses its colour and its dashes. A single point, which has no line, is marked.

    >>> line("a", [1], [0.5], 0)["mode"], line("a", [1, 2], [0.5, 0.4], 0)["mode"]
    ('lines+markers', 'lines')
    """
    if len(x) == 1 and "markers" not in mode:
        mode += "+markers"
    color = PALETTE[number % len(PALETTE)]
    style: JSON = {"color": color, "width": 2, "dash": DASHES[number % len(DASHES)]}
    trace: dict[str, JSON] = {"type": "scatter", "mode": mode, "name": name, "x": list(x), "y": list(y), "line": style}
    return trace | ({"marker": {"color": color, "size": 7}} if "markers" in mode else {})


def axis(title: str, extra: Mapping[str, JSON] | None = None) -> JSON:
    """An axis by its title."""
    return {"title": {"text": title}, **(extra or {})}


def percent(fraction: float) -> str:
    """A share in words.

    >>> percent(0.8415)
    '84.2 %'
    """
    return f"{100 * fraction:.1f} %"


def capitalize(text: str) -> str:
    """With a capital letter at the start, the others as they are."""
    return text[:1].upper() + text[1:]


def count(number: int, singular: str, plural: str | None = None) -> str:
    """A number of things.

    >>> count(1, "edge"), count(1200, "edge")
    ('1 edge', '1,200 edges')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def shorten_text(text: object) -> str | None:
    """A text as a table shows it."""
    if text is None:
        return None
    shortened = str(text)
    return shortened if len(shortened) <= _MAX_TEXT else shortened[: _MAX_TEXT - 3].rstrip() + "..."


def as_int(value: JSON) -> int:
    """A whole number out of JSON."""
    if not isinstance(value, int | float) or not float(value).is_integer():
        raise ValueError(f"a file of the run holds {value!r} where a whole number belongs; train again")
    return int(value)


def as_float(value: JSON) -> float:
    """A number out of JSON."""
    if not isinstance(value, int | float):
        raise ValueError(f"a file of the run holds {value!r} where a number belongs; train again")
    return float(value)
