"""Texts in classes: read from a tiny file made here, and refused by name where it is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ngm import datasets
from ngm.datasets import DamagedFileError, DatasetUnavailableError, text_classification
from tests.conftest import needs

Patch = pytest.MonkeyPatch
CONTENT = 'id,label,text,part\n0,b,"One, ""two""",train\n1,a,Three\u2028four,train\n2,b,Five,test\n3,b,Six,train\n'


def written(folder: Path, content: str) -> Path:
    file = folder / "battery" / "trec.csv.gz"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(gzip.compress(content.encode()))
    return file


def test_training_texts_come_first_and_classes_are_sorted(tmp_path: Path) -> None:
    data = text_classification.read(written(tmp_path, CONTENT), "tiny", "a note")
    assert data.texts == ['One, "two"', "Three\u2028four", "Six", "Five"]
    assert data.y.tolist() == [1, 0, 1, 1]
    assert data.classes == ("a", "b")
    assert (data.train.tolist(), data.validation.tolist(), data.test.tolist()) == ([0, 1, 2], [], [3])
    assert (data.graph, data.note) == (None, "a note")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("2,b,Five,test", "2,c,Five,test"), "test texts of class 'c' and no training text of it"),
        (("2,b,Five,test", "2,b,Five,dev"), "row 3, has label 'b' and part 'dev'"),
        (("0,b,", "0,,"), "row 1, has label '' and part 'train'"),
        (("Five", " "), "trec.csv.gz, test, row 1, has an empty text"),
        (("part\n", "split\n"), "lacks the columns part"),
        (("1,a,", "1,b,"), "are all of class 'b'; give rows of two classes"),
        (("2,b,Five,test\n", ""), "trec.csv.gz, test is empty"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, change: tuple[str, str], text: str) -> None:
    assert change[0] in CONTENT
    with pytest.raises(ValueError, match=text):
        text_classification.read(written(tmp_path, CONTENT.replace(*change)), "tiny")


@pytest.mark.parametrize(
    "content",
    [b"plain text", gzip.compress(b"label,text,part\n\xff")[:-3], gzip.compress(b"\xff")],
    ids=["plain", "cut", "not UTF-8"],  # not the bytes: the time is among them, and workers collect at different ones
)
def test_what_is_no_gzipped_csv_is_refused(tmp_path: Path, content: bytes) -> None:
    file = written(tmp_path, CONTENT)
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"trec\.csv\.gz cannot be read .*; give a gzipped CSV in UTF-8"):
        text_classification.read(file, "tiny")


def test_texts_that_are_not_here_say_where_they_come_from(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("NGM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NGM_DATA", raising=False)
    with pytest.raises(
        DatasetUnavailableError, match=r"sent-conv-torch, data/TREC.*; put a copy .* battery/trec\.csv\.gz"
    ):
        datasets.load("trec")
    written(tmp_path, CONTENT)
    monkeypatch.setenv("NGM_DATA", str(tmp_path))
    with pytest.raises(DamagedFileError, match=r"trec\.csv\.gz has sha256 .*, expected 13ee6ba7bc1a"):
        datasets.load("trec")
    with pytest.raises(ValueError, match="there are no texts 'trek'; choose trec, subj, mr, banking77"):
        text_classification.text_classification("trek")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [
        pytest.param("trec", 5_452, 500, marks=needs("trec")),
        pytest.param("subj", 8_012, 2_003, marks=needs("subj")),
        pytest.param("mr", 8_542, 2_136, marks=needs("mr")),
        pytest.param("banking77", 10_003, 3_080, marks=needs("banking77")),
    ],
)
def test_texts_have_the_recorded_counts(name: text_classification.Name, train: int, test: int) -> None:
    data, record = datasets.load(name), text_classification.RECORDS[name]
    assert (len(data.train), len(data.test)) == (train, test)
    assert (len(data.texts), len(data.classes)) == (record.num_nodes, record.num_classes)
