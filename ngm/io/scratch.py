"""Arrays in files that are gone as soon as the arrays are: memory that the system can take back."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def temporary_array(length: int, dtype: type[np.generic], folder: Path | None) -> NDArray[np.generic]:
    """(length,) in a file that has no name, or in memory.

    Args:
        length: Number of entries.
        dtype: Of the entries.
        folder: Where the file is; in memory where None. A folder that is full or cannot be written to raises OSError.
    """
    if folder is None or not length:
        return np.empty(length, dtype=dtype)
    with tempfile.TemporaryFile(dir=folder) as file:
        reserve(file.fileno(), length * np.dtype(dtype).itemsize)
        return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=(length,)))


def reserve(file: int, size: int) -> None:
    """Takes the space of a file to be written as a memory map: a full disk is an error now, not a crash later.

    Args:
        file: Descriptor of the open file.
        size: In bytes.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:
        os.truncate(file, size)
