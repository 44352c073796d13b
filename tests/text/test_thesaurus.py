"""Synonyms read from MyThes files, texts rewritten with them as in Zhang et al., and anew in every epoch."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from ngm.text import mythes
from ngm.text.ragged import Ragged
from ngm.text.synonym_augmentation import SynonymTexts
from ngm.text.thesaurus import FUNCTION_WORDS, Thesaurus, truncated_geometric

FILE = """UTF-8
good|3
(adj)|fine|right-minded|moral (related term)|evil (antonym)
(noun)|Good|evil|welfare|fine|quality (generic term)
-|commodity (generic term)
café|1
(noun)|coffee bar|coffeehouse|restaurant (generic term)
of course|1
(adv)|naturally
in|1
(noun)|inch
x|1
(noun)|ten
lonely|1
(adj)|alone (similar term)
"""
FOUND = {"good": ("fine", "right-minded", "welfare"), "café": ("coffee bar", "coffeehouse")}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def written(folder: Path, content: bytes, name: str = "th_en_US_v2.dat") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


# Reading


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("th.dat", FILE.encode()),
        ("th.dat.gz", gzip.compress(FILE.encode(), mtime=0)),
        ("th.dat", FILE.replace("\n", "\r\n").encode()),
        ("th.dat", b"\xef\xbb\xbf" + FILE.encode()),
        ("th.dat", FILE.replace("UTF-8", "ISO8859-1").encode("latin-1")),
        ("th.dat", FILE.replace("UTF-8", "microsoft-cp1252").encode("cp1252")),
        ("th.dat", FILE.encode().rstrip()),
        ("th.dat", FILE.upper().encode()),
    ],
    ids=["plain", "gz", "crlf", "bom", "latin", "microsoft", "no last line end", "capitals"],
)
def test_synonyms_come_in_the_order_of_the_file_without_marked_terms(name: str, content: bytes, tmp_path: Path) -> None:
    # evil is an antonym in the first meaning, so it is no synonym in the second; Good is the word itself; fine is there
    # already; "of course" is two words, "in" a function word, "x" a letter, and nothing is left of "lonely"
    found = Thesaurus.read(written(tmp_path, content, name))
    assert {word: tuple(term.lower() for term in terms) for word, terms in found.synonyms.items()} == FOUND
    assert repr(found) == "Thesaurus(2 words)"


def test_words_to_be_left_alone_can_be_chosen(tmp_path: Path) -> None:
    found = Thesaurus.read(written(tmp_path, FILE.encode()), leave=frozenset({"good"}))
    assert found.synonyms == {"café": FOUND["café"], "in": ("inch",)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "begins with ''; a MyThes file begins with its encoding, such as UTF-8"),
        (b"good|1\n(adj)|fine\n", "begins with 'good|1'; a MyThes file begins with its encoding"),
        (b"\x00\x01\n", "a MyThes file begins with its encoding"),
        (FILE.replace("é", "\xe9").encode("latin-1"), "line 6, is not UTF-8 (byte 0xe9); its first line must name its"),
        (b"UTF-8\ngood\n", "line 2, is 'good'; give a word and its number of meanings, as in 'good|2'"),
        (b"UTF-8\ngood|1\n(adj)|fine\n(adj)|nice\n", "line 4, is '(adj)|nice'; give a word and its number"),
        (b"UTF-8\ngood|2\n(adj)|fine\n", "line 2, says that 'good' has 2 meanings, and fewer follow; it may be cut"),
        (b"UTF-8\ngood|2\n(adj)|fine\nbad|1\n(adj)|evil\n", "line 2, says that 'good' has 2 meanings, and fewer"),
        (b"UTF-8\ngood|1\n(adj)|bad (antonym)\n", "has no word with a synonym; give lines such as 'good|1'"),
    ],
)
def test_a_bad_file_is_told_in_one_line(content: bytes, message: str, tmp_path: Path) -> None:
    file = written(tmp_path, content)
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        Thesaurus.read(file)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_cut_short_by_its_packing_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, gzip.compress(FILE.encode())[:-20], "th.dat.gz")
    with pytest.raises(ValueError, match=r"th\.dat\.gz cannot be unpacked .*; fetch it again"):
        Thesaurus.read(file)


def test_a_missing_file_is_told_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"cannot find the thesaurus .*none\.dat; apt-get install mythes-en-us, or"
    ):
        Thesaurus.read(tmp_path / "none.dat")


def test_the_installed_thesaurus_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mythes, "_FOLDERS", (str(tmp_path / "none"), str(tmp_path)))
    with pytest.raises(FileNotFoundError, match="no English thesaurus is installed; apt-get install mythes-en-us, or"):
        Thesaurus.read()
    written(tmp_path, FILE.encode())
    assert Thesaurus.read().synonyms == FOUND


def test_debians_thesaurus_has_synonyms_and_no_antonyms() -> None:
    try:
        found = Thesaurus.read().synonyms
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert len(found) > 50_000
    assert found["market"][0] == "marketplace"
    assert "bad" not in found["good"]
    assert not FUNCTION_WORDS & set(found)
    assert not any(term.endswith(" term)") or term.endswith("(antonym)") for terms in found.values() for term in terms)


@pytest.mark.parametrize(
    ("synonyms", "p", "q", "message"),
    [
        ({"good": ["fine"]}, 0.0, 0.5, "p is 0.0; it must lie between 0 and 1"),
        ({"good": ["fine"]}, 0.5, 1.0, "q is 1.0; it must lie between 0 and 1"),
        ({}, 0.5, 0.5, "the thesaurus has no words; give at least one word with a synonym"),
        ({"Good": ["fine"]}, 0.5, 0.5, "'Good' cannot be found in a text; give single words in lower case"),
        ({"of course": ["sure"]}, 0.5, 0.5, "'of course' cannot be found in a text; give single words in lower case"),
        ({"good": "fine"}, 0.5, 0.5, "the synonyms of 'good' are 'fine'; give a list of at least one"),
        ({"good": []}, 0.5, 0.5, "the synonyms of 'good' are []; give a list of at least one"),
    ],
)
def test_a_thesaurus_of_ones_own_is_checked(synonyms: dict[str, list[str]], p: float, q: float, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Thesaurus(synonyms, p, q)


# Chance


def test_numbers_are_drawn_from_a_geometric_distribution_that_is_cut_off() -> None:
    # p = 1/2, at most 3: 1 : 1/2 : 1/4 : 1/8, that is 8, 4, 2 and 1 of 15
    drawn = truncated_geometric(0.5, np.full(150_000, 3), rng())
    assert chisquare(np.bincount(drawn, minlength=4), np.array([80_000, 40_000, 20_000, 10_000])).pvalue > 0.01
    # ratio 1/3, at most 1: 3 and 1 of 4
    drawn = truncated_geometric(1 / 3, np.full(40_000, 1), rng())
    assert chisquare(np.bincount(drawn), [30_000, 10_000]).pvalue > 0.01


@pytest.mark.parametrize("ratio", [0.01, 0.5, 0.999])
def test_no_number_is_above_the_most_allowed(ratio: float) -> None:
    assert truncated_geometric(ratio, np.zeros(1000, dtype=np.int64), rng()).tolist() == [0] * 1000
    assert set(truncated_geometric(0.999, np.full(1000, 1), rng()).tolist()) == {0, 1}


def test_the_ends_of_the_unit_interval_give_the_ends_of_the_range() -> None:
    class Fixed(np.random.Generator):
        def random(self, size: int) -> np.ndarray:  # type: ignore[override]
            return np.array([0.0, np.nextafter(1.0, 0.0)])[:size]

    for most in (0, 1, 7, 40):
        assert truncated_geometric(0.5, np.full(2, most), Fixed(np.random.PCG64())).tolist() == [0, most]


def test_each_set_of_words_has_its_probability() -> None:
    # three words: none 8/15; one 4/15, shared by 3; two 2/15, shared by 3; all 1/15
    thesaurus = Thesaurus({"red": ["r"], "green": ["g"], "blue": ["b"]})
    found = thesaurus.find(["red green and blue"] * 90_000)
    changed, texts = thesaurus.replace(found, rng())
    seen = Counter(texts) + Counter({"red green and blue": 90_000 - len(changed)})
    expected = {"red green and blue": 8 / 15, "r g and b": 1 / 15}
    expected |= dict.fromkeys(["r green and blue", "red g and blue", "red green and b"], 4 / 45)
    expected |= dict.fromkeys(["r g and blue", "r green and b", "red g and b"], 2 / 45)
    assert set(seen) == set(expected)
    observed = [seen[text] for text in expected]
    assert chisquare(observed, [90_000 * share for share in expected.values()]).pvalue > 0.01


def test_nearer_synonyms_are_drawn_more_often() -> None:
    # p = 1/2 and one word: replaced in 1 of 3 texts; q = 1/2 and three synonyms: 4, 2 and 1 of 7
    thesaurus = Thesaurus({"big": ["large", "great", "vast"]})
    seen = Counter(thesaurus.replace(thesaurus.find(["big"] * 63_000), rng())[1])
    observed = [63_000 - sum(seen.values()), seen["large"], seen["great"], seen["vast"]]
    assert chisquare(observed, [42_000, 12_000, 6_000, 3_000]).pvalue > 0.01


def test_half_of_long_texts_are_left_alone_and_one_word_is_replaced_on_average() -> None:
    # with many words the distribution is geometric on 0, 1, ...: P[0] = 1/2, mean 1, variance 2
    thesaurus = Thesaurus({"big": ["BIG-"]})
    changed, texts = thesaurus.replace(thesaurus.find(["big " * 60] * 20_000), rng())
    assert abs(len(changed) - 10_000) < 4 * np.sqrt(20_000 / 4)
    assert abs(sum(text.count("-") for text in texts) - 20_000) < 4 * np.sqrt(20_000 * 2)


# Rewriting

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TAGGED = Thesaurus({a + b: [f"<{a + b}>", f"[{a + b}]"] for a in LETTERS for b in LETTERS}, p=0.9)


def test_taking_the_synonyms_back_gives_the_text_as_it_was() -> None:
    chance = rng()
    texts = ["".join(chance.choice([*"aaabbbAAB   é\n.,-'&3_"], size=chance.integers(90))) for _ in range(500)]
    changed, new = TAGGED.replace(TAGGED.find(texts), chance)
    assert len(changed) > 100
    for row, text in zip(changed, new, strict=True):
        assert re.sub(r"[<>\[\]]", "", text).lower() == texts[row].lower()
        assert text != texts[row]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ab, Ab and AB!", ["ab", "Ab", "AB"]),
        ("&ab; 3ab ab3 ab_ab", []),
        ("ab-ab ab's 'ab' ab- (ab)", ["ab", "ab", "ab"]),
        ("", []),
        ("日本 abab", []),
    ],
)
def test_only_whole_words_are_found(text: str, words: list[str]) -> None:
    found = TAGGED.find([text])
    assert [text[a:b] for a, b in zip(found.start, found.end, strict=True)] == words


def test_hyphens_and_apostrophes_are_part_of_a_word() -> None:
    thesaurus = Thesaurus({"brand-new": ["novel"], "o'clock": ["sharp"], "new": ["other"]})
    found = thesaurus.find(["brand-new at 5 o'clock, new-born and new"])
    assert found.word.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("word", "becomes"),
    [("cat", "true Cat"), ("Cat", "True Cat"), ("CAT", "TRUE CAT"), ("cAt", "true Cat")],
)
def test_a_synonym_takes_over_the_capitals(word: str, becomes: str) -> None:
    thesaurus = Thesaurus({"cat": ["true Cat"]}, p=0.999)
    assert {thesaurus.rewrite(f"A {word}!", rng(seed)) for seed in range(30)} == {f"A {word}!", f"A {becomes}!"}


def test_a_text_alone_is_rewritten_like_one_of_many() -> None:
    text = "ab cd ef"
    changed, new = TAGGED.replace(TAGGED.find([text]), rng(4))
    assert changed.tolist() == [0]
    assert TAGGED.rewrite(text, rng(4)) == new[0]
    assert TAGGED.rewrite("nothing here", rng(4)) == "nothing here"


# Anew in every epoch

TEXTS = ["ab cd", "", "nothing", "ab ab ab ab", "cd ef gh", "ef"] * 5


class Letters:
    """Reads letters as their numbers, and counts what it reads."""

    def __init__(self) -> None:
        self.read: list[list[str]] = []

    def __call__(self, texts: list[str]) -> Ragged:
        assert texts
        self.read.append(list(texts))
        offsets = np.cumsum([0, *map(len, texts)])
        return Ragged(torch.tensor([ord(c) for c in "".join(texts)], dtype=torch.int32), torch.from_numpy(offsets))


def text_of(row: torch.Tensor) -> str:
    return "".join(chr(c) for c in row if c)


def test_rows_are_those_of_the_epochs_texts() -> None:
    x = SynonymTexts(TEXTS, TAGGED, Letters(), seed=4)
    assert len(x) == len(TEXTS)
    for epoch in (0, 1, 2):
        x.set_epoch(epoch)
        rewritten = x.texts()
        assert rewritten != TEXTS
        assert [text_of(row) for row in x[torch.arange(len(x))]] == rewritten
        assert [text_of(row) for row in x[[3, 0, 3]]] == [rewritten[3], rewritten[0], rewritten[3]]
        assert [text_of(row) for row in x[2:5]] == rewritten[2:5]
        assert x.lengths.tolist() == [len(text) for text in rewritten]
        assert [text_of(row) for row in x.original[:]] == TEXTS


def test_the_same_seed_and_epoch_give_the_same_texts_in_any_order_of_visits() -> None:
    def texts(seed: int, epochs: list[int]) -> list[list[str]]:
        x, seen = SynonymTexts(TEXTS, TAGGED, Letters(), seed), []
        for epoch in epochs:
            x.set_epoch(epoch)
            seen.append([text_of(row) for row in x[:]])
        return seen

    zero, one, two = texts(0, [0, 1, 2])
    assert zero != one != two
    assert texts(0, [2, 0, 0, 1]) == [two, zero, zero, one]
    assert texts(1, [0]) != [zero]
    expected = list(TEXTS)
    changed, new = TAGGED.replace(TAGGED.find(TEXTS), np.random.default_rng([0, 1]))
    for row, text in zip(changed, new, strict=True):
        expected[row] = text
    assert one == expected


def test_only_changed_texts_are_read_again_and_only_when_asked_for() -> None:
    letters = Letters()
    x = SynonymTexts(TEXTS, TAGGED, letters)
    assert letters.read == [TEXTS]
    for epoch in (5, 6, 7):  # never asked for
        x.set_epoch(epoch)
    assert len(letters.read) == 1
    x[[0]], x[[1]], x.lengths
    x.set_epoch(7)
    x[[2]]
    changed = [text for text, old in zip(x.texts(), TEXTS, strict=True) if text != old]
    assert letters.read == [TEXTS, changed]
    assert 0 < len(changed) < len(TEXTS)


def test_texts_without_any_known_word_stay_as_they_are() -> None:
    x = SynonymTexts(["nothing", "here"], TAGGED, Letters())
    x.set_epoch(1)
    assert [text_of(row) for row in x[:]] == ["nothing", "here"] == x.texts()


def test_a_reader_that_loses_rows_is_told() -> None:
    with pytest.raises(ValueError, match="read gave 1 rows for 30 texts; it must give a row per text"):
        SynonymTexts(TEXTS, TAGGED, lambda texts: Letters()(texts[:1]))
