"""The methods of section 4.2: character networks on AG News, with and without a graph over the articles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ngm._processor import bfloat16_pays
from ngm.build import knn_graph
from ngm.datasets import Dataset, DatasetUnavailableError, Progress
from ngm.graph import Graph
from ngm.io.run_folder import Run
from ngm.metrics import accuracy
from ngm.networks.charcnn import CharCNNModule
from ngm.objective import NGMLoss
from ngm.recipes.soft_labels import soft_labels
from ngm.sampling import EdgeLoader
from ngm.text import WordVectors, document_vectors
from ngm.text.characters import quantize
from ngm.text.crop_augmentation import CroppedTexts
from ngm.text.glove import glove
from ngm.text.ragged import Ragged
from ngm.text.synonym_augmentation import SynonymTexts
from ngm.text.thesaurus import Thesaurus
from ngm.training import Epoch, History, seeded, train

Ids = NDArray[np.int64]
VALIDATION = 2000
NEIGHBORS = 5
BATCH = 128  # labelled articles in a step
VALIDATION_INTERVAL = 100  # steps between looks at the validation articles, at least
PATIENCE = 5  # looks without improvement; where texts are cut, accuracy rises for long, and all steps are done
AVERAGE = 0.998
_BATCH_ROWS = 256  # articles predicted at once


@dataclass(frozen=True)
class AgNewsMethod:
    """A row of the table.

    Args:
        name: As the table prints it.
        size: Of the character network.
        learn: From "labels", from labels and "edges" (the paper's Eq. 3), or from "soft labels" of all articles.
        alpha: Of all three kinds of edge.
        cut: Part of a text left out while training, at most.
        thesaurus: Whether synonyms are drawn while training.
        shuffled: Whether the graph's nodes are permuted: a control, which keeps degrees and nothing else.
        learning_rate: Of Adam.
        steps: At most; where texts are cut the network goes on learning for longer.
        epoch_steps: After which an epoch ends: validation articles are scored, and a checkpoint is written; all
            batches where None.
        published: The paper's accuracy.
    """

    name: str
    size: str = "tiny"
    learn: Literal["labels", "edges", "soft labels"] = "labels"
    alpha: float = 0.1
    cut: float = 0.0
    thesaurus: bool = False
    shuffled: bool = False
    learning_rate: float = 2e-3
    steps: int = 3000
    epoch_steps: int | None = None
    published: float | None = None

    @property
    def bfloat16(self) -> bool:
        """Whether products are in bfloat16: those of wide networks, where the processor has such products."""
        return self.size != "tiny" and bfloat16_pays()


@dataclass(eq=False)
class Articles:
    """AG News with a graph over its training and unlabelled articles; validation and test articles are not in it.

    Args:
        data: From `ngm.datasets.load("ag_news")`.
        progress: Called while word vectors are fetched.
    """

    data: Dataset
    progress: Progress | None = None

    @cached_property
    def validation(self) -> Ids:
        """Ids of labelled training articles that choose epochs and settings; the same for all rows and seeds."""
        count = min(VALIDATION, len(self.data.train) // 10)
        return np.sort(np.random.default_rng(0).permutation(self.data.train)[:count])

    @cached_property
    def nodes(self) -> Ids:
        """Ids of the articles in the graph."""
        not_training = np.concatenate([self.validation, self.data.test])
        return np.setdiff1d(np.arange(len(self.texts)), not_training)

    @cached_property
    def y(self) -> Ids:
        """Classes of the graph's articles, -1 where unknown."""
        return self.data.y[self.nodes]

    @cached_property
    def texts(self) -> list[str]:
        """All texts."""
        return [str(text) for text in self.data.x]

    @cached_property
    def codes(self) -> Ragged:
        """All texts as characters."""
        return quantize(self.texts)

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Means of the word vectors of the graph's articles, rare words counting more."""
        word_vectors = WordVectors.read(_glove(self.progress))
        return document_vectors([self.texts[i] for i in self.nodes], word_vectors, idf=True).vectors

    @cached_property
    def thesaurus(self) -> Thesaurus:
        """The one that is installed."""
        return Thesaurus.read()

    @cached_property
    def graph(self) -> Graph:
        """At most 5 neighbours for an article, by cosine: the paper's."""
        return knn_graph(self.vectors, NEIGHBORS, metric="cosine", max_degree=NEIGHBORS)

    @cached_property
    def near(self) -> Graph:
        """An edge wherever one of two articles is among the other's 5 nearest."""
        return knn_graph(self.vectors, NEIGHBORS, metric="cosine")

    def training_labels(self, labels: int | None, seed: int) -> Ids:
        """(n,) classes of the graph's articles with all but `labels` of them hidden, as many of each class."""
        if labels is None:
            return self.y
        rng, y_few = np.random.default_rng([seed, 1]), np.full(len(self.y), -1)
        for label, name in enumerate(self.data.classes):
            ids = np.flatnonzero(self.y == label)
            count = labels // len(self.data.classes)
            if count > len(ids):
                raise ValueError(f"{count} labelled articles of {name!r} are required, but there are {len(ids)}")
            y_few[rng.permutation(ids)[:count]] = label
        return y_few

    def accuracy(self, network: nn.Module, ids: Ids, bfloat16: bool = False) -> float:
        """Share of these articles that the network gives their class."""
        network.eval()
        codes = self.codes.take(torch.from_numpy(ids))
        batches = torch.split(torch.argsort(codes.lengths, stable=True), _BATCH_ROWS)
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            logits = torch.cat([network(codes[batch]) for batch in batches])
        order = torch.cat(batches).numpy()
        return accuracy(self.data.y[ids][order], logits.argmax(dim=1).numpy())


def fitted(
    articles: Articles, method: AgNewsMethod, labels: int | None, seed: int, steps: int, folder: Path | None = None
) -> tuple[nn.Module, History, int]:
    """Trains a method's network.

    Args:
        articles: The data.
        method: Which.
        labels: How many articles are labelled; all where None.
        seed: Draws labels, initial weights, batches, synonyms and cuts.
        steps: At most.
        folder: For a checkpoint after each epoch, from which a stopped training goes on to the same bits.

    Returns:
        (network with the weights that were best on validation articles, what happened, steps in an epoch).
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with seeded(seed):
        network = CharCNNModule(len(articles.data.classes), method.size)
    loader, loss = _loader_and_loss(articles, method, articles.training_labels(labels, seed), seed)

    length = min(len(loader), method.epoch_steps or len(loader))

    def evaluate(network: nn.Module) -> Epoch:
        return {"accuracy": articles.accuracy(network, articles.validation, method.bfloat16)}

    history = train(
        network,
        loader,
        loss,
        epochs=-(-steps // length),
        max_steps=length,
        seed=seed,
        learning_rate=method.learning_rate,
        bfloat16=method.bfloat16,
        evaluate=evaluate,
        patience=None if method.cut else max(PATIENCE, -(-PATIENCE * VALIDATION_INTERVAL // length)),
        ema_decay=AVERAGE,
        run=None if folder is None else Run(folder),
        resume=folder is not None,
    )
    if history.stopped == "interrupted":
        raise KeyboardInterrupt  # no score of an unfinished training
    return network, history, length


def scores(
    articles: Articles, method: AgNewsMethod, labels: int | None, seed: int, steps: int, folder: Path | None = None
) -> Mapping[str, float]:
    """Test accuracy first; then that on validation, and seconds and steps up to the epoch that was kept."""
    network, history, length = fitted(articles, method, labels, seed, steps, folder)
    epochs_used = history.epochs[: history.best_epoch + 1]
    return {
        "accuracy": articles.accuracy(network, articles.data.test, method.bfloat16),
        "validation": float(epochs_used[-1]["validation_accuracy"]),
        "seconds": sum(epoch["seconds"] for epoch in epochs_used),
        "steps": float(len(epochs_used) * length),
    }


def _loader_and_loss(articles: Articles, method: AgNewsMethod, y_train: Ids, seed: int) -> tuple[EdgeLoader, NGMLoss]:
    """What to learn, in batches, and at which cost."""
    y, labeled = torch.from_numpy(y_train), torch.from_numpy(y_train >= 0)
    plain_loss = NGMLoss(alpha_ll=0, alpha_lu=0, alpha_uu=0, scaling="mean")
    if method.learn == "labels":
        ids = labeled.nonzero()[:, 0]
        ids = ids.repeat(
            -(-VALIDATION_INTERVAL * BATCH // len(ids))
        )  # few labels several times, so that an epoch is worth a look
        x = _inputs(articles, method, ids, seed)
        return EdgeLoader(x, y[ids], [], batch_size=BATCH, seed=seed), plain_loss
    x = _inputs(articles, method, torch.arange(len(y)), seed)
    if method.learn == "soft labels":
        graph = _shuffled(articles.near) if method.shuffled else articles.near
        soft, labeled_soft = soft_labels(articles.vectors, y, labeled, graph, len(articles.data.classes))
        return EdgeLoader(x, soft, [], batch_size=BATCH, seed=seed, labeled=labeled_soft), plain_loss
    graph = _shuffled(articles.graph) if method.shuffled else articles.graph
    loss = NGMLoss(
        alpha_ll=method.alpha,
        alpha_lu=method.alpha,
        alpha_uu=method.alpha,
        distance="cross_entropy",
        scaling="mean",
    )
    # as many batches as the labelled articles alone have; where they are few, not all edges at once
    edges = min(-(-graph.num_edges * BATCH // int(labeled.sum())), 4 * BATCH)
    return EdgeLoader(x, y, [graph], batch_size=edges, seed=seed), loss


def _inputs(articles: Articles, method: AgNewsMethod, ids: Tensor, seed: int) -> Ragged | SynonymTexts | CroppedTexts:
    """Texts of some of the graph's articles as they are shown while training."""
    rows: Ragged | SynonymTexts = articles.codes.take(torch.from_numpy(articles.nodes)[ids])
    if method.thesaurus:
        texts = [articles.texts[articles.nodes[i]] for i in ids.tolist()]
        rows = SynonymTexts(texts, articles.thesaurus, quantize, seed)
    return CroppedTexts(rows, method.cut, seed) if method.cut else rows


def _shuffled(graph: Graph) -> Graph:
    """The same graph between other articles."""
    order = torch.from_numpy(np.random.default_rng(0).permutation(graph.num_nodes))
    return Graph.from_edges(order[graph.edges], graph.weight, graph.num_nodes)


def _glove(progress: Progress | None) -> Path:
    """The widest word vectors that are available."""
    try:
        return glove(100, progress)
    except DatasetUnavailableError:
        return glove(50, progress)
