"""Distances; whatever is added to `DISTANCES` is tested here without further ado, a formula apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from ngm.distances import BETWEEN_OUTPUTS, DISTANCES, ONE_SIDED, get_distance, symmetrized

Row = Sequence[float]


def softmax(z: Row) -> list[float]:
    total = sum(math.exp(v) for v in z)
    return [math.exp(v) / total for v in z]


def plain_cosine(a: Row, b: Row) -> float:
    dot = sum(p * q for p, q in zip(a, b, strict=True))
    return 1 - dot / math.sqrt(sum(p * p for p in a) * sum(q * q for q in b))


def plain_kl(p: Row, q: Row) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def plain_js(a: Row, b: Row) -> float:
    p, q = softmax(a), softmax(b)
    middle = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return (plain_kl(p, middle) + plain_kl(q, middle)) / 2


PLAIN: dict[str, Callable[[Row, Row], float]] = {
    "l1": lambda a, b: sum(abs(p - q) for p, q in zip(a, b, strict=True)),
    "l2": math.dist,
    "squared_l2": lambda a, b: math.dist(a, b) ** 2,
    "cosine": plain_cosine,
    "cross_entropy": lambda a, b: -sum(p * math.log(q) for p, q in zip(softmax(a), softmax(b), strict=True)),
    "kl": lambda a, b: plain_kl(softmax(a), softmax(b)),
    "js": plain_js,
}
every = pytest.mark.parametrize("name", list(DISTANCES))


def two_ends(rows: int = 7, width: int = 5) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    u, v = torch.randn(2, rows, width, generator=generator, dtype=torch.float64)
    return u, v


@every
def test_each_distance_agrees_with_its_formula(name: str) -> None:
    assert name in PLAIN, f"write the formula of {name!r} in plain Python into PLAIN above"
    u, v = two_ends()
    expected = [PLAIN[name](a, b) for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    assert DISTANCES[name](u, v).tolist() == pytest.approx(expected, rel=1e-10)


def test_distances_worked_by_hand() -> None:
    u, v = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 4.0]])
    hand = {"l1": 7.0, "l2": 5.0, "squared_l2": 25.0, "cosine": 1.0}
    assert {name: DISTANCES[name](u, v).item() for name in hand} == hand
    p, q = torch.tensor([[math.log(3.0), 0.0]]), torch.tensor([[0.0, 0.0]])  # (3/4, 1/4) and (1/2, 1/2)
    assert DISTANCES["cross_entropy"](p, q).item() == pytest.approx(math.log(2))
    assert DISTANCES["kl"](p, q).item() == pytest.approx(0.75 * math.log(3) - math.log(2))
    assert DISTANCES["kl"](q, p).item() == pytest.approx(math.log(2) - 0.5 * math.log(3))


@every
def test_a_node_has_no_distance_from_itself(name: str) -> None:
    u, _ = two_ends()
    if name == "cross_entropy":  # the entropy is left
        entropy = [-sum(p * math.log(p) for p in softmax(row)) for row in u.tolist()]
        assert DISTANCES[name](u, u).tolist() == pytest.approx(entropy)
    else:
        torch.testing.assert_close(DISTANCES[name](u, u), torch.zeros(len(u), dtype=u.dtype), rtol=0, atol=1e-12)


@every
def test_distances_are_never_negative(name: str) -> None:
    u, v = two_ends(rows=500)
    assert (DISTANCES[name](u, v) > 0).all()


@every
def test_the_gradient_is_finite_where_both_ends_coincide(name: str) -> None:
    for value in (1.5, 0.0):
        u, v = (torch.full((2, 3), value, requires_grad=True) for _ in range(2))
        DISTANCES[name](u, v).sum().backward()
        for end in (u, v):
            assert end.grad is not None
            assert torch.isfinite(end.grad).all()


@every
def test_the_gradient_is_that_of_the_value(name: str) -> None:
    u, v = (end.requires_grad_() for end in two_ends(rows=3))
    assert torch.autograd.gradcheck(DISTANCES[name], (u, v))


@every
def test_the_order_of_the_ends_matters_where_the_table_says_so(name: str) -> None:
    u, v = two_ends()
    assert torch.allclose(DISTANCES[name](u, v), DISTANCES[name](v, u)) == (name not in ONE_SIDED)


@every
def test_distances_between_outputs_are_those_that_a_shift_of_logits_leaves_alone(name: str) -> None:
    u, v = two_ends()
    assert torch.allclose(DISTANCES[name](u + 3, v - 1), DISTANCES[name](u, v)) == (name in BETWEEN_OUTPUTS)


@every
def test_each_edge_has_one_distance_of_its_own(name: str) -> None:
    u, v = two_ends()
    together = DISTANCES[name](u, v)
    assert together.shape == (7,)
    torch.testing.assert_close(together[2:3], DISTANCES[name](u[2:3], v[2:3]))
    assert DISTANCES[name](u[:0], v[:0]).shape == (0,)


@every
def test_the_symmetrized_distance_is_the_mean_of_both_orders(name: str) -> None:
    u, v = two_ends()
    both = symmetrized(name)
    expected = (DISTANCES[name](u, v) + DISTANCES[name](v, u)) / 2
    torch.testing.assert_close(both(u, v), expected)
    torch.testing.assert_close(both(v, u), expected)


@pytest.mark.parametrize("name", sorted(BETWEEN_OUTPUTS))
def test_extreme_logits_give_finite_distances_and_gradients(name: str) -> None:
    u = torch.tensor([[1000.0, -1000.0]], requires_grad=True)
    v = torch.tensor([[-1000.0, 1000.0]], requires_grad=True)
    distance = DISTANCES[name](u, v)
    distance.sum().backward()
    assert distance.item() == pytest.approx({"cross_entropy": 2000.0, "kl": 2000.0, "js": math.log(2)}[name])
    assert u.grad is not None
    assert torch.isfinite(u.grad).all()


def test_a_function_of_the_users_own_is_taken_as_it_is() -> None:
    def first_of(u: Tensor, v: Tensor) -> Tensor:
        return u[:, 0]

    assert get_distance(first_of) is first_of
    u, v = two_ends()
    torch.testing.assert_close(symmetrized(first_of)(u, v), (u[:, 0] + v[:, 0]) / 2)  # nobody said it is symmetric


def test_names_find_their_functions() -> None:
    assert {name: get_distance(name) for name in DISTANCES} == DISTANCES
    assert set(DISTANCES) >= BETWEEN_OUTPUTS >= ONE_SIDED


@pytest.mark.parametrize(
    ("name", "guess"), [("sqared_l2", r" \(did you mean 'squared_l2'\?\)"), ("euclid", "")], ids=["near", "far"]
)
@pytest.mark.parametrize("find", [get_distance, symmetrized])
def test_an_unknown_name_is_refused_with_a_guess(name: str, guess: str, find: Callable[[str], object]) -> None:
    message = f"^unknown distance '{name}'{guess}; choose from {', '.join(DISTANCES)}, or give a function$"
    with pytest.raises(ValueError, match=message):
        find(name)
