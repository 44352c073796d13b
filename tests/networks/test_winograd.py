"""Convolutions by fewer products: equality with plain ones, forward and backward."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from ngm.networks.winograd import winograd_convolution, winograd_filter


def outputs_and_gradients(x: Tensor, weight: Tensor, plain: bool) -> list[Tensor]:
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    if plain:
        out = F.conv1d(x.transpose(1, 2), weight).transpose(1, 2)
    else:
        out = winograd_convolution(x, winograd_filter(weight))
    factors = torch.linspace(-1, 1, out.numel(), dtype=x.dtype).view_as(out)
    return [out.detach(), *torch.autograd.grad((out * factors).sum(), [x, weight])]


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5, 7, 9])
@pytest.mark.parametrize(("rows", "more"), [(1, 0), (3, 1), (4, 18), (2, 21)])
def test_outputs_and_gradients_are_those_of_a_plain_convolution(kernel: int, rows: int, more: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(rows, kernel + more, 5, generator=generator, dtype=torch.float64)
    weight = torch.randn(6, 5, kernel, generator=generator, dtype=torch.float64)
    ours, theirs = (outputs_and_gradients(x, weight, plain) for plain in (False, True))
    for mine, plain in zip(ours, theirs, strict=True):
        assert torch.allclose(mine, plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", [3, 7])
def test_in_float32_rounding_is_that_of_a_plain_convolution(kernel: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 40, 256, generator=generator).relu()
    weight = 0.05 * torch.randn(256, 256, kernel, generator=generator)
    exact = outputs_and_gradients(x.double(), weight.double(), plain=True)
    for found, true in zip(outputs_and_gradients(x, weight, plain=False), exact, strict=True):
        assert float((found - true).abs().max() / true.abs().max()) < 5e-6


def test_one_filter_serves_several_inputs_and_their_gradients_add_up() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 12, 3, generator=generator, dtype=torch.float64)
    weight = torch.randn(2, 3, 7, generator=generator, dtype=torch.float64, requires_grad=True)
    filter_ = winograd_filter(weight)
    parts = torch.cat([winograd_convolution(rows, filter_) for rows in x.split([1, 3])])
    whole = F.conv1d(x.transpose(1, 2), weight).transpose(1, 2)
    assert torch.allclose(parts, whole, rtol=0, atol=1e-12)
    mine, theirs = (torch.autograd.grad(out.square().sum(), weight)[0] for out in (parts, whole))
    assert torch.allclose(mine, theirs, rtol=0, atol=1e-11)
