"""The data sets of the experiments: `load` one by name, or see what is `available`.

Each data set has a file of its own here and a line in `_TABLE`; `ngm.io.fetch` finds, downloads and checks files.
Word vectors and sentence encoders come from `ngm.text`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ngm._spelling import nearest
from ngm.choices import Citations
from ngm.datasets import (
    ag_news,
    blogcatalog,
    digits,
    intents,
    messages,
    node_classification,
    planetoid,
    text_classification,
)
from ngm.datasets.dataset import Dataset, Record, few_label_split, few_labels
from ngm.datasets.table_export import write_tables
from ngm.io.fetch import DamagedFileError, DataFile, DatasetUnavailableError, Progress, where

__all__ = [
    "DamagedFileError",
    "Dataset",
    "DatasetUnavailableError",
    "Progress",
    "Record",
    "available",
    "few_label_split",
    "few_labels",
    "load",
    "write_tables",
]


@dataclass(frozen=True)
class _Entry:
    record: Callable[[], Record]
    load: Callable[[Progress | None], Dataset]


def _with_place(record: Record, files: tuple[DataFile, ...]) -> Record:
    return replace(record, where=where(files))


def _citations(name: Citations) -> _Entry:
    record = partial(_with_place, planetoid.RECORDS[name], planetoid.files(name))
    return _Entry(record, partial(planetoid.planetoid, name))


def _intents(name: intents.Name) -> _Entry:
    return _Entry(lambda: _with_place(intents.RECORDS[name], intents.files(name)), partial(intents.intents, name))


def _graph(name: node_classification.Name) -> _Entry:
    record = partial(_with_place, node_classification.RECORDS[name], node_classification.files(name))
    return _Entry(record, partial(node_classification.node_classification, name))


def _texts(name: text_classification.Name) -> _Entry:
    record = partial(_with_place, text_classification.RECORDS[name], text_classification.files(name))
    return _Entry(record, partial(text_classification.text_classification, name))


_TABLE = {
    "acm": _graph("acm"),
    "ag_news": _Entry(lambda: _with_place(ag_news.record(), ag_news.files()), ag_news.ag_news),
    "amazon_cs": _graph("amazon_cs"),
    "banking77": _texts("banking77"),
    "blogcatalog": _Entry(partial(_with_place, blogcatalog.RECORD, blogcatalog.FILES), blogcatalog.blogcatalog),
    "citeseer": _citations("citeseer"),
    "clinc150": _intents("clinc150"),
    "clinc20": _intents("clinc20"),
    "coauthor_phy": _graph("coauthor_phy"),
    "cora": _citations("cora"),
    "digits": _Entry(lambda: digits.RECORD, digits.digits),
    "flickr": _graph("flickr"),
    "messages": _Entry(lambda: messages.RECORD, messages.messages),
    "minesweeper": _graph("minesweeper"),
    "mr": _texts("mr"),
    "pubmed": _citations("pubmed"),
    "squirrel_filtered": _graph("squirrel_filtered"),
    "subj": _texts("subj"),
    "swda20": _intents("swda20"),
    "tolokers": _graph("tolokers"),
    "trec": _texts("trec"),
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
    return tuple(entry.record() for entry in _TABLE.values())
