"""What `ngm predict` predicts, piece by piece: rows of a table, nodes of a graph, new nodes by their links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Protocol, cast

from ngm._spelling import first_of, nearest
from ngm.features import FeatureRows, Features, Nodes
from ngm.features.node_inputs import as_key
from ngm.io.files import is_graph_folder
from ngm.io.graph_data import GraphData, open_graph
from ngm.io.tables.column_guesses import SOURCES, TARGETS
from ngm.io.tables.query import missing_column
from ngm.io.tables.stream import Stream, open_stream
from ngm.workflow.predictions import Column, sql_type


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of what is predicted.

    Args:
        ids: What they are called in the output.
        made: X of them.
        truth: True labels, if there is a column of them.
    """

    ids: Sequence[object]
    made: FeatureRows
    truth: Sequence[object] | None = None


class Items(Protocol):
    """All that is predicted; `things` says what they are: texts, rows or nodes."""

    things: str

    @property
    def key(self) -> Column:
        """First column of the output."""

    @property
    def total(self) -> int | None:
        """How many there are, if known."""

    def batches(self, size: int) -> Iterator[Batch]:
        """Piece by piece."""

    def notes(self) -> list[str]:
        """What there is to say of the source once all was read."""


@dataclass(frozen=True)
class SourceOptions:
    """How the source is read.

    Args:
        id: Column of ids.
        label: Column of true labels.
        trained_id: Column of ids in training, which is taken where it is there.
        delimiter: Of a text file.
        header: Of a text file.
        spill: Folder for what does not fit into memory.
    """

    id: str | None
    label: str | None
    trained_id: str | None
    delimiter: str | None
    header: bool | None
    spill: Path


def opened(source: str, options: SourceOptions) -> Stream:
    """The table of a source: that of the nodes where it is a graph folder."""
    if not is_graph_folder(source):
        return open_stream(source, options.delimiter, options.header, options.spill)
    nodes = Path(source) / "nodes.parquet"
    if not nodes.exists():
        raise ValueError(f"{source} is a graph without a table of nodes, and the run reads columns; give a table")
    return open_stream(nodes, options.delimiter, options.header)


def lost_lines(stream: Stream) -> list[str]:
    """What was left out of a text file, in words."""
    lost = stream.unread
    if not lost.count:
        return []
    return [f"{lost.count:,} lines of {stream.name} did not fit and were left out: {'; '.join(lost.examples)}"]


# Rows of a table


@dataclass
class Rows:
    """Rows of a table, or of the nodes of a graph."""

    stream: Stream
    features: Features
    id: str | None
    label: str | None
    things: str

    @classmethod
    def of(cls, stream: Stream, features: Features, options: SourceOptions) -> Rows:
        """Sees that all columns are there before anything is read."""
        for column in features.names:
            if column not in stream.query.columns:
                raise _not_there(stream, column, features.kind)
        for name in (options.id, options.label):
            if name is not None:
                stream.query.has(name)
        id_ = options.id or (options.trained_id if options.trained_id in stream.query.columns else None)
        things = "rows" if features.kind == "columns" else "texts"
        return cls(stream.counted([] if id_ is None else [id_]), features, id_, options.label, things)

    @property
    def key(self) -> Column:
        """First column of the output."""
        return Column("row", "BIGINT") if self.id is None else Column(self.id, self.stream.type_of(self.id))

    @property
    def total(self) -> int | None:
        """Number of rows; None where it is a query."""
        return self.stream.num_rows

    def batches(self, size: int) -> Iterator[Batch]:
        """Piece by piece, in the order of the table."""
        for piece in self.stream.pieces(self.features.holds, size, self.id, self.label):
            ids = range(piece.first, piece.first + len(piece)) if piece.ids is None else piece.ids
            yield Batch(ids, self.features.read(piece, piece.first), piece.labels)

    def notes(self) -> list[str]:
        """Lines that did not fit."""
        return lost_lines(self.stream)


def _not_there(stream: Stream, name: str, kind: str) -> ValueError:
    """The error for a column that the run was trained on."""
    there, remedy = stream.query.columns, "" if kind == "columns" else ", or name another with --text"
    if stream.query.hint:
        return missing_column(stream.name, name, there, hint=stream.query.hint)
    return ValueError(
        f"{stream.name} has no column {name!r}, which the run reads{nearest(name, there)}; its columns are "
        f"{', '.join(there)}: give a table with it{remedy}"
    )


# Nodes of the training graph


