"""Texts as rows of numbers, the same for every method, and the kNN graph over the training texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from ngm import Graph, sparse_graph

INPUTS = "tfidf"  # part of the version of every cell on texts: other inputs, other cells


def vectors_of(name: str, texts: list[str], train: int, neighbors: int, cache: Path) -> tuple[sp.csr_matrix, Graph]:
    """(rows of all texts, graph of the training texts).

    Args:
        name: Of the data set; names files in the cache.
        texts: Training, validation and test texts in this order.
        train: How many of them are training texts; only these are looked at to make words into columns.
        neighbors: k of the graph.
        cache: Folder for vectors that take long to compute.
    """
    words = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2), max_features=20_000)
    words.fit(texts[:train])
    rows = sp.csr_matrix(words.transform(texts), dtype=np.float32)
    return rows, _graph(rows[:train], neighbors)


def _graph(rows: sp.csr_matrix, neighbors: int) -> Graph:
    """A text without a word of the others is left alone; `sparse_graph` takes no empty rows."""
    ids = np.flatnonzero(np.diff(rows.indptr))
    found = sparse_graph(rows[ids], k=neighbors)
    return Graph.from_edges(ids[found.edges.numpy()], found.weight, num_nodes=rows.shape[0])
