"""What a training reads: a table or a graph folder, the rows for the network, the graph over them."""

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
from ngm.choices import TEXT_NETWORKS
from ngm.features import Features, Read, X
from ngm.graph import Graph
from ngm.io.files import is_graph_folder
from ngm.io.graph_data import GraphData, open_graph
from ngm.io.table_columns import column_texts
from ngm.io.tables import Table, read_table
from ngm.text.encoders import Choice, Encoder, TfidfSVD
from ngm.text.encoders.encoder import OnTexts
from ngm.text.words import words_of
from ngm.workflow.alignment import aligned
from ngm.workflow.checks import needs_vectors
from ngm.workflow.label_columns import bad_lines, column_names
from ngm.workflow.monitor import Monitor
from ngm.workflow.options import K, TrainOptions
from ngm.workflow.target_column import Target, read_target
from ngm.workflow.text_encoding import TextEncoding, choose, reading_description


@dataclass(frozen=True)
class RowGraph:
    """A graph over the rows, and where it is from, in words."""

    graph: Graph
    origin: str


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The rows, their targets and the graph over them.

    Args:
        table: A row for every node.
        label: Column to learn.
        target: Its values.
        features: How x was made.
        x: n texts, or (n, d).
        row_graph: The graph, if there is one.
        id_column: Column of ids, if there is one.
        ids: (n,) ids.
        texts: (n,) texts of the rows, where they are texts.
        encoding: Vectors of the texts, where they were made.
    """

    table: Table
    label: str
    target: Target
    features: Features
    x: X
    row_graph: RowGraph | None
    id_column: str | None
    ids: NDArray[np.generic] | None
    texts: list[str] | None
    encoding: TextEncoding | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.table)

    @property
    def graph(self) -> Graph | None:
        """The graph alone."""
        return None if self.row_graph is None else self.row_graph.graph

    @property
    def description(self) -> str:
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


def read_data(
    options: TrainOptions, settings: Mapping[str, object], trusted: bool = True, monitor: Monitor | None = None
) -> TrainingData:
    """Reads everything that training needs, and warns of what is unusual in it.

    Args:
        options: What is where.
        settings: Of the estimator, those that were given.
        trusted: Whether the user named the table; see `read_table`.
        monitor: Is options of downloads and of texts that are encoded.
    """
    monitor = monitor or Monitor()
    network, seed = cast("str | None", settings.get("network")), cast(int, settings.get("seed", 0))
    folder, table = _open(options, trusted)
    for line in bad_lines(table):
        warnings.warn(line, UserWarning, stacklevel=1)
    label = options.label
    if label is None and folder is not None and folder.label_column in table.columns:
        label = folder.label_column
    kind = _input_kind(options, network, folder, table, label)
    if label is None:
        raise ValueError(f"give --label; the columns of {table.name} are {', '.join(table.columns)}")
    target = read_target(table, label, options)
    id_column = _id_column(options, folder, table)
    ids = None if id_column is None else table.column(id_column)
    names = column_names(options.text or options.columns or "", table) if kind != "graph" else []
    _check_apart(options, label, names)
    row_graph = None if options.no_graph or folder is None else RowGraph(folder.graph, str(folder.folder))
    texts = column_texts(table, names) if options.text is not None else None
    needed = kind != "text" or needs_vectors(options, settings)
    chosen = _choose_encoder(options, texts, monitor) if texts is not None and needed else None
    if kind == "vectors" and chosen is None:
        kind = "words"
    with monitor.reading(reading_description(chosen)) as progress:
        features, x = Features.fit(
            table,
            text=names if options.text is not None else (),
            columns=names if options.columns is not None else (),
            read=kind,
            graph=None if kind != "graph" or row_graph is None else row_graph.graph,
            ids=ids if kind == "graph" else None,
            how=options.input,
            encoders=_encoders(chosen, texts, seed) if kind == "vectors" else (),
            seed=seed,
            progress=progress,
        )
        encoding = None if chosen is None else _encode(chosen, features, x, texts or [], progress)
    if row_graph is None and not options.no_graph:
        row_graph = _make_graph(options, features, x, texts, encoding, seed)
    return TrainingData(table, label, target, features, x, row_graph, id_column, ids, texts, encoding)


def _choose_encoder(options: TrainOptions, texts: list[str], monitor: Monitor) -> Choice | None:
    """The encoder of the texts; None where words are all there is."""
    if not any(map(words_of, texts)):
        return None
    chosen = choose(options.encoder, texts, monitor.fetch)
    if chosen.encoder.name != "tfidf":
        return chosen
    if options.encoder is None:
        warnings.warn(f"texts are compared by their words alone: {chosen.reason}", UserWarning, stacklevel=2)
    return None


def _encoders(chosen: Choice | None, texts: list[str] | None, seed: int) -> list[Encoder]:
    """The encoder, and components of TF-IDF for words that it may not tell apart."""
    return [] if chosen is None else [chosen.encoder, TfidfSVD.fit(texts or [], seed=seed)]


def _encode(chosen: Choice, features: Features, x: X, texts: list[str], progress: OnTexts) -> TextEncoding:
    """The vectors of the encoder alone, which x has in front where the network reads vectors."""
    if features.vectors is None:
        vectors = chosen.encoder.encode(texts, progress)
    else:
        vectors = cast("NDArray[np.float32]", x)[:, : chosen.encoder.width]
    return TextEncoding(chosen.encoder.name, chosen.reason, np.ascontiguousarray(vectors))


def _open(options: TrainOptions, trusted: bool) -> tuple[GraphData | None, Table]:
    """The graph folder, if one is given as the source or by --graph, and the table."""
    source = options.source or ""
    if is_graph_folder(source):
        folder = open_graph(source)
        if folder.nodes is None:
            raise ValueError(f"{source} has no table of nodes, so no labels; give it to ngm ingest as --nodes")
        return folder, folder.nodes
    table = read_table(source, options.delimiter, options.header, trusted=trusted)
    if options.graph is None:
        return None, table
    data = open_graph(options.graph)
    return data, aligned(table, data, options.graph, options.id)


def _input_kind(
    options: TrainOptions, network: str | None, folder: GraphData | None, table: Table, label: str | None
) -> Read:
    """How rows are read; a graph folder with nothing but ids and labels is its own input."""
    if options.text is not None:
        return "text" if network in TEXT_NETWORKS else "words" if options.encoder == "tfidf" else "vectors"
    if options.columns is not None:
        return "columns"
    if options.input is not None:
        return "graph"
    known = (label, options.id, None if folder is None else folder.id_column)
    rest = [c for c in table.columns if c not in known]
    if folder is not None and not rest and not options.no_graph:
        return "graph"
    what = "--text or --columns" if folder is None else "--text, --columns or --input"
    more = "" if label is not None else ", and --label"
    raise ValueError(f"give {what}{more}; the columns of {table.name} are {', '.join(table.columns)}")


def _check_apart(options: TrainOptions, label: str, names: list[str]) -> None:
    """What is to be learned, and what marks validation rows, tells the network nothing."""
    among = "--text" if options.text is not None else "--columns"
    for option, column in (("--label", label), ("--validation-column", options.validation_column)):
        if column in names:
            raise ValueError(f"{option} is {column!r}, which is also among {among}; leave it out there")


def _id_column(options: TrainOptions, folder: GraphData | None, table: Table) -> str | None:
    """The column that was named, or that of the graph folder, or the one that is called id."""
    if options.id is not None:
        table.column(options.id)
        return options.id
    if folder is not None and folder.id_column in table.columns:
        return folder.id_column
    return next((column for column in table.columns if column.lower() == "id"), None)


def _make_graph(
    options: TrainOptions, features: Features, x: X, texts: list[str] | None, encoding: TextEncoding | None, seed: int
) -> RowGraph:
    """A graph of the rows most like each other."""
    count = len(x) if isinstance(x, list) else int(x.shape[0])
    k = options.k if options.k is not None else max(min(K, count - 1), 1)
    if texts is None:
        vectors = all(holds == "numbers" for holds in features.holds.values())
        graph = knn_graph(cast("NDArray[np.float32]", x), k, "cosine" if vectors else "euclidean", seed=seed)
        return RowGraph(graph, f"the {k} most similar rows by {'cosine' if vectors else 'distance'}")
    by = "word vectors" if options.vectors else "TF-IDF" if encoding is None else encoding.name
    plain = encoding is None or options.vectors is not None
    rows = text_rows(texts, vectors=options.vectors) if encoding is None or plain else encoding.rows(texts)
    for line in rows.skipped_texts():
        warnings.warn(line, UserWarning, stacklevel=2)
    graph = rows_graph(rows, k, seed=seed).graph
    known = "" if rows.coverage is None else f" ({100 * rows.coverage:.1f} % of the words known)"
    return RowGraph(graph, f"the {k} most similar texts by {by}{known}")
