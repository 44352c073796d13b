"""Chooses an encoder: by name, or the best that is available, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import torch

from ngm._spelling import nearest
from ngm.choices import EncoderName
from ngm.io.fetch import Progress
from ngm.text.encoders.custom import GivenModel, Model
from ngm.text.encoders.encoder import Arrays, Content, Encoder, EncoderUnavailableError, MissingPackageError
from ngm.text.encoders.minilm import PRECISIONS, MiniLM
from ngm.text.encoders.static import StaticMiniLM
from ngm.text.encoders.tfidf import TfidfSVD
from ngm.text.encoders.word_means import WordMeans

ENCODERS: tuple[str, ...] = get_args(EncoderName)
FITTED: tuple[str, ...] = ("minilm-static", "glove", "tfidf")
"""Those that learn weights of words from the training texts, so that they have arrays to keep."""

MINILM_UNAVAILABLE = (
    "MiniLM is not on this machine and cannot be fetched now; run 'ngm datasets --fetch minilm' with network access"
)

_CHARACTERS_A_SECOND = 15_000  # of one thread through MiniLM, on an ordinary machine
_MAX_SECONDS = 600  # seconds of encoding, from which on static vectors are taken


@dataclass(frozen=True, eq=False)
class Choice:
    """An encoder, and why it was taken.

    Args:
        encoder: Ready to encode.
        reason: In words.
    """

    encoder: Encoder
    reason: str


def fit_encoder(name: str, texts: Sequence[str], *, seed: int = 0, progress: Progress | None = None) -> Encoder:
    """Makes an encoder ready, fetching its files where they are not on this machine.

    Args:
        name: One of `ENCODERS`.
        texts: The training texts, labelled or not, by which "minilm-static", "glove" and "tfidf" weigh words.
        seed: For "tfidf".
        progress: Called with (name, bytes done, bytes in all) while files are fetched.

    >>> fit_encoder("tfidf", ["red apple", "green apple", "old car"]).encode(["apple"]).shape
    (1, 3)
    """
    if name not in ENCODERS:
        raise ValueError(f"there is no encoder {name!r}{nearest(name, ENCODERS)}; choose from {', '.join(ENCODERS)}")
    if name in PRECISIONS:
        return MiniLM.load(PRECISIONS[name], progress)
    if name == "minilm-static":
        return StaticMiniLM.fit(texts, progress)
    return WordMeans.fit(texts, progress) if name == "glove" else TfidfSVD.fit(texts, seed=seed)


def choose_encoder(texts: Sequence[str], *, seed: int = 0, progress: Progress | None = None) -> Choice:
    """The best encoder that is available: MiniLM, its static form for very many texts, else TF-IDF.

    Args:
        texts: The training texts, labelled or not.
        seed: For "tfidf".
        progress: Called with (name, bytes done, bytes in all) while files are fetched.
    """
    seconds = sum(map(len, texts)) / (_CHARACTERS_A_SECOND * torch.get_num_threads())
    too_many = seconds > _MAX_SECONDS
    try:
        encoder = fit_encoder("minilm-static" if too_many else "minilm", texts, progress=progress)
    except MissingPackageError as error:
        return Choice(TfidfSVD.fit(texts, seed=seed), str(error))
    except EncoderUnavailableError:
        return Choice(TfidfSVD.fit(texts, seed=seed), MINILM_UNAVAILABLE)
    slow = f"minilm would read {len(texts):,} texts for about {seconds / 60:.0f} minutes"
    return Choice(encoder, slow if too_many else "sentence vectors are the best start with few labels")


def open_encoder(
    content: Content, arrays: Arrays, *, model: Model | None = None, progress: Progress | None = None
) -> Encoder:
    """The encoder that `as_json` and `arrays` describe.

    Args:
        content: What `as_json` gave.
        arrays: What `arrays` gave.
        model: The user's model, where the encoder was one.
        progress: Called with (name, bytes done, bytes in all) while files are fetched.
    """
    name = str(content["encoder"])
    if name == "given":
        if model is None:
            raise ValueError(
                f"the vectors are those of {content['name']!r}, a model given in Python; give it as model="
            )
        return GivenModel(model, str(content["name"]))
    if name in PRECISIONS:
        return MiniLM.load(PRECISIONS[name], progress)
    if name == "minilm-static":
        return StaticMiniLM.open(arrays, progress)
    if name == "glove":
        return WordMeans.open(content, arrays, progress)
    if name == "tfidf":
        return TfidfSVD.open(content, arrays)
    raise ValueError(f"there is no encoder {name!r}; this release has {', '.join(ENCODERS)}")
