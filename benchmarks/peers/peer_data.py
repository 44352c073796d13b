"""A data set as one .npz: what `epoch_peers.py` writes and every script of this folder reads; numpy and scipy only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True)
class Problem:
    """Rows, labels, edges and the network to train on them.

    Args:
        x: (n, d) float32 rows.
        y: (n,) classes with -1 for unlabelled nodes, or (n, L) 0 / 1 labels with rows of -1.
        labeled: (n,) mask of nodes to learn from.
        edges: (m, 2) ends, each undirected edge once.
        hidden: Widths of the hidden layers.
        batch: Edges in a batch.
        truth: (n,) or (n, L) true labels of all nodes.
        validation: Ids of the validation nodes.
        alpha: Weight of the edge terms.
    """

    x: NDArray[np.float32] | sp.csr_matrix
    y: NDArray[np.float32] | NDArray[np.int64]
    labeled: NDArray[np.bool_]
    edges: NDArray[np.int64]
    hidden: tuple[int, ...]
    batch: int
    truth: NDArray[np.int64]
    validation: NDArray[np.int64]
    alpha: float = 0.2

    @property
    def sparse(self) -> bool:
        """Whether rows are sparse."""
        return bool(sp.issparse(self.x))

    @property
    def outputs(self) -> int:
        """Number of classes or labels."""
        return self.y.shape[1] if self.y.ndim == 2 else int(self.truth.max()) + 1

    @property
    def degree(self) -> NDArray[np.int64]:
        """(n,) edges of each node, 1 where there is none."""
        return np.maximum(np.bincount(self.edges.reshape(-1), minlength=len(self.labeled)), 1)


def write(problem: Problem, file: Path) -> None:
    """Writes a problem, with sparse rows as the three arrays of a CSR matrix."""
    names = ("data", "indices", "indptr") if problem.sparse else ()
    arrays = {name: np.asarray(getattr(problem.x, name)) for name in names} or {"x": np.asarray(problem.x)}
    arrays["shape"] = np.array(problem.x.shape)
    for name in ("y", "labeled", "edges", "hidden", "batch", "truth", "validation", "alpha"):
        arrays[name] = np.asarray(getattr(problem, name))
    np.savez(file, **arrays)  # type: ignore[arg-type]


def read(file: str | Path) -> Problem:
    """Reads what `write` wrote."""
    with np.load(file) as kept:
        if "x" in kept:
            x = kept["x"]
        else:
            x = sp.csr_matrix((kept["data"], kept["indices"], kept["indptr"]), shape=tuple(kept["shape"]))
        return Problem(
            x=x,
            y=kept["y"],
            labeled=kept["labeled"],
            edges=kept["edges"],
            hidden=tuple(kept["hidden"].tolist()),
            batch=int(kept["batch"]),
            truth=kept["truth"],
            validation=kept["validation"],
            alpha=float(kept["alpha"]),
        )
