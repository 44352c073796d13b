"""Rows of the inputs for a batch of nodes: whatever can be indexed by node ids, sparse rows kept sparse."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm._arguments import short_repr


@runtime_checkable
class Indexable(Protocol):
    """Anything of the user's own that gives the inputs of some nodes: `x[nodes]` with nodes (b,) int64."""

    def __getitem__(self, nodes: Tensor, /) -> Tensor: ...

    def __len__(self) -> int: ...


@runtime_checkable
class Batched(Indexable, Protocol):
    """Rows of different lengths, which say themselves how they go into batches."""

    def batches(self, nodes: Tensor, /) -> list[Tensor]:
        """Places in `nodes` (b,), each once, in batches that fit into memory with their padding."""

    def select(self, nodes: Tensor, /) -> Inputs:
        """Some of the rows, in this order."""


with warnings.catch_warnings():  # torch says once per process that sparse rows are in beta; nobody here can act on it
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor([0, 0], [], [], (1, 1), check_invariants=False)

Inputs: TypeAlias = Tensor | NDArray[np.generic] | sp.csr_matrix | sp.csr_array | Mapping[str, "Inputs"] | Indexable
Rows: TypeAlias = Tensor | dict[str, "Rows"]


def num_rows(x: Inputs) -> int:
    """Number of rows; for a mapping, that of its parts."""
    if isinstance(x, Mapping):
        counts = {name: num_rows(part) for name, part in x.items()}
        if len(set(counts.values())) != 1:
            raise ValueError(f"x has parts of different lengths {counts}; give a row per node in each")
        return next(iter(counts.values()))
    if sp.issparse(x):
        return int(cast(sp.csr_array, x).shape[0])
    if not hasattr(x, "__len__") or (isinstance(x, np.ndarray | Tensor) and not x.ndim):
        raise ValueError(
            f"x is {short_repr(x)}; give an array, a sparse matrix, a mapping of these, or an object indexed by ids"
        )
    return len(x)


def check_rows(x: Inputs) -> None:
    """Refuses what cannot be indexed by a tensor of node ids, or gives no numbers."""
    if isinstance(x, Mapping) and not sp.issparse(x):
        for part in x.values():
            check_rows(part)
    elif isinstance(x, list | tuple | str) or hasattr(x, "iloc") or hasattr(x, "columns"):
        raise ValueError(f"x is a {type(x).__name__}, which has no rows by node ids; give an array of its numbers")
    elif (isinstance(x, np.ndarray) or sp.issparse(x)) and cast(sp.csr_array, x).dtype.kind not in "iufb":
        raise ValueError(f"x is of type {cast(sp.csr_array, x).dtype}; give numbers")
    elif isinstance(x, Tensor) and (x.layout != torch.strided or not x.ndim):
        raise ValueError(f"x is a tensor of shape {tuple(x.shape)} ({x.layout}); give a dense one, a row per node")


def take_rows(x: Inputs, nodes: Tensor, dtype: torch.dtype = torch.float32) -> Rows:
    """The inputs of some nodes, as the network gets them.

    Args:
        x: Row i is the input of node i. Dense array or tensor (memory-mapped ones stay on disk), scipy sparse
            matrix, a mapping of such (token ids and mask, say), or an object of one's own with `x[nodes]`.
        nodes: (b,) int64 node ids.
        dtype: What fractions become; whole numbers (token ids, say) stay as they are.

    Returns:
        (b, ...) tensor, of type `dtype` where x has fractions; a sparse matrix gives a (b, d) `torch.sparse_csr`
        tensor; a mapping gives a dict of these.
    """
    if isinstance(x, Tensor):
        return _cast(x.index_select(0, nodes), dtype)
    if isinstance(x, Mapping):
        return {name: take_rows(part, nodes, dtype) for name, part in x.items()}
    if sp.issparse(x):
        return _sparse_rows(cast(sp.csr_array, x), nodes, dtype)
    if isinstance(x, np.ndarray):
        return _cast(torch.from_numpy(np.ascontiguousarray(x[nodes.numpy()])), dtype)
    return cast(Indexable, x)[nodes]


def slice_rows(x: Inputs, start: int, stop: int, dtype: torch.dtype = torch.float32) -> Rows:
    """What `take_rows` gives for the nodes from `start` to `stop` - 1, without a copy where x is in memory and dense.

    Args:
        x: Row i is the input of node i.
        start: The first node.
        stop: The one after the last.
        dtype: See `take_rows`.

    >>> x = torch.zeros(4, 2)
    >>> slice_rows(x, 1, 3).data_ptr() == x[1].data_ptr()
    True
    """
    if isinstance(x, Tensor):
        return _cast(x[start:stop], dtype)
    if isinstance(x, Mapping):
        return {name: slice_rows(part, start, stop, dtype) for name, part in x.items()}
    if isinstance(x, np.ndarray) and x.flags.writeable and x.flags.c_contiguous and x.dtype.isnative:
        return _cast(torch.from_numpy(x[start:stop]), dtype)
    return take_rows(x, torch.arange(start, min(stop, num_rows(x))), dtype)


def row_batches(x: Inputs, nodes: Tensor, size: int) -> list[Tensor]:
    """Places in `nodes`, each once, in batches to run through a network.

    Rows of different lengths know best which go together: where x has a method `batches(nodes)`, it is asked.

    Args:
        x: Row i is the input of node i.
        nodes: (b,) int64 node ids.
        size: Largest number of rows in a batch, where x has no such method.
    """
    if isinstance(x, Batched):
        return x.batches(nodes)
    return list(torch.split(torch.arange(len(nodes)), size))


def select_rows(x: Inputs, nodes: Tensor, dtype: torch.dtype = torch.float32) -> Inputs:
    """Inputs of some nodes alone, as inputs again: what x selects by a method `select`, sparse rows kept sparse.

    Args:
        x: Row i is the input of node i.
        nodes: (b,) int64 node ids.
        dtype: See `take_rows`.
    """
    if isinstance(x, Batched):
        return x.select(nodes)
    return cast(sp.csr_array, x)[nodes.numpy()] if sp.issparse(x) else cast(Inputs, take_rows(x, nodes, dtype))


def move_rows(rows: Rows, device: torch.device | str) -> Rows:
    """The same inputs on another device."""
    if isinstance(rows, dict):
        return {name: move_rows(part, device) for name, part in rows.items()}
    return rows.to(device)


def _cast(rows: Tensor, dtype: torch.dtype) -> Tensor:
    return rows.to(dtype) if rows.is_floating_point() else rows


def _sparse_rows(x: sp.csr_array, nodes: Tensor, dtype: torch.dtype) -> Tensor:
    if x.format != "csr":
        raise ValueError(f"x is a sparse matrix in {x.format!r} form, which has no fast row access; give x.tocsr()")
    rows = x[nodes.numpy()]
    return torch.sparse_csr_tensor(
        torch.from_numpy(rows.indptr.astype(np.int64)),
        torch.from_numpy(rows.indices.astype(np.int64)),
        torch.from_numpy(rows.data).to(dtype),
        rows.shape,
        check_invariants=False,  # scipy has just made them
    )
