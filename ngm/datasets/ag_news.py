"""AG News: titles and first lines of news articles in four classes (Zhang, Zhao and LeCun, 2015).

`train.csv` (120,000 articles) and `test.csv` (7,600) have three quoted columns and no header: the number of the class
from 1 to 4, title, description. The text of an article is its title, a blank and its description as they stand:
remains of HTML (`&lt;b&gt;`, `#36;`, `quot;`) and backslashes for line breaks are kept.

Where `train.csv` is missing, `train_partial.csv`, a part of it, is read. Articles without a class
come from `unlabeled_all.csv` or else `unlabeled.csv`: one quoted column with the text, or title and description in two.
Those that are also among the training or test articles are left out. `classes.txt`, where it is there, has the name of
a class per line. `ag_news` reads only files that it has checked by sha256, so neither that file nor
`unlabeled_all.csv`, of which there is no official copy; `read` takes whatever a folder has.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from ngm.datasets.dataset import Dataset, Record
from ngm.datasets.text_files import EMPTY_SPLIT, TextSplit, check_classes, check_texts, decoded, joined
from ngm.io.fetch import NOT_HERE, DataFile, Progress, find, where

_ADDRESS = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv"
_CLASSES = ("World", "Sports", "Business", "Sci/Tech")
_OFFICIAL = 120_000
_ARTICLES = {"train.csv": _OFFICIAL, "train_partial.csv": 38_659, "unlabeled.csv": 12_011, "test.csv": 7_600}
_SHA256 = {
    "train.csv": "76a0a2d2f92b286371fe4d4044640910a04a803fdd2538e0f3f29a5c6f6b672e",
    "test.csv": "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699",
    "train_partial.csv": "55c9eb0cd5be9b4e929d4cf22d30f00a4661747c4b8d9b8fae45ca20c97b6e7a",
    "unlabeled.csv": "c0c3e0372ec99bf79f3b226db28d43d605728ff60a952d0fefb63bd49df3ecf0",
}


def ag_news(progress: Progress | None = None) -> Dataset:
    """Loads AG News: all of it where it is on this machine or can be fetched, else the part that is available.

    Args:
        progress: Called while files are fetched.

    Returns:
        x a list of texts, training, unlabelled and test articles in this order; no graph and no validation articles,
        since there are no official ones. `note` says how much of the official data it is.
    """
    data_files = files()
    return _read(find("AG News", data_files, progress) / "ag_news", {Path(file.path).name for file in data_files})


def files() -> tuple[DataFile, ...]:
    """The files to load: the best choice on this machine, or what can be fetched where there is none."""
    for train in ("train.csv", "train_partial.csv"):
        for names in ((train, "test.csv", "unlabeled.csv"), (train, "test.csv")):
            data_files = _files(names)
            if where(data_files) != NOT_HERE:
                return data_files
    return _files(("train.csv", "test.csv"))


def record() -> Record:
    """What `ngm datasets` says of it; the number of articles is that of the files to load."""
    names = {Path(file.path).name for file in files()}
    if "train.csv" in names:
        names.discard("unlabeled.csv")  # its articles are among the official training articles
    return Record(
        name="ag_news",
        num_nodes=sum(_ARTICLES[name] for name in names),
        num_edges=0,
        num_features=0,
        num_classes=len(_CLASSES),
        license="research, non-commercial",
        origin="AG's corpus of news articles; classes and split by Zhang, Zhao and LeCun",
    )


def read(folder: Path) -> Dataset:
    """Reads the files of a folder, whatever their hashes; see the top of this module for their form.

    Args:
        folder: Has `test.csv` and `train.csv` or `train_partial.csv`; the others may be missing.
    """
    return _read(folder, {path.name for path in folder.glob("*")})


def _read(folder: Path, names: set[str]) -> Dataset:
    """Reads those files of a folder that are named."""
    classes = _classes(folder / "classes.txt") if "classes.txt" in names else _CLASSES
    path = next((folder / name for name in ("train.csv", "train_partial.csv") if name in names), None)
    if path is None:
        raise FileNotFoundError(f"cannot find train.csv or train_partial.csv in {folder}; put one of them there")
    train, test = check_classes(path, _labeled(path, classes)), _labeled(folder / "test.csv", classes)
    extra = _unlabeled(folder, names)
    seen_letters = {_letters(text) for text in (*train.texts, *test.texts)} if extra.texts else set()
    unlabeled = TextSplit([text for text in extra.texts if _letters(text) not in seen_letters], [])
    note = _note(len(train.texts), len(unlabeled.texts), len(extra.texts) - len(unlabeled.texts), len(test.texts))
    return joined("ag_news", classes, train, test, unlabeled=unlabeled, note=note)


def _files(names: tuple[str, ...]) -> tuple[DataFile, ...]:
    official = ("train.csv", "test.csv")
    return tuple(
        DataFile(f"ag_news/{name}", _SHA256[name], f"{_ADDRESS}/{name}" if name in official else "") for name in names
    )


def _note(train: int, unlabeled: int, left_out: int, test: int) -> str:
    """How much of the official data this is, in words."""
    train_text = f"all {train:,}" if train == _OFFICIAL else f"{train:,} of the {_OFFICIAL:,}"
    duplicates_text = f" (and {left_out:,} left out, already among the others)" if left_out else ""
    return f"{train_text} official training articles, {unlabeled:,} unlabelled{duplicates_text}, {test:,} test articles"


def _classes(path: Path) -> tuple[str, ...]:
    names = tuple(line.strip() for line in decoded(path).splitlines() if line.strip())
    if len(set(names)) != len(names) or len(names) < 2:
        raise ValueError(f"{path} names {len(set(names))} classes in {len(names)} lines; give two or more, each once")
    return names


def _labeled(path: Path, classes: tuple[str, ...]) -> TextSplit:
    name = {str(number): label for number, label in enumerate(classes, start=1)}
    part = TextSplit([], [])
    for row, fields in _rows(path):
        if len(fields) != 3:
            raise ValueError(f"{path}, row {row}, has {len(fields)} columns; give class, title and description")
        number, title, description = fields
        if number not in name:
            raise ValueError(f"{path}, row {row}, has class {number!r}; the classes are 1 to {len(classes)}")
        part.labels.append(name[number])
        part.texts.append(f"{title} {description}")
    return check_texts(path, part)


def _unlabeled(folder: Path, names: set[str]) -> TextSplit:
    path = next((folder / name for name in ("unlabeled_all.csv", "unlabeled.csv") if name in names), None)
    if path is None:
        return EMPTY_SPLIT
    part = TextSplit([], [])
    for row, fields in _rows(path):
        if len(fields) not in (1, 2):
            raise ValueError(f"{path}, row {row}, has {len(fields)} columns; give the text, or title and description")
        part.texts.append(" ".join(fields))
    return check_texts(path, part)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(number from 1, columns) of each row."""
    row = 0
    try:
        for row, fields in enumerate(csv.reader(io.StringIO(decoded(path), newline=""), strict=True), start=1):
            yield row, fields
    except csv.Error as error:
        raise ValueError(
            f"{path}, row {row + 1}, is not a row of CSV ({error}); quote each column and double quotes within"
        ) from None


def _letters(text: str) -> str:
    """The text without its blanks, by which copies are found."""
    return text.replace(" ", "")
