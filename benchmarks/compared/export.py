"""Writes Cora as plain files, the start of every script beside this one, so that no library reads another's format.

    python benchmarks/compared/export.py FOLDER

FOLDER/test has the job: 1,708 papers are known while training, 140 of them with a label, and 1,000 are new.
FOLDER/choice is for choosing settings: the 1,000 are gone, and the 500 validation papers are the new ones. FOLDER/alone
is FOLDER/test with no edges of the new papers, not even to predict them. Each has

- `known.csv`, `new.csv`: id, label (a class number; empty where unknown) and words of a paper (the columns of x that
  are 1);
- `x.npz`: (n, d) the words as a scipy sparse matrix; its rows are those of `known.csv`, then those of `new.csv`;
- `edges.csv`: source and target of the citations among known papers; `all_edges.csv`: those of new papers too.

The labels in `new.csv` are there to be compared with, and for nothing else.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.datasets import Dataset, load


def main() -> None:
    write_all(Path(sys.argv[1]), load("cora"))


def write_all(folder: Path, data: Dataset) -> None:
    """Writes the three folders."""
    everyone = np.arange(len(data.y))
    known = np.setdiff1d(everyone, data.test)
    write(folder / "test", data, known, data.test)
    write(folder / "choice", data, np.setdiff1d(known, data.validation), data.validation)
    write(folder / "alone", data, known, data.test, alone=True)


def write(
    folder: Path, data: Dataset, known: NDArray[np.int64], new: NDArray[np.int64], *, alone: bool = False
) -> None:
    """Writes one folder.

    Args:
        folder: Made where it is not there.
        data: x sparse, y and a graph over all nodes; `train` are the nodes with a label.
        known: (k,) nodes known while training.
        new: (m,) nodes to predict.
        alone: Leave the edges of new nodes out of `all_edges.csv`.
    """
    if data.graph is None:
        raise ValueError(f"data set {data.name!r} has no graph; give one that has")
    folder.mkdir(parents=True, exist_ok=True)
    nodes = np.concatenate([known, new])
    x = sp.csr_matrix(data.x)[nodes].astype(np.float32)
    sp.save_npz(folder / "x.npz", x)
    row = np.full(len(data.y), -1)
    row[nodes] = np.arange(len(nodes))
    edges = row[data.graph.edges.numpy()]  # (m, 2), -1 for nodes that are in neither
    seeds = set(data.train.tolist())
    labels = [str(data.y[n]) if n in seeds or i >= len(known) else "" for i, n in enumerate(nodes.tolist())]
    words = [" ".join(f"w{column}" for column in np.sort(part)) for part in np.split(x.indices, x.indptr[1:-1])]
    papers = [[str(i), labels[i], words[i]] for i in range(len(nodes))]
    _table(folder / "known.csv", ["id", "label", "words"], papers[: len(known)])
    _table(folder / "new.csv", ["id", "label", "words"], papers[len(known) :])
    inside = edges[((edges >= 0) & (edges < len(known))).all(axis=1)]
    everywhere = inside if alone else edges[(edges >= 0).all(axis=1)]
    for name, pairs in (("edges.csv", inside), ("all_edges.csv", everywhere)):
        _table(folder / name, ["source", "target"], [[str(u), str(v)] for u, v in pairs.tolist()])


def _table(file: Path, header: list[str], rows: list[list[str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    main()
