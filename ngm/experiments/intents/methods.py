"""The methods of the intent table: each gives development and test messages a score for every intent."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.build.knn import knn_graph
from ngm.build.text import text_graph
from ngm.datasets import Dataset, DatasetUnavailableError, few_labels
from ngm.graph import Graph
from ngm.metrics import mean_reciprocal_rank
from ngm.networks.lstm import LSTMModule
from ngm.objective import NGMLoss
from ngm.propagation.label_propagation import LabelPropagation
from ngm.sampling import EdgeLoader
from ngm.text.encoders import fit_encoder
from ngm.text.glove import glove
from ngm.text.ragged import Ragged
from ngm.text.tokens import Vocabulary, tokens_of
from ngm.text.word_vectors import WordVectors
from ngm.training import seeded, train

Ids = NDArray[np.int64]
Floats = NDArray[np.floating]
Edges = Literal["neighbors", "shuffled"]
Vectors = Literal["words", "sentences"]
NEIGHBORS = 10  # the paper's k
_PREDICTED_AT_ONCE = 512
_MU2_OF_SENTENCES = (0.0, 0.05, 0.2, 0.5, 1.0)  # neighbours are more alike, so they may weigh more


@dataclass(frozen=True, eq=False)
class Messages:
    """The data, and what is made of it once for all methods and seeds.

    Args:
        data: Messages in three parts.
        per_class: Number of labels of each intent, drawn by the seed; all where None.
    """

    data: Dataset
    per_class: int | None = None

    @cached_property
    def words(self) -> tuple[WordVectors, ...]:
        """GloVe vectors 50 and 100 wide: the latter lack words of one letter, such as "I", and cannot be fetched."""
        tokens, files = {token for text in self.data.texts for token in tokens_of(text)}, [glove(50)]
        with suppress(DatasetUnavailableError):
            files.append(glove(100))
        return tuple(WordVectors.read(file, keep=tokens) for file in files)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Words of all messages. Those that no training message has keep the vectors they came with."""
        return Vocabulary.of(self.data.texts)

    @cached_property
    def table(self) -> Tensor:
        """(V, 150) vectors that a network starts from; (V, 50) where only those are available."""
        return torch.cat([self.vocabulary.vectors(words)[0] for words in self.words], dim=1)

    def part(self, ids: Ids) -> list[str]:
        """Some of the messages."""
        return [self.data.texts[i] for i in ids]

    @cached_property
    def graph(self) -> Graph:
        """Each training message joined to the 10 most like it by cosine of averaged vectors; no others are in it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a few messages have no known word, and so no edges
            return text_graph(self.part(self.data.train), NEIGHBORS, vectors=self.words[0])

    @cached_property
    def sentence_graph(self) -> Graph:
        """The same by cosine of sentence vectors (MiniLM), which no network here reads: only the graph knows them."""
        texts = self.part(self.data.train)
        return knn_graph(fit_encoder("minilm", texts).encode(texts), NEIGHBORS)

    @cached_property
    def priors(self) -> dict[tuple[PropagatedTargets, bytes], NDArray[np.float32]]:
        """What linear models say of training messages, by model and labels: rows and seeds with the same share it."""
        return {}

    def edges_of(self, vectors: Vectors, edges: Edges, seed: int) -> Graph:
        """A graph; "shuffled" has its nodes renamed at random: the same degrees and weights, but no likeness behind."""
        graph = self.graph if vectors == "words" else self.sentence_graph
        if edges == "neighbors":
            return graph
        permutation = torch.from_numpy(np.random.default_rng([seed, 2]).permutation(graph.num_nodes))
        return Graph.from_edges(permutation[graph.edges], graph.weight, num_nodes=graph.num_nodes)

    def training_labels(self, seed: int) -> Ids:
        """(t,) intents of the training messages, -1 where they are hidden."""
        y = self.data.y[self.data.train]
        return y if self.per_class is None else few_labels(y, self.per_class, seed)


@dataclass(frozen=True)
class IntentScores:
    """What a method says.

    Args:
        validation: (v, C) scores of the development messages, higher for likelier.
        test: (s, C) scores of the test messages.
    """

    validation: Floats
    test: Floats


Scorer = Callable[[Messages, int], IntentScores]
"""(data, seed) -> scores."""


@dataclass(frozen=True)
class IntentMethod:
    """A row of the table.

    Args:
        name: As printed.
        candidates: By their settings in words; the development messages choose where there are several.
        few_label_candidates: The candidates where few labels are shown, if they are others.
        chance: Whether seeds differ where all labels are shown.
        published: MRR in the paper, on messages of its own.
    """

    name: str
    candidates: Mapping[str, Scorer]
    few_label_candidates: Mapping[str, Scorer] | None = None
    chance: bool = True
    published: float | None = None

    def candidates_for(self, messages: Messages) -> Mapping[str, Scorer]:
        """The candidates for some messages."""
        return (
            self.candidates
            if self.few_label_candidates is None or messages.per_class is None
            else self.few_label_candidates
        )


def random_order(messages: Messages, seed: int) -> IntentScores:
    """Ranks the intents at random."""
    rng, classes = np.random.default_rng([seed, 3]), len(messages.data.classes)
    return IntentScores(
        *(rng.random((len(ids), classes)) for ids in (messages.data.validation, messages.data.test)),
    )


def by_frequency(messages: Messages, seed: int) -> IntentScores:
    """Ranks the intents by how many training messages have them."""
    y = messages.training_labels(seed)
    share = np.bincount(y[y >= 0], minlength=len(messages.data.classes)) / (y >= 0).sum()
    return IntentScores(*(np.tile(share, (len(ids), 1)) for ids in (messages.data.validation, messages.data.test)))


@dataclass(frozen=True)
class TfidfRegression:
    """Logistic regression on TF-IDF of runs of tokens, marks such as `?` included.

    Args:
        longest: Tokens in a run, at most.
        penalty: C of scikit-learn.
    """

    longest: int
    penalty: float

    def __call__(self, messages: Messages, seed: int) -> IntentScores:
        """Learns from the labelled messages alone; how rare a run is, from all training messages."""
        y = messages.training_labels(seed)
        x, rows = self.rows(messages)
        model = self.fitted(x[y >= 0], y[y >= 0])
        parts = (messages.part(ids) for ids in (messages.data.validation, messages.data.test))
        return IntentScores(*(model.predict_proba(rows.transform(part)) for part in parts))

    def rows(self, messages: Messages) -> tuple[sp.csr_matrix, TfidfVectorizer]:
        """(t, runs) TF-IDF of the training messages, and what makes such rows of others."""
        rows = TfidfVectorizer(analyzer=self._runs, sublinear_tf=True)
        return rows.fit_transform(messages.part(messages.data.train)), rows

    def fitted(self, x: sp.csr_matrix, y: Ids) -> LogisticRegression:
        """The regression on labelled rows."""
        return LogisticRegression(C=self.penalty, max_iter=1000).fit(x, y)

    def _runs(self, text: str) -> list[str]:
        tokens = tokens_of(text)
        return [
            " ".join(tokens[start : start + length])
            for length in range(1, self.longest + 1)
            for start in range(len(tokens) - length + 1)
        ]


@dataclass(frozen=True)
class PropagatedTargets:
    """Targets by the paper's Eq. 2: label propagation over the graph, a linear model on runs of tokens as its prior.

    Labelled messages get the prior from models that did not see their label, so that it adds to the label.
    The weight of the neighbours is the one with the best held-out rank; 0 where neighbours do not help.

    Args:
        mu1: Weight of a message's own label.
        mu2: Weights of its neighbours to choose from.
        mu3: Weight of the linear model.
        prior: The linear model.
        folds: Parts in which labelled messages are held out.
    """

    mu1: float = 10.0
    mu2: tuple[float, ...] = (0.0, 0.05, 0.2, 0.5)
    mu3: float = 10.0
    prior: TfidfRegression = TfidfRegression(longest=3, penalty=10.0)
    folds: int = 5

    def targets(self, messages: Messages, graph: Graph, seed: int) -> Tensor:
        """(t, C) soft labels of every training message."""
        y = messages.training_labels(seed)
        cache_key = self, y.tobytes()
        if cache_key not in messages.priors:
            messages.priors[cache_key] = self.held_out(messages, y)
        prior = messages.priors[cache_key]
        mu2 = max(self.mu2, key=lambda mu2: self._held_out_rank(graph, y, prior, mu2))
        return torch.from_numpy(self.propagated(graph, y, prior, mu2))

    def held_out(self, messages: Messages, y: Ids) -> NDArray[np.float32]:
        """(t, C) class probabilities of every training message by linear models that did not see its label."""
        x, _ = self.prior.rows(messages)
        proba: NDArray[np.float32] = self.prior.fitted(x[y >= 0], y[y >= 0]).predict_proba(x).astype(np.float32)
        for visible, hidden in self._folds(y):
            proba[hidden] = self.prior.fitted(x[visible], y[visible]).predict_proba(x[hidden])
        return proba

    def propagated(self, graph: Graph, y: Ids, prior: NDArray[np.float32], mu2: float) -> NDArray[np.float32]:
        """(t, C) the solution of Eq. 2 for one weight of the neighbours."""
        if mu2 == 0:
            label = np.eye(prior.shape[1], dtype=np.float32)[y]
            label_share = np.where(y >= 0, self.mu1 / (self.mu1 + self.mu3), 0.0).astype(np.float32)[:, None]
            return label_share * label + (1 - label_share) * prior
        equation = LabelPropagation(mu1=self.mu1, mu2=mu2, mu3=self.mu3, prior=prior, tolerance=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # messages that no label reaches get the prior
            proba: NDArray[np.float32] = equation.fit(None, y, graph=graph).label_distributions_
        return proba

    def _held_out_rank(self, graph: Graph, y: Ids, prior: NDArray[np.float32], mu2: float) -> float:
        """Mean reciprocal rank of held-out labels."""
        ranks = []
        for _, hidden in self._folds(y):
            y_visible = y.copy()
            y_visible[hidden] = -1
            ranks.append(mean_reciprocal_rank(y[hidden], self.propagated(graph, y_visible, prior, mu2)[hidden]))
        return float(np.mean(ranks))

    def _folds(self, y: Ids) -> Iterator[tuple[Ids, Ids]]:
        """(visible, hidden) labelled messages of each fold; each is hidden once."""
        labeled = np.flatnonzero(y >= 0)
        for visible, hidden in StratifiedKFold(self.folds, shuffle=True, random_state=0).split(labeled, y[labeled]):
            yield labeled[visible], labeled[hidden]


@dataclass(frozen=True)
class LSTMRanker:
    """The paper's network, 2 layers of 100 with h at the last token, trained with the graph or without.

    Args:
        alpha: Of all kinds of edge; l2 between the states h of both ends.
        edges: Whether the graph joins neighbours or is shuffled.
        vectors: Which vectors' neighbours it joins.
        teacher: What the targets are; the labels where None.
        smoothing: Where the targets are the labels, the share of them that is spread over all intents.
        passes: The budget: as many batches as it takes to show each training message so many times, for every row of
            the table. Whole passes are run, and the best on the development messages is kept.
        batch_size: Edges in a batch, and a quarter as many labelled messages.
        dropout: See `LSTM`.
        learning_rate: Of Adam.
        average: See `train`.
    """

    alpha: float = 0.0
    edges: Edges = "neighbors"
    vectors: Vectors = "words"
    teacher: PropagatedTargets | None = None
    smoothing: float = 0.3
    passes: int = 16
    batch_size: int = 512
    dropout: float = 0.5
    learning_rate: float = 5e-3
    average: float = 0.995

    def steps(self, messages: Messages) -> int:
        """How many batches a training may take, at most."""
        return self.passes * -(-len(messages.data.train) // (self.batch_size // 4))

    def __call__(self, messages: Messages, seed: int) -> IntentScores:
        """Trains one network."""
        data = messages.data
        loader = self._loader(messages, seed)
        loss = NGMLoss(alpha_ll=self.alpha, alpha_lu=self.alpha, alpha_uu=self.alpha, distance="l2", scaling="mean")
        validation, test = (messages.vocabulary.read(messages.part(ids)) for ids in (data.validation, data.test))
        with seeded(seed):
            network = LSTMModule(
                len(messages.vocabulary), len(data.classes), dropout=self.dropout, vectors=messages.table
            )

        def evaluate(network: nn.Module) -> Mapping[str, float]:
            return {"mrr": mean_reciprocal_rank(data.y[data.validation], logits(network, validation))}

        train(
            network,
            loader,
            loss,
            epochs=max(1, self.steps(messages) // len(loader)),
            seed=seed,
            learning_rate=self.learning_rate,
            clip=1.0,
            evaluate=evaluate,
            ema_decay=self.average,
        )
        return IntentScores(logits(network, validation), logits(network, test))

    def _loader(self, messages: Messages, seed: int) -> EdgeLoader:
        graph = messages.edges_of(self.vectors, self.edges, seed)
        return EdgeLoader(
            messages.vocabulary.read(messages.part(messages.data.train)),
            self._smoothed(messages, seed) if self.teacher is None else self.teacher.targets(messages, graph, seed),
            graph if self.alpha else None,
            batch_size=self.batch_size if self.alpha else self.batch_size // 4,
            seed=seed,
        )

    def _smoothed(self, messages: Messages, seed: int) -> Tensor:
        """(t, C) labels, softened; rows of -1 where they are hidden."""
        y, classes = torch.from_numpy(messages.training_labels(seed)), len(messages.data.classes)
        soft = (1 - self.smoothing) * F.one_hot(y.clamp(min=0), classes) + self.smoothing / classes
        return torch.where(y[:, None] >= 0, soft, torch.tensor(-1.0))


def logits(network: nn.Module, tokens: Ragged) -> Floats:
    """(n, C) what the network makes of some messages."""
    network.eval()
    with torch.no_grad():
        parts = torch.split(torch.arange(len(tokens)), _PREDICTED_AT_ONCE)
        return torch.cat([network(tokens[part]) for part in parts]).numpy()


METHODS: dict[str, IntentMethod] = {
    "random": IntentMethod("Random", {"": random_order}, published=0.175),
    "frequency": IntentMethod("Frequency", {"": by_frequency}, chance=False, published=0.258),
    "tfidf": IntentMethod(
        "TF-IDF + logistic regression",
        {f"runs up to {n}, C = {c}": TfidfRegression(n, c) for n in (2, 3) for c in (3.0, 10.0, 30.0)},
        chance=False,
    ),
    "lstm": IntentMethod("LSTM", {"": LSTMRanker()}, published=0.276),
    "ngm": IntentMethod(
        "NGM-LSTM",
        {"alpha = 0.008": LSTMRanker(0.008)},
        few_label_candidates={"alpha = 0.03": LSTMRanker(0.03)},
        published=0.284,
    ),
    "shuffled": IntentMethod(
        "NGM-LSTM, graph shuffled",
        {"alpha = 0.008": LSTMRanker(0.008, "shuffled")},
        few_label_candidates={"alpha = 0.03": LSTMRanker(0.03, "shuffled")},
    ),
    "ours": IntentMethod("NGM (ours)", {"": LSTMRanker(teacher=PropagatedTargets())}),
    "ours-shuffled": IntentMethod(
        "NGM (ours), graph shuffled", {"": LSTMRanker(teacher=PropagatedTargets(), edges="shuffled")}
    ),
    "sentences": IntentMethod(
        "NGM (ours), graph of sentence vectors",
        {"": LSTMRanker(teacher=PropagatedTargets(mu2=_MU2_OF_SENTENCES), vectors="sentences")},
    ),
    "sentences-shuffled": IntentMethod(
        "NGM (ours), graph of sentence vectors shuffled",
        {"": LSTMRanker(teacher=PropagatedTargets(mu2=_MU2_OF_SENTENCES), vectors="sentences", edges="shuffled")},
    ),
}
