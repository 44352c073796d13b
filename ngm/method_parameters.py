"""The settings of `SelfTraining`, `CoTraining` and `LabelPropagation`, declared as those of the estimators are.

See `ngm.parameters`: range, words to choose from and meaning of each, which checks and docstrings read.
"""

from __future__ import annotations

import math
from typing import get_args

from ngm.choices import Balance, Candidates, Influence, RoundTeacher, Solver
from ngm.parameters import Interval, Parameter

_COUNT, _PROBABILITY, _NOT_NEGATIVE = Interval(1), Interval(0, 1), Interval(0)
_PATIENCE = Parameter("Rounds without improvement on validation after which to stop.", kind=int, interval=_COUNT)

SELF_TRAINING: dict[str, Parameter] = {
    "rounds": Parameter("Growing steps, at most; there is one training more.", kind=int, default=10, interval=_COUNT),
    "candidates": Parameter(
        'Which nodes may be labelled: "neighbors" of labelled ones (the paper), or "all".',
        kind=str,
        default="neighbors",
        choices=get_args(Candidates),
    ),
    "teacher": Parameter(
        'What predicts the class of a node: the "network"; "propagation" of the seeds with the predictions of the '
        'network as prior (Eq. 2); or a "stack": the teachers of recipe "auto" on all labels of the round, weighed by '
        "seeds held out from them, and the network beside them.",
        kind=str,
        default="network",
        choices=get_args(RoundTeacher),
    ),
    "confidence": Parameter(
        "Least probability of its class that a node needs to be labelled.",
        kind=float,
        default=0.0,
        interval=_PROBABILITY,
    ),
    "per_round": Parameter(
        "Label at most this many nodes per round, the most confident first; None for no limit.",
        kind=int,
        interval=_COUNT,
    ),
    "balance": Parameter(
        '"none"; "equal": as many of each class; "seeds": in proportion to the seeds of each class.',
        kind=str,
        default="none",
        choices=get_args(Balance),
    ),
    "soft": Parameter(
        "Train on the predicted distributions instead of the predicted classes.", kind=bool, default=False
    ),
    "relabel": Parameter(
        "Predict the labels of grown nodes anew each round. Seeds keep theirs.", kind=bool, default=True
    ),
    "patience": _PATIENCE,
}

CO_TRAINING: dict[str, Parameter] = {
    "rounds": Parameter("Number of trainings.", kind=int, default=3, interval=_COUNT),
    "temperature": Parameter(
        "Targets are raised to 1 / temperature and scaled to add up to 1: 1 keeps them as they are, below 1 sharpens "
        "them, 0 takes the most likely class. Flat targets leave attraction alone, and h may collapse.",
        kind=float,
        default=0.0,
        interval=_NOT_NEGATIVE,
    ),
    "confidence": Parameter(
        "Nodes whose likeliest class has less than this probability stay unlabelled.",
        kind=float,
        default=0.0,
        interval=_PROBABILITY,
    ),
    "patience": _PATIENCE,
    "stack": Parameter(
        'Whether the teachers of recipe "auto", weighed by seeds held out from them, label all nodes in place of '
        "propagation, from the second round on with the network beside them.",
        kind=bool,
        default=False,
    ),
}

LABEL_PROPAGATION: dict[str, Parameter] = {
    "mu1": Parameter(
        "Weight of the labels.",
        kind=float,
        default=1.0,
        interval=Interval(0, open_low=True),
        also="`math.inf`, which clamps the labels",
        is_also=lambda value: isinstance(value, float) and value == math.inf,
    ),
    "mu2": Parameter("Weight of the edges.", kind=float, default=0.5, interval=Interval(0, open_low=True)),
    "mu3": Parameter("Weight of the prior; 0 for none.", kind=float, default=0.01, interval=_NOT_NEGATIVE),
    "keep": Parameter(
        "Keep only this many of the strongest labels per node: memory then does not grow with the number of labels. "
        "What is dropped is spread as the prior is; of several labels per row, it falls back to the prior. Give it "
        "some slack: keep=1 loses close calls.",
        kind=int,
        interval=_COUNT,
    ),
    "k": Parameter(
        "Neighbours in the kNN graph that is made where `fit` gets none, and of a new row in `predict`.",
        kind=int,
        default=5,
        interval=_COUNT,
    ),
    "influence": Parameter(
        'On directed graphs, "source", "target" or "both": which end pulls the other.',
        kind=str,
        default="both",
        choices=get_args(Influence),
    ),
    "solver": Parameter(
        '"conjugate_gradient" or "jacobi", which have the same solution. `keep` and one-way influence always take '
        "Jacobi steps.",
        kind=str,
        default="conjugate_gradient",
        choices=get_args(Solver),
    ),
    "tolerance": Parameter(
        "Largest change of an entry by a further Jacobi step at which to stop.",
        kind=float,
        default=1e-4,
        interval=_NOT_NEGATIVE,
    ),
    "max_steps": Parameter(
        "Stop then in any case, with a warning that gives the residual.", kind=int, default=1000, interval=_COUNT
    ),
}
