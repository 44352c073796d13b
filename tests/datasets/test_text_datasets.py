"""The data sets of texts: read, found, and refused in one line where a file is wrong."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ngm import datasets
from ngm.datasets import DamagedFileError, DatasetUnavailableError, ag_news, intents
from tests.conftest import needs

Patch = pytest.MonkeyPatch

TRAIN = (
    '"2","Cup &lt;b&gt;...&lt;/b&gt;","He said ""go"", quot;now quot;"\n"1","Talks","In\\Rome,  #36;5"\n"2","A","B"\n'
)
TEST = '"4","Comet","seen"\n"1","Vote","held"\n'


@pytest.fixture
def news(tmp_path: Path) -> Path:
    """Three training articles of the official form, two test articles and three without a class, one of them known."""
    folder = tmp_path / "ag_news"
    folder.mkdir()
    (folder / "train.csv").write_text(TRAIN, encoding="utf-8")
    (folder / "test.csv").write_text(TEST, encoding="utf-8")
    (folder / "unlabeled.csv").write_bytes(b'"New one, here"\r\n"Vote  held"\r\n"Two",""\r\n')
    return folder


@pytest.fixture
def acts(tmp_path: Path) -> Path:
    """Two classes in three files, label TAB text."""
    folder = tmp_path / "intents" / "acts"
    folder.mkdir(parents=True)
    (folder / "train.tsv").write_text('yes\tsure\nno\tnot "me"\nno\tnever\u2028ever', encoding="utf-8")
    (folder / "val.tsv").write_text("no\tnope\tno\r\n", encoding="utf-8", newline="")
    (folder / "test.tsv").write_text("yes\tyep\nno\tnah\n", encoding="utf-8")
    return folder


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: Patch) -> Path:
    """An empty cache, no $NGM_DATA and no network."""
    monkeypatch.delenv("NGM_DATA", raising=False)
    monkeypatch.setenv("NGM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NGM_OFFLINE", "1")
    return tmp_path / "cache"


def test_an_article_is_its_title_a_blank_and_its_description_as_they_stand(news: Path) -> None:
    data = ag_news.read(news)
    assert data.texts[:3] == [
        'Cup &lt;b&gt;...&lt;/b&gt; He said "go", quot;now quot;',
        "Talks In\\Rome,  #36;5",
        "A B",
    ]
    assert data.texts is data.x


def test_articles_come_as_training_unlabelled_and_test_with_minus_1_between(news: Path) -> None:
    data = ag_news.read(news)
    assert data.texts[3:] == ["New one, here", "Two ", "Comet seen", "Vote held"]
    assert data.y.tolist() == [1, 0, 1, -1, -1, 3, 0]
    assert (data.train.tolist(), data.validation.tolist(), data.test.tolist()) == ([0, 1, 2], [], [5, 6])
    assert data.classes == ("World", "Sports", "Business", "Sci/Tech")
    assert data.y.dtype == data.train.dtype == np.int64
    assert data.graph is None


def test_the_note_says_how_much_of_the_official_data_it_is(news: Path, monkeypatch: Patch) -> None:
    others = "2 unlabelled (and 1 left out, already among the others), 2 test articles"
    assert ag_news.read(news).note == f"3 of the 120,000 official training articles, {others}"
    monkeypatch.setattr(ag_news, "_OFFICIAL", 3)
    assert ag_news.read(news).note == f"all 3 official training articles, {others}"
    (news / "unlabeled.csv").unlink()
    assert ag_news.read(news).note == "all 3 official training articles, 0 unlabelled, 2 test articles"


def test_the_official_file_is_taken_before_a_part_of_it(news: Path) -> None:
    (news / "train_partial.csv").write_text('"1","p","q"\n"2","r","s"\n', encoding="utf-8")
    (news / "unlabeled_all.csv").write_text('"All of","them"\n', encoding="utf-8")
    assert ag_news.read(news).texts[2:4] == ["A B", "All of them"]
    (news / "train.csv").unlink()
    assert ag_news.read(news).texts[:3] == ["p q", "r s", "All of them"]
    (news / "train_partial.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"cannot find train\.csv or train_partial\.csv in .*; put one of them"):
        ag_news.read(news)


def test_the_loader_reads_only_files_that_it_has_checked(news: Path, monkeypatch: Patch) -> None:
    (news / "classes.txt").write_text("a\nb\nc\nd\n", encoding="utf-8")
    (news / "unlabeled_all.csv").write_text('"From","anybody"\n', encoding="utf-8")
    names = ("train.csv", "test.csv", "unlabeled.csv")
    monkeypatch.setattr(
        ag_news, "_SHA256", {name: hashlib.sha256((news / name).read_bytes()).hexdigest() for name in names}
    )
    monkeypatch.setenv("NGM_DATA", str(news.parent))
    loaded = ag_news.ag_news()
    assert loaded.classes == ("World", "Sports", "Business", "Sci/Tech")
    assert "From anybody" not in loaded.texts
    assert ag_news.read(news).classes == ("a", "b", "c", "d")


def test_class_names_come_from_classes_txt_where_it_is_there(news: Path) -> None:
    (news / "classes.txt").write_text("a\nb\nc\nd\n \n", encoding="utf-8")
    assert ag_news.read(news).classes == ("a", "b", "c", "d")
    (news / "classes.txt").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"test\.csv, row 1, has class '4'; the classes are 1 to 2$"):
        ag_news.read(news)
    (news / "classes.txt").write_text("a\na\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"classes\.txt names 1 classes in 2 lines; give two or more, each once$"):
        ag_news.read(news)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'"1","a","b"\n"2","caf\xe9","c"\n', r"row 2, is not UTF-8 \(byte 0xe9\); save it as UTF-8"),
        (b'"1","a","b"\n"2"," ",""\n', "row 2, has an empty text; leave that row out"),
        (b'"1","a","b"\n"1","c","d"\n', "rows 1 to 2 are all of class 'World'; give rows of two classes or more"),
        (b'"3","a","b"\n', "row 1 is of class 'Business'; give rows of two classes or more"),
        (b'"1","a","b"\n"2","c"\n', "row 2, has 2 columns; give class, title and description"),
        (b'Class Index,Title,Description\n"1","a","b"\n', "row 1, has class 'Class Index'; the classes are 1 to 4"),
        (b'"1","a","b"\n"5","a","b"\n', "row 2, has class '5'; the classes are 1 to 4"),
        (
            b'"1","a","b"\n"2","a "b" c","d"\n',
            r"row 2, is not a row of CSV \(.*\); quote each column and double quotes",
        ),
        (b'"1","a","b"\n"2","a","cut of', r"row 2, is not a row of CSV \(unexpected end of data\)"),
        (b"", "train.csv is empty; give a row per text"),
    ],
)
def test_a_wrong_file_of_articles_is_refused_by_its_row(news: Path, content: bytes, message: str) -> None:
    (news / "train.csv").write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        ag_news.read(news)
    assert str(caught.value).startswith(str(news / "train.csv"))
    assert "\n" not in str(caught.value)


def test_unlabelled_articles_have_one_or_two_columns(news: Path) -> None:
    (news / "unlabeled.csv").write_text('"a"\n"1","a","b"\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"unlabeled\.csv, row 2, has 3 columns; give the text, or title and"):
        ag_news.read(news)


def test_messages_come_as_training_validation_and_test_in_sorted_classes(acts: Path) -> None:
    data = intents.read(acts)
    assert data.texts == ["sure", 'not "me"', "never\u2028ever", "nope\tno", "yep", "nah"]
    assert data.classes == ("no", "yes")
    assert data.y.tolist() == [1, 0, 0, 0, 1, 0]
    assert (data.train.tolist(), data.validation.tolist(), data.test.tolist()) == ([0, 1, 2], [3], [4, 5])


@pytest.mark.parametrize(
    ("part", "content", "message"),
    [
        ("train", b"yes\tsure\nno\t\n", r"train\.tsv, row 2, has an empty text; leave that row out"),
        ("train", b"yes\tsure\nno\n", r"train\.tsv, row 2, is 'no'; give label, tab and text"),
        ("train", b"yes\tsure\n\tnone\n", r"train\.tsv, row 2, is '\\tnone'; give label, tab and text"),
        ("train", b"yes\tsure\nno\tcaf\xe9\n", r"train\.tsv, row 2, is not UTF-8 \(byte 0xe9\)"),
        ("train", b"no\ta\nno\tb\nno\tc\n", r"train\.tsv: rows 1 to 3 are all of class 'no'; give rows of two"),
        ("test", b"no\ta\nmaybe\tb\n", r"test\.tsv, row 2, has label 'maybe', which no training message has"),
        ("val", b"", r"val\.tsv is empty; give a row per text"),
    ],
)
def test_a_wrong_file_of_messages_is_refused_by_its_row(acts: Path, part: str, content: bytes, message: str) -> None:
    (acts / f"{part}.tsv").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        intents.read(acts)


def test_small_talk_can_be_cut_out_of_all_intents(tmp_path: Path) -> None:
    pairs = [["hi", "greeting"], ["pay it", "pay_bill"], ["bye", "goodbye"]]
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"train": pairs, "val": pairs[1:], "test": pairs[::-1]}), encoding="utf-8")
    data = intents.read_json(file, classes=("greeting", "goodbye"))
    assert data.texts == ["hi", "bye", "bye", "bye", "hi"]
    assert [data.classes[label] for label in data.y] == ["greeting", "goodbye", "goodbye", "goodbye", "greeting"]
    assert len(intents.read_json(file).classes) == 3
    file.write_text(json.dumps({"train": pairs, "val": [["", "goodbye"]], "test": pairs}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"all\.json, val, row 1, has an empty text"):
        intents.read_json(file)
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"all\.json cannot be read \(KeyError: 'train'\); give lists train, val and"):
        intents.read_json(file)


def test_what_cannot_be_fetched_says_where_to_put_it(alone: Path) -> None:
    with pytest.raises(DatasetUnavailableError) as caught:
        datasets.load("swda20")
    assert str(caught.value) == (
        f"cannot find swda20: looked in $NGM_DATA (unset) and {alone}, and it has no public address "
        "(Switchboard Dialog Act Corpus, a selection; label, tab and text in a line); put a copy below either folder "
        "as intents/swda20/train.tsv, intents/swda20/val.tsv, intents/swda20/test.tsv"
    )
    with pytest.raises(DatasetUnavailableError, match=r"intents/clinc150\.json, or run 'ngm datasets --fetch clinc20'"):
        datasets.load("clinc20")
    with pytest.raises(DatasetUnavailableError, match=r"with ag_news/train\.csv, ag_news/test\.csv, or .* ag_news'"):
        datasets.load("ag_news")
    with pytest.raises(ValueError, match="there are no intents 'acts'; choose swda20, clinc20, clinc150"):
        intents.intents("acts")  # type: ignore[arg-type]


def test_a_part_of_ag_news_is_loaded_where_the_whole_is_not_here(news: Path, alone: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("NGM_DATA", str(news.parent))
    (news / "train.csv").rename(news / "train_partial.csv")
    names = ("train_partial.csv", "test.csv", "unlabeled.csv")
    assert [file.path for file in ag_news.files()] == [f"ag_news/{name}" for name in names]
    assert ag_news.record().num_nodes == 38_659 + 7_600 + 12_011
    with pytest.raises(DamagedFileError, match=r"train_partial\.csv has sha256 .*; replace it by the original$"):
        datasets.load("ag_news")
    hashes = {name: hashlib.sha256((news / name).read_bytes()).hexdigest() for name in names}
    monkeypatch.setattr(ag_news, "_SHA256", hashes | {"train.csv": "0" * 64})
    assert datasets.load("ag_news").note.startswith("3 of the 120,000 official training articles, 2 unlabelled")
    (news / "train.csv").write_text(TRAIN, encoding="utf-8")
    assert ag_news.record().num_nodes == 120_000 + 7_600
    with pytest.raises(
        DamagedFileError, match=r"train\.csv has sha256 .*, expected 000000000000.*; replace it by http"
    ):
        datasets.load("ag_news")


def test_a_damaged_file_that_cannot_be_fetched_stays_in_the_cache(acts: Path, alone: Path) -> None:
    acts.parent.mkdir(exist_ok=True)
    (alone / "intents").mkdir(parents=True)
    acts.rename(alone / "intents" / "swda20")
    with pytest.raises(DamagedFileError, match=r"train\.tsv has sha256 .*; replace it by the original$"):
        datasets.load("swda20")
    assert (alone / "intents" / "swda20" / "train.tsv").exists()


def test_rows_of_numbers_are_no_texts_and_texts_no_rows(acts: Path) -> None:
    digits, messages = datasets.load("digits"), intents.read(acts, "acts")
    assert digits.rows is digits.x
    assert messages.texts is messages.x
    with pytest.raises(ValueError, match=r"data set 'digits' has rows of numbers and no texts; take its rows$"):
        _ = digits.texts
    with pytest.raises(ValueError, match=r"data set 'acts' has texts and no rows of numbers; take its texts$"):
        _ = messages.rows


@needs("ag_news")
def test_ag_news_has_the_published_counts() -> None:
    data = datasets.load("ag_news")
    record = {record.name: record for record in datasets.available()}["ag_news"]
    labeled = len(data.train) + 7_600
    assert len(data.texts) == len(data.y) == labeled + (data.y == -1).sum()
    assert record.num_nodes - labeled in (0, 12_011)
    assert np.bincount(data.y[data.test]).tolist() == [1900] * 4
    whole = len(data.train) == 120_000
    assert np.bincount(data.y[data.train]).tolist() == ([30_000] * 4 if whole else [9_655, 9_618, 9_634, 9_752])
    assert data.texts[data.test[0]].startswith("Fears for T N pension after talks Unions representing workers")
    assert data.classes == ("World", "Sports", "Business", "Sci/Tech")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        pytest.param("swda20", (3_832, 560, 1_091), marks=needs("swda20")),
        pytest.param("clinc20", (2_000, 400, 600), marks=needs("clinc20")),
        pytest.param("clinc150", (15_000, 3_000, 4_500), marks=needs("clinc150")),
    ],
)
def test_intents_have_the_published_counts(name: str, counts: tuple[int, ...]) -> None:
    data = datasets.load(name)
    record = {record.name: record for record in datasets.available()}[name]
    assert (len(data.train), len(data.validation), len(data.test)) == counts
    assert sum(counts) == len(data.texts) == record.num_nodes
    assert len(set(data.y[data.train])) == len(data.classes) == record.num_classes


@needs("clinc20")
@needs("clinc150")
def test_small_talk_is_the_same_from_its_own_files_and_from_all_intents(tmp_path: Path, monkeypatch: Patch) -> None:
    own = datasets.load("clinc20")
    everything = intents.find("clinc150", intents.files("clinc150")) / "intents" / "clinc150.json"
    (tmp_path / "intents").mkdir()
    (tmp_path / "intents" / "clinc150.json").write_bytes(everything.read_bytes())
    monkeypatch.setenv("NGM_DATA", str(tmp_path))
    monkeypatch.setenv("NGM_CACHE", str(tmp_path / "cache"))
    made = datasets.load("clinc20")
    assert made.texts == own.texts
    assert made.y.tolist() == own.y.tolist()
    assert made.classes == own.classes
    assert Counter(made.y[made.train].tolist()) == dict.fromkeys(range(20), 100)