@dataclass
class TrainingNodes:
    """The nodes of the graph that a run was trained on."""

    data: GraphData
    nodes: Nodes
    label: str | None
    things: str = "nodes"

    @classmethod
    def of(cls, folder: str, nodes: Nodes, options: SourceOptions) -> TrainingNodes:
        """Sees that it is the same graph."""
        if options.delimiter is not None or options.header is not None:
            raise ValueError(f"{folder} is not a text file, so delimiter and header have no effect; leave them out")
        data = open_graph(folder)
        remedy = "give that one, or a table of the links of new nodes"
        if len(data.graph) != len(nodes.ids):
            raise ValueError(
                f"{folder} has {len(data.graph):,} nodes, the graph of the run {len(nodes.ids):,}; {remedy}"
            )
        for row, (mine, theirs) in enumerate(zip(data.ids.tolist(), nodes.ids.tolist(), strict=True)):
            if as_key(mine) != as_key(theirs):
                raise ValueError(f"node {row} of {folder} is {mine!r}, that of the run is {theirs!r}; {remedy}")
        if options.id is not None and options.id != data.id_column:
            raise ValueError(f"--id is {options.id!r}, but the nodes of {folder} have their ids already; leave it out")
        if options.label is not None:
            data.column(options.label)
        return cls(data, nodes, options.label)

    @property
    def key(self) -> Column:
        """First column of the output."""
        return Column(self.data.id_column or "node", sql_type(self.nodes.ids))

    @property
    def total(self) -> int:
        """Number of nodes."""
        return len(self.nodes.ids)

    def batches(self, size: int) -> Iterator[Batch]:
        """Piece by piece, in the order of the nodes."""
        truth = None if self.label is None else self.data.column(self.label).tolist()
        for first in range(0, self.total, size):
            some = slice(first, first + size)
            made = FeatureRows(self.nodes.x[some])
            yield Batch(self.nodes.ids[some].tolist(), made, None if truth is None else truth[some])

    def notes(self) -> list[str]:
        """Nothing."""
        return []


# New nodes by their links


@dataclass
class New:
    """New nodes, by their links to nodes of the training graph, sorted by their ids."""

    stream: Stream
    nodes: Nodes
    named: str
    things: str = "nodes"
    links: int = 0
    unfinished: int = 0
    unknown: int = 0
    examples: list[object] = field(default_factory=list)
    reversed: bool = False

    @classmethod
    def of(cls, stream: Stream, nodes: Nodes, options: SourceOptions) -> New:
        """Sees that it can be a table of links."""
        for option, value in (("--id", options.id), ("--label", options.label)):
            if value is not None:
                raise ValueError(f"{option} is for a row per item, and {stream.name} has one per link; leave it out")
        source, target, _ = stream.link_columns()
        return cls(stream.counted([source, target]), nodes, options.trained_id or "node")

    @property
    def key(self) -> Column:
        """First column of the output."""
        return Column(self.named, self.stream.type_of_ends if self._either else self.stream.type_of(self._names[0]))

    @property
    def _names(self) -> tuple[str, str]:
        return self.stream.link_columns()[:2]

    @property
    def _either(self) -> bool:
        """Whether the new node of a link may be at either end: not by the place of a column, which may be no end."""
        usual = all(name.lower() in names for name, names in zip(self._names, (SOURCES, TARGETS), strict=True))
        return usual and not self.nodes.directed

    @property
    def total(self) -> None:
        """Not known before the links are sorted."""
        return None

    def batches(self, size: int) -> Iterator[Batch]:
        """Piece by piece, all links of a node at once."""
        known = self.nodes.ids.tolist() if self._either else None
        for links in self.stream.links(size, known):
            self.links += len(links[0])
            whole = [link for link in zip(*links, strict=True) if link[0] is not None and link[1] is not None]
            self.unfinished += len(links[0]) - len(whole)
            if not whole:
                continue
            source, target, weight = (list(column) for column in zip(*whole, strict=True))
            self._check_weights(source, target, weight)
            found = self.nodes.linked(source, target, weight)
            self.unknown += found.unknown
            self.examples = list(dict.fromkeys([*self.examples, *found.examples]))[:4]
            self.reversed = self.reversed or any(self.nodes.knows(name) for name in found.ids)
            yield Batch(found.ids, found.rows)
        if self.unknown + self.unfinished == self.links:
            raise self._nothing_known()

    def _check_weights(self, source: list[object], target: list[object], weight: list[object]) -> None:
        for a, b, w in zip(source, target, weight, strict=True):
            if w is None or not 0 <= cast(float, w) < inf:
                column = self.stream.link_columns()[2]
                raise ValueError(
                    f"the link from {a!r} to {b!r} in {self.stream.name} has no number of at least 0 in {column!r}; "
                    "mend it"
                )

    def _nothing_known(self) -> ValueError:
        source, target = self._names
        said = f"none of the {self.links:,} links of {self.stream.name} leads to a node that the run knows"
        if self.reversed:
            return ValueError(
                f"{said}; new nodes are read from {source!r} and known ones from {target!r}: is it the other way round?"
            )
        known = first_of([repr(name) for name in self.nodes.ids[:4].tolist()])
        return ValueError(f"{said} ({known}), by column {target!r}; give a new node and a known one in each row")

    def notes(self) -> list[str]:
        """Lines that did not fit, and links that lead nowhere."""
        found = lost_lines(self.stream)
        if self.unfinished:
            found.append(f"{self.unfinished:,} of {self.links:,} links have no node at one end and were left out")
        if self.unknown:
            shown = first_of([repr(name) for name in self.examples])
            found.append(
                f"{self.unknown:,} of {self.links:,} links lead to nodes that the run does not know ({shown}) and were "
                "left out"
            )
        return found


def items_of(source: str, stream: Stream | None, features: Features, options: SourceOptions) -> Items:
    """What is predicted.

    Args:
        source: As the user gave it.
        stream: Its table; None for a graph folder whose nodes the run knows.
        features: How it is read.
        options: How it is read.
    """
    if features.nodes is None:
        return Rows.of(cast(Stream, stream), features, options)
    if stream is None:
        return TrainingNodes.of(source, features.nodes, options)
    return New.of(stream, features.nodes, options)
