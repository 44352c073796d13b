"""The alarm of collapse: every regularized layer, against its largest spread and against the first step."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ngm import Graph, NGMClassifier, NGMLoss, Regularizer
from ngm.collapse import SETTLED, CollapseWarning, Epoch, layer_statistics, warn_of_collapse
from ngm.networks import FFNN, FFNNModule
from ngm.sampling import EdgeLoader
from ngm.training import train

START = {"h_norm_start": 1.0, "h_spread_start": 0.5, "h_zero_start": 0.0}
FIRST: Epoch = {"epoch": 0, "ll": 0.0, "lu": 0.0, "uu": 1.0, "h_norm": 1.0, "h_spread": 0.5, "h_zero": 0.0, **START}


def said(record: dict[str, float], before: list[Epoch], names: tuple[str, ...] = ("h",)) -> str:
    """What is warned of, or nothing; the record is marked if and only if there is something."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_collapse(record, before, "mean", names)
    assert ("collapsed" in record) == bool(caught)
    return str(caught[0].message) if caught else ""


def test_length_spread_and_share_of_zeros_of_a_hand_worked_h() -> None:
    h = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    centred = h - torch.tensor([0.75, 1.25])
    expected = [[6 / 4, centred.norm(dim=1).mean().item(), 0.5], [0.0, 0.0, 1.0]]
    torch.testing.assert_close(layer_statistics([h, torch.zeros(4, 3)]), torch.tensor(expected))


def test_a_collapse_within_the_first_epoch_is_noticed_by_the_length_of_h() -> None:
    before = {"epoch": 0, "ll": 0.0, "lu": 0.0, "uu": 1.0, "h_norm": 1.0, "h_spread": 0.006}  # of an earlier release
    text = "h has collapsed at epoch 1: nodes differ by 0.004, 0.006 at most before; lower alpha_uu"
    assert said({"epoch": 1, "h_norm": 1.0, "h_spread": 0.004}, [before]) == text
    assert said({"epoch": 1, "h_norm": 1.0, "h_spread": 0.006}, [before]) == ""


@pytest.mark.parametrize(
    ("spread", "zero", "reason"),
    [
        (0.13, 0.0, ""),
        (0.12, 0.0, "nodes differ by 0.12 of the length of h, 0.5 at the first step"),
        (0.5, 0.6, ""),
        (0.5, 0.61, "h is 0 for 61% of the nodes, 0% at the first step"),
    ],
)
def test_h_is_held_against_the_first_step(spread: float, zero: float, reason: str) -> None:
    later = {"epoch": 1, "h_norm": 1.0, "h_spread": spread, "h_zero": zero}
    expected = f"h has collapsed at epoch 1: {reason}; lower alpha_uu" if reason else ""
    assert said(dict(later), [FIRST]) == expected
    assert said(FIRST | later | {"epoch": 0}, []) == expected.replace("epoch 1", "epoch 0")  # in the first epoch too
    longer = FIRST | {"h_norm_start": 100.0, "h_spread_start": 50.0}  # a shorter h is no collapse
    assert said(dict(later), [longer]) == expected


def test_nodes_that_had_no_h_from_the_first_step_on_are_no_collapse() -> None:
    empty = FIRST | {"h_zero": 0.7, "h_zero_start": 0.7}
    assert said({"epoch": 1, "h_norm": 1.0, "h_spread": 0.5, "h_zero": 0.7}, [empty]) == ""


def test_it_is_warned_of_once() -> None:
    assert "collapsed" in FIRST | {"collapsed": 1.0}
    record: Epoch = {"epoch": 2, "h_norm": 1.0, "h_spread": 0.001}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_collapse(record, [FIRST, FIRST | {"epoch": 1, "collapsed": 1.0}], "mean", ("h",))
    assert record["collapsed"] == 1.0


