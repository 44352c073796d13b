from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn import functional as F

from ngm.comparators.one_vs_rest import LinearOneVsRest
from ngm.distances import l2
from ngm.graph import Graph
from ngm.networks.one_vs_rest import OneVsRest, separate
from ngm.objective import NGMLoss
from ngm.rows import take_rows
from ngm.sampling import EdgeLoader
from ngm.training import train

LABELS, HIDDEN, WIDTH, NODES = 3, 4, 6, 12


def inputs(seed: int = 0) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.random((NODES, WIDTH)) * (rng.random((NODES, WIDTH)) < 0.5), dtype=np.float32)


def network() -> OneVsRest:
    torch.manual_seed(0)
    return OneVsRest(WIDTH, LABELS, HIDDEN)


def alone(together: OneVsRest, label: int) -> nn.Sequential:
    """The network of one label as a plain one."""
    one = nn.Sequential(nn.Linear(WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1))
    with torch.no_grad():
        one[0].weight.copy_(together.hidden.weight[label].t())
        one[0].bias.copy_(together.hidden.bias[label, 0])
        one[2].weight.copy_(together.weight[label][None])
        one[2].bias.copy_(together.bias[label][None])
    return one


def targets(seed: int = 1) -> torch.Tensor:
    y = torch.from_numpy(np.random.default_rng(seed).integers(2, size=(NODES, LABELS))).float()
    y[8:] = -1
    return y


def ring() -> Graph:
    return Graph.from_edges([[i, (i + 1) % NODES] for i in range(NODES)] + [[0, 5], [2, 9]])


def test_sparse_and_dense_rows_give_the_same_logits_and_gradients() -> None:
    x, both = inputs(), []
    for rows in (take_rows(x, torch.arange(NODES)), torch.from_numpy(x.toarray())):
        net = network()
        logits = net(rows)
        logits.square().sum().backward()
        both.append([logits.detach(), *(p.grad for p in net.parameters())])
    for sparse, dense in zip(*both, strict=True):
        torch.testing.assert_close(sparse, dense)


def test_networks_trained_as_one_are_those_trained_one_by_one() -> None:
    """The whole objective, graph included, with Adam: each network gets what it would get alone."""
    x, y, graph, together = inputs(), targets(), ring(), network()
    singles = [alone(together, label) for label in range(LABELS)]
    loss = NGMLoss(alpha_ll=0.3, alpha_lu=0.2, alpha_uu=0.1, distance=separate(l2, LABELS), cost="bce", scaling="sum")
    loader = EdgeLoader(x, y, graph, batch_size=5, seed=3, sampling="edges")
    train(together, loader, loss, epochs=3, seed=0, learning_rate=0.05)
    for label, single in enumerate(singles):
        own = NGMLoss(alpha_ll=0.3, alpha_lu=0.2, alpha_uu=0.1, distance="l2", layer="1", cost="bce", scaling="sum")
        batches = EdgeLoader(x.toarray(), y[:, [label]], graph, batch_size=5, seed=3, sampling="edges")
        train(single, batches, own, epochs=3, seed=0, learning_rate=0.05)
        dense = torch.from_numpy(x.toarray())
        torch.testing.assert_close(together(dense)[:, [label]], single(dense), rtol=1e-4, atol=1e-5)


def test_separate_distances_are_those_of_each_network_added_up() -> None:
    rng = torch.Generator().manual_seed(0)
    h_u, h_v = torch.randn(5, LABELS * HIDDEN, generator=rng), torch.randn(5, LABELS * HIDDEN, generator=rng)
    expected = sum(
        F.pairwise_distance(h_u[:, i : i + HIDDEN], h_v[:, i : i + HIDDEN], eps=0)
        for i in range(0, LABELS * HIDDEN, HIDDEN)
    )
    torch.testing.assert_close(separate(l2, LABELS)(h_u, h_v), expected)


def multilabel(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 4))
    return x, (x @ rng.normal(size=(4, 3)) + 0.5 * rng.normal(size=(60, 3)) > 0.4).astype(int)


@pytest.mark.parametrize("c", [0.1, 1.0, 10.0])
def test_every_label_is_scikit_learns_logistic_regression(c: float) -> None:
    x, y = multilabel()
    ours = LinearOneVsRest(c=c).fit(x, y)
    for label in range(y.shape[1]):
        theirs = LogisticRegression(C=c, tol=1e-10, max_iter=5000).fit(x, y[:, label])
        np.testing.assert_allclose(ours.coef_[label], theirs.coef_[0], atol=1e-3)
        np.testing.assert_allclose(ours.predict_proba(x)[:, label], theirs.predict_proba(x)[:, 1], atol=1e-3)


def test_unlabelled_rows_are_left_out_and_sparse_rows_are_as_good_as_dense_ones() -> None:
    x, y = multilabel()
    hidden = y.copy()
    hidden[40:] = -1
    expected = LinearOneVsRest(unit_rows=True).fit(x[:40], y[:40]).decision_function(x)
    np.testing.assert_allclose(LinearOneVsRest(unit_rows=True).fit(x, hidden).decision_function(x), expected, atol=1e-4)
    sparse = sp.csr_array(x)
    found = LinearOneVsRest(unit_rows=True).fit(sparse, hidden).decision_function(sparse)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_classes_instead_of_labels_are_refused() -> None:
    x, _ = multilabel()
    with pytest.raises(ValueError, match=r"y is read as classes; give \(n, L\) zeros and ones, a column per label"):
        LinearOneVsRest().fit(x, np.arange(60) % 3)
