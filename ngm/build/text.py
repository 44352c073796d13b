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
from ngm.build.knn import neighbor_graph
from ngm.build.neighbor_lists import Step
from ngm.build.neighbors import nearest_neighbors
from ngm.build.sparse import sparse_neighbors
from ngm.build.weights import Join, check_edge_options
from ngm.choices import Metric, Search, Weight
from ngm.graph import Graph
from ngm.io.table_columns import row_numbers
from ngm.text.word_vectors import WordVectors, document_vectors
from ngm.text.words import checked_texts, tfidf_rows, words_of

Encoder = Callable[[list[str]], ArrayLike | Tensor]


def _no_rows() -> NDArray[np.int64]:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TextRows:
    """Rows of numbers to join by similarity, and which of them get no edges.

    Args:
        x: (n, d) sparse TF-IDF rows, or vectors; zeros for texts without known words.
        empty: (e,) rows of the texts without a letter or digit.
        unknown: (u,) rows of the other texts without a known word.
        coverage: Share of all words that have a vector; None where no word vectors are used.
    """

    x: sp.csr_array | NDArray[np.generic]
    empty: NDArray[np.int64] = field(default_factory=_no_rows)
    unknown: NDArray[np.int64] = field(default_factory=_no_rows)
    coverage: float | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.x.shape[0])

    def skipped_texts(self) -> list[str]:
        """One message per reason for the texts that get no edges."""
        return [
            f"{len(rows):,} of {len(self):,} texts left without edges: {reason} ({row_numbers(rows)})"
            for rows, reason in ((self.empty, "empty"), (self.unknown, "no known word"))
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
    for line in rows.skipped_texts():
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
) -> TextRows:
    """Turns texts into the rows that `text_graph` compares; its arguments are explained there."""
    if vectors is not None and encoder is not None:
        raise ValueError("both vectors and an encoder are given; choose one")
    if flag("idf", idf) and vectors is None:
        raise ValueError("idf=True needs vectors=; TF-IDF uses it anyway")
    checked = checked_texts(texts)
    is_empty = np.array([not words_of(text) for text in checked], dtype=bool)
    if not len(checked) or is_empty.all():
        raise ValueError(f"none of the {len(checked):,} texts has a letter or digit; give texts with words in them")
    empty = np.flatnonzero(is_empty)
    if encoder is not None:
        return TextRows(_encode_nonempty(checked, is_empty, encoder), empty)
    if vectors is None:
        return TextRows(tfidf_rows(checked), empty)
    if not isinstance(vectors, WordVectors):
        vectors = WordVectors.read(vectors, keep={word for text in checked for word in words_of(text)})
    means = document_vectors(checked, vectors, idf)
    unknown = np.setdiff1d(np.flatnonzero(~means.vectors.any(axis=1)), empty)
    if len(unknown) + len(empty) == len(checked):
        raise ValueError(f"none of the {len(checked):,} texts has a known word; are the vectors of the same language?")
    return TextRows(means.vectors, empty, unknown, means.coverage)


@dataclass(frozen=True, eq=False)
class BuiltGraph:
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
    rows: TextRows,
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
    over_ranks: bool = False,
) -> BuiltGraph:
    """Makes the graph of `text_graph`, whose arguments are explained there; `over_ranks` is for `nearest_neighbors`."""
    check_edge_options(metric, join, weight, max_degree)
    k = whole_number("k", k, least=1)
    connected = np.setdiff1d(np.arange(len(rows)), np.concatenate([rows.empty, rows.unknown]))
    if len(connected) < len(rows) and not 1 <= k < len(connected):
        raise ValueError(
            f"k is {k} and {len(connected):,} of {len(rows):,} texts have known words; k must be at least 1 and "
            "below that"
        )
    x = rows.x if len(connected) == len(rows) else rows.x[connected]
    if not sp.issparse(x):
        neighbors = nearest_neighbors(
            x, k, metric, search=search, recall=recall, seed=seed, on_step=on_step, over_ranks=over_ranks
        )
    elif metric != "cosine":
        raise ValueError(f"metric is {metric!r}; sparse rows, such as TF-IDF, are compared by 'cosine'")
    elif search == "approximate":
        raise ValueError("search is 'approximate'; sparse rows, such as TF-IDF, are always searched exactly")
    else:
        neighbors = sparse_neighbors(x, k, on_step, over_ranks)
    graph = neighbor_graph(neighbors, join=join, weight=weight, max_degree=max_degree)
    return BuiltGraph(
        Graph(len(rows), torch.from_numpy(connected)[graph.edges], graph.weight), neighbors.recall, neighbors.sampled
    )


def _encode_nonempty(texts: list[str], is_empty: NDArray[np.bool_], encoder: Encoder) -> NDArray[np.float32]:
    """(n, d) encodings of the texts with words, and zeros for the others."""
    nonempty = [text for text, empty in zip(texts, is_empty, strict=True) if not empty]
    encoded = encoder(nonempty)
    vectors = np.asarray(encoded.detach().cpu() if isinstance(encoded, Tensor) else encoded, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(nonempty):
        raise ValueError(
            f"encoder gave shape {vectors.shape} for {len(nonempty)} texts; it must give (n, d), a row for each"
        )
    x = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
    x[~is_empty] = vectors
    return x


def _check_encoded(rows: TextRows, metric: Metric) -> None:
    """Raises for a text whose vector cannot be compared, by its number among all texts."""
    nonempty = np.setdiff1d(np.arange(len(rows)), rows.empty)
    x = rows.x[nonempty]
    not_finite = nonempty[~np.isfinite(x).all(axis=1)]
    if len(not_finite):
        raise ValueError(f"encoder gave NaN or infinity for text {not_finite[0]}; drop such texts")
    zero = nonempty[~x.any(axis=1)]
    if metric == "cosine" and len(zero):
        raise ValueError(
            f"encoder gave zeros for text {zero[0]}, which have no direction; drop such texts or use metric='euclidean'"
        )