def counts(seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64], Graph]:
    """600 rows of raw counts of 100 words in 3 classes, 10 labelled of each, most edges within a class."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=600)
    topics = rng.dirichlet(np.full(100, 0.1), size=3) + 0.2 * rng.dirichlet(np.ones(100))
    x = rng.poisson(topics[truth] * rng.lognormal(3, 1, size=(600, 1))).astype(np.float32)
    ends = rng.integers(600, size=(12_000, 2))
    keep = (truth[ends[:, 0]] == truth[ends[:, 1]]) | (rng.random(12_000) < 0.12)
    y = np.full(600, -1)
    for c in range(3):
        y[np.flatnonzero(truth == c)[:10]] = c
    return x, y, Graph.from_edges(ends[keep], num_nodes=600)


@pytest.mark.parametrize("seed", range(3))
def test_attraction_that_destroys_the_network_in_its_first_epochs_is_warned_of_and_a_healthy_run_is_not(
    seed: int,
) -> None:
    x, y, graph = counts(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        healthy = NGMClassifier(
            recipe="paper", alpha_ll=0.02, alpha_lu=0.02, alpha_uu=0.02, negatives=0, epochs=10, seed=seed
        ).fit(x, y, graph=graph)
    with pytest.warns(CollapseWarning, match=r"^h has collapsed at epoch \d: (nodes differ|h is 0) "):
        collapsed = NGMClassifier(
            recipe="paper", alpha_ll=20, alpha_lu=20, alpha_uu=20, negatives=0, epochs=10, seed=seed
        ).fit(x, y, graph=graph)
    labeled = y >= 0
    assert healthy.score(x[labeled], y[labeled]) > 0.9
    assert collapsed.score(x[labeled], y[labeled]) < 0.7


@pytest.mark.parametrize("seed", range(3))
def test_pairs_held_apart_keep_h_from_the_collapse_that_attraction_alone_ends_in(seed: int) -> None:
    x, y, graph = counts(seed)
    settings = {"epochs": 10, "seed": seed, "recipe": "paper", "learning_rate": 3e-3}
    settings |= {"network": FFNN(input_scaling="none"), "alpha_ll": 3, "alpha_lu": 3, "alpha_uu": 3}
    with pytest.warns(CollapseWarning):
        alone = NGMClassifier(**settings, negatives=0).fit(x, y, graph=graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apart = NGMClassifier(**settings, negatives=1).fit(x, y, graph=graph)
    labeled = y >= 0
    assert apart.score(x[labeled], y[labeled]) > alone.score(x[labeled], y[labeled])


def test_every_regularized_layer_is_looked_at() -> None:
    x, y, graph = counts()
    torch.manual_seed(0)
    network = FFNNModule(100, 3, hidden=(32, 16))
    strong = Regularizer(alpha_ll=20, alpha_lu=20, alpha_uu=20, layer="hidden.1", graph=0)
    weak = Regularizer(alpha_ll=1e-6, alpha_lu=1e-6, alpha_uu=1e-6, layer="hidden.0", graph=0)
    loss = NGMLoss([weak, strong], scaling="mean")
    assert loss.layers == ("hidden.0", "hidden.1")
    loader = EdgeLoader(torch.from_numpy(x), torch.from_numpy(y), graph)
    with pytest.warns(CollapseWarning, match=re.escape("h of layer 'hidden.1' has collapsed at epoch")):
        history = train(network, loader, loss, epochs=8)
    for record in history.epochs:
        assert record["h_spread"] in (record["h_spread[hidden.0]"], record["h_spread[hidden.1]"])
    last = history.epochs[-1]
    assert last["h_spread"] == last["h_spread[hidden.1]"]
    assert last["h_norm"] == last["h_norm[hidden.1]"]
    assert "h_spread_start[hidden.0]" in history.epochs[0]


def test_h_that_fell_is_told_once_labels_had_time_to_teach() -> None:
    early, late = FIRST | {"h_spread": 0.1}, FIRST | {"h_spread": 0.1}
    warn_of_collapse(early, [], "mean", steps=SETTLED - 1)
    assert "collapsed" not in early
    with pytest.warns(CollapseWarning, match=r"nodes differ by 0\.1 of the length of h, 0\.5 at the first step"):
        warn_of_collapse(late, [], "mean", steps=SETTLED)
    assert late["collapsed"] == 1.0


def test_where_no_edge_pulls_or_nodes_are_as_far_apart_as_before_nothing_is_told() -> None:
    for change in ({"uu": 0.0}, {"h_norm": 20.0, "h_spread": 1.0}):  # labels alone; an offset that all share
        record = FIRST | {"h_spread": 0.1} | change
        warn_of_collapse(record, [], "mean")
        assert "collapsed" not in record
