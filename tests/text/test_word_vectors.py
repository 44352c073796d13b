"""Words, TF-IDF rows, word vectors from files and documents as their means."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ngm.text import WordVectors, document_vectors, tfidf_rows, word_vector_files, words_of

WORDS = ["the", "cat", "sat", "naïve", "日本"]
VECTORS = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)


def glove(words: list[str] = WORDS, header: bool = False) -> bytes:
    lines = [f"{word} {' '.join(repr(float(v)) for v in row)}" for word, row in zip(words, VECTORS, strict=True)]
    return ("\n".join([f"{len(words)} 4"] * header + lines) + "\n").encode()


def binary(words: list[str] = WORDS, end: bytes = b"\n") -> bytes:
    parts = [word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, VECTORS, strict=True)]
    return b"5 4\n" + b"".join(parts)


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.txt", glove()),
        ("glove.txt.gz", gzip.compress(glove(), mtime=0)),
        ("glove.vec", glove(header=True)),
        ("tabs.txt", glove().replace(b" ", b"\t")),
        ("trailing.txt", glove().replace(b"\n", b" \r\n")),
        ("vectors.bin", binary()),
        ("vectors.bin", binary(end=b"")),
        ("vectors.bin.gz", gzip.compress(binary(), mtime=0)),
    ],
)
def test_each_format_gives_the_same_words_and_vectors(name: str, content: bytes, tmp_path: Path) -> None:
    found = WordVectors.read(written(tmp_path, name, content))
    assert found.words == WORDS
    np.testing.assert_array_equal(found.vectors, VECTORS)
    assert repr(found) == "WordVectors(5 words, 4 wide)"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_npz_is_read_in_any_precision(dtype: type, tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=VECTORS.astype(dtype))
    found = WordVectors.read(tmp_path / "v.npz")
    assert (found.words, found.vectors.dtype) == (WORDS, np.float32)
    np.testing.assert_array_equal(found.vectors, VECTORS.astype(dtype).astype(np.float32))


@pytest.mark.parametrize("is_binary", [False, True])
def test_what_gensim_writes_is_read_as_gensim_has_it(is_binary: bool, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models", reason="needs gensim: pip install gensim")
    theirs = gensim.KeyedVectors(4)
    theirs.add_vectors(WORDS, VECTORS)
    file = tmp_path / ("v.bin" if is_binary else "v.txt")
    theirs.save_word2vec_format(str(file), binary=is_binary)
    found = WordVectors.read(file)
    assert found.words == theirs.index_to_key
    np.testing.assert_array_equal(found.vectors, theirs.vectors)


def test_how_much_is_read_at_once_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, "v.bin", binary())
    for at_once in range(4, 80):  # the first line has four bytes
        monkeypatch.setattr(word_vector_files, "_CHUNK_BYTES", at_once)
        found = WordVectors.read(file)
        assert found.words == WORDS
        np.testing.assert_array_equal(found.vectors, VECTORS)


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.npz"])
def test_only_the_words_asked_for_are_kept(name: str, tmp_path: Path) -> None:
    if name == "v.npz":
        np.savez(tmp_path / name, words=np.array(WORDS), vectors=VECTORS)
    else:
        written(tmp_path, name, binary() if name == "v.bin" else glove())
    found = WordVectors.read(tmp_path / name, keep=["CAT", "日本", "dog"])
    assert found.words == ["cat", "日本"]
    np.testing.assert_array_equal(found.vectors, VECTORS[[1, 4]])


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.npz"])
def test_of_a_word_that_is_there_twice_the_first_counts(name: str, tmp_path: Path) -> None:
    twice = ["the", "cat", "the", "naïve", "日本"]
    if name == "v.npz":
        np.savez(tmp_path / name, words=np.array(twice), vectors=VECTORS)
    else:
        written(tmp_path, name, binary(twice) if name == "v.bin" else glove(twice))
    found = WordVectors.read(tmp_path / name)
    assert found.words == ["the", "cat", "naïve", "日本"]
    np.testing.assert_array_equal(found.vectors, VECTORS[[0, 1, 3, 4]])


def test_a_word_may_have_spaces_in_it(tmp_path: Path) -> None:
    found = WordVectors.read(written(tmp_path, "v.txt", b"a 1 2\n. . . 3 4\nat x.com 5 6\n7 7 8\n"))
    assert found.words == ["a", ". . .", "at x.com", "7"]
    assert found.vectors.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


LATIN = "café 1 2\n".encode("latin-1")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", b"a 1 2 3\nb 1 2\n", "line 2, has 2 numbers and line 1 has 3; all words need the same width"),
        ("v.txt", b"a 1 2\nb 1 2 3 4\n", "line 2, has 4 numbers and line 1 has 2; all words need the same width"),
        ("v.txt", b"2 3\na 1 2 3\nb 1\n", "line 3, has 1 numbers and line 1 says 3; all words need the same width"),
        (
            "v.txt",
            b"a 1 2\n" + LATIN,
            "line 2, is not UTF-8 (byte 0xe9); save it as UTF-8, or name it .bin if it is word2vec's binary form",
        ),
        ("v.txt", b"a\nb\n", "line 1, has no numbers; give a word and its numbers per line"),
        ("v.txt", b"", "is empty; give a word and its numbers per line"),
        ("v.txt", b"3 2\na 1 2\n", "says that it has 3 words and has 1; it may be cut short"),
        ("v.bin", binary()[:-20], "says that it has 5 words and has 4; it is cut short"),
        ("v.bin", b"a 1 2 3\n", "does not start with its number of words and their width; word2vec's binary form does"),
        ("v.npz", b"nonsense", "cannot be read as word vectors"),
        ("v.txt.gz", b"nonsense", "cannot be unpacked"),
        ("v.txt.gz", gzip.compress(glove(), mtime=0)[:-20], "cannot be unpacked"),
    ],
)
def test_a_damaged_file_is_named_with_the_line(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    file = written(tmp_path, name, content)
    with pytest.raises(ValueError, match=f"^{re.escape(str(file))},? {re.escape(message)}"):
        WordVectors.read(file)


def test_a_number_that_is_none_is_named_with_the_line(tmp_path: Path) -> None:
    file = written(tmp_path, "v.txt", b"a 1 2\nb 1 x\n")
    with pytest.raises(ValueError, match=r"v.txt, line 2: could not convert string to float: b'x'; give a word and"):
        WordVectors.read(file)


def test_npz_needs_words_and_vectors_that_fit(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", tokens=np.array(WORDS), vectors=VECTORS)
    with pytest.raises(
        ValueError, match=r"a.npz cannot be read as word vectors \(it holds tokens, vectors, not 'words'"
    ):
        WordVectors.read(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", words=np.array(WORDS), vectors=VECTORS[:3])
    with pytest.raises(ValueError, match=r"b.npz holds 5 words and vectors of shape \(3, 4\); give a row per word$"):
        WordVectors.read(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", words=np.array(WORDS, dtype=object), vectors=VECTORS)
    with pytest.raises(ValueError, match=r"c.npz cannot be read as word vectors \(Object arrays cannot be loaded"):
        WordVectors.read(tmp_path / "c.npz")
    with pytest.raises(
        FileNotFoundError, match=r"^cannot find the word vectors .*d.npz; give a text, .bin or .npz file$"
    ):
        WordVectors.read(tmp_path / "d.npz")


def test_vectors_must_fit_their_words() -> None:
    with pytest.raises(ValueError, match=r"^there are 2 words and vectors of shape \(5, 4\); give a row per word$"):
        WordVectors(["a", "b"], VECTORS)
    with pytest.raises(ValueError, match=r"^1 words occur twice; give each word once$"):
        WordVectors(["a", "a"], VECTORS[:2])
    with pytest.raises(ValueError, match=r"^the vector of 'b' holds NaN or infinity; leave that word out$"):
        WordVectors(["a", "b"], np.array([[1.0], [np.nan]]))


def test_words_are_runs_of_letters_and_digits() -> None:
    assert words_of("U.S. stocks' 3-day fall; été d'or — don't_stop 日本") == (
        ["U", "S", "stocks", "3", "day", "fall", "été", "d", "or", "don", "t", "stop", "日本"]
    )
    assert words_of("... !?") == words_of("") == []


SQUARE = WordVectors(["red", "blue", "Red"], np.array([[1.0, 0.0], [0.0, 1.0], [4.0, 4.0]]))


def test_a_document_is_the_mean_of_its_words() -> None:
    found = document_vectors(["red blue blue blue", "nothing here", "RED!", "Red", None], SQUARE)
    np.testing.assert_allclose(found.vectors, [[0.25, 0.75], [0, 0], [1, 0], [4, 4], [0, 0]])
    assert found.known.tolist() == [4, 0, 1, 1, 0]
    assert found.unknown.tolist() == [1, 4]
    assert found.coverage == 6 / 8


def test_words_in_few_texts_weigh_more_with_idf() -> None:
    texts = ["red blue", "red red", "red"]
    found = document_vectors(texts, SQUARE, idf=True)
    rare = 1 + np.log(4 / 2)  # blue is in one text of three, red in all: 1 + log(4 / 4) = 1
    np.testing.assert_allclose(found.vectors[0], [1 / (1 + rare), rare / (1 + rare)], rtol=1e-6)
    np.testing.assert_allclose(found.vectors[1:], [[1, 0], [1, 0]])
    assert found.idf is not None
    again = document_vectors(["blue red"], SQUARE, idf=found.idf)  # a new text, weighed as the old ones
    np.testing.assert_allclose(again.vectors, found.vectors[:1], rtol=1e-6)


def test_documents_agree_with_a_plain_loop() -> None:
    rng = np.random.default_rng(1)
    names = [f"w{i}" for i in range(30)]
    words = WordVectors(names[:20], rng.normal(size=(20, 6)))
    texts = [" ".join(rng.choice(names, size=rng.integers(0, 12))) for _ in range(50)]
    expected = np.zeros((50, 6))
    known = spoken = 0
    for row, text in enumerate(texts):
        there = [words.vectors[words.index[word]] for word in text.split() if word in words.index]
        known, spoken = known + len(there), spoken + len(text.split())
        if there:
            expected[row] = np.mean(there, axis=0)
    found = document_vectors(texts, words)
    np.testing.assert_allclose(found.vectors, expected, atol=1e-6)
    assert found.coverage == known / spoken


def test_idf_of_one_s_own_needs_a_weight_per_word() -> None:
    with pytest.raises(ValueError, match=r"^idf has shape \(2,\); give one weight for each of the 3 words$"):
        document_vectors(["red"], SQUARE, idf=np.ones(2))


def test_no_texts_make_no_rows() -> None:
    found = document_vectors([], SQUARE)
    assert (found.vectors.shape, found.coverage) == ((0, 2), 0.0)


@pytest.mark.parametrize("make", [lambda t: document_vectors(t, SQUARE)], ids=["document_vectors"])
def test_texts_must_be_strings(make: Callable[[object], object]) -> None:
    with pytest.raises(ValueError, match=r"^text 1 is 7, of type int; give strings$"):
        make(["a", 7])
    with pytest.raises(ValueError, match=r"^texts is one text, 'a b'; give a list of texts, one per node$"):
        make("a b")


def test_tfidf_weights_worked_by_hand() -> None:
    rows = tfidf_rows(["Red red blue", "red", "!"]).toarray()
    blue, red = (1 + np.log(4 / 2)), (1 + np.log(2)) * (1 + np.log(4 / 3))  # columns in order of the alphabet
    expected = np.array([blue, red]) / np.hypot(blue, red)
    np.testing.assert_allclose(rows, [expected, [0, 1], [0, 0]], rtol=1e-6)


def test_tfidf_of_texts_without_words_has_no_columns() -> None:
    assert tfidf_rows(["", "?"]).shape == (2, 0)
