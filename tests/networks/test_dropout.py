"""Dropout by random bytes."""

from __future__ import annotations

import pytest
import torch

from ngm.networks.dropout import ByteDropout


def dropped(share: float, x: torch.Tensor, seed: int = 0) -> torch.Tensor:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        found: torch.Tensor = ByteDropout(share)(x)
        return found


@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.9])
def test_the_share_is_dropped_and_the_mean_is_kept(share: float) -> None:
    found = dropped(share, torch.ones(2000, 500))
    assert float((found == 0).double().mean()) == pytest.approx(share, abs=1 / 512 + 0.002)
    assert float(found.double().mean()) == pytest.approx(1, abs=0.01)
    assert len(found.unique()) == 2  # zeros, and one factor for all that stay


def test_every_bit_of_a_byte_is_random() -> None:
    """The eighth byte of a word has a sign bit, which torch leaves 0 unless asked for whole words."""
    places = (dropped(0.5, torch.ones(40_000, 8)) == 0).double().mean(dim=0)  # a word per row
    torch.testing.assert_close(places, torch.full_like(places, 0.5), atol=0.015, rtol=0)


def test_the_generator_of_torch_decides_on_the_mask() -> None:
    x = torch.ones(30, 7)
    assert torch.equal(dropped(0.5, x, seed=3), dropped(0.5, x, seed=3))
    assert not torch.equal(dropped(0.5, x, seed=3), dropped(0.5, x, seed=4))


def test_gradients_flow_through_what_stays() -> None:
    x = torch.ones(30, 7, requires_grad=True)
    found = dropped(0.5, x)
    found.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, found.detach())


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_shares_that_bytes_cannot_express_are_torchs(share: float) -> None:
    x = torch.ones(100, 100)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        expected = torch.nn.Dropout(share)(x)
    assert torch.equal(dropped(share, x), expected)


def test_nothing_is_dropped_from_nothing_or_after_training() -> None:
    assert dropped(0.5, torch.ones(0, 7)).shape == (0, 7)
    x = torch.ones(3, 7)
    assert ByteDropout(0.5).eval()(x) is x
