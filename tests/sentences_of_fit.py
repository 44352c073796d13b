"""What `fit` refuses, word for word; `test_sentences.py` hands it over."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import nn

from ngm import Graph, NGMClassifier, NGMRegressor, Optimizer
from ngm.estimators.base import NGMEstimator
from ngm.networks import FFNN

SMALL = {"hidden": (4,), "epochs": 1, "recipe": "paper"}
N = 10
X = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
Y = [0, 1, 0, 1, 0, 1, -1, -1, -1, -1]
NUMBERS = np.where(np.array(Y) < 0, np.nan, np.arange(N))
GRAPH = Graph.from_edges([[0, 1], [1, 6], [6, 7]], num_nodes=N)
BOTH: tuple[type[NGMEstimator], ...] = (NGMClassifier, NGMRegressor)


@dataclass(frozen=True)
class RefusedFit:
    """What is said, of what settings and data, by which estimators; `given` are arguments of `fit` beside x."""

    sentence: str
    settings: dict[str, object] = field(default_factory=lambda: dict(SMALL))
    x: object = field(default_factory=lambda: X)
    given: dict[str, object] = field(default_factory=dict)
    kinds: tuple[type[NGMEstimator], ...] = BOTH


def spoiled(row: int, column: int, value: float) -> NDArray[np.float32]:
    x = X.copy()
    x[row, column] = value
    return x


OPTIMIZERS = "choose from adam, adamw, sgd, or give an `ngm.Optimizer` with its settings"
SETTINGS = [
    ({"alpha_uu": -0.5}, "alpha_uu is -0.5; it must be a finite number of at least 0"),
    ({"alpha_ll": float("nan")}, "alpha_ll is nan; it must be a finite number of at least 0"),
    ({"alpha_lu": [0.1, 0.2]}, "alpha_lu has 2 entries for 1 graphs; give one number, or one per graph"),
    (
        {"layer": "hiden.0"},
        "network has no layer 'hiden.0' (did you mean 'hidden.0'?); its layers are output, last_hidden, scale, hidden, "
        "hidden.0, hidden.0.dropout, hidden.0.linear, dropout",
    ),
    (
        {"layer": "h", "alpha_ll": 0, "alpha_lu": 0, "alpha_uu": 0},
        "network has no layer 'h'; its layers are output, last_hidden, scale, hidden, hidden.0, hidden.0.dropout, "
        "hidden.0.linear, dropout",
    ),
    (
        {"distance": "squared_l3"},
        "distance is 'squared_l3' (did you mean 'squared_l2'?); choose from l1, l2, squared_l2, cosine, "
        "cross_entropy, kl, js, or give a function (k, d), (k, d) -> (k,)",
    ),
    (
        {"network": "fnn"},
        "network is 'fnn' (did you mean 'ffnn'?); choose from ffnn, charcnn, charcnn-small, charcnn-large, "
        "lstm, or give a network of `ngm.networks` with its settings, or a function (in_features, out_features) -> "
        "nn.Module",
    ),
    ({"network": lambda a, b: None}, "network(in_features, out_features) returned a NoneType; return an nn.Module"),
    (
        {"network": nn.Linear(3, 2)},
        "network is a Linear that is made already; give a function (in_features, out_features) -> nn.Module, so that "
        "every fit starts afresh",
    ),
    ({"optimizer": "adma"}, f"optimizer is 'adma' (did you mean 'adam'?); {OPTIMIZERS}"),
    ({"optimizer": "lion"}, f"optimizer is 'lion'; {OPTIMIZERS}"),
    ({"scaling": "max"}, "scaling is 'max'; choose from sum, mean"),
    ({"sampling": "random"}, "sampling is 'random'; choose from plain, edges, balanced"),
    ({"influence": "left"}, "influence is 'left'; choose from both, source, target"),
    (
        {"influence": "source"},
        "influence is 'source', but graph 0 is undirected: its edges have no source; make the graph with "
        "directed=True, or leave influence at 'both'",
    ),
    ({"dtype": "float16"}, "dtype is 'float16' (did you mean 'bfloat16'?); choose from float32, float64, bfloat16"),
    ({"patience": 3, "validation": None}, "patience is 3, but nothing is validated on; patience needs validation="),
    ({"patience": 0, "validation": 0.5}, "patience is 0; it must be a whole number greater than 0"),
    ({"epochs": 0}, "epochs is 0; it must be a whole number greater than 0"),
    ({"epochs": 2.5}, "epochs is 2.5; it must be a whole number greater than 0"),
    ({"batch_size": -1}, "batch_size is -1; it must be a whole number greater than 0"),
    ({"learning_rate": 0}, "learning_rate is 0; it must be a finite number greater than 0"),
    ({"learning_rate": "fast"}, "learning_rate is 'fast'; it must be a finite number greater than 0"),
    ({"optimizer": Optimizer(clip=-1.0)}, "clip is -1.0; it must be a finite number greater than 0"),
    ({"optimizer": Optimizer(weight_decay=-0.1)}, "weight_decay is -0.1; it must be a finite number of at least 0"),
    ({"device": "nowhere"}, "device is 'nowhere', which cannot be used here; 'cpu' always can"),
    ({"seed": -1}, "seed is -1; it must be a whole number of at least 0"),
    ({"seed": None}, "seed is None; it must be a whole number of at least 0"),
    ({"network": FFNN(dropout=1.0)}, "dropout is 1.0; it must be a number of at least 0 and below 1"),
    ({"network": FFNN(hidden=(3,))}, "hidden is (4,), and that of the network is (3,); set one"),
    ({"validation": "some"}, "validation is 'some'; give 'auto', a share, ids, a mask, or a pair (x, y)"),
    ({"graph_screen": None}, "graph_screen is None; it must be True or False"),
    ({"hidden": 8}, "hidden is 8; give the width of every hidden layer, such as (250, 100)"),
    ({"hidden": (8, 0)}, "hidden is (8, 0); every width is a whole number of at least 1"),
    ({"validation": [0, 7]}, "validation row 7 has no label; give rows whose y is known"),
]
INPUTS = [
    (X[:8], "x has 8 rows, y has 10; give a target per row, -1 or NaN where unlabelled"),
    (spoiled(2, 1, np.nan), "x[2, 1] is NaN; fill in or drop such values before fit and predict"),
    (spoiled(3, 0, np.inf), "x[3, 0] is infinity (inf); fill in or drop such values before fit and predict"),
    (
        np.vstack([spoiled(3, 0, np.inf)[:5], spoiled(6, 0, -np.inf)[5:]]),
        "x[3, 0] is infinity (inf); fill in or drop such values before fit and predict",
    ),
    (torch.from_numpy(spoiled(2, 1, np.nan)), "x[2, 1] is NaN; fill in or drop such values before fit and predict"),
    (sp.csr_array(spoiled(2, 1, np.nan)), "x[2, 1] is NaN; fill in or drop such values before fit and predict"),
    (sp.csr_array(spoiled(4, 0, np.nan)), "x[4, 0] is NaN; fill in or drop such values before fit and predict"),
    (
        sp.csc_matrix(np.vstack([np.zeros((4, 3)), spoiled(9, 2, np.inf)[4:]])),
        "x[9, 2] is infinity (inf); fill in or drop such values before fit and predict",
    ),
]
CLASSES = [
    (Y[:7], "x has 10 rows, y has 7; give a target per row, -1 or NaN where unlabelled"),
    (None, "fit requires y to be passed, but the target y is None; mark unlabelled rows with -1"),
    ([-1] * N, "none of the 10 rows has a label (-1, None and NaN mean unlabelled); label some rows"),
    ([3, -1] * 5, "y holds one class only (3); a classifier needs labelled rows of at least two"),
    (
        [[0.5, 0.6]] * N,
        "y[0] is [0.5, 0.6], neither zeros and ones (several labels) nor shares that add up to 1 (soft labels); "
        "a row of -1 is unlabelled",
    ),
    (
        [[0.3, 0.7], [1.0, 1.0]] * 5,
        "y[1] is [1.0, 1.0], neither zeros and ones (several labels) nor shares that "
        "add up to 1 (soft labels); a row of -1 is unlabelled",
    ),
]
NUMBERS_OF_Y = [
    (NUMBERS[:7], "x has 10 rows, y has 7; give a target per row, -1 or NaN where unlabelled"),
    ([np.nan] * N, "none of the 10 rows has a number (Input y contains NaN only); give some"),
    ([0.0, np.inf] * 5, "y[1] is infinity (Input y contains infinity); give finite numbers or NaN"),
    ([[0.0, -np.inf]] * N, "y[0, 1] is infinity (Input y contains infinity); give finite numbers or NaN"),
]
NOT_GRAPHS = [
    (Graph.from_edges([[0, 1]], num_nodes=9), "graph has 9 nodes, x has 10 rows; a node is a row of x"),
    ([GRAPH, Graph.from_edges([[0, 11]])], "graph 1 has 12 nodes, x has 10 rows; a node is a row of x"),
    (
        sp.eye(N),
        "graph is a dia_matrix; make a Graph of it with Graph.from_edges, from_scipy, from_networkx or from_pyg",
    ),
    (
        np.array([[0, 1]]),
        "graph is a ndarray; make a Graph of it with Graph.from_edges, from_scipy, from_networkx or from_pyg",
    ),
    ([[0, 1]], "graph is a list; make a Graph of it with Graph.from_edges, from_scipy, from_networkx or from_pyg"),
]
WEIGHTS = [
    (np.ones(9), "sample_weight has shape (9,) and smallest value 1.0; give 10 numbers of at least 0"),
    (np.ones((N, 1)), "sample_weight has shape (10, 1) and smallest value 1.0; give 10 numbers of at least 0"),
    ([1.0] * 9 + [-0.5], "sample_weight has shape (10,) and smallest value -0.5; give 10 numbers of at least 0"),
    ([np.nan] * N, "sample_weight has shape (10,) and smallest value nan; give 10 numbers of at least 0"),
    (
        [1.0] * 5 + [np.inf] * 5,
        "sample_weight[5] is inf; weights and their sum must be finite in float32; scale them down",
    ),
    (np.zeros(N), "sample_weight is zero for every labelled row; give at least one a weight above 0"),
    ([0] * 6 + [1] * 4, "sample_weight is zero for every labelled row; give at least one a weight above 0"),
]
PARTS = [
    ({"a": X, "b": spoiled(2, 1, np.nan)}, "x[2, 1] is NaN; fill in or drop such values before fit and predict"),
    ({"a": X, "b": {"c": spoiled(2, 1, np.nan)}}, "x[2, 1] is NaN; fill in or drop such values before fit and predict"),
    ({"a": X, "b": X[:9]}, "x has parts of different lengths {'a': 10, 'b': 9}; give a row per node in each"),
]
OWN_NETWORK = {"network": lambda _, out_features: nn.Linear(3, out_features), "layer": "output", "epochs": 1}
FITS = [
    *(RefusedFit(text, SMALL | settings) for settings, text in SETTINGS),
    *(RefusedFit(text, x=x) for x, text in INPUTS),
    *(RefusedFit(text, OWN_NETWORK, x, kinds=(NGMClassifier,)) for x, text in PARTS),
    *(RefusedFit(text, given={"y": y}, kinds=(NGMClassifier,)) for y, text in CLASSES),
    *(RefusedFit(text, given={"y": y}, kinds=(NGMRegressor,)) for y, text in NUMBERS_OF_Y),
    *(RefusedFit(text, given={"graph": graph}) for graph, text in NOT_GRAPHS),
    *(RefusedFit(text, given={"sample_weight": weight}) for weight, text in WEIGHTS),
]
