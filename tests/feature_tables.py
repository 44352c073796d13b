"""Tables, a graph and comparisons for tests of the rows that are made from them."""

from __future__ import annotations

import re

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm import Graph, read_table
from ngm.features import Features
from ngm.io.run_folder import Run
from ngm.io.tables import Table

TEXTS = ["red apple", "Green apple, apple", "old car", "new car"]
GRAPH = Graph.from_edges([[0, 1], [1, 2], [2, 3], [0, 2]], [1.0, 0.5, 2.0, 1.0])
NAMES = np.array(["a", "b", "c", "ö d"], dtype=object)


def table() -> Table:
    """Four rows of texts and numbers."""
    return read_table(
        {"body": TEXTS, "more": ["x", None, "y", "z"], "size": [1.0, 2.0, 3.0, 6.0], "count": [5, 5, 7, 9]}
    )


def again(features: Features, run: Run) -> Features:
    """The features as another program finds them."""
    features.save(run)
    found = Features.open(run)
    assert found is not None
    return found


def exactly(message: str) -> str:
    """A pattern that this message alone matches."""
    return f"^{re.escape(message)}$"


def dense(x: object) -> NDArray[np.float32]:
    """The rows as one array, sparse or not."""
    return np.asarray(x.toarray() if sp.issparse(x) else x)  # type: ignore[attr-defined]


def rows(table: Table) -> list[tuple[object, ...]]:
    """The rows, with None wherever something is missing."""
    columns = [[None if v is None or v != v else v for v in table.column(c).tolist()] for c in table.columns]
    return list(zip(*columns, strict=True))
