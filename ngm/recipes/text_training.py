"""What text networks are trained on: texts rewritten for each epoch, and soft labels where labels are few."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch

from ngm.networks.input_scaling import Table
from ngm.recipes.label_matrix import Mask, Targets
from ngm.recipes.node_views import NodeViews
from ngm.recipes.soft_labels import soft_labels
from ngm.recipes.stacking import TeacherPreset
from ngm.recipes.teachers import Prediction
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


def own_views(inputs: Inputs) -> dict[str, Table]:
    """A table as a view of the nodes; other inputs are none.

    Args:
        inputs: A row per node.
    """
    table = sp.issparse(inputs) or (isinstance(inputs, np.ndarray) and inputs.ndim == 2)
    return {"features": cast(Table, inputs)} if table else {}


def text_views(texts: list[str], vectors: WordVectors | None) -> dict[str, Table]:
    """Views of texts: TF-IDF rows and, where there are word vectors, means of these.

    Args:
        texts: n texts.
        vectors: Of their words.
    """
    return {"words": tfidf_rows(texts), **word_vector_view(texts, vectors)}


def word_vector_view(texts: list[str], vectors: WordVectors | None) -> dict[str, Table]:
    """The mean vector of each text's words, rare ones counting more; no view where there are no vectors."""
    return {} if vectors is None else {"word vectors": document_vectors(texts, vectors, idf=True).vectors}


def propagated_labels(views: NodeViews, targets: Targets, labeled: Mask) -> Iterator[Prediction]:
    """The one teacher of the strong recipe for texts: labels, neighbours and a linear model, weighed by Eq. 2.

    The linear model is of the first view, such as `word_vector_view`. Without one, labels are propagated over the graph
    alone, and nodes that they do not reach have a row of zeros.

    Args:
        views: Of the texts; the first graph is used.
        targets: Labels.
        labeled: (n,) mask of those that may be learned from.
    """
    vectors = next(iter(views.features.values()), None)
    values, known = torch.from_numpy(targets.values), torch.from_numpy(labeled)
    proba, reached = soft_labels(vectors, values, known, views.whole_graph(0).graph, targets.num_classes)
    prior = "" if vectors is None else f", with a linear model of {next(iter(views.features))} as prior"
    words = f"labels spread over the edges{prior} (Eq. 2)"
    yield Prediction("propagation", words, np.where(reached[:, None].numpy(), proba.numpy(), np.float32(0)), graph=0)


TEXT_PRESET = TeacherPreset(propagated_labels, scored=False, clamped=False)
