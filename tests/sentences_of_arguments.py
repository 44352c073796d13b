"""What functions say of odd arguments, word for word; benchmarks/fuzz.py found them, `test_sentences.py` makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch

import ngm
from ngm.networks import FFNN
from ngm.text.thesaurus import Thesaurus
from ngm.text.word_vectors import WordVectors


@dataclass(frozen=True)
class RefusedCall:
    """A call, and the whole sentence of the error that it ends in."""

    call: Callable[[], object]
    sentence: str
    error: type[Exception] | tuple[type[Exception], ...] = ValueError


X = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
Y = [0, 1, 0, 1, -1, -1]
PATH = ngm.Graph.from_edges([[0, 1], [1, 2]], num_nodes=6)


def _ragged() -> str:
    """What numpy says of rows of different lengths."""
    try:
        np.array([[0, 1], [1]])
    except ValueError as error:
        return str(error).rstrip(".")
    raise AssertionError("numpy has made an array of rows of different lengths")


RAGGED = _ragged()
REFUSED: list[tuple[Callable[[], object], str]] = [
    (
        lambda: ngm.Graph.from_edges([["a", "b"]]),
        "edges is of shape (1, 2) and type <U1; give (m, 2), one row of two node ids per edge",
    ),
    (
        lambda: ngm.Graph.from_edges([[0, 1], [1]]),
        f"edges is not an array ({RAGGED}); give (m, 2), one row of two node ids per edge",
    ),
    (
        lambda: ngm.Graph.from_edges([[0, 1]], num_nodes=2.5),
        "num_nodes is 2.5; it must be a whole number of at least 0",
    ),
    (
        lambda: ngm.Graph.from_edges([[0, 1j]]),
        "edges is of shape (1, 2) and type complex128; give (m, 2), one row of two node ids per edge",
    ),
    (
        lambda: ngm.Graph.from_edges(np.ma.masked_equal([[0, 1]], 0)),
        "edges has masked entries; fill them in, or give (m, 2), one row of two node ids per edge",
    ),
    (lambda: ngm.Graph.from_scipy("word"), "adjacency is 'word'; give an (n, n) scipy sparse matrix"),
    (lambda: ngm.Graph.from_networkx(None), "graph is None; give a networkx Graph or DiGraph"),
    (lambda: ngm.Graph.from_networkx(nx.path_graph(3), weight=[]), "weight is []; give the name of an edge attribute"),
    (lambda: ngm.Graph.from_pyg(3), "data is 3; give a Data whose edge_index is a (2, m) tensor"),
    (lambda: ngm.Graph(3, None, torch.ones(0)), "edges is None; give a dense tensor, or use Graph.from_edges"),
    (lambda: PATH.merge(None), "cannot merge Graph(6 nodes, 2 undirected edges) with None; give another Graph"),
    (lambda: PATH.subgraph([None]), "nodes is of shape (1,) and type object; give (b,) node ids or a mask"),
    (lambda: PATH.save(3), "folder is 3; give a path"),
    (lambda: PATH.save("a\0b"), "folder is 'a\\x00b'; a path has no zero byte in it"),
    (
        lambda: ngm.EdgeLoader([[1.0]] * 6, Y, PATH),
        "x is a list, which has no rows by node ids; give an array of its numbers",
    ),
    (lambda: ngm.EdgeLoader(X, Y, "graph"), "graph is a str; make a Graph of it with Graph.from_edges or the like"),
    (lambda: ngm.EdgeLoader(X, Y, PATH, kinds=3), "kinds is 3; give a collection of EdgeKind, or one per graph"),
    (
        lambda: ngm.EdgeLoader(X, ["a"] * 6, PATH),
        "y is of shape (6,) and type <U1; give numbers, one per row, -1 or NaN where unlabelled",
    ),
    (lambda: ngm.knn_graph(X, seed="x"), "seed is 'x'; it must be a whole number of at least 0"),
    (lambda: ngm.knn_graph(X, recall="x"), "recall is 'x'; it must lie between 0 and 1, and search='exact' finds all"),
    (lambda: ngm.knn_graph(X * 1e30), "row 0 of x is too long for torch.float32; scale x down"),
    (
        lambda: ngm.sparse_graph(sp.csr_array(X.astype(float) * 1e300)),
        "row 0 of x is too long for float64; scale x down",
    ),
    (lambda: ngm.text_graph(3), "texts is a int; give a list of texts, one per node"),
    (lambda: ngm.knowledge_graph(None), "triples is None; give a list of (head, relation, tail)"),
    (lambda: ngm.knowledge_graph([("a", "r", [])]), "triple 0 is ('a', 'r', []); give numbers or words"),
    (
        lambda: ngm.knowledge_graph([("a", "r", "b")], inverse=3),
        "inverse is 3; give a dict such as {'child of': 'parent of'}",
    ),
    (lambda: ngm.diagnose(PATH, Y, seed=None), "seed is None; it must be a whole number of at least 0"),
    (lambda: ngm.diagnose(PATH, Y, X * 1e30), "x holds 2.33e+30, and its rows are too long for float32; scale x down"),
    (
        lambda: ngm.LabelPropagation(prior="x").fit(None, Y, PATH),
        "prior holds <U1, not numbers; give a share for each class",
    ),
    (lambda: ngm.LabelPropagation().fit(None, 3, PATH), "y is 3; give a label per node, -1 where unlabelled"),
    (lambda: fit(pd.DataFrame(X, columns=["a", "a", "b"])), "x has 2 columns called 'a'; give each a different name"),
    (
        lambda: fit(torch.eye(6).to_sparse()),
        "x is a sparse tensor (torch.sparse_coo); give a scipy sparse matrix, or x.to_dense()",
    ),
    (lambda: fit(X, y=[[0], [0, 1]]), f"y is not an array ({RAGGED}); give a target per row, or as many in every row"),
    (
        lambda: fit(X, y=np.array(["2020-01-01"] * 6, dtype="M8[D]")),
        "y is of type datetime64[D]; give classes as words or numbers, -1 or None where unlabelled",
    ),
    (
        lambda: fit(X, y=[b"a", b"b"] * 3),
        "y is of type bytes; give classes as words or numbers, -1 or None where unlabelled",
    ),
    (lambda: ngm.SelfTraining(small(), relabel=None).fit(X, Y, PATH), "relabel is None; it must be True or False"),
    (
        lambda: ngm.SelfTraining(small(batch_size=b"1")).fit(X, Y, PATH, folder="run"),
        "batch_size is b'1'; it must be a whole number greater than 0",
    ),
    (
        lambda: fit(X, network=FFNN(input_scaling="unit")),
        "input_scaling is 'unit' (did you mean 'unit_rows'?); choose from unit_rows, standardize, none",
    ),
    (lambda: fit(X, graph_screen=None), "graph_screen is None; it must be True or False"),
    (lambda: small().fit(X, Y, folder=b"run"), "folder is b'run'; give a path"),
    (lambda: fit(X, recipe=[]), "recipe is []; choose from auto, paper, strong"),
    (
        lambda: fit(X).predict({"a": X}),
        "x is {'a': array([[ 0.12573022, -0.1321048..., and network 'ffnn' takes a table of numbers; give one",
    ),
    (
        lambda: ngm.NGMRegressor(epochs=1).fit(X, X[:, 0].astype(float) * 1e300),
        "y holds 2.33e+300, whose square is beyond float64; scale y down",
    ),
    (
        lambda: ngm.CoTraining(small(), propagation=()).fit(X, Y, PATH),
        "propagation is (); give a LabelPropagation with settings",
    ),
    (
        lambda: ngm.read_table({"a": [[1], [1, 2]]}),
        f"column 'a' is not an array ({RAGGED}); give (n,), a value per row",
    ),
    (lambda: ngm.read_graph({"a": [1], "b": [2]}, memory_limit=3), "memory_limit is 3; give a text such as '4GB'"),
    (
        lambda: ngm.save_graph("out", PATH, counts={"a": {1}}),
        "counts cannot be written as JSON (Object of type set is not JSON serializable); give numbers and words",
    ),
    (lambda: WordVectors(None, np.ones((1, 2))), "words is None; give a list of strings"),
    (lambda: WordVectors(["a"], [[1.0]]), "vectors is of type list; give a numpy array of numbers, a row per word"),
    (lambda: WordVectors.read(3), "the file of word vectors is 3; give a path"),
    (lambda: Thesaurus({3: ["a"]}), "3 cannot be found in a text; give single words in lower case"),
    (lambda: Thesaurus([]), "synonyms is []; give a dict of words, each with a list of synonyms"),
]


def small(**settings: object) -> ngm.NGMClassifier:
    return ngm.NGMClassifier(**{"hidden": (4,), "epochs": 1} | settings)


def fit(x: object, y: object = Y, **settings: object) -> ngm.NGMClassifier:
    return small(**settings).fit(x, y, PATH)


CALLS = [RefusedCall(*case) for case in REFUSED]
