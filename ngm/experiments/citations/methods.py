"""Every method of the paper's PubMed table, with published figures and the settings that validation may choose from.

Figures are test accuracies on the public split: for PubMed as the paper's table has them, for Cora and Citeseer from
Yang, Cohen and Salakhutdinov (2016), who are also the source of the paper's upper rows; those of GCN are from Kipf and
Welling (2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ngm import Optimizer
from ngm.choices import Candidates, RoundTeacher
from ngm.comparators.gcn import GCN
from ngm.comparators.linear import LinearSoftmax
from ngm.comparators.manifold import ManifoldRegularization
from ngm.comparators.planetoid import Planetoid, Variant
from ngm.comparators.semi_embedding import SemiEmbedding
from ngm.comparators.tsvm import TransductiveSVM
from ngm.comparators.two_stage import TwoStage
from ngm.estimators.classifier import NGMClassifier
from ngm.estimators.self_training import SelfTraining
from ngm.graph import Graph
from ngm.networks import FFNN
from ngm.propagation.label_propagation import LabelPropagation

ALPHA = 0.2  # the paper's, for every kind of edge
HIDDEN = (250, 100)
Setting = Literal["inductive", "transductive"]


class Estimator(Protocol):
    """What all methods have in common; `transduction_` is there where `CitationMethod.reads` says so."""

    transduction_: NDArray[np.generic]

    def fit(self, x: sp.csr_matrix, y: ArrayLike, graph: Graph | None = None) -> Estimator:
        """Trains."""

    def predict(self, x: sp.csr_matrix) -> NDArray[np.generic]:
        """Classes of rows."""

    def set_params(self, **settings: object) -> Estimator:
        """Changes settings."""


Make: TypeAlias = "Callable[[int], Estimator]"


@dataclass(frozen=True)
class CitationMethod:
    """A row of the table.

    Args:
        name: As the table prints it.
        candidates: Settings in words -> an estimator for a seed. Of several, the best on the validation nodes with
            seed 0 is taken, for each data set and setting anew. In the inductive one they are out of the graph for
            that, except for methods that stop by them.
        published: Test accuracy by data set.
        column: The setting that the published figures are of.
        settings: Those that the method can be run in.
        reads: Whether its result for nodes of the graph is `transduction_` instead of `predict`.
        stops: Whether it chooses its epoch or round on the validation nodes.
        ceiling: Whether it learns from the true classes of all nodes in the graph but validation and test nodes.
        chance: Whether seeds make a difference.
        package: What has to be installed for it, beyond the library itself.
        why: Data set -> why ours differs from the published figure, where it does by more than 2 points.
    """

    name: str
    candidates: Mapping[str, Make]
    published: Mapping[str, float] = field(default_factory=dict)
    column: Setting = "inductive"
    settings: tuple[Setting, ...] = ("inductive", "transductive")
    reads: bool = False
    stops: bool = False
    ceiling: bool = False
    chance: bool = True
    package: str = ""
    why: Mapping[str, str] = field(default_factory=dict)


def _figures(pubmed: float, cora: float, citeseer: float) -> dict[str, float]:
    return {"pubmed": pubmed, "cora": cora, "citeseer": citeseer}


def _everywhere(text: str) -> dict[str, str]:
    return dict.fromkeys(("pubmed", "cora", "citeseer"), text)


def _ffnn(seed: int) -> NGMClassifier:
    """The network alone. An epoch is a single step on the seeds, so it gets more of them."""
    network = NGMClassifier(
        network=FFNN(HIDDEN, input_scaling="none"), recipe="paper", epochs=300, patience=100, seed=seed
    )
    return _with_alpha(network, 0)


def _ngm(seed: int) -> NGMClassifier:
    """The same network with the graph term; an epoch is a pass over all edges."""
    network = NGMClassifier(
        network=FFNN(HIDDEN, input_scaling="none"), recipe="paper", epochs=60, patience=20, seed=seed
    )
    return _with_l2(network, ALPHA, negatives=0)


def _with_alpha(network: NGMClassifier, alpha: float) -> NGMClassifier:
    """The same weight for every kind of edge."""
    network.set_params(alpha_ll=alpha, alpha_lu=alpha, alpha_uu=alpha)
    return network


def _with_l2(network: NGMClassifier, alpha: float, negatives: int) -> NGMClassifier:
    """Eq. 3's graph term: the mean l2 distance of the last hidden layer across edges."""
    network.set_params(distance="l2", layer="last_hidden", scaling="mean", negatives=negatives, graph_screen=False)
    return _with_alpha(network, alpha)


