"""Soft labels by Eq. 2 with a linear model as prior, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from ngm import Graph
from ngm.recipes.soft_labels import Blend, soft_labels


@pytest.fixture
def problem() -> tuple[np.ndarray, Tensor, Tensor, Graph]:
    """30 nodes in 3 blobs, each joined to a few, 9 of them labelled."""
    rng = np.random.default_rng(0)
    y = torch.arange(30) % 3
    x = np.eye(3)[y.numpy()] + 0.6 * rng.standard_normal((30, 3))
    ends = rng.integers(0, 30, (60, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    graph = Graph.from_edges(ends, rng.random(len(ends)).astype(np.float32), 30)
    return x, y, torch.arange(30) < 9, graph


def dense(x: np.ndarray, y: Tensor, labeled: Tensor, graph: Graph, blend: Blend) -> np.ndarray:
    """Solves Eq. 2 as a system of linear equations, then sharpens."""
    rows = x / np.linalg.norm(x, axis=1, keepdims=True)
    prior = LogisticRegression(C=blend.c, max_iter=1000).fit(rows[labeled], y[labeled]).predict_proba(rows)
    w = np.zeros((30, 30))
    for (u, v), weight in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True):
        w[u, v] = w[v, u] = weight
    known = np.diag(labeled.numpy().astype(float))
    left = blend.mu1 * known + np.diag(w.sum(axis=1)) - w + blend.mu3 * np.eye(30)
    shares = np.linalg.solve(left, blend.mu1 * known @ np.eye(3)[y.numpy()] + blend.mu3 * prior)
    sharp = shares**blend.sharpness
    return np.asarray(sharp / sharp.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("blend", [Blend(), Blend(mu1=1.0, mu3=0.2, sharpness=1.0, c=1.0)])
def test_soft_labels_solve_eq_2_with_the_linear_model_as_prior(
    problem: tuple[np.ndarray, Tensor, Tensor, Graph], blend: Blend
) -> None:
    x, y, labeled, graph = problem
    words, told = soft_labels(x, y, labeled, graph, 3, blend)
    assert np.allclose(words.numpy(), dense(x, y, labeled, graph, blend), atol=2e-3)
    assert bool(told.all())


def test_labels_that_are_given_as_shares_pull_as_shares(problem: tuple[np.ndarray, Tensor, Tensor, Graph]) -> None:
    x, y, labeled, graph = problem
    certain = torch.nn.functional.one_hot(y, 3).float()
    firm = Blend(mu1=1e6, sharpness=1.0)
    assert torch.allclose(
        soft_labels(x, certain, labeled, graph, 3)[0], soft_labels(x, y, labeled, graph, 3)[0], atol=1e-6
    )
    words, _ = soft_labels(x, 0.7 * certain + 0.1, labeled, graph, 3, firm)
    assert torch.allclose(words[labeled], (0.7 * certain + 0.1)[labeled], atol=1e-3)


def test_labels_of_one_class_give_everything_to_it(problem: tuple[np.ndarray, Tensor, Tensor, Graph]) -> None:
    x, y, labeled, graph = problem
    words, _ = soft_labels(x, y, labeled & (y == 2), graph, 3)
    assert torch.allclose(words, torch.tensor([0.0, 0.0, 1.0]).expand(30, 3))


def test_the_labels_of_hidden_nodes_play_no_part(problem: tuple[np.ndarray, Tensor, Tensor, Graph]) -> None:
    x, y, labeled, graph = problem
    hidden = torch.where(labeled, y, -1)
    assert torch.equal(soft_labels(x, hidden, labeled, graph, 3)[0], soft_labels(x, y, labeled, graph, 3)[0])


def test_the_length_of_vectors_does_not_matter(problem: tuple[np.ndarray, Tensor, Tensor, Graph]) -> None:
    x, y, labeled, graph = problem
    longer = x * np.linspace(1, 9, 30)[:, None]
    assert torch.allclose(
        soft_labels(x, y, labeled, graph, 3)[0], soft_labels(longer, y, labeled, graph, 3)[0], atol=1e-5
    )


def test_without_vectors_nodes_that_no_label_reaches_are_not_told() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2], [3, 4]], num_nodes=6)
    y, labeled = torch.tensor([0, 0, 1, 0, 0, 0]), torch.tensor([True, False, True, False, False, False])
    words, told = soft_labels(None, y, labeled, graph, 2, Blend(mu1=1e6, sharpness=1.0))
    assert told.tolist() == [True, True, True, False, False, False]
    assert torch.allclose(words[:3], torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), atol=1e-3)


def test_a_class_that_no_label_has_gets_no_share(problem: tuple[np.ndarray, Tensor, Tensor, Graph]) -> None:
    x, y, labeled, graph = problem
    words, _ = soft_labels(x, y, labeled & (y != 1), graph, 3)
    assert not bool(words[:, 1].any())
    assert torch.allclose(words.sum(dim=1), torch.ones(30), atol=1e-5)


def test_sharper_shares_have_the_same_largest_class(problem: tuple[np.ndarray, Tensor, Tensor, Graph]) -> None:
    x, y, labeled, graph = problem
    plain, sharp = (soft_labels(x, y, labeled, graph, 3, Blend(sharpness=s))[0] for s in (1.0, 4.0))
    assert torch.equal(plain.argmax(dim=1), sharp.argmax(dim=1))
    assert bool((sharp.amax(dim=1) >= plain.amax(dim=1) - 1e-6).all())
