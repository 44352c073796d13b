"""Rows x made from tables: fitted, kept with a run, applied to new tables."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from ngm import read_table
from ngm.features import Features, tfidf
from ngm.io.run_folder import Run
from ngm.text import tfidf_rows
from ngm.text.encoders import GivenModel, TfidfSVD
from tests.feature_tables import GRAPH, NAMES, TEXTS, again, dense, exactly, table

# Texts and words


def test_texts_of_several_columns_are_joined_by_a_blank(empty_run: Run) -> None:
    features, x = Features.fit(table(), text=["body", "more"], read="text")
    assert x == ["red apple x", "Green apple, apple ", "old car y", "new car z"]
    found = again(features, empty_run)
    assert found.rows(read_table({"more": ["b"], "body": ["a"]})) == ["a b"]
    assert (found.kind, found.names, found.width) == ("text", ("body", "more"), None)
    assert found.holds == {"body": "text", "more": "text"}
    assert not (empty_run.folder / "features.safetensors").exists()


def test_words_of_training_texts_are_tf_idf_rows() -> None:
    features, x = Features.fit(table(), text=["body"], read="words")
    np.testing.assert_array_equal(dense(x), tfidf_rows(TEXTS).toarray())
    assert features.width == 6


def test_words_of_new_texts_are_weighed_as_scikit_learn_does_after_fitting(empty_run: Run) -> None:
    features, _ = Features.fit(table(), text=["body"], read="words")
    vectorizer = TfidfVectorizer(analyzer=lambda t: t.lower().replace(",", "").split(), sublinear_tf=True)
    new = ["apple car car", "red, RED unheard", "old"]
    expected = vectorizer.fit(TEXTS).transform(new).toarray()
    np.testing.assert_allclose(dense(again(features, empty_run).rows(read_table({"body": new}))), expected, rtol=1e-6)
    assert set(empty_run.read("features.json")) == {"format", "version", "read", "text", "vocabulary"}


def test_kept_words_give_the_same_bits_as_the_fitted_ones(empty_run: Run) -> None:
    features, x = Features.fit(table(), text=["body"], read="words")
    np.testing.assert_array_equal(dense(again(features, empty_run).rows(table())), dense(x))


def test_a_text_without_a_known_word_is_zeros_and_warned_of(empty_run: Run) -> None:
    features, _ = Features.fit(table(), text=["body"], read="words")
    with pytest.warns(UserWarning, match="no word") as said:
        x = again(features, empty_run).rows(read_table({"body": ["car", "unheard", None]}))
    assert dense(x).any(axis=1).tolist() == [True, False, False]
    assert str(said[0].message) == (
        "2 of 3 rows have no word of the vocabulary (rows 1, 2); what is predicted for them rests on nothing"
    )


class Letters:
    """A model that counts letters."""

    def encode(self, sentences: list[str]) -> NDArray[np.float64]:
        return np.array([[text.count(letter) for letter in "aeo"] for text in sentences], dtype=float).reshape(-1, 3)


def test_vectors_of_encoders_stand_side_by_side_and_are_made_again_from_the_run(empty_run: Run) -> None:
    encoders = [TfidfSVD.fit(TEXTS, width=2), TfidfSVD.fit(["red car", "old apple"])]
    features, x = Features.fit(table(), text=["body"], read="vectors", encoders=encoders)
    np.testing.assert_array_equal(x, np.hstack([encoder.encode(TEXTS) for encoder in encoders]))
    assert features.width == x.shape[1] == 2 + encoders[1].width
    features.save(empty_run)
    opened = Features.open(empty_run)
    assert opened is not None
    assert (opened.kind, opened.width, opened.names) == ("vectors", features.width, ("body",))
    new = read_table({"body": ["red car", "", "apple pie"]})
    with pytest.warns(UserWarning, match=r"1 of 3 rows have no known word \(row 1\)"):
        found = opened.rows(new)
    with pytest.warns(UserWarning, match="rests on nothing"):
        np.testing.assert_array_equal(found, features.rows(new))


def test_an_encoder_is_opened_when_the_first_text_is_read(empty_run: Run) -> None:
    features, _ = Features.fit(table(), text=["body"], read="vectors", encoders=[GivenModel(Letters(), "letters")])
    features.save(empty_run)
    opened = Features.open(empty_run)
    assert opened is not None
    assert opened.vectors is not None
    assert (opened.width, opened.vectors.encoders[0].name) == (3, "letters")
    with pytest.raises(ValueError, match="the vectors are those of 'letters', a model given in Python"):
        opened.rows(table())


def test_views_of_vectors_are_the_first_encoder_and_the_words() -> None:
    encoders = [GivenModel(Letters(), "letters"), TfidfSVD.fit(TEXTS)]
    features, x = Features.fit(table(), text=["body"], read="vectors", encoders=encoders)
    assert features.vectors is not None
    assert isinstance(x, np.ndarray)
    views = features.vectors.views(x, TEXTS)
    assert list(views) == ["letters", "words"]
    np.testing.assert_array_equal(views["letters"], encoders[0].encode(TEXTS))
    assert (views["words"] != tfidf_rows(TEXTS)).nnz == 0


def test_encoders_go_with_vectors_and_with_nothing_else() -> None:
    with pytest.raises(ValueError, match="read is 'vectors' and there are 0 encoders; give encoders="):
        Features.fit(table(), text=["body"], read="vectors")
    with pytest.raises(ValueError, match=r"read is 'words' and there are 1 encoders; .* leave them out"):
        Features.fit(table(), text=["body"], read="words", encoders=[GivenModel(Letters(), "letters")])


def test_of_too_many_words_the_most_frequent_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfidf, "MAX_WORDS", 2)
    features, x = Features.fit(table(), text=["body"], read="words")
    assert features.part.as_json()["vocabulary"] == ["apple", "car"]
    np.testing.assert_array_equal(dense(x), [[1, 0], [1, 0], [0, 1], [0, 1]])


# Keeping, and mistakes


def test_a_run_without_features_has_none(empty_run: Run) -> None:
    assert Features.open(empty_run) is None


def test_what_another_fit_kept_is_gone(empty_run: Run) -> None:
    Features.fit(table(), text=["body"], read="words")[0].save(empty_run)
    Features.fit(table(), text=["body"], read="text")[0].save(empty_run)
    assert not (empty_run.folder / "features.safetensors").exists()
    assert Features.open(empty_run) is not None


def test_damaged_features_are_told(empty_run: Run) -> None:
    features, _ = Features.fit(table(), text=["body"], read="words")
    features.save(empty_run)
    file = empty_run.folder / "features.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    for change, message in (
        ({"version": 9}, "says format 'ngm-features' version 9; this release reads 'ngm-features' version 1"),
        ({"vocabulary": ["a"]}, "is damaged (1 words and 6 weights); train again"),
        ({"text": None}, "is damaged ('NoneType' object is not iterable); train again"),
        ({"read": "tea"}, "is damaged ('tea'); train again"),
    ):
        empty_run.write("features.json", content | change)
        with pytest.raises(ValueError, match=exactly(f"{file} {message}")):
            Features.open(empty_run)
    empty_run.write("features.json", content)
    (empty_run.folder / "features.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no features\.safetensors: training did not get that far"):
        Features.open(empty_run)


WRONG: list[tuple[dict[str, object], str]] = [
    ({"read": "word"}, "read is 'word' (did you mean 'words'?); choose from text, words, vectors, columns, graph"),
    ({"read": "text"}, "read is 'text' and text is not given; give text="),
    ({"read": "columns"}, "read is 'columns' and columns is not given; give columns="),
    ({"read": "graph"}, "read is 'graph' and graph is not given; give graph="),
    ({"read": "text", "text": ["body"], "columns": ["size"]}, "columns is given, but read is 'text'; leave it out"),
    ({"read": "text", "text": ["body"], "how": "rows"}, "how is 'rows', but it is for read='graph'; leave it out"),
    ({"read": "text", "text": ["body", "body"]}, "column 'body' is named twice; name each once"),
    (
        {"read": "text", "text": ["bodi"]},
        "the table has no column 'bodi' (did you mean 'body'?); its columns are body, more, size, count",
    ),
    ({"read": "words", "text": ["size"]}, "column 'size' of the table holds float64, not text; choose another"),
    (
        {"read": "graph", "graph": GRAPH, "how": "netmv"},
        "how is 'netmv' (did you mean 'netmf'?); choose from rows, netmf, identities, clusters, node2vec",
    ),
    ({"read": "graph", "graph": GRAPH, "ids": NAMES[:2]}, "ids has 2 entries, the graph 4 nodes; give one per node"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[m[:40] for _, m in WRONG])
def test_a_mistake_is_told(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        Features.fit(table(), **given)  # type: ignore[arg-type]


def test_texts_without_words_are_refused() -> None:
    with pytest.raises(ValueError, match="none of the 2 texts has a letter or digit; give texts with words in them"):
        Features.fit(read_table({"t": ["!", "?"]}), text=["t"], read="words")


def test_a_table_is_needed_for_anything_but_the_graph() -> None:
    with pytest.raises(ValueError, match="read is 'text' and there is no table; give one"):
        Features.fit(None, text=["t"], read="text")
