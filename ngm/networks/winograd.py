"""Convolutions of wide layers by fewer products: the minimal filtering of Winograd, by the points of Toom and Cook.

q outputs of a filter of q taps need 2q - 1 products instead of q², if inputs, taps and products are first combined by
small matrices (Lavin and Gray, 2016). Longer filters are cut into pieces of q taps, which add up before the last
combination. A filter of 3 taps takes 5/9 of the products (q = 3), one of 7 taps half (q = 4). Results are those of the
plain convolution, to rounding.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from torch.nn import functional as F

_POINTS = tuple(Fraction(point) for point in ("0", "1", "-1", "2", "-2", "1/2"))


class WinogradFilter(NamedTuple):
    """A filter as the products need it.

    Args:
        pieces: (s, 2q - 1, in, out) combinations of the taps of each of its s pieces.
        kernel: Taps of the filter.
        taps: Of a piece: q.
    """

    pieces: Tensor
    kernel: int
    taps: int


def winograd_filter(weight: Tensor) -> WinogradFilter:
    """Combines the taps, once for all inputs: (out, in, kernel) -> `WinogradFilter`."""
    outs, ins, kernel = weight.shape
    taps = 3 if kernel <= 3 else 4
    of_taps, _, _ = _matrices(taps, weight.dtype, weight.device)
    count = -(-kernel // taps)
    # a row for each product of each piece, a column for each tap of the whole filter
    blocks: Tensor = torch.block_diag(*[of_taps] * count)  # type: ignore[no-untyped-call]
    combine = blocks[:, :kernel]
    pieces = combine @ weight.reshape(outs * ins, kernel).t()  # (s * (2q - 1), out * in)
    return WinogradFilter(pieces.view(count, -1, outs, ins).transpose(2, 3), kernel, taps)


def winograd_convolution(x: Tensor, filter_: WinogradFilter) -> Tensor:
    """(r, p, in) rows of positions -> (r, p - kernel + 1, out), as `F.conv1d` without padding or bias."""
    rows, length, _ = x.shape
    tiles = -(-length // filter_.taps)  # of a row; the last goes on into the next row, and what it gives there is cut
    behind = filter_.taps * len(filter_.pieces)
    flat = F.pad(F.pad(x, (0, 0, 0, tiles * filter_.taps - length)).flatten(0, 1), (0, 0, 0, behind))
    out: Tensor = _Products.apply(flat, filter_.pieces, filter_.taps)  # type: ignore[no-untyped-call]
    return out.view(rows, tiles * filter_.taps, -1)[:, : length - filter_.kernel + 1]


class _Products(torch.autograd.Function):
    """The convolution of one long row: (m q + s q, in), (s, 2q - 1, in, out) -> (m q, out)."""

    @staticmethod
    def forward(ctx: FunctionCtx, flat: Tensor, pieces: Tensor, taps: int) -> Tensor:
        """Products of m tiles with every piece, shifted by a tile from piece to piece."""
        _, of_inputs, of_products = _matrices(taps, flat.dtype, flat.device)
        tiles = len(flat) // taps - 1  # m + s - 1: those that some piece begins in
        width = flat.shape[1]
        overlapping = flat.as_strided((tiles, 2 * taps - 1, width), (taps * width, width, 1))
        inputs = torch.matmul(of_inputs, overlapping).transpose(0, 1)  # (2q - 1, m + s - 1, in)
        count = tiles - len(pieces) + 1
        products = torch.bmm(inputs[:, :count], pieces[0])  # (2q - 1, m, out)
        for shift in range(1, len(pieces)):
            products = products.baddbmm_(inputs[:, shift : shift + count], pieces[shift])
        ctx.save_for_backward(inputs, pieces)
        ctx.taps = taps  # type: ignore[attr-defined]
        return torch.matmul(of_products, products.transpose(0, 1)).flatten(0, 1)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        """The same products, transposed."""
        inputs, pieces = ctx.saved_tensors  # type: ignore[attr-defined]
        taps: int = ctx.taps  # type: ignore[attr-defined]
        _, of_inputs, of_products = _matrices(taps, gradient.dtype, gradient.device)
        by_tile = gradient.reshape(-1, taps, gradient.shape[1])  # (m, q, out)
        products = torch.matmul(of_products.t(), by_tile).transpose(0, 1)  # (2q - 1, m, out)
        count = len(by_tile)
        of_pieces = torch.empty_like(pieces)
        of_tiles = torch.zeros_like(inputs)
        for shift in range(len(pieces)):
            rows = slice(shift, shift + count)
            of_pieces[shift] = torch.bmm(products.transpose(1, 2), inputs[:, rows]).transpose(1, 2)
            of_tiles[:, rows].baddbmm_(products, pieces[shift].transpose(1, 2))
        overlapping = torch.matmul(of_inputs.t(), of_tiles.transpose(0, 1))  # (m + s - 1, 2q - 1, in)
        flat = gradient.new_zeros(len(overlapping) + 1, taps, inputs.shape[2])
        flat[:-1] = overlapping[:, :taps]
        flat[1:, : taps - 1] += overlapping[:, taps:]
        return flat.flatten(0, 1), of_pieces, None


@cache
def _matrices(taps: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """What combines q taps (2q - 1, q), 2q - 1 inputs (2q - 1, 2q - 1), and 2q - 1 products (q, 2q - 1).

    A product is the value of two polynomials at a point, the last their leading coefficients; inputs are combined by
    the coefficients of Lagrange's polynomials, whose common denominators go to the taps.
    """
    points = _POINTS[: 2 * taps - 2]
    others = [[other for other in points if other != point] for point in points]
    scale = [_product([point - other for other in rest]) for point, rest in zip(points, others, strict=True)]
    last = [Fraction(i == taps - 1) for i in range(taps)]
    of_taps = [[point**i / by for i in range(taps)] for point, by in zip(points, scale, strict=True)] + [last]
    of_inputs = [_coefficients(rest) for rest in [*others, list(points)]]
    of_products = [[*(point**i for point in points), last[i]] for i in range(taps)]
    padded = [list(row) for row in zip(*zip_longest(*of_inputs, fillvalue=Fraction(0)), strict=True)]
    made = [
        torch.tensor([[float(value) for value in row] for row in rows], dtype=dtype, device=device)
        for rows in (of_taps, padded, of_products)
    ]
    return made[0], made[1], made[2]


def _product(values: list[Fraction]) -> Fraction:
    out = Fraction(1)
    for value in values:
        out *= value
    return out


def _coefficients(roots: list[Fraction]) -> list[Fraction]:
    """Of the polynomial with these roots and leading coefficient 1, the constant first."""
    out = [Fraction(1)]
    for root in roots:
        out = [above - root * own for above, own in zip([Fraction(0), *out], [*out, Fraction(0)], strict=True)]
    return out
