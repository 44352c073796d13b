"""Public graphs whose nodes have features and one class each; no split of the literature, so it is drawn by seed.

A data set is one `battery/<name>.npz`, made from the file of its origin: undirected, each edge once, no self loops.

| key | what |
| --- | --- |
| `num_nodes` | number of nodes n |
| `edges` | (m, 2) ids of both ends |
| `x_indptr`, `x_indices`, `x_data`, `x_shape` | (n, d) features as CSR; without `x_data` they are all ones |
| `labels` | (n,) class of each node |

The files of the origins are other bytes in other layouts, some of them pickles, so there is nothing to fetch: a copy of
the converted file has to be put into `$NGM_DATA` or the cache.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.datasets.dataset import Dataset, Record, few_label_split
from ngm.graph import Graph
from ngm.io.fetch import DataFile, Progress, find

Name = Literal["acm", "amazon_cs", "coauthor_phy", "flickr", "minesweeper", "squirrel_filtered", "tolokers"]

_GRAPH_DATA = "github.com/EdisonLeeeee/GraphData, datasets/{}.npz, made undirected"
_HETEROPHILOUS = "github.com/yandex-research/heterophilous-graphs, data/{}.npz"
_DENSE_WIDTH = 64  # narrower rows are dense whatever zeros they have: nothing is gained by leaving these out
_KEYS = ("num_nodes", "edges", "x_indptr", "x_indices", "x_shape", "labels")


def _record(name: Name, nodes: int, edges: int, features: int, classes: int, origin: str) -> Record:
    license_name = "MIT" if origin is _HETEROPHILOUS else "not stated"
    return Record(name, nodes, edges, features, classes, license_name, origin.format(name))


RECORDS: dict[Name, Record] = {
    "acm": _record("acm", 3_025, 13_128, 1_870, 3, _GRAPH_DATA),
    "amazon_cs": _record("amazon_cs", 13_752, 245_861, 767, 10, _GRAPH_DATA),
    "coauthor_phy": _record("coauthor_phy", 34_493, 247_962, 8_415, 5, _GRAPH_DATA),
    "flickr": _record("flickr", 7_575, 239_738, 12_047, 9, _GRAPH_DATA),
    "minesweeper": _record("minesweeper", 10_000, 39_402, 7, 2, _HETEROPHILOUS),
    "squirrel_filtered": _record("squirrel_filtered", 2_223, 46_998, 2_089, 5, _HETEROPHILOUS),
    "tolokers": _record("tolokers", 11_758, 519_000, 10, 2, _HETEROPHILOUS),
}
_SHA256: dict[Name, str] = {
    "acm": "5a1d335547b5ab6a63017c3630cebd8723e5020526839e041eb3401278a608a7",
    "amazon_cs": "0538bb190ce077ba442278b8c4f2a1945cef1d62ca0856bcb3732026bc336aaf",
    "coauthor_phy": "e0ba7824154ea1c45d44510e4739238b211f807fd6611337f0731200554b0784",
    "flickr": "c567828d6f2634cefd0a7b7a3241ad2e3be55268dc4fc9c590de9dfec5938057",
    "minesweeper": "4aa86559e99dffbd988d7af0130dac8b31071fccd7e882b6842a0e6048976a51",
    "squirrel_filtered": "e98e86b8103d708a0d803e564149f9b2f92bf8dfbd7c93de6043d6742dc4e869",
    "tolokers": "c1b5ad08039b8983d680ae3d396281d3d7e2306c77b4ce6700e8ab924675a1ab",
}


def node_classification(name: Name, progress: Progress | None = None) -> Dataset:
    """Loads a graph with features and classes.

    Args:
        name: Which one.
        progress: Not called, since nothing can be fetched.

    Returns:
        x sparse, or dense where it has fewer than 64 columns; `train`, `validation` and `test` are those of
        `few_label_split(y, 20, seed=0)`; draw others for several seeds.
    """
    if name not in RECORDS:
        raise ValueError(f"there is no graph {name!r}; choose {', '.join(get_args(Name))}")
    needed = files(name)
    return read(find(name, needed, progress) / needed[0].path, name)


def files(name: Name) -> tuple[DataFile, ...]:
    """The one file of a graph, with its hash."""
    origin = f"converted from {RECORDS[name].origin}"
    return (DataFile(f"battery/{name}.npz", _SHA256[name], address="", origin=origin),)


def read(file: Path, name: str, labels_per_class: int = 20, validation: int = 500, test: int = 1_000) -> Dataset:
    """Reads one file, whatever its hash; see the top of this module for its keys.

    Args:
        file: Where it is.
        name: For messages.
        labels_per_class: Of the split, as are the two below; see `few_label_split`.
        validation: Number of validation nodes.
        test: Number of test nodes.
    """
    arrays = _arrays(file)
    num_nodes = int(arrays["num_nodes"])
    y = arrays["labels"].astype(np.int64)
    if y.shape != (num_nodes,) or y.min(initial=0) < 0:
        raise ValueError(f"{file} has labels of shape {y.shape}, the least {y.min(initial=0)}; give {num_nodes} from 0")
    graph = Graph.from_edges(arrays["edges"].astype(np.int64), num_nodes=num_nodes)
    parts = few_label_split(y, labels_per_class, seed=0, validation=validation, test=test)
    classes = tuple(f"class {number}" for number in range(int(y.max()) + 1))
    return Dataset(name, _features(arrays, file, num_nodes), y, graph, *parts, classes)


def _arrays(file: Path) -> dict[str, NDArray[np.generic]]:
    try:
        with np.load(file, allow_pickle=False) as opened:
            arrays = {key: opened[key] for key in opened.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} cannot be read ({error}); give an npz of plain arrays") from None
    if missing := [key for key in _KEYS if key not in arrays]:
        raise ValueError(f"{file} lacks {', '.join(missing)}; it must have {', '.join(_KEYS)}")
    return arrays


def _features(
    arrays: dict[str, NDArray[np.generic]], file: Path, num_nodes: int
) -> sp.csr_matrix | NDArray[np.float32]:
    """(n, d) features, dense where they are narrow."""
    indices, shape = arrays["x_indices"], tuple(int(length) for length in arrays["x_shape"])
    data = arrays["x_data"] if "x_data" in arrays else np.ones(len(indices))
    if shape[0] != num_nodes:
        raise ValueError(f"{file} has {shape[0]} rows of features for {num_nodes} nodes; give a row per node")
    x = sp.csr_matrix((data.astype(np.float32), indices, arrays["x_indptr"]), shape=shape)
    x.check_format(full_check=True)
    if shape[1] >= _DENSE_WIDTH:
        return x
    dense: NDArray[np.float32] = x.toarray()
    return dense
