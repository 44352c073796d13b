"""Networks as specifications: the settings of a network, from which every `fit` makes a new one.

A specification has scikit-learn's `get_params` and `set_params`, so that `network__dropout` can be searched over, and
is itself a function (in_features, out_features) -> nn.Module. Where a setting is None, the recipe decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias, cast

from sklearn.base import BaseEstimator
from torch import nn

from ngm.choices import CharCNNSize, NetworkName, ScalingName
from ngm.networks.charcnn import CharCNNModule
from ngm.networks.ffnn import FFNNModule
from ngm.networks.lstm import LSTMModule
from ngm.parameters import PARAMETERS, with_settings
from ngm.text.readers import Reader
from ngm.text.thesaurus import Thesaurus
from ngm.text.tokens import Vocabulary
from ngm.text.word_vectors import WordVectors

HIDDEN = (250, 100)
MAX_WORDS = 20_000
Rows: TypeAlias = Literal["numbers", "characters", "words", "any"]


class Network(BaseEstimator, ABC):  # type: ignore[misc]
    """Settings of a network."""

    reads: ClassVar[Rows]  # what its rows are

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages and run folders call it."""

    @property
    def reads_texts(self) -> bool:
        """Whether x is a list of texts."""
        return self.reads in ("characters", "words")

    @abstractmethod
    def __call__(self, in_features: int, out_features: int) -> nn.Module:
        """A new network with random weights, drawn from torch's global generator.

        Args:
            in_features: Width of a row.
            out_features: Number of classes, labels or targets.
        """

    def settings(self) -> dict[str, object]:
        """The settings by name."""
        return {field.name: getattr(self, field.name) for field in fields(cast("type", type(self)))}

    def completed(self, settings: Mapping[str, object]) -> Network:
        """The same network with the settings that a recipe has completed; those that it does not have are left out."""
        return type(self)(**{name: settings.get(name, value) for name, value in self.settings().items()})


@with_settings
@dataclass(eq=False, repr=False)
class FFNN(Network):
    """Fully connected layers with ReLU between them, on rows of numbers (b, d), dense or sparse.

    Where `hidden` is None, it is that of the estimator.

    Args:
        {settings}

    >>> FFNN(hidden=(64,), dropout=0.5)(20, 3).output.out_features
    3
    """

    reads: ClassVar[Rows] = "numbers"

    hidden: Sequence[int] | None = None
    dropout: float | None = None
    input_dropout: float | None = None
    input_scaling: ScalingName | None = None

    @property
    def name(self) -> NetworkName:
        """See `Network`."""
        return "ffnn"

    def __call__(self, in_features: int, out_features: int) -> FFNNModule:
        """See `Network`; settings that are None: hidden layers of 250 and 100 units, no dropout, no scaling."""
        return FFNNModule(
            in_features,
            out_features,
            hidden=HIDDEN if self.hidden is None else tuple(self.hidden),
            dropout=self.dropout or 0.0,
            input_dropout=self.input_dropout or 0.0,
            input_scaling=self.input_scaling or "none",
        )


class TextNetwork(Network):
    """A network that reads texts."""

    vectors: str | Path | WordVectors | None
    thesaurus: str | Path | Thesaurus | None

    @abstractmethod
    def reader(self, texts: list[str]) -> Reader:
        """Reads texts as this network takes them.

        Args:
            texts: To train on, labelled or not.
        """

    @abstractmethod
    def for_texts(self, reader: Reader, out_features: int, vectors: WordVectors | None, seed: int) -> nn.Module:
        """A new network for what the reader gives.

        Args:
            reader: Has read the training texts.
            out_features: Number of classes, labels or targets.
            vectors: What words start from, where the network has words.
            seed: Draws vectors of words that have none.
        """


@with_settings
@dataclass(eq=False, repr=False)
class CharCNN(TextNetwork):
    """Convolutions over the characters of texts: the paper's tiny network, and those of Zhang, Zhao and LeCun (2015).

    Args:
        {settings}
    """

    reads: ClassVar[Rows] = "characters"

    size: CharCNNSize = "tiny"
    dropout: float | None = None
    crop: float | None = None
    thesaurus: str | Path | Thesaurus | None = None
    vectors: str | Path | WordVectors | None = None

    @property
    def name(self) -> str:
        """See `Network`."""
        return "charcnn" if self.size == "tiny" else f"charcnn-{self.size}"

    def __call__(self, in_features: int, out_features: int) -> CharCNNModule:
        """See `Network`; characters have one width, so the first argument does not matter."""
        if self.dropout is None:
            return CharCNNModule(out_features, self.size)
        return CharCNNModule(out_features, self.size, dropout=self.dropout)

    def reader(self, texts: list[str]) -> Reader:
        """See `TextNetwork`."""
        return Reader(self.name)

    def for_texts(self, reader: Reader, out_features: int, vectors: WordVectors | None, seed: int) -> nn.Module:
        """See `TextNetwork`."""
        return self(1, out_features)


