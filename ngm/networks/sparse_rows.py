"""Sparse rows times dense tables, forward and backward at a cost in proportion to the non-zeros.

The gradient of a table is the transposed rows times the gradient of the product. Transposing first and summing bags
takes a third of the time of the backward pass of `embedding_bag`, and one transposition serves all tables.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F


def sparse_product(x: Tensor, table: Tensor) -> Tensor:
    """(b, d) `torch.sparse_csr` rows @ (d, h) -> (b, h); fastest where the table's rows lie in one piece."""
    if x.device.type != "cpu" or x.requires_grad:
        return _bags(x, table)
    product: Tensor = _SparseProduct.apply(table, x)  # type: ignore[no-untyped-call]
    return product


def sparse_products(x: Tensor, tables: Tensor) -> Tensor:
    """(b, d) `torch.sparse_csr` rows @ each of (k, d, h) -> (k, b, h), one at a time: a table fits into the cache."""
    products: Tensor = _SparseProducts.apply(tables, x)  # type: ignore[no-untyped-call]
    return products


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, table: Tensor, x: Tensor) -> Tensor:
        ctx.x = x  # type: ignore[attr-defined]
        return _bags(x, table)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        return _bags(_transposed(cast(Tensor, ctx.x)), gradient), None  # type: ignore[attr-defined]


class _SparseProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tables: Tensor, x: Tensor) -> Tensor:
        ctx.x = x  # type: ignore[attr-defined]
        return torch.stack([_bags(x, table) for table in tables])

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        transposed = _transposed(cast(Tensor, ctx.x))  # type: ignore[attr-defined]
        return torch.stack([_bags(transposed, part) for part in gradient]), None


def _bags(x: Tensor, table: Tensor) -> Tensor:
    """Each row of the product is a weighted bag of rows of the table."""
    return F.embedding_bag(
        x.col_indices(),
        table.contiguous(),
        x.crow_indices(),
        mode="sum",
        per_sample_weights=x.values().to(table.dtype),
        include_last_offset=True,
    )


def _transposed(x: Tensor) -> Tensor:
    """(b, d) -> (d, b), both `torch.sparse_csr`."""
    rows = sp.csr_array((x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()), shape=x.shape)
    columns = sp.csc_array(rows)
    offsets, index = (torch.from_numpy(part.astype(np.int64)) for part in (columns.indptr, columns.indices))
    shape = (x.shape[1], x.shape[0])
    return torch.sparse_csr_tensor(offsets, index, torch.from_numpy(columns.data), shape, check_invariants=False)
