"""Texts as rows of numbers: characters, tokens, TF-IDF, word vectors averaged; and texts that change by the epoch."""

from ngm.text.characters import quantize
from ngm.text.crop_augmentation import CroppedTexts
from ngm.text.ragged import Ragged
from ngm.text.synonym_augmentation import SynonymTexts
from ngm.text.thesaurus import Thesaurus
from ngm.text.tokens import Vocabulary, tokens_of, unknown_rows
from ngm.text.word_vectors import DocumentVectors, WordVectors, document_vectors
from ngm.text.words import tfidf_rows, words_of

__all__ = [
    "CroppedTexts",
    "DocumentVectors",
    "Ragged",
    "SynonymTexts",
    "Thesaurus",
    "Vocabulary",
    "WordVectors",
    "document_vectors",
    "quantize",
    "tfidf_rows",
    "tokens_of",
    "unknown_rows",
    "words_of",
]
