"""What `ngm train` reads: a table or a graph folder, the rows for the network, the graph over them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ngm.build.knn import knn_graph
from ngm.build.text import rows_graph, text_rows
from ngm.cli.progress import counted
from ngm.cli.training.checks import needs_vectors
from ngm.cli.training.encoding import Encoding, choose, texts_read_by
from ngm.cli.training.labels import Target, target_of
from ngm.cli.training.options import K, Told
from ngm.features import Features, Read, X
from ngm.graph import Graph
from ngm.io.files import is_graph_folder
from ngm.io.graph_data import GraphData, open_graph
from ngm.io.table_columns import column_texts
from ngm.io.tables import Table, read_table
from ngm.networks import TEXT_NETWORKS
from ngm.text.encoders import Choice, Encoder, TfidfSVD
from ngm.text.encoders.encoder import OnTexts
from ngm.text.words import words_of
from ngm.workflow.alignment import aligned
from ngm.workflow.label_columns import bad_lines, column_names


@dataclass(frozen=True)
class Joined:
    """A graph over the rows, and where it is from, in words."""

    graph: Graph
    origin: str


@dataclass(frozen=True, eq=False)
class Data:
    """All that was read.

    Args:
        table: A row for every node.
        label: Column of what is to be learned.
        target: What is to be learned.
        features: How x was made.
        x: n texts, or (n, d).
        joined: The graph, if there is one.
        id_column: Column of ids, if there is one.
        ids: (n,) ids.
        texts: What the rows say, where they are texts.
        encoding: Vectors of the texts, where they were made.
    """

    table: Table
    label: str
    target: Target
    features: Features
    x: X
    joined: Joined | None
    id_column: str | None
    ids: NDArray[np.generic] | None
    texts: list[str] | None
    encoding: Encoding | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.table)

    @property
    def graph(self) -> Graph | None:
        """The graph alone."""
        return None if self.joined is None else self.joined.graph

    @property
    def read_as(self) -> str:
        """What the network is given, in words."""
        width = self.features.width
        if self.features.kind == "text":
            return f"the texts of {', '.join(self.features.names)} themselves"
        if self.features.kind == "words":
            return f"{width:,} words of {', '.join(self.features.names)}, weighed by TF-IDF"
        if self.features.vectors is not None:
            parts = " and ".join(f"{part.width:,} of {part.name}" for part in self.features.vectors.encoders)
            return f"{width:,} numbers a text, of {', '.join(self.features.names)}: {parts}"
        if self.features.kind == "columns":
            return f"{width:,} numbers a row, of {', '.join(self.features.names)}"
        nodes = self.features.nodes
        return f"the graph itself: {width:,} numbers a node, by {'' if nodes is None else nodes.how}"

    @property
    def noun(self) -> str:
        """What rows are called."""
        return "texts" if self.texts is not None else "nodes" if self.features.kind == "graph" else "rows"

    @property
    def views(self) -> dict[str, NDArray[np.float32] | sp.csr_array]:
        """What teachers look at beside x."""
        if self.encoding is None or self.texts is None:
            return {}
        if self.features.vectors is not None:
            return self.features.vectors.views(cast("NDArray[np.float32]", self.x), self.texts)
        return {self.encoding.name: self.encoding.vectors}


def read_data(told: Told, settings: Mapping[str, object], trusted: bool = True, quiet: bool = False) -> Data:
    """Reads everything that training needs; what is odd is warned of.

    Args:
        told: What is where.
        settings: Of the estimator, those that were given.
        trusted: Whether the table was named on the command line; see `read_table`.
        quiet: Show no progress.
    """
    network, seed = cast("str | None", settings.get("network")), cast(int, settings.get("seed", 0))
    folder, table = _opened(told, trusted)
    for line in bad_lines(table):
        warnings.warn(line, UserWarning, stacklevel=1)
    label = told.label
    if label is None and folder is not None and folder.label_column in table.columns:
        label = folder.label_column
    read = _read(told, network, folder, table, label)
    if label is None:
        raise ValueError(f"give --label; the columns of {table.name} are {', '.join(table.columns)}")
    target = target_of(table, label, told)
    id_column = _id_column(told, folder, table)
    ids = None if id_column is None else table.column(id_column)
    names = column_names(told.text or told.columns or "", table) if read != "graph" else []
    _check_apart(told, label, names)
    joined = None if told.no_graph or folder is None else Joined(folder.graph, str(folder.folder))
    texts = column_texts(table, names) if told.text is not None else None
    needed = read != "text" or needs_vectors(told, settings, target.task)
    chosen = _chosen(told, texts, quiet) if texts is not None and needed else None
    if read == "vectors" and chosen is None:
        read = "words"
    with counted(texts_read_by(chosen), "texts", quiet) as progress:
        features, x = Features.fit(
            table,
            text=names if told.text is not None else (),
            columns=names if told.columns is not None else (),
            read=read,
            graph=None if read != "graph" or joined is None else joined.graph,
            ids=ids if read == "graph" else None,
            how=told.input,
            encoders=_side_by_side(chosen, texts, seed) if read == "vectors" else (),
            seed=seed,
            progress=progress,
        )
        encoding = None if chosen is None else _encoding(chosen, features, x, texts or [], progress)
    if joined is None and not told.no_graph:
        joined = _made(told, features, x, texts, encoding, seed)
    return Data(table, label, target, features, x, joined, id_column, ids, texts, encoding)


def _chosen(told: Told, texts: list[str], quiet: bool) -> Choice | None:
    """The encoder of the texts; None where words are all there is."""
    if not any(map(words_of, texts)):
        return None
    chosen = choose(told.encoder, texts, quiet)
    if chosen.encoder.name != "tfidf":
        return chosen
    if told.encoder is None:
        warnings.warn(f"texts are compared by their words alone: {chosen.reason}", UserWarning, stacklevel=2)
    return None


def _side_by_side(chosen: Choice | None, texts: list[str] | None, seed: int) -> list[Encoder]:
    """The encoder, and components of TF-IDF for words that it may not tell apart."""
    return [] if chosen is None else [chosen.encoder, TfidfSVD.fit(texts or [], seed=seed)]


def _encoding(chosen: Choice, features: Features, x: X, texts: list[str], progress: OnTexts) -> Encoding:
    """The vectors of the encoder alone, which x has in front where the network reads vectors."""
    if features.vectors is None:
        vectors = chosen.encoder.encode(texts, progress)
    else:
        vectors = cast("NDArray[np.float32]", x)[:, : chosen.encoder.width]
    return Encoding(chosen.encoder.name, chosen.reason, np.ascontiguousarray(vectors))


def _opened(told: Told, trusted: bool) -> tuple[GraphData | None, Table]:
    """The graph folder, if one is given as the source or by --graph, and the table."""
    source = told.source or ""
    if is_graph_folder(source):
        folder = open_graph(source)
        if folder.nodes is None:
            raise ValueError(f"{source} has no table of nodes, so no labels; give it to ngm ingest as --nodes")
        return folder, folder.nodes
    table = read_table(source, told.delimiter, told.header, trusted=trusted)
    if told.graph is None:
        return None, table
    data = open_graph(told.graph)
    return data, aligned(table, data, told.graph, told.id)


def _read(told: Told, network: str | None, folder: GraphData | None, table: Table, label: str | None) -> Read:
    """How rows are read; a graph folder with nothing but ids and labels is its own input."""
    if told.text is not None:
        return "text" if network in TEXT_NETWORKS else "words" if told.encoder == "tfidf" else "vectors"
    if told.columns is not None:
        return "columns"
    if told.input is not None:
        return "graph"
    known = (label, told.id, None if folder is None else folder.id_column)
    rest = [c for c in table.columns if c not in known]
    if folder is not None and not rest and not told.no_graph:
        return "graph"
    what = "--text or --columns" if folder is None else "--text, --columns or --input"
    more = "" if label is not None else ", and --label"
    raise ValueError(f"give {what}{more}; the columns of {table.name} are {', '.join(table.columns)}")


def _check_apart(told: Told, label: str, names: list[str]) -> None:
    """What is to be learned, and what marks validation rows, tells the network nothing."""
    among = "--text" if told.text is not None else "--columns"
    for option, column in (("--label", label), ("--validation-column", told.validation_column)):
        if column in names:
            raise ValueError(f"{option} is {column!r}, which is also among {among}; leave it out there")


def _id_column(told: Told, folder: GraphData | None, table: Table) -> str | None:
    """The column that was named, or that of the graph folder, or the one that is called id."""
    if told.id is not None:
        table.column(told.id)
        return told.id
    if folder is not None and folder.id_column in table.columns:
        return folder.id_column
    return next((column for column in table.columns if column.lower() == "id"), None)


def _made(
    told: Told, features: Features, x: X, texts: list[str] | None, encoding: Encoding | None, seed: int
) -> Joined:
    """A graph of the rows most like each other."""
    count = len(x) if isinstance(x, list) else int(x.shape[0])
    k = told.k if told.k is not None else max(min(K, count - 1), 1)
    if texts is None:
        vectors = all(holds == "numbers" for holds in features.holds.values())
        graph = knn_graph(cast("NDArray[np.float32]", x), k, "cosine" if vectors else "euclidean", seed=seed)
        return Joined(graph, f"the {k} most similar rows by {'cosine' if vectors else 'distance'}")
    by = "word vectors" if told.vectors else "TF-IDF" if encoding is None else encoding.name
    plain = encoding is None or told.vectors is not None
    rows = text_rows(texts, vectors=told.vectors) if encoding is None or plain else encoding.rows(texts)
    for line in rows.skipped_texts():
        warnings.warn(line, UserWarning, stacklevel=2)
    graph = rows_graph(rows, k, seed=seed).graph
    known = "" if rows.coverage is None else f" ({100 * rows.coverage:.1f} % of the words known)"
    return Joined(graph, f"the {k} most similar texts by {by}{known}")
