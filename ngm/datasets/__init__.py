"""The data sets of the experiments: `load` one by name, or see what is `available`.

Each data set has a file of its own here and a line in `_TABLE`; `fetch` finds, downloads and checks files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ngm.datasets import blogcatalog, digits, planetoid
from ngm.datasets.dataset import Dataset, Record, few_labels
from ngm.datasets.fetch import DamagedFileError, DataFile, DatasetUnavailableError, Progress, where
from ngm.names import nearest

__all__ = [
    "DamagedFileError",
    "Dataset",
    "DatasetUnavailableError",
    "Progress",
    "Record",
    "available",
    "few_labels",
    "load",
]


@dataclass(frozen=True)
class _Entry:
    record: Record
    load: Callable[[Progress | None], Dataset]
    files: tuple[DataFile, ...] = ()


def _citations(name: planetoid.Name) -> _Entry:
    return _Entry(planetoid.RECORDS[name], partial(planetoid.planetoid, name), planetoid.files(name))


_TABLE = {
    "blogcatalog": _Entry(blogcatalog.RECORD, blogcatalog.blogcatalog, blogcatalog.FILES),
    "citeseer": _citations("citeseer"),
    "cora": _citations("cora"),
    "digits": _Entry(digits.RECORD, digits.digits),
    "pubmed": _citations("pubmed"),
}


def load(name: str, progress: Progress | None = None) -> Dataset:
    """Loads a data set by name, fetching its files where they are not on this machine.

    Args:
        name: One of the names that `available` gives.
        progress: Called with (file name, bytes done, bytes in all) while a file is fetched.

    >>> load("digits").x.shape
    (1797, 64)
    """
    if name not in _TABLE:
        guess = nearest(name.lower(), _TABLE)
        raise ValueError(f"there is no data set {name!r}{guess}; the names are {', '.join(_TABLE)}")
    return _TABLE[name].load(progress)


def available() -> tuple[Record, ...]:
    """What there is to load and where its files are now, sorted by name; nothing is fetched."""
    return tuple(
        replace(entry.record, where=where(entry.files)) if entry.files else entry.record for entry in _TABLE.values()
    )
