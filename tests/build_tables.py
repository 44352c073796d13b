"""A small table and word vectors for tests of `ngm build`."""

from __future__ import annotations

import numpy as np
import pandas as pd

BODIES = [
    "the cat sat on the mat",
    "a cat and a dog, on a mat",
    "dogs bark and cats purr",
    "stocks fell on Monday",
    "Monday: stocks rose",
    "the stocks market fell",
]


def write_tables() -> None:
    """Writes texts.csv and glove.npz here."""
    table = pd.DataFrame({"id": list("abcdef"), "body": BODIES, "topic": ["pets"] * 3 + [None] * 3})
    table["size"], table["age"] = np.arange(6.0) ** 2, [1, 2, 1, 9, 8, 9]
    table.to_csv("texts.csv", index=False)
    np.savez("glove.npz", words=np.array(["cat", "dog", "stocks"]), vectors=np.array([[1, 0.1], [1, 0.3], [0.2, 1]]))
