"""The compiled edge terms against those in torch: same sums and gradients, and torch's own where values are traced."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ngm.edge_terms import WeightedPairs, edge_terms, plain_edge_terms
from ngm.edge_terms.fused import FUSED

NAMES = sorted(FUSED)


def some_pairs(num_rows: int = 40, num_edges: int = 150, num_negatives: int = 60, seed: int = 0) -> WeightedPairs:
    """Edges of all kinds and weights, pairs whose ends are one row among them, and negative pairs."""
    rng = torch.Generator().manual_seed(seed)
    return WeightedPairs(
        ends=torch.randint(num_rows, (num_edges, 2), generator=rng),
        weight=torch.rand(num_edges, generator=rng) + 0.1,
        kind=torch.randint(3, (num_edges,), generator=rng),
        scale=(0.5, 0.02, 3.0),
        negatives=torch.randint(num_rows, (num_negatives, 2), generator=rng),
        negative_of=torch.randint(num_edges, (num_negatives,), generator=rng),
        share=0.7,
        margin=4.0,
    )


def some_rows(num_rows: int = 40, width: int = 13, seed: int = 0) -> Tensor:
    """Hidden vectors behind a rectifier, two of them equal and one 0."""
    h = torch.randn(num_rows, width, generator=torch.Generator().manual_seed(seed)).relu()
    h[1], h[2] = h[0], 0.0
    return h


def terms_and_gradient(function: object, h: Tensor, pairs: WeightedPairs, distance: str) -> tuple[Tensor, Tensor]:
    """The four terms, and the gradient of a sum in which each counts differently."""
    h = h.clone().requires_grad_()
    terms = function(h, pairs, distance)  # type: ignore[operator]
    (gradient,) = torch.autograd.grad((terms * torch.tensor([1.0, 2.0, 0.5, 3.0], dtype=h.dtype)).sum(), h)
    return terms.detach(), gradient


@pytest.mark.parametrize("distance", NAMES)
def test_terms_and_gradients_are_those_of_torch(distance: str) -> None:
    h, pairs = some_rows(), some_pairs()
    pairs = replace(pairs, margin=0.8) if distance == "cosine" else pairs
    away = ((pairs.ends != 2).all(dim=1)).float() if distance == "cosine" else 1.0  # at 0 its gradient is beyond 1e7
    pairs = replace(pairs, weight=pairs.weight * away)
    exact = plain_edge_terms(h.double(), replace(pairs, weight=pairs.weight.double()), distance)
    terms, gradient = terms_and_gradient(edge_terms, h, pairs, distance)
    plain, plain_gradient = terms_and_gradient(plain_edge_terms, h, pairs, distance)
    assert (terms > 0).all()
    torch.testing.assert_close(terms, plain, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(terms.double(), exact, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(gradient, plain_gradient, rtol=1e-5, atol=1e-6 * float(plain_gradient.abs().max()))


@pytest.mark.parametrize("distance", NAMES)
def test_terms_without_negative_pairs_are_those_of_torch(distance: str) -> None:
    pairs = some_pairs(num_negatives=0)
    terms, gradient = terms_and_gradient(edge_terms, some_rows() + 0.1, pairs, distance)
    plain, plain_gradient = terms_and_gradient(plain_edge_terms, some_rows() + 0.1, pairs, distance)
    assert terms[3] == 0
    torch.testing.assert_close(terms, plain, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(gradient, plain_gradient, rtol=1e-5, atol=1e-6)


def test_float32_rows_are_compared_by_compiled_loops_and_others_by_torch() -> None:
    h, pairs = some_rows().requires_grad_(), some_pairs()
    for distance in NAMES:
        assert "FusedEdgeTerms" in type(edge_terms(h, pairs, distance).grad_fn).__name__
        assert "FusedEdgeTerms" not in type(edge_terms(h.double(), pairs, distance).grad_fn).__name__
    for influence in ("source", "target"):
        one_sided = edge_terms(h, pairs, "l2", directed=True, influence=influence)
        assert "FusedEdgeTerms" not in type(one_sided.grad_fn).__name__
    assert "FusedEdgeTerms" not in type(edge_terms(h, pairs, "js").grad_fn).__name__


def test_a_hand_worked_edge_of_each_kind() -> None:
    h = torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], requires_grad=True)
    none = torch.zeros(0, dtype=torch.int64)
    weight, kind = torch.tensor([1.0, 2.0]), torch.tensor([0, 2])
    pairs = WeightedPairs(torch.tensor([[0, 1], [0, 2]]), weight, kind, (0.5, 9.0, 0.1), none.view(0, 2), none)
    terms = edge_terms(h, pairs, "l2")
    torch.testing.assert_close(terms, torch.tensor([0.5 * 5, 0.0, 0.1 * 2 * 1, 0.0]))
    terms.sum().backward()
    torch.testing.assert_close(h.grad, torch.tensor([[-0.3, -0.4 - 0.2], [0.3, 0.4], [0.0, 0.2]]))


@pytest.mark.parametrize("distance", ["l1", "l2", "squared_l2"])
def test_the_gradient_is_zero_where_ends_coincide(distance: str) -> None:
    h, pairs = torch.ones(40, 5), some_pairs(num_negatives=0)
    terms, gradient = terms_and_gradient(edge_terms, h, pairs, distance)
    assert terms.tolist() == [0.0] * 4
    assert not gradient.any()


@pytest.mark.parametrize("distance", NAMES)
def test_nan_in_h_is_nan_in_its_terms(distance: str) -> None:
    h, pairs = some_rows(), some_pairs()
    h[3] = torch.nan
    assert edge_terms(h, pairs, distance).isnan().tolist() == plain_edge_terms(h, pairs, distance).isnan().tolist()


def test_rows_and_pairs_that_are_not_in_sequence_give_the_same() -> None:
    h, pairs = some_rows(), some_pairs()
    turned = replace(pairs, ends=pairs.ends.t().contiguous().t(), weight=pairs.weight.repeat_interleave(2)[::2])
    first = terms_and_gradient(edge_terms, h, pairs, "l2")
    for one, other in zip(first, terms_and_gradient(edge_terms, h.t().contiguous().t(), turned, "l2"), strict=True):
        assert torch.equal(one, other)


def test_the_same_input_gives_the_same_bits() -> None:
    h, pairs = some_rows(400, 100), some_pairs(400, 3000, 500)
    first = terms_and_gradient(edge_terms, h, pairs, "l2")
    for _ in range(3):
        for one, other in zip(first, terms_and_gradient(edge_terms, h, pairs, "l2"), strict=True):
            assert torch.equal(one, other)


@pytest.mark.parametrize("distance", ["l2", "cosine"])
def test_second_derivatives_are_those_of_torch(distance: str) -> None:
    apart = torch.tensor([[4, 5], [6, 7], [5, 8]])  # the second derivative of l2 is not defined where ends coincide
    pairs = replace(some_pairs(num_edges=3, num_negatives=0), ends=apart)

    def penalty(function: object) -> Tensor:
        h = (some_rows() + 0.1).requires_grad_()
        terms = function(h, pairs, distance)  # type: ignore[operator]
        (gradient,) = torch.autograd.grad(terms.sum(), h, create_graph=True)
        (second,) = torch.autograd.grad(gradient.square().sum(), h)
        return second

    torch.testing.assert_close(penalty(edge_terms), penalty(plain_edge_terms), rtol=1e-4, atol=1e-4)


def test_functional_transforms_are_those_of_torch() -> None:
    h, pairs = some_rows() + 0.1, some_pairs()

    def total(function: object, h: Tensor) -> Tensor:
        return function(h, pairs, "l2").sum()  # type: ignore[operator]

    gradient = torch.func.grad(lambda h: total(edge_terms, h))(h)
    torch.testing.assert_close(gradient, torch.func.grad(lambda h: total(plain_edge_terms, h))(h))
    mapped = torch.func.vmap(lambda h: total(edge_terms, h))(torch.stack([h, 2 * h]))
    torch.testing.assert_close(mapped, torch.stack([total(edge_terms, h), total(edge_terms, 2 * h)]))


def test_weights_that_are_learned_get_a_gradient() -> None:
    pairs = some_pairs()
    weight = pairs.weight.clone().requires_grad_()
    edge_terms(some_rows(), replace(pairs, weight=weight), "l2").sum().backward()
    assert weight.grad is not None
    assert weight.grad.abs().sum() > 0
