"""Sentence vectors without a hub: an encoder makes a vector of every text.

encoder     what all encoders have: `name`, `width`, `encode`, and a description that a run folder keeps
bert        the forward pass of BERT
minilm      all-MiniLM-L6-v2, from files of the package index
static      a table of its wordpieces, for very many texts
word_means  GloVe vectors averaged
tfidf       TF-IDF and a singular value decomposition, which need nothing but the texts
custom      a model or vectors of the user's
choice      one by name, or the best that is available
"""

from ngm.text.encoders.choice import ENCODERS, FITTED, Choice, choose_encoder, fit_encoder, open_encoder
from ngm.text.encoders.custom import GivenModel, GivenVectors
from ngm.text.encoders.encoder import Encoder, EncoderUnavailableError
from ngm.text.encoders.minilm import MiniLM
from ngm.text.encoders.static import StaticMiniLM
from ngm.text.encoders.tfidf import TfidfSVD
from ngm.text.encoders.word_means import WordMeans

__all__ = [
    "ENCODERS",
    "FITTED",
    "Choice",
    "Encoder",
    "EncoderUnavailableError",
    "GivenModel",
    "GivenVectors",
    "MiniLM",
    "StaticMiniLM",
    "TfidfSVD",
    "WordMeans",
    "choose_encoder",
    "fit_encoder",
    "open_encoder",
]
