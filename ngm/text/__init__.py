"""Texts as rows of numbers: TF-IDF, or word vectors averaged."""

from ngm.text.vectors import DocumentVectors, WordVectors, document_vectors
from ngm.text.words import tfidf_rows, words_of

__all__ = ["DocumentVectors", "WordVectors", "document_vectors", "tfidf_rows", "words_of"]
