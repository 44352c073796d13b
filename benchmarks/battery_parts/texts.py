"""Texts as rows of numbers, the same for every method, and the kNN graph over the training texts.

A row is the MiniLM vector of a text and, beside it, its TF-IDF reduced to 200 numbers, both of length 1. Encoding takes
minutes, so vectors are kept in the work folder under a digest of the texts.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngm import Graph, knn_graph
from ngm.io.files import file_written_whole
from ngm.text.encoders import fit_encoder

INPUTS = "minilm-tfidf"  # part of the version of every cell on texts: other inputs, other cells
MINILM_WIDTH = 384


def vectors_of(
    name: str, texts: list[str], train: int, neighbors: int, cache: Path
) -> tuple[NDArray[np.float32], Graph]:
    """((n, 584) rows of all texts, graph of the training texts).

    Args:
        name: Of the data set; names files in the cache.
        texts: n training, validation and test texts in this order.
        train: How many of them are training texts; only from these TF-IDF is learned.
        neighbors: k of the graph, by cosine of the whole rows.
        cache: Folder for the vectors.
    """
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]
    file = cache / "vectors" / f"{name}-{INPUTS}-{train}-{digest}.npy"
    if not file.exists():
        parts = [fit_encoder(encoder, texts[:train]).encode(texts) for encoder in ("minilm", "tfidf")]
        with file_written_whole(file) as written, written.open("wb") as stream:
            np.save(stream, np.hstack(parts))
    rows: NDArray[np.float32] = np.load(file)
    return rows, knn_graph(rows[:train], k=neighbors)
