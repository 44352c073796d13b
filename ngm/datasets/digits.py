"""Handwritten digits: 8 x 8 pixel images that come with scikit-learn, so they need no network."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ngm.datasets.dataset import Dataset, Record
from ngm.io.fetch import Progress

RECORD = Record(
    name="digits",
    num_nodes=1797,
    num_edges=0,
    num_features=64,
    num_classes=10,
    license="CC BY 4.0",
    origin="Alpaydin and Kaynak, UCI Machine Learning Repository, test part; in scikit-learn",
    where="embedded",
)

_TRAIN = 1200
_SPLIT_SEED = 0


def digits(progress: Progress | None = None) -> Dataset:
    """Loads the digits; make a graph from `x`, for instance with `knn_graph`.

    Args:
        progress: Not called, since nothing is fetched.

    Returns:
        1,797 nodes, x dense in [0, 1], no graph. `train` is a pool of 1,200 nodes to draw labels from and
        `test` the other 597, both with the classes in the same proportions and the same on every machine;
        `validation` is empty.
    """
    images = load_digits()
    y = images.target.astype(np.int64)
    train, test = train_test_split(np.arange(len(y)), train_size=_TRAIN, stratify=y, random_state=_SPLIT_SEED)
    return Dataset(
        name="digits",
        x=(images.data / 16).astype(np.float32),  # pixels count 0 to 16 dark dots
        y=y,
        graph=None,
        train=np.sort(train),
        validation=np.zeros(0, dtype=np.int64),
        test=np.sort(test),
        classes=tuple(str(digit) for digit in range(10)),
    )
