"""Neighbors that processes search together in tests; what each rank finds as `neighbors0of2.npz`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.build import Neighbors, all_pairs, approximate, cells, exact, nearest_neighbors, sparse
from ngm.build.space import make_space
from ngm.distributed import process_group

N, K = 900, 4
RNG = np.random.default_rng(0)
X = (RNG.normal(size=(12, 8))[RNG.integers(12, size=N)] * 2 + RNG.normal(size=(N, 8))).astype(np.float32)
CASES = ("cosine", "euclidean", "pairs cosine", "pairs euclidean", "approximate", "few", "sparse")
SIZES = (
    (exact, "_STRIP_ROWS", 64),
    (sparse, "_CHUNK_ROWS", 64),
    (all_pairs, "_BLOCK_ROWS", 64),
    (cells, "CELL_SIZE", 32),
    (approximate, "_CHUNK_CELLS", 4),
    (approximate, "_JOIN_CHUNK_ROWS", 32),
)


def search(case: str, over_ranks: bool) -> Neighbors:
    """One of the ways to search."""
    if case == "sparse":
        entries = np.hstack([np.where(X > 1, X, 0), np.full((N, 1), 0.1)])  # no row is zero
        return sparse.sparse_neighbors(sp.csr_array(entries), K, over_ranks=over_ranks)
    if case == "approximate":
        return nearest_neighbors(X, K, search="approximate", recall=0.999, over_ranks=over_ranks)
    if case.startswith("pairs"):
        space = make_space(X, K, case.removeprefix("pairs "))  # type: ignore[arg-type]
        return Neighbors(*all_pairs.all_pairs_neighbors(space, K, over_ranks=over_ranks), space.metric, "exact", 1.0, 0)
    rows = X[:3] if case == "few" else X
    return nearest_neighbors(rows, min(K, len(rows) - 1), "cosine" if case == "few" else case, over_ranks=over_ranks)  # type: ignore[arg-type]


def run(folder: Path) -> None:
    """Every way, in chunks of few rows, by the ranks of a group together."""
    for module, name, rows in SIZES:
        setattr(module, name, rows)
    found: dict[str, NDArray[np.generic]] = {}
    with process_group() as (rank, world):
        for case in CASES:
            result = search(case, over_ranks=True)
            found |= {f"{case} similarity": result.similarity.numpy(), f"{case} neighbor": result.neighbor.numpy()}
            found[f"{case} recall"] = np.array(result.recall)
    np.savez(folder / f"neighbors{rank}of{world}.npz", **found)
