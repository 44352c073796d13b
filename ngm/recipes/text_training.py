"""What text networks are trained on: texts rewritten for each epoch, and soft labels where labels are few."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from ngm._input_checks import one_graph
from ngm.graph import Graph
from ngm.networks.input_scaling import Table
from ngm.recipes.problem import Problem
from ngm.recipes.soft_labels import soft_labels
from ngm.rows import Inputs
from ngm.text.crop_augmentation import CroppedTexts
from ngm.text.ragged import Ragged
from ngm.text.readers import Reader, Texts
from ngm.text.synonym_augmentation import SynonymTexts
from ngm.text.thesaurus import Thesaurus
from ngm.text.word_vectors import WordVectors, document_vectors
from ngm.text.words import tfidf_rows


def augmented_texts(
    texts: Texts,
    reader: Reader,
    thesaurus: str | Path | Thesaurus | None,
    crop: float,
    seed: int,
) -> Inputs:
    """Texts as the loader takes them: with other synonyms and other crops in every epoch.

    Args:
        texts: A text per node.
        reader: Has read them.
        thesaurus: Synonyms, or a file of them; None for the words as they are.
        crop: Largest part of a text to leave out.
        seed: Same seed, same synonyms and crops.
    """
    if thesaurus is None and not crop:
        return texts
    rows: Ragged | SynonymTexts = texts.rows
    if thesaurus is not None:
        synonyms = thesaurus if isinstance(thesaurus, Thesaurus) else Thesaurus.read(thesaurus)
        rows = SynonymTexts(texts.strings, synonyms, reader.read, seed)
    return CroppedTexts(rows, crop, seed) if crop else rows


def own_views(problem: Problem) -> dict[str, Table]:
    """Views of the nodes that teachers have without being given any.

    A table is a view itself; texts are TF-IDF rows and, where word vectors came with them, means of these. Other inputs
    are none.
    """
    texts, inputs = problem.texts, problem.inputs
    if texts is not None:
        words: dict[str, Table] = {"words": tfidf_rows(texts.strings)}
        if texts.vectors is not None:
            words["word vectors"] = document_vectors(texts.strings, texts.vectors, idf=True).vectors
        return words
    table = sp.issparse(inputs) or (isinstance(inputs, np.ndarray) and inputs.ndim == 2)
    return {"features": cast(Table, inputs)} if table else {}


def text_targets(
    texts: list[str],
    targets: Tensor,
    labeled: Tensor,
    graphs: Sequence[Graph],
    classes: int,
    word_vectors: WordVectors | None,
) -> tuple[Tensor, Tensor]:
    """The strong recipe's soft labels for texts: labels, neighbours and a linear model, weighed by Eq. 2.

    With word vectors, the linear model sees a text as the mean of its words' vectors, rare words counting more. Else
    labels are propagated over the graph alone, and only texts that they reach are told anything.

    Args:
        texts: n texts.
        targets: (n,) class numbers, or (n, C) shares.
        labeled: (n,) mask of the targets that may be learned from.
        graphs: Over the n texts; at least one with an edge.
        classes: C.
        word_vectors: For the linear model.

    Returns:
        ((n, C) shares, (n,) mask of the texts that have any).
    """
    vectors = None if word_vectors is None else document_vectors(texts, word_vectors, idf=True).vectors
    return soft_labels(vectors, targets, labeled, one_graph(graphs), classes)
