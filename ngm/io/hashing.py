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

_CHUNK_BYTES = 1 << 26  # bytes
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
    hasher = hashlib.sha256()
    for value in values:
        _add(hasher, value)
    return hasher.hexdigest()


def _add(hasher: _Hash, value: object) -> None:
    if isinstance(value, Tensor):
        _add_tensor(hasher, value.detach())
    elif sp.issparse(value):
        _add_sparse(hasher, cast(sp.csr_array, value))
    elif isinstance(value, np.ndarray):
        _add_array(hasher, value)
    elif isinstance(value, Mapping):
        hasher.update(f"mapping {len(value)};".encode())
        for key in sorted(value, key=str):
            _add(hasher, str(key))
            _add(hasher, value[key])
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        hasher.update(b"%d:" % len(text) + text)
    elif isinstance(value, Path):
        _add_file(hasher, value)
    elif isinstance(value, list | tuple):
        hasher.update(f"sequence {len(value)};".encode())
        for part in value:
            _add(hasher, part)
    elif is_dataclass(value):
        hasher.update(f"{type(value).__qualname__};".encode())
        for field in fields(value):
            _add(hasher, getattr(value, field.name))
    elif value is None or isinstance(value, bool | int | float | complex | bytes | np.generic):
        hasher.update(f"{value!r};".encode())
    else:
        _add_object(hasher, value)


def _add_array(hasher: _Hash, array: NDArray[np.generic]) -> None:
    if array.dtype.hasobject or array.dtype.kind in "UST":
        hasher.update(f"objects {array.shape};".encode())
        _add(hasher, array.reshape(-1).tolist())
        return
    hasher.update(f"{array.dtype.str} {array.shape};".encode())
    if not array.size:
        return
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(_CHUNK_BYTES * len(rows) // rows.nbytes, 1)
    for start in range(0, len(rows), step):
        hasher.update(np.ascontiguousarray(rows[start : start + step]).reshape(-1).view(np.uint8).data)


def _add_tensor(hasher: _Hash, tensor: Tensor) -> None:
    if tensor.layout != torch.strided:
        tensor = tensor.to_sparse(layout=torch.sparse_coo).coalesce()
        hasher.update(f"sparse {tuple(tensor.shape)};".encode())
        _add_tensor(hasher, tensor.indices())
        _add_tensor(hasher, tensor.values())
    elif tensor.dtype == torch.bfloat16:  # which numpy has not
        hasher.update(b"bfloat16;")
        _add_array(hasher, tensor.cpu().contiguous().view(torch.int16).numpy())
    else:
        _add_array(hasher, tensor.cpu().numpy())


def _add_sparse(hasher: _Hash, matrix: sp.csr_array) -> None:
    rows = matrix.tocsr()
    hasher.update(f"csr {rows.shape};".encode())
    for indices in (rows.indptr, rows.indices):  # 4 or 8 bytes each, as scipy saw fit
        _add_array(hasher, indices.astype(np.int64, copy=False))
    _add_array(hasher, rows.data)


def _add_file(hasher: _Hash, file: Path) -> None:
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK_BYTES):
            hasher.update(chunk)


def _add_object(hasher: _Hash, value: object) -> None:
    hasher.update(f"{type(value).__qualname__};".encode())
    if not isinstance(value, Indexable):
        return
    hasher.update(f"{len(value)};".encode())
    nodes = torch.linspace(0, len(value) - 1, min(_SAMPLED, len(value)), dtype=torch.float64).long()
    first_digest, second_digest = (digest(value[nodes]) for _ in range(2))
    hasher.update(first_digest.encode() if first_digest == second_digest else b"random;")
