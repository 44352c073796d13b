"""Arguments as people hand them over: numbers, arrays and paths, refused by name where they are something else."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import SupportsIndex, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm.parameters import Parameter

_MOST = 2**63 - 1


def whole_number(name: str, value: object, least: int = 0) -> int:
    """A setting that is a whole number.

    >>> whole_number("k", np.int8(5), least=1)
    5
    """
    try:
        number = operator.index(cast(SupportsIndex, value))
    except (TypeError, ValueError, RuntimeError):  # the last two: tensors and arrays of several numbers
        number = None
    if number is None or not least <= number <= _MOST:
        raise ValueError(f"{name} is {short_repr(value)}; it must be a whole number of at least {least}")
    return number


def real_number(name: str, value: object, holds: Callable[[float], bool], range_: str) -> float:
    """A setting that is a number in some range.

    Args:
        name: Of the setting.
        value: What was given.
        holds: Whether a number is in the range; never true of NaN.
        range_: The range in words, such as "be at least 0".

    >>> real_number("recall", 0.5, lambda number: 0 < number < 1, "lie between 0 and 1")
    0.5
    """
    try:
        number = float("nan") if isinstance(value, str | bytes) else float(cast(float, value))
    except (TypeError, ValueError, RuntimeError, OverflowError):
        number = float("nan")
    if not holds(number):
        raise ValueError(f"{name} is {short_repr(value)}; it must {range_}")
    return number


def as_array(name: str, values: ArrayLike, remedy: str) -> NDArray[np.generic]:
    """What numpy makes of it; rows of different lengths are refused.

    Args:
        name: Of the argument.
        values: Whatever was given.
        remedy: What to give instead.

    >>> as_array("edges", [[0, 1], [1, 2]], "give (m, 2) node ids").shape
    (2, 2)
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise ValueError(f"{name} has masked entries; fill them in, or {remedy}")
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{name} is not an array ({reason(error)}); {remedy}") from None


def as_numbers(name: str, values: ArrayLike | Tensor, remedy: str) -> Tensor:
    """Whole numbers, fractions or booleans as a dense tensor; shares memory where it can.

    Args:
        name: Of the argument.
        values: Whatever was given.
        remedy: What to give instead.

    >>> as_numbers("weight", [1, 2], "give numbers").dtype
    torch.int64
    """
    if isinstance(values, Tensor):
        if values.is_complex() or values.layout != torch.strided:
            raise ValueError(f"{name} is a tensor of {values.dtype} ({values.layout}); {remedy}")
        return values.detach()
    array = as_array(name, values, remedy)
    if array.dtype.kind not in "iufb":
        raise ValueError(f"{name} is of shape {array.shape} and type {array.dtype}; {remedy}")
    kind = np.dtype(f"{array.dtype.kind}{min(array.dtype.itemsize, 8)}")  # what torch knows of byte orders and digits
    native = np.require(array, kind, ["C", "W"])  # copies tables and views torch cannot take
    return torch.from_numpy(native.copy() if min(native.strides, default=0) < 0 else native)


def flag(name: str, value: object) -> bool:
    """A setting that is true or false.

    >>> flag("directed", np.bool_(True))
    True
    """
    if not isinstance(value, bool | np.bool_ | int | np.integer) or value not in (0, 1):
        raise ValueError(f"{name} is {short_repr(value)}; it must be True or False")
    return bool(value)


def check_declared(record: object, declared: Mapping[str, Parameter]) -> None:
    """Refuses values of fields that are out of the declared range, or none of the declared words."""
    for name, parameter in declared.items():
        value = getattr(record, name)
        parameter.check(name, value)
        if parameter.kind is bool:
            flag(name, value)


def as_path(name: str, value: object) -> Path:
    """A path of the file system.

    >>> as_path("folder", "run").name
    'run'
    """
    if not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} is {short_repr(value)}; give a path")
    path = Path(value)
    if "\0" in str(path):
        raise ValueError(f"{name} is {short_repr(value)}; a path has no zero byte in it")
    return path


def short_repr(value: object) -> str:
    """A value in an error message, on one line and not too long.

    >>> short_repr([1] * 50)
    '[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...'
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."


def reason(error: BaseException) -> str:
    """The first line of what another library says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
