"""What the data sets of texts share: strict reading of their files, and how their parts become one data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngm.datasets.dataset import Dataset


@dataclass(frozen=True)
class TextSplit:
    """Texts of one file.

    Attributes:
        texts: k texts, none of them blank.
        labels: k names of classes; none where the file has no labels.
    """

    texts: list[str]
    labels: list[str]


EMPTY_SPLIT = TextSplit([], [])


def decoded(path: Path) -> str:
    """The content of a UTF-8 file, lines ending as they do; another encoding is an error that names the line."""
    if not path.is_file():
        raise FileNotFoundError(f"cannot find {path}; it is part of the data set")
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, row {line}, is not UTF-8 (byte 0x{content[error.start]:02x}); save it as UTF-8"
        ) from None


def check_texts(path: Path, part: TextSplit) -> TextSplit:
    """The part as it is, once it has texts and none of them is blank.

    Args:
        path: The file it was read from, for messages.
        part: Row 1 of the file has the first text, and so on.
    """
    if not part.texts:
        raise ValueError(f"{path} is empty; give a row per text")
    for row, text in enumerate(part.texts, start=1):
        if not text or text.isspace():
            raise ValueError(f"{path}, row {row}, has an empty text; leave that row out")
    return part


def check_classes(path: Path, part: TextSplit) -> TextSplit:
    """The part as it is, once its labels tell at least two classes apart; see `check_texts`."""
    if len(set(part.labels)) == 1:
        rows = "row 1 is" if len(part.labels) == 1 else f"rows 1 to {len(part.labels):,} are all"
        raise ValueError(f"{path}: {rows} of class {part.labels[0]!r}; give rows of two classes or more")
    return part


def joined(
    name: str,
    classes: Sequence[str],
    train: TextSplit,
    test: TextSplit,
    validation: TextSplit = EMPTY_SPLIT,
    unlabeled: TextSplit = EMPTY_SPLIT,
    note: str = "",
) -> Dataset:
    """One data set without a graph from its parts: training, unlabelled, validation and test texts in this order.

    Args:
        name: What `ngm.datasets.load` knows it by.
        classes: Name of each class; every label is one of them.
        train: Texts whose labels may be shown.
        test: Texts to score.
        validation: Texts to choose settings on.
        unlabeled: Texts that may be in a graph and have no label.
        note: See `Dataset`.
    """
    parts = (train, unlabeled, validation, test)
    ends = np.cumsum([len(part.texts) for part in parts])
    number = {label: index for index, label in enumerate(classes)}
    y = np.full(int(ends[-1]), -1, dtype=np.int64)
    for part, end in zip(parts, ends, strict=True):
        if part.labels:
            y[end - len(part.labels) : end] = [number[label] for label in part.labels]
    ids: list[NDArray[np.int64]] = np.split(np.arange(ends[-1]), ends[:-1])
    texts = [text for part in parts for text in part.texts]
    return Dataset(name, texts, y, None, ids[0], ids[2], ids[3], tuple(classes), note)