def _repulsion(alpha: float, margin: float, epochs: int | None, seed: int) -> NGMClassifier:
    """NGM with pairs held apart: the network, dropout and penalty of the semi-supervised embedding, Eq. 3's costs."""
    network = NGMClassifier(
        hidden=(100,),
        margin=margin,
        recipe="paper",
        learning_rate=0.01,
        epochs=epochs,
        seed=seed,
        network=FFNN(dropout=0.5, input_scaling="unit_rows"),
        optimizer=Optimizer(weight_decay=5e-4),
    )
    return _with_l2(network, alpha, negatives=1)


def _self_trained(candidates: Candidates, teacher: RoundTeacher, rounds: int, seed: int) -> SelfTraining:
    """NGM-FFNN that labels more nodes and trains again. The paper does not say who labels them."""
    network = _ngm(seed).set_params(epochs=20, patience=8)
    return SelfTraining(network, candidates=candidates, teacher=teacher, rounds=rounds)


def _default(seed: int) -> NGMClassifier:
    """What a newcomer gets."""
    return NGMClassifier(seed=seed)


def _plain(seed: int) -> NGMClassifier:
    """The default's network and its settings, without a teacher: for all labels at once."""
    return NGMClassifier(
        alpha_ll=0,
        alpha_lu=0,
        alpha_uu=0,
        recipe="paper",
        epochs=100,
        validation=None,
        seed=seed,
        network=FFNN(dropout=0.5),
    )


def _ours(seed: int) -> NGMClassifier:
    return NGMClassifier(hidden=HIDDEN, recipe="strong", seed=seed)


def _linear(c: float, seed: int) -> LinearSoftmax:
    return LinearSoftmax(c=c, seed=seed)


def _semi_embedding(layer: str, margin: float, dropout: float, steps: int, seed: int) -> SemiEmbedding:
    return SemiEmbedding(layer=layer, margin=margin, dropout=dropout, steps=steps, seed=seed)


def _manifold(
    kind: Literal["rls", "svm"], gamma_a: float, gamma_i: float, unit_rows: bool, seed: int
) -> ManifoldRegularization:
    return ManifoldRegularization(kind=kind, gamma_a=gamma_a, gamma_i=gamma_i, unit_rows=unit_rows, seed=seed)


def _tsvm(c: float, c_unlabeled: float, seed: int) -> TransductiveSVM:
    return TransductiveSVM(c=c, c_unlabeled=c_unlabeled, seed=seed)


def _propagation(mu1: float, mu3: float, seed: int) -> LabelPropagation:
    return LabelPropagation(mu1=mu1, mu3=mu3)


def _two_stage(seed: int) -> TwoStage:
    return TwoStage(seed=seed)


def _planetoid(variant: Variant, seed: int) -> Planetoid:
    return Planetoid(variant, seed=seed)


def _planetoid_g_near(seed: int) -> Planetoid:
    return Planetoid("graph", window=3, walks=200, false_contexts=300, seed=seed)


def _gcn(seed: int) -> GCN:
    return GCN(seed=seed)


_PLANETOID = _everywhere(
    "not a replica: rows are scaled to length 1, all pairs of a walk enter a step, contexts are learned before "
    "classes, and one setting serves all three data sets; results depend strongly on the walks and false contexts "
    "of a step"
)
_IN_THE_GRAPH: tuple[Setting, ...] = ("transductive",)

