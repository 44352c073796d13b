"""Digests that tell data from other data: SHA-256 over types, shapes and bytes, read piece by piece."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.rows import Indexable

if TYPE_CHECKING:
    from hashlib import _Hash

_AT_ONCE = 1 << 26  # bytes
_SAMPLED = 64  # rows of an object of the user's own


def digest(*values: object) -> str:
    """64 hexadecimal digits that are the same for the same values, and other ones for others.

    Args:
        *values: Arrays and tensors (memory-mapped ones are read in pieces), sparse matrices, texts, numbers, None,
            files by their `Path`, and sequences, mappings and dataclasses of these. Of any other object that gives rows
            by `x[nodes]`, its type, its length and 64 rows count, and only if it gives the same rows twice.

    >>> digest(np.arange(3)) == digest(np.arange(3)), digest(np.arange(3)) == digest(np.arange(3.0))
    (True, False)
    """
    found = hashlib.sha256()
    for value in values:
        _add(found, value)
    return found.hexdigest()


def _add(found: _Hash, value: object) -> None:
    if isinstance(value, Tensor):
        _add_tensor(found, value.detach())
    elif sp.issparse(value):
        _add_sparse(found, cast(sp.csr_array, value))
    elif isinstance(value, np.ndarray):
        _add_array(found, value)
    elif isinstance(value, Mapping):
        found.update(f"mapping {len(value)};".encode())
        for key in sorted(value, key=str):
            _add(found, str(key))
            _add(found, value[key])
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(text) + text)
    elif isinstance(value, Path):
        _add_file(found, value)
    elif isinstance(value, list | tuple):
        found.update(f"sequence {len(value)};".encode())
        for part in value:
            _add(found, part)
    elif is_dataclass(value):
        found.update(f"{type(value).__qualname__};".encode())
        for field in fields(value):
            _add(found, getattr(value, field.name))
    elif value is None or isinstance(value, bool | int | float | complex | bytes | np.generic):
        found.update(f"{value!r};".encode())
    else:
        _add_object(found, value)


def _add_array(found: _Hash, array: NDArray[np.generic]) -> None:
    if array.dtype.hasobject or array.dtype.kind in "UST":
        found.update(f"objects {array.shape};".encode())
        _add(found, array.reshape(-1).tolist())
        return
    found.update(f"{array.dtype.str} {array.shape};".encode())
    if not array.size:
        return
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(_AT_ONCE * len(rows) // rows.nbytes, 1)
    for start in range(0, len(rows), step):
        found.update(np.ascontiguousarray(rows[start : start + step]).reshape(-1).view(np.uint8).data)


def _add_tensor(found: _Hash, tensor: Tensor) -> None:
    if tensor.layout != torch.strided:
        tensor = tensor.to_sparse(layout=torch.sparse_coo).coalesce()
        found.update(f"sparse {tuple(tensor.shape)};".encode())
        _add_tensor(found, tensor.indices())
        _add_tensor(found, tensor.values())
    elif tensor.dtype == torch.bfloat16:  # which numpy has not
        found.update(b"bfloat16;")
        _add_array(found, tensor.cpu().contiguous().view(torch.int16).numpy())
    else:
        _add_array(found, tensor.cpu().numpy())


def _add_sparse(found: _Hash, matrix: sp.csr_array) -> None:
    rows = matrix.tocsr()
    found.update(f"csr {rows.shape};".encode())
    for places in (rows.indptr, rows.indices):  # 4 or 8 bytes each, as scipy saw fit
        _add_array(found, places.astype(np.int64, copy=False))
    _add_array(found, rows.data)


def _add_file(found: _Hash, file: Path) -> None:
    with file.open("rb") as opened:
        while piece := opened.read(_AT_ONCE):
            found.update(piece)


def _add_object(found: _Hash, value: object) -> None:
    found.update(f"{type(value).__qualname__};".encode())
    if not isinstance(value, Indexable):
        return
    found.update(f"{len(value)};".encode())
    nodes = torch.linspace(0, len(value) - 1, min(_SAMPLED, len(value)), dtype=torch.float64).long()
    once, twice = (digest(value[nodes]) for _ in range(2))
    found.update(once.encode() if once == twice else b"random;")
