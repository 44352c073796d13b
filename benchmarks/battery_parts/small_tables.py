"""Small tables, which come with scikit-learn or are made by it.

How the default treats few columns was found on these tables, on splits of their own whose rows overlap with the scored
ones: they show that it works, not how well it does on tables that nobody has seen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_circles, make_moons
from sklearn.preprocessing import scale

from ngm.datasets import Dataset

_Table = tuple[NDArray[np.float64], NDArray[np.int64]]
_MADE: dict[str, Callable[[], _Table]] = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "moons": lambda: make_moons(1_000, noise=0.15, random_state=0),
    "circles": lambda: make_circles(1_000, noise=0.07, factor=0.5, random_state=0),
}
TABLES = tuple(_MADE)


def small_table(name: str) -> Dataset:
    """A table with standardised columns and no graph.

    Args:
        name: One of `TABLES`.
    """
    x, y = _MADE[name]()
    none = np.zeros(0, dtype=np.int64)
    classes = tuple(str(label) for label in range(int(y.max()) + 1))
    return Dataset(
        name=name,
        x=scale(x).astype(np.float32),
        y=y.astype(np.int64),
        graph=None,
        train=np.arange(len(y)),
        validation=none,
        test=none,
        classes=classes,
    )
