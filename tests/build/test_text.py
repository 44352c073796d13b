"""Texts straight to a graph."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from ngm import Graph, knn_graph
from ngm.build import text as text_module
from ngm.build.neighbors import Neighbors, nearest_neighbors
from ngm.build.space import Metric
from ngm.build.sparse import sparse_graph
from ngm.build.text import rows_graph, text_graph, text_rows
from ngm.text import WordVectors, document_vectors, tfidf_rows

TEXTS = [
    "the cat sat on the mat",
    "a cat and a dog",
    "dogs bark, cats purr",
    "stocks fell on Monday",
    "Monday: stocks rose",
    "the market fell",
]
PETS = WordVectors(["cat", "dog", "market", "stocks"], np.array([[1.0, 0.1], [1.0, 0.2], [0.1, 1.0], [0.2, 1.0]]))


def weights(graph: Graph) -> dict[tuple[int, int], float]:
    return {(u, v): w for (u, v), w in zip(graph.edges.tolist(), graph.weight.tolist(), strict=True)}


def letters(texts: list[str]) -> np.ndarray:
    """An encoder of a kind: how often each letter is there."""
    return np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], dtype=np.float64)


def test_without_vectors_texts_are_joined_by_tfidf() -> None:
    assert weights(text_graph(TEXTS, 2)) == weights(sparse_graph(tfidf_rows(TEXTS), 2))


def test_with_vectors_texts_are_joined_by_the_means_of_their_words() -> None:
    texts = ["cat dog", "a cat", "market", "stocks market", "dog"]
    for idf in (False, True):
        expected = knn_graph(document_vectors(texts, PETS, idf).vectors, 2)
        assert weights(text_graph(texts, 2, vectors=PETS, idf=idf)) == weights(expected)


def test_a_file_of_vectors_does_as_well_as_vectors(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", words=np.array(PETS.words), vectors=PETS.vectors.astype(np.float32))
    texts = ["cat dog", "a CAT", "market", "stocks market", "dog"]
    assert weights(text_graph(texts, 2, vectors=tmp_path / "v.npz")) == weights(text_graph(texts, 2, vectors=PETS))


@pytest.mark.parametrize("form", [np.asarray, torch.tensor, np.ndarray.tolist], ids=["numpy", "torch", "list"])
def test_an_encoder_of_one_s_own_is_taken_at_its_word(form: type) -> None:
    found = text_graph(TEXTS, 2, encoder=lambda texts: form(letters(texts)))
    assert weights(found) == pytest.approx(weights(knn_graph(letters(TEXTS), 2)), rel=1e-5)


def test_the_settings_of_the_graph_are_passed_on() -> None:
    settings = {"join": "mutual", "weight": "binary", "max_degree": 2}
    by_words = text_graph(TEXTS, 3, **settings)  # type: ignore[arg-type]
    assert weights(by_words) == weights(sparse_graph(tfidf_rows(TEXTS), 3, **settings))  # type: ignore[arg-type]
    by_letters = text_graph(TEXTS, 3, encoder=letters, metric="euclidean", **settings)  # type: ignore[arg-type]
    assert weights(by_letters) == weights(knn_graph(letters(TEXTS), 3, "euclidean", **settings))  # type: ignore[arg-type]


def test_the_settings_of_the_search_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def noted(x: np.ndarray, k: int, metric: Metric, **settings: object) -> Neighbors:
        given.update(settings)
        return nearest_neighbors(x, k, metric)

    monkeypatch.setattr(text_module, "nearest_neighbors", noted)
    settings = {"search": "approximate", "recall": 0.9, "seed": 3, "on_step": print}
    text_graph(TEXTS, 2, encoder=letters, **settings)  # type: ignore[arg-type]
    assert given == {**settings, "over_ranks": False}


GAPS = ["cat dog", "", "dog cat cat", "unheard of", None, "market", "stocks", "!?"]


def test_texts_without_known_words_are_left_alone_and_named() -> None:
    with pytest.warns(UserWarning, match="left without edges") as told:
        graph = text_graph(GAPS, 1, vectors=PETS)
    assert [str(warning.message) for warning in told] == [
        "3 of 8 texts left without edges: empty (rows 1, 4, 7)",
        "1 of 8 texts left without edges: no known word (row 3)",
    ]
    assert graph.num_nodes == 8
    assert graph.edges.tolist() == [[0, 2], [5, 6]]


def test_what_is_left_alone_changes_nothing_for_the_others() -> None:
    kept = [0, 2, 5, 6]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with_gaps = text_graph(GAPS, 2, vectors=PETS)
    without = text_graph([GAPS[row] for row in kept], 2, vectors=PETS)
    assert weights(with_gaps.subgraph(kept)) == weights(without)
    assert with_gaps.num_edges == without.num_edges


def test_many_rows_are_shown_by_the_first_five() -> None:
    rows = text_rows([*TEXTS, *[""] * 9])
    assert rows.skipped_texts() == ["9 of 15 texts left without edges: empty (rows 6, 7, 8, 9, 10, ...)"]


def test_an_encoder_is_not_asked_about_empty_texts() -> None:
    asked: list[list[str]] = []

    def encoder(texts: list[str]) -> np.ndarray:
        asked.append(texts)
        return letters(texts)

    with pytest.warns(UserWarning, match=r"^1 of 4 texts left without edges: empty \(row 1\)$"):
        graph = text_graph(["aab", " ", "abb", "xyz"], 1, encoder=encoder)
    assert asked == [["aab", "abb", "xyz"]]
    assert graph.degree[1] == 0


def test_words_that_cancel_out_leave_a_text_unknown() -> None:
    opposite = WordVectors(["up", "down", "left"], np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0]]))
    rows = text_rows(["up down", "up", "left"], vectors=opposite)
    assert rows.unknown.tolist() == [0]


def test_nothing_to_go_by_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^none of the 2 texts has a letter or digit; give texts with words in them$"):
        text_graph(["", "?"], 1)
    with pytest.raises(ValueError, match=r"^none of the 0 texts has a letter or digit"):
        text_graph([], 1)
    message = r"^none of the 3 texts has a known word; are the vectors of the same language\?$"
    with pytest.raises(ValueError, match=message):
        text_graph(["le chat", "un chien", ""], 1, vectors=PETS)


def test_k_must_lie_below_the_number_of_texts_with_words() -> None:
    with pytest.raises(
        ValueError, match=r"^k is 6 and x has 6 rows; k must be at least 1 and below the number of rows$"
    ):
        text_graph(TEXTS, 6)
    message = r"^k is 4 and 4 of 8 texts have known words; k must be at least 1 and below that$"
    with pytest.warns(UserWarning, match="left without edges"), pytest.raises(ValueError, match=message):
        text_graph(GAPS, 4, vectors=PETS)


def test_settings_that_do_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^both vectors and an encoder are given; choose one$"):
        text_graph(TEXTS, 1, vectors=PETS, encoder=letters)
    with pytest.raises(ValueError, match=r"^idf=True needs vectors=; TF-IDF uses it anyway$"):
        text_graph(TEXTS, 1, idf=True)
    message = r"^metric is 'euclidean'; sparse rows, such as TF-IDF, are compared by 'cosine'$"
    with pytest.raises(ValueError, match=message):
        text_graph(TEXTS, 1, metric="euclidean")
    message = r"^search is 'approximate'; sparse rows, such as TF-IDF, are always searched exactly$"
    with pytest.raises(ValueError, match=message):
        text_graph(TEXTS, 1, search="approximate")


def test_an_encoder_must_give_a_row_per_text() -> None:
    message = r"^encoder gave shape \(26, 6\) for 6 texts; it must give \(n, d\), a row for each$"
    with pytest.raises(ValueError, match=message):
        text_graph(TEXTS, 1, encoder=lambda texts: letters(texts).T)


def test_a_text_that_cannot_be_compared_is_named_by_its_own_row() -> None:
    texts = ["", "", "a b", "ccc", "b", "a"]

    def encoder(value: float) -> Callable[[list[str]], np.ndarray]:
        return lambda texts: np.array([[value] * 3 if text == "ccc" else [1.0, len(text), 2.0] for text in texts])

    zero = r"^encoder gave zeros for text 3, which have no direction; drop such texts or use metric='euclidean'$"
    with pytest.raises(ValueError, match=zero):
        text_graph(texts, 1, encoder=encoder(0.0))
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"^encoder gave NaN or infinity for text 3; drop such texts$"):
            text_graph(texts, 1, encoder=encoder(value), metric="euclidean")
    with pytest.warns(UserWarning, match=r"^2 of 6 texts left without edges: empty \(rows 0, 1\)$"):
        assert text_graph(texts, 1, encoder=encoder(0.0), metric="euclidean").degree[3] >= 1


def test_settings_are_checked_before_an_encoder_is_asked() -> None:
    for settings in ({"join": "both"}, {"weight": "cosine"}, {"max_degree": 0}):
        with pytest.raises(ValueError, match=f"^{next(iter(settings))} is "):
            text_graph(TEXTS, 1, encoder=lambda texts: pytest.fail("asked"), **settings)
    for settings in ({"join": "both"}, {"weight": "cosine"}, {"max_degree": 0}):
        with pytest.raises(ValueError, match=f"^{next(iter(settings))} is "):
            rows_graph(text_rows(TEXTS), len(TEXTS), **settings)  # k is wrong too


NEWS = Path(os.environ.get("NGM_DATA", "")) / "ag_news" / "train_partial.csv"
GLOVE = Path(os.environ.get("NGM_DATA", "")) / "vectors" / "glove6b_50d_pruned_f16.npz"


@pytest.mark.skipif(not (NEWS.is_file() and GLOVE.is_file()), reason="AG News and GloVe are not here: set NGM_DATA")
def test_news_are_joined_to_news_of_their_class() -> None:
    with NEWS.open(encoding="utf-8", newline="") as lines:
        rows = [row for row, _ in zip(csv.reader(lines), range(3000), strict=False)]
    topic, texts = np.array([row[0] for row in rows]), [f"{row[1]} {row[2]}" for row in rows]
    same = {}
    for name, vectors in (("words", None), ("vectors", GLOVE)):
        ends = text_graph(texts, 5, vectors=vectors).edges.numpy()
        same[name] = float((topic[ends[:, 0]] == topic[ends[:, 1]]).mean())
    assert same["vectors"] > same["words"] > 3 * 0.25 * 0.9  # chance is one in four
