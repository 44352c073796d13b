"""Rows x made from tables: fitted, kept with a run, applied to new tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ngm import Graph, read_table
from ngm.features import Features, columns, words
from ngm.inputs import adjacency_rows, clusters, from_links, identities, links, netmf
from ngm.run import Run
from ngm.tables import Table
from ngm.tables.stream import open_stream
from ngm.text import tfidf_rows
from ngm.text.encoders import GivenModel, TfidfSVD

TEXTS = ["red apple", "Green apple, apple", "old car", "new car"]
GRAPH = Graph.from_edges([[0, 1], [1, 2], [2, 3], [0, 2]], [1.0, 0.5, 2.0, 1.0])
NAMES = np.array(["a", "b", "c", "ö d"], dtype=object)


def table() -> Table:
    return read_table(
        {"body": TEXTS, "more": ["x", None, "y", "z"], "size": [1.0, 2.0, 3.0, 6.0], "count": [5, 5, 7, 9]}
    )


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = Run.create(tmp_path / "run")
    made.write_config("NGMClassifier", {})
    return made


def again(features: Features, run: Run) -> Features:
    """The features as another program finds them."""
    features.save(run)
    found = Features.open(run)
    assert found is not None
    return found


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def dense(x: object) -> NDArray[np.float32]:
    return np.asarray(x.toarray() if sp.issparse(x) else x)  # type: ignore[attr-defined]


# Texts and words


def test_texts_of_several_columns_are_joined_by_a_blank(run: Run) -> None:
    features, x = Features.fit(table(), text=["body", "more"], read="text")
    assert x == ["red apple x", "Green apple, apple ", "old car y", "new car z"]
    found = again(features, run)
    assert found.rows(read_table({"more": ["b"], "body": ["a"]})) == ["a b"]
    assert (found.kind, found.names, found.width) == ("text", ("body", "more"), None)
    assert found.holds == {"body": "text", "more": "text"}
    assert not (run.folder / "features.safetensors").exists()


def test_words_of_training_texts_are_tf_idf_rows() -> None:
    features, x = Features.fit(table(), text=["body"], read="words")
    np.testing.assert_array_equal(dense(x), tfidf_rows(TEXTS).toarray())
    assert features.width == 6


def test_words_of_new_texts_are_weighed_as_scikit_learn_does_after_fitting(run: Run) -> None:
    features, _ = Features.fit(table(), text=["body"], read="words")
    vectorizer = TfidfVectorizer(analyzer=lambda t: t.lower().replace(",", "").split(), sublinear_tf=True)
    new = ["apple car car", "red, RED unheard", "old"]
    expected = vectorizer.fit(TEXTS).transform(new).toarray()
    np.testing.assert_allclose(dense(again(features, run).rows(read_table({"body": new}))), expected, rtol=1e-6)
    assert set(run.read("features.json")) == {"format", "version", "read", "text", "vocabulary"}


def test_kept_words_give_the_same_bits_as_the_fitted_ones(run: Run) -> None:
    features, x = Features.fit(table(), text=["body"], read="words")
    np.testing.assert_array_equal(dense(again(features, run).rows(table())), dense(x))


def test_a_text_without_a_known_word_is_zeros_and_warned_of(run: Run) -> None:
    features, _ = Features.fit(table(), text=["body"], read="words")
    with pytest.warns(UserWarning, match="no word") as said:
        x = again(features, run).rows(read_table({"body": ["car", "unheard", None]}))
    assert dense(x).any(axis=1).tolist() == [True, False, False]
    assert str(said[0].message) == (
        "2 of 3 rows have no word of the vocabulary (rows 1, 2); what is predicted for them rests on nothing"
    )


class Letters:
    """A model that counts letters."""

    def encode(self, sentences: list[str]) -> NDArray[np.float64]:
        return np.array([[text.count(letter) for letter in "aeo"] for text in sentences], dtype=float).reshape(-1, 3)


def test_vectors_of_encoders_stand_side_by_side_and_are_made_again_from_the_run(run: Run) -> None:
    encoders = [TfidfSVD.fit(TEXTS, width=2), TfidfSVD.fit(["red car", "old apple"])]
    features, x = Features.fit(table(), text=["body"], read="vectors", encoders=encoders)
    np.testing.assert_array_equal(x, np.hstack([encoder.encode(TEXTS) for encoder in encoders]))
    assert features.width == x.shape[1] == 2 + encoders[1].width
    features.save(run)
    opened = Features.open(run)
    assert opened is not None
    assert (opened.kind, opened.width, opened.names) == ("vectors", features.width, ("body",))
    new = read_table({"body": ["red car", "", "apple pie"]})
    with pytest.warns(UserWarning, match=r"1 of 3 rows have no known word \(row 1\)"):
        found = opened.rows(new)
    with pytest.warns(UserWarning, match="rests on nothing"):
        np.testing.assert_array_equal(found, features.rows(new))


def test_an_encoder_is_opened_when_the_first_text_is_read(run: Run) -> None:
    features, _ = Features.fit(table(), text=["body"], read="vectors", encoders=[GivenModel(Letters(), "letters")])
    features.save(run)
    opened = Features.open(run)
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
    monkeypatch.setattr(words, "MAX_WORDS", 2)
    features, x = Features.fit(table(), text=["body"], read="words")
    assert features.part.as_json()["vocabulary"] == ["apple", "car"]
    np.testing.assert_array_equal(dense(x), [[1, 0], [1, 0], [0, 1], [0, 1]])


# Columns


def test_numbers_are_standardized_and_categories_one_hot_as_scikit_learn_does(run: Run) -> None:
    train = pd.DataFrame({"size": [1.0, 2.0, 6.0], "count": [5, 7, 9], "shape": ["round", "square", "round"]})
    new = pd.DataFrame({"count": [1, 100], "shape": ["square", "round"], "size": [0.5, -3.0]})
    features, x = Features.fit(read_table(train), columns=["size", "shape", "count"], read="columns")
    scale = StandardScaler().fit(train[["size", "count"]])
    kinds = OneHotEncoder(sparse_output=False).fit(train[["shape"]])

    def expected(rows: pd.DataFrame) -> NDArray[np.float64]:
        numbers = scale.transform(rows[["size", "count"]])
        return np.column_stack([numbers[:, :1], kinds.transform(rows[["shape"]]), numbers[:, 1:]])

    np.testing.assert_allclose(dense(x), expected(train), rtol=1e-6, atol=1e-7)
    found = again(features, run)
    np.testing.assert_allclose(dense(found.rows(read_table(new))), expected(new), rtol=1e-6)
    assert (found.width, dense(x).dtype) == (4, np.float32)
    assert found.holds == {"size": "number", "shape": "text", "count": "number"}


def test_numbers_far_from_zero_keep_their_differences() -> None:
    _, x = Features.fit(read_table({"t": [1.7e9, 1.7e9 + 1, 1.7e9 + 2]}), columns=["t"], read="columns")
    np.testing.assert_allclose(dense(x)[:, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)], rtol=1e-6)


def test_lists_of_numbers_stay_as_they_are(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "v.jsonl"
    file.write_text('{"v": [1.5, 2], "n": 1}\n{"v": [3, 4], "n": 3}\n', encoding="utf-8")
    features, x = Features.fit(read_table(file), columns=["v", "n"], read="columns")
    assert dense(x).tolist() == [[1.5, 2, -1], [3, 4, 1]]
    assert again(features, run).holds == {"v": "numbers", "n": "number"}
    np.testing.assert_array_equal(dense(again(features, run).rows(read_table(file))), dense(x))


def test_an_unknown_or_missing_category_is_zeros_and_warned_of(run: Run) -> None:
    features, _ = Features.fit(read_table({"s": ["a", "b", "a"]}), columns=["s"], read="columns")
    with pytest.warns(UserWarning, match="categories") as said:
        x = again(features, run).rows(read_table({"s": ["b", "new", None, "new"]}))
    assert dense(x).tolist() == [[0, 1], [0, 0], [0, 0], [0, 0]]
    assert [str(warning.message) for warning in said] == [
        "2 of 4 rows have a value in 's' that no training row has (rows 1, 3); they are none of its 2 categories",
        "1 of 4 rows have no value in 's' (row 2); they are none of its 2 categories",
    ]


def test_a_column_of_one_number_is_zeros_and_warned_of() -> None:
    with pytest.warns(
        UserWarning, match="column 'n' of the table has 3 in all rows, which tells nothing; leave it out"
    ):
        _, x = Features.fit(read_table({"n": [3, 3]}), columns=["n"], read="columns")
    assert dense(x).tolist() == [[0], [0]]


def test_too_many_categories_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "MOST_CATEGORIES", 3)
    message = (
        "column 'body' of the table holds 4 different texts, and at most 3 can be categories; leave it out, or read "
        "it as text"
    )
    with pytest.raises(ValueError, match=exactly(message)):
        Features.fit(table(), columns=["body"], read="columns")


WRONG_TRAINING = [
    (
        {"n": [1.0, None, 3.0]},
        "column 'n' of the table has no number in row 1; fill in what is missing, or drop such rows",
    ),
    ({"n": [1, None]}, "column 'n' of the table has no number in row 1; fill in what is missing, or drop such rows"),
    (
        {"n": [1.0, np.inf]},
        "column 'n' of the table has infinity or a gap in row 1; fill in what is missing, or drop such rows",
    ),
    (
        "SELECT * FROM (VALUES ([1, 2]), ([3])) AS t(n)",
        "column 'n' of the query holds [3] in row 1, which is not a number or a list of numbers as long as the "
        "others; choose another",
    ),
    (
        "SELECT DATE '2020-01-01' AS n",
        "column 'n' of the query holds 2020-01-01 00:00:00 in row 0, which is not a number or a list of "
        "numbers as long as the others; choose another",
    ),
]


@pytest.mark.parametrize(("source", "message"), WRONG_TRAINING, ids=[m[:45] for _, m in WRONG_TRAINING])
def test_what_cannot_be_a_column_of_x_is_refused(source: object, message: str) -> None:
    with pytest.raises(ValueError, match=exactly(message)):
        Features.fit(read_table(source), columns=["n"], read="columns")  # type: ignore[arg-type]


WRONG_NEW = [
    (
        {"n": [1.0, np.nan], "s": ["a", "a"], "v": [[1.0, 2.0]] * 2},
        "column 'n' of the table has no number in row 8; fill in what is missing, or drop such rows",
    ),
    (
        {"n": ["1", "big"], "s": ["a", "a"], "v": [[1.0, 2.0]] * 2},
        "column 'n' of the table holds '1' in row 7, which is not a number; it was that in training",
    ),
    (
        {"n": [1.0, 1.0], "s": [3, 4], "v": [[1.0, 2.0]] * 2},
        "column 's' of the table holds 3 in row 7, which is not a text; it was that in training",
    ),
    (
        {"n": [1.0, 1.0], "s": ["a", "a"], "v": [[1.0, 2.0], [1.0, 2.0, 3.0]]},
        "column 'v' of the table holds [1.0, 2.0, 3.0] in row 8, which is not a list of 2 numbers; it was that in "
        "training",
    ),
    (
        {"n": [1.0, 1.0], "s": ["a", "a"], "v": [1.0, 2.0]},
        "column 'v' of the table holds 1.0 in row 7, which is not a list of 2 numbers; it was that in training",
    ),
    (
        {"n": [[1.0, 2.0], [1.0, 3.0]], "s": ["a", "a"], "v": [[1.0, 2.0]] * 2},
        "column 'n' of the table holds [1.0, 2.0] in row 7, which is not a number; it was that in training",
    ),
    ({"n": [1.0], "s": ["a"]}, "the table has no column 'v'; its columns are n, s"),
]


@pytest.mark.parametrize(("source", "message"), WRONG_NEW, ids=[m[:60] for _, m in WRONG_NEW])
def test_new_rows_must_be_as_in_training(source: dict[str, list[object]], message: str) -> None:
    train = pd.DataFrame({"n": [1.0, 2.0], "s": ["a", "b"], "v": [[1.0, 2.0], [3.0, 4.0]]})
    features, _ = Features.fit(read_table(train), columns=["n", "s", "v"], read="columns")
    with pytest.raises(ValueError, match=exactly(message)):
        features.read(read_table(pd.DataFrame(source)), first=7)


# The graph


EXPECTED = {
    "rows": lambda linked, x: adjacency_rows(linked),
    "netmf": from_links,
    "clusters": from_links,
    "identities": lambda linked, x: from_links(linked, x, keep=32, scale=0.7),
}


@pytest.mark.parametrize("how", EXPECTED)
def test_new_nodes_get_their_rows_from_their_links(how: str, run: Run) -> None:
    features, x = Features.fit(None, read="graph", graph=GRAPH, ids=NAMES, how=how, seed=3)
    made = {
        "rows": lambda: adjacency_rows(GRAPH),
        "netmf": lambda: netmf(GRAPH, 4, seed=3),
        "clusters": lambda: clusters(GRAPH, 2, "similarity", seed=3),
        "identities": lambda: identities(GRAPH, 32, 0.3) * 10,
    }
    np.testing.assert_allclose(dense(x), dense(made[how]()), rtol=1e-6)
    found = again(features, run)
    new = read_table({"source": ["p", "q", "p"], "target": ["ö d", "a", "b"], "weight": [3.0, 1.0, 1.0]})
    expected = EXPECTED[how](links([[0, 3], [1, 0], [0, 1]], GRAPH, [3.0, 1.0, 1.0]), x)
    np.testing.assert_allclose(dense(found.rows(new)), dense(expected), rtol=1e-6)
    assert found.nodes is not None
    assert found.nodes.ids.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(dense(found.nodes.x), dense(x))
    assert (found.width, found.names, found.holds) == (x.shape[1], (), {})  # type: ignore[union-attr]


def test_ids_that_are_numbers_are_found_however_they_are_written(run: Run) -> None:
    features, _ = Features.fit(None, read="graph", graph=GRAPH, ids=np.array([10, 20, 30, 40]))
    found = again(features, run).nodes
    assert found is not None
    assert found.ids.tolist() == [10, 20, 30, 40]
    assert found.linked(["n", "n", "n"], [20, "30", 40.0], None).made.x.toarray().tolist() == [[0, 1, 1, 1]]  # type: ignore[union-attr]
    assert (found.knows("10"), found.knows("11")) == (True, False)


def test_nodes_without_ids_are_called_by_number() -> None:
    features, _ = Features.fit(None, read="graph", graph=GRAPH)
    assert features.rows(read_table({"new": ["n"], "old": [3]})).toarray().tolist() == [[0, 0, 0, 1]]  # type: ignore[union-attr]


def test_links_to_unknown_nodes_are_left_out_and_lone_nodes_warned_of() -> None:
    features, _ = Features.fit(None, read="graph", graph=GRAPH, ids=NAMES)
    assert features.nodes is not None
    for weight in (None, [2.0, 1.0, 3.0]):
        linked = features.nodes.linked(["p", "q", "p"], ["a", "zz", "yy"], weight)
        assert (linked.ids, linked.unknown, linked.examples) == (["p", "q"], 2, ["zz", "yy"])
        assert dense(linked.made.x).tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    with pytest.warns(UserWarning, match=r"1 of 2 rows have no link to a node that the run knows \(row 1\)"):
        features.rows(read_table({"new": ["p", "q", "p"], "old": ["a", "zz", "yy"]}))


def test_large_graphs_give_identities_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngm.features.nodes._MOST_ROWS", 3)
    features, _ = Features.fit(None, read="graph", graph=GRAPH)
    assert features.part.as_json()["how"] == "identities"


# Keeping, and mistakes


def test_a_run_without_features_has_none(run: Run) -> None:
    assert Features.open(run) is None


def test_what_another_fit_kept_is_gone(run: Run) -> None:
    Features.fit(table(), text=["body"], read="words")[0].save(run)
    Features.fit(table(), text=["body"], read="text")[0].save(run)
    assert not (run.folder / "features.safetensors").exists()
    assert Features.open(run) is not None


def test_damaged_features_are_told(run: Run) -> None:
    features, _ = Features.fit(table(), text=["body"], read="words")
    features.save(run)
    file = run.folder / "features.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    for change, message in (
        ({"version": 9}, "says format 'ngm-features' version 9; this release reads 'ngm-features' version 1"),
        ({"vocabulary": ["a"]}, "is damaged (1 words and 6 weights); train again"),
        ({"text": None}, "is damaged ('NoneType' object is not iterable); train again"),
        ({"read": "tea"}, "is damaged ('tea'); train again"),
    ):
        run.write("features.json", content | change)
        with pytest.raises(ValueError, match=exactly(f"{file} {message}")):
            Features.open(run)
    run.write("features.json", content)
    (run.folder / "features.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no features\.safetensors: training did not get that far"):
        Features.open(run)


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


def test_truth_is_read_alike_from_parquet_and_from_text(tmp_path: Path) -> None:
    flags = pd.DataFrame({"a": [1.0, 2.0, 3.0], "flag": [True, False, True]})
    flags.assign(flag=["true", "false", "true"]).to_csv(tmp_path / "flags.csv", index=False)
    numbers, x = Features.fit(read_table(flags), columns=["a", "flag"], read="columns")
    (piece,) = open_stream(tmp_path / "flags.csv").pieces(numbers.holds, 10)
    np.testing.assert_allclose(numbers.rows(piece), x)
    words, x = Features.fit(read_table(tmp_path / "flags.csv"), columns=["a", "flag"], read="columns")
    np.testing.assert_allclose(words.rows(read_table(flags)), x)
