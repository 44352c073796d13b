"""Pickles of numbers from Python 2, read without making anything that they name.

A pickle can call whatever it names on its way in, and numpy's own names are no safe choice: a pickle that asks for
nothing but `numpy.dtype` and `numpy.ndarray` can describe an array of Python objects over bytes of its choice. So every
name gives a stand-in that notes what it was asked for and does nothing. Arrays, sparse rows and lists are then made
here from those notes, each checked first.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_Content = TypeVar("_Content")
_MAX_NODES = 1 << 31
_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")


class _StandIn:
    """Notes what a name was called with and the state that its object was given."""

    def __new__(cls, *arguments: object) -> _StandIn:
        instance = super().__new__(cls)
        instance.arguments, instance.state = arguments, None
        return instance

    arguments: tuple[object, ...]
    state: object

    def __init__(self, *arguments: object) -> None:
        """Takes any arguments; `__new__` has noted them."""

    def __setstate__(self, state: object) -> None:
        self.state = state


class _Array(_StandIn):
    """Of a numpy array."""


class _DType(_StandIn):
    """Of a numpy dtype."""


class _SparseRows(_StandIn):
    """Of a scipy csr_matrix."""


class _Name(_StandIn):
    """Of a class that is only named, as an argument."""


def _dictionary(*arguments: object) -> dict[object, object]:
    """In place of `defaultdict(list)`."""
    return {}


_STAND_INS: dict[tuple[str, str], object] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Name,
    ("numpy", "dtype"): _DType,
    ("scipy.sparse.csr", "csr_matrix"): _SparseRows,
    ("collections", "defaultdict"): _dictionary,
    ("__builtin__", "list"): _Name,
}


class _Unpickler(pickle.Unpickler):
    """Gives a stand-in for each of six names, and refuses every other."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in _STAND_INS:
            names = ", ".join(".".join(name) for name in _STAND_INS)
            raise pickle.UnpicklingError(f"refused {module}.{name}; only these are admitted: {names}")
        return _STAND_INS[module, name]


def read_array(path: Path) -> NDArray[np.generic]:
    """The array of numbers that a file holds; anything else is an error that names the file."""
    return _read(path, _array)


def read_sparse_rows(path: Path) -> sp.csr_matrix:
    """The csr_matrix that a file holds, its column numbers checked."""
    return _read(path, _sparse_rows)


def read_neighbor_lists(path: Path) -> dict[int, list[int]]:
    """The dict from node to neighbors that a file holds."""
    return _read(path, _neighbor_lists)


def _read(path: Path, convert: Callable[[object], _Content]) -> _Content:
    with path.open("rb") as stream:
        try:
            return convert(_Unpickler(stream, encoding="latin1").load())
        except (pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError, AttributeError) as error:
            reason = " ".join(str(error).split())
        except (MemoryError, OverflowError):
            reason = "it asks for more memory than there is"
    raise ValueError(f"{path} cannot be read: {reason}; replace it by the original file")


def _array(content: object) -> NDArray[np.generic]:
    if not isinstance(content, _Array):
        raise ValueError(f"it holds {_kind(content)} where a numpy array is expected")
    if not isinstance(content.state, tuple) or len(content.state) != 5:
        raise ValueError("its array has no state of five parts")
    _, shape, dtype, by_column, values = content.state
    data = values.encode("latin1") if isinstance(values, str) else values
    if not isinstance(data, bytes):
        raise ValueError(f"its array holds {_kind(values)}, not bytes")
    kind, lengths = _number_type(dtype), _shape(shape)
    if len(data) != math.prod(lengths) * kind.itemsize:
        raise ValueError(f"its array of shape {lengths} and type {kind} has {len(data)} bytes")
    return np.frombuffer(data, dtype=kind).reshape(lengths, order="F" if by_column else "C").copy()


def _number_type(content: object) -> np.dtype[np.generic]:
    """The dtype, where it is one of numbers; its byte order stands second in its state."""
    name = content.arguments[0] if isinstance(content, _DType) and content.arguments else None
    if not isinstance(content, _DType) or name not in _NUMBERS:
        raise ValueError(f"its array is of type {name!r}, not of numbers")
    order = content.state[1] if isinstance(content.state, tuple) and len(content.state) > 1 else "="
    if order not in ("<", ">", "=", "|"):
        raise ValueError(f"its array has the byte order {order!r}")
    return np.dtype(f"{order}{name}")


def _shape(content: object) -> tuple[int, ...]:
    if not isinstance(content, tuple) or not all(type(length) is int and length >= 0 for length in content):
        raise ValueError(f"its shape is {content!r}")
    return content


def _sparse_rows(content: object) -> sp.csr_matrix:
    if not isinstance(content, _SparseRows) or not isinstance(content.state, dict):
        raise ValueError(f"it holds {_kind(content)} where a scipy csr_matrix is expected")
    data, columns, offsets = (_array(content.state.get(name)) for name in ("data", "indices", "indptr"))
    shape = _shape(content.state.get("_shape"))
    if len(shape) != 2 or any(part.ndim != 1 for part in (data, columns, offsets)):
        raise ValueError(f"its csr_matrix has shape {shape}, not two lengths, or parts that are no lists of numbers")
    rows = sp.csr_matrix((data, columns, offsets), shape=shape)
    rows.check_format(full_check=True)  # scipy's kernels trust the column numbers
    return rows


def _neighbor_lists(content: object) -> dict[int, list[int]]:
    if not isinstance(content, dict):
        raise ValueError(f"it holds {_kind(content)} where a dict from node to neighbors is expected")
    for node, neighbors in content.items():
        if type(neighbors) is not list or not all(type(v) is int and 0 <= v < _MAX_NODES for v in (node, *neighbors)):
            raise ValueError(f"its dict has {_kind(node)} with {_kind(neighbors)}, not a node with a list of nodes")
    return content


def _kind(content: object) -> str:
    return f"a {type(content).__name__.lstrip('_')}"
