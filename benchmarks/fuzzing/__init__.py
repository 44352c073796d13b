"""Bad input for `benchmarks/fuzz.py`: an area is a function that makes one case of a source of chance.

`make(rng, folder)` writes whatever files it needs into the empty folder, which is the current one, and returns what is
to be called. Only the call is judged (see `judge`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from random import Random

Make = Callable[[Random, Path], Callable[[], object]]

# area -> its share of all cases, by what a case costs and how much there is to go wrong
SHARES = {
    "readers": 22,
    "graphs": 20,
    "builders": 12,
    "estimators": 14,
    "folders": 14,
    "vectors": 10,
    "commands": 8,
}


def maker(area: str) -> Make:
    """The function that makes the cases of an area."""
    make: Make = importlib.import_module(f"fuzzing.{area}").make
    return make
