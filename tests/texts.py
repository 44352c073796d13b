"""Short texts of two topics, with synonyms and vectors of their words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm.text.thesaurus import Thesaurus
from ngm.text.word_vectors import WordVectors

TOPICS = {
    "pets": ["cat", "dog", "mat", "purr", "bark", "fur", "paw", "tail", "vet", "leash", "kitten", "puppy"],
    "money": ["stock", "bond", "share", "market", "fell", "rose", "bank", "trade", "price", "index", "fund", "yield"],
}
COMMON = ["the", "a", "on", "and", "of", "to", "in"]
SYNONYMS = Thesaurus({"cat": ["feline"], "dog": ["hound"], "stock": ["equity"], "bank": ["lender"]}, p=0.9)
VECTORS = WordVectors(["cat", "dog", "stock"], np.array([[1.0, 0.0, 2.0], [1.0, 1.0, 0.0], [0.0, 3.0, 1.0]]))
QUICK = {"epochs": 2, "batch_size": 16, "learning_rate": 0.01, "recipe": "paper"}


def make_texts(count: int, seed: int = 0) -> tuple[list[str], NDArray[np.object_]]:
    """Texts of eight words, of two topics in turn, and the topics."""
    rng = np.random.default_rng(seed)
    topics = np.array((["pets", "money"] * count)[:count], dtype=object)
    texts = [" ".join(rng.choice(TOPICS[t] if rng.random() < 0.7 else COMMON) for _ in range(8)) for t in topics]
    return texts, topics


TEXTS, TRUTH = make_texts(24)
Y = TRUTH.copy()
Y[12:] = None
