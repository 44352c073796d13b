"""Graphs that join each text to the texts most like it: by TF-IDF, by averaged word vectors, or by an encoder."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._arguments import flag, whole_number
from ngm.build.exact import Step
from ngm.build.knn import neighbor_graph
from ngm.build.neighbors import nearest_neighbors
from ngm.io.table_columns import row_numbers
from ngm.build.sparse import sparse_neighbors
from ngm.build.weights import Join, check_edge_options
from ngm.choices import Metric, Search, Weight
from ngm.graph import Graph
from ngm.text.word_vectors import WordVectors, document_vectors
from ngm.text.words import checked_texts, tfidf_rows, words_of

Encoder = Callable[[list[str]], ArrayLike | Tensor]


def _none() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Rows:
    """What is to be joined, as rows of numbers, and which of them are left without edges.

    Args:
        x: (n, d) sparse TF-IDF rows, or vectors; zeros where nothing is known of a text.
        empty: (e,) rows of the texts without a letter or digit.
        unknown: (u,) rows of the other texts without a known word.
        coverage: Share of all words that have a vector; None where no word vectors are used.
    """

    x: sp.csr_array | NDArray[np.generic]
    empty: NDArray[np.int64] = field(default_factory=_none)
    unknown: NDArray[np.int64] = field(default_factory=_none)
    coverage: float | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.x.shape[0])

    def left_out(self) -> list[str]:
        """Which texts get no edges, and why, in words."""
        return [
            f"{len(rows):,} of {len(self):,} texts left without edges: {why} ({row_numbers(rows)})"
            for rows, why in ((self.empty, "empty"), (self.unknown, "no known word"))
            if len(rows)
        ]


def text_graph(
    texts: Iterable[object],
    k: int = 5,
    *,
    vectors: WordVectors | str | Path | None = None,
    encoder: Encoder | None = None,
    idf: bool = False,
    metric: Metric = "cosine",
    join: Join = "union",
    weight: Weight = "similarity",
    max_degree: int | None = None,
    search: Search = "auto",
    recall: float = 0.98,
    seed: int = 0,
    on_step: Step | None = None,
) -> Graph:
    """Joins each text to its `k` most similar texts.

    Texts are compared by TF-IDF (`ngm.text.tfidf_rows`), or by the mean of their word vectors, or by what `encoder`
    makes of them.

    Args:
        texts: n texts; None and NaN are empty texts.
        k: Neighbors chosen per text; a text may get more when others choose it.
        vectors: Word vectors, or a file of them (`WordVectors.read`), of which only the words needed are read.
        encoder: Function from a list of texts to a vector for each, (n, d), such as a sentence encoder's `encode`.
        idf: Whether rare words count more in the mean of word vectors.
        metric: As for `knn_graph`; TF-IDF rows are compared by "cosine" only.
        join: As for `knn_graph`.
        weight: As for `knn_graph`.
        max_degree: As for `knn_graph`.
        search: As for `knn_graph`; TF-IDF rows are always searched exactly.
        recall: As for `knn_graph`.
        seed: As for `knn_graph`.
        on_step: As for `knn_graph`.

    Returns:
        Undirected graph on n nodes. Texts without a word, or without a known word, have no edges, and a warning says
        which they are.

    >>> text_graph(["red apple", "green apple", "old car", "new car"], k=1).edges.tolist()
    [[0, 1], [2, 3]]
    """
    check_edge_options(metric, join, weight, max_degree)
    rows = text_rows(texts, vectors=vectors, encoder=encoder, idf=idf)
    if encoder is not None:
        _check_encoded(rows, metric)
    for line in rows.left_out():
        warnings.warn(line, UserWarning, stacklevel=2)
    return rows_graph(
        rows,
        k,
        metric=metric,
        join=join,
        weight=weight,
        max_degree=max_degree,
        search=search,
        recall=recall,
        seed=seed,
        on_step=on_step,
    ).graph


def text_rows(
    texts: Iterable[object],
    *,
    vectors: WordVectors | str | Path | None = None,
    encoder: Encoder | None = None,
    idf: bool = False,
) -> Rows:
    """Turns texts into the rows that `text_graph` compares; its arguments are explained there."""
    if vectors is not None and encoder is not None:
        raise ValueError("both vectors and an encoder are given; choose one")
    if flag("idf", idf) and vectors is None:
        raise ValueError("idf weighs word vectors and none are given; TF-IDF weighs by it as it is")
    known = checked_texts(texts)
    silent = np.array([not words_of(text) for text in known], dtype=bool)
    if not len(known) or silent.all():
        raise ValueError(f"none of the {len(known):,} texts has a letter or digit; give texts with words in them")
    empty = np.flatnonzero(silent)
    if encoder is not None:
        return Rows(_encoded(known, silent, encoder), empty)
    if vectors is None:
        return Rows(tfidf_rows(known), empty)
    if not isinstance(vectors, WordVectors):
        vectors = WordVectors.read(vectors, keep={word for text in known for word in words_of(text)})
    means = document_vectors(known, vectors, idf)
    unknown = np.setdiff1d(np.flatnonzero(~means.vectors.any(axis=1)), empty)
    if len(unknown) + len(empty) == len(known):
        raise ValueError(f"none of the {len(known):,} texts has a known word; are the vectors of the same language?")
    return Rows(means.vectors, empty, unknown, means.coverage)


@dataclass(frozen=True, eq=False)
class Built:
    """A graph, and how well its neighbors were searched.

    Args:
        graph: The graph.
        recall: Share of the true neighbors that were found.
        sampled: Rows on which that was estimated; 0 where the search was exact.
    """

    graph: Graph
    recall: float
    sampled: int


def rows_graph(
    rows: Rows,
    k: int = 5,
    *,
    metric: Metric = "cosine",
    join: Join = "union",
    weight: Weight = "similarity",
    max_degree: int | None = None,
    search: Search = "auto",
    recall: float = 0.98,
    seed: int = 0,
    on_step: Step | None = None,
) -> Built:
    """Makes the graph of `text_graph`, whose arguments are explained there."""
    check_edge_options(metric, join, weight, max_degree)
    k = whole_number("k", k, least=1)
    used = np.setdiff1d(np.arange(len(rows)), np.concatenate([rows.empty, rows.unknown]))
    if len(used) < len(rows) and not 1 <= k < len(used):
        raise ValueError(
            f"k is {k} and {len(used):,} of {len(rows):,} texts have known words; k must be at least 1 and below that"
        )
    x = rows.x if len(used) == len(rows) else rows.x[used]
    if not sp.issparse(x):
        found = nearest_neighbors(x, k, metric, search=search, recall=recall, seed=seed, on_step=on_step)
    elif metric != "cosine":
        raise ValueError(f"metric is {metric!r}; sparse rows, such as TF-IDF, are compared by 'cosine'")
    elif search == "approximate":
        raise ValueError("search is 'approximate'; sparse rows, such as TF-IDF, are always searched exactly")
    else:
        found = sparse_neighbors(x, k, on_step)
    graph = neighbor_graph(found, join=join, weight=weight, max_degree=max_degree)
    return Built(Graph(len(rows), torch.from_numpy(used)[graph.edges], graph.weight), found.recall, found.sampled)


def _encoded(texts: list[str], silent: NDArray[np.bool_], encoder: Encoder) -> NDArray[np.float32]:
    """(n, d) what the encoder makes of the texts with words, and zeros for the others."""
    spoken = [text for text, nothing in zip(texts, silent, strict=True) if not nothing]
    given = encoder(spoken)
    found = np.asarray(given.detach().cpu() if isinstance(given, Tensor) else given, dtype=np.float32)
    if found.ndim != 2 or len(found) != len(spoken):
        raise ValueError(
            f"encoder gave shape {found.shape} for {len(spoken)} texts; it must give (n, d), a row for each"
        )
    x = np.zeros((len(texts), found.shape[1]), dtype=np.float32)
    x[~silent] = found
    return x


def _check_encoded(rows: Rows, metric: Metric) -> None:
    """Names the text whose vector cannot be compared: the search no longer knows which texts were left out."""
    spoken = np.setdiff1d(np.arange(len(rows)), rows.empty)
    x = rows.x[spoken]
    bad = spoken[~np.isfinite(x).all(axis=1)]
    if len(bad):
        raise ValueError(f"encoder gave NaN or infinity for text {bad[0]}; drop such texts")
    zero = spoken[~x.any(axis=1)]
    if metric == "cosine" and len(zero):
        raise ValueError(
            f"encoder gave zeros for text {zero[0]}, which have no direction; drop such texts or use metric='euclidean'"
        )
