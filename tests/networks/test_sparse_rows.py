"""Sparse rows times tables: values and gradients of the dense product, whatever the rows look like."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from ngm.networks.ffnn import FFNNModule
from ngm.networks.sparse_rows import sparse_product, sparse_products


def some_rows(num_rows: int, width: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """A tenth of the entries are there; the first row and the last column are empty."""
    rows = sp.random_array((num_rows, width), density=0.1, rng=np.random.default_rng(0)).toarray()
    rows[:1] = rows[:, -1:] = 0
    return torch.from_numpy(rows).to(dtype)


@pytest.mark.parametrize("num_rows", [0, 1, 30])
def test_a_product_has_the_value_and_the_gradient_of_the_dense_one(num_rows: int) -> None:
    x, table = some_rows(num_rows, 40), torch.randn(40, 7, dtype=torch.float64, requires_grad=True)
    found, expected = sparse_product(x.to_sparse_csr(), table), x @ table
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(out.square().sum(), table)[0] for out in (found, expected)))


def test_products_of_several_tables_are_those_of_each() -> None:
    x, tables = some_rows(30, 40), torch.randn(3, 40, 7, dtype=torch.float64, requires_grad=True)
    found, expected = sparse_products(x.to_sparse_csr(), tables), torch.matmul(x, tables)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(out.square().sum(), tables)[0] for out in (found, expected)))


def test_gradients_of_bfloat16_are_those_of_float32_rounded() -> None:
    x, table = some_rows(30, 40, torch.float32), torch.randn(40, 7, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        product = sparse_product(x.to_sparse_csr(), table)
    (found,) = torch.autograd.grad(product.float().sum(), table)
    torch.testing.assert_close(found, x.T @ torch.ones(30, 7), rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("hidden", [(8,), ()])
def test_a_network_that_expects_sparse_rows_keeps_its_weight_by_input(hidden: tuple[int, ...]) -> None:
    network, other = (FFNNModule(40, 3, hidden) for _ in range(2))
    other.load_state_dict(network.state_dict())
    network.expect_sparse_rows()
    weight, usual = (next(iter(one.parameters())) for one in (network, other))
    by_input = (1, len(weight))
    assert weight.shape == usual.shape
    assert weight.stride() == by_input
    rows = some_rows(30, 40, torch.float32).to_sparse_csr()
    for one in (network, other):
        optimizer = torch.optim.Adam(one.parameters(), fused=True)
        one(rows).square().sum().backward()
        optimizer.step()
    assert weight.grad is not None
    assert weight.grad.stride() == by_input  # else the optimizer would add it to other entries
    torch.testing.assert_close(weight, usual)
    network.load_state_dict(other.state_dict())
    assert weight.stride() == by_input