@with_settings
@dataclass(eq=False, repr=False)
class LSTM(TextNetwork):
    """A recurrent network over the words of texts.

    Args:
        {settings}
    """

    reads: ClassVar[Rows] = "words"

    vectors: str | Path | WordVectors | None = None
    max_words: int = MAX_WORDS
    dropout: float | None = None
    crop: float | None = None
    thesaurus: str | Path | Thesaurus | None = None

    @property
    def name(self) -> NetworkName:
        """See `Network`."""
        return "lstm"

    def __call__(self, in_features: int, out_features: int) -> LSTMModule:
        """See `Network`; `in_features` is the number of words, padding and unknown words included."""
        return LSTMModule(in_features, out_features, dropout=self.dropout or 0.0)

    def reader(self, texts: list[str]) -> Reader:
        """See `TextNetwork`."""
        return Reader(self.name, Vocabulary.of(texts, self.max_words))

    def for_texts(self, reader: Reader, out_features: int, vectors: WordVectors | None, seed: int) -> nn.Module:
        """See `TextNetwork`."""
        words = cast(Vocabulary, reader.vocabulary)
        table = None if vectors is None else words.vectors(vectors, seed=seed)[0]
        dropout = self.dropout or 0.0
        return LSTMModule(len(words), out_features, width=reader.width, vectors=table, dropout=dropout)


@dataclass(eq=False, repr=False)
class CustomNetwork(Network):
    """A network that a function of the user makes.

    Args:
        function: (in_features, out_features) -> nn.Module.
    """

    reads: ClassVar[Rows] = "any"

    function: Callable[[int, int], nn.Module]

    @property
    def name(self) -> str:
        """See `Network`."""
        return f"function {getattr(self.function, '__name__', type(self.function).__name__)}"

    def settings(self) -> dict[str, object]:
        """None: they are inside the function."""
        return {}

    def completed(self, settings: Mapping[str, object]) -> CustomNetwork:
        """The network itself."""
        return self

    def __call__(self, in_features: int, out_features: int) -> nn.Module:
        """See `Network`."""
        if isinstance(self.function, nn.Module):
            raise ValueError(
                f"network is a {type(self.function).__name__} that is made already; give a function "
                "(in_features, out_features) -> nn.Module, so that every fit starts afresh"
            )
        network = self.function(in_features, out_features)
        if not isinstance(network, nn.Module):
            kind = type(network).__name__
            raise ValueError(f"network(in_features, out_features) returned a {kind}; return an nn.Module")
        return network


NETWORKS: dict[str, Callable[..., Network]] = {
    "ffnn": FFNN,
    "charcnn": lambda **settings: CharCNN("tiny", **settings),
    "charcnn-small": lambda **settings: CharCNN("small", **settings),
    "charcnn-large": lambda **settings: CharCNN("large", **settings),
    "lstm": LSTM,
}


def network_of(network: str | Callable[[int, int], nn.Module]) -> Network:
    """The specification of what was given as `network`: a name, a specification, or a function."""
    if isinstance(network, Network):
        return network
    if callable(network):
        return CustomNetwork(network)
    PARAMETERS["network"].check("network", network)
    return NETWORKS[network]()


def named_network(name: str, settings: Mapping[str, object]) -> Network:
    """A network by its name, with settings of any network by theirs; those that it does not have must be defaults.

    Args:
        name: See `NETWORKS`.
        settings: As the command line and run folders have them.
    """
    kind = NETWORKS[name]().settings()
    for setting, value in settings.items():
        if setting not in kind and value is not None and value != PARAMETERS[setting].default:
            users = [other for other in NETWORKS if setting in NETWORKS[other]().settings()]
            raise ValueError(f"{setting} is {value!r}, which is for {', '.join(users)}; network is {name!r}")
    return NETWORKS[name](**{setting: value for setting, value in settings.items() if setting in kind})


NETWORK_SETTINGS = tuple(dict.fromkeys(setting for make in NETWORKS.values() for setting in make().settings()))
