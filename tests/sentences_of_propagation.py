"""What label propagation refuses, word for word; `test_sentences.py` hands it over."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from ngm import Graph, LabelPropagation
from tests.sentences_of_arguments import RefusedCall

PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3]])
ENDS = [0, -1, -1, 1]
SHARES = "a share for each of the 2 classes of y"
SPARSE = {
    "half": sp.csr_array([[0.5, 0.2], [0, 0], [0, 0], [0, 1]]),
    "negative": sp.csr_array([[1, 0], [0, 0], [1.5, -0.5], [0, 1]]),
    "empty": sp.csr_array((4, 2)),
    "short": sp.csr_array([[1, 0], [0, 1]]),
}
REFUSED: list[tuple[dict, object, str]] = [
    (
        {},
        [[0.5, 0.2], [-1, -1], [-1, -1], [0, 1]],
        "y[0] is [0.5, 0.2], neither zeros and ones (several labels) nor shares that add up to 1 (soft labels); a row "
        "of -1 is unlabelled",
    ),
    (
        {},
        SPARSE["half"],
        "row 0 of y has entries [0.5, 0.2]; give ones (several labels) or shares that add up to 1 (soft labels)",
    ),
    (
        {},
        SPARSE["negative"],
        "row 2 of y has entries [1.5, -0.5]; give ones (several labels) or shares that add up to 1 (soft labels)",
    ),
    ({}, SPARSE["empty"], "none of the 4 rows of y has an entry, so none is labelled; label some"),
    ({}, SPARSE["short"], "the graph has 4 nodes, y has 2 rows; give a label or -1 per node"),
    ({}, [0, 1], "the graph has 4 nodes, y has 2 rows; give a label or -1 per node"),
    ({}, [-1] * 4, "none of the 4 rows has a label (-1, None and NaN mean unlabelled); label some rows"),
    (
        {},
        [0, -1, -1, 0],
        "y holds one class only (0); a classifier needs labelled rows of at least two",
    ),
    ({"prior": [0.2, 0.3, 0.5]}, ENDS, f"prior has shape (3,); give (2,) or (4, 2): {SHARES}"),
    ({"prior": np.ones((2, 2)) / 2}, ENDS, f"prior has shape (2, 2); give (2,) or (4, 2): {SHARES}"),
    ({"prior": 0.5}, ENDS, f"prior has shape (); give (2,) or (4, 2): {SHARES}"),
    (
        {"prior": [0.5, 0.6]},
        ENDS,
        "row 0 of prior is [0.5, 0.6]; it must hold shares of classes, which add up to 1",
    ),
    (
        {"prior": [[0.5, 0.5], [1.5, -0.5], [1, 0], [0, 1]]},
        ENDS,
        "row 1 of prior is [1.5, -0.5]; it must hold shares of classes, which add up to 1",
    ),
    (
        {"prior": [[0.5, 0.5], [1, 0], [math.nan, 1], [0, 1]]},
        ENDS,
        "row 2 of prior is [nan, 1]; it must hold shares of classes, which add up to 1",
    ),
    ({"mu1": -1}, ENDS, "mu1 is -1; it must be a finite number greater than 0"),
    ({"mu2": math.nan}, ENDS, "mu2 is nan; it must be a finite number greater than 0"),
    ({"mu2": math.inf}, ENDS, "mu2 is inf; it must be a finite number greater than 0"),
    ({"mu3": "a lot"}, ENDS, "mu3 is 'a lot'; it must be a finite number of at least 0"),
    ({"mu3": math.inf}, ENDS, "mu3 is inf; it must be a finite number of at least 0"),
    ({"mu1": 0}, ENDS, "mu1 is 0; it must be a finite number greater than 0"),
    ({"mu2": 0}, ENDS, "mu2 is 0; it must be a finite number greater than 0"),
    ({"tolerance": -1e-3}, ENDS, "tolerance is -0.001; it must be a finite number of at least 0"),
    ({"keep": 0}, ENDS, "keep is 0; it must be a whole number of at least 1"),
    ({"keep": 1.5}, ENDS, "keep is 1.5; it must be a whole number of at least 1"),
    ({"k": 0}, ENDS, "k is 0; it must be a whole number of at least 1"),
    ({"max_steps": None}, ENDS, "max_steps is None; it must be a whole number of at least 1"),
    ({"solver": "gauss"}, ENDS, "solver is 'gauss'; choose from conjugate_gradient, jacobi"),
    ({"influence": "left"}, ENDS, "influence is 'left'; choose from both, source, target"),
]


def _refused(settings: dict[str, object], y: object, sentence: str) -> RefusedCall:
    return RefusedCall(lambda: LabelPropagation(**settings).fit(None, y, graph=PATH), sentence)


CALLS = [_refused(*case) for case in REFUSED]