METHODS: dict[str, CitationMethod] = {
    "linear": CitationMethod(
        "Linear + Softmax",
        {f"c = {c:g}": partial(_linear, c) for c in (0.1, 1.0, 10.0)},
        _figures(0.698, 0.574, 0.572),
        chance=False,
        why=_everywhere(
            "rows are scaled to length 1 and the penalty is chosen on validation; with rows as they are and c = 1 "
            "it is at .71 / .52 / .56 on the validation nodes of PubMed / Cora / Citeseer, instead of .73 / .58 / "
            ".60"
        ),
    ),
    "semi-embedding": CitationMethod(
        "Semi-supervised embedding",
        {
            "hidden layer, margin 5, dropout .5": partial(_semi_embedding, "last_hidden", 5.0, 0.5, 300),
            "hidden layer, margin 3": partial(_semi_embedding, "last_hidden", 3.0, 0.0, 300),
            "output layer, margin 1": partial(_semi_embedding, "output", 1.0, 0.0, 200),
        },
        _figures(0.711, 0.590, 0.596),
        why=_everywhere(
            "it embeds the hidden layer, at a margin and with dropout that validation chose; at the output layer, "
            "which validation did not choose, it is at .70 / .59 / .63 on validation nodes out of the graph (one "
            "seed)"
        ),
    ),
    "manifold": CitationMethod(
        "Manifold regularization",
        {
            "rls, gamma_i = 10": partial(_manifold, "rls", 0.01, 10.0, True),
            "rls, gamma_i = 1": partial(_manifold, "rls", 0.01, 1.0, True),
            "svm, gamma_i = 1": partial(_manifold, "svm", 0.001, 1.0, True),
            "rls, gamma_i = 1, rows as they are": partial(_manifold, "rls", 0.01, 1.0, False),
        },
        _figures(0.707, 0.595, 0.601),
        chance=False,
        why=_everywhere(
            "the kernel is linear, the Laplacian term is divided by the sum of edge weights, and validation chose "
            "among four settings; the published kernel and settings are not known"
        ),
    ),
    "tsvm": CitationMethod(
        "Transductive SVM",
        {f"c = {c:g}, c_unlabeled = {u:g}": partial(_tsvm, c, u) for c, u in ((10.0, 0.1), (1.0, 0.5), (1.0, 0.1))},
        _figures(0.622, 0.575, 0.640),
        "transductive",
        chance=False,
        why=_everywhere(
            "the smooth form of Chapelle and Zien (2005) with a light weight on unlabelled rows, chosen on "
            "validation; with a heavy one PubMed falls to .68 to .69 on validation nodes"
        ),
    ),
    "label-propagation": CitationMethod(
        "Label propagation",
        {
            "mu1 = 1, mu3 = .01": partial(_propagation, 1.0, 0.01),
            "mu1 = 1, mu3 = .1": partial(_propagation, 1.0, 0.1),
            "seeds clamped, no prior": partial(_propagation, math.inf, 0.0),
        },
        _figures(0.630, 0.680, 0.453),
        "transductive",
        _IN_THE_GRAPH,
        reads=True,
        chance=False,
        why=_everywhere(
            "on PubMed the prior makes the difference: with clamped seeds and no prior, validation accuracy is "
            ".26, with a weak prior .55, with soft seeds .74. On Cora and Citeseer it does not (.71 and .51 "
            "without), and the reason is not known; the published settings are not"
        ),
    ),
    "graph-embedding": CitationMethod(
        "Graph embedding",
        {"DeepWalk, c = 1": _two_stage},
        _figures(0.653, 0.672, 0.432),
        "transductive",
        _IN_THE_GRAPH,
        reads=True,
        package="gensim",
        why=_everywhere(
            "skip-gram with negative sampling instead of hierarchical softmax, ten walks of 20 steps per node; "
            "nothing was searched, and the published settings are not known"
        ),
    ),
    "planetoid-i": CitationMethod(
        "Planetoid-I",
        {"defaults": partial(_planetoid, "inductive")},
        _figures(0.772, 0.612, 0.647),
        why=_PLANETOID,
    ),
    "planetoid-g": CitationMethod(
        "Planetoid-G",
        {"window 5": partial(_planetoid, "graph"), "window 3": _planetoid_g_near},
        _figures(0.664, 0.691, 0.493),
        "transductive",
        _IN_THE_GRAPH,
        reads=True,
        why=_PLANETOID,
    ),
    "planetoid-t": CitationMethod(
        "Planetoid-T",
        {"defaults": partial(_planetoid, "transductive")},
        _figures(0.757, 0.757, 0.629),
        "transductive",
        _IN_THE_GRAPH,
        reads=True,
        why=_PLANETOID,
    ),
    "gcn": CitationMethod(
        "GCN (needs the graph to predict)",
        {"as published": _gcn},
        _figures(0.790, 0.815, 0.703),
        "transductive",
        _IN_THE_GRAPH,
        reads=True,
        package="torch_geometric",
    ),
    "ffnn": CitationMethod("FFNN", {"alpha 0": _ffnn}, {"pubmed": 0.709}, stops=True),
    "ngm": CitationMethod("NGM-FFNN", {"alpha .2": _ngm}, stops=True),
    "ngm-repulsion": CitationMethod(
        "NGM with repulsion",
        {
            "alpha 1, margin 3": partial(_repulsion, 1.0, 3.0, None),
            "alpha 1, margin 5": partial(_repulsion, 1.0, 5.0, None),
            "alpha .3, margin 3": partial(_repulsion, 0.3, 3.0, None),
            "alpha 1, margin 5, 4 epochs": partial(_repulsion, 1.0, 5.0, 4),
        },
    ),
    "ngm-self": CitationMethod(
        "NGM-FFNN, self-trained",
        {
            "neighbours first, labelled by the network": partial(_self_trained, "neighbors", "network", 3),
            "all nodes, labelled by propagation with the network as prior": partial(
                _self_trained, "all", "propagation", 1
            ),
        },
        {"pubmed": 0.759},
        stops=True,
    ),
    "ours": CitationMethod("NGM (ours)", {"recipe strong": _ours}),
    "default": CitationMethod("NGM, default", {"recipe auto": _default}),
    "ceiling": CitationMethod("FFNN with all true training labels", {"alpha 0": _plain}, ceiling=True),
}
