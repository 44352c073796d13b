"""Short English texts in classes: questions, sentences, reviews and requests to a bank.

A data set is one `battery/<name>.csv.gz` with columns `id,label,text,part`, where part is "train" or "test". Those of
`trec` and `banking77` are the official ones; `subj` and `mr` have none and were split once, four fifths to one. The
files of the origins are in other layouts, so there is nothing to fetch: a copy of the converted file has to be put into
`$NGM_DATA` or the cache.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path
from typing import Literal, get_args

from ngm.datasets.dataset import Dataset, Record
from ngm.datasets.text_files import TextSplit, check_classes, check_texts, joined
from ngm.io.fetch import DataFile, Progress, find

Name = Literal["trec", "subj", "mr", "banking77"]

_SENTENCES = "github.com/harvardnlp/sent-conv-torch, data/{}"
_BANKING = "github.com/PolyAI-LDN/task-specific-datasets, banking_data/train.csv and test.csv"
RECORDS: dict[Name, Record] = {
    "trec": Record("trec", 5_952, 0, 0, 6, "not stated", _SENTENCES.format("TREC.train.all and TREC.test.all")),
    "subj": Record("subj", 10_015, 0, 0, 2, "not stated", _SENTENCES.format("subj.all")),
    "mr": Record("mr", 10_678, 0, 0, 2, "not stated", _SENTENCES.format("rt-polarity.all")),
    "banking77": Record("banking77", 13_083, 0, 0, 77, "CC BY 4.0", _BANKING),
}
_NOTES: dict[Name, str] = {
    "subj": "no official split; one fifth of the sentences was drawn as test part",
    "mr": "no official split; one fifth of the reviews was drawn as test part",
}
_SHA256: dict[Name, str] = {
    "trec": "13ee6ba7bc1ac16bc76d4edc3e29f5c7c7dab5faf09aa1c4807c4c02329f5262",
    "subj": "f2c0b902a5a2634c6e02e2093ac90e067d8f04f268ced781b68e1ed66ae310ba",
    "mr": "fcd359d4d93f1d2490527a4b163bef55cb0d9dd0c03bc6c118390c4c9af72cb7",
    "banking77": "0c0620a72a6cc8ec6bf5d8c7bbeb9f929974c962461ab3beea368fbf0ea9221b",
}
_COLUMNS = ("label", "text", "part")


def text_classification(name: Name, progress: Progress | None = None) -> Dataset:
    """Loads texts and their classes.

    Args:
        name: Which ones.
        progress: Not called, since nothing can be fetched.

    Returns:
        x a list of texts, training and test texts in this order; no graph and no validation texts.
    """
    if name not in RECORDS:
        raise ValueError(f"there are no texts {name!r}; choose {', '.join(get_args(Name))}")
    needed = files(name)
    return read(find(name, needed, progress) / needed[0].path, name, _NOTES.get(name, ""))


def files(name: Name) -> tuple[DataFile, ...]:
    """The one file of a set of texts, with its hash."""
    origin = f"converted from {RECORDS[name].origin}; columns id, label, text and part"
    return (DataFile(f"battery/{name}.csv.gz", _SHA256[name], address="", origin=origin),)


def read(file: Path, name: str, note: str = "") -> Dataset:
    """Reads one gzipped CSV, whatever its hash.

    Args:
        file: Has columns `label`, `text` and `part`, which is "train" or "test"; others are passed over.
        name: For messages.
        note: See `Dataset`.

    Returns:
        Classes are the labels of the training texts, sorted.
    """
    parts = {"train": TextSplit([], []), "test": TextSplit([], [])}
    for row, record in enumerate(_records(file), start=1):
        label, text, part = (record.get(column) for column in _COLUMNS)
        if not label or text is None or part not in parts:
            raise ValueError(
                f"{file}, row {row}, has label {label!r} and part {part!r}; give a label, a text, and train or test"
            )
        parts[part].labels.append(label)
        parts[part].texts.append(text)
    train, test = (check_texts(file.with_name(f"{file.name}, {part}"), parts[part]) for part in parts)
    classes = sorted(set(check_classes(file, train).labels))
    if unknown := sorted(set(test.labels) - set(classes)):
        raise ValueError(f"{file} has test texts of class {unknown[0]!r} and no training text of it; leave them out")
    return joined(name, classes, train, test, note=note)


def _records(file: Path) -> list[dict[str, str]]:
    try:
        content = gzip.decompress(file.read_bytes()).decode("utf-8")
        reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
        records = list(reader)
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{file} cannot be read ({error}); give a gzipped CSV in UTF-8") from None
    if missing := [column for column in _COLUMNS if column not in (reader.fieldnames or ())]:
        raise ValueError(f"{file} lacks the columns {', '.join(missing)}; its first row must name them")
    return records
