"""Rows that tests look for neighbours in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm.choices import Metric

Floats = NDArray[np.float64]
METRICS: list[Metric] = ["cosine", "euclidean", "inner_product"]


def clustered(rows: int = 700, width: int = 12, seed: int = 0) -> Floats:
    """Rows around ten centres, so that there are near and far ones."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(10, width))[rng.integers(10, size=rows)] * 2 + rng.normal(size=(rows, width))
